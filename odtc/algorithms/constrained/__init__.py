"""Optimal trees under constraints, by one Lagrangian pass for all subsets of columns.

The entry point is `constrained_search.search`: it takes a `ConstrainedProblem` of whole numbers, and has the cheapest
feasible tree and a valid lower bound at every moment.
"""
