Model status
Optimal

# Primal solution values
Feasible
Objective -15.4375
# Columns -6
b2                   1    1
y                    10   2
z                    -5   3
w                    8    4
