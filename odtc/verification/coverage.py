"""Which of all thresholds between neighbouring values, and of all single levels, the tests of a certificate are.

A proof is one over its tests. Whether it is one over all that the data could be asked is counted here from
the raw data, by how each split parts the rows: two that part them alike are one, whatever their words.
"""

from collections.abc import Sequence

import numpy as np

from odtc.data.dataset import Dataset

FEW = 8  # splits of a feature that are looked up one by one


def count_uncovered(
    dataset: Dataset, columns: np.ndarray, of: Sequence[str] | None = None
) -> tuple[int, dict[str, tuple[int, int]]]:
    """(splits, {feature: (left out, splits)}): how many splits by a midpoint, a level, or whether a cell is
    missing part the rows of the data, each in its own way; and of which features some are not among `columns`,
    bool (tests, rows), what each test sends left. With `of`, the feature of each test, only tests of the same feature
    count: where a constraint speaks of features, one of another is another test."""
    size = columns.sum(axis=1)
    rows = columns.shape[1]
    sides = (size, columns.argmax(axis=1)), (rows - size, columns.argmin(axis=1))
    total, lacking = 0, {}
    every = {packed.tobytes() for packed in np.packbits(np.concatenate([columns, ~columns]), axis=1)}
    for at, feature in enumerate(dataset.features):
        splits = _Splits(dataset.X[:, at], feature.has_order, dataset.missing == "separate")
        total += splits.many
        if of is None and splits.many <= FEW:
            absent = sum(np.packbits(splits.side(place)).tobytes() not in every for place in range(splits.many))
        else:
            asks = np.array([test for test in range(len(columns)) if of is None or of[test] == feature.name], np.int64)
            absent = splits.many - len(splits.among(columns, sides, asks))
        if absent:
            lacking[feature.name] = absent, splits.many
    return total, lacking


class _Splits:
    """The splits of one feature. Sides of thresholds are nested and those of levels have no row in common, so each is
    another set of rows, and a column of tests is compared with the one that it can be, instead of writing all down.

    Parameters
    ----------
    cells : float64 (rows,), NaN if missing
    ordered : bool, whether its splits are cuts of an order, as thresholds, else single levels
    separate : bool, whether one asks if a cell is missing
    """

    def __init__(self, cells: np.ndarray, ordered: bool, separate: bool):
        self.cells, self.ordered = cells, ordered
        self.absent = np.isnan(cells)
        n_absent = int(self.absent.sum())
        self.values, rows = np.unique(cells[~self.absent], return_counts=True)
        # Of two levels one says the other, unless missing cells are on the other side of both.
        last = ordered or (len(rows) == 2 and not n_absent)
        self.rows = (np.cumsum(rows) if ordered else rows)[: len(rows) - last]
        if not n_absent and len(rows) == 1:  # all rows are on one side
            self.rows = self.rows[:0]
        self.asks_absent = separate and 0 < n_absent < len(cells)
        self.many = len(self.rows) + self.asks_absent

    def among(self, columns: np.ndarray, sides: Sequence[tuple[np.ndarray, np.ndarray]], tests: np.ndarray) -> set[int]:
        """Which splits are columns, bool (tests, rows), or the other side of one, of some of the tests; `sides` has of
        each column, and of its other side, how many rows it has and the first of them, int64 (tests,)."""
        found: set[int] = set()
        for inside, (size, first) in zip((True, False), sides):
            places = self._places(size[tests], first[tests], columns.shape[1])
            for at in np.flatnonzero(places >= 0).tolist():
                place, column = int(places[at]), columns[tests[at]]
                if place not in found:
                    side = self.side(place)
                    if np.array_equal(column, side if inside else ~side):
                        found.add(place)
        return found

    def _places(self, size: np.ndarray, first: np.ndarray, n_rows: int) -> np.ndarray:
        """int64: the only split whose side can be so many rows with this one first; -1 if there is none."""
        place = np.searchsorted(self.rows, size) if self.ordered else np.searchsorted(self.values, self.cells[first])
        last = len(self.rows)
        fits = np.append(self.rows, -1)[np.minimum(place, last)] == size
        place = np.where(self.absent[first], last if self.asks_absent else -1, np.where(fits, place, -1))
        return np.where((0 < size) & (size < n_rows), place, -1)

    def side(self, place: int) -> np.ndarray:
        """bool (rows,)."""
        if place == len(self.rows):
            return self.absent
        return self.cells <= self.values[place] if self.ordered else self.cells == self.values[place]


def words(total: int, lacking: dict[str, tuple[int, int]]) -> str:
    """What the tests of a proof are, in words."""
    if not lacking:
        return (
            f"these are all: each of the {total:,} thresholds between neighbouring values and single levels of a "
            "column parts the rows as one of these tests does"
        )
    missing = sum(absent for absent, _ in lacking.values())
    most = sorted(lacking.items(), key=lambda item: -item[1][0])[:3]
    named = ", ".join(f"{name}: {absent:,} of {each:,}" for name, (absent, each) in most) + (
        ", …" if len(lacking) > 3 else ""
    )
    return (
        f"not among them are {missing:,} of the {total:,} thresholds between neighbouring values and single levels of "
        f"a column ({named}), so a tree that asks these may cost less"
    )
