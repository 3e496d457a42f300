"""Solvers that are Python packages without a command line, each given one: `python -m odtc.solvers.drivers NAME …`.

A driver reads the model file with the solver's own reader, solves, writes a solution only if
there is an incumbent, and ends with one line for odtc. It imports nothing of odtc: what is solved
is the file, as anyone would read it.
"""
