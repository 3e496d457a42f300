"""The standard output of lp_solve: words, the objective, the variables, and with -S4 the constraints.

lp_solve reference, "lp_solve.htm" and "sensitivity.htm"; docs/reference/file-formats.md.
"""

import re

from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.fileformats.status_words import LP_SOLVE
from odtc.model.name_spans import table
from odtc.model.solution import Termination

NAME = "lp-solve"
SUFFIX = ".out"
SUMMARY = "standard output of lp_solve, six digits; read only"

# A point without such a line is optimal.
WORDS = re.compile(rb"^(" + "|".join(map(re.escape, LP_SOLVE)).encode() + rb") *\n", re.M | re.I)
OBJECTIVE = re.compile(rb"^Value of objective function: *(\S+) *\n", re.M)
VARIABLES = re.compile(rb"^Actual values of the variables: *\n", re.M)
CONSTRAINTS = b"\nActual values of the constraints:"


def matches(head: bytes) -> bool:
    return bool(WORDS.search(head) or OBJECTIVE.search(head))


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the output is cut off or a line is not a name and a number;
    an output that ends between two variables has fewer than its model."""
    objective = OBJECTIVE.search(data)
    words = WORDS.search(data, 0, objective.start() if objective else len(data))
    status = LP_SOLVE[words[1].decode().lower()] if words else Termination.OPTIMAL
    if not objective:
        return RawPoint(NAME, None, None, status)
    begin = VARIABLES.search(data, objective.end())
    if not begin or not data.endswith(b"\n"):
        raise cut_off("the values of the variables, each in a line")
    end = data.find(CONSTRAINTS, begin.end() - 1)
    end = len(data.rstrip(b"\n")) if end < 0 else end
    names, values = table(data, begin.end(), end + 1, 2, "the variables")
    return RawPoint(NAME, names, values.numbers("the variables"), status, number(objective[1]), len(names))
