NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    xé        obj       -1
    xé        c1        1
RHS
    RHS       c1        7.5
BOUNDS
 LO BND       xé        0
 UP BND       xé        4
ENDATA
