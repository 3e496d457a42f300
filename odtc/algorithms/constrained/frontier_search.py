"""One search for many targets: the best tree for each of several increasingly tight constraints, with shared passes.

Each target is a separate constrained search (constrained_search) with its own best tree and bounds of cases. The
weighted cost of a tree at multipliers m, scale · cost + m · uses, does not depend on the bounds b. So one pass
(lagrangian_pass) gives for every case the value V(m) = min of these costs, and for every target b with the same uses a
bound on its trees,

    cost  ≥  max over all m tried of  (V(m) - m · b) / scale,

the lower envelope of (uses, cost) at b. Every tree found is offered to every target that it satisfies, and gives a cut
(multipliers) for every target. A bound of a target, or of one of its cases, is valid for all tighter targets. If the
uses differ between targets (for example for a precision or an F1 score), counts of rows, trees, cuts and bounds are
still shared, but a pass bounds only its own target and the tighter ones. Lists of subtrees are shared, too: a tree that
satisfies a tighter target t' satisfies t, so a tree of cost < UB' has

    scale · cost + m · uses_t  ≤  scale · (UB' - 1) + m · b_t,

and its uses of t' are a sum of its uses of two targets (shared_sums).
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.close_gap import MOST_PAIRS
from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    cost_of,
    fixed_point,
    named,
    padded,
    uses_of,
)
from odtc.algorithms.constrained.constrained_search import ROUNDS, ConstrainedSearch, Found, Stopped
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Weights
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.shared_sums import SharedSums
from odtc.algorithms.constrained.subtree_options import Options
from odtc.algorithms.constrained.trace_tree import Structure, by_weight, cheapest, labelled, labellings, structure_of
from odtc.base.value_class import value_class

ANY = 2**50  # a bound that no sum exceeds
FIRST = 3  # number of targets that are searched at less depth first: both ends and the middle
FURTHER = 4.0  # how far the limit of a list may be raised to serve other targets, relative to the gap that it closes
FAR = 40.0  # the same factor for short lists
SHORT = 200_000  # maximum number of pairs of a list that is made before separate multipliers are tried for the case
SEEKING = 3  # rounds of multipliers for a target without a tree, before checking whether there is one
MOST_FITS = 4_000_000  # maximum of labellings times targets that are compared at once


@value_class
class Lists:
    """The lists of a case, for some targets.

    Attributes
    ----------
    target : Target
        The target whose uses weight the costs.
    multipliers : int64 (constraints,)
    limit : float
        All trees up to this weighted cost are listed.
    sides : list of Options or None
        The subtrees on the two sides of the root; None if the case has no trees.
    """

    target: "Target"
    multipliers: np.ndarray
    limit: float
    sides: list[Options] | None


class FrontierSearch:
    """The search of one problem for many bounds.

    Parameters
    ----------
    problems : list of ConstrainedProblem
        The targets, the loosest first: a tree that satisfies one of them satisfies all earlier ones. They differ only
        by bounds, or by uses and bounds, and have no `accepts`.
    tick : Callable[[], bool]
        Returns whether the search has to end; called often.
    counts : Counts
        Of the same rows and splits, and all uses, if they were made already.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(
        self,
        problems: list[ConstrainedProblem],
        tick: Callable[[], bool] = lambda: False,
        counts: Counts | None = None,
    ):
        first, n, R = problems[0], len(problems), problems[0].n_constraints
        self._tick, self.bounds = tick, np.array([one.bound for one in problems], np.int64).reshape(n, R)
        self.shared = all(one.uses is first.uses or np.array_equal(one.uses, first.uses) for one in problems)
        # The sums of all targets are rows of one problem; `rows` are the numbers of the sums of each target.
        self.rows = np.tile(np.arange(R), (n, 1)) if self.shared else np.arange(n * R).reshape(n, R)
        most = np.maximum.reduce([np.abs(one.uses) for one in problems[: 1 if self.shared else n]])
        fixed = fixed_point(replace(first, uses=most, bound=np.abs(self.bounds).max(axis=0)))
        joint = replace(first, bound=self.bounds[0])
        if not self.shared:
            joint = replace(
                first,
                uses=np.concatenate([one.uses for one in problems]),
                bound=np.append(self.bounds[0], np.full((n - 1) * R, ANY)),
                branch_uses=np.tile(first.branch_uses, n),
                leaf_uses=np.tile(first.leaf_uses, (n, 1)),
            )
        self.joint = ConstrainedSearch(joint, tick, counts=counts, fixed=fixed)
        _ = self.joint.counts.pairs, self.joint.counts.total  # computed once, because copies share it
        self.met: dict[tuple, np.ndarray] = {}  # cost and uses of the trees that give cuts
        self.lists: dict[int, Lists] = {}  # by the positions of cases
        self.sums = self.listing = None
        if not self.shared and not (joint.branch_uses.any() or joint.leaf_uses.any()):
            self.sums = SharedSums.of(joint.uses, self.rows)
        if self.sums is not None:
            self.listing = self.joint.tables.of(self.counts_of(self.sums.listed))
        self._seen: set[bytes] = set()
        self.targets = [Target(self, number, fixed) for number in range(n)]

    def run(self, exactly: bool = True) -> list[Found]:
        """Return the results for each target, at the end or when the time is over."""
        try:
            for target in self.targets:
                target._leaves()
            if self.joint.problem.depth > 2 and exactly:
                self._shallower()
            for number in self._order():
                target = self.targets[number]
                if exactly and target.best is None and not target.infeasible:
                    target.globally(SEEKING)
                    self._feasibility()
                target.globally()
            for number, target in enumerate(self.targets if exactly else ()):
                self.hear(number)
                target._locally()
        except Stopped:
            pass
        return self.found

    @property
    def found(self) -> list[Found]:
        """The results so far for each target, at any moment."""
        self.hear(len(self.targets) - 1)
        found = (target.found for target in self.targets)
        return [one if one.split is None else replace(one, split=named(one.split, self.joint.order)) for one in found]

    def counts_of(self, sums: np.ndarray) -> Counts:
        """Return the counts for only some of the sums of the joint problem, int (some sums,); the counts for all sums
        if the targets share them."""
        counts, problem = copy(self.joint.counts), self.joint.problem
        if not self.shared:
            own = ("bound", "branch_uses", "leaf_uses", "uses")
            counts.uses = counts.uses[sums]
            counts.problem = replace(problem, **{name: getattr(problem, name)[sums] for name in own})
        return counts

    def hear(self, number: int) -> None:
        """Pass the bounds of looser targets on to tighter ones, up to the target of this number."""
        for looser, target in zip(self.targets, self.targets[1 : number + 1]):
            target.hear(looser)
            target.floor = max(target.floor, looser.bound)

    def _order(self) -> list[int]:
        """Return the order of the targets: the two ends first, then the middle of each gap."""
        order, spans = [len(self.bounds) - 1, 0], [(0, len(self.bounds) - 1)]
        while spans:
            low, high = spans.pop(0)
            if high - low > 1:
                middle = (low + high) // 2
                order.append(middle)
                spans += [(low, middle), (middle, high)]
        return list(dict.fromkeys(order))

    # Trees.

    def offer(self, split: np.ndarray, label: np.ndarray, cost: int, uses: np.ndarray) -> bool:
        """Offer a tree and its uses, int64 (sums,), to all targets that it satisfies; return whether it is better for
        one of them."""
        kept = np.flatnonzero((uses[self.rows] <= self.bounds).all(axis=1)).tolist()
        return sum(ConstrainedSearch.offer(self.targets[number], split, label, cost) for number in kept) > 0

    def label(self, structure: Structure) -> None:
        """Offer a tree with the best labels for each target, unless its splits were offered before."""
        key, joint, n = structure.split.tobytes(), self.joint.tables, len(self.bounds)
        if key in self._seen:
            return
        self._seen.add(key)
        upper = np.array([target.upper for target in self.targets])
        try:
            found = labellings(joint, structure, float(upper.max()))
        except TooLarge:
            return
        some = np.ones(n, bool)
        if len(found.cost) * n <= MOST_FITS:
            keep = (found.uses[:, self.rows] <= self.bounds).all(axis=2)
            some = (keep & (found.cost[:, None] < upper)).any(axis=0)
        for number in np.flatnonzero(some).tolist():
            below = self.targets[number].upper
            place = cheapest(found.cost, found.uses[:, self.rows[number]], self.bounds[number], below)
            if place is not None:
                tree = labelled(joint, structure, found.choice[place])
                self.offer(tree.split, tree.label, tree.cost, tree.uses)

    def _shallower(self) -> None:
        """Search trees of less depth for some targets, as starts for all."""
        some = sorted(self._order()[:FIRST])
        problems = [self.targets[number].problem for number in some]
        less = [replace(one, depth=one.depth - 1, allowed=one.allowed[:-1]) for one in problems]
        for found in FrontierSearch(less, self._tick, self.counts_of(self.rows[some].ravel())).run(exactly=False):
            if found.split is not None:
                split = padded(found.split, found.label, self.joint.problem.depth)[0]
                self.label(structure_of(self.joint.counts, split))
        self.joint.tick()

    def _feasibility(self) -> None:
        """Find a tree, or prove that there is none, for the targets without a tree: the tightest first, then the
        loosest, because the trees found by then often satisfy all other targets, and then the middle one of the open
        targets."""
        last, place, soon = len(self.targets) - 1, len(self.targets) - 1, True
        while place <= last and not self.targets[place].infeasible:
            target = self.targets[place]
            if target.best is None:
                target._feasibility()
            if target.infeasible:
                for tighter in self.targets[place:]:
                    tighter.infeasible = True
                last = place - 1
            elif target.best is None:
                return
            low = next((at for at, one in enumerate(self.targets) if one.best is None), len(self.targets))
            place, soon = low if soon or low > last else (low + last + 1) // 2, False


class Target(ConstrainedSearch):
    """The search of one target, which shares its trees and its passes with the others.

    Parameters
    ----------
    frontier : FrontierSearch
    number : int
        Of the target; the loosest is 0.
    fixed : (int, int64 (constraints,))
        The scale of the multipliers and the largest of them.
    """

    def __init__(self, frontier: FrontierSearch, number: int, fixed: tuple[int, np.ndarray]):
        joint, self.frontier, self.number = frontier.joint, frontier, number
        counts = frontier.counts_of(frontier.rows[number])
        problem = replace(counts.problem, bound=frontier.bounds[number])
        super().__init__(problem, frontier._tick, counts=counts, fixed=fixed)
        self.tables, self.by_tables = joint.tables.of(self.counts), copy(joint.by_tables)
        self.trees, self.by_tables.tables = self.by_tables, self.tables
        self._values = np.zeros(len(self.all.root))  # V of each case in the last pass, or NaN

    def globally(self, rounds: int = ROUNDS) -> None:
        """Find multipliers for all cases at once."""
        self.frontier.hear(self.number)
        if self._alive().any():
            self._globally(rounds)

    def offer(self, split: np.ndarray, label: np.ndarray, cost: int) -> bool:
        """Offer a tree to all targets, as FrontierSearch does."""
        return self.frontier.offer(split, label, cost, uses_of(self.frontier.joint.problem, split, label))

    @property
    def found(self) -> Found:
        """The results so far."""
        found = super().found
        return replace(found, infeasible=found.infeasible or (found.cost is None and found.bound >= self.upper))

    def _alive(self, at: int | slice = slice(None)) -> np.ndarray:
        return super()._alive(at) & (not self.infeasible)

    def _open(self) -> np.ndarray:
        served = self.frontier.targets[0 if self.frontier.shared else self.number :]
        return np.logical_or.reduce([target._alive() for target in served])

    def _known_cuts(self) -> Cuts:
        """Return the cuts of all trees found for any target."""
        cuts, rows = super()._known_cuts(), self.frontier.rows[self.number]
        for vector in self.frontier.met.values():
            cuts.add(vector[0], vector[1:][rows] - self.problem.bound)
        cuts.reach(self.bound)
        return cuts

    def _pass(self, weights: Weights, number: int) -> list[tuple[float, int]]:
        """Compute bounds of all remaining cases, for every target that they are valid for."""
        self._values = np.full(len(self.all.root), np.nan)
        best, m = super()._pass(weights, number), weights.multipliers
        here = np.flatnonzero(~np.isnan(self._values))
        for other in self.frontier.targets if self.frontier.shared or not m.any() else ():
            if other is not self:
                other.raise_bounds(other.number_of(m), here, self._values[here])
        return best

    def _tighten(self, at: int) -> None:
        """Settle a case by its lists, also for other targets, if they are short; otherwise as ConstrainedSearch."""
        if not (self._by_lists(at, SHORT, FAR) or self._by_lists(at, SHORT)):
            super()._tighten(at)

    def _close(self, at: int) -> None:
        self._by_lists(at, MOST_PAIRS)

    def _by_lists(self, at: int, most: int, further: float = FURTHER) -> bool:
        """List the trees of a case that could cost less than the best one, also for other targets, and join them.
        Return False if there are more than `most` pairs."""
        frontier, cases, trees = self.frontier, self.all, self.trees
        m, root, subset = self.tried[cases.multipliers[at]], int(cases.root[at]), int(cases.subsets[at])
        lists = frontier.lists.get(at)
        if lists is None or self._limit(lists.target, lists.multipliers) > lists.limit:
            limit = self._limit(self, m)
            most_served = limit + further * self.scale * (self.upper - 1 - cases.least[at])
            served = (other._limit(self, m) for other in frontier.targets if other._alive(at))
            limit = max([limit, *(one for one in served if one <= most_served)])
            closer = trees.closer(m, root, subset, self.tick)[0]
            closer.tables, closer.most_pairs = frontier.listing or closer.tables, most
            try:
                lists = frontier.lists[at] = Lists(self, m, limit, closer.listed(root, limit))
            except TooLarge:
                return False
        if lists.sides is not None:
            sides = lists.sides
            if frontier.sums is not None and not frontier.shared:
                sides = [frontier.sums.seen_by(self.number, side) for side in sides]
            joining = trees.closer(lists.multipliers, root, subset, self.tick)[0]
            joining.join(root, sides, self.upper, lambda *tree: self.offer(*tree, cost_of(self.problem, *tree)))
        cases.listed[at] = True
        return True

    def _limit(self, target: "Target", multipliers: np.ndarray) -> float:
        """Return the maximum weighted cost of a tree that costs less than the best one of this target, where another
        target's uses weight the costs; infinite if lists by those uses cannot serve this target."""
        shared = self.frontier.shared
        if not shared and target is not self and (self.frontier.sums is None or self.number < target.number):
            return np.inf
        budget = (self if shared else target).problem.budget(multipliers)
        return self.scale * (self.upper - 1.0) + budget

    def raise_bounds(self, number: int, left: np.ndarray, value: np.ndarray) -> None:
        """Raise bounds as ConstrainedSearch does, and keep the values for the other targets."""
        super().raise_bounds(number, left, value)
        self._values[left] = value

    def _look(self, root: int, subset: int, weights: Weights, cuts: Cuts | None) -> float:
        """Trace the cheapest tree of a case, as ConstrainedSearch does, for all targets."""
        structure, value = self.trees.trace(weights, root, subset)
        if structure is None:
            return value
        if cuts is not None:
            tree = by_weight(self.frontier.joint.tables, structure, weights)
            vector = np.append(tree.cost, tree.uses)
            self.frontier.met[tuple(vector.tolist())] = vector
            cuts.add(tree.cost, tree.uses[self.frontier.rows[self.number]] - self.problem.bound, root)
        self.frontier.label(structure)
        return value
