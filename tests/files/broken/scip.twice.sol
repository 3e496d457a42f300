solution status: optimal solution found
objective value: -15.4375
b2                   1    	(obj:-1.5)
y                    10   	(obj:-2)  
y                    10   	(obj:-2)  
z                    -5   	(obj:1)   
w                    8    	(obj:0.5) 
u                    9    	(obj:0.75)
a_name_of_twenty_one 0.25 	(obj:1.25)
