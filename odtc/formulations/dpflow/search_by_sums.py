"""The search over all cuts for leaves whose cost is a function of sums over their rows, such as a squared error, or
that predict medians (odtc.algorithms.moments): from a problem to its best tree, bound and certificate."""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtc.algorithms.moments import laws
from odtc.algorithms.moments.careful_costs import CarefulCosts
from odtc.algorithms.moments.exact_costs import ROUND, ExactCosts, ExactMedians, Undecided, rounding
from odtc.algorithms.moments.exact_likelihood import ExactLikelihood
from odtc.algorithms.moments.exact_search import Best, ExactSearch
from odtc.algorithms.moments.lines import ExactLines, LineCosts
from odtc.algorithms.moments.medians import MedianCosts
from odtc.algorithms.moments.medians import rounding as rounding_of_medians
from odtc.algorithms.moments.search import MomentSearch, SearchByIntervals
from odtc.algorithms.weighted_quantiles import weighted_median
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.data.task import TASKS, exact_costs, own_costs
from odtc.data.tasks import median
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.dpflow.forms import beyond_rows, is_plain
from odtc.formulations.dpflow.forms.moments import by_moments, takes
from odtc.formulations.dpflow.forms.moments_certificate import certify_leaf_sums
from odtc.formulations.dpflow.forms.moments_limits import limits_of, scales_of
from odtc.formulations.dpflow.searched import REPORT_SECONDS, Searched
from odtc.problem.branch_penalty import exact_price, objective
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.exact_objective import comparable_cost
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, nested_splits, settle

GROWN = 2e6  # rows times columns; up to this size, a tree can still be made deeper quickly after the time limit
MAX_DISTINCT_TARGETS = 32  # distinct target values; with more, the search for medians uses sorted rows
FEW_TREES = 20_000  # cuts to the power of the depth; up to this number all trees are compared, for any rounding
ROUNDED = 1e-12  # relative: largest excess of a bound in doubles over the exact one
COMPARED = "regression", "linear", "median", "survival"  # tasks whose near-optimal trees are compared by exact costs
MOST_LIKELIHOOD = 1e-6  # relative to all events: with less rounding of costs, near-optimal trees are compared exactly
EXACT_BELOW = 10**11  # whole costs below this are exact in the search for medians, which has a tolerance of 10^-12
MEDIANS_OFF = 2e-12  # times the rows: upper bound on the rounding error of costs, relative to Σ w |y - median|
UNCERTIFIED = "a certificate of medians takes at most {} numbers, and whole ones that add up to {:g} or less"

MOST_PRICE = 1e300  # penalty of a branch node, in units of the search: the costs of all rows are less

TOO_FINE = (
    "some cells of a column differ so little, compared with all of them, that the search for linear leaves may take "
    "them for equal; round the numbers to fewer digits for a proof"
)


def searches(problem: Problem) -> bool:
    """Return whether the search over all cuts supports a problem: no special variant of the file is requested."""
    params = problem.params
    return by_moments(problem) and takes(problem) and params.tail == "auto" and params.fold


def of_medians(problem: Problem) -> bool:
    """Return whether leaves predict medians of numbers that are too many, or too long, for one class each, and the
    search over all cuts supports everything that the problem requests."""
    encoded = problem.encoded
    if encoded.task != median.NAME or not is_plain(problem):
        return False
    if not isinstance(costs := exact_costs(encoded), ExactMedians):
        return False
    return (len(encoded.classes) > MAX_DISTINCT_TARGETS or costs.most >= EXACT_BELOW) and _holds_limits(problem)


def _holds_limits(problem: Problem) -> bool:
    """Return whether the search over all cuts respects the constraints."""
    if beyond_rows(problem) is None:
        return True
    try:
        limits_of(problem, scales_of(problem))
    except ChoiceError:
        return False
    return True


@value_class
class _Engine:
    """The search over all cuts, whose costs are multiples of `unit` and off by no more than `off` units, with the exact
    comparison of near-optimal trees if there is one."""

    search: MomentSearch
    unit: Fraction
    off: float
    exact: ExactSearch | None = None


def _engine(problem: Problem, scales: Scales, report: Callable[[float, float], None]) -> _Engine:
    """Return the search over all cuts; `report` gets its bound and the cost of its tree, in units."""
    encoded, limits, rank = problem.encoded, limits_of(problem, scales), scales.rank.astype(np.int64)
    task, count = TASKS.get(encoded.task), encoded.copies.astype(float)
    terms, costs = (least_rows(problem), deadline.check), exact_costs(encoded)
    if task.LINES:
        return _of_lines(problem, costs, (rank, count), (*terms, report, limits))
    if not isinstance(costs, ExactCosts):
        whole = costs is not None and costs.fits  # else hazards are rounded
        unit, moments = (costs.unit, costs.moments) if whole else (Fraction(1), task.moments(encoded.sums))
        price = _in_search(exact_price(problem) / unit)
        engine = MomentSearch(rank, np.stack([*moments, count]), laws.LAWS[task.LOSS], price, *terms, report, limits)
        off = costs.off if whole else 0.0
        if not whole and encoded.task in COMPARED:
            off = rounding(laws.LAWS[task.LOSS], moments, False, 2**problem.topology.depth)
        if (own := own_costs(encoded)) is not None:
            engine.base = float(own.sum() / float(unit))
            rounded = ROUND * (len(encoded.row_of) + 16)
            engine.base -= rounded * float(np.abs(own).sum() / float(unit) + np.abs(moments[1]).sum())
        return _of_likelihood(problem, engine, costs, unit, off)
    price = exact_price(problem) / costs.unit
    near = _in_search(price / costs.scale)  # the search by doubles counts in units of the scale
    if task.MOMENTS:
        w, s, q = costs.moments
        engine = MomentSearch(rank, np.stack([w, s, q, count]), laws.SQUARE, near, *terms, report, limits)
        engine.q, engine.base = s * s / w, float(costs.least(np.arange(len(w))) / costs.scale)
        off = rounding(laws.SQUARE, np.stack([w, s, engine.q]), costs.whole, 2**problem.topology.depth)
    else:
        order = np.argsort(costs.numbers, kind="stable")
        y, weight = costs.numbers.astype(float), costs.moments[0]
        losses = MedianCosts(np.stack([y, weight, count])[:, order])
        engine = SearchByIntervals(rank[order], losses, count[order], near, *terms, report, limits)
        apart = y - weighted_median(y, weight)
        off = MEDIANS_OFF * (len(y) + 4) * float(weight @ np.abs(apart)) + 8 * rounding_of_medians(weight, apart)
        costs, rank, count = costs.taken(order), rank[order], count[order]
        if costs.most + 2**problem.topology.depth * price < EXACT_BELOW and price.denominator == 1:
            off, engine.is_exact = 0.0, True
    engine.slack = 4 * max(off, engine.near) if off else 0.0

    def careful() -> SearchByIntervals:
        return SearchByIntervals(rank, CarefulCosts(costs, count), count, near, *terms, limits=limits)

    return _Engine(engine, costs.unit * costs.scale, engine.slack, ExactSearch(engine, costs, price, careful))


def _in_search(price: Fraction) -> float:
    """Return the penalty of a branch node as a double. A larger one than all costs rules out every split, like the
    largest that some of can be added up."""
    return float(min(price, Fraction(MOST_PRICE)))


def _of_lines(problem: Problem, costs: ExactLines, rows: tuple[np.ndarray, np.ndarray], terms: tuple) -> _Engine:
    """Return a search for trees with linear leaves. It compares near-optimal trees exactly if it has all digits of the
    numbers."""
    (rank, count), table = rows, costs.for_search()
    price, off = exact_price(problem) / costs.unit, 2**problem.topology.depth * table.off
    engine = SearchByIntervals(
        rank, LineCosts(table, count), count, _in_search(exact_price(problem) / table.unit), *terms
    )
    engine.most_room = None
    if off == np.inf:
        return _Engine(engine, table.unit, off)
    engine.slack = max(4 * engine.near, off)
    return _Engine(engine, table.unit, engine.slack, ExactSearch(engine, costs, price, None))


def _of_likelihood(
    problem: Problem, engine: MomentSearch, costs: ExactLikelihood | None, unit: Fraction, off: float
) -> _Engine:
    """Return a search for survival trees whose costs have an error of at most `off`, in units of the search. It
    compares near-optimal trees exactly if exact costs are available."""
    near, events = 4 * (off + engine.near), float(engine.moments[1].sum())
    if costs is None:
        return _Engine(engine, unit, near)
    if off < MOST_LIKELIHOOD * events:
        engine.slack, engine.most_room = near, None
    elif float((engine.size - 1).sum()) ** problem.topology.depth <= FEW_TREES:
        engine.slack, engine.most_room = np.inf, None
    return _Engine(engine, unit, near, ExactSearch(engine, costs, exact_price(problem) / costs.unit, None))


def search(
    problem: Problem, known: HeapTree | None = None, tell: Callable[[float, float, str], None] | None = None
) -> Searched:
    """Return the best tree over all splits with its proof, or at the deadline the best tree found and a bound.

    Parameters
    ----------
    problem : Problem
    known : HeapTree or None, a known tree; the result is at least as good
    tell : called with (bound, objective, phase as text) now and then

    Returns
    -------
    Searched
    """
    found, engine, scales = _searched(problem, known, tell)
    if why := uncertified(problem):
        return replace(found, uncertified=why)
    if TASKS.get(problem.encoded.task).LINES and not found.proved and not engine.slack:
        found = replace(found, rounded=TOO_FINE)
    if found.heap is None:
        return found
    return replace(found, certificate=lambda: certify_leaf_sums(problem, engine, scales, found.heap))


def uncertified(problem: Problem) -> str:
    """Return why this search has no certificate; "" if it has one."""
    return "" if by_moments(problem) else UNCERTIFIED.format(MAX_DISTINCT_TARGETS, EXACT_BELOW)


def certificate(problem: Problem) -> dict:
    """Return the certificate of the best tree (odtc.verification.leaf_sums)."""
    found, engine, scales = _searched(problem, None, None)
    return certify_leaf_sums(problem, engine, scales, found.heap)


def _searched(problem: Problem, known: HeapTree | None, tell) -> tuple[Searched, MomentSearch, Scales]:
    """Return the result of the search over all cuts, the search, and the ordered features of its cuts."""
    scales = scales_of(problem)
    depth, share, told = problem.topology.depth, 1 - problem.params.lambda_, [time.monotonic()]
    phase = f"depth {depth}"

    def report(lower: float, upper: float) -> None:
        if tell is not None and time.monotonic() > told[0] + REPORT_SECONDS:
            told[0] = time.monotonic()
            tell(in_objective * lower, in_objective * upper, phase)

    engine = _engine(problem, scales, report)
    in_objective, found = share * float(engine.unit), engine.search
    ended, compared, interrupted, best = False, False, False, None
    try:
        found.solve(depth)
        ended = True
        best = _best_exactly(engine, depth)
        compared = True
    except TimeLimitReached:
        pass
    except KeyboardInterrupt:
        interrupted = True
    if not ended and found.root is not None and problem.encoded.n_rows * len(scales.rank.T) <= GROWN:
        with deadline.put_off():
            found.grow(depth, at_once=1)
    if found.root is None:
        return Searched(known, in_objective * found.base, False, 1, 1, phase, interrupted), found, scales
    heap = _heap(problem, scales, found.tree() if best is None else best.tree)
    if known is not None and best is None and comparable_cost(problem, known) < comparable_cost(problem, heap):
        heap = known
    paid = objective(problem, heap)
    proved = best is not None or (ended and engine.exact is None and problem.encoded.task not in COMPARED)
    off = max(found.off, engine.off)
    lower = in_objective * max(found.base, found.bound - off)
    bound = paid if proved else min(float(np.nextafter(paid, -np.inf)), lower - ROUNDED * abs(lower))
    phase = (
        f"{f'depth {found.height} proved, ' if found.height else ''}{phase}: objective {paid:.6g}, bound {bound:.6g}"
    )
    done = Searched(heap, bound, False, 0 if proved else 1, 1, phase, interrupted, proved=proved)
    off = in_objective * off if proved and best is None else 0.0  # other bounds are lowered by it
    return replace(done, off=off, undecided=compared and not proved, exact=best is not None), found, scales


def _best_exactly(engine: _Engine, depth: int) -> Best | None:
    """Return the best tree by exact costs; None if rounding leaves too many near-optimal trees."""
    if engine.exact is None:
        return None
    try:
        return engine.exact.best(depth)
    except Undecided:
        return None


def _heap(problem: Problem, scales: Scales, nested: tuple | None) -> HeapTree:
    """Return the tree of a nested tree of the search."""
    return settle(nested_splits(nested, problem.topology, scales.split), problem.encoded)
