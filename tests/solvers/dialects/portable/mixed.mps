NAME          mixed  FREE
ROWS
 N  obj
 G  r_1
 L  r_2
 L  r_3
 E  r_4
COLUMNS
    MARKER    'MARKER'                 'INTORG'
    x         obj       1
    x         r_1       1
    y         obj       2
    y         r_1       1
    MARKER    'MARKER'                 'INTEND'
    z         obj       -1
    z         r_2       1
    u         obj       -2
    u         r_2       1
    u         r_3       1
    MARKER    'MARKER'                 'INTORG'
    v         obj       10
    v         r_4       2
    w         obj       -100
    w         r_4       1
    MARKER    'MARKER'                 'INTEND'
    one       obj       1000
    idle      obj       0
RHS
    RHS       r_1       -3
    RHS       r_2       4
    RHS       r_3       3
    RHS       r_4       7
BOUNDS
 LO BND       x         -5
 UP BND       x         -2
 LO BND       y         0
 PL BND       y
 MI BND       z
 UP BND       z         2.5
 FR BND       u
 LO BND       v         1
 UP BND       v         7
 LO BND       w         0
 UP BND       w         1
 FX BND       one       1
 UP BND       idle      9
ENDATA
