"""The cheapest tree under constraints: a feasible tree and a valid lower bound at every moment.

A case is a root split with a subset of columns that contains its column. Every case has a bound, the greatest of all
multipliers tried; the least over the cases is a bound on all trees. The search goes from cheap steps to exact ones:

    1. multipliers 0: the unconstrained optimum of every case; then multipliers for all cases at once (Kelley's cuts)
    2. the trees of the best cases, with their labels chosen again, are feasible trees
    3. the remaining cases, best first: their own multipliers, then lists of subtrees and their joins (close_gap)

If no tree is feasible so far, the same search with costs of 0 finds one, or proves that there is none.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from odtc.algorithms.constrained.close_gap import GapCloser
from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    cost_of,
    fixed_point,
    in_fixed_point,
    keeps,
    named,
    uses_of,
    with_splits,
)
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.few_splits.subset_trees import DEPTHS, SubsetTrees, takes
from odtc.algorithms.constrained.lagrangian_pass import Pass, Segments, Weights
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.one_column.interval_trees import IntervalTrees, nested_subsets
from odtc.algorithms.constrained.subtree_options import Options
from odtc.algorithms.constrained.trace_tree import Structure, by_weight, feasible, trace
from odtc.base.value_class import value_class
from odtc.errors import TimeLimitReached

ROUNDS = 14  # of multipliers, for all cases and then for each
PASSES = 20  # multipliers that settled more than one in this many cases are reported as those of all
TRACED = 8  # cases whose trees are traced after each pass
LEFT = 0.9  # share of roots up to which the remaining ones are bounded again, at multipliers of their own


class Stopped(Exception):
    """The time is over, so the search has to end."""


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
        The number of cases that are not settled, and of all.
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
    """The cases of one root split.

    Attributes
    ----------
    subsets : int (cases,)
        The subset of columns of each.
    bound : float64 (cases,)
    multipliers : int (cases,)
        The number of the multipliers that gave the bound.
    listed : bool (cases,)
        Whether its trees were listed, so that none costs less than the cheapest known.
    told : float64 (cases,)
        A bound from another search.
    """

    subsets: np.ndarray
    bound: np.ndarray = field(default=None)
    multipliers: np.ndarray = field(default=None)
    listed: np.ndarray = field(default=None)
    told: np.ndarray = field(default=None)

    @property
    def least(self) -> np.ndarray:
        """float64 (cases,): a lower bound on the cost of the trees of each case."""
        return np.maximum(self.bound, self.told)

    def __post_init__(self):
        self.bound, self.told = (np.full(len(self.subsets), -np.inf) for _ in range(2))
        self.multipliers = np.zeros(len(self.subsets), int)
        self.listed = np.zeros(len(self.subsets), bool)


@value_class
class LiveCase:
    """A case that no multipliers exclude: its root split, as its number among the sorted splits, and the subtrees on
    either side that could be part of a tree that costs less than the best."""

    root: int
    sides: tuple[Options, Options]


@value_class
class Settled:
    """Multipliers by which a search has settled its cases, float64 (constraints,) each, in units of 1 / scale.

    Attributes
    ----------
    scale : int
    passes : list of multipliers
        Those that settled most cases.
    of : Callable[[int, int], multipliers or None]
        For a root split and a subset of columns; None if it has none of its own.
    """

    scale: int
    passes: list[np.ndarray]
    of: Callable[[int, int], np.ndarray | None]


class Swept(Protocol):
    """The trees of one subset of columns, found by sweeps (odtc.algorithms.constrained.sweeps.swept_trees)."""

    def values(self, multipliers: np.ndarray, roots: list[int], enough: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (float64 (roots,), bool (roots,)): the least weighted cost of a tree with each root at multipliers
        int64 (constraints,), and whether it is exact or only a bound. It is exact for the cheapest root, and for
        roots for which only a bound below `enough` would otherwise be known."""
        ...

    def trace(self, root: int, weights: Weights) -> tuple[Structure | None, float]:
        """Return the cheapest tree with a root, and its weighted cost."""
        ...


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
    scale : int or None
        Of the multipliers, if another search has them, and this one only has the cases.

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
        scale: int | None = None,
    ):
        self.order = np.argsort(problem.column, kind="stable")
        self.original, self._tick, self.progress = problem, tick, progress
        self.problem = problem = _sorted(problem, self.order)
        self.scale, self.largest = fixed_point(problem) if scale is None else (scale, None)
        self.counts = Counts(problem) if counts is None else _recounted(counts, problem)
        self.tables = Pass(self.counts, self.scale, self.tick)
        self.upper = problem.most_cost + 1
        self.best = None  # (split, label) with splits sorted
        self.infeasible = False
        self.floor = 0  # known from elsewhere: no feasible tree costs less
        self.begun = False  # whether trees of less depth were searched before
        self.elsewhere = False  # whether a feasible tree is known elsewhere
        self.inherited = False  # whether bounds of cases come from another search
        self.swept: Swept | None = None  # in place of tables, if there is one subset
        self.subset_trees = SubsetTrees(self.counts, self.scale) if takes(problem) else None
        self.first = np.zeros(problem.n_constraints)  # multipliers of the first pass
        self.tried: list[np.ndarray] = []
        self._known, self._cases, self._segments = {}, {}, {}
        self._seen, self._told = set(), None
        self._near: np.ndarray | None = None  # the multipliers that were best for the case tightened last
        roots = np.flatnonzero(problem.allowed[0]).tolist() if problem.depth else []
        for root in roots:
            subsets = np.flatnonzero(problem.subsets[:, problem.column[root]])
            if len(subsets):
                self._cases[root] = Cases(subsets)

    def watch(self, tick: Callable[[], bool], progress: Callable[[int, int | None], None]) -> None:
        """Set another clock and another listener, for the next run."""
        self._tick, self.progress = tick, progress

    def inherit(self, looser: "ConstrainedSearch") -> None:
        """Take over the counts and the bounds of cases of a search with looser constraints, which has every tree of
        this one."""
        if self._cases.keys() != looser._cases.keys() or not np.array_equal(self.order, looser.order):
            return
        self.counts.share(looser.counts)
        for root, cases in self._cases.items():
            other = looser._cases[root]
            if np.array_equal(cases.subsets, other.subsets):
                cases.told = np.where(other.listed, np.maximum(other.least, looser.upper), other.least)
                self.inherited = True

    # Results so far.

    @property
    def bound(self) -> int:
        """A lower bound on the cost of feasible trees."""
        least = min(
            (float(cases.least[~cases.listed].min(initial=np.inf)) for cases in self._cases.values()), default=np.inf
        )
        return int(min(self.upper, max(0.0, float(self.floor), least)))

    @property
    def leading(self) -> np.ndarray:
        """int64 (constraints,): the multipliers, in the scale of the search, that bound its best case."""
        best = min(self._cases.values(), key=lambda cases: cases.bound.min(), default=None)
        if best is None or not self.tried:
            return np.zeros(self.problem.n_constraints, np.int64)
        return self.tried[int(best.multipliers[best.bound.argmin()])]

    @property
    def found(self) -> Found:
        alive = sum(int(self._alive(cases).sum()) for cases in self._cases.values())
        total = sum(len(cases.subsets) for cases in self._cases.values())
        split, label = (None, None) if self.best is None else self.best
        split = None if split is None else named(split, self.order)
        return Found(split, label, None if self.best is None else self.upper, self.bound, self.infeasible, alive, total)

    def evidence(self) -> list[tuple[int, int, np.ndarray]]:
        """Return (root split, subset of columns, multipliers int64 (constraints,) in units of 1 / scale) of every
        case: at these multipliers its bound was the greatest found."""
        none = np.zeros(self.problem.n_constraints, np.int64)
        return [
            (int(self.order[root]), int(subset), self.tried[number] if self.tried else none)
            for root, cases in self._cases.items()
            for subset, number in zip(cases.subsets, cases.multipliers)
        ]

    def settled(self) -> Settled:
        """Return the multipliers of a search that has ended."""
        number = np.concatenate([cases.multipliers for cases in self._cases.values()] or [np.zeros(0, int)])
        count, place = np.bincount(number, minlength=1), np.argsort(self.order)
        often = [m for m in np.argsort(-count).tolist() if count[m] * PASSES > len(number)]

        def of(root: int, subset: int) -> np.ndarray | None:
            cases = self._cases.get(int(place[root]))
            if cases is None or not self.tried:
                return None
            here = np.flatnonzero(cases.subsets == subset)
            return self.tried[int(cases.multipliers[here[0]])] if len(here) else None

        none = np.zeros(self.problem.n_constraints, np.int64)
        return Settled(self.scale, [self.tried[m] for m in often] if self.tried else [none], of)

    def live_cases(self, most: int) -> list[LiveCase] | None:
        """Return the listed cases of a search that has ended, with the subtrees that could be part of a tree that
        costs less than the best one; None if there are more than `most`, or if a tree must satisfy constraints
        other than sums and sets."""
        if self.problem.accepts is not None:
            return None
        found, held = [], 0
        for root, cases in self._cases.items():
            for place in np.flatnonzero(cases.listed & (cases.bound < self.upper)).tolist():
                self.tick()
                sides = self._closer(root, place).sides(root, self.upper)
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
        gives the costs of the trees of each case (few_splits): most cases then need no other multipliers."""
        if self.subset_trees is not None and shallower.problem.n_constraints == self.problem.n_constraints:
            self.first = shallower.leading / shallower.scale

    def want_below(self, cost: int) -> None:
        """Search only for trees that cost less, because a feasible one of this cost is known elsewhere; `infeasible`
        then refers only to these trees."""
        self.upper, self.elsewhere = min(self.upper, cost), True

    def promising(self, most: int) -> list[np.ndarray]:
        """Return the subsets of columns, bool (columns,), of the cases with the least bounds, least first; at most
        `most`."""
        best: dict[int, float] = {}
        for cases in self._cases.values():
            for subset, bound in zip(cases.subsets.tolist(), cases.bound.tolist()):
                best[subset] = min(best.get(subset, np.inf), bound)
        chosen = sorted(best, key=lambda subset: (best[subset], subset))[:most]
        return [self.problem.subsets[subset] for subset in chosen]

    # The search.

    def run(self, exactly: bool = True) -> Found:
        """Search to the end, or until the time is over; without `exactly`, only the steps for all cases at once."""
        try:
            self._leaves()
            if exactly:
                self._by_intervals()
            soon = self.inherited and not self.problem.n_constraints  # one pass settles all
            left = any(self._alive(cases).any() for cases in self._cases.values())
            if self.problem.depth > 2 and exactly and left and not (self.begun or soon):
                self._shallower()
            self._globally()
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

    def tighten_all(self, multipliers: np.ndarray) -> None:
        """Find multipliers for all roots of one subset of columns by sweeps (`swept`), starting from float64
        (constraints,)."""
        try:
            self._tighten_roots(multipliers, 1)
        except (Stopped, TimeLimitReached):
            return

    def _tighten_roots(self, multipliers: np.ndarray, traced: int) -> None:
        """Find the cheapest roots in each round, whose trees are traced; at the best multipliers of all rounds every
        root has a bound. If few of them remain after these, the rest has rounds of its own."""
        cuts, reached, leading, spent = Cuts(self.largest / self.scale), -np.inf, multipliers, 0
        while alive := self._alive_roots():
            self.tick()
            weights, number = self._weights(multipliers)
            value, exact = self._bound_roots(alive, weights, number, -np.inf)
            met = np.flatnonzero(exact)
            met = met[np.argsort(value[met], kind="stable")]  # the first is the cheapest of all
            if np.isinf(value[met[0]]):
                return
            if (here := (value[met[0]] - weights.budget) / self.scale) > reached:
                reached, leading = here, multipliers
            for place in met[:traced].tolist():
                if place == met[0] or self.tables.bound(value[place], weights) < self.upper:
                    self._look(alive[place], int(self._cases[alive[place]].subsets[0]), weights, cuts)
            most, multipliers = cuts.best() if self.problem.n_constraints else (-np.inf, multipliers)
            spent += 1
            if most > reached + 1e-6 * max(1.0, abs(reached)) and spent < ROUNDS:
                continue
            weights, number = self._weights(leading)
            self._bound_roots(alive, weights, number, float(self.scale * (self.upper - 1) + weights.budget + 1))
            left = self._alive_roots()
            if not self.problem.n_constraints or len(left) > LEFT * len(alive):
                return
            cuts, reached, spent = cuts.among(left), -np.inf, 0
            multipliers = cuts.best()[1] if cuts.cost else leading

    def _alive_roots(self) -> list[int]:
        """Return the roots of one subset of columns that are not settled."""
        return [root for root, cases in self._cases.items() if self._alive(cases)[0]]

    def _bound_roots(self, roots: list[int], weights: Weights, number: int, enough: float):
        """Return the results of `swept` for the values of roots; their cases take the bounds."""
        value, exact = self.swept.values(weights.multipliers, roots, enough)
        for root, bound in zip(roots, self.tables.bound(value, weights)):
            cases = self._cases[root]
            if bound > cases.bound[0]:
                cases.bound[0], cases.multipliers[0] = bound, number
        return value, exact

    def close(self) -> Found:
        """Settle the remaining cases, one by one; for a search that knows a feasible tree, or its cost."""
        try:
            self._locally()
        except (Stopped, TimeLimitReached):
            pass
        return self.found

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
        problem = self.problem
        less = replace(problem, depth=problem.depth - 1, allowed=problem.allowed[:-1], accepts=None)
        search = ConstrainedSearch(less, self._tick, counts=self.counts)
        found = search.run(exactly=False)
        self.begin_at(search)
        self.tick()
        if found.cost is not None:
            self.offer(
                *(np.concatenate([heap, np.full(len(heap), -1, np.int32)]) for heap in (found.split, found.label)),
                found.cost,
            )

    def _alive(self, cases: Cases) -> np.ndarray:
        return ~cases.listed & (cases.least < self.upper) & (self.upper > self.floor)

    def _weights(self, multipliers: np.ndarray) -> tuple[Weights, int]:
        """Return (weights, number) of multipliers, float64 (constraints,)."""
        m = in_fixed_point(multipliers, self.scale, self.largest)
        key = m.tobytes()
        if key not in self._known:
            self._known[key] = len(self.tried)
            self.tried.append(m)
        return Weights.of(self.counts, self.scale, m), self._known[key]

    def _pass(self, weights: Weights, number: int) -> list[tuple[float, int, int]]:
        """Compute bounds of all cases that are not settled; return the best as (weighted cost, root, subset)."""
        best, every = [], list(self._cases.items())
        told = self._told_by_patterns(weights)
        alone = self.inherited and not self.problem.n_constraints  # exact values: trees exclude roots
        for root, cases in sorted(every, key=lambda case: case[1].told.min()) if alone else every:
            alive = np.flatnonzero(self._alive(cases))
            if not len(alive):
                continue
            self.tick()
            if told is not None:
                value = told[root][alive]
            else:
                value = self.tables.roots(root, weights, self._of(cases.subsets[alive]))
            bound = self.tables.bound(value, weights)
            better = bound > cases.bound[alive]
            cases.bound[alive[better]], cases.multipliers[alive[better]] = bound[better], number
            if alone and bound.min() < self.upper:
                self._look(root, int(cases.subsets[alive[int(bound.argmin())]]), weights, None)
            for place in np.argsort(value, kind="stable")[:TRACED].tolist():
                if np.isfinite(value[place]):
                    best.append((float(value[place]), root, int(cases.subsets[alive[place]])))
        return sorted(best)[:TRACED]

    @property
    def _trees(self) -> SubsetTrees | None:
        """The trees of each case if they replace tables of all splits; None if these tables are made."""
        return self.subset_trees if self.swept is None else None

    def _told_by_patterns(self, weights: Weights) -> dict[int, np.ndarray] | None:
        """Return {root: float64 (cases,)}, infinite for a case that is settled; None if tables are made instead."""
        if (trees := self._trees) is None:
            return None
        alive = {root: np.flatnonzero(self._alive(cases)) for root, cases in self._cases.items()}
        asked = {root: self._cases[root].subsets[places] for root, places in alive.items()}
        most = float(self.scale * (self.upper - 1) + weights.budget + 1)
        values = trees.values(weights, asked, self.tables.base(weights), most, self.tick)
        found = {root: np.full(len(cases.subsets), np.inf) for root, cases in self._cases.items()}
        for root, places in alive.items():
            found[root][places] = values[root]
        return found

    def _of(self, subsets: np.ndarray) -> Segments:
        key = subsets.tobytes()
        if key not in self._segments:
            if len(self._segments) > 4 * len(self._cases) + 64:
                self._segments.clear()
            self._segments[key] = Segments(self.problem.subsets[subsets], self.problem.column)
        return self._segments[key]

    def _splits(self, subset: int) -> np.ndarray:
        return np.flatnonzero(self.problem.subsets[subset][self.problem.column])

    def _globally(self) -> None:
        """Find multipliers for all cases at once."""
        if self.swept is not None:
            self._tighten_roots(self.first, TRACED)
            return
        R = self.problem.n_constraints
        cuts, multipliers, reached = Cuts(self.largest / self.scale), self.first, -np.inf
        for _ in range(ROUNDS if R else 1):
            weights, number = self._weights(multipliers)
            best = self._pass(weights, number)
            self._tell()
            if not best:
                return
            reached = max(reached, (best[0][0] - weights.budget) / self.scale)
            for value, root, subset in best:
                self.tick()
                first = value == best[0][0]
                if first or self.tables.bound(value, weights) < self.upper:  # otherwise it has no better tree
                    self._look(root, subset, weights, cuts if first else None)
            if not R or not any(self._alive(cases).any() for cases in self._cases.values()):
                return
            most, multipliers = cuts.best()
            if most <= reached + 1e-6 * max(1.0, abs(reached)):
                return

    def _look(self, root: int, subset: int, weights: Weights, cuts: Cuts | None) -> float:
        """Trace the cheapest tree of a case, offer it with its best labels, add its cut; return its weighted cost."""
        if (trees := self._trees) is not None:
            structure, value = trees.trace(weights, root, subset, self.tables.base(weights))
        elif self.swept is None:
            structure, value = trace(self.tables, root, weights, self._splits(subset))
        else:
            structure, value = self.swept.trace(root, weights)
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
        found = ConstrainedSearch(problem, self._tick, counts=self.counts).run()
        if found.infeasible:
            self.infeasible = True
        elif found.cost is not None:
            self.offer(found.split, found.label, cost_of(self.problem, found.split, found.label))
        self.tick()

    def _locally(self) -> None:
        """Settle each remaining case, best first: its own multipliers, then all of its trees that could cost less."""
        postponed = None
        while True:
            left = [
                (cases.bound[place], root, place)
                for root, cases in self._cases.items()
                for place in np.flatnonzero(self._alive(cases)).tolist()
            ]
            if not left or postponed == (len(left), self.upper):
                return
            before = len(left)
            for _, root, place in sorted(left):
                cases = self._cases[root]
                if not self._alive(cases)[place]:
                    continue
                self.tick()
                self._tighten(root, place)
                if self._alive(cases)[place]:
                    self._close(root, place)
            # Cases that were too large are tried again if a cheaper tree was found since.
            left = sum(int(self._alive(cases).sum()) for cases in self._cases.values())
            postponed = (left, self.upper) if left == before else None
            if left and left < before:
                postponed = None

    def _tighten(self, root: int, place: int) -> None:
        cases, R = self._cases[root], self.problem.n_constraints
        if not R:
            return
        cuts = Cuts(self.largest / self.scale)
        # The multipliers of the case before are often as good for this one.
        multipliers = self.tried[cases.multipliers[place]] / self.scale if self._near is None else self._near
        for _ in range(ROUNDS):
            weights, number = self._weights(multipliers)
            value = self._look(root, int(cases.subsets[place]), weights, cuts)
            bound = float(self.tables.bound(value, weights))
            if bound > cases.bound[place]:
                cases.bound[place], cases.multipliers[place] = bound, number
                self._near = multipliers
            if not cases.bound[place] < self.upper:
                return
            most, multipliers = cuts.best()
            if np.ceil(most - 1e-6) <= cases.bound[place]:
                return
        return

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
            for cases in self._cases.values():
                here = cases.subsets == subset
                cases.listed |= here
                cases.bound[here], cases.multipliers[here] = trees.priced, number
            self._tell()

    def _close(self, root: int, place: int) -> None:
        cases, trees = self._cases[root], self._trees
        if trees is None:
            closer, here, splits = self._closer(root, place), root, np.arange(len(self.order))
        else:
            subset = int(cases.subsets[place])
            mine, tables = trees.patterns(subset), trees.tables(subset)
            here, splits = mine.place[root], mine.splits
            one = Segments(tables.problem.subsets, tables.problem.column)
            weights = Weights.of(tables.counts, self.scale, self.tried[cases.multipliers[place]])
            closer = GapCloser(tables, weights, np.arange(len(splits)), one, self.tick)

        def offer(split, label):
            split = named(split, splits)
            return self.offer(split, label, cost_of(self.problem, split, label))

        try:
            closer.close(here, self.upper, offer)
        except TooLarge:
            return
        cases.listed[place] = True
        self._tell()

    def _closer(self, root: int, place: int) -> GapCloser:
        cases = self._cases[root]
        subset = cases.subsets[place : place + 1]
        weights, _ = self._weights(self.tried[cases.multipliers[place]] / self.scale)
        return GapCloser(self.tables, weights, self._splits(int(subset[0])), self._of(subset), self.tick)


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
        X=problem.X[:, order],
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
    cases = {root: one.subsets for root, one in search._cases.items()}
    trees = SubsetTrees(search.counts, search.scale)
    trees.values(weights, cases, search.tables.base(weights), np.inf, lambda: None)
