Optimal - objective value 1
 0 y 1 0
