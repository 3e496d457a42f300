"""COPT (Cardinal Optimizer): copt_cmd, or the package coptpy.

Source of the log format: COPT reference manual, "Optimization log"; docs/reference/file-formats.md.
"""

import re

from odtc.model.solution import Termination
from odtc.solvers.capabilities import Dialect

NAME = "COPT"
SUMMARY = "by copt_cmd, or through the package coptpy; MIP and LP"
DIALECT = Dialect(
    start="name-value",
    start_suffix=".mst",
    cuts=True,
    duals=True,
    limit="MIP: 2000 columns and 2000 rows without a licence, LP: 10000",
)
PROGRAMS = ("copt_cmd",)
PACKAGE, DRIVER = "coptpy", "copt"
VERSION = (("-v",), r"Optimizer v?(\S+)")
COMMAND = "copt"
SOLUTION = "file"
LIVE = re.compile(r"^[A-Z* ] +\d+ +\d+ +\S+ +\d+ +(?P<bound>\S+) +(?P<incumbent>\S+) +\S+ +[\d.]+s$")
OPTIONS = True  # a script of commands
BOUND = re.compile(r"^Best bound +: (\S+)", re.M)
NODES = re.compile(r"^Solve node +: (\d+)", re.M)
STARTED = re.compile(r"Initial MIP solution # *\d+ with objective value \S+ was accepted")

# First the reason of its stop, if there is one in brackets, then its result.
STOPPED = {
    "time limit reached": Termination.TIME_LIMIT,
    "interrupted": Termination.INTERRUPTED,
    "user interrupt": Termination.INTERRUPTED,
}
WORDS = {
    "integer optimal": Termination.OPTIMAL,
    "optimal": Termination.OPTIMAL,
    "infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
}
STATUS = re.compile(r"^MIP status +: \w+(?: \((.+)\))?\s*^Solution status +: (.+?)(?: \(.*\))?\s*$", re.M)
LP_STATUS = re.compile(r"^Solving finished\s*^Status: (\w+)", re.M)


def read_log(text: str) -> Termination | None:
    """From "MIP status" and "Solution status" at its end."""
    found = STATUS.findall(text)
    if found:
        stopped, status = found[-1]
        return STOPPED.get(stopped) or WORDS.get(status, Termination.UNKNOWN)
    found = LP_STATUS.findall(text)
    return WORDS.get(found[-1].lower(), Termination.UNKNOWN) if found else None
