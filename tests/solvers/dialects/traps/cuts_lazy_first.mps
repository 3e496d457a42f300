NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
LAZYCONS
 L  lz
USERCUTS
 L  uc
COLUMNS
    M1        'MARKER'                 'INTORG'
    x         obj       -1
    x         c1        1
    x         uc        1
    x         lz        1
    y         obj       -1
    y         c1        1
    y         uc        1
    y         lz        2
    M2        'MARKER'                 'INTEND'
RHS
    RHS       c1        9
    RHS       uc        12
    RHS       lz        8
BOUNDS
 UP BND       x         5
 UP BND       y         5
ENDATA
