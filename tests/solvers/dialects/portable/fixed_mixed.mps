NAME          mixed
ROWS
 N  obj
 G  R0000000
 L  R0000001
 L  R0000002
 E  R0000003
COLUMNS
    MARKER    'MARKER'                 'INTORG'
    C0000000  obj       1
    C0000000  R0000000  1
    C0000001  obj       2
    C0000001  R0000000  1
    MARKER    'MARKER'                 'INTEND'
    C0000002  obj       -1
    C0000002  R0000001  1
    C0000003  obj       -2
    C0000003  R0000001  1
    C0000003  R0000002  1
    MARKER    'MARKER'                 'INTORG'
    C0000004  obj       10
    C0000004  R0000003  2
    C0000005  obj       -100
    C0000005  R0000003  1
    MARKER    'MARKER'                 'INTEND'
    C0000006  obj       1000
    C0000007  obj       0
RHS
    RHS       R0000000  -3
    RHS       R0000001  4
    RHS       R0000002  3
    RHS       R0000003  7
BOUNDS
 LO BND       C0000000  -5
 UP BND       C0000000  -2
 LO BND       C0000001  0
 PL BND       C0000001
 MI BND       C0000002
 UP BND       C0000002  2.5
 FR BND       C0000003
 LO BND       C0000004  1
 UP BND       C0000004  7
 LO BND       C0000005  0
 UP BND       C0000005  1
 FX BND       C0000006  1
 UP BND       C0000007  9
ENDATA
