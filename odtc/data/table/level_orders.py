"""Order of the levels of a column, as text: COL=A<B<C, or only COL for the sorted order.

A level that contains < is in double quotes, as in CSV: age="<18"<18-65<">65".
Some levels have an order by their words, which a remark proposes: answers of questionnaires, and ranges of numbers.
"""

import csv
import math
import re
from collections.abc import Sequence

from odtc.base.spec_fields import quoted
from odtc.base.text import did_you_mean, some
from odtc.base.wording import option
from odtc.data.reading_spec import no_column
from odtc.errors import ChoiceError, DataError


def order_text(column: str, levels: Sequence[str]) -> str:
    """Return the text that declares that the levels of a column have this order.

    Parameters
    ----------
    column : str
    levels : sequence of str

    Returns
    -------
    str
    """
    return f"{column}={'<'.join(quoted(level, '<') for level in levels)}"


def orders_of_texts(texts: Sequence[str], names: Sequence[str], place: str) -> dict[str, tuple[str, ...] | None]:
    """Return the columns whose levels have an order, with that order; None for the sorted order.

    Parameters
    ----------
    texts : sequence of str
    names : sequence of str
        The columns of the file.
    place : str
        The name of the file in messages.

    Returns
    -------
    dict of str to (tuple of str or None)

    Raises
    ------
    ChoiceError
        For a text that names no column, a column that occurs twice, or levels that are fewer than two or not different.
    """
    found: dict[str, tuple[str, ...] | None] = {}
    for text in texts:
        cuts = [len(text), *(at for at, sign in enumerate(text) if sign == "=")]
        column = next((text[:cut] for cut in cuts if text[:cut] in names), None)
        if column is None:
            column = text.partition("=")[0]
            raise no_column("ordered", column, names, place)
        if column in found:
            raise ChoiceError(f"expected one {option('ordered')} for each column, got two for {column!r}")
        found[column] = None if column == text else _levels(text[len(column) + 1 :], text)
    return found


def in_order(levels: tuple[str, ...], order: tuple[str, ...], column: str, place: str) -> tuple[str, ...]:
    """Return the levels of a column in an order of which each is one.

    Parameters
    ----------
    levels, order : tuple of str
    column, place : str
        What messages call the column and the file.

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        For a level that the order has not.
    """
    if unknown := [level for level in levels if level not in order]:
        hint = did_you_mean(unknown[0], [level for level in order if level not in levels])
        raise DataError(
            f"expected {option('ordered')} to name every level of column {column!r} of {place}, got none for "
            f"{some(unknown)}{hint}; write {order_text(column, (*order, *unknown))!r}, in the order that you mean"
        )
    return tuple(level for level in order if level in levels)


def _levels(text: str, whole: str) -> tuple[str, ...]:
    (cells,) = csv.reader([text], delimiter="<", skipinitialspace=True)
    levels = tuple(cell.strip() for cell in cells)
    if len(levels) < 2 or len(set(levels)) < len(levels) or not all(levels):
        raise ChoiceError(
            f"expected {option('ordered')} COLUMN=LOW<MIDDLE<HIGH, two different levels or more, got {whole!r}; put a "
            "level that contains < in double quotes"
        )
    return levels


LEAST_OF_SCALE = 3  # levels that make a scale
# Answers of questionnaires in their order, in lower case.
SCALES = (
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("strongly disagree", "somewhat disagree", "neither agree nor disagree", "somewhat agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("never", "rarely", "sometimes", "usually", "always"),
    ("very low", "low", "medium", "high", "very high"),
    ("extra small", "small", "medium", "large", "extra large"),
    ("xs", "s", "m", "l", "xl", "xxl"),
)
_NUMBER = r"[€$£]? ?(?P<{0}>\d{{1,3}}(?:,\d{{3}})+|\d+)(?P<{0}_decimals>\.\d+)?(?P<{0}_k>[kK])?"
_UNIT = r" ?(?P<{0}>[A-Za-z€%][\w €%/.]{{0,12}})"
# 20-29, 0-9g/day, 30+, 5more, 5 or less, 12+ yrs, < 20, over 65, 3
_RANGE = re.compile(
    r"(?P<below><=?|≤|under |below |less than |up to )? ?(?P<above>>=?|≥|over |above |more than )? ?"
    + _NUMBER.format("low")
    + rf"(?:{_UNIT.format('low_unit')})??"
    + rf"(?: ?(?P<to>-|–|—|to|\.\.) ?{_NUMBER.format('high')}|(?P<plus> ?\+| ?(?:(?:and|or) )?(?:more|over|older)\b)"
    + r"|(?P<less> ?(?:(?:and|or) )?(?:less|fewer|under|younger)\b))?"
    + rf"(?:{_UNIT.format('unit')})?"
)
_END = r"(-?(?:\d+(?:\.\d+)?|[Ii]nf))"
_INTERVAL = re.compile(rf"[\[(] ?{_END}, ?{_END} ?[\])]")  # as cut() of R and pandas writes them


def order_of_words(levels: Sequence[str]) -> list[str] | None:
    """Return the levels of a column in the order that their words show.

    Parameters
    ----------
    levels : sequence of str
        Without marks of missing cells.

    Returns
    -------
    list of str or None
        None if they are fewer than three, or show no order: answers of one scale do, and ranges in one unit that do not
        overlap.
    """
    if len(levels) < LEAST_OF_SCALE:
        return None
    of_words = {level.lower(): level for level in levels}
    if len(of_words) < len(levels):
        return None
    scale = next((scale for scale in SCALES if of_words.keys() <= set(scale)), None)
    return [of_words[word] for word in scale if word in of_words] if scale else _by_ends(levels)


def _by_ends(levels: Sequence[str]) -> list[str] | None:
    """Return ranges in their order, single numbers being among them; None if some level is none, or two overlap."""
    ends = [_ends(level) for level in levels]
    if len({unit for level in levels for unit in _units(level)}) > 1:
        return None
    known = [pair for pair in ends if pair is not None]
    if len(known) < len(ends) or all(low == high for low, high in known):
        return None
    order = sorted(range(len(known)), key=known.__getitem__)
    apart = all(known[a][1] <= known[b][0] and known[a] != known[b] for a, b in zip(order, order[1:]))
    return [levels[at] for at in order] if apart else None


def _ends(level: str) -> tuple[float, float] | None:
    """Return the lowest and the highest number of a range; None if the level is not a range."""
    if found := _INTERVAL.fullmatch(level):
        low, high = map(float, found.groups())
    elif found := _RANGE.fullmatch(level):
        low = _number(found, "low")
        high = _number(found, "high") if found["high"] else math.inf if found["plus"] or found["above"] else low
        if found["below"] or found["less"]:
            low = -math.inf
    else:
        return None
    return (low, high) if low <= high else None


def is_range(level: str) -> bool:
    """Return whether a level is a range of numbers, such as "5 or more"."""
    return (ends := _ends(level)) is not None and ends[0] < ends[1]


def _units(level: str) -> list[str]:
    """Return the units that a range names; years is the same as year."""
    found = _RANGE.fullmatch(level)
    named = [found[name] for name in ("low_unit", "unit") if found[name]] if found else []
    return [unit.lower().rstrip("s") for unit in named]


def _number(found: re.Match, end: str) -> float:
    return float(found[end].replace(",", "") + (found[f"{end}_decimals"] or "")) * (1000 if found[f"{end}_k"] else 1)
