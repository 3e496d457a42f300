"""SCIP: its command line, or the shell inside the library of pyscipopt.

What it prints: SCIP documentation, SCIPprintStatus; FORMATS §9, §10.
"""

import re

from odtc.dialect import Dialect
from odtc.solution import Termination

NAME = "SCIP"
SUMMARY = "by its command line, or the shell inside the package pyscipopt; MIP and LP"
DIALECT = Dialect(reads=("mps", "lp", "fixed-mps"), start="name-value", start_suffix=".mst", cuts=True)
PROGRAMS = ("scip",)
PACKAGE = "pyscipopt"
DRIVER = DRIVER_COMMAND = "scip"
VERSION = (("--version",), r"SCIP version (\S+)")
COMMAND = "scip"
SOLUTION = "file"
BOUND = re.compile(r"^Dual Bound +: +(\S+)", re.M)
NODES = re.compile(r"^Solving Nodes +: +(\d+)", re.M)
STARTED = re.compile(r"[1-9]\d*/\d+ feasible solution given by solution candidate storage|found by completesol")

WORDS = {
    "optimal solution found": Termination.OPTIMAL,
    "gap limit reached": Termination.OPTIMAL,  # within the gap asked for, as other solvers call it
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "user interrupt": Termination.INTERRUPTED,
    "termination signal received": Termination.INTERRUPTED,
}
STATUS = re.compile(r"^SCIP Status +: .*\[(.+)\]\s*$", re.M)


def read_log(text: str) -> Termination | None:
    """From its last "SCIP Status : problem is solved [optimal solution found]"; a limit other than
    that of time is `unknown`."""
    found = STATUS.findall(text)
    return WORDS.get(found[-1], Termination.UNKNOWN) if found else None
