Model status
Optimal

# Primal solution values
Feasible
Objective -22.25
# Columns -6
b2                   1    1
y                    10   2
z                    -5   3
w                    8    4
