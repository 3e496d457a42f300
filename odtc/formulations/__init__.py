"""The formulations: from a problem to a model, and from a point to a tree.

One module or package each. Imports verification, heuristics, problem, trees, data, model, algorithms and base.
"""
