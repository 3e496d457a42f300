"""Searches over all thresholds of numeric columns, and the linear program that proves their results."""
