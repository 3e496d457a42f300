NAME          TRAP  FREE
ROWS
 N  obj
 G  c1
COLUMNS
    x         obj       1
    x         c1        1
RHS
    RHS       c1        1
    RHS       obj       -100
BOUNDS
 LO BND       x         0
 PL BND       x
ENDATA
