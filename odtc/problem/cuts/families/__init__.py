"""The cut families. One module a family."""
