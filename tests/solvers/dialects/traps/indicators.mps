NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    M1        'MARKER'                 'INTORG'
    b         obj       3
    M2        'MARKER'                 'INTEND'
    x         obj       -1
    x         c1        1
RHS
    RHS       c1        2
BOUNDS
 UP BND       b         1
 UP BND       x         9
INDICATORS
 IF c1        b         0
ENDATA
