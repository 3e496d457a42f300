"""CBC (COIN-OR): its command line, Debian's 2.10 and the development version of cbcbox.

Source of the log format: CBC user guide, "Result - ..." lines of CbcSolver; docs/reference/file-formats.md.
"""

import re

from odtc.fileformats.status_words import CBC_LOG
from odtc.model.solution import Termination
from odtc.solvers.protocols import Dialect

NAME = "CBC"
SUMMARY = "COIN-OR branch and cut, by its command line; MIP and LP"
DIALECT = Dialect(reads=("mps", "lp", "fixed-mps"), start="cbc")
PROGRAMS = ("cbc",)
PACKAGE = None  # cbcbox brings a script `cbc`, which is found next to Python
VERSION = (("-quit",), r"(?m)^(?:Version: |CBC )(\S+)")
COMMAND = "cbc"
SOLUTION = "file"
LIVE = re.compile(
    r"^Cbc00\d\dI (?:After \d+ nodes, \d+ on tree, (?P<incumbent>\S+) best solution, best possible (?P<bound>\S+)|"
    r"Integer solution of (?P<found>\S+) found)"
)
BOUND = re.compile(r"^Lower bound: +(\S+)", re.M)
BOUND_ERROR = 0.0005  # it prints three decimals
WITHIN_GAP = re.compile(r"^Result - Optimal solution found \(within gap", re.M)
NODES = re.compile(r"^Enumerated nodes: +(\d+)", re.M)
# A model that presolve solves has no line on its start but that its values were read.
STARTED = re.compile(
    r"MIPStart provided solution with cost"
    r"|^MIPStart values read for [1-9]\d* variables\.$[\s\S]*"
    r"^(?:Cgl0004I processed model has 0 rows, 0 columns |  Processed model: 0 rows, 0 cols,)",
    re.M,
)

# The last such line in the log holds.
BANNER = re.compile(r"^(Welcome to the CBC MILP Solver|CBC \S+ .*COIN-OR)", re.M)
LINE = re.compile("^(" + "|".join(map(re.escape, CBC_LOG)) + ")", re.M | re.I)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from the last result line of the log, "Result - Optimal solution found"."""
    if not BANNER.search(text):
        return None
    found = LINE.findall(text)
    return CBC_LOG[found[-1].lower()] if found else None
