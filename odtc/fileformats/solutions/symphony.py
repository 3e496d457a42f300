"""The standard output of SYMPHONY: the log, then the columns that are not 0.

SYMPHONY user's manual; docs/reference/file-formats.md.
"""

import re

import numpy as np

from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.fileformats.status_words import SYMPHONY
from odtc.model.name_spans import table
from odtc.model.solution import NO_POINT, Termination

NAME = "symphony"
SUFFIX = ".out"
SUMMARY = "standard output of SYMPHONY, zeros left out, ten decimals; read only"

BOX = re.compile(rb"^\* (\S.*?) +\* *$", re.M)
COST = re.compile(rb"^Solution Cost: *(\S+) *\n", re.M)
VALUES = re.compile(rb"^:?\+{5,} *\nColumn names and values of nonzeros in the solution *\n\+{5,} *\n", re.M)
ZERO = re.compile(rb"^All columns are zero in the solution! *\n", re.M)


def matches(head: bytes) -> bool:
    return b"Welcome to the SYMPHONY MILP Solver" in head


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the output is cut off or a line is not a name and a
    number."""
    found = [word.decode("utf-8", "replace").lower() for word in BOX.findall(data)]
    status = next((SYMPHONY[word] for word in reversed(found) if word in SYMPHONY), Termination.UNKNOWN)
    header = VALUES.search(data)
    if not header and ZERO.search(data) and (cost := COST.search(data)):
        return RawPoint(NAME, [], np.zeros(0), status, number(cost[1]))
    if status in NO_POINT:  # reported only in the box
        return RawPoint(NAME, None, None, status)
    if not header:
        if not re.search(rb"^(No Solution Found|The problem is \w+!) *\n", data, re.M):
            raise cut_off("'No Solution Found' or the names and values of the columns")
        return RawPoint(NAME, None, None, status)
    end = data.find(b"\n\n", header.end() - 1)
    if end < 0:
        raise cut_off("an empty line after the columns")
    cost = COST.search(data, 0, header.start())
    if not cost:
        raise cut_off("'Solution Cost:' before the columns")
    names, values = table(data, header.end(), end + 1, 2, "the columns")
    return RawPoint(
        NAME, names, values.numbers("the columns"), status, number(cost[1]), within_gap="target gap achieved" in found
    )
