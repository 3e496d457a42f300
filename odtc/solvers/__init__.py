"""Any solver, embedded, as a program or as a Python package, run under our own watchdog.

Knows no tree and no data: imports fileformats, model and base.
"""
