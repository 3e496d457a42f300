NAME          TRAP  FREE
ROWS
 L  c1
COLUMNS
    x         c1        1
RHS
    RHS       c1        7.5
BOUNDS
 LO BND       x         0
 PL BND       x
ENDATA
