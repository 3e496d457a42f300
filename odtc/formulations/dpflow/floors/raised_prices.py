"""A lower bound under constraints by searches at improving multipliers, one for each subset of columns of a tree.

If a constraint limits the number of distinct columns, there is one problem for each subset of that size. Few columns
have few distinct rows, so a search at multipliers (odtc.formulations.dpflow.floors.priced) ends soon even with all
their thresholds at depth 4. Without such a limit, the only subset is the set of all columns. The minimum of the bounds
of all subsets is a bound for all trees. So the subset with the smallest bound is always next: its bound is raised to a
fraction of the cost of the known tree, at first a small one. A search at the same multipliers continues where it
stopped. Before that, one search over all columns without multipliers gives a first bound, because searching each of
many subsets takes longer.

A search that ends below this goal gives the cheapest tree at its multipliers. The cost and the uses of this tree give a
cut (odtc.algorithms.constrained.multipliers), and the next search is at the multipliers that maximise the minimum of
all cuts of the subset. So the bound rises to the best one that multipliers can prove. The trees found on the way, with
labels chosen again, are often good. If no multipliers promise a higher bound and there are several subsets, the subset
is searched under the constraints themselves (odtc.algorithms.constrained.engines), which is fast over few columns.
"""

from collections.abc import Callable
from heapq import heapify, heapreplace

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    TooLarge,
    cost_of,
    fixed_point,
    in_fixed_point,
    named,
    only,
    uses_of,
)
from odtc.algorithms.constrained.constrained_search import Settled
from odtc.algorithms.constrained.engines import DEEP, Engine, engine_of
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.base import deadline
from odtc.data.threshold_scales import Scales
from odtc.formulations.dpflow.floors.priced import BoundBySearch, of_few_digits
from odtc.formulations.dpflow.floors.splits_of_tree import SplitsOfTree
from odtc.problem.constraints.search_terms import SearchProblem
from odtc.trees.heap_tree import HeapTree

# Goals for the bounds of many subsets, as fractions of the cost of the known tree. The bound of all trees rises only
# once every subset has reached a goal, so goals are close to each other where each takes long. Up to depth DEEP, 1.0 is
# the only goal.
PARTS = 0.5, 0.8, 0.85, 0.9, 0.95, 1.0
GROWS = 2.0  # if no tree is known, the next goal for a subset is this multiple of its bound
WHOLE = 0.05  # fraction of the time for a first bound over all columns together; only at depths above DEEP


class Subset:
    """A subset of columns, and the bound of its trees.

    Parameters
    ----------
    scales : int (some scales,) or None
        The ordered features of these columns; None for all.
    splits : int (some splits,)
        The splits on these columns.
    cuts : Cuts
        Of its own trees, none yet.

    Attributes
    ----------
    floor : float
        A lower bound on the objective of every tree over these columns that satisfies the constraints and is better
        than the best known tree.
    multipliers : float64 (constraints,) or None
        The multipliers of the current search, or of the next one; None if no multipliers promise a higher bound.
    """

    def __init__(self, scales: np.ndarray | None, splits: np.ndarray, cuts: Cuts):
        self.scales, self.splits, self.cuts, self.floor = scales, splits, cuts, 0.0
        self.multipliers: np.ndarray | None = None
        self.search: BoundBySearch | None = None
        self.closed: Engine | None = None  # the search that has settled it under the constraints
        self.tried: set[bytes] = set()


class BoundByRaisedPrices:
    """Lower bound on the objective, and a tree; another run continues where the time ended.

    Parameters
    ----------
    posed : SearchProblem
    multipliers : float64 (constraints,)
        To begin with, for each sum, in costs for one use.
    known : HeapTree or None
        A tree that satisfies the constraints.

    Attributes
    ----------
    floor : float
    tree : HeapTree or None
        The best tree found that satisfies the constraints.
    """

    def __init__(self, posed: SearchProblem, multipliers: np.ndarray, known: HeapTree | None = None):
        self.floor, self.tree, self._posed = 0.0, None, posed
        arrays = posed.arrays
        self._upper = arrays.most_cost + 1
        self._first = of_few_digits(multipliers)  # first multipliers of a subset without a search
        scale, largest = fixed_point(arrays)
        self._largest = largest / scale
        self._scales = Scales.of(posed.encoded)
        self._known: list[tuple[int, np.ndarray]] = []  # the cut of the known tree
        if known is not None and (heaps := posed.heaps(known)) is not None:
            self._known.append(self._cut(*heaps))
            self._upper = self._known[0][0]
        self._whole = Subset(None, np.arange(len(arrays.column)), Cuts(self._largest))
        many = len(arrays.subsets) > 1
        self._subsets = list(map(self._within, arrays.subsets)) if many else [self._whole]
        # Of equal bounds, the subset of fewest splits comes first: it is searched soonest.
        self._order = sorted(range(len(self._subsets)), key=lambda number: len(self._subsets[number].splits))

    def run(self, tell: Callable[[float], None], upper: float) -> float:
        """Return the bound, raised until the deadline of this context, until it is `upper` or the objective of the best
        tree found, or until nothing promises more; `tell` is called with the bounds as they rise."""
        if len(self._subsets) > 1 and self._whole.search is None and self._posed.arrays.depth > DEEP:
            self._whole.search = BoundBySearch(self._posed, np.zeros_like(self._first), None, self._scales)
            with deadline.within(deadline.time_share(np.inf, WHOLE)):
                self._whole.floor = self._whole.search.run(lambda floor: self._raise(floor, tell), PARTS[0] * upper)
        queue = [(self._subsets[number].floor, place, number) for place, number in enumerate(self._order)]
        heapify(queue)
        while self.floor < (upper := min(upper, self._upper * self._posed.unit)):
            _, place, number = queue[0]
            one, others = self._subsets[number], min((floor for floor, *_ in queue[1:3]), default=np.inf)

            def told(floor: float, one: Subset = one, others: float = others) -> None:
                one.floor = max(one.floor, floor)
                self._raise(min(one.floor, others), tell)

            goal = self._goal(max(one.floor, self._whole.floor), upper)
            if not (self._step(one, told, goal) or self._close(one)):
                break
            if one.floor >= upper:  # it is not searched again, and thousands of searches would take gigabytes
                one.search = None
            heapreplace(queue, (one.floor, place, number))
            self._raise(queue[0][0], tell)
        return self.floor

    def _goal(self, floor: float, upper: float) -> float:
        """Return the objective to which the bound of a subset, now `floor`, is raised next."""
        if len(self._subsets) == 1 or (self._posed.arrays.depth <= DEEP and np.isfinite(upper)):
            return upper
        if np.isinf(upper):
            return max(GROWS * floor, self._posed.unit)
        return next(part * upper for part in PARTS if part * upper > floor or part == 1)

    def _raise(self, floor: float, tell: Callable[[float], None]) -> None:
        if floor > self.floor:
            self.floor = floor
            tell(floor)

    def _step(self, one: Subset, told: Callable[[float], None], goal: float) -> bool:
        """Raise the bound of a subset to a goal, or to the most that its multipliers prove, and then choose others;
        return False if there are none, or if the time is over."""
        if one.search is None:
            if not one.tried:
                one.multipliers = self._first
            if one.multipliers is None:
                return False
            one.tried.add(one.multipliers.tobytes())
            one.search = BoundBySearch(self._posed, one.multipliers, one.scales, self._scales)
        told(one.search.run(told, goal))
        if one.search.ended and one.floor >= goal:
            if len(one.tried) > 1:  # these multipliers prove more than the first ones
                self._first = one.multipliers
            return True
        with deadline.cut_short():
            self._look(one)
        if not one.search.ended:
            return False
        one.search, one.multipliers = None, self._next(one)
        return True

    def _close(self, one: Subset) -> bool:
        """If there are several subsets, search this one under the constraints for a tree that costs less than the known
        one; return whether its bound has risen."""
        before, unit = one.floor, self._posed.unit
        with deadline.cut_short():
            if len(self._subsets) == 1 or deadline.is_over():
                return False
            try:
                engine = engine_of(only(self._posed.arrays, one.splits), self._posed.scale[one.splits])
            except TooLarge:
                return False
            engine.watch(deadline.is_over, lambda bound, cost: None)
            if self._upper <= self._posed.arrays.most_cost:
                engine.want_below(self._upper)
            found = engine.run()
            if found.split is not None and found.cost < self._upper:
                self.tree = self._posed.tree(named(found.split, one.splits), found.label)
                self._upper = found.cost
            one.floor = max(one.floor, unit * (self._upper if found.infeasible else found.bound))
            one.closed = engine
        return one.floor > before

    def settles(self, floor: float) -> bool:
        """Return whether searches of several subsets have proved a bound."""
        return len(self._subsets) > 1 and self.floor >= floor

    def settled(self) -> Settled:
        """Return the multipliers that have settled each subset; for a root of a closed subset, the multipliers of
        its search."""
        scale, largest = fixed_point(self._posed.arrays)
        own = [
            in_fixed_point(self._first if one.multipliers is None else one.multipliers, scale, largest)
            for one in self._subsets
        ]

        def of(root: int, subset: int) -> np.ndarray | None:
            one = self._subsets[subset]
            known = None if one.closed is None else one.closed.settled()
            at = np.searchsorted(one.splits, root)
            found = None if known is None else known.of(int(at), 0)
            return own[subset] if found is None else in_fixed_point(found / known.scale, scale, largest)

        return Settled(scale, [in_fixed_point(self._first, scale, largest)], of)

    def _within(self, columns: np.ndarray) -> Subset:
        """Return the subset of these columns, bool (columns,), with the ordered features that have a split on some of
        them."""
        inside = columns[self._posed.arrays.column]
        some = np.zeros(self._scales.n, bool)
        some[self._scales.scale[inside]] = True
        return Subset(np.flatnonzero(some), np.flatnonzero(inside), Cuts(self._largest))

    def _next(self, one: Subset) -> np.ndarray | None:
        """Return the most promising multipliers of a subset; None if they promise no more than is proved. The cut of
        the known tree only guides their choice, because the tree may use other columns."""
        own = one.cuts
        if not self._posed.arrays.n_constraints or not own.cost:
            return None
        own.reach(one.floor / self._posed.unit)
        guided = own.among([0])
        for cut in self._known:
            guided.add(*cut)
        for cuts in (guided, own):
            multipliers = of_few_digits(cuts.best()[1])
            if multipliers.tobytes() not in one.tried and own.promises(own.value(multipliers)):
                return multipliers
        return None

    def _look(self, one: Subset) -> None:
        """Add the cut of the cheapest tree of a search, and use the tree if it satisfies the constraints with other
        labels."""
        split, multipliers = one.search.split, one.multipliers
        if split is None:
            return
        tree = SplitsOfTree(self._posed.arrays, split, deadline.check)
        arrays, sums = tree.arrays, np.zeros((len(split), tree.arrays.n_labels))
        np.add.at(sums, tree.leaves, arrays.cost + np.tensordot(multipliers, arrays.uses, 1))
        label = np.where(tree.count.any(axis=1), (sums + multipliers @ arrays.leaf_uses).argmin(axis=1), -1)
        one.cuts.add(*self._cut(split, label))
        if (found := tree.cheapest(self._upper)) is not None:
            self.tree, self._upper = self._posed.tree(*found[0]), found[1]

    def _cut(self, split: np.ndarray, label: np.ndarray) -> tuple[int, np.ndarray]:
        """Return the cost of a tree, and float64 (constraints,): its uses beyond the bounds."""
        arrays = self._posed.arrays
        return cost_of(arrays, split, label), (uses_of(arrays, split, label) - arrays.bound).astype(float)
