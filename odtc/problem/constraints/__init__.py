"""Constraints on the tree: their grammar, their rows, and what several kinds share."""
