"""Checks that believe nobody: solutions against the model and the data, certificates against the data.

Imports problem, trees, data, model and base.
"""
