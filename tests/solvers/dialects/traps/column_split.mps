NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
 L  c2
COLUMNS
    x         obj       -1
    x         c1        1
    y         obj       -1
    y         c1        1
    x         c2        1
RHS
    RHS       c1        7.5
    RHS       c2        2
BOUNDS
 LO BND       x         0
 UP BND       x         9
 LO BND       y         0
 UP BND       y         1
ENDATA
