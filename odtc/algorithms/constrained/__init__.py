"""Optimal trees under constraints, by one Lagrangian pass for all subsets of columns.

The door is `constrained_search.search`: a `ConstrainedProblem` of whole numbers in, the cheapest feasible tree
and a valid lower bound out, at every moment.
"""
