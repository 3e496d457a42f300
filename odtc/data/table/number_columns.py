"""Columns of numbers of a table with few rows and many columns, thousands of columns at a time.

A call of polars takes about 0.1 ms, whatever it does, and a column that is read by itself needs some ten of them. So
the cells of neighbouring columns of one type are one series here. Columns in which other cells than numbers matter are
left to odtc.data.table.column_coding, which reads a column by itself with the same result.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import polars as pl

from odtc.base.whole_numbers import MAX_EXACT
from odtc.data.cells import column_types
from odtc.data.cells.written_numbers import PARTED, UNPARTED

CELLS_AT_ONCE = 2**20  # cells of neighbouring columns that are one series


def number_columns(
    columns: Sequence[pl.Series], place: str, missing: Sequence[str]
) -> Iterator[tuple[np.ndarray, bool] | None]:
    """Yield the numbers of columns of a whole table, one after the other.

    Parameters
    ----------
    columns : sequence of Series
        All of the same length, at least 1.
    place : str
        The file, quoted, for messages.
    missing : sequence of str
        As in odtc.data.cells.column_types.column_cells.

    Yields
    ------
    (values, is_plain) or None
        float64 (rows,), NaN if missing, and whether nothing else about the texts of the cells matters: none has zeros
        before its number or more digits than doubles distinguish, and no text was taken for a missing cell. None for a
        column with another cell than numbers that doubles distinguish, or whose points may separate thousands.
    """
    of_block = max(1, CELLS_AT_ONCE // len(columns[0]))
    for dtype, same in groupby(columns, lambda column: column.dtype):
        run = list(same)
        for begin in range(0, len(run), of_block):
            block = run[begin : begin + of_block]
            if dtype == pl.String or dtype.is_float() or dtype.is_integer():
                yield from _of_block(
                    pl.concat([one.alias("") for one in block], rechunk=True), len(block), place, missing
                )
            else:
                yield from [None] * len(block)


def _of_block(
    cells: pl.Series, n_columns: int, place: str, missing: Sequence[str]
) -> Iterator[tuple[np.ndarray, bool] | None]:
    """Yield the same for columns whose cells are one series."""

    def by_column(is_so: pl.Series) -> np.ndarray:
        return is_so.fill_null(False).to_numpy().reshape(n_columns, -1)

    known = column_types.column_cells(cells, place, missing)
    numbers = column_types.finite_numbers(known)
    is_number = by_column(known.is_null() | (numbers.abs() < MAX_EXACT)).all(axis=1)
    values = numbers.to_numpy().reshape(n_columns, -1) + 0.0  # 0 of -0, so that both are one value
    is_plain = np.ones(n_columns, bool)
    if cells.dtype == pl.String:
        parted = by_column(known.str.contains(PARTED))
        short = by_column(known.is_null() | known.str.contains(UNPARTED))
        is_number &= ~((parted | short).all(axis=1) & parted.any(axis=1))
        taken = by_column(known.is_null() & (cells != ""))
        is_plain = ~(by_column(column_types.are_padded(known)) | taken).any(axis=1)
        is_long = by_column(column_types.are_long(known))
        is_plain &= ~_have_equal(values, is_long)
    for column, has_numbers, plain in zip(values, is_number.tolist(), is_plain.tolist()):
        yield (column, plain) if has_numbers else None


def _have_equal(values: np.ndarray, is_some: np.ndarray) -> np.ndarray:
    """Return bool (columns,): whether one of some cells, bool (columns, rows), is equal to another cell of its
    column."""
    found = is_some.any(axis=1)
    order = np.argsort(values[found], axis=1)
    rising, some = (np.take_along_axis(cells[found], order, axis=1) for cells in (values, is_some))
    is_equal = rising[:, 1:] == rising[:, :-1]
    found[found] = (is_equal & (some[:, 1:] | some[:, :-1])).any(axis=1)
    return found
