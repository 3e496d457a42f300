"""The readable solution file of GLPK (glpsol -o), also style 3 of HiGHS: a table, six digits.

GLPK reference manual, glp_print_mip, and for an LP glp_print_sol and glp_print_ipt. A name of more than 12 letters has
its numbers on the next line.
"""

import re

import numpy as np

from odtc.errors import SolutionError
from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.model.name_spans import NEWLINE, split
from odtc.model.solution import Termination

NAME = "glpk-table"
SUFFIX = ".out"
SUMMARY = "GLPK readable solution file (glpsol -o; HiGHS style 3), six digits; read only"

# A point without a proof, or neither: why it stopped then, only the log says.
STATUS = {
    "integer optimal": Termination.OPTIMAL,
    "integer non-optimal": None,
    "integer empty": Termination.INFEASIBLE,
    "integer undefined": None,
    "optimal": Termination.OPTIMAL,
    "feasible": None,
    "infeasible (intermediate)": None,
    "infeasible (final)": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "undefined": None,
}
POINT = ("integer optimal", "integer non-optimal", "optimal", "feasible")

HEADER = re.compile(
    rb"\s*Problem: .*\nRows: +(\d{1,12}) *\nColumns: +(\d{1,12})\b.*\n(?:Non-zeros: .*\n)?"
    rb"Status: +(\S.*)\nObjective: +.*= *(\S+)"
)
COLUMNS = re.compile(rb"^ +No\. Column name .*\n[- ]+\n", re.M)

# The mark before the value: the star of an integer column, or the status of a column of a basis (b, nl, nu, nf, ns).
MARKS = np.frombuffer(b"*BN", np.uint8)


def matches(head: bytes) -> bool:
    return bool(re.match(rb"\s*Problem: .*\nRows: ", head))


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the file is cut off, its status is unknown, or a line does
    not fit the table."""
    header, columns = HEADER.match(data), COLUMNS.search(data)
    if not header or not columns or not data.rstrip().endswith(b"End of output"):
        raise cut_off("the number of columns, their table and 'End of output'")
    status = header[3].decode("utf-8").strip().lower()
    if status not in STATUS:
        raise SolutionError(
            f"expected a status of GLPK ({', '.join(STATUS)}), got {status[:60]!r}; write the solution again"
        )
    if status not in POINT:
        return RawPoint(NAME, None, None, STATUS[status])
    n_columns, end = int(header[2]), data.find(b"\n\n", columns.end() - 1) + 1
    words = split(data, columns.end(), end)
    # A line that goes on begins with twenty blanks, a place of any size within seven.
    newlines = np.flatnonzero(words.buffer[columns.end() : end] == NEWLINE) + columns.end()
    begins = np.concatenate([[columns.end()], newlines[:-1] + 1])
    first = np.searchsorted(words.starts, begins)
    first = first[first < len(words)]
    first = first[words.starts[first] - begins[: len(first)] < 7]
    if len(first) and first[-1] + 2 >= len(words):
        raise cut_off("a place, a name and a value on every line of the columns")
    value = first + 2  # after the place and the name
    value = value + np.isin(words.buffer[words.starts[value]], MARKS)
    if len(value) and value[-1] >= len(words):
        raise cut_off("a place, a name and a value on every line of the columns")
    places = words.take(first).numbers("the places of the columns")
    if not np.array_equal(places, np.arange(1, n_columns + 1)):
        raise SolutionError(
            f"expected {n_columns} columns, as the file announces, numbered 1, 2, 3, ..., got {len(places)}; "
            "the file is cut off or damaged, write it again"
        )
    numbers = words.take(value).numbers("the columns")
    return RawPoint(NAME, words.take(first + 1), numbers, STATUS[status], number(header[4]), n_columns)
