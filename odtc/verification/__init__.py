"""Independent checks: of solutions against the model and the data, and of certificates against the data.

Imports problem, trees, data, model and base.
"""
