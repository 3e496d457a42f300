"""Search over all splits of a problem, in phases: the best tree so far and a bound are available at every moment.

First a greedy search finds a good tree of the problem's depth. Then smaller depths are proved, as long as that takes a
small fraction of the time, and finally the full depth. For deep trees such a proof seldom ends, so better trees are
first searched for near the best one (odtc.algorithms.thresholds.near_trees). If a limit or Ctrl-C ends the search, the
results are the best tree of all phases, at least as good as the tree that was known before, and the bound of the open
intervals (odtc.algorithms.thresholds.rank_search).
"""

import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from odtc.algorithms.near_optimal.fewest_columns import FewestColumns, NoTree, TooMany
from odtc.algorithms.near_optimal.tree_set import TreeRows, TreeSet
from odtc.algorithms.thresholds import early_bound
from odtc.algorithms.thresholds.few_nodes.shapes import Shape, named
from odtc.algorithms.thresholds.rank_search import NONE, RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows
from odtc.base import deadline
from odtc.base.whole_numbers import MAX_EXACT
from odtc.data.threshold_scales import Scales
from odtc.errors import TimeLimitReached
from odtc.formulations.dpflow.forms import beyond_rows, is_plain
from odtc.formulations.dpflow.searched import REPORT_SECONDS, Fewest, Searched
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.problem.branch_penalty import objective
from odtc.problem.constraints.constraint import broken, least_rows
from odtc.problem.exact_objective import exact_objective, rounded_down, search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

SMALLER_DEPTH_SHARE = 0.2  # fraction of the remaining time for the proof of one smaller depth
BOUND = 0.2, 0.4  # fraction of the remaining time for a bound; the second if the proof of a smaller depth did not end
BETTER = 0.8  # fraction of the time that then remains, for better trees, if the proof of a smaller depth did not end
DEEP = 5  # from this depth on, no proof is begun after the proof of a smaller depth did not end
AROUND = 0.4  # fraction of the time for better trees of depth DEEP or more, for step-by-step changes of the best one
NEAR_TREES_SHARE = 0.2  # fraction of the remaining time for trees near the best one, if all smaller depths are proved
MOVES_SHARE = 0.3  # fraction of the time for a deep tree by moves of single splits, before everything else
MOVES = 0.75  # fraction of the time for better deep trees, for more moves, if moves found the best tree so far
DEEPEST = 12  # maximum depth of a tree that is improved by moves, because each level doubles their arrays
RISING = 0.8  # fraction of the time for bounds of depth 2 on a large table
COMMON = 0.05, 0.5  # fraction of the time for a first bound by common rows; the second on a large table
BINS = 0.5  # fraction of the time for a first bound of depth 3 by bins of the columns of a large table,
AS_LONG = 2.5  # and at most this many times the time of its first tree, because a quick tree is often proved quickly
SHOWN = 0.5  # fraction of the cost of the best tree; if the bound by bins is lower, common rows are tried, too
SIDES = 0.65  # fraction of the time for a first bound of depth 4 by bins of the sides of the first cuts,
SLOW_SHARE = 0.25  # if a bound by the search is expected to take more than this fraction of the time
PHASE = 60.0  # maximum number of seconds of each of these phases
TREES, TURN = 0.3, 0.5  # seconds for better trees, per second of search for a bound; they are saved up to at least TURN
FEWEST_ENTRIES = 1e7  # the search for the fewest leaves may evaluate nodes with this many entries,
FEWEST = 0.15  # or this fraction of the evaluations of the proof, whichever is more
LOOKS = 1e7  # the search for the fewest columns may evaluate splits with at least this many entries
CELLS_FOR_BINS = 1e5  # rows times columns; above it, a tree over PARTS bins of each column is searched for first
PARTS = 16  # bins of a column, with about equally many rows
COARSE = 0.5  # fraction of the time for the tree over bins
RANKED = 2e6  # rows times columns; above it, ranking the rows for a search takes longer than a moment


def searches(problem: Problem) -> bool:
    """Return whether the search supports everything that the problem requests: constraints, and no special variant of
    the file."""
    return is_plain(problem) and beyond_rows(problem) is None


def _fewest_columns(splits: RankedSplits, search: RankSearch, depth: int, heap: HeapTree, need: int):
    """Return (columns as bits of a whole number, the tree, nested): the tree with the fewest columns among all trees of
    the proved least cost. `need` is the cost of the known tree as given to the search."""
    if splits.encoded.by_column and splits.ranked.has_copies:
        raise TooMany  # of several columns that are equal, the search contains only one
    looks = splits.looks()
    asked = {feature for split in heap.split[heap.split >= 0] for feature in splits.encoded.splits[split].features}
    rows, known = TreeRows(splits.ranked), search.known(depth)
    if known.upper > need <= known.lower:  # none costs less than the known tree, if its cost was not rounded
        try:
            return FewestColumns(TreeSet(rows, search, depth, need), looks, len(asked)).solve()
        except NoTree:
            pass
    trees = TreeSet(rows, search, depth, search.value(search.root, depth).upper)
    return FewestColumns(trees, looks, len(asked)).solve()


def bound_first(search: RankSearch, early: early_bound.EarlyBound, depth: int, need: int = NONE) -> None:
    """Search for a bound of all trees of a depth before good trees, until the proof or the end of the time. Only trees
    that cost less than `need` are searched for."""
    if depth > 2:
        early.by_common_rows(True)
        search.dive(depth)
    if depth > 1:
        early.raise_all(True)
    search.solve(depth, need)


class ThresholdSearch:
    """The search of one problem.

    Parameters
    ----------
    problem : Problem
    start : HeapTree or None, a tree that is known
    tell : called with (bound, objective, phase as text) now and then
    among : int (some ordered features,), those that a tree may use; None for all
    scales : Scales of the encoding, if they are known
    """

    def __init__(
        self,
        problem: Problem,
        start: HeapTree | None = None,
        tell: Callable[[float, float, str], None] | None = None,
        among: np.ndarray | None = None,
        scales: Scales | None = None,
    ):
        self.problem, self.start, self.tell = problem, start, tell
        self.costs = search_costs(problem)
        splits = RankedSplits(
            problem.encoded,
            self.costs.price,
            least_rows(problem),
            self.costs.loss,
            keep=self.costs.parts is not None,  # rounded costs of 0 may be more
            among=among,
            scales=scales,
        )
        self.scales = splits.scales
        self.began = self.told = time.monotonic()
        self.shape: Shape = problem.topology.depth  # of the trees that are sought
        self.height: Shape = 0  # of the trees that are searched at the moment
        self.proved: list[int] = []
        self.priced: tuple[HeapTree | None, float] | None = None
        self.early: early_bound.EarlyBound | None = None  # of `run_for_bound`
        # Proofs for deep trees seldom end, so a search for fewer branch nodes would go on until the time limit.
        counts = self._can_count(splits.ranked) and not self._is_deep(splits.ranked)
        self._begin(splits.counting(self._more_than_nodes) if counts else splits)

    def _begin(self, splits: RankedSplits) -> None:
        """Begin a search of ranked rows, whose branch nodes may be counted."""
        self.splits, self.ranked = splits, splits.ranked
        self.search = RankSearch(self.ranked, self._check, self._found)
        self.need = NONE
        self.limit: tuple[float, float] | None = None  # evaluations and looks allowed after the proof of the cost
        self.looks: int | None = None  # looks for the fewest columns so far

    @property
    def bound(self) -> float:
        """Return the lower bound on the objective of all trees."""
        return rounded_down(self._exact_bound)

    @property
    def _exact_bound(self) -> Fraction:
        return Fraction(self.ranked.cost(self._lower)) * self.costs.step

    @property
    def _lower(self) -> int:
        return self.search.lower(self.shape)

    def _paid(self, cost: int) -> float:
        """Return the approximate objective of a tree of this cost in the search."""
        return self.ranked.cost(cost) * float(self.costs.step)

    @property
    def upper(self) -> float:
        """Return the objective of the best tree so far."""
        found = self._paid(self.search.known(self.shape).upper)
        return found if self.start is None else min(found, self._start_cost())

    @property
    def phase(self) -> str:
        """Return the proved part, and the results for the depth that is searched, as text."""
        if self.height == self.shape:
            cost, bound = self.upper, self.bound
        else:
            known = self.search.known(self.height)
            cost, bound = map(self._paid, (known.upper, known.lower))
        # A tree of less depth that costs more than the best is not reported; at first it is one leaf.
        found = f"objective {cost:.6g}, " if cost <= self.upper else ""
        searched = f"depth {named(self.height)}: {found}bound {min(cost, bound):.6g}"
        return ", ".join([*(f"depth {height} proved" for height in self.proved[-1:]), searched])

    def run(self) -> Searched:
        """Search until the proof, the end of the time (odtc.base.deadline) or Ctrl-C."""
        ended: BaseException | None = None
        try:
            self._phases()
        except (TimeLimitReached, KeyboardInterrupt) as error:
            ended = error
        heap, _ = self._best()
        interrupted = isinstance(ended, KeyboardInterrupt)
        if interrupted:
            deadline.end_soon(deadline.IN_HAND if self.limit else deadline.GRACE)  # the following steps have a moment
        self.start = heap  # it may cost less than recorded, because a subtree improved just before the end
        if self.limit or ended is None:
            return self._certified(self.smallest(heap, self._exact_bound, ended))
        return self._certified(self._ended(heap, self._exact_bound, interrupted))

    def run_for_bound(self, tell: Callable[[float, float, str], None] | None = None) -> Searched:
        """Find a bound first, and the best tree met; until the end of the time, or Ctrl-C. Another call continues
        where it ended. `tell` is as of this class."""
        depth = self.height = self.problem.topology.depth
        early = self.early = self.early or early_bound.EarlyBound(self.search, depth, self._known_cost())
        self.tell = tell
        with deadline.cut_short():
            bound_first(self.search, early, depth)
        heap, _ = self._best()
        return self._ended(heap, self._exact_bound, deadline.is_interrupted())

    def _certified(self, found: Searched) -> Searched:
        """Return the result with its certificate; without one if bounds of height 3 or more were dropped, because it
        needs some of these."""
        if self.search.tallest_dropped > 2:
            return found
        from odtc.formulations.dpflow.write_certificate import certify_search

        return replace(found, certificate=lambda: certify_search(self, found.heap, deadline.check))

    def _ended(self, heap: HeapTree, bound: Fraction, interrupted: bool = False, **more) -> Searched:
        """Return a tree with an exact bound."""
        exact = exact_objective(self.problem)
        if exact is None:
            paid = objective(self.problem, heap)
            return Searched(heap, min(paid, float(bound)), False, 0, 1, self.phase, interrupted, **more)
        shown, proved = exact.against(bound, heap), exact.raised(bound) >= exact.cost(heap)
        return Searched(heap, shown, False, int(not proved), 1, self.phase, interrupted, proved=proved, **more)

    def smallest(self, heap: HeapTree, bound: Fraction, ended: BaseException | None) -> Searched:
        """Return the best tree after the proof of its objective, with the fewest leaves if nothing `ended` the search,
        among these one with the fewest distinct columns, and among these the first in a fixed order
        (odtc.algorithms.near_optimal.fewest_columns).

        Parameters
        ----------
        heap : HeapTree, the best tree
        bound : Fraction, of the objectives of all trees
        ended : TimeLimitReached or KeyboardInterrupt, which ended the search for fewer leaves; None if it was completed

        Returns
        -------
        Searched
        """
        problem, depth = self.problem, self.problem.topology.depth
        if self.costs.parts is not None:
            return self._ended(*self._exactly(heap, bound))
        if self.ranked.scale == 1:
            return self._counted(heap, bound) if self._can_count(self.ranked) else self._ended(heap, bound)
        leaves, written, columns = ended is None, None, False
        stopped = isinstance(ended, TimeLimitReached) and not deadline.is_over()
        if leaves:
            self.looks = 0
            try:
                asked, nested = _fewest_columns(self.splits, self.search, depth, heap, self._units(heap))
                found = self.splits.heap_tree(nested, problem.topology)
                written = self.splits.written(found, asked)
                columns = objective(problem, found) <= objective(problem, heap)
                columns &= found.n_branch_nodes == heap.n_branch_nodes and written is not None
                heap = found if columns else heap
            except (TimeLimitReached, MemoryError, TooMany):
                pass
            except KeyboardInterrupt:
                deadline.end_soon(deadline.IN_HAND)
        self.limit = np.inf, np.inf  # a certificate may need more bounds
        found = self._ended(heap, bound, fewest=Fewest(leaves, columns, stopped))
        return replace(found, written=written if columns else None)

    def _counted(self, heap: HeapTree, bound: Fraction) -> Searched:
        """Return the result of `smallest` by another search, after one that counted no branch nodes."""
        depth, ended = self.problem.topology.depth, None
        again = copy(self)
        again._begin(self.splits.counting(self._more_than_nodes))
        again.start, again.limit = heap, self._limit_from_here()
        again.need = again._known_cost()
        try:
            again.search.solve(depth, again.need)
        except (TimeLimitReached, KeyboardInterrupt) as error:
            ended = error
            if isinstance(error, KeyboardInterrupt):
                deadline.end_soon(deadline.IN_HAND)
        return again.smallest(again._best()[0], bound, ended)

    def _is_deep(self, ranked: RankedRows) -> bool:
        """Return whether to spend the time mainly on better trees, because a proof would seldom end. Over few binary
        splits even deep trees are proved quickly."""
        timed = deadline.seconds_left() is not None
        return timed and self.problem.topology.depth >= DEEP and not ranked.by_splits

    def _can_count(self, ranked: RankedRows) -> bool:
        """Return whether trees of equal cost can be distinguished by their branch nodes, if `scale` units are counted
        for each unit of cost of these rows (RankedRows.counting)."""
        scale = self._more_than_nodes
        most = int(ranked.most.sum()) + scale * (ranked.price + 1)
        return self.costs.parts is None and self.costs.exact and 4 * scale * most < MAX_EXACT

    @property
    def _more_than_nodes(self) -> int:
        """Return a number greater than the number of branch nodes of any tree."""
        return 1 << self.problem.topology.depth

    def _is_proved(self) -> bool:
        """Return whether it is proved that no tree costs less than the best one. A tree of equal cost may still have
        fewer leaves; if the search counts branch nodes, its further work is limited from then on."""
        scale = self.ranked.scale
        best = min(self.search.known(self.shape).upper, self.need)
        proved = self._lower // scale >= best // scale
        if proved and scale > 1 and self.limit is None:
            evaluations, looks = self._limit_from_here()
            self.limit = self.search.evaluated + evaluations, looks
        return proved

    def _limit_from_here(self) -> tuple[float, float]:
        """Return the evaluations and looks that finding the fewest leaves and columns may take after the proof: a part
        of its own, unless the parameter `fewest` is set. (Counted, not timed: the same data gives the same tree on any
        machine, unless the time ends.)"""
        search, size = self.search, max(1, self.ranked.rank.size)
        if self.problem.params.fewest:
            return np.inf, np.inf
        part = 0 if search.nodes.solves(search.height) else FEWEST  # a kernel evaluates many nodes in no time
        return max(FEWEST_ENTRIES / size, part * search.evaluated), max(LOOKS / size, search.serial)

    def _prove(self, depth: int) -> None:
        """Search to the end: first prove the cost of the best tree, if that is faster than both goals at once, then
        find the fewest leaves."""
        self.search.solve(depth, self.need, cost_first=True)
        self.search.solve(depth, self.need)
        self._is_proved()
        self.proved.append(depth)

    def _exactly(self, heap: HeapTree, bound: Fraction) -> tuple[HeapTree, Fraction]:
        """Return the best tree and its exact objective, compared exactly with all trees that rounded costs cannot
        distinguish; the given tree and bound if that does not end."""
        from odtc.algorithms.near_optimal.exact_best import ExactBest, TooManyTies

        exact, depth = exact_objective(self.problem), self.problem.topology.depth
        try:
            trees = TreeSet(TreeRows(self.ranked), self.search, depth, self.search.known(depth).upper)
            best = ExactBest(trees, self.costs.parts).solve()
        except (TimeLimitReached, MemoryError, TooManyTies):
            return heap, bound
        except KeyboardInterrupt:
            deadline.end_soon(deadline.IN_HAND)
            return heap, bound
        found = exact.labelled(self.splits.split_heap(best.tree, self.problem.topology))
        return min(heap, found, key=exact.cost), max(bound, best.cost * exact.unit)

    def _begin_coarsely(self, depth):
        """Find a tree over few cuts of each column, because on a large table even a greedy search over all cuts takes
        long; then search all cuts below its first splits."""
        from odtc.algorithms.thresholds.coarse_tree import CoarseTree

        tree = CoarseTree(self.ranked, depth, PARTS, self._check)
        try:
            self._try(COARSE, tree.search)
        finally:
            found = self.splits.heap_tree(tree.nested(), self.problem.topology)
            better = self.start is None or objective(self.problem, found) < self._start_cost()
            if better and not broken(self.problem, found):
                self.start = found
        self._try(COARSE, lambda: self.search.plant(depth, tree.nested()))

    def _phases(self) -> None:
        depth = self.problem.topology.depth
        timed, self.height = deadline.seconds_left() is not None, depth
        nodes = self.search.nodes
        if nodes.solves(depth) and not nodes.is_long(self.search.root, depth):  # by a kernel, as fast as a bound
            self._prove(depth)
            return
        deep, skipped = self._is_deep(self.ranked), 0
        if deep:
            moves = DeepMoves(self, depth)
            self._try(MOVES_SHARE, moves.run)
            if self._is_proved():
                self._prove(depth)
                return
        large = timed and depth > 1 and self.ranked.rank.size > CELLS_FOR_BINS and not self.ranked.by_splits
        if large:
            self._begin_coarsely(depth)
        need = self.need = self._known_cost()
        early = early_bound.EarlyBound(self.search, depth, need)
        if timed:
            self._first_bound(depth, early, large, need)
        self.search.dive(depth)
        for height in range(min(2, depth), depth):
            if self._is_proved():
                break
            self.height = height
            if deep and self.search.given_up:  # a proof of a greater depth takes even longer
                self.search.given_up.add(height)
                skipped += 1
            elif self._try(SMALLER_DEPTH_SHARE, lambda height=height: self.search.solve(height)):
                self.proved.append(height)
                self.search.grow(depth)
            else:
                self.search.given_up.add(height)
        self.height = depth
        if self._is_proved():
            pass
        elif deep:  # the result at the limit must have a bound
            # The time of proofs that were not begun goes to the search for trees, not to the bound.
            part = BOUND[bool(self.search.given_up)] * (1 - SMALLER_DEPTH_SHARE) ** skipped
            self._try(part, lambda: [early.by_common_rows(timed), early.raise_all(timed)])
            if moves.is_best:
                self._try(BETTER * MOVES, moves.run)
            elif self.search.given_up:
                self._try(BETTER * AROUND, lambda: self.search.improve(depth))
            from odtc.algorithms.thresholds.near_trees import NearTrees

            self._try(BETTER if self.search.given_up else NEAR_TREES_SHARE, NearTrees(self.search, depth).run)
        elif depth > 2 and (timed or depth > 3):
            self._try(BOUND[bool(self.search.given_up)], lambda: early.by_common_rows(timed))
            if depth > 3:
                self._try(BETTER if self.search.given_up else NEAR_TREES_SHARE, lambda: self.search.improve(depth))
            early.raise_on(self._trees_between(depth))
        self._prove(depth)

    def _first_bound(self, depth: int, early: early_bound.EarlyBound, large: bool, need: int) -> None:
        """Find a first bound, in case a time limit ends the proof. On a large table it is found by bins of the columns
        at depth 3, and by bins of the sides of cuts at depth 4 if the search is slow; otherwise by common rows from
        depth 3 on. At depth 2 on a large table a proof has no bound before its end, so smaller bounds, which are proved
        sooner, come first."""
        if large and depth == 3 and self._bins_show(depth, need):
            return
        if large and depth == 4 and early.takes_more(deadline.time_share(PHASE, SLOW_SHARE)) and self._sides_show(need):
            early.ended = True
        elif depth > 2 and not (large and early.at_once()):
            self._try(COMMON[large], lambda: early.by_common_rows(True))
        elif depth == 2 and large:
            self._try(RISING, lambda: early.raise_all(True))

    def _bins_show(self, depth: int, need: int) -> bool:
        """Return whether bins of the columns prove a bound of at least SHOWN times the cost `need` of the best tree."""
        from odtc.algorithms.bins.bin_bound import BinBound

        bins = BinBound(self.ranked, depth, self._check)
        took = AS_LONG * (time.monotonic() - self.began)
        try:
            self._within(deadline.time_share(took, BINS), lambda: bins.raise_in(deadline.seconds_left, need))
        finally:
            self.search.note_bound(depth, bins.lower)
        return bins.lower >= SHOWN * need

    def _sides_show(self, need: int) -> bool:
        """Return whether bins of the sides of the first cuts prove a bound for trees of depth 4 in time."""
        from odtc.algorithms.bins.sides_in_bins import SidesInBins

        sides, seconds = SidesInBins(self.ranked, self._check), deadline.time_share(PHASE, SIDES)
        if sides.seconds > seconds:
            return False
        self._within(seconds, lambda: sides.bound(deadline.seconds_left, need))
        self.search.note_bound(4, sides.lower)
        return sides.lower > 0

    def _trees_between(self, depth) -> Callable[[float], None]:
        """Return a function to call after each search for a bound with its duration in seconds. It searches for better
        trees near the best one for a fraction of this duration, because a search for a bound would find such trees only
        late."""
        from odtc.algorithms.thresholds.near_trees import NearTrees

        near, left = NearTrees(self.search, depth), [0.0]

        def between(seconds):
            left[0] += TREES * seconds
            if left[0] > TURN:
                self._within(left[0], near.run)
                left[0] = 0.0

        return between

    def _try(self, part: float, work: Callable) -> bool:
        """Run some work for at most a fraction of the remaining time; return whether it was completed."""
        return self._within(deadline.time_share(PHASE, part), work)

    @staticmethod
    def _within(seconds: float, work: Callable) -> bool:
        """Run some work for at most this many seconds; return whether it was completed."""
        try:
            with deadline.within(seconds):
                work()
        except TimeLimitReached:
            deadline.check()
            return False
        return True

    def _known_cost(self) -> int:
        """Return the cost of the known tree in units of the search, rounded up; only cheaper trees are needed."""
        if self.start is None:
            return NONE
        return self._units(self.start)

    def _start_cost(self) -> float:
        """Return the objective of the known tree. It is stored, because it is needed for every report, and is computed
        from every row."""
        if self.priced is None or self.priced[0] is not self.start:
            self.priced = self.start, objective(self.problem, self.start)
        return self.priced[1]

    def _units(self, heap: HeapTree) -> int:
        """Return the objective of a tree in units of the search, rounded up."""
        exact, scale = exact_objective(self.problem), self.ranked.scale
        paid = (Fraction(objective(self.problem, heap)) if exact is None else exact.cost(heap)) / self.costs.step
        units = ceil((paid - Fraction(self.ranked.floor)) / (Fraction(self.ranked.unit) * scale))
        return max(0, units) * scale + (heap.n_branch_nodes if scale > 1 else 0)

    def _best(self) -> tuple[HeapTree, float]:
        found = self.splits.tree(self.search, self.problem.topology, self.shape)
        paid = objective(self.problem, found)
        if self.start is not None:
            known = self._start_cost()
            if (known, self.start.n_branch_nodes) < (paid, found.n_branch_nodes):
                return self.start, known
        return found, paid

    def _check(self):
        deadline.check()
        if self.limit is not None:
            evaluations, looks = self.limit
            self.looks = None if self.looks is None else self.looks + 1
            if self.search.evaluated > evaluations or (self.looks or 0) > looks:
                raise TimeLimitReached("enough trees were looked at")
        self._say()

    def _found(self, upper, lower):
        if self.limit is None and self.search.height == self.shape:
            self._is_proved()
        self._say()

    def _say(self):
        """Report the bound and the best tree, unless the last report is recent."""
        if self.tell is not None and time.monotonic() > self.told + REPORT_SECONDS:
            self.told = time.monotonic()
            self.tell(self.bound, self.upper, self.phase)


class DeepMoves:
    """Search for better deep trees by moves of single splits (odtc.algorithms.thresholds.node_moves). Whenever the
    number of moves has doubled, the lowest two levels are replaced by the best subtrees."""

    def __init__(self, parent: ThresholdSearch, depth: int):
        from odtc.algorithms.thresholds.node_moves import TreeMoves

        self.parent, self.search, self.depth = parent, parent.search, depth
        self.moves = TreeMoves(parent.ranked, min(depth, DEEPEST))
        self.cost, self.count, self.planted = NONE, 0, 1
        self.steps = self.moves.steps()

    def run(self) -> None:
        """Improve the tree until it costs nothing, or the time ends."""
        while not self.parent._is_proved():
            self.parent._check()
            next(self.steps, None)
            self.count += 1
            self.note()
            if self.moves.best.cost == 0 or self.count >= 2 * self.planted:
                self.plant()

    @property
    def is_best(self) -> bool:
        """Return whether no other search has found a better tree."""
        return self.moves.best.cost <= self.search.known(self.depth).upper

    def plant(self) -> None:
        """Give the tree to the search, which finds the best trees of two levels above its leaves, and take it back."""
        self.planted = self.count
        self.search.plant(self.depth, self.moves.nested())
        if self.search.known(self.depth).upper < self.moves.best.cost:
            self.moves.take(self.search.tree(self.depth))

    def note(self) -> None:
        """Report the tree to the search if it is better than the last reported one and than the best known tree."""
        parent, problem = self.parent, self.parent.problem
        if self.moves.best.cost >= self.cost:
            return
        with deadline.put_off():
            found = parent.splits.heap_tree(self.moves.nested(), problem.topology)
            self.cost = self.moves.best.cost
            if parent.start is None or objective(problem, found) < parent._start_cost():
                parent.start = found


def search(
    problem: Problem, start: HeapTree | None = None, tell: Callable[[float, float, str], None] | None = None
) -> Searched:
    """Return the best tree of a problem, with its proof or a bound.

    Parameters
    ----------
    problem : Problem, of a formulation with a penalty of branch nodes
    start : HeapTree or None, a known tree; the result is at least as good
    tell : called with (bound, objective, phase as text) now and then

    Returns
    -------
    Searched
    """
    left, cells = deadline.seconds_left(), problem.encoded.n_rows * len(problem.encoded.features)
    if start is not None and left is not None and left <= deadline.MOMENT and cells > RANKED:
        return Searched(start, 0.0, False, 1, 1, "no search was begun")
    return ThresholdSearch(problem, start, tell).run()


def certify(problem: Problem) -> dict:
    """Return the certificate of a problem of the model "dpflow", as a JSON object (odtc.verification.certificate).

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    dict
        At the deadline or after Ctrl-C a search over thresholds gives a certificate of its bound.

    Raises
    ------
    ChoiceError
        For weights with more digits than whole numbers can have, hyperplanes, and constraints that it cannot state.
    """
    from odtc.formulations.dpflow.write_certificate import certify_search, require_certifiable

    require_certifiable(problem)
    ended = ThresholdSearch(problem)
    return certify_search(ended, ended.run().heap)
