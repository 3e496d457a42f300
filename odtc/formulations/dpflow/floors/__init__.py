"""Bounds of a problem under constraints, and trees to start from, by searches that know no sums."""
