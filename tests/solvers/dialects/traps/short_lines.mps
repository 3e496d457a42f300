NAME TRAP
ROWS
 N  obj
 L  c1
COLUMNS
 x obj -1
 x c1 1
 y obj -1
 y c1 1
RHS
 RHS c1 7.5
BOUNDS
 UP BND x 2
 UP BND y 4
ENDATA
