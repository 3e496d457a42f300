NAME          TRAP  FREE
ROWS
 N  obj
 L  c1
COLUMNS
    a[1]    obj       -1
    a[1]    c1        1
    a(2)    obj       -1
    a(2)    c1        1
    a#3    obj       -1
    a#3    c1        1
    a;4    obj       -1
    a;4    c1        1
    a:5    obj       -1
    a:5    c1        1
    a.6    obj       -1
    a.6    c1        1
    a,7    obj       -1
    a,7    c1        1
    a+8    obj       -1
    a+8    c1        1
    a-9    obj       -1
    a-9    c1        1
    a/1    obj       -1
    a/1    c1        1
    a^2    obj       -1
    a^2    c1        1
    a*3    obj       -1
    a*3    c1        1
    a'4    obj       -1
    a'4    c1        1
    a"5    obj       -1
    a"5    c1        1
    a\6    obj       -1
    a\6    c1        1
    a&7    obj       -1
    a&7    c1        1
    a|8    obj       -1
    a|8    c1        1
    a<9    obj       -1
    a<9    c1        1
    a=1    obj       -1
    a=1    c1        1
    a%2    obj       -1
    a%2    c1        1
    a!3    obj       -1
    a!3    c1        1
    a@4    obj       -1
    a@4    c1        1
    a~5    obj       -1
    a~5    c1        1
    a{6}    obj       -1
    a{6}    c1        1
    a?7    obj       -1
    a?7    c1        1
    1a    obj       -1
    1a    c1        1
    12    obj       -1
    12    c1        1
    e1    obj       -1
    e1    c1        1
    free    obj       -1
    free    c1        1
    st    obj       -1
    st    c1        1
    RHS    obj       -1
    RHS    c1        1
    MARKER    obj       -1
    MARKER    c1        1
RHS
    RHS       c1        7.5
BOUNDS
 UP BND       a[1]      2
ENDATA
