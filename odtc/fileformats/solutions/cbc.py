"""The solution file of CBC: a status line, then `index name value reduced-cost`, also as a start (-mips).

CBC user guide, "-solution", "-printingOptions all" (the rows first, their index from 0 again for the
columns; else only the columns that are not 0), "-mipStart"; docs/reference/file-formats.md.
"""

import re

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.errors import SolutionError
from odtc.fileformats.model_files import gather, lines, name_table, number_table, text_table
from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.fileformats.status_words import CBC_FILE
from odtc.model.milp import Model
from odtc.model.name_spans import table
from odtc.model.solution import NO_POINT, Termination

NAME = "cbc"
SUFFIX = ".sol"
SUMMARY = "CBC solution file and start (-mips)"

WORDS = {Termination.OPTIMAL: "Optimal", Termination.TIME_LIMIT: "Stopped on time"}

HEADER = re.compile(
    rb"\s*(" + "|".join(map(re.escape, CBC_FILE)).encode() + rb")((?: \([^)\n]*\))*) - objective value +(\S+) *\n", re.I
)
# Of a value out of its bounds, or of a number so long that it touches the next.
MARK = re.compile(rb"^\*\*(?= )", re.M)


def matches(head: bytes) -> bool:
    return bool(re.match(rb"[^\n]*\S+ - objective value ", head.lstrip()))


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the file is cut off, or a line is not index, name, value and
    cost."""
    header = HEADER.match(data)
    if not header:
        known = ", ".join(CBC_FILE)
        first = data[:60].split(b"\n", 1)[0].decode("utf-8", "replace")
        raise SolutionError(f"expected a status of CBC ({known}) in line 1, got {first!r}; write the solution again")
    status = CBC_FILE[header[1].decode("ascii").lower()]
    # Without an incumbent it writes the linear relaxation, and says so.
    if status in NO_POINT or b"continuous used" in header[2]:
        return RawPoint(NAME, None, None, status)
    objective, begin = number(header[3]), header.end()
    if b"**" in data:
        data = data[:begin] + MARK.sub(b"  ", data[begin:])
    if not data.endswith(b"\n"):
        raise cut_off("whole lines to the end")
    index, names, values, _ = table(data, begin, None, 4, "the columns")
    at = index.numbers("the places of the columns")
    first = _first_column(at)
    which = slice(first, None)
    return RawPoint(
        NAME,
        names.take(which),
        values.take(which).numbers("the columns"),
        status,
        objective,
        len(at) - first if first else None,
        b"within gap" in header[2],
    )


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    status, objective = WORDS.get(termination, "Stopped on time"), show_number(model.objective(x))
    stream.write(f"{status} - objective value {objective}\n".encode("ascii"))
    if len(x):
        texts, code = number_table(x)
        places = text_table([str(place) for place in range(len(x))])
        stream.write(lines(places, " ", name_table(model.columns), " ", gather(texts, code), " 0\n"))


def _first_column(index: np.ndarray) -> int:
    """Return the line at which the columns begin: if the rows 0 … m - 1 come first, it is the second line with number
    0."""
    again = np.flatnonzero(index == 0)
    if len(again) < 2:
        if len(np.unique(index)) < len(index):
            raise SolutionError("expected each place once, got one twice; the file is damaged, write it again")
        return 0
    begin = int(again[1])
    for part in (index[:begin], index[begin:]):
        if not np.array_equal(part, np.arange(len(part))):
            raise SolutionError(
                "expected the rows 0, 1, 2, ... and then the columns 0, 1, 2, ..., in this order; "
                "the file is damaged, write it again"
            )
    return begin
