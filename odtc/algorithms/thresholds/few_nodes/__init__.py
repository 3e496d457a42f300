"""Trees with few branch nodes, in a search over thresholds."""
