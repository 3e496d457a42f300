"""CBC (COIN-OR): its command line, Debian's 2.10 and the development version of cbcbox.

What it prints: CBC user guide, "Result - ..." lines of CbcSolver; FORMATS §9, §10.
"""

import re

from odtc.dialect import Dialect
from odtc.solution import Termination

NAME = "CBC"
SUMMARY = "COIN-OR branch and cut, by its command line; MIP and LP"
DIALECT = Dialect(reads=("mps", "lp", "fixed-mps"), start="cbc")
PROGRAMS = ("cbc",)
PACKAGE = None  # cbcbox brings a script `cbc`, which is found beside Python
VERSION = (("-quit",), r"(?m)^(?:Version: |CBC )(\S+)")
COMMAND = "cbc"
SOLUTION = "file"
BOUND = re.compile(r"^Lower bound: +(\S+)", re.M)
NODES = re.compile(r"^Enumerated nodes: +(\d+)", re.M)
STARTED = re.compile(r"MIPStart provided solution with cost")

# The last of these in the log holds. Within the gap asked for counts as optimal, as in all solvers.
WORDS = {
    "result - optimal solution found": Termination.OPTIMAL,
    "result - stopped on time limit": Termination.TIME_LIMIT,
    "result - user ctrl-c": Termination.INTERRUPTED,
    "result - problem proven infeasible": Termination.INFEASIBLE,
    "result - linear relaxation infeasible": Termination.INFEASIBLE,
    "result - linear relaxation unbounded": Termination.UNBOUNDED,
    "result - stopped on": Termination.UNKNOWN,  # nodes, iterations, solutions
    "pre-processing says infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "problem is infeasible": Termination.INFEASIBLE,
    "problem is unbounded": Termination.UNBOUNDED,
}
BANNER = re.compile(r"^(Welcome to the CBC MILP Solver|CBC \S+ .*COIN-OR)", re.M)
LINE = re.compile("^(" + "|".join(map(re.escape, WORDS)) + ")", re.M | re.I)


def read_log(text: str) -> Termination | None:
    """From its last result line, "Result - Optimal solution found"."""
    if not BANNER.search(text):
        return None
    found = LINE.findall(text)
    return WORDS[found[-1].lower()] if found else None
