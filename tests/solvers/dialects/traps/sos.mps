NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    x         obj       -1
    x         c1        1
    y         obj       -2
    y         c1        1
    z         obj       -3
    z         c1        1
RHS
    RHS       c1        9
BOUNDS
 UP BND       x         4
 UP BND       y         4
 UP BND       z         3
SOS
 S1 set
    x  1
    y  2
    z  3
ENDATA
