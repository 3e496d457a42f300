"""The kinds of constraints. One module a kind."""
