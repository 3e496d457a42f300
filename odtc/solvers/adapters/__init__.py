"""Adapters of solvers. Each module states the formats that its solver reads, how it is called, and how its log is
read."""
