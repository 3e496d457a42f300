"""All near-optimal trees, as an AND/OR graph over sets of rows: counted, drawn and constrained without a list."""
