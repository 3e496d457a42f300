NAME          TRAP  FREE
ROWS
 N  obj
 G  c1
COLUMNS
    x         obj       1
    x         c1        1
RHS
    RHS       c1        -5
BOUNDS
 UP BND       x         -3
ENDATA
