Columns
    Index Status        Lower        Upper       Primal         Dual  Type        Name
        0                   0          inf            0               Integer     x_0_1
        1                   0          inf            1               Integer     b2
        2                   0          inf           10               Integer     y
        3                   0          inf           -5               Integer     z
        4                   0          inf            8               Integer     w
        5                   0          inf            9               Integer     u
        6                   0          inf         0.25               Integer     a_name_of_twenty_one
Rows
    Index Status        Lower        Upper       Primal         Dual  Name
        0                   0          inf        23.25               c1
        1                   0          inf            5               c2

Model status: Optimal

Objective value: -15.4375
