"""Models term by term: those that odtc builds, and those that were typed from a paper (tests/files/by_hand)."""

import re
from pathlib import Path

import numpy as np

BY_HAND = Path(__file__).parent / "files" / "by_hand"


def terms_of(model):
    """Return ({name: (terms, sense, right side)}, integer variables) of a model, with the objective as "minimize"."""
    names, rows = list(model.column_names), list(model.row_names)
    A = model.A.tocsr()
    found = {"minimize": ({name: c for name, c in zip(names, model.c.tolist()) if c}, "", 0.0)}
    for at, name in enumerate(rows):
        part = slice(A.indptr[at], A.indptr[at + 1])
        low, high = float(model.row_lower[at]), float(model.row_upper[at])
        sense = "=" if low == high else "<=" if low == -np.inf else ">="
        terms = {names[j]: float(a) for j, a in zip(A.indices[part], A.data[part]) if a}
        found[name] = (terms, sense, high if sense != ">=" else low)
    whole = {name for name, one in zip(names, model.integrality) if one}
    return {key: (_constant(terms), *rest) for key, (terms, *rest) in found.items()}, whole


def _constant(terms):
    return {name.replace("objconst", "constant"): value for name, value in terms.items()}


def typed(name):
    """Return the same of a file in tests/files/by_hand."""
    lines = [line for line in (BY_HAND / name).read_text().splitlines() if not line.startswith("\\")]
    text = " ".join(lines)
    goal, text = text.removeprefix("minimize").split("subject to")
    rows, binary = text.split("binary")
    found = {"minimize": (_terms(goal), "", 0.0)}
    for row in re.findall(r"\w+: [^:=<>]+[<>]?= [\d.]+", rows):
        key, body = row.split(": ")
        left, sense, right = re.split(r" (<=|>=|=) ", body)
        found[key] = (_terms(left), sense, float(right))
    return found, set(binary.split())


def _terms(text):
    found = {}
    for sign, number, name in re.findall(r"([+-]?) *([\d.]+) (\w+)", text):
        found[name] = found.get(name, 0.0) + (-1 if sign == "-" else 1) * float(number)
    return found
