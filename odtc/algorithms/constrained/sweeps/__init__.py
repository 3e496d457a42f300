"""Roots of ordered tests at some multipliers: sweeps over the rows find the best subtrees of depth 2 on either side."""
