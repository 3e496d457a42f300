"""`name value` lines, with comments after #: the start and solution files of Gurobi, COPT and cuOpt,
and the .mst of SCIP (FORMATS §7, §9)."""

import re

import numpy as np

from odtc.dataset import show_number
from odtc.format import gather, lines, name_table, number_table
from odtc.point import RawPoint, pairs
from odtc.solution import Termination

NAME = "name-value"
SUFFIX = ".mst"
SUMMARY = "one 'name value' a line (Gurobi, COPT, SCIP starts)"

OBJECTIVE = re.compile(r"^# Objective value *= *(\S+)|^# Objective value:? +(\S+)", re.M | re.I)
LINE = re.compile(r"\S+\s+[-+]?(\d|\.\d|inf|nan)\S*\s*$", re.I)


def matches(text: str) -> bool:
    content = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    first = next(content, None)
    return bool(first and LINE.match(first))


def read(text: str) -> RawPoint:
    """The file holds no status: `termination` is None. Raises SolutionError for another line."""
    words = re.sub(r"^#.*$", "", text, flags=re.M).split()
    names, values = pairs(words, "the file")
    found = OBJECTIVE.search(text)
    return RawPoint(NAME, names, values, None, float(found[1] or found[2]) if found else None)


def write(model, x: np.ndarray, stream, termination=Termination.UNKNOWN) -> None:
    stream.write(f"# Objective value = {show_number(model.objective(x))}\n".encode("ascii"))
    table, code = number_table(x)
    stream.write(lines(name_table(model.columns), " ", gather(table, code), "\n"))
