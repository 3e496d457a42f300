"""A lower bound under constraints by a search without them: multipliers add the uses of the constraints to row costs.

At multipliers m ≥ 0, in units of 1 / D, every tree with Σ uses_r ≤ bound_r for all r has

    D · cost ≥ D · cost + m · (uses - bound) = Σ of w[row, label] + Σ over branch nodes, leaves - m · bound,
    w = D · cost + Σ_r m_r uses_r.

The minimum of the right-hand side over all trees of the depth is a problem of costs w without constraints. Its search
(odtc.algorithms.thresholds.rank_search) has a bound at every moment, over any number of thresholds, so that a bound is
available long before a search of all cases (odtc.algorithms.constrained) has processed each. Numbers are integers; if
the search rounds them, the largest possible effect of rounding is subtracted.
"""

import time
from collections.abc import Callable

import numpy as np

from odtc.algorithms.bins.bin_bound import BinBound
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, fixed_point, in_fixed_point
from odtc.algorithms.constrained.sweeps.threshold_sides import weighed
from odtc.algorithms.thresholds.early_bound import EarlyBound
from odtc.algorithms.thresholds.rank_search import NONE, RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows
from odtc.base import deadline
from odtc.data.threshold_scales import Scales
from odtc.formulations.dpflow.floors.splits_of_tree import SplitsOfTree
from odtc.formulations.dpflow.searched import REPORT_SECONDS
from odtc.formulations.dpflow.threshold_search import bound_first
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.problem.constraints.search_terms import SearchProblem
from odtc.trees.heap_tree import HeapTree

A_MOMENT = 0.04  # fraction of the remaining time for the bound at one choice of multipliers
WORSE = 2  # after this many choices in a row that prove less, no more are tried
DIGITS = 4  # number of significant bits of a rounded multiplier
SMALLEST = 2.0**-7  # smallest factor by which the given multipliers are reduced


class Priced:
    """The problem of costs at some multipliers.

    Parameters
    ----------
    posed : SearchProblem
    multipliers : float64 (constraints,)
        For each sum, in costs for one use; any that are not negative give a bound, good ones a high one.
    among : int (some scales,) or None
        The ordered features that a tree may use; None for all.
    scales : Scales or None
        Those of the encoded rows, if they are known.
    """

    def __init__(
        self,
        posed: SearchProblem,
        multipliers: np.ndarray,
        among: np.ndarray | None = None,
        scales: Scales | None = None,
    ):
        arrays = self.arrays = posed.arrays
        self.posed, (self.scale, largest) = posed, fixed_point(arrays)
        m = in_fixed_point(multipliers, self.scale, largest)
        weight, price = weighed(arrays, self.scale, m)
        self.splits = RankedSplits(posed.encoded, max(0.0, price), 1, weight, among=among, scales=scales)
        self._beside = _of_nodes(arrays, m, price) - float(m @ arrays.bound) - _rounded(self.splits.ranked, weight)

    def floor(self, lower: int) -> float:
        """Return a lower bound on the objective under the constraints, if no tree costs less than `lower` in units of
        a search."""
        value = self.splits.ranked.cost(lower) + self._beside
        return max(0.0, float(np.ceil(value / self.scale - 1e-9))) * self.posed.unit

    def need(self, upper: float) -> int:
        """Return the least cost of trees, in units of a search, that makes `upper` a lower bound on the objective
        under the constraints; NONE if `upper` is infinite."""
        if np.isinf(upper):
            return NONE
        ranked, paid = self.splits.ranked, np.ceil(upper / self.posed.unit - 1e-6)
        return max(0, int(np.ceil((paid * self.scale - self._beside - ranked.floor) / ranked.unit)))


class BoundByBins:
    """Lower bound on the objective, by few cuts of each column (odtc.algorithms.bins.bin_bound) at some multipliers;
    another run continues where the time ended.

    Parameters
    ----------
    posed : SearchProblem
        Of depth 3 or more.
    multipliers : float64 (constraints,)
        As in Priced.

    Attributes
    ----------
    floor : float
    tree : None
        It finds no tree.
    """

    tree: HeapTree | None = None

    def __init__(self, posed: SearchProblem, multipliers: np.ndarray):
        self.floor, self._posed, self._multipliers = 0.0, posed, multipliers
        self._made: tuple[Priced, BinBound] | None = None

    def run(self, tell: Callable[[float], None], upper: float) -> float:
        """Return the bound, raised until the deadline of this context.

        Parameters
        ----------
        tell : callable
            Called with the bounds as they rise.
        upper : float
            The objective of a tree that satisfies the constraints: no higher bound is sought.
        """
        with deadline.cut_short():
            if self._made is None:
                self._made = self._at_the_best_prices(tell)
            self._raise(*self._made, tell, upper, lambda: deadline.time_share(np.inf))
        return self.floor

    def _at_the_best_prices(self, tell) -> tuple[Priced, BinBound]:
        """Choose among the given multipliers, half of them, a quarter, and so on: the choice that proves the highest
        bound in a moment. The given ones may be far too high, because a search over few splits raises them as far as
        possible if no tree over these splits satisfies the constraints."""
        best, most, worse, factor = None, -1.0, 0, 1.0
        while worse < WORSE and factor >= SMALLEST:
            began = time.monotonic()
            priced = Priced(self._posed, factor * self._multipliers)
            bins = BinBound(priced.splits.ranked, self._posed.arrays.depth, deadline.check)
            moment, made = deadline.time_share(np.inf, A_MOMENT), time.monotonic()
            end = made + moment
            self._raise(priced, bins, tell, np.inf, lambda end=end: max(0.0, end - time.monotonic()))
            if (found := priced.floor(bins.lower)) > most:
                best, most, worse = (priced, bins), found, 0
            else:
                worse += 1
            factor /= 2
            if not bins.parts or made - began > moment:  # the table is too large for repeated tries
                break
        return best

    def _raise(self, priced: Priced, bins: BinBound, tell, upper: float, left: Callable[[], float]) -> None:
        def seconds() -> float:
            if (floor := priced.floor(bins.lower)) > self.floor:
                self.floor = floor
                tell(floor)
            return left() if self.floor < upper else 0.0

        bins.raise_in(seconds, NONE)
        seconds()


class BoundBySearch:
    """Lower bound on the objective, by a search over all thresholds at some multipliers; another run continues where
    the time ended.

    Parameters
    ----------
    posed : SearchProblem
    multipliers, among, scales
        As in Priced.

    Attributes
    ----------
    floor : float
    ended : bool
        Whether the bound is final, or as high as the last run required.
    """

    def __init__(
        self,
        posed: SearchProblem,
        multipliers: np.ndarray,
        among: np.ndarray | None = None,
        scales: Scales | None = None,
    ):
        self.floor, self.ended, self._posed, self._multipliers = 0.0, False, posed, multipliers
        self._among, self._scales = among, scales
        self._made: tuple[Priced, RankSearch, EarlyBound] | None = None
        self._tell: Callable[[float], None] = lambda floor: None
        self._told = -np.inf

    def run(self, tell: Callable[[float], None], upper: float) -> float:
        """Return the bound, raised until the deadline of this context; `tell` and `upper` are as in BoundByBins."""
        self._tell, self.ended = tell, False
        with deadline.cut_short():
            if self._made is None:
                self._made = self._begun()
            depth, (priced, search, early) = self._posed.arrays.depth, self._made
            early.need = need = priced.need(upper)
            if self._among is not None:  # few columns, so each goal is soon reached
                search.bound(depth, need)
            else:
                bound_first(search, early, depth, need)
            self.ended = True
        self._say()
        return self.floor

    @property
    def tree(self) -> HeapTree | None:
        """Return the best tree over the splits of the cheapest tree so far; None if no such tree satisfies the
        constraints."""
        if (split := self.split) is None or not (split >= 0).any():
            return None
        found = SplitsOfTree(self._posed.arrays, split).in_any_order()
        return None if found is None else self._posed.tree(*found[0])

    @property
    def split(self) -> np.ndarray | None:
        """Return int32 (2^(depth + 1),): the splits of the cheapest tree so far; None if there is no tree yet."""
        if self._made is None:
            return None
        priced, search, _ = self._made
        heap = priced.splits.split_heap(search.tree(self._posed.arrays.depth), self._posed.problem.topology)
        return heap[: 2 ** (self._posed.arrays.depth + 1)]

    def _begun(self) -> tuple[Priced, RankSearch, EarlyBound]:
        priced = Priced(self._posed, self._multipliers, self._among, self._scales)
        ranked = priced.splits.ranked
        search = RankSearch(ranked, self._look)
        return priced, search, EarlyBound(search, self._posed.arrays.depth, NONE)

    def _look(self) -> None:
        deadline.check()
        if time.monotonic() > self._told + REPORT_SECONDS:
            self._say()

    def _say(self) -> None:
        self._told = time.monotonic()
        if self._made is None:
            return
        priced, search, _ = self._made
        if (floor := priced.floor(search.lower(self._posed.arrays.depth))) > self.floor:
            self.floor = floor
            self._tell(floor)


def of_few_digits(multipliers: np.ndarray) -> np.ndarray:
    """Return float64: the given multipliers, float64, rounded to DIGITS significant bits. Weighted costs are then
    multiples of a unit that is not too small, so their sums fit into 32 bits, which takes half the memory."""
    fraction, exponent = np.frexp(multipliers)
    return np.ldexp(np.rint(np.ldexp(fraction, DIGITS)), exponent - DIGITS)


def priced_bound(posed: SearchProblem, multipliers: np.ndarray) -> tuple[HeapTree | None, float]:
    """Return a tree that satisfies the constraints and a lower bound on the objective, by the deadline of this
    context.

    Parameters
    ----------
    posed : SearchProblem
    multipliers : float64 (constraints,)
        For each sum, in costs for one use; any that are not negative give a bound, good ones a high one.

    Returns
    -------
    heap : HeapTree or None
        The best tree over the splits of the cheapest tree at these multipliers; None if no such tree satisfies the
        constraints.
    floor : float
    """
    search = BoundBySearch(posed, multipliers)
    floor = search.run(lambda floor: None, np.inf)
    return search.tree, floor


def _rounded(ranked: RankedRows, weight: np.ndarray) -> float:
    """Return the largest effect over all rows of the search's rounding of weights, float64 (rows, labels)."""
    units = (weight - weight.min(axis=1, keepdims=True)) / ranked.unit
    return 0.0 if np.array_equal(units, np.rint(units)) else ranked.unit * (len(weight) + 1)


def _of_nodes(arrays: ConstrainedProblem, m: np.ndarray, price: float) -> float:
    """Return a lower bound on the weighted uses of leaves, without their rows, and of branch nodes that gain."""
    leaf = float((m @ arrays.leaf_uses).min(initial=0.0)) if len(m) else 0.0
    return 2**arrays.depth * min(0.0, leaf) + (2**arrays.depth - 1) * min(0.0, price)
