"""The raw solution file of HiGHS (style 0), and its sparse form (style 4) for reading.

Source: HiGHS documentation, "writeSolution"; its MIP starts: docs/reference/file-formats.md.
"""

import re

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats.model_files import gather, identity_words, lines, name_table, number_table
from odtc.fileformats.solution_files import RawPoint, cut_off, number
from odtc.fileformats.status_words import HIGHS
from odtc.model.milp import Model
from odtc.model.name_spans import table
from odtc.model.solution import Termination

NAME = "highs"
SUFFIX = ".sol"
SUMMARY = "HiGHS raw solution file, dense (its sparse form is read too)"

WORDS = {termination: words.capitalize() for words, termination in HIGHS.items()}

HEADER = re.compile(rb"\s*Model status *\n *(\S.*)\n\s*# Primal solution values *\n *(\S+) *\n")
OBJECTIVE = re.compile(rb" *Objective +(\S+) *\n")
# Since 1.16 the bound and the gap of a MIP follow the objective, and "sparse" or "partial" the number, which is
# negative, or 0 if no column is named.
COLUMNS = re.compile(
    rb"(?: *Objective_bound +(?P<bound>\S+) *\n)?(?: *MIP_rel_gap +\S+ *\n)?"
    rb" *# Columns (?P<count>-?\d{1,12})(?: (?:sparse|partial))? *\n"
)
NEAR = 1e-6  # of the objective: as far as a bound may be below it and still prove it
ROWS = re.compile(rb"# Rows (\d{1,12}) *\n")


def matches(head: bytes) -> bool:
    return head.lstrip().startswith(b"Model status")


def read(data: bytes) -> RawPoint:
    """Return the point of a file; raises SolutionError if the file is cut off or a line is not a name and a number."""
    header = HEADER.match(data)
    if not header:
        raise cut_off("'Model status', its words, '# Primal solution values' and whether they are feasible")
    status = HIGHS.get(header[1].decode("utf-8").strip().lower(), Termination.UNKNOWN)
    if header[2] in (b"None", b"Infeasible"):
        return RawPoint(NAME, None, None, status)
    objective = OBJECTIVE.match(data, header.end())
    found = COLUMNS.match(data, objective.end() if objective else header.end())
    if not found:
        raise cut_off("a line '# Columns n' after the primal values")
    count, end = int(found["count"]), data.find(b"\n# ", found.end() - 1) + 1 or len(data)
    sparse = count <= 0  # name, value, index; absent columns are 0
    names, values = table(data, found.end(), end, 3 if sparse else 2, "the columns")[:2]
    if len(names) != abs(count):
        raise cut_off(f"{abs(count)} columns, as the file announces", str(len(names)))
    # The rows are not used, but if they are not whole the file is not.
    rows = ROWS.match(data, end)
    if not data.endswith(b"\n") or (not sparse and (not rows or data.count(b"\n", rows.end()) < int(rows[1]))):
        raise cut_off("whole lines to the end and every row that the file announces")
    value = number(objective[1]) if objective else None
    bound = number(found["bound"]) if found["bound"] else None
    unproved = value is not None and bound is not None and abs(value - bound) > NEAR * max(1.0, abs(value))
    return RawPoint(NAME, names, values.numbers("the columns"), status, value, None if sparse else count, unproved)


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    stream.write(
        f"Model status\n{WORDS.get(termination, 'Unknown')}\n\n# Primal solution values\nFeasible\n"
        f"Objective {show_number(model.objective(x))}\n".encode("ascii")
    )
    for title, blocks, values in (("Columns", model.columns, x), ("Rows", model.rows, model.A @ x)):
        stream.write(f"# {title} {len(values)}\n".encode("ascii"))
        if len(values):
            texts, code = number_table(values)
            stream.write(lines(name_table(blocks), " ", gather(texts, code), "\n"))
    stream.write(b"\n# Dual solution values\nNone\n\n# Basis\nHiGHS_basis_file v2\nNone\n")
    if words := identity_words(model, file=True):  # HiGHS reads no further than the basis
        stream.write(f"# {words}\n".encode("ascii"))
