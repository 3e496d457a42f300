"""Dynamic programs over sets of rows: states, expansion, bounds, k best trees, resources, fixing."""
