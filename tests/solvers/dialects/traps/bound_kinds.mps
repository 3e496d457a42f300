NAME          TRAP  FREE
ROWS
 N  obj
 G  low
 G  mid
 L  high
COLUMNS
    a         obj       -1
    b         obj       10
    c         obj       -100
    d         obj       1000
    e         obj       10000
    e         low       1
    f         obj       100000
    f         mid       1
    g         obj       -1000000
    g         high      1
RHS
    RHS       low       -2
    RHS       mid       -3
    RHS       high      5
BOUNDS
 BV BND       a
 LI BND       b         2
 UI BND       c         3
 FX BND       d         4
 FR BND       e
 MI BND       f
 PL BND       g
ENDATA
