"""The kinds of constraints, one module for each."""
