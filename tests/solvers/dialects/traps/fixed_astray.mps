NAME          TRAP
ROWS
 N  obj
 L  c1
COLUMNS
    my x         obj                 -1   c1                   1
    y         obj                 -2   c1                   1
RHS
    RHS       c1                 7.5
BOUNDS
 UP BND       my x                 9
 UP BND       y                    2
ENDATA
