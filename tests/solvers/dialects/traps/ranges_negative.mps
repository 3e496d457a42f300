NAME          TRAP  FREE
ROWS
 N  obj
 L  cl
 G  cg
COLUMNS
    a         obj       1
    a         cl        1
    b         obj       -10
    b         cg        1
RHS
    RHS       cl        9
    RHS       cg        2
RANGES
    RNG       cl        -4
    RNG       cg        -3
BOUNDS
 LO BND       a         0
 UP BND       a         50
 LO BND       b         0
 UP BND       b         50
ENDATA
