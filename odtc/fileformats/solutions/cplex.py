"""The XML files of CPLEX, solution (.sol) and start (.mst).

CPLEX manual, "SOL file format" and "MST file format"; docs/reference/file-formats.md.
"""

import re
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.errors import SolutionError
from odtc.fileformats.model_files import identity_words
from odtc.fileformats.solution_files import RawPoint, number
from odtc.model.milp import Model
from odtc.model.name_spans import Words
from odtc.model.points import name_list
from odtc.model.solution import NO_POINT, Termination

NAME = "cplex"
SUFFIX = ".mst"
SUMMARY = "CPLEX solution file and start (XML)"

# CPX_STAT_* and CPXMIP_*, as in the attribute solutionStatusValue.
STATUS = {
    "1": Termination.OPTIMAL,
    "2": Termination.UNBOUNDED,
    "3": Termination.INFEASIBLE,
    "4": Termination.INFEASIBLE_OR_UNBOUNDED,
    "5": Termination.OPTIMAL,
    "11": Termination.TIME_LIMIT,
    "13": Termination.INTERRUPTED,
    "101": Termination.OPTIMAL,
    "102": Termination.OPTIMAL,
    "103": Termination.INFEASIBLE,
    "107": Termination.TIME_LIMIT,
    "108": Termination.TIME_LIMIT,
    "113": Termination.INTERRUPTED,
    "114": Termination.INTERRUPTED,
    "115": Termination.OPTIMAL,
    "118": Termination.UNBOUNDED,
    "119": Termination.INFEASIBLE_OR_UNBOUNDED,
    "129": Termination.OPTIMAL,
    "130": Termination.OPTIMAL,
}
WITHIN_GAP = ("102", "130")  # "integer optimal, tolerance"
PART = 1 << 18  # columns that are written at once
ROOT = re.compile(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(CPLEXSolutions?|!DOCTYPE)\b", re.S)


def matches(head: bytes) -> bool:
    return bool(ROOT.match(head))


def read(data: bytes) -> RawPoint:
    """Return the first solution of a file of several. Raises SolutionError for XML that is cut off, and for a
    DOCTYPE, which no solver writes: the entities in it can be made to fill any memory."""
    header: list[str] = []
    names: list[str] = []
    values: list[str] = []
    solutions = 0

    def refuse(*_: object) -> None:
        raise SolutionError(
            "expected XML as CPLEX writes it, got a DOCTYPE, which is not read; write the solution again"
        )

    def start(tag: str, attributes: list[str]) -> None:
        nonlocal solutions
        if tag == "variable":
            if solutions > 1:
                return
            if len(attributes) < 4 or attributes[0] != "name" or attributes[-2] != "value":  # CPLEX's order
                attributes = _ordered(attributes)
            names.append(attributes[1])
            values.append(attributes[-1])
        elif tag == "header" and not header:
            header.extend(attributes)
        elif tag == "CPLEXSolution":
            solutions += 1

    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, start
    # The slacks of the rows, often the larger part, are left out.
    rows, end = data.find(b"<linearConstraints>"), data.find(b"</linearConstraints>")
    try:
        if 0 <= rows < end:
            parser.Parse(data[:rows], False)
            data = data[end + len(b"</linearConstraints>") :]
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        what = expat.ErrorString(problem.code)
        raise SolutionError(
            f"expected whole XML, got '{what}'; the file is cut off or damaged, write it again"
        ) from None
    said = dict(zip(header[0::2], header[1::2]))
    code, objective = said.get("solutionStatusValue"), said.get("objectiveValue")
    status = None if code is None else STATUS.get(code, Termination.UNKNOWN)
    if status in NO_POINT or code == "108":
        return RawPoint(NAME, None, None, status)
    if not names:
        raise SolutionError("expected elements <variable name=... value=...>, got none; the file holds no solution")
    numbers = Words.of(values).numbers("the variables")
    return RawPoint(
        NAME, Words.of(names), numbers, status, number(objective) if objective else None, within_gap=code in WITHIN_GAP
    )


def _ordered(attributes: list[str]) -> list[str]:
    """Return the name and the value of a variable, in whichever order and with whatever between them."""
    named = dict(zip(attributes[0::2], attributes[1::2]))
    if "name" not in named or "value" not in named:
        got = " ".join(attributes)[:60]
        raise SolutionError(f"expected <variable name=... value=...>, got {got!r}; write the file again")
    return ["name", named["name"], "value", named["value"]]


def write(model: Model, x: np.ndarray, stream: ByteStream, termination: Termination = Termination.UNKNOWN) -> None:
    objective = show_number(model.objective(x))
    words = identity_words(model, file=True)
    comment = f"<!-- {words} -->\n" if words else ""
    stream.write(
        f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{comment}<CPLEXSolutions version="1.2">\n'
        f'<CPLEXSolution version="1.2">\n <header problemName={quoteattr(model.name)} solutionName="odtc" '
        f'solutionIndex="0" '
        f'objectiveValue="{objective}" MIPStartEffortLevel="4"/>\n <variables>\n'.encode()
    )
    # Names of blank-padded tables will not do here: the blanks would be within the quotes.
    names = name_list(model.columns)
    shown = {value: show_number(value) for value in np.unique(x).tolist()}
    for begin in range(0, len(x), PART):
        part = zip(names[begin : begin + PART], x[begin : begin + PART].tolist())
        text = "".join([f'  <variable name={quoteattr(name)} value="{shown[value]}"/>\n' for name, value in part])
        stream.write(text.encode("utf-8"))
    stream.write(b" </variables>\n</CPLEXSolution>\n</CPLEXSolutions>\n")
