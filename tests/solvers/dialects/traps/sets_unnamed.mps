NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    x         obj       -1
    x         c1        1
RHS
    c1        5.5
BOUNDS
 LO x         0
 UP x         4
ENDATA
