"""dpflow under constraints without a solver: the constrained search (odtc.algorithms.constrained) proves the tree.

`odtc fit` uses it if there are constraints; `odtc build` writes the program of all subtrees instead.
"""

import time
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np

from odtc.algorithms.constrained import engines
from odtc.algorithms.constrained.all_thresholds import CoarseSearch, ShallowSearch, takes
from odtc.algorithms.constrained.constrained_problem import (
    Below,
    ConstrainedProblem,
    TooLarge,
    named,
    of_depth,
    only,
    padded,
    with_splits,
)
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, Found
from odtc.algorithms.constrained.engines import DEEP, Engine, ends_soon, engine_of, over_all_splits
from odtc.algorithms.constrained.first_trees import first_tree, some_of_each
from odtc.algorithms.constrained.frontier_search import FrontierSearch
from odtc.algorithms.constrained.subtree_search import improved
from odtc.base import deadline
from odtc.base.text import verb
from odtc.base.wording import option, param
from odtc.data.encoding import Encoded
from odtc.errors import NotProvedError, TimeLimitReached
from odtc.formulations.dpflow import threshold_search
from odtc.formulations.dpflow.floors.priced import BoundByBins, BoundBySearch, of_few_digits, priced_bound
from odtc.formulations.dpflow.floors.priced_trees import priced_tree
from odtc.formulations.dpflow.floors.pruned_trees import pruned_tree
from odtc.formulations.dpflow.floors.raised_prices import BoundByRaisedPrices
from odtc.formulations.dpflow.forms import ROWS
from odtc.formulations.dpflow.searched import Searched
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.formulations.dpflow.write_constrained_certificate import certificate_of, certify_constrained
from odtc.problem.constraints.constraint import least_rows, mended
from odtc.problem.constraints.kind import Constraint
from odtc.problem.constraints.search_terms import SearchProblem, nested, refined, search_problem, terms_of
from odtc.problem.constraints.search_units import TOO_FINE
from odtc.problem.exact_objective import exact_objective
from odtc.problem.exact_trees import ExactTrees, TooMany, are_few
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

MOST_BEFORE = 2e10  # maximum number of sums in one pass over all roots, before a model is built: some seconds
FIRST = 0.4  # fraction of the remaining time for a tree over a few splits of each column
PRICED = 0.4  # fraction of the time that then remains, for trees over a few cuts of each column at good multipliers
AT_PRICES = 0.7  # fraction of the time for a bound that is spent on the bound at good multipliers
LESS = 0.5  # factor for multipliers found with few splits: lower ones suit all splits better, and give a bound sooner
SOON = 2  # levels of a tree up to which a search without the constraints soon ends
LOW = 0.05  # fraction of the remaining time for trees of a depth below DEEP over very many splits
IMPROVED = 0.15  # fraction of the remaining time for improving the subtrees of such a tree
SHALLOWER = 0.5  # fraction of the remaining time for trees of a smaller depth, from DEEP on
MOST_FREE = 2e10  # sums of one pass; with more, a bound without the constraints is computed first
MOST_TIMED = 2e9  # the same with a time limit, because a bound has to be available when it is reached
SUMS_A_SECOND = 2e8  # approximate number of sums of a pass per second
A_LOOK = 2e-6  # seconds of a search of depth DEEP over one subset of columns, for each row
LOOKS = 0.5  # fraction of the remaining time; if searching each subset once takes longer, none is searched separately
AT_ONCE = 0.2  # fraction of the remaining time; a pass within it gives a better bound than a search without constraints
SEARCH_FRACTION = 0.3  # fraction of the remaining time for a search that may end before a bound without constraints
SEARCHED = 0.6  # fraction of a time limit for the search for a certificate; the rest is for a bound if it does not end
# Limits of a search without the sums: fractions of the remaining time (the second if it ends soon), and seconds.
FREE, FREE_MOST = (0.4, 0.6), 60.0
ALONE = 0.7  # the same fraction, if no other search gives a bound
TO_THE_END = 0.95  # the same fraction, if the search for the bound can also prove the tree
MOST_USES = 5e7  # maximum number of uses for all targets of a frontier together, if their sums differ


class Posed:
    """The search of one problem, built once; None if its numbers are too large."""

    def __init__(self, problem: Problem):
        self.problem: SearchProblem | None = None
        self.search: Engine | None = None
        self.refused = ""  # why there is none
        self.free: threshold_search.ThresholdSearch | None = None  # without the constraints
        self.at_prices: BoundByBins | BoundBySearch | BoundByRaisedPrices | None = None  # of the constraints
        self._shallower: dict[int, Engine] = {}
        try:
            self.problem = posed = search_problem(problem)
            self.search = engine_of(posed.arrays, posed.scale)
            self.shallower(False)
        except TooLarge as large:
            self.search, self.refused = None, str(large)

    def shallower(self, timed: bool) -> list[Engine]:
        """Return the searches of less depth that run first. They begin at depth DEEP; at SHALLOW if there are too many
        ordered features for a search of depth DEEP; and at depth 1 with a time limit (`timed`) and very many splits."""
        arrays = self.problem.arrays
        if ends_soon(self.search):
            return []
        every = timed and isinstance(self.search, CoarseSearch) and self.search.long
        least = DEEP
        if isinstance(self.search, ShallowSearch) and not engines.few_of_each(self.search.scale, DEEP):
            least = engines.SHALLOW
        depths = range(1 if every else least, arrays.depth)
        for less in depths:
            if less not in self._shallower:
                self._shallower[less] = engine_of(of_depth(arrays, less), self.problem.scale)
        return [self._shallower[less] for less in depths]


def can_search(encoded: Encoded, depth: int) -> bool:
    """Return whether the search supports splits of this many ordered features: all of them, or some of each."""
    return engines.can_search(nested(encoded), depth)


def searches(problem: Problem) -> bool:
    """Return whether the search supports a problem: one with constraints, and without a parameter that requests
    another program."""
    asked = _program(problem) or not can_search(problem.encoded, problem.topology.depth)
    return bool(problem.constraints) and not asked and problem.derived(Posed).search is not None


def compares_all(problem: Problem) -> bool:
    """Return whether the numbers are too large for the search, and so few trees that all of them are compared
    exactly."""
    if not problem.constraints or _program(problem) or not can_search(problem.encoded, problem.topology.depth):
        return False
    return problem.derived(Posed).search is None and are_few(problem)


def _program(problem: Problem) -> str:
    """Return the parameter that requests a program, with its value; "" if there is none."""
    params = problem.params
    usual = {"fix": True, "proof": False, "tail": "auto", "intervals": "auto"}
    given = ((name, getattr(params, name)) for name in usual)
    return next((param(name, value) for name, value in given if value != usual[name]), "")


def refusal(problem: Problem) -> str:
    """Return why `searches` refuses a problem under constraints, and what to do."""
    if asked := _program(problem):
        return f"{asked} needs a model: leave it out"
    if not can_search(problem.encoded, problem.topology.depth):
        n_scales, depth = len(np.unique(nested(problem.encoded))), problem.topology.depth
        instead = (
            f"take fewer splits ({option('encoding', 'auto:bins=8')}), leave columns out ({option('ignore')}) or take "
            f"a smaller {option('depth')}"
        )
        return f"{n_scales:,} columns and levels are too many at depth {depth}: {instead}"
    return problem.derived(Posed).refused


def by_some_splits(problem: Problem) -> bool:
    """Return whether there are so many splits that only some of each column are searched, so that a bound comes late
    or never."""
    engine = problem.derived(Posed).search
    return engine is not None and not over_all_splits(engine)


def few_and_deep(problem: Problem) -> bool:
    """Return whether a search over all splits may end soon without the constraints, but not with them."""
    return (
        problem.derived(Posed).problem.arrays.depth > DEEP and problem.encoded.n_candidate_splits <= engines.FEW_TESTS
    )


def tells_bounds(problem: Problem) -> bool:
    """Return whether the search itself will give a bound. At depths above DEEP it does not if only some splits are
    searched, or if one pass over all trees takes longer than the remaining time."""
    left, engine = deadline.seconds_left(), problem.derived(Posed).search
    if problem.derived(Posed).problem.arrays.depth <= DEEP:
        return True
    if isinstance(engine, ConstrainedSearch) and left is not None and engine.subset_trees is None:
        return _sums(problem) <= SUMS_A_SECOND * left
    return not by_some_splits(problem)


def by_subsets(problem: Problem) -> bool:
    """Return whether to get trees and bounds from a separate search of each subset of the columns that a tree may use:
    at depth DEEP if a sweep over all subsets takes longer, and at higher depths with a time limit if the table is not
    large."""
    arrays, left = problem.derived(Posed).problem.arrays, deadline.seconds_left()
    engine = problem.derived(Posed).search
    if len(arrays.subsets) == 1 or arrays.depth < DEEP:
        return False
    if arrays.depth > DEEP:
        return left is not None and not _is_large(problem)
    looks = A_LOOK * len(arrays.X) * len(arrays.subsets)
    return isinstance(engine, CoarseSearch) and engine.long and (left is None or looks <= LOOKS * left)


def _is_large(problem: Problem) -> bool:
    return problem.encoded.n_rows * len(problem.encoded.features) > threshold_search.CELLS_FOR_BINS


def needs_floor(problem: Problem) -> bool:
    """Return whether the search takes so long that part of its time should go to a bound without the constraints."""
    engine = problem.derived(Posed).search
    if by_some_splits(problem):
        return True
    if ends_soon(engine):
        return False
    left = deadline.seconds_left()
    if isinstance(engine, ConstrainedSearch) and engine.subset_trees is not None:
        return left is not None and engine.subset_trees.seconds > AT_ONCE * left
    if left is None:
        return type(engine) is CoarseSearch and _sums(problem) > MOST_FREE
    return (isinstance(engine, CoarseSearch) and engine.long) or _sums(problem) > MOST_TIMED


def may_end_first(problem: Problem) -> bool:
    """Return whether the search runs first under a time limit: without the limit it would need no bound by another
    search, and one pass over all trees fits into its fraction of the time."""
    left, engine = deadline.seconds_left(), problem.derived(Posed).search
    if left is None or not needs_floor(problem):
        return False
    with deadline.put_off():
        if needs_floor(problem):
            return False
    if isinstance(engine, CoarseSearch):
        return not engine.long
    trees = engine.subset_trees
    seconds = trees.seconds if trees is not None else _sums(problem) / SUMS_A_SECOND
    return seconds <= SEARCH_FRACTION * left


def trees_come_first(problem: Problem) -> bool:
    """Return whether a search that gives no bound runs before the searches for one: if these raise the bounds of many
    subsets of columns to fractions of the cost of the known tree, a cheaper tree makes the goals lower, and so quicker
    to prove."""
    is_deep = problem.derived(Posed).problem.arrays.depth > DEEP
    return is_deep and by_subsets(problem) and by_some_splits(problem)


def search_first(problem: Problem, start: HeapTree | None, progress: Callable[..., None], floor: float) -> Searched:
    """Run `search` for its fraction of the remaining time; a later `search` continues from its results."""
    with deadline.within(deadline.time_share(np.inf, SEARCH_FRACTION)):
        return search(problem, start, progress, floor)


def _sums(problem: Problem) -> float:
    return engines.sums(problem.encoded.n_candidate_splits, problem.derived(Posed).problem.arrays.depth)


def first(problem: Problem, start: HeapTree | None) -> tuple[HeapTree | None, np.ndarray | None]:
    """Return (tree, multipliers). If there are so many splits that a good tree would come late, search a few splits of
    each column for a fraction of the time; the tree is the result or `start`, whichever is cheaper. With few splits the
    tree is `start` and the multipliers are None."""
    engine, posed = problem.derived(Posed).search, problem.derived(Posed).problem
    depth, some = posed.arrays.depth, isinstance(engine, CoarseSearch)
    if ends_soon(engine) or not depth:
        return start, None
    if not some and depth > DEEP and needs_floor(problem):
        return _of_less_depth(problem, start)
    if posed.arrays.accepts is not None or not (some and (engine.long or depth > DEEP)):
        return start, None
    left = deadline.seconds_left()
    tick = _after(None if left is None else time.monotonic() + left, FIRST)
    multipliers = None
    with deadline.cut_short():
        found = first_tree(posed.arrays, engine.splits, tick, exactly=left is not None)
        multipliers = found.multipliers
        if found.tree is not None:
            start = cheaper(problem, posed.tree(*found.tree), start)
    # At other depths, or with searches of subsets, other searches find such a tree as quickly.
    if left is not None and depth > SOON and not by_subsets(problem):
        with deadline.within(deadline.time_share(np.inf, PRICED)):
            start = cheaper(problem, priced_tree(posed, multipliers, least_rows(problem)), start)
    return start, multipliers


def _of_less_depth(problem: Problem, start: HeapTree | None) -> tuple[HeapTree | None, np.ndarray | None]:
    """Return the same for the search of depth DEEP, which continues from there later, if there is a limit."""
    posed, left = problem.derived(Posed), deadline.seconds_left()
    if left is None or not (lower := posed.shallower(True)):
        return start, None
    lower[0].watch(_after(time.monotonic() + left, FIRST), lambda bound, cost: None)
    with deadline.cut_short():
        lower[0].run()
    found = lower[0].found
    if found.split is not None:
        start = cheaper(
            problem, posed.problem.tree(*padded(found.split, found.label, posed.problem.arrays.depth)), start
        )
    return start, lower[0].leading / lower[0].scale if isinstance(lower[0], ConstrainedSearch) else None


def at_once(problem: Problem, start: HeapTree | None) -> HeapTree | None:
    """Return the tree of CART's splits, pruned and relabelled so that it satisfies the constraints; `start` if that
    costs no more."""
    return cheaper(problem, pruned_tree(problem.derived(Posed).problem), start)


def cheaper(problem: Problem, heap: HeapTree | None, known: HeapTree | None) -> HeapTree | None:
    """Return the tree of lower objective, the known one if they are equal."""
    if heap is None or known is None:
        return heap if known is None else known
    return heap if paid_by(problem, heap) < paid_by(problem, known) else known


def paid_by(problem: Problem, heap: HeapTree) -> float:
    """Return the objective of a tree."""
    return problem.module.objective(problem, heap)


def floor_of(
    problem: Problem,
    multipliers: np.ndarray | None,
    tell: Callable[[float], None] = lambda bound: None,
    upper: float = np.inf,
    known: HeapTree | None = None,
) -> tuple[HeapTree | None, float]:
    """Return (a tree to start from, a lower bound on the cost of all trees) by searches without the constraints, until
    the deadline of this context.

    There are two kinds of search. The free search leaves out all constraints except for the rows of leaves. The priced
    search adds the uses of the constraints to the costs, at multipliers from a search over few splits. Its bound is
    higher once it has ended, which is soon at depth 2, but lower before that, because the allowed sums are subtracted.

    With a time limit, few cuts of each column give a bound at these multipliers sooner. From depth 4 on such cuts prove
    next to nothing, so a priced search with lower multipliers is used if the table is not large. Over few splits, or
    over each subset of the columns that a tree may use, priced searches end quickly, and further ones follow at the
    most promising multipliers. Up to depth DEEP, the remaining subsets are searched under the constraints, so that the
    bound rises to a proof.

    `tell` is called with bounds as they rise; `upper` is the objective of the tree `known`.
    """
    posed = problem.derived(Posed).problem
    timed = deadline.seconds_left() is not None
    if (few_and_deep(problem) and timed) or by_subsets(problem):
        none = np.zeros(posed.arrays.n_constraints)
        rising = BoundByRaisedPrices(posed, none if multipliers is None else multipliers, known)
        problem.derived(Posed).at_prices = rising
        below = rising.run(tell, upper)
        return rising.tree, below
    priced = multipliers is not None and multipliers.any()
    if priced and posed.arrays.depth <= SOON:
        return priced_bound(posed, multipliers)
    heap, at_prices, large = None, 0.0, _is_large(problem)
    if multipliers is not None and (priced or large) and timed and posed.arrays.depth > 2:
        with deadline.within(deadline.time_share(np.inf, AT_PRICES)):
            if large or posed.arrays.depth <= DEEP:
                raising: BoundByBins | BoundBySearch = BoundByBins(posed, multipliers)
            else:
                raising = BoundBySearch(posed, of_few_digits(LESS * multipliers))
            problem.derived(Posed).at_prices = raising
            at_prices = raising.run(tell, upper)
        heap = raising.tree
    searching = free_search(problem)
    if searching is None:
        return heap, at_prices
    found = searching.run_for_bound(lambda bound, *_: tell(max(bound, at_prices)))
    if found.interrupted:
        deadline.end_soon()  # the following steps have only a moment
    free = None if found.heap is None else mended(problem, found.heap)
    heap, floor = cheaper(problem, free, heap), max(found.bound, at_prices)
    if priced and found.heap is not None and floor >= paid_by(searching.problem, found.heap) - posed.unit / 2:
        other, below = priced_bound(posed, multipliers)
        heap, floor = cheaper(problem, other, heap), max(floor, below)
    return heap, floor


def free_search(problem: Problem) -> threshold_search.ThresholdSearch | None:
    """Return the search without the constraints except for the rows of leaves, built once; None if it does not support
    the problem."""
    posed = problem.derived(Posed)
    if posed.free is None:
        free = _free(problem)
        posed.free = threshold_search.ThresholdSearch(free) if threshold_search.searches(free) else None
    return posed.free


def _free(problem: Problem) -> Problem:
    """Return the problem without the constraints except for the rows of leaves."""
    return replace(problem, constraints=tuple(one for one in problem.constraints if one.name in ROWS))


def raised(problem: Problem, found: Searched, tell: Callable[[float], None] = lambda bound: None) -> Searched:
    """Return the result of a search that ended without a proof, with the bound that can be proved in the rest of the
    time: the bound at prices of the constraints or the one without them is raised further, whichever is higher."""
    searching, priced = problem.derived(Posed).free, problem.derived(Posed).at_prices
    if found.proved or found.infeasible or found.interrupted or deadline.seconds_left() is None or deadline.is_over():
        return found
    if priced is not None and priced.floor >= found.bound and found.heap is not None:
        bound = priced.run(tell, paid_by(problem, found.heap))
        heap = cheaper(problem, priced.tree, found.heap)
        if bound >= paid_by(problem, heap):  # then the search proves it itself, with its certificate
            return search(problem, heap, floor=bound)
        return replace(found, heap=heap, bound=max(found.bound, bound), interrupted=deadline.is_interrupted())
    if searching is None:
        return found
    free = searching.run_for_bound(lambda bound, *_: tell(bound))
    heap = cheaper(problem, None if free.heap is None else mended(problem, free.heap), found.heap)
    if heap is not None and free.bound >= paid_by(problem, heap):  # the search proves it itself, with its certificate
        return search(problem, heap, floor=free.bound)
    return replace(found, heap=heap, bound=max(found.bound, free.bound), interrupted=free.interrupted)


def search(
    problem: Problem,
    start: HeapTree | None = None,
    progress: Callable[..., None] = lambda *told: None,
    floor: float = 0.0,
) -> Searched:
    """Search until the end, or until the deadline of this context (odtc.base.deadline).

    Parameters
    ----------
    problem : Problem
        One for which `searches` is true.
    start : HeapTree or None
        A tree that satisfies the constraints.
    progress : Callable
        Called with (bound, objective of the best tree or None, phase as text) when one of them changes.
    floor : float
        Lower bound on the objective of trees that satisfy the constraints.
    """
    derived, left = problem.derived(Posed), deadline.seconds_left()
    posed, engine = derived.problem, derived.search
    end = None if left is None else time.monotonic() + left
    shallower, depths_before = derived.shallower(end is not None), list[str]()  # the latter are their results, as text

    def report(bound: int, cost: int | None) -> None:
        progress(bound * posed.unit, None if cost is None else cost * posed.unit, ", ".join(depths_before[-1:]))

    engine.watch(lambda: end is not None and time.monotonic() > end, report)
    is_inherited = isinstance(engine, ConstrainedSearch) and engine.inherited
    if start is not None and (heaps := posed.heaps(start)) is not None:
        engine.begun = (engine.start(*heaps) and is_inherited) or engine.begun  # a neighbour's tree is a better start
    at_least = engine.floor = ceil(floor / posed.unit - 1e-6)
    interrupted, settling = deadline.is_interrupted(), _settling_prices(engine, derived.at_prices, floor)
    try:
        if settling is not None:
            engine.settled_elsewhere = settling.settled()
        else:
            _begin(posed, [*shallower, engine], end, lambda cost: report(at_least, cost), depths_before)
        found = engine.found if settling is not None else engine.run()
    except (KeyboardInterrupt, TimeLimitReached) as end_of_search:
        interrupted = interrupted or isinstance(end_of_search, KeyboardInterrupt)
        for one in shallower:
            if (less := one.found).split is not None:
                engine.start(*padded(less.split, less.label, engine.problem.depth))
        found = engine.found
    heap = None if found.split is None else posed.tree(found.split, found.label)
    certificate, uncertified = _certificate_of(problem, engine, found, heap, is_inherited)
    return Searched(
        heap,
        _bound(found, posed.unit, posed.off),
        found.infeasible,
        found.open_cases,
        found.n_cases,
        phases="" if found.proved else _phases_text(problem, engine, found, depths_before),
        interrupted=interrupted,
        certificate=certificate,
        proved=found.proved,
        uncertified=uncertified,
        off=posed.off,
    )


def search_by_schedule(problem: Problem, start: HeapTree | None, progress, floor: float) -> Searched:
    """Run the search first, for a limited time, if it may end soon. Otherwise find trees first, then a bound without
    the constraints if the search itself would give one only late, then search. If the bound depends on the cost of the
    best tree, the search runs before it, too. The rest of a time limit is used to raise the bound."""

    def tell(bound: float) -> None:
        paid = None if start is None else paid_by(problem, start)
        progress(max(floor, bound), paid, "a bound of all trees")

    with deadline.cut_short():
        start = at_once(problem, start)
    if may_end_first(problem):
        found = search_first(problem, start, progress, floor)
        if found.proved or found.infeasible or found.interrupted:
            return settled(problem, found)
        start, floor = found.heap, max(floor, found.bound)
    multipliers = None
    with deadline.cut_short():
        start, multipliers = first(problem, start)
    if trees_come_first(problem):
        found = search_first(problem, start, progress, floor)
        if found.proved or found.infeasible or found.interrupted:
            return settled(problem, found)
        start, floor = cheaper(problem, found.heap, start), max(floor, found.bound)
    with deadline.cut_short():
        if needs_floor(problem):
            part, most = FREE[problem.topology.depth <= SOON], FREE_MOST
            if problem.topology.depth <= DEEP and by_subsets(problem):
                part, most = TO_THE_END, np.inf
            elif deadline.seconds_left() is not None and not tells_bounds(problem):
                part, most = ALONE, np.inf
            with deadline.within(deadline.time_share(most, part)):
                paid = np.inf if start is None else paid_by(problem, start)
                heap, below = floor_of(problem, multipliers, tell, paid, start)
            start, floor = cheaper(problem, heap, start), max(floor, below)
    found = search(problem, start, progress, floor)
    with deadline.cut_short():
        found = raised(problem, found, tell)
    return settled(problem, found)


def _settling_prices(engine, prices, floor: float) -> BoundByRaisedPrices | None:
    """Return the search at raised prices if it leaves nothing to a search over some splits of each column, because its
    best tree costs no more than `floor`; None otherwise."""
    if not (isinstance(engine, CoarseSearch) and isinstance(prices, BoundByRaisedPrices) and prices.settles(floor)):
        return None
    is_proved = engine.floor >= engine.upper and (engine.problem.depth <= DEEP or not engine.exactly)
    return prices if is_proved else None


def _certificate_of(problem: Problem, engine, found, heap: HeapTree | None, is_inherited: bool) -> tuple:
    """Return (function that makes the certificate of a search that has ended, "") or (None, why there is none)."""
    posed = problem.derived(Posed).problem
    if posed.off:
        return None, TOO_FINE
    if (heap is None and not found.infeasible) or not found.proved or is_inherited:
        return None, ""
    return certificate_of(problem, engine, heap, posed.unit)


def _phases_text(problem: Problem, engine, found, before: list[str]) -> str:
    """Report the work that is left of a search that has not proved its tree; `before` reports the depths before."""
    if by_some_splits(problem):
        left = (
            "some splits of each column were searched; the bound applies to all splits, with a price on the limits of "
            "the constraints, or without these"
        )
    elif isinstance(engine, ConstrainedSearch):
        are = verb(found.open_cases, "is", "are")
        left = f"{found.open_cases:,} of {found.n_cases:,} cases (a root with a set of columns) {are} open"
    else:
        return ""
    return "; ".join([*before[-1:], left])


def compare_all(problem: Problem, start: HeapTree | None) -> Searched:
    """Return the best tree of a problem that has few, by comparing all of them; `start` if none is better."""
    return settled(problem, Searched(start, 0.0, False, 1, 1, off=1.0))


def settled(problem: Problem, found: Searched) -> Searched:
    """Return the result of a search that rounds costs, after exact costs have decided between the trees that rounding
    leaves; the same if these are too many, or the time is over."""
    exact = exact_objective(problem)
    if exact is None or not found.off or found.infeasible or found.interrupted or (found.proved and found.heap is None):
        return found
    below = None if found.heap is None else exact.cost(found.heap)
    least = below - 2 * Fraction(found.off) if found.proved else Fraction(found.bound) * Fraction(1 - 1e-9)
    try:
        better = ExactTrees(exact).best(least, below)
    except (TooMany, TimeLimitReached):
        return found
    heap = found.heap if better is None else better
    done = replace(found, heap=heap, infeasible=heap is None, open_cases=0, proved=True, off=0.0, phases="")
    return replace(done, bound=0.0 if heap is None else paid_by(problem, heap), uncertified=TOO_FINE)


def _bound(found: Found, unit: float, off: float) -> float:
    """Return the bound in units of the objective; if it is proved, the bound of the sums themselves, because `off` is
    reported separately."""
    return found.bound * unit if found.proved else max(0.0, found.bound * unit - off)


def _begin(
    posed: SearchProblem,
    engines: list[Engine],
    end: float | None,
    told: Callable[[int | None], None],
    before: list[str],
) -> None:
    """Start each search but the first from the best tree of the one before, of less depth, so that a deeper search
    never has a worse tree. Each but the last has a part of the time until `end` (time.monotonic()), if there is
    one; the result of each is appended to `before` as text."""
    proved = []
    for shallower, engine in pairwise(engines):
        depth, part = shallower.problem.depth, SHALLOWER if shallower.problem.depth >= DEEP else LOW
        shallower.watch(_after(end, part), lambda _, cost: told(cost))
        found = shallower.run()
        engine.begun = engine.begun or depth >= DEEP
        if found.proved and not found.infeasible:
            proved = [f"depth {depth} proved"]
            before.append(proved[0])
        elif found.cost is not None:
            paid, bound, known = found.cost * posed.unit, found.bound * posed.unit, engines[-1].found.cost
            better = known is None or found.cost < known  # a worse tree is not reported
            words = [f"objective {paid:.6g}"] if better else []
            words += [f"bound {bound:.6g}"] if bound > 0 else []
            if words:
                before.append(", ".join([*proved, f"depth {depth}: {', '.join(words)}"]))
        if isinstance(shallower, ConstrainedSearch) and isinstance(engine, ConstrainedSearch):
            engine.begin_at(shallower)
        if found.split is None:
            continue
        tree = padded(found.split, found.label, engine.problem.depth)
        if engine.start(*tree) and isinstance(engine, CoarseSearch):
            engine.start(*improved(engine.problem, engine.scale, tree, _after(end, IMPROVED)))


def _after(end: float | None, part: float) -> Callable[[], bool]:
    """Return a function that reports whether a part of the time until `end`, from now on, has passed; never without an
    end."""
    until = None if end is None else time.monotonic() + part * (end - time.monotonic())
    return lambda: until is not None and time.monotonic() > until


def inherit(problem: Problem, looser: Problem) -> None:
    """Use the bounds of the cases of a search that has ended, for a problem that differs only by looser constraints.
    They cannot be used in a certificate, because they do not follow from multipliers of this search."""
    mine, other = problem.derived(Posed), looser.derived(Posed)
    plain = type(mine.search) is type(other.search) is ConstrainedSearch
    if plain and mine.problem.unit == other.problem.unit:
        mine.search.inherit(other.search)


def _targets(posed: list[Problem]) -> list[SearchProblem] | None:
    """Return problems that differ by one constraint, the loosest first, for one search of all; None if they differ by
    more than sums, or if some constraint has to be checked for every tree."""
    try:
        encoded = refined(posed[0].encoded, posed[0].constraints)  # the groups that they compare are the same
        each = [search_problem(one, encoded) for one in posed]
    except TooLarge:
        return None
    first = each[0].arrays
    shallow = [one.problem.constraints[-1] for one in each if one.arrays.depth != first.depth]
    if any(terms_of(encoded, given).nodes is None for given in shallow):
        return None  # their depth limits the splits of a tree, and no sum does
    each = [_as_deep(one, first) for one in each]
    if not all(_alike(first, one.arrays) and one.unit == each[0].unit for one in each):
        return None
    if not all(np.array_equal(first.uses, one.arrays.uses) for one in each):
        return each if first.uses.size * len(each) <= MOST_USES else None
    tightens = (np.diff([one.arrays.bound for one in each], axis=0) <= 0).all()
    return each if tightens else None


def _searched(problems: list[ConstrainedProblem]) -> tuple[list[Found], bool]:
    """Return (the results of one search for each of the targets, whether it was interrupted), until the deadline.

    Raises
    ------
    TooLarge
    """
    left = deadline.seconds_left()
    engine = FrontierSearch(problems, _after(None if left is None else time.monotonic() + left, 1.0))
    try:
        return engine.run(), False
    except (KeyboardInterrupt, TimeLimitReached) as end_of_search:
        return engine.found, isinstance(end_of_search, KeyboardInterrupt)


def _each(problem: Problem, varied: list[Constraint]) -> list[Problem]:
    return [replace(problem, constraints=(*problem.constraints, given)) for given in varied]


def frontier(problem: Problem, varied: list[Constraint]) -> list[Searched] | None:
    """Return the results of one search for each of some constraints, the loosest first, until the deadline of this
    context.

    Returns
    -------
    list of Searched, or None
        None if the constraints differ by more than their sums, or another search supports them.
    """
    posed = _each(problem, varied)
    if not all(map(searches, posed[:1])) or problem.encoded.n_candidate_splits > engines.MOST_TESTS:
        return None
    targets = _targets(posed)
    if targets is None or takes(targets[0].arrays, targets[0].scale):
        return None
    try:
        found, interrupted = _searched([one.arrays for one in targets])
    except TooLarge:
        return None
    unit, off = targets[0].unit, targets[0].off
    return [
        Searched(
            None if one.split is None else each.tree(one.split, one.label),
            _bound(one, unit, off),
            one.infeasible,
            one.open_cases,
            one.n_cases,
            proved=one.proved,
            interrupted=interrupted,
            off=off,
        )
        for each, one in zip(targets, found)
    ]


def frontier_starts(problem: Problem, varied: list[Constraint]) -> list[HeapTree | None]:
    """Return trees that satisfy each of some constraints, the loosest first, by one search over a few splits of each
    column, at rising depths, until the deadline of this context; None where it finds no tree, or does not apply."""
    posed = _each(problem, varied)
    best: list[HeapTree | None] = [None] * len(posed)
    engine = posed[0].derived(Posed).search if searches(posed[0]) else None
    if not isinstance(engine, CoarseSearch) or (targets := _targets(posed)) is None:
        return best
    for depth in range(1, engine.problem.depth + 1):
        splits = some_of_each(engine.problem, engine.splits, depth)
        if not len(splits) or deadline.is_over():
            break
        try:
            found, interrupted = _searched([only(of_depth(one.arrays, depth), splits) for one in targets])
        except TooLarge:
            break
        for place, (each, one) in enumerate(zip(targets, found)):
            if one.split is not None:
                best[place] = cheaper(problem, each.tree(named(one.split, splits), one.label), best[place])
        if interrupted:
            deadline.end_soon()
            break
    return best


def _as_deep(posed: SearchProblem, first: ConstrainedProblem) -> SearchProblem:
    """Return a problem whose trees have fewer branch nodes, searched to the depth of the first one."""
    if posed.arrays.depth == first.depth:
        return posed
    return replace(posed, arrays=with_splits(posed.arrays, depth=first.depth, allowed=first.allowed))


def _alike(one: ConstrainedProblem, other: ConstrainedProblem) -> bool:
    """Return whether two problems differ only by their sums, and no tree has to be checked."""
    same = {field.name for field in fields(one)} - {"uses", "bound", "accepts"}
    return (
        one.accepts is other.accepts is None
        and one.uses.shape == other.uses.shape
        and all(_same(getattr(one, name), getattr(other, name)) for name in same)
    )


def _same(one: object, other: object) -> bool:
    return one is other or bool(one == other if isinstance(one, Below) else np.array_equal(one, other))


def certify_in_time(problem: Problem) -> dict:
    """Return the certificate of the best tree under constraints; at the deadline of this context, or after an
    interruption, the certificate of a bound: the best tree found, and a lower bound on the cost of all trees,
    whether they satisfy the constraints or not.

    Raises
    ------
    NotProvedError, TimeLimitReached
        If no tree was found by then, and CART's splits give none.
    ChoiceError
        As in odtc.formulations.dpflow.write_constrained_certificate.certify_constrained.
    """
    try:
        with deadline.within(deadline.time_share(np.inf, SEARCHED)):
            return certify_constrained(problem)[0]
    except (NotProvedError, TimeLimitReached) as ended:
        searched = isinstance(ended, NotProvedError)  # otherwise the time ended before the search
        if searched and ended.interrupted:
            deadline.end_soon()  # the end of the whole call, not only of the search
        with deadline.put_off():
            heap = at_once(problem, ended.heap if searched else None)
        if heap is None:
            raise
        search = threshold_search.ThresholdSearch(_free(problem))
        search.run_for_bound()
        with deadline.put_off():
            return certify_search(search, heap)
