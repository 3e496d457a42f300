Optimal - objective value -15.4375
0 x_0_1                0    0
1 b2                   1    0
5 u                    9    0
3 z                    -5   0
4 w                    8    0
2 y                    10   0
6 a_name_of_twenty_one 0.25 0
