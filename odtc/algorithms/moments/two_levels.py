"""The best tree of two levels over so many cuts that no table of their pairs is made.

For a root cut c of column f, let l_g(c) and r_g(c) be the cost of the best split on column g on the left and on the
right side, or of a leaf there if that costs less. As the rows left of c grow with c, l_g grows, too, and r_g falls.
Hence for all cuts between two tried ones a < b

    min_g l_g(a) + min_g r_g(b) + price

is a lower bound. A column g whose l_g(a) + min_h r_h(b) + price is not less than the cost of the best tree is not in a
better tree on the left side: it is skipped for the cuts between a and b, and l_g(a) stays its bound. Intervals of all
columns are taken by rising bound, as odtc.algorithms.moments.search does with deeper trees.

The first tree is the best one over cuts at quantiles of the rows. The columns are sorted once for all rows; one pass
over the rows in the order of g gives the gains of all its cuts, on both sides of c.

If leaves must have a minimum number of rows, l_g and r_g are computed for leaves with any number of rows, as above.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from odtc.algorithms.moments import laws
from odtc.algorithms.moments.first_trees import CUTS_PER_COLUMN, quantile_cuts
from odtc.algorithms.moments.laws import gain
from odtc.algorithms.moments.tree_limits import Place
from odtc.base.kernels import kernel
from odtc.base.value_class import value_class

LEFT, RIGHT = 1, 2  # sides of a cut


@value_class
class Stump:
    """The best tree of one level over some columns (None for all), which is computed at the end."""

    columns: tuple[int, ...] | None


@value_class
class OneStump:
    """A leaf on one side of a cut and the best tree of one level on the other."""

    columns: tuple[int, ...] | None


class Worth(NamedTuple):
    """The cuts of a state that were tried, each as (column, cut, shares of the sides, lower bound); no other cut costs
    less than `until`."""

    until: float
    cuts: list


@dataclass
class Known:
    """A lower bound `lower` on the cost of all trees of a depth on some rows, and the best tree found, `tree`, with
    its cost `upper`. A tree is (column, cut, left, right), None for a leaf, or Stump; both sides may be one
    OneStump."""

    lower: float
    upper: float
    tree: tuple | None


@kernel
def side_gains(side, order, rank, moments, wanted, terms, found):
    """Return float64 (2, 3), the sums of either side of a cut, and write the gain of the best split on each column
    there into `found`.

    Parameters
    ----------
    side : uint8 (all rows,), 0 left of the cut and 1 right of it
    order : int32 (columns, rows), the rows by rising rank
    rank : int32 (columns, rows), these ranks
    moments : float64 (all rows, 3): W, S, rows of the data
    wanted : uint8 (columns,): LEFT and RIGHT, the sides to compute
    terms : (law, tiny, rows of the data that each leaf must have)
    found : float64 (2, columns, 2): for leaves of any rows, and of enough, by column the gain on either side
    """
    law, tiny, least = terms
    own, last, sums = np.empty((2, 3)), np.empty(2, np.int64), np.zeros((2, 3))
    for row in order[0]:
        for part in range(3):
            sums[side[row], part] += moments[row, part]
    for g in range(len(order)):
        if wanted[g] == 0:
            continue
        own[:], last[:] = 0.0, -1
        for i in range(order.shape[1]):
            row = order[g, i]
            k = side[row]
            if wanted[g] & (1 + k) == 0:
                continue
            if rank[g, i] != last[k]:
                if last[k] >= 0:
                    w, s = own[k, 0], own[k, 1]
                    both = gain(law, s, w, tiny) + gain(law, sums[k, 1] - s, sums[k, 0] - w, tiny)
                    found[0, g, k] = max(found[0, g, k], both)
                    if own[k, 2] >= least and sums[k, 2] - own[k, 2] >= least:
                        found[1, g, k] = max(found[1, g, k], both)
                last[k] = rank[g, i]
            own[k, 0] += moments[row, 0]
            own[k, 1] += moments[row, 1]
            own[k, 2] += moments[row, 2]
    return sums


class Sorted:
    """The rows of a MomentSearch in the order of each column, and cuts at quantiles of them."""

    def __init__(self, search: Any):
        self.order = np.argsort(search.code, axis=1, kind="stable").astype(np.int32)
        self.moments = np.ascontiguousarray(search.moments.T)
        self.cuts = [
            quantile_cuts(code, size, CUTS_PER_COLUMN) for code, size in zip(search.code, search.size.tolist())
        ]
        code = np.stack([np.searchsorted(cuts, code) for cuts, code in zip(self.cuts, search.code)])
        self.coarse = search.over(code, int(search.least))


class TwoLevels:
    """The trees of two levels on some rows.

    Parameters
    ----------
    search : MomentSearch (odtc.algorithms.moments.search)
    rows : int64 (rows,)
    columns : int64 (columns,), that nodes may split on
    """

    def __init__(self, search: Any, rows: np.ndarray, columns: np.ndarray):
        self.search, self.rows, self.columns = search, rows, columns
        self.sorted = search.sorted
        inside = np.zeros(search.code.shape[1], bool)
        inside[rows] = True
        every = self.sorted.order[columns]
        self.order = every if inside.all() else every[inside[every]].reshape(len(columns), len(rows))
        self.rank = np.take_along_axis(search.code[columns], self.order.astype(np.int64), axis=1)
        self.price, self.near = search.price, search.near

    def first_tree(self, place: Place) -> tuple | None:
        """Return (cost, column, cut) of the best tree over cuts at quantiles, None if it is a leaf."""
        gained, column, at = self.sorted.coarse.depth_two(self.rows, place)
        if column < 0:
            return None
        return max(0.0, float(self.search.q[self.rows].sum()) - gained), column, int(self.sorted.cuts[column][at])

    def sides(self, column: int, cut: int, wanted: np.ndarray) -> np.ndarray:
        """Return float64 (2, 2, columns): for leaves of any rows, and of enough, the cost of the best split on each
        wanted column, or of a leaf, on either side of a cut; infinite for the other columns."""
        search, (law, tiny) = self.search, (self.search.law, self.search.tiny)
        side = (search.code[column] > cut).astype(np.uint8)
        found = np.full((2, len(self.columns), 2), -np.inf)
        terms = law, tiny, search.least
        sums = side_gains(side, self.order, self.rank, self.sorted.moments, wanted, terms, found)
        alone = np.array([laws.gain(law, s, w, tiny) for w, s, _ in sums.tolist()])
        q = np.bincount(side[self.rows], search.q[self.rows], 2)
        costs = np.maximum(0.0, q - np.maximum(alone, found - self.price)).transpose(0, 2, 1)
        for k, own in enumerate((LEFT, RIGHT)):
            costs[:, k, wanted & own == 0] = np.inf
        return costs

    def solve(self, limit: float, entry: Known, place: Place, tell: Callable[[float, Known], None]) -> tuple:
        """Return (Known, tried, Worth): the best tree, or a lower bound of at least `limit`; the (column, cut) that
        were tried; and the bound of each.

        Parameters
        ----------
        limit : float
        entry : Known, of the best tree found so far
        place : Place, with the columns
        tell : called with a bound of all trees and the best one found
        """
        stumps, tried, worth = (Stump(place.columns), Stump(place.columns)), [], []
        if (first := self.first_tree(place)) is not None and first[0] < entry.upper:
            entry = Known(0.0, first[0], (*first[1:], *stumps))
        heap: list[tuple] = []
        nothing, n = np.zeros(len(self.columns)), len(self.rows)
        for g, column in enumerate(self.columns.tolist()):
            if len(cuts := self.search.cuts(self.rows, column)):
                below = np.searchsorted(self.rank[g], cuts, side="right")  # rows left of each cut
                heap.append((0.0, len(heap), column, (cuts, below), -1, len(cuts), nothing, nothing))
        number, lower, until = len(heap), entry.upper, np.inf
        least = np.inf  # lower bound of the cuts that were tried
        while heap:
            self.search.check()
            bound, _, column, (cuts, below), low, high, before, behind = heapq.heappop(heap)
            most = self.search.wanted(min(entry.upper, limit)) - self.price
            tell(min(entry.upper, bound + self.price), entry)
            if bound >= most:
                lower = until = bound + self.price
                break
            half = ((below[low] if low >= 0 else 0) + (below[high] if high < len(cuts) else n)) / 2
            middle = min(low + 1 + int(np.searchsorted(below[low + 1 : high], half)), high - 1)
            cut = int(cuts[middle])
            left, right = before + behind.min() < most, before.min() + behind < most
            free, kept = self.sides(column, cut, (LEFT * left + RIGHT * right).astype(np.uint8))
            tried.append((column, cut))
            cost = float(kept.min(axis=1).sum()) + self.price
            if cost < entry.upper:
                entry = Known(0.0, cost, (column, cut, *stumps))
            ends = np.where(left, kept[0], before).min(), np.where(right, kept[1], behind).min()
            least = min(least, float(sum(ends)) + self.price)
            worth.append((column, cut, (None, ()), float(sum(ends)) + self.price))
            one = np.where(left, np.maximum(free[0], before), before)
            two = np.where(right, np.maximum(free[1], behind), behind)
            for first, last, *own in ((low, middle, before, two), (middle, high, one, behind)):
                if last - first > 1:
                    number += 1
                    value = max(bound, float(own[0].min() + own[1].min()))
                    heapq.heappush(heap, (value, number, column, (cuts, below), first, last, *own))
        lower = min(lower, least, entry.upper)  # the search of a side stops when it reaches the limit
        lower = entry.upper if entry.upper - lower <= self.near else lower
        return Known(lower, entry.upper, entry.tree), tried, Worth(until, worth)
