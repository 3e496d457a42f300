"""Columns of numbers in bins of neighbouring ranks: a good tree over few cuts, and a bound of the trees over all."""
