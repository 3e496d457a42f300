NAME          flowoct_d2  FREE
ROWS
 N  obj
 E  fork_1    
 E  fork_2    
 E  fork_3    
 L  left_0_1  
 L  left_1_1  
 L  left_2_1  
 L  left_3_1  
 L  right_0_1 
 L  right_1_1 
 L  right_2_1 
 L  right_3_1 
 E  pick_2_0_0
 E  pick_2_0_1
 E  pick_2_1_0
 E  pick_2_1_1
 E  pick_2_2_0
 E  pick_2_2_1
 E  pick_2_3_0
 E  pick_2_3_1
 E  pick_3_0_0
 E  pick_3_0_1
 E  pick_3_1_0
 E  pick_3_1_1
 E  pick_3_2_0
 E  pick_3_2_1
 E  pick_3_3_0
 E  pick_3_3_1
 L  stump_0_2 
 L  stump_0_3 
 L  stump_1_2 
 L  stump_1_3 
 L  stump_2_2 
 L  stump_2_3 
 L  stump_3_2 
 L  stump_3_3 
COLUMNS
    MARKER    'MARKER'                 'INTORG'
    b_1_0      fork_1      1 
    b_1_0      left_0_1    -1
    b_1_0      right_1_1   -1
    b_1_0      right_2_1   -1
    b_1_0      right_3_1   -1
    b_1_1      fork_1      1 
    b_1_1      left_0_1    -1
    b_1_1      left_1_1    -1
    b_1_1      right_2_1   -1
    b_1_1      right_3_1   -1
    b_1_2      fork_1      1 
    b_1_2      left_0_1    -1
    b_1_2      left_3_1    -1
    b_1_2      right_1_1   -1
    b_1_2      right_2_1   -1
    b_1_3      fork_1      1 
    b_1_3      left_0_1    -1
    b_1_3      left_1_1    -1
    b_1_3      left_2_1    -1
    b_1_3      right_3_1   -1
    MARKER    'MARKER'                 'INTEND'
    b_2_0      fork_2      1 
    b_2_0      pick_2_0_0  -1
    b_2_0      pick_2_0_1  -1
    b_2_1      fork_2      1 
    b_2_1      pick_2_1_0  -1
    b_2_1      pick_2_1_1  -1
    b_2_2      fork_2      1 
    b_2_2      pick_2_2_0  -1
    b_2_2      pick_2_2_1  -1
    b_2_3      fork_2      1 
    b_2_3      pick_2_3_0  -1
    b_2_3      pick_2_3_1  -1
    b_3_0      fork_3      1 
    b_3_0      pick_3_0_0  -1
    b_3_0      pick_3_0_1  -1
    b_3_1      fork_3      1 
    b_3_1      pick_3_1_0  -1
    b_3_1      pick_3_1_1  -1
    b_3_2      fork_3      1 
    b_3_2      pick_3_2_0  -1
    b_3_2      pick_3_2_1  -1
    b_3_3      fork_3      1 
    b_3_3      pick_3_3_0  -1
    b_3_3      pick_3_3_1  -1
    p_2_0_0_0  pick_2_0_0  1 
    p_2_0_0_0  stump_0_2   -1
    p_2_0_0_1  pick_2_0_0  1 
    p_2_0_1_0  pick_2_0_1  1 
    p_2_0_1_0  stump_2_2   -1
    p_2_0_1_1  pick_2_0_1  1 
    p_2_0_1_1  stump_1_2   -1
    p_2_0_1_1  stump_3_2   -1
    p_2_1_0_0  pick_2_1_0  1 
    p_2_1_0_0  stump_0_2   -1
    p_2_1_0_1  pick_2_1_0  1 
    p_2_1_0_1  stump_1_2   -1
    p_2_1_1_0  pick_2_1_1  1 
    p_2_1_1_0  stump_2_2   -1
    p_2_1_1_1  pick_2_1_1  1 
    p_2_1_1_1  stump_3_2   -1
    p_2_2_0_0  pick_2_2_0  1 
    p_2_2_0_0  stump_0_2   -1
    p_2_2_0_1  pick_2_2_0  1 
    p_2_2_0_1  stump_3_2   -1
    p_2_2_1_0  pick_2_2_1  1 
    p_2_2_1_0  stump_2_2   -1
    p_2_2_1_1  pick_2_2_1  1 
    p_2_2_1_1  stump_1_2   -1
    p_2_3_0_0  pick_2_3_0  1 
    p_2_3_0_0  stump_0_2   -1
    p_2_3_0_0  stump_2_2   -1
    p_2_3_0_1  pick_2_3_0  1 
    p_2_3_0_1  stump_1_2   -1
    p_2_3_1_0  pick_2_3_1  1 
    p_2_3_1_1  pick_2_3_1  1 
    p_2_3_1_1  stump_3_2   -1
    p_3_0_0_0  pick_3_0_0  1 
    p_3_0_0_0  stump_0_3   -1
    p_3_0_0_1  pick_3_0_0  1 
    p_3_0_1_0  pick_3_0_1  1 
    p_3_0_1_0  stump_2_3   -1
    p_3_0_1_1  pick_3_0_1  1 
    p_3_0_1_1  stump_1_3   -1
    p_3_0_1_1  stump_3_3   -1
    p_3_1_0_0  pick_3_1_0  1 
    p_3_1_0_0  stump_0_3   -1
    p_3_1_0_1  pick_3_1_0  1 
    p_3_1_0_1  stump_1_3   -1
    p_3_1_1_0  pick_3_1_1  1 
    p_3_1_1_0  stump_2_3   -1
    p_3_1_1_1  pick_3_1_1  1 
    p_3_1_1_1  stump_3_3   -1
    p_3_2_0_0  pick_3_2_0  1 
    p_3_2_0_0  stump_0_3   -1
    p_3_2_0_1  pick_3_2_0  1 
    p_3_2_0_1  stump_3_3   -1
    p_3_2_1_0  pick_3_2_1  1 
    p_3_2_1_0  stump_2_3   -1
    p_3_2_1_1  pick_3_2_1  1 
    p_3_2_1_1  stump_1_3   -1
    p_3_3_0_0  pick_3_3_0  1 
    p_3_3_0_0  stump_0_3   -1
    p_3_3_0_0  stump_2_3   -1
    p_3_3_0_1  pick_3_3_0  1 
    p_3_3_0_1  stump_1_3   -1
    p_3_3_1_0  pick_3_3_1  1 
    p_3_3_1_1  pick_3_3_1  1 
    p_3_3_1_1  stump_3_3   -1
    z_0_2      obj         -2
    z_0_2      left_0_1    1 
    z_0_2      stump_0_2   1 
    z_0_3      obj         -2
    z_0_3      right_0_1   1 
    z_0_3      stump_0_3   1 
    z_1_2      obj         -1
    z_1_2      left_1_1    1 
    z_1_2      stump_1_2   1 
    z_1_3      obj         -1
    z_1_3      right_1_1   1 
    z_1_3      stump_1_3   1 
    z_2_2      obj         -1
    z_2_2      left_2_1    1 
    z_2_2      stump_2_2   1 
    z_2_3      obj         -1
    z_2_3      right_2_1   1 
    z_2_3      stump_2_3   1 
    z_3_2      obj         -1
    z_3_2      left_3_1    1 
    z_3_2      stump_3_2   1 
    z_3_3      obj         -1
    z_3_3      right_3_1   1 
    z_3_3      stump_3_3   1 
    objconst   obj         5 
RHS
    RHS       fork_1      1 
    RHS       fork_2      1 
    RHS       fork_3      1 
BOUNDS
 LO BND       b_1_0      0 
 UP BND       b_1_0      1 
 LO BND       b_1_1      0 
 UP BND       b_1_1      1 
 LO BND       b_1_2      0 
 UP BND       b_1_2      1 
 LO BND       b_1_3      0 
 UP BND       b_1_3      1 
 UP BND       b_2_0      1 
 UP BND       b_2_1      1 
 UP BND       b_2_2      1 
 UP BND       b_2_3      1 
 UP BND       b_3_0      1 
 UP BND       b_3_1      1 
 UP BND       b_3_2      1 
 UP BND       b_3_3      1 
 UP BND       p_2_0_0_0  1 
 UP BND       p_2_0_0_1  1 
 UP BND       p_2_0_1_0  1 
 UP BND       p_2_0_1_1  1 
 UP BND       p_2_1_0_0  1 
 UP BND       p_2_1_0_1  1 
 UP BND       p_2_1_1_0  1 
 UP BND       p_2_1_1_1  1 
 UP BND       p_2_2_0_0  1 
 UP BND       p_2_2_0_1  1 
 UP BND       p_2_2_1_0  1 
 UP BND       p_2_2_1_1  1 
 UP BND       p_2_3_0_0  1 
 UP BND       p_2_3_0_1  1 
 UP BND       p_2_3_1_0  1 
 UP BND       p_2_3_1_1  1 
 UP BND       p_3_0_0_0  1 
 UP BND       p_3_0_0_1  1 
 UP BND       p_3_0_1_0  1 
 UP BND       p_3_0_1_1  1 
 UP BND       p_3_1_0_0  1 
 UP BND       p_3_1_0_1  1 
 UP BND       p_3_1_1_0  1 
 UP BND       p_3_1_1_1  1 
 UP BND       p_3_2_0_0  1 
 UP BND       p_3_2_0_1  1 
 UP BND       p_3_2_1_0  1 
 UP BND       p_3_2_1_1  1 
 UP BND       p_3_3_0_0  1 
 UP BND       p_3_3_0_1  1 
 UP BND       p_3_3_1_0  1 
 UP BND       p_3_3_1_1  1 
 UP BND       z_0_2      1 
 UP BND       z_0_3      1 
 UP BND       z_1_2      1 
 UP BND       z_1_3      1 
 UP BND       z_2_2      1 
 UP BND       z_2_3      1 
 UP BND       z_3_2      1 
 UP BND       z_3_3      1 
 FX BND       objconst   1 
ENDATA
