"""The constrained search at depth 2 over very many ordered splits: a root and two stumps, by sums over ranks.

With V a table of the costs, uses and measures of each row by label, the sums of V over the rows of a side with outcome
1 for a split are suffix sums over the positions of the rows on the scale of the split: one pass over rows and scales
gives the two leaves of all stumps. No count of pairs of splits is stored, so thousands of thresholds, any number of
labels, conditions on leaves and on the positions of splits are supported.

Roots are swept by intervals as in all_thresholds (a stump's leaf gains at most max_l w_l for each row added, and
conditions on leaves that more rows could violate are left out of that bound). Each remaining root is settled by
separate multipliers (Kelley's cuts), then by joining lists of stumps (close_gap).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from odtc.algorithms.constrained.all_thresholds import CoarseSearch, ThresholdSearch
from odtc.algorithms.constrained.close_gap import GapCloser
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.lagrangian_pass import Weights
from odtc.algorithms.constrained.subtree_options import Options, shallow
from odtc.algorithms.constrained.sweeps.stump_kernels import stump_costs, sums_of_ones
from odtc.algorithms.constrained.sweeps.swept_trees import SweptTrees
from odtc.algorithms.constrained.sweeps.threshold_sides import Side, Sides
from odtc.algorithms.constrained.trace_tree import Structure, structure_of

MOST_CELLS = 50_000_000  # maximum of scales times rows

Sums = tuple[np.ndarray, np.ndarray]  # over the rows of a side: float64 (lines,), and (lines, splits) with outcome 1


def takes_stumps(problem: ConstrainedProblem, scale: np.ndarray) -> bool:
    """Return whether this search supports a problem with these scales, int (splits,)."""
    if problem.depth != 2 or (scale.max(initial=0) + 1) * len(problem.X) > MOST_CELLS:
        return False
    of = np.zeros(int(scale.max(initial=0)) + 1, problem.column.dtype)
    of[scale] = problem.column
    return bool((of[scale] == problem.column).all())  # the splits of a scale are on one column


class StumpSearch(ThresholdSearch):
    """Search over roots with two stumps. The parameters are the same as for CoarseSearch; `takes_stumps` returns true
    for the problem."""

    def _made(self, splits: np.ndarray, every: bool = False) -> ConstrainedSearch:
        return CoarseSearch._made(self, splits)

    @property
    def trees(self) -> type[SweptTrees]:
        """The class of the trees that sweeps find."""
        return StumpTrees


class RankSums:
    """Sums over the rows of a side below every split.

    Parameters
    ----------
    problem : ConstrainedProblem
    codes : int32 (scales, rows)
        A row has outcome 1 for the first `code` splits of a scale.
    splits : list of int (splits of the scale,)
    """

    def __init__(self, problem: ConstrainedProblem, codes: np.ndarray, splits: list[np.ndarray]):
        self.problem, self.codes, self.splits = problem, codes, splits
        self.flat = np.concatenate(splits)  # splits scale by scale
        self.first = np.cumsum([0, *map(len, splits)])  # where each scale begins among them, and the number of all
        # The rows with outcome 1 for some split of each scale, in the order of their codes. Rows of nominal columns
        # have few.
        rows = [np.argsort(-code, kind="stable")[: np.count_nonzero(code)] for code in codes]
        begin = np.cumsum([0, *map(len, rows)])
        each = [
            at + np.searchsorted(-code[some], -np.arange(len(mine)))  # the rows whose code is above the split's place
            for code, mine, some, at in zip(codes, splits, rows, begin)
        ]
        self._entries = np.concatenate(rows).astype(np.int32), np.concatenate(each), self.first
        self.table = np.concatenate(
            [problem.cost.T[None], problem.uses.transpose(0, 2, 1)] if problem.n_constraints else [problem.cost.T[None]]
        ).astype(float)  # (1 + constraints, labels, rows)

    def ones(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return float64 (lines, splits in the order of `flat`): the sums of values (lines, rows of the side) over the
        rows with outcome 1."""
        every = np.zeros((len(values), self.codes.shape[1]))
        every[:, rows] = values
        return sums_of_ones(*self._entries, every)


def leaf_vectors(problem: ConstrainedProblem, sums: np.ndarray) -> np.ndarray:
    """Return float64 (1 + constraints, labels, leaves): the cost of each leaf, inf if it is not allowed, and its uses,
    of the sums, float64 ((1 + constraints) · labels + conditions, leaves), over its rows."""
    K, R = problem.n_labels, problem.n_constraints
    found = sums[: (1 + R) * K].reshape(1 + R, K, -1).copy()
    found[1:] += problem.leaf_uses[:, :, None]
    for line, least in zip(sums[(1 + R) * K :], problem.least):
        found[0][line[None, :] < least[:, None]] = np.inf
    return found


class StumpSides(Sides):
    """W of the two outcomes of roots by sums over ranks."""

    def __init__(self, sums: RankSums, weight: np.ndarray, m: np.ndarray, price: float):
        problem = sums.problem
        self.held = np.flatnonzero((problem.measures >= 0).all(axis=1))
        leaf = m.astype(float) @ problem.leaf_uses if len(m) else np.zeros(problem.n_labels)
        super().__init__(sums.splits, price, leaf, len(self.held) > 0)
        self.sums, self.weight, self.least = sums, weight, problem.least[self.held].astype(float)
        self._last: tuple[tuple[int, int], Sums] | None = None  # a root, and the sums of its outcome 1
        self.column = np.array([problem.column[mine[0]] for mine in sums.splits], np.int64)
        self.allowed = problem.allowed[1][sums.flat]

    def _made(self, j: int, f: int, answer: int, among: np.ndarray) -> Any:
        return Side(self._least(*self._leaf_and_stumps(j, f, answer)), 0.0)

    def _leaf_and_stumps(self, j: int, f: int, answer: int) -> tuple[float, np.ndarray]:
        """Return (the best leaf, float64 (splits,) the two best leaves below each split) of an outcome of a root."""
        (total, ones), K = self._sums(j, f, answer), self.sums.problem.n_labels
        stump = stump_costs(ones, total, np.ones(1), self.leaf, self.least, self.price)
        stump[~self.allowed] = np.inf
        may = (total[K:, None] >= self.least).all(axis=0)
        return float(np.where(may, total[:K] + self.leaf, np.inf).min()), stump

    def _sums(self, j: int, f: int, answer: int) -> Sums:
        """Return the sums of an outcome of a root: those of its two outcomes together are the sums of all rows."""
        if j < 0:
            return self.every
        if self._last is None or self._last[0] != (j, f):
            self._last = (j, f), self._of_rows(np.flatnonzero(self.sums.codes[j] > f))
        total, ones = self._last[1]
        return (total, ones) if answer else (self.every[0] - total, self.every[1] - ones)

    @cached_property
    def every(self) -> Sums:
        """The sums over all rows."""
        return self._of_rows(np.arange(self.sums.codes.shape[1]))

    def _of_rows(self, rows: np.ndarray) -> Sums:
        measures = self.sums.problem.measures[self.held][:, rows].astype(float)
        values = np.concatenate([self.weight[rows].T, measures])
        return values.sum(axis=1), self.sums.ones(rows, values)

    def _least(self, alone: float, stump: np.ndarray) -> np.ndarray:
        """Return float64 (subsets,)."""
        return np.minimum(self.over(stump), alone)

    def over(self, stump: np.ndarray) -> np.ndarray:
        """Return float64 (subsets,): the least value of the splits, float64 (splits,), over each subset."""
        subsets = self.sums.problem.subsets
        each = np.full(subsets.shape[1], np.inf)
        np.minimum.at(each, self.column, np.minimum.reduceat(stump, self.sums.first[:-1]))
        return np.where(subsets, each, np.inf).min(axis=1)


class StumpTrees(SweptTrees):
    """The trees of the cases of a search of depth 2; the parameters are the same as for SweptTrees."""

    def __init__(self, search: ConstrainedSearch, scale: np.ndarray):
        super().__init__(search, scale)
        self.sums = RankSums(self.problem, self.codes, self.splits)
        self._lists: tuple[int, int, StumpCloser] | None = None

    def sides_at(self, weight: np.ndarray, multipliers: np.ndarray, price: float) -> Sides:
        """Return the sides for weighted costs; as for SweptTrees."""
        return StumpSides(self.sums, weight, multipliers, price)

    def trace(self, weights: Weights, root: int, subset: int) -> tuple[Structure | None, float]:
        """Return (the cheapest tree of a case, its weighted cost); as for CaseTrees."""
        value, below = self._of(root, subset).best(weights.multipliers)
        if np.isinf(value):
            return None, np.inf
        split = np.full(8, -1, np.int32)
        split[1:4] = root, *below
        return structure_of(self.search.counts, split), value

    def closer(
        self, multipliers: np.ndarray, root: int, subset: int, tick: Callable[[], None]
    ) -> tuple[GapCloser, int, np.ndarray]:
        """Return the lists of a case; as for CaseTrees."""
        found = self._of(root, subset)
        found.multipliers, found.tick = multipliers, tick
        return found, root, np.arange(len(self.problem.column))

    @property
    def lists(self) -> "type[StumpCloser]":
        """The class that lists and joins the trees of a case."""
        return StumpCloser

    def _of(self, root: int, subset: int) -> "StumpCloser":
        """Return the lists of a case, of which the last ones are kept."""
        if self._lists is None or self._lists[:2] != (root, subset):
            inside = self.problem.subsets[subset][self.problem.column]
            self._lists = root, subset, self.lists(self.sums, self.search, root, inside)
        return self._lists[2]


class StumpCloser(GapCloser):
    """Lists and joins for one root: leaves and stumps on either side.

    Parameters
    ----------
    sums : RankSums
    search : ConstrainedSearch
    root : int
    inside : bool (splits,)
        The splits of the subset of columns.
    """

    def __init__(self, sums: RankSums, search: ConstrainedSearch, root: int, inside: np.ndarray):
        problem = sums.problem
        self.tables, self.tick, self.sums, self.scale = search.tables, search.tick, sums, search.scale
        self.multipliers = np.zeros(problem.n_constraints, np.int64)
        self.distinct = bool((problem.branch_uses >= 0).all() and (problem.leaf_uses >= 0).all())
        may = inside & problem.allowed[1]
        if problem.below is not None:
            may = may & problem.below[root]
        self.kept = np.flatnonzero(may[sums.flat])
        one = problem.X[:, root]
        K, R = problem.n_labels, problem.n_constraints
        self.least = problem.least.astype(float)
        self.sides = []  # of each: the sums over all its rows, and over the rows with outcome 1 for each split
        for rows in (np.flatnonzero(~one), np.flatnonzero(one)):
            values = np.concatenate([sums.table[:, :, rows].reshape((1 + R) * K, -1), problem.measures[:, rows]])
            ones = sums.ones(rows, values)
            self.sides.append((values.sum(axis=1), ones if may.all() else ones[:, self.kept]))

    def _weigh(self, m: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return (the factor of each line of a vector, the weighted cost of a branch node, the budget)."""
        problem = self.tables.problem
        price = float(self.scale * problem.branch_cost + m @ problem.branch_uses)
        return np.append(float(self.scale), m.astype(float)), price, float(m @ problem.bound)

    def best(self, m: np.ndarray) -> tuple[float, list[int]]:
        """Return (weighted cost, the splits below the two outcomes of the root, -1 for a leaf) of the best tree at
        multipliers m, int64 (constraints,)."""
        factor, price, _ = self._weigh(m)
        sides = [self._cheapest(side, factor, price) for side in self.sides]
        return price + sum(value for value, _ in sides), [split for _, split in sides]

    def _alone(self, side: Sums, factor: np.ndarray) -> np.ndarray:
        """Return float64 (labels,): the weighted costs of a leaf for all rows of a side."""
        return np.tensordot(factor, leaf_vectors(self.tables.problem, side[0][:, None]), 1)[:, 0]

    def _stumps(self, side: Sums, factor: np.ndarray, price: float) -> np.ndarray:
        """Return float64 (kept splits,): the least weighted cost of a stump with each split on a side."""
        total, ones = side
        return stump_costs(ones, total, factor, factor[1:] @ self.tables.problem.leaf_uses, self.least, price)

    def _cheapest(self, side: Sums, factor: np.ndarray, price: float) -> tuple[float, int]:
        """Return (weighted cost, split or -1) of the best leaf or stump of a side."""
        best = float(self._alone(side, factor).min()), -1
        if len(self.kept):
            each = self._stumps(side, factor, price)
            h = int(each.argmin())
            if each[h] < best[0]:
                best = float(each[h]), int(self.sums.flat[self.kept[h]])
        return best

    def _lists(self, root: int, below: int) -> list[Options] | None:
        factor, price, budget = self._weigh(self.multipliers)
        limit = self.scale * (below - 1) + budget - price
        least = [self._cheapest(side, factor, price)[0] for side in self.sides]
        if not least[0] + least[1] <= limit:
            return None
        return [self._listed(self.sides[t], factor, price, limit - least[1 - t]) for t in (0, 1)]

    def _listed(self, side: Sums, factor: np.ndarray, price: float, limit: float) -> Options:
        """Return all leaves and stumps of a side up to a weighted cost."""
        total, ones = side
        some = np.flatnonzero(self._stumps(side, factor, price) <= limit)
        ones = ones[:, some]
        sums = total[:, None], total[:, None] - ones, ones
        vectors = [leaf_vectors(self.tables.problem, one) for one in sums]
        leaf, zero, one = ((np.tensordot(factor, part, 1), part.transpose(1, 2, 0)) for part in vectors)
        splits = self.sums.flat[self.kept[some]]
        found = shallow(leaf, (zero, one), splits, price, self._node, limit, self.distinct)
        return self.thinned(found)
