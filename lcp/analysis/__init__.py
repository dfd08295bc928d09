"""Studies of a solution: bounds on its error, and derivatives with respect to the data. Rigorous arithmetic."""
