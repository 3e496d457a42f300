Model status
Optimal

# Primal solution values
Feasible
Objective -15.4375
# Columns 7
x_0_1                0   
b2                   1   
y                    10  
y                    10  
z                    -5  
w                    8   
u                    9   
a_name_of_twenty_one 0.25
# Rows 2
c1 23.25
c2 5    

# Dual solution values
None

# Basis
HiGHS_basis_file v2
None
