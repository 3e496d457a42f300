"""One run from a data file to a checked tree, and the files that it leaves.

Imports formulations, verification, solvers and all below them.
"""
