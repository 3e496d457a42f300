"""Lists of subtrees and their joins: they settle a case (a root split with a subset of columns) exactly if multipliers
leave a gap.

A feasible tree that costs at most UB - 1 has μ · (uses - bound) ≤ 0, so its weighted cost is at most

    Λ = scale (UB - 1) + m · bound,

and the weighted cost of each side of its root is at most Λ less the minimum of the other side. Both sides are listed up
to that limit, and all pairs of the two lists are tried. If two subtrees use the same amounts of every constraint, only
the cheaper one is kept; with one constraint, only subtrees that no other dominates are kept. This is valid because all
remaining conditions are on sums. If a tree must satisfy other conditions, too (`accepts`), all subtrees are kept.
Weighted costs may be negative, so the limit of a list must subtract the minimum cost of the other side; Λ itself is not
a valid limit.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.algorithms.constrained.lagrangian_pass import Pass, Path, Weights
from odtc.algorithms.constrained.subtree_options import Leaves, Options, join_codes, kept, lay, shallow, widened
from odtc.algorithms.constrained.two_level_lists import Splits, two_levels
from odtc.base.deadline import BLOCK_CELLS

MOST_PAIRS = 30_000_000  # maximum length of a list of pairs, before dominated ones are dropped


class GapCloser:
    """Lists and joins for one case: a root split and the splits below it.

    Parameters
    ----------
    tables : Pass
    weights : Weights
    splits : int (splits,)
        The splits that are possible below the root.
    tick : Callable[[], None]
        Raises when the time is over.
    """

    def __init__(self, tables: Pass, weights: Weights, splits: np.ndarray, tick: Callable[[], None]):
        self.tables, self.weights, self.splits, self.tick = tables, weights, splits, tick
        self.most_pairs, self._known = MOST_PAIRS, {}
        problem = tables.problem
        # A stump whose leaves predict the same is not better than one leaf, unless nodes have negative uses.
        self.distinct = (problem.branch_uses >= 0).all() and (problem.leaf_uses >= 0).all()

    def close(self, root: int, below: int, offer: Callable[[np.ndarray, np.ndarray], bool]) -> int:
        """Offer every tree that would cost less than any before; return a lower bound on the cost of trees of this
        case.

        Parameters
        ----------
        root : int
        below : int
            Only trees that cost less than this are searched for.
        offer : Callable[[split, label], bool]
            Called with a feasible tree; False if it is refused.
        """
        lists = self._lists(root, below)
        return below if lists is None else self.join(root, lists, below, offer)

    def listed(self, root: int, limit: float) -> list[Options] | None:
        """Return all subtrees of either side of trees whose weighted cost is at most `limit`; None if there is none."""
        problem, weights = self.tables.problem, self.weights
        limit -= weights.base
        side = [self._value(((root, t),), problem.depth - 1) for t in (0, 1)]
        if side[0] + side[1] > limit or np.isinf(side[0] + side[1]):
            return None
        return [self.options(((root, t),), problem.depth - 1, limit - side[1 - t]) for t in (0, 1)]

    def sides(self, root: int, below: int) -> tuple[Options, Options] | None:
        """Return the subtrees of either side that could be part of a tree that costs less than `below`; None if none
        could."""
        lists = self._lists(root, below)
        return None if lists is None else self._fitting(lists, below)

    def _lists(self, root: int, below: int) -> list[Options] | None:
        return self.listed(root, self.tables.scale * (below - 1) + self.weights.budget)

    # Lists.

    def options(self, path: Path, depth: int, limit: float) -> Options:
        """Return all subtrees of at most this depth below a path whose weighted cost is at most `limit`."""
        self.tick()
        if depth <= 1:
            return self.thinned(self._short(path, depth, limit))
        price = self.weights.branch
        parts = [_grown(self._short(path, 0, limit), depth)]
        may = self.tables.may(path, self.splits)
        splits, least = self.splits[may], self._sides(path, depth - 1)[1][:, may]
        if depth == 2:
            some = np.flatnonzero(price + least.sum(axis=0) <= limit)
            if len(some):
                limits = limit - price - least[::-1, some]
                here = Splits(path, splits[some], self._inner(path))
                parts += two_levels(self.tables, self.weights, here, limits, limit, self.most_pairs, self.tick)
            return self.thinned(_stacked(parts))
        pairs = 0
        for g in np.flatnonzero(price + least.sum(axis=0) <= limit):
            here = [
                self.options((*path, (int(splits[g]), t)), depth - 1, limit - price - least[1 - t, g]) for t in (0, 1)
            ]
            zero, one = (part.take(np.argsort(part.weight, kind="stable")) for part in here)
            ends = np.searchsorted(one.weight, limit - price - zero.weight, side="right")
            pairs += int(ends.sum())
            if pairs > self.most_pairs:
                raise TooLarge(f"a list of subtrees would have more than {self.most_pairs:,} entries")
            i = np.repeat(np.arange(len(zero)), ends)
            j = np.arange(len(i)) - np.repeat(np.cumsum(ends) - ends, ends)
            vector = zero.vector[i] + one.vector[j] + self._node
            weight = zero.weight[i] + one.weight[j] + price
            if self._plain:  # thinned before the codes are written
                some = kept(vector)
                i, j, weight, vector = i[some], j[some], weight[some], vector[some]
            parts.append(Options(weight, vector, join_codes(int(splits[g]), zero.code[i], one.code[j])))
        return self.thinned(_stacked(parts))

    def thinned(self, options: Options) -> Options:
        """Return the options that no other dominates, if the remaining conditions are sums; otherwise all."""
        return options.take(kept(options.vector)) if self._plain else options

    @property
    def _node(self) -> np.ndarray:
        """float64 (1 + constraints,): the cost of a branch node, and the amounts that it uses."""
        return np.append(self.tables.problem.branch_cost, self.tables.problem.branch_uses).astype(float)

    @property
    def _plain(self) -> bool:
        return self.tables.problem.accepts is None

    def _value(self, path: Path, depth: int) -> float:
        """Return the least weighted cost of a subtree of at most this depth below a path."""
        if depth < 2:
            return self.tables.least(path, depth, self.weights, self.splits)
        alone, sides = self._sides(path, depth - 1)
        return float(min(alone, self.weights.branch + sides.sum(axis=0).min(initial=np.inf)))

    def _sides(self, path: Path, depth: int) -> tuple[float, np.ndarray]:
        """Return (the best leaf, float64 (2, splits) the least cost of the subtrees for either outcome of each split)
        below a path."""
        if path not in self._known:
            self._known[path] = self.tables.sides(path, depth, self.weights, self.splits)
        return self._known[path]

    def _inner(self, path: Path) -> np.ndarray:
        """Return int (splits,): the splits that are possible below a split at the end of a path, without regard to that
        split."""
        problem = self.tables.problem
        may = problem.allowed[len(path) + 1].copy()
        for split, _ in path if problem.below is not None else ():
            may &= problem.below[split]
        return self.splits[may[self.splits]]

    def _short(self, path: Path, depth: int, limit: float) -> Options:
        """Return leaves, and if `depth` is 1 stumps, with all their labels."""
        splits = self.splits[self.tables.may(path, self.splits)] if depth else self.splits[:0]
        ones, total = self.tables.singles(path, splits)
        below = (self._leaves(total[:, None] - ones), self._leaves(ones)) if depth else None
        leaf, price = self._leaves(total[:, None]), self.weights.branch
        return shallow(leaf, below, splits, price, self._node, limit, self.distinct)

    def _leaves(self, count: np.ndarray) -> Leaves:
        """Return (weight (labels, leaves), vector (labels, leaves, 1 + constraints)), float64, of counts (kinds,
        leaves)."""
        problem, counts = self.tables.problem, self.tables.counts
        uses = np.tensordot(counts.uses, count, (1, 0)) + problem.leaf_uses[:, :, None]  # (constraints, labels, leaves)
        vector = np.concatenate([(counts.cost.T @ count)[None], uses]).transpose(1, 2, 0)
        return self.tables.leaves(count, self.weights), vector

    # Joins.

    def _fitting(self, lists: list[Options], below: int) -> tuple[Options, Options] | None:
        """Return the lists without the subtrees that fit with nothing of the other side; None if one list is then
        empty."""
        problem = self.tables.problem
        bound = problem.bound - problem.branch_uses.astype(float)
        price = problem.branch_cost
        zero, one = lists
        for _ in range(2):
            if not (len(zero) and len(one)):
                return None
            zero = zero.take(_fits(zero, one, below - 1 - price, bound))
            one = one.take(_fits(one, zero, below - 1 - price, bound)) if len(zero) else one
        return (zero, one) if len(zero) and len(one) else None

    def join(self, root: int, lists: list[Options], below: int, offer: Callable[[np.ndarray, np.ndarray], bool]) -> int:
        """Offer every tree of two lists that would cost less than any before; return the same as `close`."""
        problem = self.tables.problem
        bound = problem.bound - problem.branch_uses.astype(float)
        price = problem.branch_cost
        fitting = self._fitting(lists, below)
        if fitting is None:
            return below
        zero, one = fitting
        if problem.n_constraints <= 1 and self._plain:
            return self._join_one(root, zero, one, below, bound, offer)
        zero, one = (part.take(np.argsort(part.vector[:, 0], kind="stable")) for part in (zero, one))
        step = max(1, BLOCK_CELLS // len(one))
        for first in range(0, len(zero), step):
            self.tick()
            here = zero.vector[first : first + step]
            end = int(np.searchsorted(one.vector[:, 0], below - 1 - price - here[0, 0], side="right"))
            if not end:
                break
            fits = here[:, None, 0] + one.vector[None, :end, 0] <= below - 1 - price
            for r in range(problem.n_constraints):
                fits &= here[:, None, 1 + r] + one.vector[None, :end, 1 + r] <= bound[r]
            i, j = np.nonzero(fits)
            cost = here[i, 0] + one.vector[j, 0] + price
            for place in np.argsort(cost, kind="stable"):
                if cost[place] >= below:
                    break
                if not self._plain:  # thousands may be refused one by one
                    self.tick()
                if offer(*laid(root, zero.code[first + i[place]], one.code[j[place]])):
                    below = int(cost[place])
        return below

    def _join_one(self, root, zero: Options, one: Options, below: int, bound, offer) -> int:
        """Join lists under one constraint: the cheapest subtree that leaves enough of it, by prefix minima over the
        amounts used."""
        use = [part.vector[:, 1] if len(bound) else np.zeros(len(part)) for part in (zero, one)]
        order = np.lexsort((one.vector[:, 0], use[1]))
        cost, sorted_use = one.vector[order, 0], use[1][order]
        least = np.minimum.accumulate(cost)
        left = (bound[0] if len(bound) else 0.0) - use[0]
        end = np.searchsorted(sorted_use, left, side="right")
        total = (
            np.where(end > 0, zero.vector[:, 0] + least[np.maximum(end - 1, 0)], np.inf)
            + self.tables.problem.branch_cost
        )
        i = int(total.argmin())
        if not total[i] < below:
            return below
        j = int(order[int(np.flatnonzero(cost[: end[i]] == least[end[i] - 1])[0])])
        if not offer(*laid(root, zero.code[i], one.code[j])):
            raise AssertionError("a tree that keeps all sums was refused")
        return int(total[i])


def _fits(mine: Options, other: Options, most: float, bound: np.ndarray) -> np.ndarray:
    """Return bool (options,): whether cost and sums satisfy the limits with the minimum of the other side."""
    room = np.append(most, bound) - other.vector.min(axis=0)
    return (mine.vector <= room).all(axis=1)


def _stacked(parts: list[Options]) -> Options:
    return Options(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("weight", "vector", "code")))


def _grown(options: Options, depth: int) -> Options:
    """Return leaves, as codes of another depth."""
    return Options(options.weight, options.vector, widened(options.code, 2 ** (depth + 1) - 1))


def laid(root: int, zero: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (split, label) int32 on a heap from 1, of a root and two codes."""
    code = join_codes(root, zero[None], one[None])[0]
    split, label = np.full(len(code) + 1, -1, np.int32), np.full(len(code) + 1, -1, np.int32)
    lay(code, split, label, 1)
    return split, label
