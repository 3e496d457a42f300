NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
 G  c2
COLUMNS
    x         obj       -1
    x         c1        1
RHS
    RHS       c1        7.5
    RHS       c2        -1
BOUNDS
 LO BND       x         0
 PL BND       x
ENDATA
