"""Which of all thresholds between neighbouring values, and of all single levels, the tests of a certificate are.

A proof is one over its tests. Whether it is one over all that the data could be asked is counted here from
the raw data, by how each split parts the rows: two that part them alike are one, whatever their words.
"""

from collections.abc import Sequence

import numpy as np

from odtc.data.dataset import NUMERIC, Dataset


def count_uncovered(
    dataset: Dataset, columns: np.ndarray, of: Sequence[str] | None = None
) -> tuple[int, dict[str, tuple[int, int]]]:
    """(splits, {feature: (left out, splits)}): how many splits by a midpoint, a level, or whether a cell is
    missing part the rows of the data, each in its own way; and of which features some are not among `columns`,
    bool (tests, rows), what each test sends left. With `of`, the feature of each test, only tests of the same feature
    count: where a constraint speaks of features, one of another is another test."""
    size = columns.sum(axis=1)
    total, lacking = 0, {}
    for at, feature in enumerate(dataset.features):
        asks = [test for test in range(len(columns)) if of is None or of[test] == feature.name]
        splits = _Splits(dataset.X[:, at], feature.kind == NUMERIC, dataset.missing == "separate")
        total += splits.many
        if absent := splits.many - len(splits.among(columns, size, asks)):
            lacking[feature.name] = absent, splits.many
    return total, lacking


class _Splits:
    """The splits of one feature. Sides of thresholds are nested and those of levels have no row in common, so each is
    another set of rows, and a column of tests is compared with the one that it can be, instead of writing all down.

    Parameters
    ----------
    cells : float64 (rows,), NaN if missing
    ordered : bool, whether its splits are thresholds, else single levels
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

    def among(self, columns: np.ndarray, size: np.ndarray, tests: Sequence[int]) -> set[int]:
        """Which splits are columns, bool (tests, rows), or the other side of one, of some of the tests; `size`
        int (tests,) counts the rows of each column."""
        found: set[int] = set()
        for test in tests:
            for inside in (True, False):
                n = int(size[test]) if inside else columns.shape[1] - int(size[test])
                place = self._place(columns[test], inside, n)
                if place is not None and place not in found:
                    side = self._side(place)
                    if np.array_equal(columns[test], side if inside else ~side):
                        found.add(place)
        return found

    def _place(self, column: np.ndarray, inside: bool, n: int) -> int | None:
        """The only split whose side can be these n rows, `column` is `inside`; None if there is none."""
        if not 0 < n < len(column):
            return None
        first = int(column.argmax() if inside else column.argmin())
        if self.absent[first]:
            return len(self.rows) if self.asks_absent else None
        place = int(np.searchsorted(self.rows, n) if self.ordered else np.searchsorted(self.values, self.cells[first]))
        return place if place < len(self.rows) and self.rows[place] == n else None

    def _side(self, place: int) -> np.ndarray:
        """bool (rows,)."""
        if place == len(self.rows):
            return self.absent
        return self.cells <= self.values[place] if self.ordered else self.cells == self.values[place]


def words(total: int, lacking: dict[str, tuple[int, int]]) -> str:
    """What the tests of a proof are, in words."""
    if not lacking:
        return (
            f"these are all: thresholds between neighbouring values, and single levels, part the rows of the data "
            f"in {total:,} ways, those of each column counted by themselves"
        )
    missing = sum(absent for absent, _ in lacking.values())
    most = sorted(lacking.items(), key=lambda item: -item[1][0])[:3]
    named = ", ".join(f"{name}: {absent:,} of {each:,}" for name, (absent, each) in most) + (
        ", …" if len(lacking) > 3 else ""
    )
    return (
        f"not among them are {missing:,} of the {total:,} ways in which thresholds between neighbouring values, and "
        f"single levels, "
        f"part the rows of the data ({named}), so a tree that asks these may cost less"
    )
