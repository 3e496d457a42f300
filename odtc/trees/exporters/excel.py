"""Formulas for a spreadsheet (Excel, LibreOffice): a CSV file with a header and one row of formulas.

The header has the columns of the data in their order, then odtc_leaf, prediction, reason and, unless the leaves
predict numbers, a probability per class. Paste rows of data below the header, and fill the formulas down next to them.
A cell that the tree compares and that contains no number, or nothing, gives #N/A, unless the tree was trained with
missing="separate".
"""

import csv
import io
import math

from odtc.data.label_types import Label
from odtc.data.reading_spec import missing_texts
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.trees.places import Place, Question
from odtc.trees.rendering import SHARES
from odtc.trees.tree import Tree

NAME = "excel"
SUMMARY = "a row of spreadsheet formulas: leaf, prediction, rule and probabilities"
SUFFIX = "csv"
NUMBERS = True

MOST_LEAVES = 253  # CHOOSE takes 254 arguments (Microsoft, "Excel specifications and limits")
MOST_SIGNS = 8192  # of a formula (the same)
COMPUTED = tuple("=+-@\t\r\n＝＋－＠")  # a cell that begins so is a formula for Excel or LibreOffice
LONGEST_TEXT = 250  # a text in a formula ends at 255 signs (the same)


def write(tree: Tree) -> bytes:
    """Return the CSV file.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    bytes
        UTF-8 with a byte order mark, so that Excel reads it as such.

    Raises
    ------
    ChoiceError
        If a formula is longer than Excel takes.
    """
    task, (tree, numbers) = TASKS.get(tree.task), tree.with_answers()
    found = tree.places()
    ends = [place for place in found if place.is_leaf]
    letters = {feature.name: f"{column(at)}2" for at, feature in enumerate(tree.features)}
    answer = f"{column(len(tree.features))}2"

    def chosen(values) -> str:
        return f"=CHOOSE({answer}+1,{','.join(values)})"

    shares = [place.node.shares(len(tree.classes)) for place in ends]
    formulas = [
        "=" + _below(found, 0, letters, tree.missing == "separate"),
        chosen(
            number(numbers[place.node.label]) if numbers else label(tree.labels[place.node.label]) for place in ends
        ),
        chosen(text(place.rule) for place in tree.shown.places() if place.is_leaf),
        *(chosen(number(share[k]) for share in shares) for k in range(0 if numbers else len(tree.classes))),
    ]
    longest = max(map(len, formulas))
    if len(ends) > MOST_LEAVES or longest > MOST_SIGNS:
        raise ChoiceError(
            f"expected a tree of at most {MOST_LEAVES} leaves whose formulas have at most {MOST_SIGNS} signs, got one "
            f"of {len(ends)} leaves and {longest:,} signs; export a smaller tree, or to sql or python"
        )
    header = [_as_text(feature.name) for feature in tree.features]
    share = SHARES[task.CLASSES][0]
    header += ["odtc_leaf", "prediction", "reason", *(f"{share} {name}" for name in tree.classes if not numbers)]
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([header, [""] * len(tree.features) + formulas])
    return out.getvalue().encode("utf-8-sig")


def _below(found: list[Place], at: int, letters: dict[str, str], separate: bool) -> str:
    """Return the formula of the leaf below place `at`."""
    place = found[at]
    if place.is_leaf:
        return str(place.leaf)
    children = [child.number for child in found if child.parent == at]
    left, right = (_below(found, child, letters, separate) for child in children)
    formula = f"IF({_condition(place.question, letters)},{left},{right})"
    if separate:
        return formula
    compared = [part for part in place.question.parts if part.kind in ("at most", "not in", "number")]
    refused = [_unknown(part, letters) for part in compared]
    return f"IF(OR({','.join(refused)}),NA(),{formula})" if refused else formula


def _condition(question: Question, letters: dict[str, str]) -> str:
    """Return a formula that is true if the split sends the row left."""
    if question.kind == "sum":
        numbers = [part for _, part in question.terms if part.kind == "number"]
        terms = "".join(
            f"+{number(weight)}*"
            + (letters[part.feature.name] if part.kind == "number" else f"IF({_among(part, letters)},1,0)")
            for weight, part in question.terms
        )
        inside = f"0{terms}<={number(question.values[0])}"
        known = ",".join(_known_number(part, letters) for part in numbers)
        return f"IF(AND({known}),{inside},FALSE)" if numbers else inside  # AND would add up texts, too
    cell = letters[question.feature.name]
    if question.kind == "at most":
        return f"AND({_known_number(question, letters)},{cell}<={number(question.values[0])})"
    if question.kind == "not in":
        return f"AND(NOT({_unknown(question, letters)}),NOT({_among(question, letters)}))"
    return _unknown(question, letters) if question.kind == "missing" else _among(question, letters)


def _among(part: Question, letters: dict[str, str]) -> str:
    """Return a formula that is true if the cell is one of the values."""
    if not part.values:
        return "FALSE"
    cell = letters[part.feature.name]
    if part.cell == "text":
        return f"OR({','.join(_is_word(cell, value) for value in part.values)})"
    if part.cell == "boolean":
        return f"OR({','.join(f'EXACT(LOWER({_word(cell)}),{text(value)})' for value in part.values)})"
    return f"AND(ISNUMBER({cell}),OR({','.join(f'{cell}={number(float(value))}' for value in part.values)}))"


def _known_number(part: Question, letters: dict[str, str]) -> str:
    """Return a formula that is true if the cell is a number that does not mark a missing cell."""
    cell = letters[part.feature.name]
    return f"NOT({_unknown(part, letters)})" if part.mark_numbers else f"ISNUMBER({cell})"


def _unknown(part: Question, letters: dict[str, str]) -> str:
    """Return a formula that is true if the cell is missing."""
    cell = letters[part.feature.name]
    marked = [f"{cell}={number(mark)}" for mark in part.mark_numbers if part.cell in ("number", "numeral")]
    if part.cell == "number":
        unknown = f"NOT(ISNUMBER({cell}))"
        return f"OR({','.join([unknown, *marked])})" if marked else unknown
    words = [f"EXACT({_word(cell)},{text(mark)})" for mark in (*missing_texts(part.feature.layout), *part.marks)]
    return f"OR({','.join([*words, *marked])})"


def _is_word(cell: str, word: str) -> str:
    """Return a formula that is true if the cell is this level, except for blanks around it."""
    if " " not in word:
        return f"EXACT({_word(cell)},{text(word)})"
    # TRIM also replaces several blanks within by one, so the level itself has to be there.
    return f"AND(EXACT({_word(cell)},TRIM({text(word)})),ISNUMBER(FIND({text(word)},{cell})))"


def _word(cell: str) -> str:
    return f'TRIM({cell}&"")'


def _as_text(name: str) -> str:
    """Return a cell that shows this name: a name that a spreadsheet would compute becomes a formula of the text."""
    return f"={text(name)}" if name[:1] in COMPUTED else name


def text(words: str) -> str:
    """Return a text in a formula, in pieces that are short enough."""
    pieces = [words[at : at + LONGEST_TEXT] for at in range(0, len(words), LONGEST_TEXT)] or [""]
    return "&".join('"' + piece.replace('"', '""') + '"' for piece in pieces)


def label(value: Label) -> str:
    """Return an expression for a label of any type."""
    if isinstance(value, str):
        return text(value)
    return f"{str(value).upper()}()" if isinstance(value, bool) else number(value)


def number(value: float) -> str:
    """Return an expression for this double. Excel reads 15 digits of a number in a formula, so others are whole
    numbers with fewer digits, scaled by powers of two, each step of which is exact."""
    shown = repr(float(value))
    digits = shown.lstrip("-").partition("e")[0].replace(".", "").strip("0")
    if len(digits) <= 15 and (value == 0 or 1e-7 <= abs(value) < 1e15):
        return shown if value >= 0 else f"({shown})"
    mantissa, exponent = math.frexp(abs(value))
    whole, exponent = int(math.ldexp(mantissa, 53)), exponent - 53
    while whole % 2 == 0:
        whole, exponent = whole // 2, exponent + 1
    high, low = divmod(whole, 2**26)
    powers = [2.0**49] * (abs(exponent) // 49) + [2.0 ** (abs(exponent) % 49)]
    scale = "/" if exponent < 0 else "*"
    scaled = scale.join([f"({high}*{2**26}+{low})", *(f"{power:.0f}" for power in powers)])
    return f"({'-' if value < 0 else ''}{scaled})"


def column(place: int) -> str:
    """Return the letters of a column of a spreadsheet, counted from 0: A, B, …, Z, AA."""
    letters, place = "", place + 1
    while place:
        place, digit = divmod(place - 1, 26)
        letters = chr(65 + digit) + letters
    return letters
