"""Marks of missing cells, as text: -999 or unknown in every column, COL=99 only in that column.

A cell is missing if it is written as a mark, or is the same number: -999.0 where -999 is a mark. A number that is
written as a code, such as 099, is not.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from odtc.base.wording import option
from odtc.data.cells.column_types import are_padded, finite_numbers
from odtc.data.reading_spec import no_column
from odtc.errors import ChoiceError

Marks = Mapping[str, Sequence[str]]  # by column


def marks_of_texts(texts: Sequence[str], names: Sequence[str], place: str) -> dict[str, tuple[str, ...]]:
    """Return the marks of each column that has some.

    Parameters
    ----------
    texts : sequence of str
    names : sequence of str
        The columns that are read.
    place : str
        What messages call the file.

    Returns
    -------
    dict of str to tuple of str

    Raises
    ------
    ChoiceError
        For a text without a mark, and one that names no column before =.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in map(str, texts):
        column, mark = column_and_mark(text, names)
        if column is None and "=" in text:
            name = text.partition("=")[0]
            raise no_column("missing_mark", name, names, f"{place} before =")
        if not mark.strip():
            raise ChoiceError(
                f"expected {option('missing_mark')} to hold a text that means a missing cell, as -999 or unknown, got "
                f"{text!r}; empty cells are missing without it"
            )
        for name in names if column is None else [column]:
            found[name] = (*found.get(name, ()), mark)
    return found


def column_and_mark(text: str, names: Sequence[str]) -> tuple[str | None, str]:
    """Return (the column that a text names, or None for all of them, its mark)."""
    cuts = [at for at, sign in enumerate(text) if sign == "="]
    column = next((text[:cut] for cut in cuts if text[:cut] in names), None)
    return column, text if column is None else text[len(column) + 1 :]


def unmet(
    texts: Sequence[str], names: Sequence[str], met: Mapping[str, Collection[str]], decimal: str | None
) -> list[tuple[str | None, str]]:
    """Return (column, or None for all, and mark) of each mark that no cell has; `met` are the cells that are marks, by
    column."""

    def is_met(column: str | None, mark: str) -> bool:
        cells = pl.Series([cell for name in met if column in (None, name) for cell in met[name]], dtype=pl.String)
        return without_marks(cells, [mark], decimal).has_nulls()

    return [one for one in (column_and_mark(str(text), names) for text in texts) if not is_met(*one)]


def without_marks(cells: pl.Series, marks: Sequence[str], decimal: str | None = None) -> pl.Series:
    """Return a column in which the cells that are marks are missing.

    Parameters
    ----------
    cells : Series
    marks : sequence of str
    decimal : str or None
        As of odtc.data.cells.column_types.finite_numbers.

    Returns
    -------
    Series
        Of the same type.
    """
    found = _are_marks(cells, marks, decimal) if marks else None
    if found is None or not found.any():
        return cells
    pair = pl.DataFrame([cells.alias("cell"), found.fill_null(False).alias("is")])
    return pair.select(pl.when(~pl.col("is")).then("cell")).to_series().alias(cells.name)


def _are_marks(cells: pl.Series, marks: Sequence[str], decimal: str | None) -> pl.Series | None:
    """Return bool (rows,): which cells are marks; None for a column of truth values or of a type that contains no
    words."""
    if cells.dtype == pl.Boolean or cells.dtype.is_nested():
        return None
    texts = pl.Series(marks, dtype=pl.String).str.strip_chars()
    values = _numbers(texts, decimal).drop_nulls()
    if cells.dtype.is_float():
        return cells.is_in(values.cast(cells.dtype).to_list())
    if cells.dtype.is_integer():
        whole = [str(int(value)) for value in values.to_list() if value == int(value)]
        return cells.cast(pl.String).is_in(whole)
    try:
        text = cells.cast(pl.String).str.strip_chars()
    except pl.exceptions.PolarsError:  # a type that is refused where the column is read
        return None
    found = text.is_in(texts.to_list())
    return found | _numbers(text, decimal).is_in(values.to_list()).fill_null(False) if len(values) else found


def marks_as_numbers(marks: Sequence[str], decimal: str | None = None) -> tuple[float, ...]:
    """Return the numbers among marks: a cell that is one of them is missing, however it is written.

    Parameters
    ----------
    marks : sequence of str
    decimal : str or None
        As of odtc.data.cells.column_types.finite_numbers.

    Returns
    -------
    tuple of float
    """
    texts = pl.Series(marks, dtype=pl.String).str.strip_chars()
    return tuple(dict.fromkeys(_numbers(texts, decimal).drop_nulls().to_list()))


def _numbers(text: pl.Series, decimal: str | None) -> pl.Series:
    """Return the numbers among some texts, except for those that are written as codes; null for the others."""
    return finite_numbers(text, decimal).set(are_padded(text).fill_null(False), None)
