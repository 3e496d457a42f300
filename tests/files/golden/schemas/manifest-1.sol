Model status
Optimal

# Primal solution values
Feasible
Objective 0
# Columns 26
b_1_0     0 
b_1_1     0 
b_1_2     1 
b_1_3     0 
p_1_0_0_0 0 
p_1_0_0_1 0 
p_1_0_1_0 0 
p_1_0_1_1 0 
p_1_1_0_0 0 
p_1_1_0_1 0 
p_1_1_1_0 0 
p_1_1_1_1 0 
p_1_2_0_0 1 
p_1_2_0_1 0 
p_1_2_1_0 0 
p_1_2_1_1 1 
p_1_3_0_0 0 
p_1_3_0_1 0 
p_1_3_1_0 0 
p_1_3_1_1 0 
z_0_1     1 
z_1_1     1 
z_2_1     1 
z_3_1     1 
z_4_1     1 
objconst  1 
# Rows 14
fork_1     1 
pick_1_0_0 0 
pick_1_0_1 0 
pick_1_1_0 0 
pick_1_1_1 0 
pick_1_2_0 0 
pick_1_2_1 0 
pick_1_3_0 0 
pick_1_3_1 0 
stump_0_1  0 
stump_1_1  0 
stump_2_1  0 
stump_3_1  0 
stump_4_1  0 

# Dual solution values
None

# Basis
HiGHS_basis_file v2
None
# odtc model f7b9307c49dd5cdee9f964ff800f66aa2584b144d72c467c8d3438ac488da9fe file 1f0443c8bc8cbee57fed063acb28d19901ed198c249dfa1527576e72aaed9e30
