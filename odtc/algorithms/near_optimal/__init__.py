"""All near-optimal trees, as an AND/OR graph over sets of rows: counted, sampled and constrained without a list."""
