"""Coverage of a certificate: which of all thresholds between neighbouring values, and of all single levels, its splits
are.

A proof is one over its splits. Whether it is one over all possible splits of the data is counted here from the raw
data, by how each split divides the rows: two splits that divide them in the same way count as one, however they are
written.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256

import numpy as np

from odtc.data.dataset import Dataset
from odtc.verification.alike_rows import alike_rows

FEW = 8  # splits of a feature that are looked up one by one
TOGETHER = 2**16  # rows whose results are laid out together; this many bits are whole bytes


class Sides:
    """The rows that splits send left, with a bit for each row: an eighth of the memory of a byte for each.

    Attributes
    ----------
    packed : uint8 (splits, bytes), as numpy.packbits returns them
    n_rows : int
    size : int64 (splits,), how many rows go left
    first, first_other : int64 (splits,), the first row that goes left, and right; 0 if there is none
    """

    def __init__(self, columns: Iterable[np.ndarray], n_rows: int):
        """`columns` are bool (rows,), for each split, one after the other."""
        self.n_rows = n_rows
        packed, facts = [], []
        for column in columns:
            packed.append(np.packbits(column))
            facts.append((np.count_nonzero(column), column.argmax(), column.argmin()))
        self.packed = np.stack(packed) if packed else np.zeros((0, -(-n_rows // 8)), np.uint8)
        self.size, self.first, self.first_other = np.array(facts, np.int64).reshape(-1, 3).T

    def __len__(self) -> int:
        return len(self.packed)

    def is_one(self, split: int, column: np.ndarray) -> bool:
        """Return whether a column, bool (rows,), is equal to the rows that the split sends left."""
        return np.array_equal(np.packbits(column), self.packed[split])

    def parts_as(self, split: int, column: np.ndarray) -> bool:
        """Return whether a column, bool (rows,), is equal to the rows that the split sends left, or right."""
        return self.is_one(split, column) or self.is_one(split, ~column)

    def holds(self, column: np.ndarray) -> bool:
        """Return whether a column, bool (rows,), is equal to the rows that some split sends left, or right."""
        return sha256(np.packbits(column)).digest() in self._digests

    @cached_property
    def _digests(self) -> set[bytes]:
        of_last = 8 * self.packed.shape[1] - self.n_rows  # bits behind the last row, which are 0
        found = set()
        for line in self.packed:
            other = ~line
            if of_last:
                other[-1] &= 0xFF << of_last & 0xFF
            found |= {sha256(line).digest(), sha256(other).digest()}
        return found

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return bool (splits, rows), of some rows, int (rows,)."""
        return (self.packed[:, rows >> 3] >> (7 - (rows & 7)).astype(np.uint8) & 1).astype(bool)

    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Merge rows that all splits send to the same sides: returns the kind of each row, and the first row of each
        kind, int64."""
        words = np.zeros((self.n_rows, max(1, -(-len(self) // 64))), np.uint64)
        lines = words.view(np.uint8)
        for begin in range(0, self.n_rows if len(self) else 0, TOGETHER):
            bits = np.unpackbits(self.packed[:, begin // 8 : (begin + TOGETHER) // 8], axis=1)
            here = np.packbits(bits, axis=0).T[: self.n_rows - begin]
            lines[begin : begin + TOGETHER, : here.shape[1]] = here
        return alike_rows(words)


def answered(X, column: int, ask: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the result of a function for each cell of a column, bool (rows,).

    It is called once per value for a table that has a code for each cell (odtc.data.coded_columns). That module is not
    imported here, because a checker uses nothing of the compiler.

    Parameters
    ----------
    X : float64 (rows, columns), or CodedColumns
    column : int
    ask : called with float64 (cells,); returns bool (cells,)
    """
    held = X.columns[column] if hasattr(X, "columns") else None
    if held is None or held.code is None:
        return ask(X[:, column])
    return ask(held.values)[held.code]


def count_uncovered(
    dataset: Dataset, columns: Sides | np.ndarray, of: Sequence[str] | None = None
) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return (splits, {feature: (left out, splits)}): the number of splits, and the features for which some are left
    out.

    Splits by a midpoint, by a level, or by whether a cell is missing are counted if they divide the rows of the data,
    once for each way in which they do so. A split is left out if it is not among `columns`, Sides or bool (splits,
    rows), the rows that each split sends left. With `of`, the feature of each split, only splits of the same feature
    count, because under a constraint on features a split of another feature is a different one.
    """
    sides = columns if isinstance(columns, Sides) else Sides(columns, columns.shape[1])
    total, lacking = 0, {}
    for at, feature in enumerate(dataset.features):
        splits = _Splits(dataset.X[:, at], feature.has_order, dataset.missing == "separate")
        total += splits.many
        if of is None and splits.many <= FEW:
            absent = sum(not sides.holds(splits.side(place)) for place in range(splits.many))
        else:
            asks = np.array([split for split in range(len(sides)) if of is None or of[split] == feature.name], np.int64)
            absent = splits.many - len(splits.among(sides, asks))
        if absent:
            lacking[feature.name] = absent, splits.many
    return total, lacking


class _Splits:
    """The splits of one feature.

    Sides of thresholds are nested, and those of levels have no row in common, so all are different sets of rows.
    Therefore a column of splits is compared only with the one split that it can be equal to, and not all splits are
    written down.

    Parameters
    ----------
    cells : float64 (rows,), NaN if missing
    ordered : bool, whether its splits are cuts of an order, as thresholds are; otherwise single levels
    separate : bool, whether there is a split on missing cells
    """

    def __init__(self, cells: np.ndarray, ordered: bool, separate: bool):
        self.cells, self.ordered = cells, ordered
        self.absent = np.isnan(cells)
        n_absent = int(self.absent.sum())
        self.values, rows = np.unique(cells[~self.absent], return_counts=True)
        # Of two levels one implies the other, unless missing cells are on the other side of both.
        last = ordered or (len(rows) == 2 and not n_absent)
        self.rows = (np.cumsum(rows) if ordered else rows)[: len(rows) - last]
        if not n_absent and len(rows) == 1:  # all rows are on one side
            self.rows = self.rows[:0]
        self.asks_absent = separate and 0 < n_absent < len(cells)
        self.many = len(self.rows) + self.asks_absent

    def among(self, sides: Sides, splits: np.ndarray) -> set[int]:
        """Return the splits that are equal to the rows that some splits, int64 (splits,), send left, or right."""
        found: set[int] = set()
        of_left, of_right = (sides.size, sides.first), (sides.n_rows - sides.size, sides.first_other)
        for inside, (size, first) in zip((True, False), (of_left, of_right)):
            places = self._places(size[splits], first[splits], sides.n_rows)
            for at in np.flatnonzero(places >= 0).tolist():
                place = int(places[at])
                if place not in found:
                    side = self.side(place)
                    if sides.is_one(int(splits[at]), side if inside else ~side):
                        found.add(place)
        return found

    def _places(self, size: np.ndarray, first: np.ndarray, n_rows: int) -> np.ndarray:
        """Return int64: the only split whose side can have this many rows with this first one; -1 if there is none."""
        place = np.searchsorted(self.rows, size) if self.ordered else np.searchsorted(self.values, self.cells[first])
        last = len(self.rows)
        fits = np.append(self.rows, -1)[np.minimum(place, last)] == size
        place = np.where(self.absent[first], last if self.asks_absent else -1, np.where(fits, place, -1))
        return np.where((0 < size) & (size < n_rows), place, -1)

    def side(self, place: int) -> np.ndarray:
        """Return the rows of a side, bool (rows,)."""
        if place == len(self.rows):
            return self.absent
        return self.cells <= self.values[place] if self.ordered else self.cells == self.values[place]


def words(total: int, lacking: dict[str, tuple[int, int]]) -> str:
    """Describe the splits of a proof in words."""
    if not lacking:
        return (
            f"these include all {total:,} thresholds between neighbouring values and single levels; of "
            "several that divide the rows in the same way, one is enough"
        )
    missing = sum(absent for absent, _ in lacking.values())
    most = sorted(lacking.items(), key=lambda item: -item[1][0])[:3]
    named = ", ".join(f"{name}: {absent:,} of {each:,}" for name, (absent, each) in most) + (
        ", …" if len(lacking) > 3 else ""
    )
    was, them = ("was", "it") if missing == 1 else ("were", "them")
    return (
        f"{missing:,} of the {total:,} possible splits {was} not considered ({named}); a tree that uses {them} might "
        "cost less"
    )
