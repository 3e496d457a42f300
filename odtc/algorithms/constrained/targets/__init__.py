"""One constrained search for many bounds of its sums."""
