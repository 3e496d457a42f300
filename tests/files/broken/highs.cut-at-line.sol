Model status
Optimal

# Primal solution values
Feasible
Objective -15.4375
# Columns 7
x_0_1                0   
b2                   1   
y                    10  
z                    -5  
w                    8   
