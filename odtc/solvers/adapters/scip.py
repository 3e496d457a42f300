"""SCIP: its command line, or the shell inside the library of pyscipopt.

Source of the log format: SCIP documentation, SCIPprintStatus; docs/reference/file-formats.md.
"""

import re

from odtc.fileformats.status_words import SCIP
from odtc.model.solution import Termination
from odtc.solvers.capabilities import Dialect

NAME = "SCIP"
SUMMARY = "by its command line, or the shell inside the package pyscipopt; MIP and LP"
DIALECT = Dialect(reads=("mps", "lp", "fixed-mps"), start="name-value", start_suffix=".mst", lp_start=True, cuts=True)
PROGRAMS = ("scip",)
PACKAGE = "pyscipopt"
DRIVER = DRIVER_COMMAND = "scip"
VERSION = (("--version",), r"SCIP version (\S+)")
COMMAND = "scip"
SOLUTION = "file"
LIVE = re.compile(r"\| +(?P<bound>\S+) +\| +(?P<incumbent>\S+) +\| +[^|]+\|[^|]+$")
BOUND = re.compile(r"^Dual Bound +: +(\S+)", re.M)
NODES = re.compile(r"^Solving Nodes +: +(\d+)", re.M)
WITHIN_GAP = re.compile(r"^SCIP Status +: .*\[gap limit reached\]", re.M)
STARTED = re.compile(r"[1-9]\d*/\d+ feasible solution given by solution candidate storage|found by completesol")

STATUS = re.compile(r"^SCIP Status +: .*\[(.+)\]\s*$", re.M)


def read_log(text: str) -> Termination | None:
    """Return the outcome from the last "SCIP Status : problem is solved [optimal solution found]"; a limit other than
    the time limit is `unknown`."""
    found = STATUS.findall(text)
    return SCIP.get(found[-1], Termination.UNKNOWN) if found else None
