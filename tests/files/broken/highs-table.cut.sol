Columns
    Index Status        Lower        Upper       Primal         Dual  Type        Name
        0                   0          inf            0               Integer     x_0_1
        1                   0          inf            1               Integer     b2
        2                   0          inf           10               Integer     y
        3                   0          inf           -5               Integer     z
        4                   0          inf            8               Integer     