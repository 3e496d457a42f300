"""The cheapest trees of cases, for any multipliers, by sweeps over the roots (RootSweep).

The counts of pairs of splits (count_tensors) give the same trees, but need T^2 sums for each side if there are T
thresholds. Here, one pass over the rows of a side (threshold_kernel), or over their ranks (stump_pairs), gives its
costs for all subsets of columns, and an interval of roots is skipped if its bound is high enough.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from odtc.algorithms.constrained.case_trees import TableTrees
from odtc.algorithms.constrained.close_gap import GapCloser
from odtc.algorithms.constrained.constrained_problem import codes_of, ones_of, only
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights
from odtc.algorithms.constrained.sweeps.threshold_sides import Sides, ThresholdSides, weighed
from odtc.algorithms.constrained.trace_tree import Structure, structure_of

# Search for the cheapest root split at fixed multipliers, by bounds on intervals of each scale.
#
# With x < y on one scale, left(f) the rows with outcome 0 for f and W(S, C) the least weighted cost of a subtree of
# rows S over the columns C, every root f between them has
#
#     W(left(f), C) + W(right(f), C) ≥ W(left(y), C) + W(right(x), C) - Σ over rows between x and y of max_l w_l,
#
# because a tree of left(f) is a tree of left(y) that pays at most max_l w_l for each row added. If a tree may lose rows
# (Sides.falls), it saves at least min_l w_l for each of them, so that also
#
#     W(left(f), C) + W(right(f), C) ≥ W(left(x), C) + W(right(y), C) + Σ over rows between x and y of min_l w_l.
#
# The interval of the least bound is halved by the root in its middle, which is evaluated; an interval whose bound is
# high enough needs none of its roots.


class RootSweep:
    """Some roots of each scale, one after the other.

    Parameters
    ----------
    sides : Sides
        At the multipliers.
    codes : int32 (scales, rows)
        For how many splits of each scale a row has outcome 1.
    weight : float64 (rows, labels)
        The weighted costs of each row.
    places : list of int (roots of the scale,)
        The roots of each scale to sweep, by their position on it, in order.
    among : list of int (some subsets,)
        The subsets of columns over which the roots of each scale have trees.
    """

    def __init__(
        self,
        sides: Sides,
        codes: np.ndarray,
        weight: np.ndarray,
        places: list[np.ndarray],
        among: list[np.ndarray],
    ):
        self.sides, self.places = sides, places
        self._codes, self._ends = codes, (weight.min(axis=1), weight.max(axis=1))
        self._upto = {j: self._sums(j) for j, mine in enumerate(places) if len(mine)}
        whole = [self._half(j, -1, len(places[j]), among[j], np.inf) for j in self._upto]
        self._heap: list[tuple[float, int, int, int, np.ndarray]] = [one for one in whole if one is not None]
        heapq.heapify(self._heap)

    @property
    def least(self) -> float:
        """A lower bound on the cost of all roots that were not evaluated; infinite if there is none left."""
        return self._heap[0][0] if self._heap else np.inf

    def step(self, limit: float = np.inf) -> tuple[int, int, np.ndarray, np.ndarray]:
        """Evaluate the root in the middle of the interval with the least bound.

        Parameters
        ----------
        limit : float
            Subsets of columns for which no tree of an interval has a smaller weighted cost are ignored inside the
            interval.

        Returns
        -------
        scale, place : int
            The root.
        among : int (some subsets,)
            The subsets of columns for which some tree may have a weighted cost below the limit.
        value : float64 (some subsets,)
            The least weighted cost of a tree with it over each of these.
        """
        _, j, a, b, among = self._heap[0]
        middle = (a + b) // 2
        f = int(self.places[j][middle])
        value = self.sides.apart(j, f, f, among)
        each = self._half(j, a, middle, among, limit), self._half(j, middle, b, among, limit)
        halves = [half for half in each if half is not None]
        heapq.heappop(self._heap)  # now that nothing can stop this step
        for half in halves:
            heapq.heappush(self._heap, half)
        return j, f, among, value

    def rest(self) -> Iterator[tuple[int, np.ndarray, float]]:
        """Yield the roots that were not evaluated: (scale, int (roots,) positions, bound of all of them)."""
        for bound, j, a, b, _ in self._heap:
            yield j, self.places[j][a + 1 : b], bound

    def _sums(self, j: int) -> np.ndarray:
        """Return float64 (codes of a scale + 1, 2): the sums of the least and of the greatest costs of the rows with
        codes below each."""
        each = [np.bincount(self._codes[j], end, len(self.sides.splits[j]) + 1) for end in self._ends]
        return np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0))).T

    def _half(
        self, j: int, a: int, b: int, among: np.ndarray, limit: float
    ) -> tuple[float, int, int, int, np.ndarray] | None:
        """Return the roots strictly between two roots of `places`, with their bound over the subsets `among`, and the
        subsets whose bound is below the limit; None if no root is between the two. Position -1 is before all roots,
        and their number is behind all."""
        if b - a < 2:
            return None
        mine = self.places[j]
        x = int(mine[a]) if a >= 0 else -1
        y = int(mine[b]) if b < len(mine) else len(self.sides.splits[j])
        least, greatest = self._upto[j][y + 1] - self._upto[j][x + 1]  # of the rows with codes x + 1 .. y
        bound = self.sides.apart(j, y, x, among) - greatest
        if self.sides.falls and a >= 0 and b < len(mine):  # all four sides are known
            bound = np.maximum(bound, self.sides.apart(j, x, y, among) + least)
        return float(bound.min(initial=np.inf)), j, a, b, among[bound < limit]


class SweptTrees:
    """The trees of the cases of a search, as CaseTrees (case_trees): of depth 3 and two labels.

    Parameters
    ----------
    search : ConstrainedSearch
    scale : int (splits,)
        Of its sorted splits: those with the same number are nested.
    """

    def __init__(self, search: ConstrainedSearch, scale: np.ndarray):
        self.search, self.problem = search, search.problem
        order = np.lexsort((-ones_of(self.problem.X), scale))
        self.splits = np.split(order, np.flatnonzero(np.diff(scale[order])) + 1)
        self.codes = np.ascontiguousarray([codes_of(self.problem.X, mine) for mine in self.splits], np.int32)
        self.cell = {int(split): (j, f) for j, mine in enumerate(self.splits) for f, split in enumerate(mine)}
        self._last: tuple[bytes, Any, np.ndarray] | None = None
        self._begun: tuple[tuple, RootSweep, dict[int, np.ndarray]] | None = None  # a sweep that was stopped
        self._closed: dict[int, tuple[TableTrees, np.ndarray]] = {}

    def values(
        self, weights: Weights, cases: dict[int, np.ndarray], most: float, tell: Callable[[float], None]
    ) -> dict[int, np.ndarray]:
        """Return the least weighted costs of cases; as for CaseTrees."""
        limit = most if most > -np.inf else np.inf
        subsets = np.concatenate([np.zeros(0, int), *cases.values()])
        key = weights.multipliers.tobytes(), limit < np.inf, *cases, subsets.tobytes()
        if self._begun is None or self._begun[0] != key:
            self._begun = key, self._sweep(weights, cases), {}
        _, sweep, found = self._begun
        least = min((float(value.min()) for value in found.values()), default=np.inf)
        while sweep.least < most or (most == -np.inf and sweep.least <= least and np.isfinite(sweep.least)):
            tell(min(least, sweep.least))
            j, f, some, value = sweep.step(limit)
            root = int(self.splits[j][f])
            at = np.searchsorted(some, cases[root])
            met = np.flatnonzero(some[np.minimum(at, len(some) - 1)] == cases[root]) if len(some) else at[:0]
            found[root] = np.full(len(at), limit)
            found[root][met] = value[at[met]]
            least = min(least, float(found[root].min()))
        self._begun = None
        for j, left, bound in sweep.rest():
            for root in self.splits[j][left].tolist():
                found[root] = np.full(len(cases[root]), min(bound, limit))
        return found

    def _sweep(self, weights: Weights, cases: dict[int, np.ndarray]) -> RootSweep:
        """Return the sweep over the roots of some cases."""
        places = [[] for _ in self.splits]
        inside = np.zeros((len(self.splits), len(self.problem.subsets)), bool)
        for root, subsets in cases.items():
            j, f = self.cell[root]
            places[j].append(f)
            inside[j, subsets] = True
        sides, weight = self.sides(weights.multipliers)
        among = [np.flatnonzero(mine) for mine in inside]
        return RootSweep(sides, self.codes, weight, [np.sort(np.array(mine, int)) for mine in places], among)

    def trace(self, weights: Weights, root: int, subset: int) -> tuple[Structure | None, float]:
        """Return (the cheapest tree of a case, its weighted cost); as for CaseTrees."""
        sides, (j, f) = self.sides(weights.multipliers)[0], self.cell[root]
        value = float(sides.apart(j, f, f, np.array([subset]))[0])
        if np.isinf(value):
            return None, np.inf
        split = np.full(2 ** (self.problem.depth + 1), -1, np.int32)
        split[1] = root
        for answer in (0, 1):
            rows = np.flatnonzero((self.codes[j] > f) == bool(answer))
            scale, cut = sides.best_split(rows, subset)
            if scale < 0:
                continue
            split[2 + answer] = self.splits[scale][cut]
            ones = self.codes[scale, rows] > cut
            for below, part in enumerate((rows[~ones], rows[ones])):
                scale_below, cut_below = sides.best_stump(part, subset)
                if scale_below >= 0:
                    split[2 * (2 + answer) + below] = self.splits[scale_below][cut_below]
        return structure_of(self.search.counts, split), value

    def closer(
        self, multipliers: np.ndarray, root: int, subset: int, tick: Callable[[], None]
    ) -> tuple[GapCloser, int, np.ndarray]:
        """Return the lists of a case over the splits of its subset; as for CaseTrees."""
        if subset not in self._closed:
            splits = np.flatnonzero(self.problem.subsets[subset][self.problem.column])
            part = Counts(only(self.problem, splits))
            self._closed = {subset: (TableTrees(Pass(part, self.search.scale, self.search.tick)), splits)}
        trees, splits = self._closed[subset]
        here = int(np.searchsorted(splits, root))
        return trees.closer(multipliers, here, 0, tick)[0], here, splits

    def sides(self, multipliers: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return (the sides at some multipliers, float64 (rows, labels) the weighted costs of the rows)."""
        key = multipliers.tobytes()
        if self._last is None or self._last[0] != key:
            weight, price = weighed(self.problem, self.search.scale, multipliers)
            self._last = key, self.sides_at(weight, multipliers, price), weight
        return self._last[1:]

    def sides_at(self, weight: np.ndarray, multipliers: np.ndarray, price: float) -> ThresholdSides:
        """Return the sides for the weighted costs of rows with labels, float64 (rows, labels), and of a branch node."""
        return ThresholdSides(self.problem, self.codes, self.splits, weight, multipliers, price)
