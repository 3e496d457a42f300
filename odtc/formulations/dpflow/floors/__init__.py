"""Bounds of a problem under constraints, and trees to start from, by searches without constraints on sums."""
