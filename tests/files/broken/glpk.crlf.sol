s mip 2 7 o -15.4375
i 1 23.25
i 2 5    
j 1 0   
j 2 1   
j 3 10
j 4 -5  
j 5 8
j 6 9
j 7 0.25
e o f
