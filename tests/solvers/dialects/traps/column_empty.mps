NAME          TRAP  FREE
ROWS
 N  obj
 G  c1
COLUMNS
    x         obj       -1
    y         obj       0
RHS
    RHS       c1        -1
BOUNDS
 LO BND       x         0
 UP BND       x         3
 LO BND       y         0
 UP BND       y         3
ENDATA
