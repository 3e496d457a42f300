"""Lower bounds on the costs of trees that use, of each of some groups of columns, all or none, by trying all trees.

For each choice of the groups that are used, no node splits on a column of the others, and each column of the chosen
ones is needed: the tree splits on it at the root, or on one of the sides of the root, to which the needed columns are
distributed in all ways. The best trees of two levels with a root are computed for all roots at once, from the gain of
a split on each column on either side; above them each root is tried. Sums are rounded; for roots that decide they are
counted again in whole numbers. Nothing of the search is used.
"""

from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np

from odtc.base import deadline

MOST_NEEDED = 6  # columns, which are dealt to two sides in all ways
CELLS = 1 << 18  # pairs of splits that are evaluated together


class AllOrNone:
    """The splits of some rows, separately for each column of the data.

    Parameters
    ----------
    bound : odtc.verification.leaf_sums.bound.LeafSumsBound
    columns : list of str, the column of the data of each column of splits
    least : int, rows of a leaf
    """

    def __init__(self, bound, columns: list[str], least: int):
        self.bound, self.rows_of_leaf, self.price = bound, least, float(bound.price)
        self.told = np.vstack([bound.measure.rounded, np.ones(len(bound.rank))])
        names = sorted(set(columns))
        splits, features = [], []
        for name in names:
            own = [rank for rank, column in zip(bound.rank.T, columns) if column == name]
            left = np.array([rank <= cut for rank in own for cut in np.unique(rank)[:-1]], bool)
            left = left.reshape(-1, len(bound.rank))
            first = np.unique(np.packbits(left != left[:, :1], axis=1), axis=0, return_index=True)[1]
            splits.append(left[first])
            features += [name] * len(first)
        self.left, self.feature = np.concatenate(splits), np.array(features, object)  # by column one after the other

    def least(self, together: tuple[tuple[str, ...], ...], depth: int, need: Fraction) -> Fraction:
        """Return a lower bound on the cost of any tree of this depth; a bound that just misses `need` is counted in
        whole numbers."""
        every, floor = np.arange(len(self.bound.rank)), self.bound.floor(np.arange(len(self.bound.rank)))
        lowest: Fraction | float = np.inf
        for asked in set(product((False, True), repeat=len(together))):
            needed = frozenset(chain.from_iterable(group for group, some in zip(together, asked) if some))
            barred = set(chain.from_iterable(group for group, some in zip(together, asked) if not some))
            if needed & barred:
                continue
            splits = np.flatnonzero([name not in barred for name in self.feature.tolist()])
            costs = self._roots(every, depth, splits, [needed])[needed]
            leaf = np.inf if needed else self.bound._leaf(every, False)
            found = min(leaf, float(costs.min(initial=np.inf)) - self.bound.near)
            if need - self.bound.slack <= found < need and floor < need:
                found = self._exact(every, depth, splits, needed, costs)
            lowest = min(lowest, found)
        return max(floor, Fraction(lowest))

    def _exact(self, rows, depth: int, splits, needed: frozenset, costs: np.ndarray | None = None) -> Fraction | float:
        """Return the cost of the best tree that uses all needed columns, in whole numbers."""
        deadline.check()
        found = np.inf if needed else self.bound._leaf(rows)
        if not depth:
            return found
        if costs is None:
            costs = self._roots(rows, depth, splits, [needed])[needed]
        for at in np.flatnonzero(costs <= min(costs.min(initial=np.inf) + self.bound.near, np.finfo(float).max)):
            left = self.left[splits[at], rows]
            for one, two in _dealt(needed - {self.feature[splits[at]]}):
                below = (
                    self._exact(rows[left], depth - 1, splits, one),
                    self._exact(rows[~left], depth - 1, splits, two),
                )
                found = min(found, self.bound.price + sum(below))
        return found

    def _roots(self, rows: np.ndarray, depth: int, splits: np.ndarray, asked: list[frozenset]) -> dict:
        """Return for each set of needed columns, float64 (splits,): the cost of the best tree with each split at its
        root, infinity if there is none."""
        deadline.check()
        if not len(splits):
            return {needed: np.zeros(0) for needed in asked}
        left, own = self.left[np.ix_(splits, rows)], self.told[:, rows]
        held = own @ left.T.astype(float)
        whole = own.sum(axis=1)
        parts = np.stack([held, whole[:, None] - held], axis=1)  # (moments, sides, splits)
        fits = parts[3].min(axis=0) >= self.rows_of_leaf
        costs = {needed: np.full(len(splits), np.inf) for needed in asked}
        sides = {0: self._leaves, 1: self._stumps}.get(depth - 1, self._trees)
        feature = self.feature[splits]
        wanted = {frozenset(one) for needed in asked for one in _subsets(needed)}
        for some in np.array_split(np.flatnonzero(fits), max(1, fits.sum() * len(splits) // CELLS)):
            below = sides((rows, splits, depth - 1, left, own, parts), some, wanted)
            for needed in asked:
                for name in {*feature[some].tolist()} & needed | {None}:
                    mine = feature[some] == name if name else ~np.isin(feature[some], list(needed))
                    for one, two in _dealt(needed - {name}):
                        paid = self.price + below[one][0][mine] + below[two][1][mine]
                        at = some[mine]
                        costs[needed][at] = np.minimum(costs[needed][at], paid)
        return costs

    def _leaves(self, state: tuple, some: np.ndarray, wanted: set) -> dict:
        """Return {needed: (float64 (some,), float64 (some,))}: the costs of the sides of some splits as leaves."""
        parts = state[-1]
        costs = self.bound.measure.costs(*parts[:3, :, some])
        return {needed: np.full_like(costs, np.inf) if needed else costs for needed in wanted}

    def _stumps(self, state: tuple, some: np.ndarray, wanted: set) -> dict:
        """Return the same for trees of one level."""
        _, splits, _, left, own, parts = state
        costs = self.bound.measure.costs
        both = np.stack([(left[some] * line) @ left.T.astype(float) for line in own])
        feature, leaves = self.feature[splits], self._leaves(state, some, {frozenset()})[frozenset()]
        begin = np.flatnonzero(np.append(True, feature[1:] != feature[:-1]))
        names, found = feature[begin].tolist(), {needed: np.full_like(leaves, np.inf) for needed in wanted}
        for side, up in enumerate((both, parts[:, 0, None] - both)):
            above = parts[:, side, some, None] - up
            paid = self.price + costs(*up[:3]) + costs(*above[:3])
            paid[np.minimum(up[3], above[3]) < self.rows_of_leaf] = np.inf
            by_column = dict(zip(names, np.minimum.reduceat(paid, begin, axis=1).T))
            for needed in wanted:
                if not needed:
                    found[needed][side] = np.minimum(leaves[side], paid.min(axis=1))
                elif len(needed) == 1 and (one := by_column.get(*needed)) is not None:
                    found[needed][side] = one
        return found

    def _trees(self, state: tuple, some: np.ndarray, wanted: set) -> dict:
        """Return the same for trees of more levels, one split after the other."""
        rows, splits, depth, left, _, parts = state
        leaves = self._leaves(state, some, {frozenset()})[frozenset()]
        found = {needed: np.full_like(leaves, np.inf) for needed in wanted}
        for at, split in enumerate(some.tolist()):
            for side, own in enumerate((rows[left[split]], rows[~left[split]])):
                below = self._roots(own, depth, splits, list(wanted))
                for needed, costs in below.items():
                    found[needed][side, at] = costs.min(initial=np.inf if needed else leaves[side, at])
        return found


def _subsets(needed: frozenset) -> list[tuple]:
    return [some for size in range(len(needed) + 1) for some in combinations(sorted(needed), size)]


def _dealt(needed: frozenset) -> list[tuple[frozenset, frozenset]]:
    """Return all ways to distribute the needed columns to the left and the right side."""
    return [(frozenset(some), needed - frozenset(some)) for some in _subsets(needed)]
