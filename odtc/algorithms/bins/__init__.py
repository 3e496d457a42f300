"""Columns of numbers in bins of neighbouring ranks: a good tree over few cuts, and a bound on the trees over all."""
