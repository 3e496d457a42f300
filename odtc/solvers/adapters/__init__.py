"""The solvers. One module a solver: what it reads, how it is called, how its log is read."""
