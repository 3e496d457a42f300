"""The solution file of GLPK (glpsol -w), also style 2 of HiGHS: values by position, no names.

Source: GLPK reference manual, glp_write_mip, and for an LP glp_write_sol (`s bas`) and glp_write_ipt (`s ipt`); the
values are in the order of the model file.
"""

import re

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.errors import SolutionError
from odtc.fileformats.model_files import gather, lines, number_table, text_table
from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.model.milp import Model
from odtc.model.name_spans import table
from odtc.model.solution import Termination

NAME = "glpk"
SUFFIX = ".sol"
SUMMARY = "GLPK solution file by place (glpsol -w; HiGHS style 2)"

# "f" is a point without a proof, "u" neither, nor "i" of an LP: why it stopped then, only the log says.
STATUS = {b"o": Termination.OPTIMAL, b"f": None, b"n": Termination.INFEASIBLE, b"u": None, b"i": None}
POINT = b"of"
# Of a basis that of the primal and that of the dual: feasible, infeasible, none, undefined.
BASIS = {b"ff": Termination.OPTIMAL, b"fn": Termination.UNBOUNDED}
# The words of a line of the columns, and the place of the value among them.
WORDS = {b"mip": (3, 2), b"bas": (5, 3), b"ipt": (4, 2)}

HEADER = re.compile(
    rb"(?:c.*\n|[ \t]*\n)*s +(?:(mip) +(\d{1,12}) +(\d{1,12}) +([ofnu])|(bas) +(\d{1,12}) +(\d{1,12}) +([fnui] +[fnui])"
    rb"|(ipt) +(\d{1,12}) +(\d{1,12}) +([ofnui])) +(\S+) *\n"
)
END = re.compile(rb"^e o f\s*\Z", re.M)
FIRST = re.compile(rb"^j ", re.M)


def matches(head: bytes) -> bool:
    return bool(re.match(rb"\s*(c |c\n|s +(mip|bas|ipt) )", head)) and bool(
        re.search(rb"^(s +(mip|bas|ipt) |c Problem:)", head, re.M)
    )


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the file is cut off, or a place is missing or comes twice."""
    header = HEADER.match(data)
    if not header:
        raise SolutionError(
            "expected a line 's mip ROWS COLUMNS STATUS OBJECTIVE', or one of 's bas' or 's ipt', as glpsol -w writes "
            "it; write the file again"
        )
    end = END.search(data, max(header.end() - 1, len(data) - 20))
    if not end:
        raise cut_off("'e o f' at the end")
    kind, n_rows, n_columns, letters, objective = (word for word in header.groups() if word is not None)
    n_rows, n_columns, letters = int(n_rows), int(n_columns), b"".join(letters.split())
    status = BASIS.get(letters, STATUS[letters[:1]])
    if letters[:1] not in POINT:
        return RawPoint(NAME, None, None, status)
    first = FIRST.search(data, header.end())
    begin = first.start() if first else end.start()
    width, of_value = WORDS[kind]
    words = table(data, begin, end.start(), width, "the columns")
    letter, place, value = words[0], words[1], words[of_value]
    rows = data.count(b"\n", header.end(), begin)
    if len(place) != n_columns or rows != n_rows or (letter.buffer[letter.starts] != ord("j")).any():
        raise cut_off(f"{n_rows} rows and {n_columns} columns, as the file announces", f"{rows} and {len(place)}")
    at = place.numbers("the places of the columns")
    values = np.full(n_columns, np.nan)
    good = (at >= 1) & (at <= n_columns) & (at == np.floor(at))
    values[at[good].astype(np.int64) - 1] = value.numbers("the columns")[good]
    if not good.all() or len(np.unique(at)) < n_columns:
        raise SolutionError(f"expected each place from 1 to {n_columns} once; the file is damaged, write it again")
    return RawPoint(NAME, None, values, status, number(objective), n_columns)


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    letter = "o" if termination == Termination.OPTIMAL else "f"
    stream.write(f"s mip {model.n_rows} {model.n_cols} {letter} {show_number(model.objective(x))}\n".encode("ascii"))
    for kind, values in (("i", model.A @ x), ("j", x)):
        if len(values):
            texts, code = number_table(values)
            places = text_table([str(place) for place in range(1, len(values) + 1)])
            stream.write(lines(f"{kind} ", places, " ", gather(texts, code), "\n"))
    stream.write(b"e o f\n")
