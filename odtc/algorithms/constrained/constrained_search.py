"""Search for the cheapest tree under constraints, with a valid lower bound available at every moment.

A case is a root split together with a subset of columns that contains its column. Every multiplier tried gives a lower
bound for a case, and the greatest of them is kept; the minimum over all cases is a lower bound for all trees. The
search starts with cheap steps and ends with exact ones:

    1. multipliers 0 give the unconstrained optimum of every case; then multipliers for all cases at once (Kelley's
    cuts)
    2. relabelling the trees of the best cases gives feasible trees
    3. each remaining case, best first: separate multipliers, then lists of subtrees and their joins (close_gap)

If this finds no feasible tree, the same search with costs of 0 finds one or proves that none exists.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from odtc.algorithms.constrained.case_trees import CaseTrees, TableTrees
from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    cost_of,
    fixed_point,
    in_fixed_point,
    keeps,
    named,
    of_depth,
    padded,
    part_of,
    uses_of,
    with_splits,
)
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.few_splits.subset_trees import DEPTHS, SubsetTrees, takes
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.one_column.interval_trees import IntervalTrees, nested_subsets
from odtc.algorithms.constrained.subtree_options import Options
from odtc.algorithms.constrained.trace_tree import by_weight, feasible
from odtc.base.value_class import value_class
from odtc.errors import TimeLimitReached

ROUNDS = 14  # maximum number of multipliers tried for all cases together, and then for each case
PASSES = 20  # multipliers that settled more than 1 / PASSES of the cases are reported for all cases together
TRACED = 6  # cases whose trees are traced after each pass
LEFT = 0.9  # if at most this fraction of the roots remains, they are bounded again, at separate multipliers


class Stopped(Exception):
    """Raised when the time limit is reached, to end the search."""


@value_class
class Found:
    """The results of a search.

    Attributes
    ----------
    split, label : int32 (2^(depth + 1),) or None
        The cheapest feasible tree found, on a heap with root 1; None if none was found.
    cost : int or None
    bound : int
        A lower bound on the cost of feasible trees.
    infeasible : bool
        Whether it is proved that no tree is feasible.
    open_cases, n_cases : int
        The number of cases that are not settled, and the number of all cases.
    """

    split: np.ndarray | None
    label: np.ndarray | None
    cost: int | None
    bound: int
    infeasible: bool
    open_cases: int
    n_cases: int

    @property
    def proved(self) -> bool:
        return self.infeasible or (self.cost is not None and self.bound >= self.cost)


@dataclass
class Cases:
    """The cases of a search, sorted by root split.

    Attributes
    ----------
    root : int (cases,)
        The root split of each case, in ascending order.
    subsets : int (cases,)
        The subset of columns of each case.
    bound : float64 (cases,)
    multipliers : int (cases,)
        The number of the multipliers that gave the bound.
    listed : bool (cases,)
        Whether all trees of the case were listed, so that none of them costs less than the best known tree.
    told : float64 (cases,)
        A lower bound from another search.
    """

    root: np.ndarray
    subsets: np.ndarray
    bound: np.ndarray
    multipliers: np.ndarray
    listed: np.ndarray
    told: np.ndarray

    @classmethod
    def of(cls, problem: ConstrainedProblem) -> "Cases":
        """Return all cases of a problem, without any bounds."""
        roots, of_column = (
            np.flatnonzero(problem.allowed[:1].any(axis=0)),
            [np.flatnonzero(c) for c in problem.subsets.T],
        )
        subsets = [np.zeros(0, int), *(of_column[c] for c in problem.column[roots])]
        root = np.repeat(roots, [len(mine) for mine in subsets[1:]])
        none = np.full(len(root), -np.inf)
        return cls(root, np.concatenate(subsets), none, np.zeros(len(root), np.int32), none > 0, none.copy())

    def by_root(self, some: np.ndarray) -> dict[int, np.ndarray]:
        """Return {root split: int (subsets,)} of some cases, int (some cases,) rising."""
        roots, first = np.unique(self.root[some], return_index=True)
        return dict(zip(roots.tolist(), np.split(self.subsets[some], first[1:])))

    @property
    def least(self) -> np.ndarray:
        """float64 (cases,): a lower bound on the cost of the trees of each case."""
        return np.maximum(self.bound, self.told)


@value_class
class LiveCase:
    """A case that no multipliers exclude: the number of its root split among the sorted splits, and the subtrees on
    either side that could be part of a tree that costs less than the best one."""

    root: int
    sides: tuple[Options, Options]


@value_class
class Settled:
    """Multipliers by which a search has settled its cases, float64 (constraints,) each, in units of 1 / scale.

    Attributes
    ----------
    scale : int
    passes : list of multipliers
        The multipliers that settled most cases.
    of : Callable[[int, int], multipliers or None]
        Returns the multipliers for a root split and a subset of columns; None if the case has no separate ones.
    """

    scale: int
    passes: list[np.ndarray]
    of: Callable[[int, int], np.ndarray | None]


class ConstrainedSearch:
    """Search whose tree and bound are available at any moment.

    Parameters
    ----------
    problem : ConstrainedProblem
    tick : Callable[[], bool]
        Returns whether the search has to end; called often.
    progress : Callable[[int, int | None], None]
        Called with (bound, cost of the cheapest feasible tree) when one of them has changed.
    counts : Counts
        Of the same rows and splits, if they were made already.
    fixed : (int, int64 (constraints,)) or None
        The scale of the multipliers and the largest of them (`fixed_point`), if other searches have the same.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(
        self,
        problem: ConstrainedProblem,
        tick: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int | None], None] = lambda bound, cost: None,
        counts: Counts | None = None,
        fixed: tuple[int, np.ndarray] | None = None,
    ):
        self.order = np.argsort(problem.column, kind="stable")
        self.original, self._tick, self.progress = problem, tick, progress
        self.problem = problem = _sorted(problem, self.order)
        self.scale, self.largest = fixed_point(problem) if fixed is None else fixed
        self.counts = Counts(problem) if counts is None else _recounted(counts, problem)
        self.tables = Pass(self.counts, self.scale, self.tick)
        self.upper = problem.most_cost + 1
        self.best = None  # (split, label) with splits sorted
        self.infeasible = False
        self.witness: ConstrainedSearch | None = None  # the search with costs of 0 that proved it, if one did
        self.floor = 0  # known from elsewhere: no feasible tree costs less
        self.begun = False  # whether trees of less depth were searched before
        self.elsewhere = False  # whether a feasible tree is known elsewhere
        self.inherited = False  # whether bounds of cases come from another search
        self.by_tables = TableTrees(self.tables)
        self.subset_trees = SubsetTrees(self.counts, self.scale) if takes(problem) else None
        self._maker: Callable[[ConstrainedSearch], CaseTrees] | None = None
        self.trees: CaseTrees = self.subset_trees or self.by_tables
        self.together = False  # as for `sweep`
        self.first = np.zeros(problem.n_constraints)  # multipliers of the first pass
        self.tried: list[np.ndarray] = []
        self._known, self._seen, self._told = {}, set(), None
        self._near: np.ndarray | None = None  # the multipliers that were best for the case tightened last
        self.all = Cases.of(problem)

    def watch(self, tick: Callable[[], bool], progress: Callable[[int, int | None], None]) -> None:
        """Set another clock and another listener, for the next run."""
        self._tick, self.progress = tick, progress

    def sweep(self, maker: "Callable[[ConstrainedSearch], CaseTrees]", together: bool) -> None:
        """Find the trees of cases by sweeps over the roots: `maker` makes them for a search.

        All cases then have only one pass together. `together` is whether all remaining roots of a subset of columns are
        tried with joint multipliers before each root gets its own.
        """
        self._maker, self.trees, self.together = maker, maker(self), together

    def inherit(self, looser: "ConstrainedSearch") -> None:
        """Use the counts and the bounds of cases of a search with looser constraints, because each tree that satisfies
        the constraints of this search also satisfies the looser ones."""
        alike = np.array_equal(self.all.root, looser.all.root) and np.array_equal(self.all.subsets, looser.all.subsets)
        if not alike or not np.array_equal(self.order, looser.order):
            return
        self.counts.share(looser.counts)
        self.hear(looser)
        self.inherited = True

    def hear(self, looser: "ConstrainedSearch") -> None:
        """Use the bounds of cases of another search of the same cases, whose constraints every tree of this one
        satisfies."""
        told = np.where(looser.all.listed, np.maximum(looser.all.least, looser.upper), looser.all.least)
        np.maximum(self.all.told, told, out=self.all.told)

    # Results so far.

    @property
    def bound(self) -> int:
        """A lower bound on the cost of feasible trees."""
        if self.floor >= self.upper:
            return self.upper
        least = float(self.all.least[~self.all.listed].min(initial=np.inf))
        return int(min(self.upper, max(0.0, float(self.floor), least)))

    @property
    def leading(self) -> np.ndarray:
        """int64 (constraints,): the multipliers, in the scale of the search, that bound its best case."""
        if not len(self.all.root) or not self.tried:
            return np.zeros(self.problem.n_constraints, np.int64)
        return self.tried[int(self.all.multipliers[self.all.bound.argmin()])]

    @property
    def found(self) -> Found:
        alive, total = int(self._alive().sum()), len(self.all.root)
        split, label = (None, None) if self.best is None else self.best
        split = None if split is None else named(split, self.order)
        return Found(split, label, None if self.best is None else self.upper, self.bound, self.infeasible, alive, total)

    def settled(self) -> Settled:
        """Return the multipliers of a search that has ended."""
        number = self.all.multipliers
        count, place = np.bincount(number, minlength=1), np.argsort(self.order)
        often = [m for m in np.argsort(-count).tolist() if count[m] * PASSES > len(number)]

        def of(root: int, subset: int) -> np.ndarray | None:
            here = np.flatnonzero((self.all.root == place[root]) & (self.all.subsets == subset))
            return self.tried[int(number[here[0]])] if len(here) and self.tried else None

        none = np.zeros(self.problem.n_constraints, np.int64)
        return Settled(self.scale, [self.tried[m] for m in often] if self.tried else [none], of)

    def live_cases(self, most: int) -> list[LiveCase] | None:
        """Return the listed cases of a search that has ended, with the subtrees that could be part of a tree that
        costs less than the best one; None if there are more than `most`, or if a tree must satisfy constraints
        other than sums and sets."""
        if self.problem.accepts is not None:
            return None
        found, held = [], 0
        for at in np.flatnonzero(self.all.listed & (self.all.bound < self.upper)).tolist():
            self.tick()
            root, m, subset = int(self.all.root[at]), self.tried[self.all.multipliers[at]], int(self.all.subsets[at])
            sides = self.by_tables.closer(m, root, subset, self.tick)[0].sides(root, self.upper)
            if sides is not None:
                found.append(LiveCase(root, sides))
                held += 1 + len(sides[0]) + len(sides[1])
            if held > most:
                return None
        return found

    def vector_of_best(self) -> np.ndarray:
        """Return int64 (1 + constraints,): the cost of the best tree, and the amounts that it uses."""
        return np.append(self.upper, uses_of(self.problem, *self.best)).astype(np.int64)

    def offer(self, split: np.ndarray, label: np.ndarray, cost: int) -> bool:
        """Take a feasible tree, with numbers of the sorted splits; return False if it does not cost less, or is
        refused."""
        accepts = self.problem.accepts
        if cost >= self.upper or (accepts is not None and not accepts(split, label)):
            return False
        self.upper, self.best = int(cost), (split.copy(), label.copy())
        self._tell()
        return True

    def start(self, split: np.ndarray, label: np.ndarray) -> bool:
        """Take a tree to start from, with the numbers of the problem; return False if it is not feasible, or costs no
        less."""
        if not keeps(self.original, split, label):
            return False
        mine = named(split, np.argsort(self.order))
        return self.offer(mine, label.astype(np.int32), cost_of(self.original, split, label))

    def begin_at(self, shallower: "ConstrainedSearch") -> None:
        """Begin the first pass with the multipliers that bound the best case of a search of less depth, if one pass
        gives the costs of the trees of each case (few_splits), because most cases then need no other multipliers."""
        if self.subset_trees is not None and shallower.problem.n_constraints == self.problem.n_constraints:
            self.first = shallower.leading / shallower.scale

    def want_below(self, cost: int) -> None:
        """Search only for trees that cost less than this, because a feasible tree of this cost is known elsewhere.
        `infeasible` then refers only to these cheaper trees."""
        self.upper, self.elsewhere = min(self.upper, cost), True

    def promising(self, most: int) -> list[np.ndarray]:
        """Return the subsets of columns, bool (columns,), of the cases with the least bounds, least first; at most
        `most`."""
        best = np.full(len(self.problem.subsets), np.inf)
        np.minimum.at(best, self.all.subsets, self.all.bound)
        some = np.unique(self.all.subsets)
        return [self.problem.subsets[subset] for subset in some[np.argsort(best[some], kind="stable")][:most]]

    # The search.

    def run(self, exactly: bool = True) -> Found:
        """Search to the end, or until the time is over; without `exactly`, only the steps for all cases at once."""
        try:
            self._leaves()
            if exactly:
                self._by_intervals()
            soon = self.inherited and not self.problem.n_constraints  # one pass settles all
            left = self._alive().any()
            if self.problem.depth > 2 and exactly and left and not (self.begun or soon):
                self._shallower()
            if self._maker is None or exactly:
                self._globally()
            else:
                for subset in range(len(self.problem.subsets)):
                    self._tighten_subset(subset)
            if exactly and self.best is None and not self.elsewhere:
                self._feasibility()
            if exactly and not self.infeasible:
                self._locally()
        except (Stopped, TimeLimitReached):
            pass
        if self.best is None and self.bound >= self.upper:
            self.infeasible = True
        self._tell()
        return self.found

    def _tighten_subset(self, subset: int) -> None:
        """Find multipliers for all roots of one subset of columns together, by their cheapest trees, then bound every
        root at the best multipliers of all rounds. If that excludes enough roots (LEFT), repeat for the remaining ones.
        """
        cuts, multipliers = Cuts(self.largest / self.scale), self.first
        self._near = None
        while True:
            leading = multipliers
            for multipliers in cuts.rounds(leading, ROUNDS):
                if not len(alive := self._left_of(subset)):
                    return
                weights, number = self._weights(multipliers)
                value = self._bounded(weights, number, alive, -np.inf)
                least, root = float(value.min()), int(self.all.root[alive[value.argmin()]])
                if np.isinf(least):
                    return
                if cuts.reach((least - weights.budget) / self.scale):
                    leading = multipliers
                self._look(root, subset, weights, cuts)
            weights, number = self._weights(leading)
            self._bounded(weights, number, alive, self._most(weights))
            left = self._left_of(subset)
            if not self.problem.n_constraints or len(left) > LEFT * len(alive):
                return
            cuts, multipliers = cuts.among(self.all.root[left].tolist()), leading

    def _left_of(self, subset: int) -> np.ndarray:
        """Return int (some cases,): the cases of a subset of columns that are not settled."""
        return np.flatnonzero((self.all.subsets == subset) & self._alive())

    def _most(self, weights: Weights) -> float:
        """Return the weighted cost from which on a tree costs no less than the best one."""
        return float(self.scale * (self.upper - 1) + weights.budget + 1)

    def _bounded(
        self,
        weights: Weights,
        number: int,
        left: np.ndarray,
        most: float,
        tell: Callable[[float], None] = lambda least: None,
    ) -> np.ndarray:
        """Return the values of some cases, int (some cases,) rising, which take the bounds that follow."""

        def told(least: float) -> None:
            self.tick()
            tell(least)

        cases = self.all.by_root(left)
        found = self.trees.values(weights, cases, most, told)
        value = np.concatenate([np.zeros(0), *(found[root] for root in cases)])
        self.raise_bounds(number, left, value)
        return value

    def raise_bounds(self, number: int, left: np.ndarray, value: np.ndarray) -> None:
        """Take the bounds that follow from the least weighted costs of some cases, float64 (some cases,), at the
        multipliers of this number."""
        bound = self.tables.bound(value, self.problem.budget(self.tried[number]))
        better = bound > self.all.bound[left]
        self.all.bound[left[better]], self.all.multipliers[left[better]] = bound[better], number

    def tick(self) -> None:
        if self._tick():
            raise Stopped

    def _tell(self) -> None:
        now = self.bound, None if self.best is None else self.upper
        if now != self._told:
            self._told = now
            self.progress(*now)

    def _leaves(self) -> None:
        """Offer the trees of one leaf."""
        may = self.tables.labels_of(self.counts.total)
        cost = self.counts.total @ self.counts.cost
        uses = np.tensordot(self.counts.uses, self.counts.total, (1, 0)) + self.problem.leaf_uses
        for k in np.argsort(cost, kind="stable"):
            if may[k] and (uses[:, k] <= self.problem.bound).all():
                split, label = (np.full(2 ** (self.problem.depth + 1), -1, np.int32) for _ in range(2))
                label[1] = k
                if self.offer(split, label, int(cost[k])):
                    return

    def _shallower(self) -> None:
        """Search trees of less depth, as starts."""
        depth = self.problem.depth
        search = ConstrainedSearch(
            replace(of_depth(self.problem, depth - 1), accepts=None), self._tick, counts=self.counts
        )
        found = search.run(exactly=False)
        self.begin_at(search)
        self.tick()
        if found.cost is not None:
            self.offer(*padded(found.split, found.label, depth), found.cost)

    def _alive(self, at: int | slice = slice(None)) -> np.ndarray:
        """Return bool: whether a case, or each of some cases, may contain a better tree."""
        cases = self.all
        least = np.maximum(cases.bound[at], cases.told[at])
        return ~cases.listed[at] & (least < self.upper) & (self.upper > self.floor)

    def _weights(self, multipliers: np.ndarray) -> tuple[Weights, int]:
        """Return (weights, number) of multipliers, float64 (constraints,)."""
        m = in_fixed_point(multipliers, self.scale, self.largest)
        return Weights.of(self.counts, self.scale, m), self.number_of(m)

    def number_of(self, m: np.ndarray) -> int:
        """Return the number of multipliers that are tried, int64 (constraints,) in units of 1 / scale."""
        number = self._known.setdefault(m.tobytes(), len(self.tried))
        if number == len(self.tried):
            self.tried.append(m)
        return number

    def _pass(self, weights: Weights, number: int) -> list[tuple[float, int]]:
        """Compute bounds of all cases that are not settled; return the best as (weighted cost, position)."""
        best: list[tuple[float, int]] = []
        alone = self.inherited and not self.problem.n_constraints  # exact values: trees exclude roots
        groups = [np.arange(len(self.all.root))]
        if alone:
            groups = np.split(groups[0], np.flatnonzero(np.diff(self.all.root)) + 1)
            groups.sort(key=lambda some: self.all.told[some].min(initial=np.inf))

        def tell(least: float) -> None:
            if not alone and (bound := self.tables.bound(least, weights.budget)) > self.floor:
                self.floor = int(min(bound, self.upper))
                self.progress(self.floor, None if self.best is None else self.upper)

        opened = self._open()
        for some in groups:
            left = some[opened[some]]
            if not len(left):
                continue
            value = self._bounded(weights, number, left, self._most(weights), tell)
            cheapest = _cheapest(value, self.all.root[left])
            if alone and cheapest and self.tables.bound(value[cheapest[0]], weights.budget) < self.upper:
                at = left[cheapest[0]]
                self._look(int(self.all.root[at]), int(self.all.subsets[at]), weights, None)
                opened = self._open()
            best += [(float(value[at]), int(left[at])) for at in cheapest]
        return sorted(best)[:TRACED]

    def _open(self) -> np.ndarray:
        """Return bool (cases,): the cases that a pass is for."""
        return self._alive()

    def _known_cuts(self) -> Cuts:
        """Return the cuts of the trees that are known before the first pass."""
        return Cuts(self.largest / self.scale)

    def _globally(self, rounds: int = ROUNDS) -> None:
        """Find multipliers for all cases at once."""
        cuts = self._known_cuts()
        own = self.problem.n_constraints and self._maker is not None  # a sweep leaves cases to multipliers of their own
        for multipliers in cuts.rounds(self.first, rounds):
            weights, number = self._weights(multipliers)
            best = self._pass(weights, number)
            self._tell()
            if not best or (own and (self.best is not None or self.elsewhere)):
                return
            cuts.reach((best[0][0] - weights.budget) / self.scale)
            for value, at in best:
                self.tick()
                first = value == best[0][0]
                if first or self._alive(at):  # otherwise it has no better tree
                    self._look(int(self.all.root[at]), int(self.all.subsets[at]), weights, cuts if first else None)
            if own or not self._alive().any():
                return

    def _look(self, root: int, subset: int, weights: Weights, cuts: Cuts | None) -> float:
        """Trace the cheapest tree of a case, offer it with its best labels, add its cut; return its weighted cost."""
        structure, value = self.trees.trace(weights, root, subset)
        if structure is None:
            return value
        if cuts is not None:
            tree = by_weight(self.tables, structure, weights)
            cuts.add(tree.cost, tree.uses - self.problem.bound, root)
        key = structure.split.tobytes()
        if key not in self._seen:
            self._seen.add(key)
            try:
                tree = feasible(self.tables, structure, self.upper)
            except TooLarge:
                tree = None
            if tree is not None:
                self.offer(tree.split, tree.label, tree.cost)
        return value

    def _feasibility(self) -> None:
        """Find a feasible tree, or prove that there is none, by the same search with costs of 0."""
        problem = replace(self.problem, cost=np.zeros_like(self.problem.cost), branch_cost=0)
        if not self.problem.cost.any() and not self.problem.branch_cost:
            return
        search = ConstrainedSearch(problem, self._tick, counts=self.counts)
        # Of costs of 0 only the ratios of multipliers matter: under one constraint the tree that uses least decides.
        most, here = search.largest / search.scale, self.leading / self.scale
        search.first = here * (most[here > 0] / here[here > 0]).min() if here.any() else most
        search.begun = True
        if self._maker is not None:
            search.sweep(self._maker, self.together)
        found = search.run()
        if found.infeasible:
            self.infeasible, self.witness = True, search
        elif found.cost is not None:
            self.offer(found.split, found.label, cost_of(self.problem, found.split, found.label))
        self.tick()

    def _locally(self) -> None:
        """Settle each remaining case, best first: its own multipliers, then all of its trees that could cost less."""
        postponed, tightened = None, set()
        while True:
            left = np.flatnonzero(self._alive())
            before = len(left)
            if not before or postponed == (before, self.upper):
                return
            for at in left[np.argsort(self.all.bound[left], kind="stable")].tolist():
                if not self._alive(at):
                    continue
                self.tick()
                if self.together and (subset := int(self.all.subsets[at])) not in tightened:
                    tightened.add(subset)
                    self._tighten_subset(subset)
                if self._alive(at):
                    self._tighten(at)
                if self._alive(at):
                    self._close(at)
            # Cases that were too large are tried again if a cheaper tree was found since.
            left = int(self._alive().sum())
            postponed = (left, self.upper) if left == before else None
            if left and left < before:
                postponed = None

    def _tighten(self, at: int) -> None:
        """Find multipliers for a case."""
        if not self.problem.n_constraints:
            return
        cases, root, subset = self.all, int(self.all.root[at]), int(self.all.subsets[at])
        cuts = Cuts(self.largest / self.scale, whole=True)
        # The multipliers of the case before are often as good for this one.
        first = self.tried[cases.multipliers[at]] / self.scale if self._near is None else self._near
        for multipliers in cuts.rounds(first, ROUNDS):
            weights, number = self._weights(multipliers)
            value = self._look(root, subset, weights, cuts)
            bound = float(self.tables.bound(value, weights.budget))
            if bound > cases.bound[at]:
                cases.bound[at], cases.multipliers[at] = bound, number
                self._near = multipliers
            if not cases.bound[at] < self.upper:
                return
            cuts.reach(cases.bound[at])

    def _by_intervals(self) -> None:
        """Settle the cases of subsets of one column whose splits are nested, by trying all of their trees."""
        for subset, order in nested_subsets(self.problem).items():
            trees = IntervalTrees(self.problem, order, self.tick)
            try:
                found = trees.best(self.upper)
            except TooLarge:
                continue
            if found is not None:
                self.offer(*found[0], found[1])
            none = np.zeros((1, self.problem.n_constraints))
            number = self._weights(np.concatenate([none, trees.multipliers])[-1] / trees.scale)[1]
            here = self.all.subsets == subset
            self.all.listed[here], self.all.bound[here], self.all.multipliers[here] = True, trees.priced, number
            self._tell()

    def _close(self, at: int) -> None:
        """Try all trees of a case that could cost less, if they are not too many."""
        m, root, subset = self.tried[self.all.multipliers[at]], int(self.all.root[at]), int(self.all.subsets[at])
        closer, here, splits = self.trees.closer(m, root, subset, self.tick)

        def offer(split, label):
            split = named(split, splits)
            return self.offer(split, label, cost_of(self.problem, split, label))

        try:
            closer.close(here, self.upper, offer)
        except TooLarge:
            return
        self.all.listed[at] = True
        self._tell()


def _cheapest(value: np.ndarray, root: np.ndarray) -> list[int]:
    """Return the positions of the cases with the least values, the least first. Of cases with the same root split and
    value only the first: these are mostly the same tree, which uses only columns that their subsets share."""
    found: dict[tuple[float, int], int] = {}
    for at in np.argsort(value, kind="stable")[: TRACED * TRACED].tolist():
        if len(found) < TRACED and np.isfinite(value[at]):
            found.setdefault((value[at], root[at]), at)
    return list(found.values())


def search(
    problem: ConstrainedProblem,
    tick: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int | None], None] = lambda bound, cost: None,
) -> Found:
    """Search a problem to the end, or until `tick` returns true; the parameters are the same as for
    `ConstrainedSearch`."""
    return ConstrainedSearch(problem, tick, progress).run()


def _sorted(problem: ConstrainedProblem, order: np.ndarray) -> ConstrainedProblem:
    """Return the problem with its splits in this order."""
    if (order == np.arange(len(order))).all():
        return problem
    accepts = problem.accepts

    def again(split, label):
        return accepts(named(split, order), label)

    return with_splits(
        problem,
        X=part_of(problem.X, np.ones(len(problem.X), bool), order),
        column=problem.column[order],
        allowed=problem.allowed[:, order],
        below=None if problem.below is None else problem.below[np.ix_(order, order)],
        accepts=again if accepts else None,
    )


def _recounted(counts: Counts, problem: ConstrainedProblem) -> Counts:
    """Return the same counts for a problem of the same rows and splits: of another depth, or without costs."""
    again = copy(counts)
    again.problem = problem
    if not problem.cost.any():
        again.cost = np.zeros_like(counts.cost)
    return again


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    answers = random.integers(0, 2, (40, 4)).astype(bool)
    search = ConstrainedSearch(ConstrainedProblem(answers, random.integers(0, 2, (40, 2)), max(DEPTHS)))
    weights = Weights.of(search.counts, search.scale, np.zeros(search.problem.n_constraints, np.int64))
    cases = search.all.by_root(np.arange(len(search.all.root)))
    trees = SubsetTrees(search.counts, search.scale)
    trees.values(weights, cases, np.inf, lambda least: None)
