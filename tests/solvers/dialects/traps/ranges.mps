NAME          TRAP  FREE
ROWS
 N  obj
 L  cl
 G  cg
 E  cp
 E  cm
COLUMNS
    a         obj       1
    a         cl        1
    b         obj       -10
    b         cg        1
    c         obj       -100
    c         cp        1
    d         obj       1000
    d         cm        1
RHS
    RHS       cl        9
    RHS       cg        2
    RHS       cp        5
    RHS       cm        6
RANGES
    RNG       cl        4
    RNG       cg        3
    RNG       cp        2
    RNG       cm        -2
BOUNDS
 LO BND       a         0
 UP BND       a         50
 LO BND       b         0
 UP BND       b         50
 LO BND       c         0
 UP BND       c         50
 LO BND       d         0
 UP BND       d         50
ENDATA
