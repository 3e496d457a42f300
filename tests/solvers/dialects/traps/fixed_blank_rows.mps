NAME          TRAP
ROWS
 N  obj
 L  row 1
COLUMNS
    x         obj                 -1   row 1                1
    y         obj                 -2   row 1                1
RHS
    RHS       row 1              7.5
BOUNDS
 UP BND       x                    9
 UP BND       y                    2
ENDATA
