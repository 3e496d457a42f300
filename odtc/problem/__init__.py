"""What is compiled: the problem, the contract of a formulation, roles of columns, constraints and cuts.

Imports trees, data, model, algorithms and base.
"""
