"""A table of numbers stored column by column as codes of its different values: 1 to 4 bytes a cell instead of 8."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from odtc.algorithms.equal_rows import equal_rows
from odtc.base.memory import require_memory

MOST_DENSE = 2**22  # cells of a table that is stored as float64 throughout; a larger one is coded
ROWS_AT_ONCE = 2**16  # rows that are looked at together
CODES_ONE_BY_ONE = 8  # codes of which a look at all rows for each costs less than one for all
CODES = (np.uint8, np.uint16, np.uint32)


def narrowed(code: np.ndarray, many: int) -> np.ndarray:
    """Return codes below `many` in the smallest unsigned type for them."""
    return code.astype(next(kind for kind in CODES if many - 1 <= np.iinfo(kind).max), copy=False)


def occurring(code: np.ndarray, many: int) -> np.ndarray:
    """Return bool (many,): which codes occur in some row; a few rows at a time, because numpy takes 8 bytes for each.
    If few codes do not occur among the first rows, they are looked for one by one, because comparing bytes is
    faster."""
    used, begin = np.zeros(many, bool), 0
    while begin < len(code):
        used[code[begin : begin + ROWS_AT_ONCE]] = True
        begin += ROWS_AT_ONCE
        if many - np.count_nonzero(used) <= CODES_ONE_BY_ONE:
            break
    for other in np.flatnonzero(~used).tolist() if begin < len(code) else ():
        used[other] = (code[begin:] == other).any()
    return used


def looked_up(table: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return table[code], a few rows at a time, because numpy takes 8 bytes for each."""
    found = np.empty(len(code), table.dtype)
    for begin in range(0, len(code), ROWS_AT_ONCE):
        rows = slice(begin, begin + ROWS_AT_ONCE)
        table.take(code[rows], mode="clip", out=found[rows])
    return found


class CodedColumn:
    """One column: cell i is `values[code[i]]`, or `values[i]` if `code` is None.

    Attributes
    ----------
    values : float64
        If coded: the different values, sorted, each of them in some row; NaN, if it occurs, is the last.
    code : unsigned integers (rows,) or None
    """

    def __init__(self, values: np.ndarray, code: np.ndarray | None = None):
        """`values` and `code` are of any order here; values without a row are left out."""
        if code is not None:
            used = occurring(code, len(values))
            kept, place = np.unique(values[used], return_inverse=True)
            number = np.zeros(len(values), np.int64)
            number[used] = place
            if len(kept) == len(values) and (place == np.arange(len(place))).all():
                code = narrowed(code, max(1, len(kept)))
            else:
                code = looked_up(narrowed(number, max(1, len(kept))), code)
            values = kept
        self.values, self.code = values, code
        for array in (values, code):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.values if self.code is None else self.code)

    def cells(self, rows=slice(None)) -> np.ndarray:
        """Return float64: the cells of some rows, by default of all."""
        return self.values[rows] if self.code is None else self.values[self.code[rows]]

    def kept(self, keep: np.ndarray) -> "CodedColumn":
        """Return the column restricted to some rows, bool (rows,)."""
        return CodedColumn(self.values[keep]) if self.code is None else CodedColumn(self.values, self.code[keep])

    @property
    def has_missing(self) -> bool:
        """Return whether some cell is missing."""
        return bool(np.isnan(self.values).any())

    @property
    def has_number(self) -> bool:
        """Return whether some cell is not missing."""
        return bool(len(self.values)) and not np.isnan(self.values).all()

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (values, code) as numpy.unique with return_inverse."""
        if self.code is None:
            return np.unique(self.values, return_inverse=True)
        return self.values, self.code


class CodedColumns:
    """float64 (rows, columns), read-only: indexed like an array, of which it holds one code a cell.

    `numpy.asarray`, arithmetic, and whatever else an array has make the dense table, after a look at the memory.
    """

    dtype = np.dtype(float)
    ndim = 2

    def __init__(self, columns: Sequence[CodedColumn]):
        self.columns = tuple(columns)

    @property
    def shape(self) -> tuple[int, int]:
        return (len(self.columns[0]) if self.columns else 0), len(self.columns)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def setflags(self, write: bool) -> None:
        """It is read-only as it is."""

    @cached_property
    def dense(self) -> np.ndarray:
        """float64 (rows, columns). Raises ModelError if the memory is too small."""
        rows, columns = self.shape
        require_memory(8 * self.size, f"the table of {rows:,} rows and {columns:,} columns as numbers")
        dense = np.stack([column.cells() for column in self.columns], axis=1)
        dense.setflags(write=False)
        return dense

    def __getitem__(self, key):
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(columns, (int, np.integer)) and (rows is not None and rows is not Ellipsis):
            return self.columns[columns].cells(rows)
        if isinstance(columns, slice) and isinstance(rows, (int, np.integer, slice, np.ndarray, list)):
            rows = np.asarray(rows) if isinstance(rows, list) else rows
            if not isinstance(rows, np.ndarray) or rows.ndim == 1:
                return np.stack([column.cells(rows) for column in self.columns[columns]], axis=-1)
        if isinstance(rows, slice) and rows == slice(None):
            which = np.arange(len(self.columns))[np.asarray(columns)]
            return np.stack([self.columns[j].cells() for j in which.tolist()], axis=-1)
        return self.dense[key]

    def __array__(self, dtype=None, copy=None):
        return self.dense if dtype is None else self.dense.astype(dtype)

    def __getattr__(self, name):
        if name.startswith("_") or not hasattr(np.ndarray, name):  # a check whether it is a data frame needs no table
            raise AttributeError(name)
        return getattr(self.dense, name)

    def __eq__(self, other):
        return self.dense == other

    __hash__ = None


class RowsOf:
    """Some rows of a table, for splits: a column is laid out when a split reads it (`[:, column]`)."""

    def __init__(self, X: np.ndarray | CodedColumns, rows: np.ndarray):
        self.X, self.rows = X, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: tuple[slice, int]) -> np.ndarray:
        return self.X[self.rows, key[1]]


def as_rows(values: np.ndarray, columns: int) -> np.ndarray:
    """Return float64 (values, columns): rows in which each column is a view of the same values, for splits that read
    only their own column."""
    return np.broadcast_to(values[:, None], (len(values), columns))


def distinct(X: np.ndarray | CodedColumns, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values of a column of a table, and the code of each row.

    Parameters
    ----------
    X : float64 (rows, columns), or CodedColumns
    column : int

    Returns
    -------
    values : float64, sorted; one NaN at the end if a cell is missing
    code : integers (rows,), the place of each cell in `values`
    """
    if isinstance(X, CodedColumns):
        return X.columns[column].distinct()
    cells = X[:, column]
    if (ends := two_values(cells)) is not None:
        return ends[0], ends[1].astype(np.int64)
    return np.unique(cells, return_inverse=True)


def two_values(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (float64 (2,), bool (cells,)): the values of cells that have two, rising, and which cells are the greater
    one.

    None for any others, and if a cell is missing. It needs no sort, because most columns of 0/1 are used often.
    """
    if not len(cells) or not (low := cells.min()) < (high := cells.max()):
        return None
    greater = cells == high
    fits = np.count_nonzero(greater) + np.count_nonzero(cells == low) == len(cells)
    return (np.array([low, high]), greater) if fits else None


def table_of_columns(columns: Sequence[CodedColumn], n_rows: int) -> np.ndarray | CodedColumns:
    """Return the columns as one table: dense up to MOST_DENSE cells, above that coded."""
    if n_rows * len(columns) > MOST_DENSE:
        return CodedColumns(columns)
    X = np.empty((n_rows, len(columns)))
    for j, column in enumerate(columns):
        X[:, j] = column.cells()
    return X


def alike_rows(X: np.ndarray | CodedColumns, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Merge rows that are equal in some columns of a table: returns (kind, first) as odtc.algorithms.equal_rows."""
    parts = [(np.zeros(len(X), np.int64), 1)]
    for column in columns:
        values, code = distinct(X, column)
        parts.append((code, len(values)))
    return equal_rows(parts)
