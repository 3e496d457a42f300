NAME          flowoct_d2  FREE
* FlowOCT: max-flow formulation on binary splits
* Aghaei, Gomez & Vayanos (2020), Learning Optimal Classification Trees: Strong Max-Flow Formulations
* depth 2, 5 rows of data (4 after merging equal ones), target class
* the root is node 1; rows that satisfy a split of node t go to node 2t + 1, all others to node 2t
* split 0: size > 1.5
* split 1: size > 2.5
* split 2: colour = red
* split 3: colour = white
* class 0: no
* class 1: yes
ROWS
 N  obj
* constraints fork[node], fork_1 to fork_3
 E  fork_1    
 E  fork_2    
 E  fork_3    
* constraints left[row, node], left_0_1 to left_3_1
 L  left_0_1  
 L  left_1_1  
 L  left_2_1  
 L  left_3_1  
* constraints right[row, node], right_0_1 to right_3_1
 L  right_0_1 
 L  right_1_1 
 L  right_2_1 
 L  right_3_1 
* constraints pick[node, split, side], pick_2_0_0 to pick_3_3_1
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
* constraints stump[row, node], stump_0_2 to stump_3_3
 L  stump_0_2 
 L  stump_0_3 
 L  stump_1_2 
 L  stump_1_3 
 L  stump_2_2 
 L  stump_2_3 
 L  stump_3_2 
 L  stump_3_3 
COLUMNS
* variables b[node, split], b_1_0 to b_3_3: 1 if the node has this split
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
* variables p[node, split, side, class], p_2_0_0_0 to p_3_3_1_1: 1 if the node has this split and its child on this side predicts this class
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
* variables z[row, node], z_0_2 to z_3_3: 1 if the row enters the node and is classified correctly
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
* variables objconst: fixed to 1: its cost is the constant of the objective
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
