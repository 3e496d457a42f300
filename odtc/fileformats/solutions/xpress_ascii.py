"""The .asc file of Xpress (writeSol): a table with commas, rows first, then the columns.

Source: Xpress Optimizer reference manual, "ASCII solution files". The letter of the status is in the .hdr file next to
it; here, as in .slx, only the log shows whether there is a solution.
"""

import re

import numpy as np

from odtc.errors import SolutionError
from odtc.fileformats.solution_files import RawPoint, cut_off
from odtc.model.name_spans import BLANK, NEWLINE, Words

NAME = "xpress-ascii"
SUFFIX = ".asc"
SUMMARY = "Xpress table with commas (.asc); read only"

COLUMN = ord("C")


def matches(head: bytes) -> bool:
    return bool(re.match(rb'\s*\d+,"[^"\n]*","\w","', head))


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the file is cut off or a line is not one of the table."""
    if not data.endswith(b"\n"):
        raise cut_off("a line end behind the last line")
    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == NEWLINE)
    begins = np.concatenate([[0], ends[:-1] + 1])
    # Names may hold commas, so the quotes are counted: place,"name","kind","basis",value,more
    quotes, commas = np.flatnonzero(buffer == ord('"')), np.flatnonzero(buffer == ord(","))
    six = np.arange(6, len(quotes) + 1, 6)
    if len(quotes) != 6 * len(ends) or not np.array_equal(np.searchsorted(quotes, ends), six):
        raise damaged_file()
    name, name_end, kind, kind_end, _, basis_end = quotes.reshape(-1, 6).T
    which = np.searchsorted(commas, basis_end + 2)
    if which.max() >= len(commas):
        raise damaged_file()
    value_end = commas[which]
    whole = (buffer[name - 1] == ord(",")) & (buffer[basis_end + 1] == ord(","))
    whole &= (kind_end == kind + 2) & (value_end < ends)
    if not (begins < name).all():  # no position at all: the quote is first in its line
        raise damaged_file()
    places = _trimmed(buffer, begins, name - 1).numbers("the places")
    if not whole.all() or not np.array_equal(places, np.arange(1, len(ends) + 1)):
        raise damaged_file()
    columns = np.flatnonzero(buffer[kind + 1] == COLUMN)
    names = _trimmed(buffer, name[columns] + 1, name_end[columns])
    values = _trimmed(buffer, basis_end[columns] + 2, value_end[columns]).numbers("the columns")
    return RawPoint(NAME, names, values, n_columns=len(columns))


def damaged_file() -> SolutionError:
    return SolutionError(
        'expected lines \'place,"name","kind","basis",value,...\' with the places 1, 2, 3, ...; '
        "the file is damaged, write it again"
    )


def _trimmed(buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> Words:
    """Return the words without the blanks on either side."""
    starts, ends = starts.copy(), ends.copy()
    while (front := (starts < ends) & (buffer[starts] == BLANK)).any():
        starts += front
    while (back := (starts < ends) & (buffer[ends - 1] == BLANK)).any():
        ends -= back
    return Words(buffer, starts, ends)
