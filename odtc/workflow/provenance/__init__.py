"""Which model a file is of, and what may be claimed of it."""
