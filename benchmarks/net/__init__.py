"""Whole commands with their answers and CPU seconds: the net under every change of odtc.

    python -m benchmarks.net [--cells TEXT] [-o table.csv]     this checkout: all cells, answers, command and search
    python -m benchmarks.net --quick                           the reduced form: answers of some cells
    python -m benchmarks.net --first                           first runs: no kernels on disk, only the base install
    python -m benchmarks.net REV1 REV2 [--cells TEXT]          two commits in turn, and a verdict

A cell is one command line in a fresh process (benchmarks.net.cells), with kernels on disk. Measured are the CPU seconds
of the whole command and its children, next to them those of the search or solver inside the same run, and the peak
memory. The answer is how it ended, objective, bound, leaves, whether the certificate was accepted; it has to be the
one of answers.csv. Its column `exhaustive` has the optimum of benchmarks.net.reference, which tries every tree in exact
arithmetic; where `bug` says that the stored answer contradicts it, the cell passes with either, and a note tells which.

Two commits are checked out below .venv/net, each with kernels of its own, and run in turn. The verdict is red, and the
exit code 1, if an answer differs, if the geometric mean of the CPU seconds rises, if a cell of 50 ms or more takes over
1.25 times as long (median of five, then of ten), or if trees or bounds are worse at a limit of 5 CPU seconds.
Options and keys that were renamed are in benchmarks.net.names.
"""

FIRST = "bundled: fit breast_cancer --depth 3"
# Modules of the extras of pyproject.toml.
EXTRAS = ("matplotlib", "onnx", "dask", "distributed", "pandas", "pyscipopt", "ortools")
