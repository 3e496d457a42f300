"""Results of many nested splits, stored as ranks instead of one dense boolean column for each split.

Thresholds of one feature are nested: a row has the result 1 for those below its number. So the rank of the row, the
number of thresholds below it, contains the same information as all columns. The results of single splits follow from
the ranks; the dense table is made only if a formulation needs it, and its size is checked before.
"""

from collections.abc import Callable

import numpy as np

from odtc.base import deadline
from odtc.base.deadline import BLOCK_CELLS
from odtc.base.memory import require_memory
from odtc.base.wording import option
from odtc.errors import DataError

# 4 GiB of bytes: no model of that size can be built, and saying so beats running out of memory.
MOST_CELLS = 2**32


class RankedAnswers:
    """bool (rows, splits), read-only: row i has the result rank[i, scale[j]] > place[j] for split j.

    It is indexed like an array. `numpy.asarray` and whatever else an array has make the dense table.

    Attributes
    ----------
    rank : uint32 (rows, scales), for how many splits of the scale the row has the result 1
    scale, place : int64 (splits,)
    """

    dtype = np.dtype(bool)
    ndim = 2

    def __init__(self, rank: np.ndarray | tuple[int, Callable[[], np.ndarray]], scale: np.ndarray, place: np.ndarray):
        """`rank` may be a pair of the number of rows and a function that computes the ranks when they are first
        needed: code that only needs the splits, such as `odtc inspect`, does without them."""
        self._rank, self._later = (None, rank) if isinstance(rank, tuple) else (rank, None)
        self._n = rank[0] if isinstance(rank, tuple) else len(rank)
        self.scale, self.place, self._dense = scale, place, None
        for array in (scale, place):
            array.setflags(write=False)

    @property
    def rank(self) -> np.ndarray:
        later = self._later
        if later is not None:  # of two threads both may lay the same ranks out
            self._rank = later[1]()
            self._later = None
        self._rank.setflags(write=False)
        return self._rank

    @property
    def shape(self) -> tuple[int, int]:
        return self._n, len(self.scale)

    @property
    def size(self) -> int:
        return self._n * len(self.scale)

    def __len__(self) -> int:
        return self._n

    def setflags(self, write: bool) -> None:
        """It is read-only as it is."""

    @property
    def dense(self) -> np.ndarray:
        """bool (rows, splits). Raises DataError if there are too many cells, ModelError if the memory is too small,
        TimeLimitReached if the deadline has passed."""
        if self._dense is None:
            require_cells(*self.shape)
            rows, splits = self.shape
            require_memory(rows * splits, f"the table of the answers of {rows:,} rows to {splits:,} splits")
            dense, step = np.empty(self.shape, bool), max(1, BLOCK_CELLS // max(1, splits))
            for first in range(0, rows, step):
                deadline.check()
                here = slice(first, first + step)
                np.greater(self.rank[here][:, self.scale], self.place, out=dense[here])
            dense.setflags(write=False)
            self._dense = dense
        return self._dense

    def __getitem__(self, key):
        if self._dense is not None:
            return self._dense[key]
        rows, splits = key if isinstance(key, tuple) else (key, slice(None))
        rows, splits = (_numbers(part) for part in (rows, splits))
        if isinstance(splits, slice):
            splits = np.arange(self.shape[1])[splits]
            if isinstance(rows, np.ndarray) and rows.ndim == 1:
                require_cells(len(rows), len(splits))
                return self.rank[np.ix_(rows, self.scale[splits])] > self.place[splits]
        return self.rank[rows, self.scale[splits]] > self.place[splits]

    def __array__(self, dtype=None, copy=None):
        return self.dense if dtype is None else self.dense.astype(dtype)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dense, name)

    def __invert__(self):
        return ~self.dense

    def __xor__(self, other):
        return self.dense ^ other

    def __eq__(self, other):
        return self.dense == other

    __hash__ = None

    def taken(self, rows: np.ndarray) -> "RankedAnswers":
        """Return the results of some rows, int or bool (rows,), as ranks."""
        return RankedAnswers(self.rank[rows], self.scale, self.place)

    def part(self, rows: np.ndarray, splits: np.ndarray) -> "RankedAnswers":
        """Return the results of some rows, int or bool (rows,), for some splits, int (splits,), as ranks."""
        return RankedAnswers(self.rank[rows], self.scale[splits], self.place[splits])

    def ones(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return int64 (splits,): how many rows, of all or of some, int or bool (rows,), have the result 1 for each
        split."""
        rank, found = self.rank if rows is None else self.rank[rows], np.empty(self.shape[1], np.int64)
        order = np.argsort(self.scale, kind="stable")
        ends = np.cumsum(np.bincount(self.scale, minlength=self.rank.shape[1]))
        for scale, mine in enumerate(np.split(order, ends[:-1])):
            most = int(max(rank[:, scale].max(initial=0), self.place[mine].max(initial=0)))
            above = len(rank) - np.bincount(rank[:, scale], minlength=most + 1).cumsum()
            found[mine] = above[self.place[mine]]
        return found

    def codes(self, splits: np.ndarray) -> np.ndarray:
        """Return int64 (rows,): for how many of some splits, int (splits,), each row has the result 1."""
        found = np.zeros(len(self), np.int64)
        for scale in np.unique(self.scale[splits]):
            places = np.sort(self.place[splits[self.scale[splits] == scale]])
            found += np.searchsorted(places, np.arange(int(self.rank[:, scale].max(initial=0)) + 1))[
                self.rank[:, scale]
            ]
        return found

    def find(self, column: np.ndarray) -> int | None:
        """Return the split whose results are this column, bool (rows,), or its complement; None if there is none."""
        for ones in (column, ~column):
            if not ones.any() or ones.all():
                return None
            below = self.rank[~ones].max(axis=0)
            apart = np.flatnonzero(below < self.rank[ones].min(axis=0))
            at = np.flatnonzero(np.isin(self.scale, apart) & (self.place == below[self.scale])) if len(apart) else apart
            if len(at):
                return int(at[0])
        return None


def rows_of(X: "np.ndarray | RankedAnswers", rows: np.ndarray) -> "np.ndarray | RankedAnswers":
    """Return the results of some rows, int (rows,), stored in the same form."""
    return X.taken(rows) if isinstance(X, RankedAnswers) else X[rows]


def require_cells(rows: int, splits: int) -> None:
    """Raise DataError if a dense table of this many rows and splits is too large."""
    if rows * splits > MOST_CELLS:
        raise DataError(
            f"expected at most {MOST_CELLS:,} binary cells, got {splits:,} splits on {rows:,} rows; take fewer "
            f"thresholds ({option('encoding', 'auto:bins=16')}); {option('model', 'auto')} without constraints needs "
            "no column for each of them"
        )


def _numbers(key):
    """Return a mask as the numbers where it is true."""
    array = key if isinstance(key, slice) else np.asarray(key)
    return np.flatnonzero(array) if isinstance(array, np.ndarray) and array.dtype == bool else array
