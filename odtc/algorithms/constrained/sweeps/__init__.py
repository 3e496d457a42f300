"""Roots of ordered splits at some multipliers: sweeps over the rows find the best subtrees of depth 2 on both sides."""
