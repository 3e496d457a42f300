"""Trees of four levels over sets of columns that have few splits."""
