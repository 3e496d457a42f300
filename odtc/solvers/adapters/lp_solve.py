"""lp_solve 5.5: its command line, whose standard output is log and solution at once.

Source of the log format: lp_solve reference, "lp_solve.htm" and "solve.htm"; docs/reference/file-formats.md.
"""

import re

from odtc.fileformats.status_words import LP_SOLVE
from odtc.model.solution import Termination
from odtc.solvers.protocols import Dialect

NAME = "lp_solve"
SUMMARY = "by its command line; MIP and LP, one thread, no starts, no .gz"
# It reads LP files in another dialect only, no .gz, and a guess of a basis has no effect
# (docs/reference/file-formats.md). As GLPK it
# refuses fixed MPS with a number of more than 12 characters.
DIALECT = Dialect(reads=("mps",), gzip=False)
PROGRAMS = ("lp_solve",)
VERSION = (("-h",), r"lp_solve version ([0-9.]+)")
COMMAND = "lp_solve"
SOLUTION = "stdout"

LINE = re.compile("^(" + "|".join(map(re.escape, LP_SOLVE)) + r")\s*$", re.M | re.I)
VALUES = re.compile(r"^Value of objective function: .*\s+Actual values of the variables:", re.M)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from its line of words; without one, printed values mean an optimal point."""
    found = LINE.search(text)
    if found:
        return LP_SOLVE[found[1].lower()]
    return Termination.OPTIMAL if VALUES.search(text) else None
