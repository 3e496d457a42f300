"""Order of the levels of a column, as text: COL=A<B<C, or only COL for the sorted order.

A level that contains < is in double quotes, as in CSV: age="<18"<18-65<">65".
"""

import csv
from collections.abc import Sequence

from odtc.base.registry import did_you_mean
from odtc.base.text import some
from odtc.base.wording import option
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
    return f"{column}={'<'.join(map(_quoted, levels))}"


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
            hint = did_you_mean(column, names) or f"; it has {some(names)}"
            raise ChoiceError(f"expected {option('ordered')} to name a column of {place}, got {column!r}{hint}")
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


def _quoted(level: str) -> str:
    return '"' + level.replace('"', '""') + '"' if set(level) & set('<"') or level != level.strip() else level
