"""The plain form for a task whose leaves cost a function of sums over their rows, as a squared error.

The program is the same; no table folds levels, so every column is a label or a test. `odtc fit` asks the search over
all cuts instead (odtc.algorithms.moments).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from odtc.algorithms.moments.laws import LAWS
from odtc.base import deadline
from odtc.base.wording import command, option, param
from odtc.data.encoding import Encoded
from odtc.data.task import TASKS, own_costs
from odtc.data.tasks import median
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.dpflow.forms import states
from odtc.formulations.dpflow.forms.moments_limits import limited, limits_of, scales_of
from odtc.formulations.dpflow.forms.states import decode, keeps, notes, targets, trimmed  # noqa: F401
from odtc.formulations.dpflow.searched import Searched
from odtc.model.milp import Model
from odtc.problem.branch_penalty import branch_price, objective
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

if TYPE_CHECKING:
    from odtc.algorithms.moments.search import MomentSearch

OFTEN = 0.05  # seconds between two reports
start = states.start
GROWN = 2e6  # rows times columns of which a tree is made deeper in a moment after the limit
MANY = 32  # numbers, from which on medians are searched for among sorted rows
UNCERTIFIED = "a certificate of medians takes a class for each number, of which there are more than {}"


def by_moments(problem: Problem) -> bool:
    """Whether the leaves of a problem cost a function of sums over their rows."""
    return TASKS.get(problem.encoded.task).MOMENTS


def takes(problem: Problem) -> bool:
    """Raises ChoiceError for parameters that need a cost of each row."""
    if not by_moments(problem):
        return False
    params, task = problem.params, problem.encoded.task
    if params.intervals == "true" or params.tail in ("1", "2"):
        asked = ("intervals", True) if params.intervals == "true" else ("tail", params.tail)
        raise ChoiceError(f"{param(*asked)} folds costs of rows, which {option('task', task)} has not; leave it out")
    return not params.proof


def build(problem: Problem) -> Model:
    _expect_leaf_rows(problem)
    return states.build(problem)


def optimal(problem: Problem) -> HeapTree:
    _expect_leaf_rows(problem)
    return states.optimal(problem)


def _expect_leaf_rows(problem: Problem) -> None:
    """Raises ChoiceError for other constraints, which no column of the program keeps."""
    if limited(problem):
        given = next(given for given in problem.constraints if given.name not in states.ROWS)
        raise ChoiceError(
            f"the linear program of {option('task', problem.encoded.task)} keeps the constraint leaf_rows alone; "
            f"{command('fit')} without a solver and without --format finds the best tree under {str(given)!r}"
        )


def searches(problem: Problem) -> bool:
    """Whether the search over all cuts takes a problem: no special form of the file is asked for."""
    params = problem.params
    return by_moments(problem) and takes(problem) and params.tail == "auto" and params.fold


def of_medians(problem: Problem) -> bool:
    """Whether leaves answer medians of so many numbers that a class for each is too many, and the search over all cuts
    takes all that the problem asks for."""
    encoded, params = problem.encoded, problem.params
    plain = params.tail == params.intervals == "auto" and params.fold and not params.proof
    return encoded.task == median.NAME and plain and len(encoded.classes) > MANY and _holds_limits(problem)


def _holds_limits(problem: Problem) -> bool:
    """Whether the search over all cuts heeds the constraints."""
    if not limited(problem):
        return True
    try:
        limits_of(problem, scales_of(problem))
    except ChoiceError:
        return False
    return True


def _engine(encoded: Encoded, rank: np.ndarray, terms: tuple) -> "MomentSearch":
    """The search over all cuts, of `terms` from the price on."""
    from odtc.algorithms.moments.medians import MedianSearch  # most runs never need it
    from odtc.algorithms.moments.search import MomentSearch

    task, count = TASKS.get(encoded.task), encoded.copies.astype(float)
    if task.MOMENTS:
        moments = np.stack([*task.moments(encoded.sums), count])
        engine, own = MomentSearch(rank, moments, LAWS[task.LAW], *terms), own_costs(encoded)
        if own is not None:
            engine.base = float(own.sum())
        return engine
    y = median.values_of(encoded.classes)[encoded.y]
    order = np.argsort(y, kind="stable")
    return MedianSearch(rank[order], np.stack([y, encoded.weight, count])[:, order], *terms)


def search(
    problem: Problem, known: HeapTree | None = None, tell: Callable[[float, float, str], None] | None = None
) -> Searched:
    """The best tree over all tests, proved, or at the deadline the best one met and a bound.

    Parameters
    ----------
    problem : Problem
    known : HeapTree or None, a tree that is known; what comes back is no worse
    tell : called with (bound, objective, phase in words) now and then

    Returns
    -------
    Searched
    """
    found, engine, scales = _searched(problem, known, tell)
    if not by_moments(problem):
        return replace(found, uncertified=UNCERTIFIED.format(MANY))
    if found.heap is None:
        return found
    from odtc.formulations.dpflow.forms.moments_certificate import certify_leaf_sums

    return replace(found, certificate=lambda: certify_leaf_sums(problem, engine, scales, found.heap))


def certificate(problem: Problem) -> dict:
    """The certificate of the best tree (odtc.verification.leaf_sums)."""
    from odtc.formulations.dpflow.forms.moments_certificate import certify_leaf_sums

    found, engine, scales = _searched(problem, None, None)
    return certify_leaf_sums(problem, engine, scales, found.heap)


def _searched(problem: Problem, known: HeapTree | None, tell) -> "tuple[Searched, MomentSearch, Scales]":
    """What the search over all cuts finds, the search, and the scales of its cuts."""
    scales = scales_of(problem)
    limits = limits_of(problem, scales)
    encoded, share = problem.encoded, 1 - problem.params.lambda_
    told = [time.monotonic()]
    depth, phase = problem.topology.depth, f"depth {problem.topology.depth}"

    def report(lower: float, upper: float) -> None:
        if tell is not None and time.monotonic() > told[0] + OFTEN:
            told[0] = time.monotonic()
            tell(share * lower, share * upper, phase)

    price, least = branch_price(problem), least_rows(problem)
    engine = _engine(encoded, scales.rank.astype(np.int64), (price, least, deadline.check, report, limits))
    proved = interrupted = False
    try:
        engine.solve(depth)
        proved = True
    except TimeLimitReached:
        pass
    except KeyboardInterrupt:
        interrupted = True
    if not proved and engine.root is not None and encoded.n_rows * len(scales.rank.T) <= GROWN:
        with deadline.put_off():
            engine.grow(depth, at_once=1)
    if engine.root is None:
        return Searched(known, share * engine.base, False, 1, 1, phase, interrupted), engine, scales
    test, _ = blank_arrays(problem.topology)
    stack = [(1, engine.tree())]
    while stack:
        node, tree = stack.pop()
        if tree is not None:
            test[node] = scales.test(tree[0], tree[1])
            stack += [(2 * node, tree[2]), (2 * node + 1, tree[3])]
    heap = settle(test, encoded)
    paid = objective(problem, heap)
    if known is not None and objective(problem, known) < paid:
        heap, paid = known, objective(problem, known)
    lower = share * max(engine.base, engine.bound - engine.off)  # sums are rounded
    bound = paid if proved else min(paid, lower)
    phase = f"{f'depth {engine.height} proved, ' if engine.height else ''}{phase}: {paid:.6g}, bound {bound:.6g}"
    ended = Searched(heap, bound, False, 0 if proved else 1, 1, phase, interrupted, off=share * engine.off)
    return ended, engine, scales
