NAME          TRAP  FREE
ROWS
 N  obj
 G  c1
COLUMNS
    x         obj       -1
    x         c1        1
BOUNDS
 LO BND       x         0
 UP BND       x         0.5
ENDATA
