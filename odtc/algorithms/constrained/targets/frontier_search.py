"""One search for many targets: the best tree for each of some constraints that grow tighter, by passes that serve all.

The weighted cost of a tree at multipliers m, scale · cost + m · uses, does not depend on the bounds b. So one pass
(lagrangian_pass) gives for every case the value V(m) = min of these costs, and for every target b with the same uses a
bound on its trees,

    cost  ≥  max over all m tried of  (V(m) - m · b) / scale,

the lower envelope of (uses, cost) seen from b. Every tree found is offered to every target that it satisfies, and is a
cut (multipliers) for every target. A bound of a target, or of one of its cases, is valid for all tighter ones. The
remaining cases of a target are closed one by one, as in a search for a single target (close_gap). If the uses differ
from target to target (a precision, an F1 score), counts of rows, trees, cuts and bounds are still shared; a pass then
bounds the target that it was made for, and the tighter ones. Lists of subtrees are shared, too: a tree that satisfies
a tighter target t' satisfies t, so a tree of cost < UB' has

    scale · cost + m · uses_t  ≤  scale · (UB' - 1) + m · b_t,

and its uses of t' are a sum of its uses of two targets (shared_sums).
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.close_gap import MOST_PAIRS, GapCloser
from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    fixed_point,
    in_fixed_point,
    leaves_of,
    named,
)
from odtc.algorithms.constrained.constrained_search import ROUNDS, ConstrainedSearch, Found, Stopped
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.targets.shared_sums import SharedSums
from odtc.algorithms.constrained.trace_tree import by_weight, cheapest, labelled, labellings

ANY = 2**50  # no sum is greater
TRACED = 4  # cases whose trees are traced after each pass: there are many passes
FIRST = 3  # targets that have passes of their own at less depth: the ends and the middle
FURTHER = 4.0  # lists are made this much longer if that serves other targets: relative to the gap that they close
FAR = 40.0  # the same for short lists
SEEKING = 3  # rounds of multipliers for a target without a tree, before checking whether there is one
SHORT = 200_000  # pairs of a list that is made before the case has multipliers of its own
MOST_FITS = 4_000_000  # labellings times targets that are compared at once


class FrontierSearch:
    """The search of one problem for many bounds.

    Parameters
    ----------
    problem : ConstrainedProblem
        Without `accepts`; its own bound is not read, nor are its uses if others are given.
    bounds : int64 (targets, constraints)
        The loosest first: a tree that satisfies a target satisfies all before it.
    tick : Callable[[], bool]
        Returns whether the search has to end; called often.
    counts : Counts
        Of the same rows and splits, and all uses, if they were made already.
    uses : int64 (targets, constraints, rows, labels) or None
        Of each target, if they are not the uses of the problem for all.

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
        uses: np.ndarray | None = None,
    ):
        self.bounds, self._tick = np.asarray(bounds, np.int64), tick
        n, R = self.bounds.shape
        self.shared = uses is None
        # The sums of all targets are rows of one problem; `rows` are the numbers of the sums of each target.
        self.rows = np.tile(np.arange(R), (n, 1)) if self.shared else np.arange(n * R).reshape(n, R)
        most = problem.uses if self.shared else np.abs(uses).max(axis=0)
        self.scale, self.largest = fixed_point(replace(problem, uses=most, bound=np.abs(self.bounds).max(axis=0)))
        every, times = self.bounds[0], 1
        if not self.shared:
            problem = replace(problem, uses=uses.reshape(n * R, *uses.shape[2:]))
            every, times = np.append(self.bounds[0], np.full((n - 1) * R, ANY)), n
        joint = replace(
            problem,
            bound=every,
            branch_uses=np.tile(problem.branch_uses[:R], times),
            leaf_uses=np.tile(problem.leaf_uses[:R], (times, 1)),
        )
        self.base = ConstrainedSearch(joint, tick, counts=counts, scale=self.scale)
        _ = self.base.counts.pairs, self.base.counts.total  # once for all copies
        self.tables = [self._for(self.rows[target], self.bounds[target]) for target in range(n)]
        self.sums = None if self.shared else SharedSums.of(self.base.tables.counts, self.rows, self.bounds)
        self.listing = None if self.sums is None else self._for(self.sums.listed, None)
        most = problem.most_cost
        self.upper = np.full(n, most + 1)
        self.best: list = [None] * n
        self.floor = np.zeros(n, np.int64)
        self.infeasible = np.zeros(n, bool)
        self.tried: list[np.ndarray] = []
        self._of: list[int] = []  # the targets that these were tried for
        self._least: list[float] = []  # of each multipliers tried, the least value of a pass
        self._points: dict = {}  # (cost, uses) of trees found
        self._own: dict = {}  # of single cases
        self._lists: dict = {}  # of single cases, the last lists: (target, multipliers, their limit, the two sides)
        self._passed: set = set()  # multipliers of passes
        self._seen: set = set()
        # All cases in one row, those of a root together; `lower`, `number` (of the multipliers that gave it)
        # and `listed` are (targets, cases).
        self.roots = list(self.base._cases)
        self.subset, self.root = self.base.all.subsets, self.base.root
        self.lower = np.full((n, len(self.subset)), -np.inf)
        self.number = np.zeros((n, len(self.subset)), int)
        self.listed = np.zeros((n, len(self.subset)), bool)

    def _for(self, rows: np.ndarray, bound: np.ndarray | None) -> Pass:
        """Return the tables with some of the sums, int (sums,), and their bound; None for the bound of the joint
        problem."""
        tables, counts = copy(self.base.tables), copy(self.base.counts)
        problem = self.base.problem
        own = {"bound": problem.bound[rows] if bound is None else bound}
        if not self.shared:
            counts.uses = counts.uses[rows]
            own |= {key: getattr(problem, key)[rows] for key in ("uses", "branch_uses", "leaf_uses")}
        tables.problem = counts.problem = replace(problem, **own)
        tables.counts = counts
        return tables

    def run(self, exactly: bool = True) -> list[Found]:
        """Return the results for each target, at the end or when the time is over."""
        try:
            self._leaves()
            if self.base.problem.depth > 2 and exactly:
                self._shallower()
            for target in self._order()[: None if exactly else FIRST]:
                if exactly and self.best[target] is None and not self.infeasible[target]:
                    self._globally(target, SEEKING)
                    self._feasibility()
                self._globally(target)
            if exactly:
                for target in range(len(self.bounds)):
                    self._raise_floors()
                    self._locally(target)
        except Stopped:
            pass
        return self.found

    # Results so far.

    @property
    def found(self) -> list[Found]:
        """The results so far for each target, at any moment."""
        self._raise_floors()
        return [self._found(target) for target in range(len(self.bounds))]

    def bound(self) -> np.ndarray:
        """Return int64 (targets,): a lower bound on the cost of trees that satisfy each target."""
        least = np.where(self.listed, np.inf, self.lower).min(axis=1, initial=np.inf)
        return np.minimum(self.upper, np.maximum(np.maximum(self.floor, 0), least)).astype(np.int64)

    def _raise_floors(self) -> None:
        """Use the bound of each target for all tighter targets, too."""
        self.floor = np.maximum.accumulate(self.bound())

    def _found(self, target: int) -> Found:
        split = label = cost = None
        if self.best[target] is not None:
            split, label = self.best[target]
            split = named(split, self.base.order)
            cost = int(self.upper[target])
        bound = int(self.floor[target])
        none = bool(self.infeasible[target]) or (cost is None and bound >= self.upper[target])
        return Found(split, label, cost, bound, none, int(self._alive(target).sum()), len(self.subset))

    def _alive(self, target: int | None = None, place: int | None = None) -> np.ndarray:
        """Return bool (targets, cases): whether a case could contain a better tree; only for one target or for one
        case if it is given."""
        of = slice(None) if target is None else slice(target, target + 1)
        at = slice(None) if place is None else slice(place, place + 1)
        left = (self.upper[of] > self.floor[of]) & ~self.infeasible[of]
        found = ~self.listed[of, at] & (self.lower[of, at] < self.upper[of, None]) & left[:, None]
        return found if target is None else found[0]

    def tick(self) -> None:
        """Raise Stopped if the time is over."""
        if self._tick():
            raise Stopped

    def _order(self) -> list[int]:
        """Return the targets, the ends first, then the middles."""
        order, spans = [len(self.bounds) - 1, 0], [(0, len(self.bounds) - 1)]
        while spans:
            low, high = spans.pop(0)
            if high - low > 1:
                middle = (low + high) // 2
                order.append(middle)
                spans += [(low, middle), (middle, high)]
        return list(dict.fromkeys(order))

    # Trees.

    def _offer(self, split: np.ndarray, label: np.ndarray, cost: int, uses: np.ndarray) -> bool:
        """Offer a tree to all targets that it satisfies; return whether it is better for one of them."""
        better = (cost < self.upper) & (uses[self.rows] <= self.bounds).all(axis=1)
        for target in np.flatnonzero(better).tolist():
            self.best[target], self.upper[target] = (split.copy(), label.copy()), cost
        return bool(better.any())

    def _measured(self, split: np.ndarray, label: np.ndarray) -> tuple[int, np.ndarray]:
        """Return (cost, uses) of a tree."""
        problem = self.base.problem
        node = leaves_of(problem, split)
        at, places, rows = label[node], np.unique(node), np.arange(len(node))
        n = int((split >= 0).sum())
        uses = problem.uses[:, rows, at].sum(axis=1) + problem.leaf_uses[:, label[places]].sum(axis=1)
        return int(problem.cost[rows, at].sum()) + problem.branch_cost * n, uses + problem.branch_uses * n

    def _leaves(self) -> None:
        for k in range(self.base.problem.n_labels):
            if self.base.tables.labels_of(self.base.counts.total)[k]:
                split, label = (np.full(2 ** (self.base.problem.depth + 1), -1, np.int32) for _ in range(2))
                label[1] = k
                self._offer(split, label, *self._measured(split, label))

    def _shallower(self) -> None:
        """Search trees of less depth, as starts."""
        problem = self.base.problem
        less = replace(self.tables[0].problem, depth=problem.depth - 1, allowed=problem.allowed[:-1])
        uses = None if self.shared else problem.uses[self.rows]
        for found in FrontierSearch(less, self.bounds, self._tick, self.base.counts, uses).run(exactly=False):
            if found.split is not None:
                heaps = [
                    np.concatenate([heap, np.full(len(heap), -1, np.int32)]) for heap in (found.split, found.label)
                ]
                self._offer(*heaps, *self._measured(*heaps))
        self.tick()

    def _look(self, root: int, subset: int, weights: Weights, own: dict | None) -> float:
        """Trace the cheapest tree of a case, and offer it with its best labels to all targets; return its weighted
        cost."""
        structure, value = self.base.by_tables.trace(weights, root, subset)
        if structure is None:
            return value
        if own is not None:
            tree = by_weight(self.base.tables, structure, weights)
            own[tree.cost, tuple(tree.uses.tolist())] = None
        key = structure.split.tobytes()
        if key in self._seen:
            return value
        self._seen.add(key)
        joint, below = self.base.tables, float(self.upper.max())
        try:
            found = labellings(joint, structure, below)
        except TooLarge:
            return value
        some = np.ones(len(self.bounds), bool)
        if len(found.cost) * len(some) <= MOST_FITS:
            keep = (found.uses[:, self.rows] <= self.bounds).all(axis=2)
            some = (keep & (found.cost[:, None] < self.upper)).any(axis=0)
        for target in range(len(self.bounds)):
            if not some[target]:
                continue
            place = cheapest(found.cost, found.uses[:, self.rows[target]], self.bounds[target], self.upper[target])
            if place is not None:
                tree = labelled(joint, structure, found.choice[place])
                self._offer(tree.split, tree.label, tree.cost, tree.uses)
        return value

    # The parts of the search.

    def _weights(self, target: int, multipliers: np.ndarray) -> Weights:
        """Return the weights of multipliers, float64 (constraints,)."""
        m = in_fixed_point(multipliers, self.scale, self.largest)
        return Weights.of(self.tables[target].counts, self.scale, m)

    def _cuts(self, points, target: int) -> Cuts:
        cuts = Cuts(self.largest / self.scale)
        for cost, uses in points:
            cuts.add(cost, np.array(uses)[self.rows[target]] - self.bounds[target])
        return cuts

    def _globally(self, target: int, rounds: int = ROUNDS) -> None:
        """Find multipliers for all cases of a target at once; each pass serves all targets."""
        R, multipliers = self.bounds.shape[1], np.zeros(self.bounds.shape[1])
        self._raise_floors()
        for _ in range(rounds if R else 1):
            if not self._alive(target).any():
                return
            if self._points:
                most, multipliers = self._cuts(self._points, target).best()
                if np.ceil(most - 1e-6) <= np.ceil(self._reached(target) - 1e-6):
                    return
            weights = self._weights(target, multipliers)
            if self._key(target, weights.multipliers) in self._passed:
                return
            best = self._pass(target, weights)
            if not best:
                return
            for value, place in best:
                self.tick()
                first = value == best[0][0]
                if first or self._alive(target, place).any():
                    root, subset = int(self.root[place]), int(self.subset[place])
                    self._look(root, subset, weights, self._points if first else None)

    def _key(self, target: int, multipliers: np.ndarray) -> tuple[int, bytes]:
        return self._first(target, multipliers), multipliers.tobytes()

    def _first(self, target: int, multipliers: np.ndarray) -> int:
        """Return the loosest target with the same weighted costs as this one."""
        return 0 if self.shared or not multipliers.any() else target

    def _reached(self, target: int) -> float:
        """Return the greatest bound on all trees of a target that passes gave."""
        found = -np.inf
        for of, m, least in zip(self._of, self.tried, self._least):
            if self.shared or of <= target:
                found = max(found, (least - float(m @ self.bounds[target if self.shared else of])) / self.scale)
        return found

    def _pass(self, target: int, weights: Weights) -> list[tuple[float, int]]:
        """Compute bounds of all remaining cases of a target; return the best of them as (weighted cost, position)."""
        best, target = [], self._first(target, weights.multipliers)
        number = self._numbered(target, weights)
        self._passed.add(self._key(target, weights.multipliers))
        left = np.flatnonzero((self._alive() if self.shared else self._alive()[target:]).any(axis=0))
        every = np.full(len(left), np.inf)
        for root in np.unique(self.root[left]).tolist():
            self.tick()
            mine = self.root[left] == root
            value = self.base.tables.roots(root, weights, self.base.by_tables.segments(self.subset[left[mine]]))
            self._bounded(target, left[mine], value, number)
            every[mine] = value
        for place in np.argsort(every, kind="stable")[:TRACED].tolist():
            if np.isfinite(every[place]):
                best.append((float(every[place]), int(left[place])))
        self._least[number] = best[0][0] if best else np.inf
        return best

    def _numbered(self, target: int, weights: Weights) -> int:
        """Store multipliers that are tried for a target, and return their number."""
        self.tried.append(weights.multipliers)
        self._of.append(target)
        self._least.append(-np.inf)
        return len(self.tried) - 1

    def _bounded(self, target: int, places: np.ndarray, value, number: int) -> None:
        """Update the bounds of the targets by the values of some cases, float64 (positions,)."""
        m = self.tried[number].astype(float)
        budget = self.bounds @ m
        bound = np.ceil((value[None, :] - budget[:, None]) / self.scale)
        if not self.shared:  # the bounds of the target, and of the tighter ones
            bound = np.where(np.arange(len(budget))[:, None] >= target, bound[target], -np.inf)
        better = bound > self.lower[:, places]
        self.lower[:, places] = np.where(better, bound, self.lower[:, places])
        self.number[:, places] = np.where(better, number, self.number[:, places])

    def _feasibility(self) -> None:
        """Find a tree, or prove that there is none, for the targets without a tree. Trees with the least uses come
        first, which settles all if there is one sum; the remaining range is halved."""
        last = len(self.best) - 1
        if not self.bounds.shape[1] or self.best[last] is not None:
            return
        if not self.infeasible[last]:
            self._seek(last)
        low, before = self._loosest_without(), -1
        while before < low <= last and not self.infeasible[low]:
            self._seek(low)
            low, before = self._loosest_without(), low
        while low <= last and not self.infeasible[low]:
            # Nothing is known about low .. last.
            middle = last if low == 0 else (low + last) // 2
            tables = self.tables[middle]
            problem = replace(tables.problem, cost=np.zeros_like(self.base.problem.cost), branch_cost=0)
            search = ConstrainedSearch(problem, self._tick, counts=tables.counts)
            search.begun = True  # trees of less depth were tried for all targets
            found = search.run()
            self.tick()
            if found.infeasible:
                self.infeasible[middle:] = True
                last = middle - 1
            elif found.split is not None:
                self._offer(found.split, found.label, *self._measured(found.split, found.label))
                low = max(self._loosest_without(), middle + 1)
            else:
                return

    def _loosest_without(self) -> int:
        """Return the loosest target without a tree."""
        return next((target for target, tree in enumerate(self.best) if tree is None), len(self.best))

    def _seek(self, target: int) -> None:
        """Offer trees that use least of the sums of a target, weighted by the largest multipliers m, to all targets. A
        tree that satisfies the target has m · uses ≤ m · bound, so there is none if the least m · uses is more."""
        weights, found = Weights.of(self.tables[target].counts, 0, self.largest), []
        for root in self.roots:
            self.tick()
            subsets = self.base._cases[root].subsets
            value = self.base.tables.roots(root, weights, self.base.by_tables.segments(subsets))
            place = int(value.argmin())
            found.append((float(value[place]), root, int(subsets[place])))
        found.sort()
        if not found or found[0][0] > weights.budget:
            self.infeasible[target:] = True
        for value, root, subset in found[:TRACED]:
            if value < np.inf:
                self._look(root, subset, weights, None)

    def _locally(self, target: int) -> None:
        """Settle each remaining case of a target, best first: its own multipliers, then all trees that could cost
        less."""
        left = np.flatnonzero(self._alive(target))
        for place in left[np.argsort(self.lower[target, left], kind="stable")].tolist():
            if not self._alive(target, place)[0]:
                continue
            self.tick()
            if place in self._lists and self._join(target, place):
                continue
            if self._close(target, place, SHORT, FAR) or self._close(target, place, SHORT):
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
            weights = self._weights(target, multipliers)
            before = len(own)
            value = self._look(int(self.root[place]), int(self.subset[place]), weights, own)
            self._bounded(target, np.array([place]), np.array([value]), self._numbered(target, weights))
            if not self._alive(target, place)[0] or len(own) == before:
                return

    def _close(self, target: int, place: int, most: int, further: float = FURTHER) -> bool:
        """List the trees of a case that could cost less, for neighbouring targets, too, and join them; return False if
        there are more than `most` pairs."""
        m = self.tried[self.number[target, place]]
        limits = self._limits(target, m)
        mine = limits[target]
        room = mine - (self.scale * self.lower[target, place] + float(m @ self.bounds[target]))
        others = limits[self._alive(None, place)[:, 0] & self._served(target)]
        limit = float(others[others <= mine + further * room].max(initial=mine))
        closer = self._closer(target, place, m)
        if self.listing is not None:
            closer.tables = self.listing
        closer.most_pairs = most
        try:
            lists = closer.listed(int(self.root[place]), limit)
        except TooLarge:
            return False
        self._lists[place] = target, m, limit, lists
        return self._join(target, place)

    def _served(self, target: int) -> np.ndarray:
        """Return bool (targets,): whether the lists of this target may contain the trees of each target."""
        every = np.arange(len(self.bounds))
        return (every >= 0) if self.shared else (every == target) if self.sums is None else (every >= target)

    def _limits(self, target: int, multipliers: np.ndarray) -> np.ndarray:
        """Return float64 (targets,): the maximum weighted cost of a tree of each target that costs less than its best,
        with the uses of `target`; valid only for served targets."""
        budget = self.bounds if self.shared else self.bounds[target]
        return self.scale * (self.upper - 1.0) + budget.astype(float) @ multipliers.astype(float)

    def _join(self, target: int, place: int) -> bool:
        """Try all pairs of the lists of a case; return False if the lists are too short for a target."""
        of, m, limit, lists = self._lists[place]
        if not self._served(of)[target] or self._limits(of, m)[target] > limit:
            return False
        below = int(self.upper[target])
        if lists is not None:
            closer, root = self._closer(target, place, m), int(self.root[place])
            if self.sums is not None:
                lists = [self.sums.seen_by(target, part) for part in lists]
                closer.tables = copy(closer.tables)
                closer.tables.problem = self.sums.problem_of(target, closer.tables.problem)
            below = closer.join(root, lists, below, lambda *tree: self._offer(*tree, *self._measured(*tree)))
        self.listed[target, place] = True
        self.lower[target:, place] = np.maximum(self.lower[target:, place], below)
        return True

    def _closer(self, target: int, place: int, multipliers: np.ndarray) -> GapCloser:
        tables, subset = self.tables[target], self.subset[place : place + 1]
        weights = Weights.of(tables.counts, self.scale, multipliers)
        trees = self.base.by_tables
        return GapCloser(tables, weights, trees.splits(int(subset[0])), trees.segments(subset), self.tick)
