"""The solution file of SCIP: `name value (obj:c)`, with the columns at 0 left out.

SCIP documentation, SCIPprintSol; read as a start after the model; a column that is missing is 0.
"""

import re

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats.model_files import gather, lines, name_table, number_table
from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.fileformats.status_words import SCIP
from odtc.model.milp import Model
from odtc.model.name_spans import table
from odtc.model.solution import NO_POINT, Termination

NAME = "scip"
SUFFIX = ".sol"
SUMMARY = "SCIP solution file, zeros left out"

WORDS = {termination: words for words, termination in reversed(SCIP.items())}

HEADER = re.compile(
    rb"\s*(?:solution status: *(\S.*)\n)?\s*(?:(no solution available) *\n|objective value: *(\S+) *\n)?"
)


def matches(head: bytes) -> bool:
    return bool(re.match(rb"\s*(solution status:|objective value:|no solution available)", head))


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the file is cut off, or a line is not a name, a number and
    its cost."""
    header = HEADER.match(data)
    status = SCIP.get(header[1].decode("utf-8").strip().lower(), Termination.UNKNOWN) if header[1] else None
    if header[2] or status in NO_POINT:  # of an unbounded model it writes "+infinity"
        return RawPoint(NAME, None, None, status)
    if not header[3]:
        raise cut_off("'objective value:' or 'no solution available' after the status")
    begin = header.end()
    first = data[begin : data.find(b"\n", begin) + 1].split()
    costs = not first or first[-1].startswith(b"(obj:")
    names, values = table(data, begin, None, 3 if costs else 2, "the columns")[:2]
    within = header[1] is not None and header[1].strip().lower() == b"gap limit reached"
    return RawPoint(NAME, names, values.numbers("the columns"), status, number(header[3]), within_gap=within)


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    which = np.flatnonzero(x)
    status, objective = WORDS.get(termination, "unknown"), show_number(model.objective(x))
    stream.write(f"solution status: {status}\nobjective value: {objective}\n".encode("ascii"))
    if len(which):
        (texts, code), (costs, cost) = number_table(x[which]), number_table(model.c[which])
        names = gather(name_table(model.columns), which)
        stream.write(lines(names, " ", gather(texts, code), " \t(obj:", _closed(gather(costs, cost)), "\n"))


def _closed(costs: np.ndarray) -> np.ndarray:
    """Return the table of costs, each followed by its bracket before the blanks."""
    wide = np.concatenate([costs, np.full((len(costs), 1), ord(" "), np.uint8)], axis=1)
    wide[np.arange(len(wide)), (costs != ord(" ")).sum(axis=1)] = ord(")")
    return wide
