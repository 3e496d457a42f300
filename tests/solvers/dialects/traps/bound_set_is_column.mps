NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    BND       obj       -1
    BND       c1        1
    y         obj       -1
    y         c1        1
RHS
    RHS       c1        7.5
BOUNDS
 UP BND       BND       4
 UP BND       y         1
ENDATA
