"""The constrained search for trees of depth 2 with at most two different splits, over very many ordered splits.

Such a tree has a root f and one more split g: below one outcome of f, below the other, or below both. With A the rows
with outcome 0 for f and B the others, at multipliers the least weighted cost of a tree with root f is

    min( W(A) + leaf(B),  leaf(A) + W(B),  min_g stump_g(A) + stump_g(B) ),
    W(S) = min(leaf(S), min_g stump_g(S)).

All three fall by at most max_l w_l for a row added to a side, so intervals of roots are swept as in all_thresholds.
For a remaining root all trees whose weighted cost is at most Λ (close_gap) are tried: there are at most 2 T K^3 + T
K^4 for T splits and K labels.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.all_thresholds import CoarseSearch, ThresholdSearch
from odtc.algorithms.constrained.close_gap import laid
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.stump_pairs import StumpCloser, StumpSides, StumpTrees
from odtc.algorithms.constrained.subtree_options import Options
from odtc.algorithms.constrained.sweeps.swept_trees import SweptTrees
from odtc.algorithms.constrained.sweeps.threshold_sides import Sides
from odtc.base.value_class import value_class

MOST_HELD = 200_000_000  # maximum number of bytes for cached stumps of sides


class TwoSplitSearch(ThresholdSearch):
    """Search over roots with one more split; the parameters are the same as for CoarseSearch, for a problem with
    `most_splits` of 2."""

    def _made(self, splits: np.ndarray, every: bool = False) -> ConstrainedSearch:
        search = CoarseSearch._made(self, splits)
        search.sweep(self._swept(splits), True)
        return search

    @property
    def trees(self) -> type[SweptTrees]:
        """The class of the trees that sweeps find."""
        return TwoSplitTrees


class TwoSplitTrees(StumpTrees):
    """The trees of the cases of a search; the parameters are the same as for SweptTrees."""

    def sides_at(self, weight: np.ndarray, multipliers: np.ndarray, price: float) -> Sides:
        """Return the sides for weighted costs; as for SweptTrees."""
        return _TwoSplitSides(self.sums, weight, multipliers, price)

    @property
    def lists(self) -> type[StumpCloser]:
        """The class that lists and joins the trees of a case."""
        return TwoSplitCloser


@value_class
class _Stumps:
    """A side: its best leaf, all its stumps float64 (splits,), and the least of all over each subset of columns."""

    alone: float
    each: np.ndarray
    full: np.ndarray


class _TwoSplitSides(StumpSides):
    """The cost of two sides together, with one split below."""

    def _made(self, j: int, f: int, answer: int, among: np.ndarray) -> _Stumps:
        if len(self._known) * self.allowed.nbytes * 8 > MOST_HELD:
            self._known.clear()
        alone, each = self._leaf_and_stumps(j, f, answer)
        return _Stumps(alone, each, self._least(alone, each))

    def both(self, zero: _Stumps, one: _Stumps) -> np.ndarray:
        """Return float64 (subsets,): the least weighted cost of two sides."""
        same = self.over(zero.each + one.each)
        return np.minimum.reduce([zero.full + one.alone, one.full + zero.alone, same])


class TwoSplitCloser(StumpCloser):
    """Lists for one root: pairs of a leaf and a leaf or stump, and of two stumps of one split."""

    def best(self, m: np.ndarray) -> tuple[float, list[int]]:
        """Return (weighted cost, splits) of the best tree; as for StumpCloser."""
        factor, price, _ = self._weigh(m)
        alone = [float(self._alone(side, factor).min()) for side in self.sides]
        below = [self._cheapest(side, factor, price) for side in self.sides]
        found = [(below[0][0] + alone[1], [below[0][1], -1]), (alone[0] + below[1][0], [-1, below[1][1]])]
        if len(self.kept):
            zero, one = (self._stumps(side, factor, price) for side in self.sides)
            h = int((zero + one).argmin())
            found.append((float(zero[h] + one[h]), [int(self.sums.flat[self.kept[h]])] * 2))
        value, splits = min(found, key=lambda one: one[0])
        return price + value, splits

    def join(self, root: int, lists: list[Options], below: int, offer: Callable[[np.ndarray, np.ndarray], bool]) -> int:
        zero, one = (part.take(np.argsort(part.code[:, 0], kind="stable")) for part in lists)
        _, price, budget = self._weigh(self.multipliers)
        limit = self.scale * (below - 1) + budget - price
        leaves = [np.flatnonzero(part.code[:, 0] < 0) for part in (zero, one)]
        pairs = [
            (np.repeat(leaves[0], len(one)), np.tile(np.arange(len(one)), len(leaves[0]))),
            (np.tile(np.arange(len(zero)), len(leaves[1])), np.repeat(leaves[1], len(zero))),
        ]
        stumps = np.arange(len(leaves[0]), len(zero))
        first, last = (np.searchsorted(one.code[:, 0], zero.code[stumps, 0], side) for side in ("left", "right"))
        many = last - first
        i = np.repeat(stumps, many)
        pairs.append((i, np.repeat(first, many) + np.arange(len(i)) - np.repeat(np.cumsum(many) - many, many)))
        most = np.append(below - 1, self.tables.problem.bound) - self._node
        for i, j in pairs:
            self.tick()
            light = zero.weight[i] + one.weight[j] <= limit
            i, j = i[light], j[light]
            vector = zero.vector[i] + one.vector[j]
            fits = np.flatnonzero((vector <= most).all(axis=1))
            for place in fits[np.argsort(vector[fits, 0], kind="stable")]:
                cost = int(vector[place, 0] + self._node[0])
                if cost >= below:
                    break
                if offer(*laid(root, zero.code[i[place]], one.code[j[place]])):
                    below = cost
        return below
