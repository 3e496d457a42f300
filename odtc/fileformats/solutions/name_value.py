"""`name value` lines, with comments after #: the start and solution files of Gurobi, COPT and cuOpt,
and the .mst of SCIP (docs/reference/file-formats.md).

Gurobi reference manual, "MST and SOL format"; COPT manual, "Solution file"; cuOpt documentation.
"""

import re

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats.model_files import gather, identity_words, lines, name_table, number_table
from odtc.fileformats.solution_files import RawPoint, number
from odtc.fileformats.status_words import CUOPT
from odtc.model.milp import Model
from odtc.model.name_spans import table
from odtc.model.solution import Termination

NAME = "name-value"
SUFFIX = ".mst"
SUMMARY = "one 'name value' a line (Gurobi, COPT, cuOpt; SCIP starts)"

COMMENTS = re.compile(rb"(?:[ \t]*(?:#.*)?\n)*")
COMMENT = re.compile(rb"^[ \t]*#.*$", re.M)
OBJECTIVE = re.compile(rb"^#[ \t]*Objective value[ \t]*[=:]?[ \t]*(\S+)", re.M | re.I)
# The line "# Status:", which only cuOpt writes.
WORD = re.compile(rb"^#[ \t]*Status[ \t]*[=:][ \t]*(\S[^\n]*)", re.M | re.I)
LINE = re.compile(rb"\s*\S+[ \t]+[-+]?(\d|\.\d|inf|nan)\S*[ \t]*\n?\Z", re.I)


def _behind_comments(data: bytes) -> int:
    found = COMMENTS.match(data)
    return found.end() if found else 0


def matches(head: bytes) -> bool:
    begin = _behind_comments(head)
    first = head[begin:].split(b"\n", 1)[0]
    return bool(LINE.match(first) or (not first and WORD.search(head)))


def read(data: bytes) -> RawPoint:
    """`termination` is None if the file holds no status. Raises SolutionError for another line, and
    for a last line that does not end."""
    begin = _behind_comments(data)
    found, word = OBJECTIVE.search(data, 0, begin), WORD.search(data, 0, begin)
    status = CUOPT.get("".join(word[1].decode("utf-8").split()).lower(), Termination.UNKNOWN) if word else None
    if data.find(b"#", begin) >= 0:
        data, begin = COMMENT.sub(b"", data), 0
    names, values = table(data, begin, None, 2, "the file")
    if not len(names) and word:
        return RawPoint(NAME, None, None, status)
    return RawPoint(NAME, names, values.numbers("the columns"), status, number(found[1]) if found else None)


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    words = identity_words(model, file=True)
    comment = f"# {words}\n" if words else ""
    stream.write(f"# Objective value = {show_number(model.objective(x))}\n{comment}".encode("ascii"))
    if len(x):
        texts, code = number_table(x)
        stream.write(lines(name_table(model.columns), " ", gather(texts, code), "\n"))
