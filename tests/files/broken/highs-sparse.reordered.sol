Model status
Optimal

# Primal solution values
Feasible
Objective -15.4375
# Columns -6
b2                   1    1
u                    9    5
z                    -5   3
w                    8    4
y                    10   2
a_name_of_twenty_one 0.25 6
