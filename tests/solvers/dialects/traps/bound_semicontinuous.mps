NAME          TRAP  FREE
ROWS
 N  obj
 G  c1
COLUMNS
    x         obj       1
    x         c1        1
    y         obj       2
    y         c1        1
RHS
    RHS       c1        1.5
BOUNDS
 LO BND       x         4
 SC BND       x         9
 LO BND       y         0
 UP BND       y         9
ENDATA
