name          trap  free
rows
 N  obj
 L  c1
columns
    x         obj       -1
    x         c1        1
rhs
    RHS       c1        7.5
bounds
 LO BND       x         0
 PL BND       x
endata
