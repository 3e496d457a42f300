"""GLPK: glpsol, its command line.

Source of the log format: GLPK source, glpapi09.c and glpapi06.c; docs/reference/file-formats.md.
"""

import re

from odtc.model.solution import Termination
from odtc.solvers.protocols import Dialect

NAME = "GLPK"
SUMMARY = "glpsol, by its command line; MIP and LP, one thread, no starts"
# It has no MIP start (`--ini` is a basis of the LP) and no seed. Its fixed MPS ends a number at position 36,
# after 12 characters, and refuses 0.3333333333333333: such a file is written again for it.
DIALECT = Dialect(reads=("mps", "lp"))
PROGRAMS = ("glpsol",)
VERSION = (("--version",), r"Solver (\S+)")
COMMAND = "glpk"
SOLUTION = "file"
LIVE = re.compile(r"^\+ *\d+: (?:mip =|>>>>>) +(?P<incumbent>\S+|not found yet) +>= +(?P<bound>\S+)")
# "+  9: mip = 2.1e+02 >= 1.6e+02  21.3%", in the end ">= tree is empty", which is not a number
BOUND = re.compile(r"^\+ *\d+: mip = .*>= +(\S+)", re.M)
WITHIN_GAP = re.compile(r"^RELATIVE MIP GAP TOLERANCE REACHED", re.M)

# The last of these in the log holds.
WORDS = {
    "INTEGER OPTIMAL SOLUTION FOUND": Termination.OPTIMAL,
    "RELATIVE MIP GAP TOLERANCE REACHED": Termination.OPTIMAL,
    "PROBLEM HAS NO INTEGER FEASIBLE SOLUTION": Termination.INFEASIBLE,
    "PROBLEM HAS NO PRIMAL FEASIBLE SOLUTION": Termination.INFEASIBLE,
    "PROBLEM HAS NO FEASIBLE SOLUTION": Termination.INFEASIBLE,
    "LP HAS NO PRIMAL FEASIBLE SOLUTION": Termination.INFEASIBLE,
    "LP HAS UNBOUNDED PRIMAL SOLUTION": Termination.UNBOUNDED,
    "PROBLEM HAS UNBOUNDED SOLUTION": Termination.UNBOUNDED,
    "PROBLEM HAS NO DUAL FEASIBLE SOLUTION": Termination.INFEASIBLE_OR_UNBOUNDED,
    "LP RELAXATION HAS NO DUAL FEASIBLE SOLUTION": Termination.INFEASIBLE_OR_UNBOUNDED,
    "TIME LIMIT EXCEEDED": Termination.TIME_LIMIT,
    "OPTIMAL LP SOLUTION FOUND": Termination.OPTIMAL,
    "OPTIMAL SOLUTION FOUND BY LP PREPROCESSOR": Termination.OPTIMAL,
}
LINE = re.compile("^(" + "|".join(map(re.escape, WORDS)) + ")", re.M)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from its last line in capitals; the optimum of the relaxation of a MIP is ignored."""
    if "GLPK" not in text:
        return None
    whole = re.search(r"^\d+ integer variable", text, re.M)
    found = [word for word in LINE.findall(text) if not (whole and word == "OPTIMAL LP SOLUTION FOUND")]
    return WORDS[found[-1]] if found else None
