NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    x         obj       -1
    x         c1        1
    M1        'MARKER'                 'INTORG'
    y         obj       -1
    M2        'MARKER'                 'INTEND'
RHS
    RHS       c1        7.5
BOUNDS
 LO BND       x         0
 PL BND       x
 LO BND       y         0
 UP BND       y         3
ENDATA
