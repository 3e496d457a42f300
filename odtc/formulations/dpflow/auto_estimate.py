"""The largest sizes that dpflow can have on a problem, for `--model auto`.

dpflow needs no integer variables and any LP solver proves its tree, but the number of states grows with F^(depth-1),
where F is the number of splits. With many ordered thresholds, the size of the search over intervals counts instead.
"""

from contextlib import suppress
from math import comb

from odtc.algorithms.constrained import engines
from odtc.base.text import count_of
from odtc.base.wording import option
from odtc.data.threshold_scales import Scales
from odtc.errors import TimeLimitReached
from odtc.formulations.dpflow import constrained, limited_search, path_constraints, size_estimate
from odtc.formulations.dpflow.forms import ROWS, answering, form, intervals, kinds, states
from odtc.formulations.dpflow.program import folded_levels
from odtc.problem.constraints.kind import CONSTRAINTS, Knows
from odtc.problem.estimates import Counts, Estimate, Sizes, rough
from odtc.problem.problem import Problem

MOST_CELLS = 3_000_000_000  # maximum number of sums of the search over intervals: about half a minute
CELLS_A_SECOND = 100_000_000  # approximate number of these sums per second
MOST_POINTS = 12_000_000  # maximum number of subtrees that the compiler stores; it leaves out nearly all of them later


def estimate(sizes: Sizes) -> Estimate:
    """Return an estimate for the variant that supports the constraints, or for intervals if features have many
    thresholds. If a tree is fitted under constraints, dpflow's own search counts unless it is too long."""
    if sizes.fitting and sizes.constraints:
        sums = engines.sums(sizes.n_candidate_splits, sizes.depth)
        if sums > engines.MOST_SUMS and limited_search.limits_size(sizes.constraints, sizes.depth):
            splits = count_of(sizes.n_candidate_splits, "split")
            words = (
                f"searches the small trees of these {splits}, and has the best tree so far and a bound at every moment"
            )
            return Estimate(True, words, sums)
        if sizes.encoded is not None and sums > engines.MOST_SUMS:
            if constrained.can_search(sizes.encoded, sizes.depth):
                words = f"searches the {count_of(sizes.n_candidate_splits, 'split')}, or some of them, for a good tree"
                fewer = f"fewer splits ({option('encoding', 'auto:bins=8')}) prove it"
                return Estimate(True, f"{words} under constraints, and has a bound: {fewer}", sums)
        elif sums <= engines.MOST_SUMS:
            words = f"searches the trees that satisfy the constraints ({_one_look(sizes, sums)})"
            return Estimate(True, words, sums)
    kept = (*ROWS, *kinds())
    on_splits = {name for name in sizes.constraints if CONSTRAINTS.get(name).KNOWS == Knows.TESTS}
    remembers = _remembers(sizes)
    if others := [name for name in sizes.constraints if name not in kept and name not in on_splits]:
        return Estimate(False, f"does not take {others[0]!r}")
    if sizes.encoded is not None and sizes.depth > 1 and not sizes.constraints and intervals.worth(sizes.encoded):
        return _by_intervals(sizes)
    n_candidate_splits, depth = sizes.n_candidate_splits, sizes.depth
    columns, what, most = _columns(sizes, remembers)
    sums = size_estimate.sums(n_candidate_splits, depth)
    size = (
        f"at most {count_of(columns, 'variable')} and {rough(sums)} operations at depth {depth} over "
        f"{count_of(n_candidate_splits, 'split', '')}"
    )
    if columns <= most and sums <= size_estimate.MOST_SUMS:
        return Estimate(True, f"is {what} of {size}", sums)
    sums = engines.sums(n_candidate_splits, depth)
    if sizes.constraints and n_candidate_splits <= engines.MOST_TESTS and sums <= constrained.MOST_BEFORE:
        words = f"writes the rest of the problem after its search under constraints ({_one_look(sizes, sums)})"
        return Estimate(True, words, sums)
    return Estimate(False, f"could have {size}, more than fit: {_less('let it')}")


def _one_look(sizes: Sizes, sums: float) -> str:
    """Return a text on the length of a search under constraints, which goes through all trees once in each of its
    rounds."""
    splits = count_of(sizes.n_candidate_splits, "split")
    return f"about {rough(sums)} operations at depth {sizes.depth} with {splits} for one pass over all trees"


def counts(problem: Problem) -> Counts:
    """Return the size of the linear program over states: a variable for each arc and each stop, with an entry in the
    constraint of its state and, for an arc above the last level, in the constraints of the two states below. The parts
    that the search leaves out are not known in advance."""
    n_candidate_splits, depth = problem.encoded.n_candidate_splits, problem.topology.depth
    if form(problem) is intervals:
        sums = intervals.work(Scales.of(problem.encoded), depth)
        return Counts(seconds=sums / CELLS_A_SECOND, words="only known after its search over intervals of thresholds")
    if form(problem) is not states:
        return Counts(words="only known after the first search")
    levels = depth - folded_levels(problem, depth)
    columns = size_estimate.most_columns(n_candidate_splits, levels)
    rows = size_estimate.most_states(n_candidate_splits, levels)
    above = size_estimate.most_columns(n_candidate_splits, levels - 1) - size_estimate.most_states(
        n_candidate_splits, levels - 1
    )
    return Counts.at_most(columns + 1, rows, columns + 2 * above, size_estimate.seconds(n_candidate_splits, depth))


def columns_of(sizes: Sizes) -> int:
    """Return the largest possible number of variables of a program that is written as a whole."""
    return _columns(sizes, _remembers(sizes))[0]


def written_fits(sizes: Sizes) -> bool:
    """Return whether a program that is written as a whole fits into memory, and is made in about half a minute."""
    columns, _, most = _columns(sizes, _remembers(sizes))
    return columns <= most and size_estimate.sums(sizes.n_candidate_splits, sizes.depth) <= size_estimate.MOST_SUMS


def _remembers(sizes: Sizes) -> bool:
    """Return whether states must remember their paths."""
    return any(
        CONSTRAINTS.get(name).KNOWS == Knows.TESTS and name not in (*ROWS, *kinds()) for name in sizes.constraints
    )


def _by_intervals(sizes: Sizes) -> Estimate:
    scales, depth = Scales.of(sizes.encoded), sizes.depth
    sums = intervals.work(scales, depth)
    size = f"about {rough(sums)} operations at depth {depth} over {count_of(sizes.n_candidate_splits, 'threshold', '')}"
    if sums <= MOST_CELLS:
        return Estimate(True, f"is a linear program of intervals, found by {size}", sums)
    with suppress(TimeLimitReached):
        if intervals.ends_at_once(sizes.encoded, scales, depth):
            why = f"as a tree of less than depth {depth} errs only if every tree does"
            return Estimate(True, f"over intervals ends at once, {why}", 0.0)
    return Estimate(False, f"over intervals would take {size}, more than half a minute: {_less('shorten it')}")


def _columns(sizes: Sizes, remembers: bool) -> tuple[int, str, int]:
    """Return (the largest possible number of variables of the model, a description of it, the largest number that is
    allowed)."""
    n_candidate_splits, depth, names = sizes.n_candidate_splits, sizes.depth, set(sizes.constraints)
    most = size_estimate.MOST_COLUMNS
    if remembers and names & set(answering()):
        return size_estimate.most_labels(n_candidate_splits, depth), "a flow of labels and splits", most
    if remembers:
        return path_constraints.most_columns(n_candidate_splits, depth), "a flow over the nodes", most
    if not names <= set(ROWS):
        return size_estimate.most_points(n_candidate_splits, depth), "a flow of subtrees", MOST_POINTS
    tail, folded = size_estimate.short_tail(n_candidate_splits, depth), 0
    if names and depth > 1:
        # odtc.formulations.dpflow.resources folds one level if depth is above 2; the states there have columns, too.
        tail = min(1, depth - 2)
        folded = 2 ** (depth - tail) * comb(n_candidate_splits, depth - tail) if tail else 0
    return size_estimate.most_columns(n_candidate_splits, depth - tail) + folded, "a linear program", most


def _less(would: str) -> str:
    return f"fewer splits ({option('encoding', 'auto:bins=8')}) or a smaller {option('depth')} would {would}"
