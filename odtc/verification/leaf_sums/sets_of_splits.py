"""Lower bounds on the costs of trees of at most N different splits, by trying all sets of N splits.

N splits divide the rows into cells. A node is described by a state: each split has the result 0, the result 1, or is
still free. The sums of all states of N - 1 splits with each last split are computed at once, and the best tree below
a state is the leaf, or a free split with the best trees on its two sides. Sums are rounded; for decisive sets they
are computed again in whole numbers. Nothing of the search is used.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from odtc.base import deadline

FREE = 2  # in a state: the split has neither result yet


class SetsOfSplits:
    """The sets of splits of some rows.

    Parameters
    ----------
    bound : odtc.verification.leaf_sums.bound.LeafSumsBound
    limit : odtc.verification.leaf_sums.limits.Limit
    """

    def __init__(self, bound, limit):
        self.bound, self.limit = bound, limit
        measure, rank = bound.measure, bound.rank
        self.told = np.vstack([measure.rounded, np.ones(len(rank))])
        left = [column <= cut for column in rank.T for cut in np.unique(column)[:-1]]
        apart = np.array(left, bool).reshape(-1, len(rank))
        apart = apart != apart[:, :1]  # splits with exchanged sides count as equal
        first = np.unique(np.packbits(apart, axis=1), axis=0, return_index=True)[1]
        self.answers = apart[np.sort(first)].astype(np.int64)  # (splits, rows)

    def least(self, most: int, depth: int, need: Fraction) -> Fraction:
        """Return a lower bound on the cost of any tree of at most this many different splits and levels; a bound that
        just misses `need` is counted in whole numbers."""
        bound, every = self.bound, np.arange(len(self.bound.rank))
        floor, most = bound.floor(every), min(most, len(self.answers))
        if not most:
            return bound._leaf(every)
        missed, lowest, above = [], np.inf, np.nextafter(float(need), np.inf)
        for held, first, costs in self._costs(most, depth):
            costs -= bound.near
            lowest = min(lowest, float(costs.min()))
            missed += [(*held, first + at) for at in np.flatnonzero(costs < above).tolist()]
        if lowest >= need - bound.slack and floor < need:
            lowest = min([need, *(self._exact(splits, depth) for splits in missed)])
        return max(floor, Fraction(lowest))

    def _costs(self, most: int, depth: int) -> Iterator[tuple[tuple[int, ...], int, np.ndarray]]:
        """Yield (fixed splits, the first of the last splits, float64 (last splits,): the cost of the best tree)."""
        measure, answers = self.bound.measure, self.answers
        for held in combinations(range(len(answers) - 1), most - 1):
            deadline.check()
            first = held[-1] + 1 if held else 0
            cell = (1 << np.arange(len(held))[::-1]) @ answers[list(held)] if held else np.zeros(answers.shape[1], int)
            apart = np.zeros((len(self.told), 2 ** len(held), answers.shape[1]))
            apart[:, cell, np.arange(answers.shape[1])] = self.told
            ones = apart.reshape(-1, answers.shape[1]) @ answers[first:].T.astype(float)
            ones = ones.reshape(*apart.shape[:2], -1)
            sums = np.stack([apart.sum(axis=2)[:, :, None] - ones, ones], axis=2)
            sums = sums.reshape(len(self.told), *[2] * most, -1)
            for axis in range(1, most + 1):
                sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
            w, s, q, rows = sums
            leaf = np.where(rows >= self.limit.rows, measure.costs(w, s, q), np.inf)
            yield held, first, self._below(most, depth, leaf.__getitem__, np.minimum, float(self.bound.price))

    def _exact(self, splits: tuple[int, ...], depth: int) -> Fraction | float:
        """Return the cost of the best tree over these splits, in whole numbers."""
        deadline.check()
        answers = self.answers[list(splits)]

        def leaf(state: tuple[int, ...]) -> Fraction | float:
            rows = np.flatnonzero(
                np.all([one == answer for one, answer in zip(answers, state) if answer != FREE], axis=0)
                if set(state) != {FREE}
                else np.ones(answers.shape[1], bool)
            )
            return self.bound._leaf(rows) if len(rows) >= self.limit.rows else np.inf

        return self._below(len(splits), depth, leaf, min, self.bound.price)

    def _below(self, most: int, depth: int, leaf: Callable, least: Callable, price):
        """Return the cost of the best tree, from the costs of leaves at the states."""
        known: dict = {}

        def best(state: tuple[int, ...], height: int, limit):
            limit, height = limit.at(min(height, state.count(FREE)))
            if (state, height, limit) in known:
                return known[state, height, limit]
            found = leaf(state)
            for axis in range(most) if height else ():
                if state[axis] != FREE:
                    continue
                below = [(*state[:axis], answer, *state[axis + 1 :]) for answer in (0, 1)]
                for share in limit.shares(height):
                    one, two = map(best, below, (height - 1, height - 1), limit.of_sides(share))
                    found = least(found, price + one + two)
            known[state, height, limit] = found
            return found

        return best((FREE,) * most, depth, self.limit)
