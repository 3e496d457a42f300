"""Gurobi: gurobi_cl, or the package gurobipy.

Source of the log format: Gurobi reference manual, "Logging"; docs/reference/file-formats.md.
"""

import re

from odtc.model.solution import Termination
from odtc.solvers.capabilities import Dialect

NAME = "Gurobi"
SUMMARY = "by gurobi_cl, or through the package gurobipy; MIP and LP"
DIALECT = Dialect(
    start="name-value", start_suffix=".mst", cuts=True, duals=True, limit="2000 columns and 2000 rows without a licence"
)
PROGRAMS = ("gurobi_cl",)
PACKAGE, DRIVER = "gurobipy", "gurobi"
VERSION = (("--version",), r"version (\S+)")
COMMAND = "gurobi"
SOLUTION = "file"
LIVE = re.compile(r"^[ H*].* (?P<incumbent>\S+) +(?P<bound>\S+) +(?:[\d.]+%|-) +\S+ +\d+s$")
BOUND = re.compile(r"best bound (\S+),", re.M)
NODES = re.compile(r"^Explored (\d+) nodes", re.M)
STARTED = re.compile(r"^(?:Loaded user MIP start|User MIP start produced solution) with objective", re.M)

# The last of these in the log holds.
WORDS = {
    "optimal solution found": Termination.OPTIMAL,
    "optimal objective": Termination.OPTIMAL,  # of an LP
    "model is infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "infeasible or unbounded model": Termination.INFEASIBLE_OR_UNBOUNDED,
    "model is infeasible": Termination.INFEASIBLE,
    "infeasible model": Termination.INFEASIBLE,
    "model is unbounded": Termination.UNBOUNDED,
    "unbounded model": Termination.UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "solve interrupted": Termination.INTERRUPTED,
    "interrupt request received": Termination.INTERRUPTED,
}
BANNER = re.compile(r"^(Gurobi Optimizer version|Gurobi \S+ \(|Set parameter LogFile)", re.M)
LINE = re.compile("^(" + "|".join(map(re.escape, WORDS)) + ")", re.M | re.I)


def read_log(text: str) -> Termination | None:
    """From its last line of words, "Optimal solution found (tolerance 0.00e+00)"."""
    if not BANNER.search(text):
        return None
    found = LINE.findall(text)
    return WORDS[found[-1].lower()] if found else None
