"""FICO Xpress: its console, or the package xpress.

Source of the log format: Xpress Optimizer reference manual, "Console output"; docs/reference/file-formats.md.
"""

import re

from odtc.model.solution import Termination
from odtc.solvers.capabilities import Dialect

NAME = "Xpress"
SUMMARY = "by its console, or through the package xpress; MIP and LP"
DIALECT = Dialect(
    start="xpress", start_suffix=".slx", cuts=True, duals=True, limit="5000 columns and rows together without a licence"
)
PROGRAMS = ("optimizer",)
PACKAGE, DRIVER = "xpress", "xpress"
VERSION = ((), r"Optimizer v(\S+)")
COMMAND = "xpress"
SOLUTION = "file"
LIVE = re.compile(r"^[A-Za-z*]? *\d+(?: +[A-Z])? +(?P<incumbent>-?\d+\.\d+) +(?P<bound>-?\d+\.\d+) +\d+ ")
OPTIONS = STDIN_OPTIONS = True  # its console takes commands from its input
BOUND = re.compile(r"^Final MIP bound +: (\S+)", re.M)
STARTED = re.compile(r"\*\*\* Solution found: .* Heuristic: U \*\*\*|\*\*\* Solution loaded \*\*\*")

# Of the lines from the last "*** Search ... ***" on, and those of its stop, the first in this order.
WORDS = {
    "Problem is integer infeasible": Termination.INFEASIBLE,
    "Problem is infeasible": Termination.INFEASIBLE,
    "Problem is unbounded": Termination.UNBOUNDED,
    "STOPPING - MAXTIME limit reached": Termination.TIME_LIMIT,
    "STOPPING - TIMELIMIT limit reached": Termination.TIME_LIMIT,
    "STOPPING - User interrupt": Termination.INTERRUPTED,
    "*** Search unfinished ***": Termination.UNKNOWN,
    "Final MIP objective": Termination.OPTIMAL,
    "Optimal solution found": Termination.OPTIMAL,
}
RELAXED = "Optimal solution found"
BANNER = re.compile(r"^(FICO Xpress|(?:Minimizing|Maximizing) \w+ .* using \d+ thread)", re.M)
SOLUTIONS = re.compile(r"Number of solutions found / nodes +: +(\d+) /")


def read_log(text: str) -> Termination | None:
    """Return the outcome from the end of its search; None if the log has no end of a search."""
    if not BANNER.search(text):
        return None
    ends = [at.start() for at in re.finditer(r"^ *\*\*\* Search \w+ \*\*\*", text, re.M)]
    begin = ends[-1] if ends else 0
    # The reason of a stop is just above.
    end = "\n".join(text[:begin].splitlines()[-3:]) + "\n" + text[begin:]
    # Of a MIP's log that breaks off, that is said of the relaxation.
    relaxed = not ends and re.search(r"^(?:Mini|Maxi)mizing MI", text, re.M)
    found = (termination for words, termination in WORDS.items() if words in end and not (relaxed and words == RELAXED))
    return next(found, None)


def has_point(text: str) -> bool | None:
    """Return whether it found a solution: without one, its solution file contains the linear relaxation. None if the
    log does not say."""
    found = SOLUTIONS.findall(text)
    return int(found[-1]) > 0 if found else None
