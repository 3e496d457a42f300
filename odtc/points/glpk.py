"""The solution file of GLPK (glpsol -w), also style 2 of HiGHS: values by place, no names.

GLPK reference manual, glp_write_mip and, of a linear program, glp_write_sol; the order is that of
the model file.
"""

import re

import numpy as np

from odtc.dataset import show_number
from odtc.errors import SolutionError
from odtc.format import gather, lines, number_table, text_table
from odtc.point import RawPoint, cut_off, number
from odtc.solution import Termination
from odtc.words import table

NAME = "glpk"
SUFFIX = ".sol"
SUMMARY = "GLPK solution file by place (glpsol -w; HiGHS style 2)"

# "f" is a point without a proof, "u" neither: why it stopped then, only the log says.
STATUS = {b"o": Termination.OPTIMAL, b"f": None, b"n": Termination.INFEASIBLE, b"u": None}
# Of a basis: whether its primal and its dual point are feasible ("n": there is no such point).
BASIS = {b"ff": Termination.OPTIMAL, b"fn": Termination.UNBOUNDED, b"nf": Termination.INFEASIBLE, b"nu": Termination.INFEASIBLE}

HEADER = re.compile(rb"(?:c.*\n|[ \t]*\n)*s +(?:mip +(\d{1,12}) +(\d{1,12}) +([ofnu])|bas +(\d{1,12}) +(\d{1,12}) +([fuin]) +([fuin])) +(\S+) *\n")
END = re.compile(rb"^e o f\s*\Z", re.M)
FIRST = re.compile(rb"^j ", re.M)


def matches(head: bytes) -> bool:
    return bool(re.match(rb"\s*(c |c\n|s +(mip|bas|ipt) )", head)) and bool(re.search(rb"^(s +|c Problem:)", head, re.M))


def read(data: bytes) -> RawPoint:
    """Raises SolutionError where the file is cut off, or a place is missing or comes twice."""
    header = HEADER.match(data)
    if not header:
        raise SolutionError(
            "expected a line 's mip ROWS COLUMNS STATUS OBJECTIVE' (or 's bas' of a linear program), as glpsol -w "
            "writes it; write the file again"
        )
    end = END.search(data, max(header.end() - 1, len(data) - 20))
    if not end:
        raise cut_off("'e o f' at the end")
    mip = header[3] is not None
    n_rows, n_columns = int(header[1] or header[4]), int(header[2] or header[5])
    status = STATUS[header[3]] if mip else BASIS.get(header[6] + header[7])
    if header[3] in (b"u", b"n") or not mip and header[6] != b"f":
        return RawPoint(NAME, None, None, status)
    first = FIRST.search(data, header.end())
    begin = first.start() if first else end.start()
    words = table(data, begin, end.start(), 3 if mip else 5, "the columns")
    kind, place, value = words if mip else (words[0], words[1], words[3])  # a basis has kinds and reduced costs beside
    rows = data.count(b"\n", header.end(), begin)
    if len(place) != n_columns or rows != n_rows or (kind.buffer[kind.starts] != ord("j")).any():
        raise cut_off(f"{n_rows} rows and {n_columns} columns, as the file announces", f"{rows} and {len(place)}")
    at = place.numbers("the places of the columns")
    values = np.full(n_columns, np.nan)
    good = (at >= 1) & (at <= n_columns) & (at == np.floor(at))
    values[at[good].astype(np.int64) - 1] = value.numbers("the columns")[good]
    if not good.all() or len(np.unique(at)) < n_columns:
        raise SolutionError(f"expected each place from 1 to {n_columns} once; the file is damaged, write it again")
    return RawPoint(NAME, None, values, status, number(header[8]), n_columns)


def write(model, x: np.ndarray, stream, termination=Termination.UNKNOWN) -> None:
    letter = "o" if termination == Termination.OPTIMAL else "f"
    stream.write(f"s mip {model.n_rows} {model.n_cols} {letter} {show_number(model.objective(x))}\n".encode("ascii"))
    for kind, values in (("i", model.A @ x), ("j", x)):
        if len(values):
            texts, code = number_table(values)
            places = text_table([str(place) for place in range(1, len(values) + 1)])
            stream.write(lines(f"{kind} ", places, " ", gather(texts, code), "\n"))
    stream.write(b"e o f\n")
