"""A search under constraints before a large model is built: the model contains only the part that the search leaves
open.

It is used by `odtc build` and `odtc fit --solver` (`limited`). The model is then built by
odtc.formulations.dpflow.forms.live_cases, and the tree and the bound of the search are available whatever a solver
does.
"""

from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained import engines
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.subtree_options import Options, code_of, widened
from odtc.base import deadline
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.auto_estimate import columns_of, written_fits
from odtc.formulations.dpflow.constrained import Posed
from odtc.formulations.dpflow.forms.live_cases import Live
from odtc.formulations.dpflow.searched import Searched
from odtc.problem.estimates import Sizes
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

WHOLE_VARIABLES = 100_000  # variables: a program with fewer is written as a whole
MOST_COLUMNS = 300_000  # maximum number of variables for the live cases
SHARE = 0.5  # fraction of the remaining time for the search before the model is built


class Before:
    """Result of the search that comes before the model; None if it has not run for the problem."""

    def __init__(self, problem: Problem):
        self.found: Searched | None = None


def large(problem: Problem) -> bool:
    """Return whether a search supports the problem, and a program of all subtrees would be large."""
    if problem.encoded.n_candidate_splits > engines.MOST_TESTS or not constrained.searches(problem):
        return False
    return columns_of(_sizes(problem)) > WHOLE_VARIABLES


def _sizes(problem: Problem) -> Sizes:
    names = tuple(given.name for given in problem.constraints)
    return Sizes(problem.encoded.n_candidate_splits, problem.topology.depth, names)


def limited(problem: Problem, start: HeapTree | None) -> tuple[Problem, Searched | None]:
    """Return (the problem with the live cases that a search leaves, the result of that search); the problem as it is
    and None if its program is written as a whole.

    The search may take a part of the time that is left, or all of it if no program would be small enough either.
    """
    if problem.params.cases or not large(problem):
        return problem, None
    before = problem.derived(Before)
    if before.found is None:
        before.found = _found(problem, start)
        if before.found.interrupted and before.found.heap is None:
            raise KeyboardInterrupt
    found, posed = before.found, problem.derived(Posed)
    if not found.proved or found.heap is None or not isinstance(posed.search, ConstrainedSearch):
        return problem, found
    live = _live(problem, posed.search, posed.problem.unit)
    if live is None:
        return problem, found
    return replace(problem, params=replace(problem.params, cases=live.packed())), found


def _found(problem: Problem, start: HeapTree | None) -> Searched:
    left = deadline.seconds_left()
    with deadline.within(None if left is None else SHARE * left):
        found = constrained.search(problem, start)
    if not (found.proved or found.interrupted) and left is not None and not written_fits(_sizes(problem)):
        found = constrained.search(problem, found.heap, floor=found.bound)
    if not found.proved:
        with deadline.put_off():  # it takes a moment, and an end without a proof is never worse than CART
            found = replace(found, heap=constrained.at_once(problem, found.heap))
    return found


def _live(problem: Problem, search: ConstrainedSearch, unit: float) -> Live | None:
    """Return the cases that a search leaves after its end; None if that is too much, or if sums and sets do not
    express all constraints."""
    cases = search.live_cases(MOST_COLUMNS)
    if cases is None:
        return None
    arrays = search.original
    split, label = search.found.split, search.found.label
    size = 2**problem.topology.depth - 1  # nodes of a side; the trees of a search may be of less depth
    known = code_of(split, label, 1, 2 * size + 1).tolist()
    sides = [
        [place, side, code, vector]
        for place, case in enumerate(cases)
        for side, options in enumerate(case.sides)
        for code, vector in zip(_named(options, search, size).tolist(), options.vector.astype(np.int64).tolist())
    ]
    return Live(
        unit=unit,
        bound=arrays.bound.tolist(),
        penalty=[int(arrays.branch_cost), *arrays.branch_uses.tolist()],
        known=known,
        vector=search.vector_of_best().tolist(),
        n_cases=search.found.n_cases,
        root=[int(search.order[case.root]) for case in cases],
        sides=sides,
    )


def _named(options: Options, search: ConstrainedSearch, size: int) -> np.ndarray:
    """Return the codes of subtrees as those of `size` nodes, in the terms of the problem's splits."""
    code = widened(options.code, size)
    return np.where(code >= 0, search.order[np.maximum(code, 0)], code)
