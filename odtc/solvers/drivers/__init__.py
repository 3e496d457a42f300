"""Command lines for solvers that are Python packages without one: `python -m odtc.solvers.drivers NAME …`.

A driver reads the model file with the reader of the solver, solves, writes a solution only if there is an incumbent,
and ends with one line for odtc. It imports nothing of odtc, so the solved model is the file as anyone would read it.
"""
