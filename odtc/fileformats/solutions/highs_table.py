"""The readable solution file of HiGHS (style 1): a table of columns and a table of rows, with six digits.

Source: HiGHS documentation, "writeSolution". Its styles 2 and 3 are the formats of GLPK.
"""

import re

import numpy as np

from odtc.errors import SolutionError
from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.fileformats.status_words import HIGHS
from odtc.model.name_spans import table
from odtc.model.solution import Termination

NAME = "highs-table"
SUFFIX = ".sol"
SUMMARY = "HiGHS readable solution file (style 1), six digits; read only"

# The place of the value among the words of a line, by their number: without a point there is none,
# and an LP has a status and a dual value besides.
VALUE = {5: None, 6: 3, 8: 4}

HEADER = re.compile(rb"\s*Columns *\n +Index +Status +Lower +Upper +Primal +Dual .*Name *\n")
ROWS = b"\nRows\n"
END = re.compile(rb"^Model status: *(\S.*?) *$(?:\s*^Objective value: *(\S+) *\n)?", re.M)


def matches(head: bytes) -> bool:
    return bool(HEADER.match(head))


def read(data: bytes) -> RawPoint:
    """Read the table. Raises SolutionError if the file is not such a table, is cut off, or has another line."""
    header = HEADER.match(data)
    if header is None:
        raise SolutionError("expected a table that begins with 'Columns' and the line of its heads; write it again")
    rows = data.find(ROWS, header.end() - 1)
    end = END.search(data, rows) if rows >= 0 else None
    if not end or not data.endswith(b"\n"):
        raise cut_off("a table 'Rows' and a line 'Model status: ...' after the columns")
    status = HIGHS.get(end[1].decode("utf-8").lower(), Termination.UNKNOWN)
    width = len(data[header.end() : data.index(b"\n", header.end())].split())
    if width not in VALUE:
        raise SolutionError(
            f"expected 6 words on the first line of the columns, got {width}; write the solution in style 0"
        )
    words = table(data, header.end(), rows + 1, width, "the columns")
    place = VALUE[width]
    if place is None:
        return RawPoint(NAME, None, None, status)
    places = words[0].numbers("the places of the columns")
    if not np.array_equal(places, np.arange(len(places))):
        raise SolutionError("expected the columns 0, 1, 2, ..., in this order; the file is damaged, write it again")
    values = words[place].numbers("the columns")
    return RawPoint(NAME, words[-1], values, status, number(end[2]) if end[2] else None, len(places))
