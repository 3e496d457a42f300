"""Lower bounds for trees over some of the columns that must use others of them, by trying all trees.

The check tries each choice of the columns that a tree may use and of those that it needs: the tree splits on a needed
column at the root, or on one of the sides of the root, to which the needed columns are distributed in all ways.
LeafSumsBound bounds trees of two levels without needed columns. A root is left out if the best trees on its sides
already cost too much without needed columns. Costs are rounded; decisive costs are computed again in whole numbers.
Nothing of the search is used.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain, combinations

import numpy as np

from odtc.base import deadline
from odtc.verification.leaf_sums.limits import Limit

NONE: frozenset[str] = frozenset()


class AllOrNone:
    """The trees over some columns.

    Parameters
    ----------
    bound : odtc.verification.leaf_sums.bound.LeafSumsBound
    columns : list of str, the column of the data of each column of splits
    least : int, rows of a leaf
    """

    def __init__(self, bound, columns: list[str], least: int):
        self.bound, self.names, self.limit = bound, np.array(columns, object), Limit(least)
        self._parts: dict = {}  # the bound over some of the columns
        self._known: dict = {}  # rounded costs

    def least(self, choices: Iterable[tuple[frozenset[str], frozenset[str]]], depth: int, need: Fraction) -> Fraction:
        """Return a lower bound on the cost of any tree of this depth over one of the sets of columns that uses the
        columns needed with it; a bound that just misses `need` is counted in whole numbers."""
        every = np.arange(len(self.bound.rank))
        floor, lowest = self.bound.floor(every), np.inf
        for own, needed in choices:
            used = tuple(at for at, name in enumerate(self.names) if name in own)
            found = self._best(every, depth, used, needed)
            if need - self.bound.slack <= found < need and floor < need:
                found = self._exact(every, depth, used, needed)
            lowest = min(lowest, found)
        return max(floor, Fraction(lowest))

    def _best(self, rows: np.ndarray, depth: int, used: tuple[int, ...], needed: frozenset[str]) -> float:
        """Return a rounded lower bound on the cost of the best tree over some columns that uses all needed ones."""
        if used and not needed and depth <= 2:
            return self._over(used)._rounded(rows, depth, self.limit)
        key = rows.tobytes(), depth, used, needed
        if key not in self._known:
            leaf = np.inf if needed else self.bound._leaf(rows, False)
            self._known[key] = min([leaf, *(cost for cost, *_ in self._roots(rows, depth, used, needed))])
        return self._known[key]

    def _exact(self, rows: np.ndarray, depth: int, used: tuple[int, ...], needed: frozenset[str]) -> Fraction | float:
        """Return the cost of that tree, in whole numbers."""
        if used and not needed and depth <= 2:
            return self._over(used).best(rows, depth, None, self.limit)
        found = np.inf if needed else self.bound._leaf(rows)
        for cost, column, cut in sorted(self._roots(rows, depth, used, needed)):
            if cost >= found:
                break
            left = self.bound.rank[rows, column] <= cut
            for one, two in _dealt(needed - {self.names[column]}):
                below = (
                    self._exact(rows[left], depth - 1, used, one),
                    self._exact(rows[~left], depth - 1, used, two),
                )
                found = min(found, self.bound.price + sum(below))
        return found

    def _roots(self, rows: np.ndarray, depth: int, used: tuple[int, ...], needed: frozenset[str]) -> list[tuple]:
        """Return (rounded lower bound on the cost, column, cut) of trees by their roots; those that are left out cost
        more than the best of these."""
        deadline.check()
        if len(needed) >= 2**depth or not depth:
            return []
        if depth == 1:
            own = tuple(at for at in used if not needed or self.names[at] in needed)
            columns, cuts, costs = self._over(own)._roots(rows, 1, self.limit) if own else ((), (), np.zeros(0))
            return [(cost, own[at], cut) for cost, at, cut in zip((costs - self.bound.near).tolist(), columns, cuts)]
        found, lowest = [], np.inf
        for column in used:
            rank, name = self.bound.rank[rows, column], self.names[column]
            for cut in np.unique(rank)[:-1].tolist():
                left = rank <= cut
                sides = rows[left], rows[~left]
                if min(map(len, sides)) < self.limit.rows:
                    continue
                if self._both(sides, depth, used, (NONE, NONE)) > lowest + self.bound.slack:
                    continue
                cost = min(self._both(sides, depth, used, parts) for parts in _dealt(needed - {name}))
                found.append((cost, column, cut))
                lowest = min(lowest, cost)
        return found

    def _both(self, sides: tuple, depth: int, used: tuple[int, ...], needed: tuple) -> float:
        """Return the bound of a root with these sides, each with its needed columns."""
        return float(self.bound.price) + sum(self._best(rows, depth - 1, used, own) for rows, own in zip(sides, needed))

    def _over(self, used: tuple[int, ...]):
        """Return the bound over some of the columns."""
        if used not in self._parts:
            self._parts[used] = self.bound.over(list(used))
        return self._parts[used]


def _dealt(needed: frozenset[str]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return all ways to distribute the needed columns to the left and the right side."""
    parts = chain.from_iterable(combinations(sorted(needed), size) for size in range(len(needed) + 1))
    return [(frozenset(some), needed - frozenset(some)) for some in parts]
