"""Lower bound on the trees of height 4: a few cuts of each column, and separate bins for each side of a cut.

The cuts of a column are divided into runs i .. j. A cut of a run has the entries of rank <= i on its left side and
the entries of rank > j on its right side, so that

    V_4(S) >= min(leaf(S), price + min over columns, runs of R_3(S up to i) + R_3(S behind j))

with R_3 the bound of height 3 by bins (odtc.algorithms.bins.bin_bound). A side is divided into bins of its own: on it,
columns that depend on the column of the cut have other distributions than on S. R_3 is usually about the same part of
the cost of a leaf. So runs are as long as the costs of their two leaves allow, together a part of the cost of
one leaf, and this part is as large as the time allows. N entries on one side of a cut of C columns take about C³ N
steps.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.bins.bin_bound import BinBound
from odtc.algorithms.thresholds.ranks import RankedRows

OF_SIDE = 8, 32  # bins of a column of a side: for its first cuts, and for the two levels below
# Minimum costs of the two leaves of a run together, relative to the cost of one leaf (a run of one cut may cost less).
# Parts below a half are not needed: with two runs of a column, both sides together already have all entries.
LEAVES = tuple(part / 20 for part in range(10, 20))
CHEAP_SIDE = 0.05  # relative to the cost of one leaf: a side that costs less as a leaf is left out
RATE = 1.2e-9  # CPU seconds of a step on a quick machine, before any is measured
PLANNED = 0.9  # share of the remaining time: shorter runs are used only if they are expected to take less

Run = tuple[int, int]  # the last rank left of all cuts of the run, and the last rank that is not right of all of them


class SidesInBins:
    """Lower bound on the trees of height 4 for all entries.

    Parameters
    ----------
    ranked : RankedRows
    check : called between columns of a side; raises to end the search

    Attributes
    ----------
    lower : int, a lower bound on the cost of all trees of height 4; 0 before `bound` ends
    """

    def __init__(self, ranked: RankedRows, check: Callable[[], None]):
        self.ranked, self.check, self.lower = ranked, check, 0
        self._done = self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """Return about how many seconds the weakest bound takes: two runs of each column, with half of the entries on
        each side."""
        return RATE * self.ranked.rank.shape[1] * 2 * self._steps_of(self.ranked.n / 2)

    def bound(self, seconds: Callable[[], float], need: int) -> None:
        """Find the bound, with runs of each column that are as short as the time allows.

        Parameters
        ----------
        seconds : returns the remaining seconds
        need : int, the cost of a known tree: a higher bound is not needed
        """
        leaf, columns = _Side(self.ranked, self.check).leaf, self.ranked.rank.T
        runs = [[_runs(self.ranked, rank, part * leaf, CHEAP_SIDE * leaf) for rank in columns] for part in LEAVES]
        work = np.array([[self._steps(*column) for column in zip(columns, some)] for some in runs])
        best, price = min(need, leaf), self.ranked.price
        for column, rank in enumerate(columns.astype(np.int64)):
            rate = self._seconds / self._done if self._done else RATE
            fits = rate * work[:, column:].sum(axis=1) < PLANNED * seconds()
            for before, behind in runs[max(0, int(fits.sum()) - 1)][column]:
                paid, sides = price, [np.flatnonzero(rank <= before), np.flatnonzero(rank > behind)]
                for side in sorted(sides, key=len)[::-1]:
                    if len(side) and paid < best:
                        paid += self._side(side)
                best = min(best, paid)
        self.lower = best

    def _side(self, members) -> int:
        """Return a lower bound on the trees of height 3 of some entries."""
        began = time.monotonic()
        found = _Side(_among(self.ranked, members), self.check).bound()
        self._done += self._steps_of(len(members))
        self._seconds += time.monotonic() - began
        return found

    def _steps(self, rank, runs) -> float:
        """Return about how many steps the sides of the runs of a column take."""
        upto = np.append(0, np.bincount(rank).cumsum())
        return sum(self._steps_of(upto[i + 1]) + self._steps_of(self.ranked.n - upto[j + 1]) for i, j in runs)

    def _steps_of(self, entries) -> float:
        if not entries:
            return 0.0
        first, last = OF_SIDE
        cells = first * last**2 * max(2, self.ranked.stride) / 2
        return self.ranked.rank.shape[1] ** 3 * (entries + cells)


class _Side(BinBound):
    """Lower bound on the trees of height 3 for all entries, with a fixed number of bins.

    When bins are formed, the label of most entries weighs no more than all others together. Otherwise, if few entries
    have another label, one bin with most of these entries would leave out most of the cost.
    """

    def __init__(self, ranked: RankedRows, check: Callable[[], None]):
        super().__init__(ranked, 3, check)
        self.leaf = self._leaf(np.arange(ranked.n))
        saved = np.bincount(self._label, self._gain, self._labels)
        each = np.minimum(1.0, (saved.sum() - saved) / np.maximum(saved, 1e-9))
        self._mass = self._gain * each[self._label]

    def bound(self) -> int:
        """Return the bound."""
        return self._value(np.arange(self.ranked.n), OF_SIDE, self.leaf) if self.leaf else 0


def _among(ranked: RankedRows, members: np.ndarray) -> RankedRows:
    """Return the RankedRows of some entries, with new ranks."""
    rank = ranked.rank[members]
    for column in rank.T:
        present = np.bincount(column) > 0
        column[:] = (present.cumsum() - 1)[column]
    some = {name: getattr(ranked, name)[members] for name in ("label", "gain", "most", "count", "row")}
    return replace(ranked, rank=rank, **some)


def _runs(ranked: RankedRows, rank: np.ndarray, enough: float, few: float) -> list[Run]:
    """Return the cuts of a column in runs that are as long as possible. A run is a single cut, or several cuts; the
    entries that are left of all its cuts and the entries that are right of all of them then cost at least `enough` as
    two leaves. A side that costs less than `few` as a leaf is left out."""
    size, labels = int(rank.max(initial=0)) + 1, max(2, ranked.stride)
    place = rank.astype(np.int64) * labels + ranked.saving
    upto = np.bincount(place, np.abs(ranked.gain), size * labels).reshape(size, labels).cumsum(axis=0)
    most = np.bincount(rank, ranked.most, size).cumsum()
    left, right = most - upto.max(axis=1), most[-1] - most - (upto[-1] - upto).max(axis=1)
    runs, cut = [], 0
    while cut < size - 1:
        before, alone = (cut, left[cut]) if left[cut] >= few else (-1, 0.0)
        last = size - 2
        if alone < enough:  # the right sides of later cuts cost less
            last = min(last, max(cut, last + 1 - int(np.searchsorted(right[::-1], max(few, enough - alone)))))
        runs.append((before, last if right[last] >= few else size - 1))
        cut = last + 1
    return runs
