NAME          TRAP  FREE
ROWS
 N  obj
 N  other
 L  c1
COLUMNS
    x         obj       -1
    x         c1        1
    y         obj       1
    y         other     -5
RHS
    RHS       c1        7.5
    RHS       other     3
BOUNDS
 LO BND       x         0
 PL BND       x
 LO BND       y         0
 UP BND       y         4
ENDATA
