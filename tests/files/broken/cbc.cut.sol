Optimal - objective value -15.4375
0 x_0_1                0    0
1 b2                   1    0
2 y                    10   0
3 z                    -5   0
4 w                    8    