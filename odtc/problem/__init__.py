"""The compiled problem, the protocol of a formulation, roles of variables, side constraints and cut families.

Imports trees, data, model, algorithms and base.
"""
