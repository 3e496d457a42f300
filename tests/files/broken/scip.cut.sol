solution status: optimal solution found
objective value: -15.4375
b2                   1    	(obj:-1.5)
y                    10   	(obj:-2)  
z                    -5   	(obj:1)   
w                    8    	(obj:0.5)