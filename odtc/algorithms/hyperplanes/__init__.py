"""Searches for hyperplanes: tree-alternating optimisation and exact line search."""
