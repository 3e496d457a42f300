"""dpflow: the dynamic program for optimal trees as a flow, whose linear program is its own proof.

A state is a set of rows that some path of splits leaves. One unit of flow enters the state of all rows; at a state it
stops, or it takes a split and enters the states of both sides. Every vertex is a tree, so the model needs no integer
variables, and any LP solver proves the tree (odtc.formulations.dpflow.network, with the program and the reason).

The constraints and the data determine the model; each variant is a module of odtc.formulations.dpflow.forms:

    states                 the plain variant; if every leaf must have N rows, no arc separates fewer from a state
    proof                  only the part of it that proves the optimum
    intervals              over many ordered thresholds, one variable for an interval of them
    resources              a constraint bounds a sum over the tree: a variable for each label or folded subtree that no
                           other dominates, with its use of the bound, Σ_p a_p t_p ≤ upper; all variables are integer
    paths                  a constraint refers to the features that nodes split on: states remember their paths, also
                           under `resources` if there are constraints of both types
    live_cases             the part that the compiler's own search leaves of a large program under constraints
"""

from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from odtc.base import deadline
from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.base.wording import option, param
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.dpflow import forms, threshold_search
from odtc.formulations.dpflow.forms import form
from odtc.formulations.dpflow.searched import Searched
from odtc.problem.branch_penalty import (  # noqa: F401
    branch_penalty,
    objective,
    unit_costs,  # noqa: F401
)
from odtc.problem.constraints.kind import Knows, Subject
from odtc.problem.estimates import Counts, Estimate, Sizes
from odtc.problem.exact_objective import settled_bound
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

if TYPE_CHECKING:
    from odtc.formulations.dpflow.near_optimal_set import DpflowNearOptimalTrees
    from odtc.formulations.dpflow.ranked_trees import ConstrainedRanking, DpflowRanking
    from odtc.model.milp import Model

NAME = "dpflow"
TITLE = "dpflow: the dynamic program as a flow; any LP solver proves the tree"
PAPER = "Martin, Rardin & Campbell (1990), Polyhedral Characterization of Discrete Dynamic Programming"

# Descriptions of the searches, for `engine`.
_BY_SUMS = "a search over all cuts for leaves that predict numbers"
_MEDIANS = "a search over sorted rows for leaves that predict medians"
_THRESHOLDS = "a search over all trees of these splits"
_SMALL_TREES = "a search over all trees of these splits with few branch nodes or columns"
_CONSTRAINED = "a search over the trees that satisfy the constraints"
_COMPARED = "an exact comparison of all trees that satisfy the constraints"
ANY_COST = True
MOMENTS = True
KEEPS = (*forms.ROWS, *forms.kinds())  # constraint types for which states need not remember their paths
VARIANTS = (
    {"tail": "0", "fold": "false"},
    {},
    {"tail": "1"},
    {"lambda": 0.25},
    {"lambda": 0.25, "tail": "2"},
    {"proof": "true"},
    {"fix": "false", "tail": "2"},
    {"fix": "false", "tail": "0", "lambda": 0.25},
    {"intervals": "true"},
    {"intervals": "true", "lambda": 0.25, "tail": "2"},
    {"intervals": "true", "proof": "true"},
)


@value_class
class Params:
    lambda_: float = parameter(
        0.0,
        "penalty for each branch node: min (1-λ) loss + λ branch nodes; a node has to save λ/(1-λ) units of loss",
        least=0,
        below=1,
    )
    tail: str = parameter(
        "auto",
        "levels above the leaves that the compiler solves (auto: 0 to depth 2, 1 at depth 3, else 2; more if it is "
        "large; 1 if a constraint bounds a sum over the tree)",
        choices=("auto", "0", "1", "2"),
    )
    fold: bool = parameter(
        True,
        "do not expand a state whose cost no tree can avoid, nor a depth that no tree needs (not if a constraint "
        "bounds a sum)",
    )
    fix: bool = parameter(
        True,
        "if a constraint bounds a sum over the tree or its splits: leave out parts that no better tree has",
    )
    intervals: str = parameter(
        "auto",
        "ordered thresholds: one column for many, refined until it costs as much as the best tree, which the "
        "compiler has found",
        choices=("auto", "true", "false"),
    )
    proof: bool = parameter(
        False, "only the states that prove the optimum, which the compiler has found: the smallest such file"
    )
    fewest: bool = parameter(
        False, "of the best trees search for one with the fewest leaves to the end, also if that takes long"
    )
    cases: str = parameter(
        "", "the rest of a large program after a search under constraints, packed: odtc sets it itself", silent=True
    )
    merge: bool = merge_rows()


# Modules that most runs do not need:
def _constrained() -> ModuleType:
    from odtc.formulations.dpflow import constrained

    return constrained


def _limited() -> ModuleType:
    from odtc.formulations.dpflow import limited_search

    return limited_search


def _by_sums() -> ModuleType:
    from odtc.formulations.dpflow import search_by_sums

    return search_by_sums


def _ranked_trees() -> ModuleType:
    from odtc.formulations.dpflow import ranked_trees

    return ranked_trees


def _auto_estimate() -> ModuleType:
    from odtc.formulations.dpflow import auto_estimate

    return auto_estimate


def estimate(sizes: Sizes) -> Estimate:
    """Return an estimate: without constraints always of its own search, which has a tree and a bound at every moment,
    if a tree is fitted."""
    if sizes.fitting and not sizes.constraints:
        words = f"searches all trees of depth {sizes.depth} over {count_of(sizes.n_candidate_splits, 'split')}"
        return Estimate(True, f"{words}, and has the best tree so far and a bound at every moment", 0.0)
    return _auto_estimate().estimate(sizes)


def counts(problem: Problem) -> Counts:
    """Return the size of the linear program, as far as it is known in advance."""
    return _auto_estimate().counts(problem)


def keeps(problem: Problem) -> tuple[str, ...]:
    """Return the types of constraints that determine which states and arcs exist."""
    return form(problem).keeps(problem)


def hinders(problem: Problem, given) -> str:
    """Return the parameter, with its value, that prevents a constraint which would be supported without it; "" if
    there is none."""
    params = problem.params
    if given.name not in KEEPS and given.module.KNOWS != Knows.TESTS:
        return ""
    return (
        param("proof", True)
        if params.proof
        else param("intervals", True)
        if params.intervals == "true"
        else param("tail", params.tail)
        if params.tail in ("1", "2")
        else ""
    )


def build(problem: Problem) -> "Model":
    return form(problem).build(problem)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree that `trimmed` made, as a point: its leaves have the labels of least cost, and folded parts are
    the best possible. Raises TreeError for another tree."""
    return form(problem).start(problem, heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return a tree that costs no more and that the model contains."""
    return form(problem).trimmed(problem, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point; for intervals and proofs the compiler's tree, whose cost the file proves."""
    return form(problem).decode(problem, point)


def limited(problem: Problem, start: HeapTree | None = None) -> tuple[Problem, Searched | None]:
    """Return the problem that is compiled, and the result of the search: for a large program under constraints, the
    problem is the part that the search leaves."""
    if not problem.constraints:
        return problem, None
    from odtc.formulations.dpflow import search_before_model  # most runs never need it

    return search_before_model.limited(problem, start)


def so_far(problem: Problem) -> Searched | None:
    """Return, under constraints, the tree of CART's splits that satisfies them."""
    if _by_moments(problem) or not _under_constraints(problem):
        return None
    heap = _constrained().at_once(problem, None)
    return None if heap is None else Searched(heap, 0.0, False, 1, 1)


def searches(problem: Problem) -> bool:
    """Return whether `fit` needs no solver: the compiler's own searches support the constraints, if any."""
    return bool(engine(problem))


def engine(problem: Problem) -> str:
    """Return the search that finds the tree of a problem, in words; "" if none supports it."""
    if TASKS.get(problem.encoded.task).NUMBERS:
        if _by_moments(problem):
            return _BY_SUMS if _by_sums().searches(problem) else ""
        if _by_sums().of_medians(problem):
            return _MEDIANS
    if threshold_search.searches(problem):
        return _THRESHOLDS
    if _limits_size(problem):
        return _SMALL_TREES
    if _under_constraints(problem):
        return _CONSTRAINED
    return _COMPARED if _all_compared(problem) else ""


def uncertified(problem: Problem) -> str:
    """Return why the search of a problem makes no certificate; "" if it makes one."""
    by = engine(problem)
    if by == _SMALL_TREES:
        return _limited().only_proof(problem)
    return _by_sums().uncertified(problem) if by in (_BY_SUMS, _MEDIANS) else ""


def _limits_size(problem: Problem) -> bool:
    """Return whether the search over thresholds supports the constraints of a problem, which limit the size of its
    trees."""
    return bool(problem.constraints) and bool(_limited().searches(problem))


def _by_moments(problem: Problem) -> bool:
    """Return whether the cost of a leaf is a function of sums over its rows."""
    return bool(TASKS.get(problem.encoded.task).MOMENTS)


def _all_compared(problem: Problem) -> bool:
    """Return whether the numbers are too large for the search under constraints, and so few trees that all of them are
    compared exactly."""
    if not problem.constraints:
        return False
    return _constrained().compares_all(problem)


def refusal(problem: Problem) -> str:
    """Return why `searches` refuses a problem, and what to do, as the end of a sentence."""
    return _constrained().refusal(problem)


def _under_constraints(problem: Problem) -> bool:
    """Return whether the search under constraints supports a problem; most runs have none, and never load it."""
    if not problem.constraints:
        return False
    return _constrained().searches(problem)


def search(problem: Problem, start: HeapTree | None, progress, floor: float = 0.0) -> Searched:
    """Return the best tree that satisfies the constraints and a bound, until the deadline of this context."""
    found = _search(problem, start, progress, floor)
    if found.heap is None or found.infeasible or found.proved or found.undecided or found.off:
        return found
    return replace(found, bound=settled_bound(problem, found.bound, objective(problem, found.heap)))


def _search(problem: Problem, start: HeapTree | None, progress, floor: float) -> Searched:
    by = engine(problem)
    if by in (_BY_SUMS, _MEDIANS):
        return _by_sums().search(problem, start, progress)
    if by == _SMALL_TREES:
        found = _limited().search(problem, start, progress)
        if found.proved or found.interrupted or deadline.is_over() or not _under_constraints(problem):
            known = so_far(problem) if found.heap is None else None
            return found if known is None else replace(found, heap=known.heap)
        start, floor, by = found.heap, max(floor, found.bound), _CONSTRAINED
    if by == _CONSTRAINED:
        return _constrained().search_by_schedule(problem, start, progress, floor)
    if by == _COMPARED:
        return _constrained().compare_all(problem, start)
    try:
        found = threshold_search.search(problem, start, progress)
    except (TimeLimitReached, KeyboardInterrupt) as end:  # while its arrays were made
        if start is None:
            raise
        if stopped := isinstance(end, KeyboardInterrupt):
            deadline.end_soon()
        found = Searched(start, 0.0, False, 1, 1, "no search was begun", interrupted=stopped)
    return replace(found, bound=max(found.bound, floor))


def frontier(problem: Problem, varied) -> list[Searched] | None:
    """Return the results of one search for each of some constraints, the loosest first; None if one search is not
    enough."""
    if _each_by_medians(problem, varied):
        return None
    return _constrained().frontier(problem, varied)


def frontier_starts(problem: Problem, varied) -> list[HeapTree | None]:
    """Return trees that satisfy each of some constraints, the loosest first, if there are too many splits for one
    search."""
    if _each_by_medians(problem, varied):
        return [None] * len(varied)
    return _constrained().frontier_starts(problem, varied)


def _each_by_medians(problem: Problem, varied) -> bool:
    """Return whether the search among sorted rows supports each of some constraints: it ends before a single search
    for all of them, which counts a class for each number, would have begun."""
    posed = (replace(problem, constraints=(*problem.constraints, given)) for given in varied)
    return all(map(_by_sums().of_medians, posed))


def inherit(problem: Problem, looser: Problem) -> None:
    """Use the bounds of the cases of a search with looser constraints."""
    if _under_constraints(problem) and _under_constraints(looser):
        _constrained().inherit(problem, looser)


def notes(problem: Problem) -> dict:
    """Return the number of variables that were left out because no better tree has them, and the bound and the tree
    that prove it."""
    return form(problem).notes(problem)


def certificate(problem: Problem) -> dict:
    """Return the certificate of the best tree, or at the deadline of a bound; under constraints one of multipliers."""
    if _by_moments(problem):
        return _by_sums().certificate(problem)
    if problem.constraints and not threshold_search.searches(problem):
        return _constrained().certify_in_time(problem)
    return threshold_search.certify(problem)


def expect_ranking(problem: Problem) -> None:
    """Raise ChoiceError for constraints under which the trees cannot be listed."""
    _ranked_trees().expect_ranking(problem)


def ranking(problem: Problem) -> "DpflowRanking | ConstrainedRanking":
    """Return the trees in the order of their objectives."""
    return _ranked_trees().ranking_of(problem)


def expect_counting(problem: Problem) -> None:
    """Raise ChoiceError for constraints on more than rows of leaves, or if leaves cost sums over their rows, because
    trees are counted by the costs of labels, which have a unit."""
    _ranked_trees().expect_leaf_rows_alone(problem)
    if _by_moments(problem):
        raise ChoiceError(
            f"the near-optimal trees are counted by whole units of what labels cost, which "
            f"{option('task', problem.encoded.task)} has not; `odtc fit --within E` lists them"
        )


def lists_only(problem: Problem) -> bool:
    """Return whether the near-optimal trees are listed, not counted: under constraints on more than rows of leaves, or
    if leaves cost sums over their rows, which have no unit."""
    return forms.beyond_rows(problem) is not None or _by_moments(problem)


def near_optimal_trees(
    problem: Problem, within: float, relative: bool, known: HeapTree | None
) -> "DpflowNearOptimalTrees":
    """Return all near-optimal trees, counted over all splits or thresholds."""
    from odtc.formulations.dpflow.near_optimal_set import DpflowNearOptimalTrees

    return DpflowNearOptimalTrees(problem, within, relative, known)


def subjects(params) -> tuple[Subject, ...]:
    """Return the subjects of constraints that it supports: an interval represents many splits, and folded levels know
    the path or the sums, but not which splits occur."""
    if params.intervals == "true":
        return ()
    if params.proof:
        return (Subject.LEAF_ROWS,)
    folded = (Subject.TESTS, Subject.FEATURES) if params.tail in ("1", "2") else ()
    return tuple(subject for subject in Subject if subject not in (*folded, Subject.LEAVES, Subject.SETTLED))
