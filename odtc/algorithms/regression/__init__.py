"""Regression trees of least squared error over ranked columns, on plain arrays."""
