NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    x         obj       -1
    x         c1        1
RHS
    RHS       c1        7.5
BOUNDS
 LO BND       x         0
 PL BND       x
