"""CPLEX: the interactive optimizer, or the package cplex.

Source of the log format: CPLEX manual, "Solution status symbols"; docs/reference/file-formats.md.
"""

import re

from odtc.model.solution import Termination
from odtc.solvers.capabilities import Dialect

NAME = "CPLEX"
SUMMARY = "by its interactive optimizer, or through the package cplex; MIP and LP"
DIALECT = Dialect(
    start="cplex", start_suffix=".mst", cuts=True, duals=True, limit="1000 columns and 1000 rows without a licence"
)
PROGRAMS = ("cplex",)
PACKAGE, DRIVER = "cplex", "cplex"
VERSION = (("-c", "quit"), r"Optimizer (\S+)")
COMMAND = "cplex"
OPTIONS = True  # a file of commands
SOLUTION = "file"
LIVE = re.compile(
    r"^\*? +\d+\+? +\d+ .*? (?P<incumbent>-?\d[\d.e+]*) +(?P<bound>-?\d+\.\d+(?:e[+-]\d+)?|\w+: \d+)(?: +\d+)? "
    r"+[\d.]+%$"
)
BOUND = re.compile(r"^Current MIP best bound = +(\S+)", re.M)
WITHIN_GAP = re.compile(r"^MIP - Integer optimal, tolerance", re.M | re.I)
STARTED = re.compile(r"[1-9]\d* of \d+ MIP starts provided solutions")

# The status string (CPXgetstatstring), which the interactive optimizer prints after "MIP - ".
WORDS = {
    "integer optimal": Termination.OPTIMAL,  # also "..., tolerance"
    "integer infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "integer infeasible": Termination.INFEASIBLE,
    "integer unbounded": Termination.UNBOUNDED,
    "unbounded or infeasible": Termination.INFEASIBLE_OR_UNBOUNDED,
    "infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit exceeded": Termination.TIME_LIMIT,
    "aborted": Termination.INTERRUPTED,
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
}
BANNER = re.compile(r"^(Version identifier: \S+ \||Welcome to IBM.* ILOG|CPXPARAM_|status \d+ )", re.M)
STATUS = re.compile(
    r"^(?:MIP - |Presolve - |(?:Dual|Primal) simplex - |Barrier - |status \d+ )(" + "|".join(WORDS) + ")", re.M | re.I
)
LIMIT = re.compile(r"^CPXPARAM_TimeLimit +(\S+)", re.M)
TOTAL = re.compile(r"^Total \(root\+branch&cut\) = +(\S+) sec", re.M)
PRESOLVE = {
    "Integer infeasible": Termination.INFEASIBLE,
    "Infeasibility": Termination.INFEASIBLE,
    "Dual infeasible": Termination.INFEASIBLE_OR_UNBOUNDED,
}


def read_log(text: str) -> Termination | None:
    """From "MIP - Integer optimal solution". The log of the package holds no such line: there, what
    presolve says, or the time used against the time allowed; None if both leave it open."""
    if not BANNER.search(text):
        return None
    found = STATUS.findall(text)
    if found:
        return WORDS[found[-1].lower()]
    for words, termination in PRESOLVE.items():
        if re.search(f"^{words} ", text, re.M):
            return termination
    limit, total = LIMIT.findall(text), TOTAL.findall(text)
    try:
        if limit and total and float(total[-1]) >= 0.99 * float(limit[-1]):
            return Termination.TIME_LIMIT
    except ValueError:
        pass  # a log cut off in the number
    return None
