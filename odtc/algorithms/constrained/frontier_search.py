"""One search for many bounds of the same sums: the best tree for each of them, with one pass a multiplier for all.

The weighted cost of a tree at multipliers m, scale · cost + m · uses, does not know the bounds b. So one pass
(lagrangian_pass) gives of every case the value V(m) = min of that, and for every target b a bound on its trees,

    cost  ≥  max over all m tried of  (V(m) - m · b) / scale,

the lower envelope of (uses, cost) seen from b. Every tree met is offered to every target that it keeps, and every tree
met is a cut (multipliers) for every target. A bound of a target holds for all tighter ones. What is left of a target
is closed case by case, as one search alone does (close_gap).
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.close_gap import MOST_PAIRS, GapCloser
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge, fixed_point, leaves_of
from odtc.algorithms.constrained.constrained_search import ROUNDS, ConstrainedSearch, Found, Stopped
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.trace_tree import by_weight, cheapest, labelled, labellings, trace

TRACED = 4  # cases whose trees are looked at after each pass: there are many passes
FIRST = 3  # targets that have passes of their own at less depth: the ends and the middle
FURTHER = 4.0  # lists are made so much longer if that serves other targets: of the gap that they close
SHORT = 200_000  # pairs of a list that is made before the case has multipliers of its own
MOST_FITS = 4_000_000  # labellings times targets that are compared at once


class FrontierSearch:
    """The search of one problem for many bounds.

    Parameters
    ----------
    problem : ConstrainedProblem
        Without `accepts`; its own bound is not read.
    bounds : int64 (targets, constraints)
        The loosest first: none is above the one before it.
    tick : Callable[[], bool]
        Whether the search has to end; asked often.
    counts : Counts
        Of the same rows and tests, if they were made already.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(
        self,
        problem: ConstrainedProblem,
        bounds: np.ndarray,
        tick: Callable[[], bool] = lambda: False,
        counts: Counts | None = None,
    ):
        self.bounds, self._tick = np.asarray(bounds, np.int64), tick
        self.scale, self.largest = fixed_point(replace(problem, bound=np.abs(self.bounds).max(axis=0)))
        self.base = ConstrainedSearch(replace(problem, bound=self.bounds[0]), tick, counts=counts)
        self.base.tables.scale = self.scale
        self.tables = [self._for(bound) for bound in self.bounds]
        n, most = len(self.bounds), problem.most_cost
        self.upper = np.full(n, most + 1)
        self.best: list = [None] * n
        self.floor = np.zeros(n, np.int64)
        self.infeasible = np.zeros(n, bool)
        self.tried: list[np.ndarray] = []
        self._least: list[float] = []  # of each multipliers tried, the least value of a pass
        self._points: dict = {}  # (cost, uses) of trees met
        self._own: dict = {}  # of single cases
        self._lists: dict = {}  # of single cases, the lists made last: (multipliers, their limit, the two sides)
        self._passed: set = set()  # multipliers of passes
        self._seen: set = set()
        # All cases in one row, those of a root beside each other; `bound`, `number` (of the multipliers that gave it)
        # and `listed` are (targets, cases).
        self.roots = list(self.base._cases)
        self.subset = np.concatenate([np.zeros(0, int), *(one.subsets for one in self.base._cases.values())])
        self.root = np.repeat(np.array(self.roots, int), [len(one.subsets) for one in self.base._cases.values()])
        self.lower = np.full((n, len(self.subset)), -np.inf)
        self.number = np.zeros((n, len(self.subset)), int)
        self.listed = np.zeros((n, len(self.subset)), bool)

    def _for(self, bound: np.ndarray) -> Pass:
        """The tables of one target."""
        tables, counts = copy(self.base.tables), copy(self.base.counts)
        tables.problem = counts.problem = replace(self.base.problem, bound=bound)
        tables.counts = counts
        return tables

    def run(self, exactly: bool = True) -> list[Found]:
        """What is found for each target, until the end or until the clock says stop."""
        try:
            self._leaves()
            if self.base.problem.depth > 2 and exactly:
                self._shallower()
            for target in self._order()[: None if exactly else FIRST]:
                self._globally(target)
            if exactly:
                self._feasibility()
                for target in range(len(self.bounds)):
                    self._raise_floors()
                    self._locally(target)
        except Stopped:
            pass
        self._raise_floors()
        return [self._found(target) for target in range(len(self.bounds))]

    # What is known.

    def bound(self) -> np.ndarray:
        """int64 (targets,): no tree that keeps a target costs less."""
        least = np.where(self.listed, np.inf, self.lower).min(axis=1, initial=np.inf)
        return np.minimum(self.upper, np.maximum(np.maximum(self.floor, 0), least)).astype(np.int64)

    def _raise_floors(self) -> None:
        """A bound holds for all tighter targets, too."""
        self.floor = np.maximum.accumulate(self.bound())

    def _found(self, target: int) -> Found:
        test = label = cost = None
        if self.best[target] is not None:
            test, label = self.best[target]
            test = np.where(test >= 0, self.base.order[np.maximum(test, 0)], -1).astype(np.int32)
            cost = int(self.upper[target])
        bound = int(self.floor[target])
        none = bool(self.infeasible[target]) or (cost is None and bound >= self.upper[target])
        return Found(test, label, cost, bound, none, int(self._alive(target).sum()), len(self.subset))

    def _alive(self, target: int | None = None, place: int | None = None) -> np.ndarray:
        """bool (targets, cases): those that could hold a better tree; those of one target or of one case alone."""
        of = slice(None) if target is None else slice(target, target + 1)
        at = slice(None) if place is None else slice(place, place + 1)
        left = (self.upper[of] > self.floor[of]) & ~self.infeasible[of]
        found = ~self.listed[of, at] & (self.lower[of, at] < self.upper[of, None]) & left[:, None]
        return found if target is None else found[0]

    def tick(self) -> None:
        """Raises Stopped if the time is over."""
        if self._tick():
            raise Stopped

    def _order(self) -> list[int]:
        """The ends first, then the middles."""
        order, spans = [len(self.bounds) - 1, 0], [(0, len(self.bounds) - 1)]
        while spans:
            low, high = spans.pop(0)
            if high - low > 1:
                middle = (low + high) // 2
                order.append(middle)
                spans += [(low, middle), (middle, high)]
        return list(dict.fromkeys(order))

    # Trees.

    def _offer(self, test: np.ndarray, label: np.ndarray, cost: int, uses: np.ndarray) -> bool:
        """A tree for all targets that it keeps; whether it is better for one of them."""
        better = (cost < self.upper) & (uses <= self.bounds).all(axis=1)
        for target in np.flatnonzero(better).tolist():
            self.upper[target], self.best[target] = cost, (test.copy(), label.copy())
        return bool(better.any())

    def _measured(self, test: np.ndarray, label: np.ndarray) -> tuple[int, np.ndarray]:
        """(cost, uses) of a tree."""
        problem = self.base.problem
        node = leaves_of(problem, test)
        at, places, rows = label[node], np.unique(node), np.arange(len(node))
        n = int((test >= 0).sum())
        uses = problem.uses[:, rows, at].sum(axis=1) + problem.leaf_uses[:, label[places]].sum(axis=1)
        return int(problem.cost[rows, at].sum()) + problem.branch_cost * n, uses + problem.branch_uses * n

    def _leaves(self) -> None:
        for k in range(self.base.problem.n_labels):
            if self.base.tables.labels_of(self.base.counts.total)[k]:
                test, label = (np.full(2 ** (self.base.problem.depth + 1), -1, np.int32) for _ in range(2))
                label[1] = k
                self._offer(test, label, *self._measured(test, label))

    def _shallower(self) -> None:
        """Trees of less depth, as starts."""
        problem = self.base.problem
        less = replace(problem, depth=problem.depth - 1, allowed=problem.allowed[:-1])
        for found in FrontierSearch(less, self.bounds, self._tick, self.base.counts).run(exactly=False):
            if found.test is not None:
                heaps = [np.concatenate([heap, np.full(len(heap), -1, np.int32)]) for heap in (found.test, found.label)]
                self._offer(*heaps, *self._measured(*heaps))
        self.tick()

    def _look(self, root: int, subset: int, weights: Weights, own: dict | None) -> float:
        """Traces the cheapest tree of a case, offers it with its best labels to all targets; returns its weight."""
        structure, value = trace(self.base.tables, root, weights, self.base._tests(subset))
        if structure is None:
            return value
        if own is not None:
            tree = by_weight(self.base.tables, structure, weights)
            own[tree.cost, tuple(tree.uses.tolist())] = None
        key = structure.test.tobytes()
        if key in self._seen:
            return value
        self._seen.add(key)
        loosest, below = self.tables[0], float(self.upper.max())
        try:
            found = labellings(loosest, structure, below)
        except TooLarge:
            return value
        some = np.ones(len(self.bounds), bool)
        if len(found.cost) * len(some) <= MOST_FITS:
            keep = (found.uses[:, None] <= self.bounds).all(axis=2)
            some = (keep & (found.cost[:, None] < self.upper)).any(axis=0)
        for target in range(len(self.bounds)):
            place = cheapest(found, self.bounds[target], self.upper[target]) if some[target] else None
            if place is not None:
                tree = labelled(loosest, structure, found.choice[place])
                self._offer(tree.test, tree.label, tree.cost, tree.uses)
        return value

    # The parts of the search.

    def _weights(self, multipliers: np.ndarray) -> tuple[Weights, bool]:
        """(weights of multipliers, float64 (constraints,), whether they were tried before)."""
        m = np.clip(np.rint(multipliers * self.scale), 0, self.largest).astype(np.int64)
        return Weights.of(self.base.counts, self.scale, m), m.tobytes() in self._passed

    def _cuts(self, points, target: int) -> Cuts:
        cuts = Cuts(self.largest / self.scale)
        for cost, uses in points:
            cuts.add(cost, np.array(uses) - self.bounds[target])
        return cuts

    def _globally(self, target: int) -> None:
        """Multipliers for all cases of a target at once; each pass is one for all targets."""
        R, multipliers = self.bounds.shape[1], np.zeros(self.bounds.shape[1])
        for _ in range(ROUNDS if R else 1):
            if self._points:
                most, multipliers = self._cuts(self._points, target).best()
                budgets = [float(m @ self.bounds[target]) for m in self.tried]
                reached = max((v - b) / self.scale for v, b in zip(self._least, budgets))
                if most <= reached + 1e-6 * max(1.0, abs(reached)):
                    return
            weights, known = self._weights(multipliers)
            if known:
                return
            best = self._pass(weights)
            if not best:
                return
            for value, root, subset in best:
                self.tick()
                self._look(root, subset, weights, self._points if value == best[0][0] else None)
            if not self._alive(target).any():
                return

    def _pass(self, weights: Weights) -> list[tuple[float, int, int]]:
        """Bounds of all cases that are left of a target; the best of them as (weighted cost, root, subset)."""
        number, best = len(self.tried), []
        self.tried.append(weights.multipliers)
        self._passed.add(weights.multipliers.tobytes())
        budget = self.bounds.astype(float) @ weights.multipliers.astype(float)
        left = np.flatnonzero(self._alive().any(axis=0))
        every = np.full(len(left), np.inf)
        for root in np.unique(self.root[left]).tolist():
            self.tick()
            mine = self.root[left] == root
            value = self.base.tables.roots(root, weights, self.base._of(self.subset[left[mine]]))
            self._bounded(left[mine], value, budget, number)
            every[mine] = value
        for place in np.argsort(every, kind="stable")[:TRACED].tolist():
            if np.isfinite(every[place]):
                best.append((float(every[place]), int(self.root[left[place]]), int(self.subset[left[place]])))
        self._least.append(best[0][0] if best else np.inf)
        return best

    def _bounded(self, places: np.ndarray, value, budget: np.ndarray, number: int) -> None:
        """The bounds that values of some cases, float64 (places,), give to all targets."""
        bound = np.ceil((value[None, :] - budget[:, None]) / self.scale)
        better = bound > self.lower[:, places]
        self.lower[:, places] = np.where(better, bound, self.lower[:, places])
        self.number[:, places] = np.where(better, number, self.number[:, places])

    def _feasibility(self) -> None:
        """For the targets without a tree: one, or the proof that there is none, by halving them."""
        low = next((target for target, tree in enumerate(self.best) if tree is None), len(self.best))
        high = len(self.best) - 1  # of low .. high nothing is known
        while low <= high:
            middle = high if low == 0 else (low + high) // 2
            problem = replace(
                self.tables[middle].problem,
                cost=np.zeros_like(self.base.problem.cost),
                branch_cost=0,
                bound=self.bounds[middle],
            )
            found = ConstrainedSearch(problem, self._tick, counts=self.base.counts).run()
            self.tick()
            if found.infeasible:
                self.infeasible[middle:] = True
                high = middle - 1
            elif found.test is not None:
                self._offer(found.test, found.label, *self._measured(found.test, found.label))
                low = next((target for target, tree in enumerate(self.best) if tree is None), len(self.best))
                low = max(low, middle + 1)
            else:
                return

    def _locally(self, target: int) -> None:
        """Each case that is left of a target, best first: its own multipliers, then all trees that could cost less."""
        left = np.flatnonzero(self._alive(target))
        for place in left[np.argsort(self.lower[target, left], kind="stable")].tolist():
            if not self._alive(target, place)[0]:
                continue
            self.tick()
            if place in self._lists and self._join(target, place):
                continue
            if self._close(target, place, SHORT):
                continue
            self._tighten(target, place)
            if self._alive(target, place)[0]:
                self._close(target, place, MOST_PAIRS)

    def _tighten(self, target: int, place: int) -> None:
        if not self.bounds.shape[1]:
            return
        own = self._own.setdefault(place, {})
        multipliers = self.tried[self.number[target, place]] / self.scale
        for _ in range(ROUNDS):
            if own:
                most, multipliers = self._cuts(own, target).best()
                if np.ceil(most - 1e-6) <= self.lower[target, place]:
                    return
            weights, _ = self._weights(multipliers)
            before = len(own)
            value = self._look(int(self.root[place]), int(self.subset[place]), weights, own)
            budget = self.bounds.astype(float) @ weights.multipliers.astype(float)
            self.tried.append(weights.multipliers)
            self._least.append(-np.inf)
            self._bounded(np.array([place]), np.array([value]), budget, len(self.tried) - 1)
            if not self._alive(target, place)[0] or len(own) == before:
                return

    def _close(self, target: int, place: int, most: int) -> bool:
        """Lists the trees of a case that could cost less, for neighbouring targets, too, and joins them; False if
        there are more than `most` pairs."""
        m = self.tried[self.number[target, place]]
        limits = self._limits(m)
        mine = limits[target]
        room = mine - (self.scale * self.lower[target, place] + float(m @ self.bounds[target]))
        others = limits[self._alive(None, place)[:, 0]]
        limit = float(others[others <= mine + FURTHER * room].max(initial=mine))
        closer = self._closer(target, place, m)
        closer.most_pairs = most
        try:
            lists = closer.listed(int(self.root[place]), limit)
        except TooLarge:
            return False
        self._lists[place] = m, limit, lists
        return self._join(target, place)

    def _limits(self, multipliers: np.ndarray) -> np.ndarray:
        """float64 (targets,): what a tree that costs less than the best of each target weighs at most."""
        return self.scale * (self.upper - 1.0) + self.bounds.astype(float) @ multipliers.astype(float)

    def _join(self, target: int, place: int) -> bool:
        """Looks at all pairs of the lists of a case; False if the lists are too short for a target."""
        m, limit, lists = self._lists[place]
        if self._limits(m)[target] > limit:
            return False
        if lists is not None:
            closer = self._closer(target, place, m)
            below = int(self.upper[target])
            root = int(self.root[place])
            closer.join(root, lists, below, lambda *tree: self._offer(*tree, *self._measured(*tree)))
        self.listed[target, place] = True
        return True

    def _closer(self, target: int, place: int, multipliers: np.ndarray) -> GapCloser:
        tables, subset = self.tables[target], self.subset[place : place + 1]
        weights = Weights.of(tables.counts, self.scale, multipliers)
        return GapCloser(tables, weights, self.base._tests(int(subset[0])), self.base._of(subset), self.tick)
