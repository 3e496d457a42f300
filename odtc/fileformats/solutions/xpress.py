"""The .slx file of Xpress, solution and start: ` C name value` between NAME and ENDATA.

Source: Xpress Optimizer reference manual, writeSlxSol and readSlxSol. It has no status, and if the search found
nothing it contains the linear relaxation: only the log shows this (`has_point` of the solver).
"""

import re

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.errors import SolutionError
from odtc.fileformats.model_files import gather, identity_words, lines, name_table, number_table
from odtc.fileformats.solution_files import RawPoint, cut_off
from odtc.model.milp import Model
from odtc.model.name_spans import table
from odtc.model.solution import Termination

NAME = "xpress"
SUFFIX = ".slx"
SUMMARY = "Xpress solution file and start (.slx)"

HEADER = re.compile(rb"\s*(?:NAME\b.*\n)?(?:\*.*\n)*")
END = re.compile(rb"^ENDATA\s*\Z", re.M)


def matches(head: bytes) -> bool:
    return bool(re.match(rb"\s*(NAME\b.*\n(?:\*.*\n)*\s*(C |ENDATA)|ENDATA\s*\Z|C +\S+ +[-+\d.]\S* *\n)", head))


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if ENDATA is missing or a line is not C, a name and a number."""
    end = END.search(data, max(0, len(data) - 20))
    if not end:
        raise cut_off("ENDATA at the end")
    kinds, names, values = table(data, HEADER.match(data).end(), end.start(), 3, "the columns")
    if not len(names):
        return RawPoint(NAME, None, None)
    other = (kinds.buffer[kinds.starts] != ord("C")) | (kinds.ends - kinds.starts != 1)
    if other.any():
        at = int(other.argmax())
        raise SolutionError(
            f"expected lines 'C name value', got {kinds[at][:60]!r} first in line {kinds.line(at)}; write one "
            f"solution only"
        )
    # It names every column, those at 0 too (docs/reference/file-formats.md): fewer names mean that a part is missing.
    return RawPoint(NAME, names, values.numbers("the columns"), n_columns=len(names))


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    words = identity_words(model, file=True)
    stream.write((f"NAME {model.name}\n" + (f"* {words}\n" if words else "")).encode())
    if len(x):
        texts, code = number_table(x)
        stream.write(lines(" C ", name_table(model.columns), " ", gather(texts, code), "\n"))
    stream.write(b"ENDATA\n")
