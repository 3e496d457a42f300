"""The raw solution file of HiGHS (style 0) and its sparse form (style 4), read and written.

HiGHS documentation, "writeSolution"; what it takes as a MIP start: FORMATS §7.
"""

import re

import numpy as np

from odtc.dataset import show_number
from odtc.errors import SolutionError
from odtc.format import gather, lines, name_table, number_table
from odtc.point import RawPoint, pairs
from odtc.solution import Termination

NAME = "highs"
SUFFIX = ".sol"
SUMMARY = "HiGHS raw solution file, dense or sparse"

STATUS = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "primal infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "interrupted by user": Termination.INTERRUPTED,
    "unknown": Termination.UNKNOWN,
}
WORDS = {termination: words.capitalize() for words, termination in STATUS.items()}

COLUMNS = re.compile(r"^# Columns (-?\d+)\s*$", re.M)
HEADING = re.compile(r"^# ", re.M)


def matches(text: str) -> bool:
    return text.lstrip().startswith("Model status")


def read(text: str) -> RawPoint:
    """Raises SolutionError where the file is cut off or a line is not a name and a number."""
    head = text.lstrip().splitlines()
    status = STATUS.get(head[1].strip().lower(), Termination.UNKNOWN) if len(head) > 1 else Termination.UNKNOWN
    primal = text.find("# Primal solution values")
    if primal < 0:
        raise SolutionError("expected a section '# Primal solution values'; the file is cut off")
    words = text[primal:].splitlines()[1:3]
    if not words or words[0].strip() == "None":
        return RawPoint(NAME, [], None, status)
    found = COLUMNS.search(text, primal)
    if not found:
        raise SolutionError("expected a line '# Columns n' after the primal values; the file is cut off")
    count, begin = int(found[1]), found.end()
    following = HEADING.search(text, begin)
    body = text[begin : following.start() if following else len(text)].split()
    if count < 0:  # sparse: name, value, index; absent columns are 0
        names, values = pairs([word for at, word in enumerate(body) if at % 3 < 2], "the columns")
        announced = None
    else:
        names, values = pairs(body, "the columns")
        announced = count
    if len(names) != abs(count):
        raise SolutionError(f"expected {abs(count)} columns, as the file announces, got {len(names)}; it is cut off")
    objective = re.match(r"Objective (\S+)", words[1]) if len(words) > 1 else None
    return RawPoint(NAME, names, values, status, float(objective[1]) if objective else None, announced)


def write(model, x: np.ndarray, stream, termination=Termination.UNKNOWN) -> None:
    stream.write(
        f"Model status\n{WORDS.get(termination, 'Unknown')}\n\n# Primal solution values\nFeasible\n"
        f"Objective {show_number(model.objective(x))}\n".encode("ascii")
    )
    for title, blocks, values in (("Columns", model.columns, x), ("Rows", model.rows, model.A @ x)):
        stream.write(f"# {title} {len(values)}\n".encode("ascii"))
        if len(values):
            table, code = number_table(values)
            stream.write(lines(name_table(blocks), " ", gather(table, code), "\n"))
    stream.write(b"\n# Dual solution values\nNone\n\n# Basis\nHiGHS_basis_file v2\nNone\n")
