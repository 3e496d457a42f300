NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    M1        'MARKER'                 'INTORG'
    x         obj       -1
    x         c1        1
    M2        'MARKER'                 'INTEND'
    y         obj       -1
    y         c1        1
RHS
    RHS       c1        7.5
BOUNDS
 LO BND       x         0
 UP BND       x         4.5
 LO BND       y         0
 UP BND       y         0.25
ENDATA
