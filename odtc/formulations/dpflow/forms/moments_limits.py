"""Constraints on the tree that the search over sums heeds (odtc.algorithms.moments.tree_limits), of what each kind says
of itself to a search (odtc.problem.constraints.terms)."""

from functools import reduce
from operator import and_

import numpy as np

from odtc.algorithms.moments.tree_limits import TreeLimits
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.forms.states import ROWS
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.search_terms import subsets_of, terms_of
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem


def limited(problem: Problem) -> bool:
    """Whether a constraint limits more than the rows of leaves."""
    return any(given.name not in ROWS for given in problem.constraints)


def by_limits(problem: Problem) -> bool:
    """Whether a constraint speaks of columns, so that each column of the search must hold tests of one."""
    return any(terms.levels or terms.below is not None or terms.groups or terms.apart for _, terms in _terms(problem))


def limits_of(problem: Problem, scales: Scales) -> TreeLimits:
    """The limits on the columns of the search, which are these scales.

    Raises
    ------
    ChoiceError
        For a constraint that they do not hold.
    """
    found, depth = _terms(problem), problem.topology.depth
    first = np.unique(scales.scale, return_index=True)[1]  # a test of each scale
    nodes = [terms.nodes for _, terms in found if terms.nodes is not None]
    levels = [terms.levels(depth) for _, terms in found if terms.levels]
    below = [terms.below for _, terms in found if terms.below is not None]
    column, subsets, relaxed = subsets_of([terms for _, terms in found], problem.encoded.n_tests, depth)
    for given, terms in found:
        if any(terms is one for one in relaxed):
            raise _refusal(problem, given, "its sets of columns are too many")
        if (
            terms.groups
            and (terms.groups[0] != terms.groups[0][first][scales.scale]).any()
            and terms.groups[1] < 2**depth - 1
        ):
            raise _refusal(problem, given, "it counts the thresholds of a column one by one")
    if column is not None and len(subsets) == 0:
        subsets = np.zeros((1, subsets.shape[1]), bool)
    return TreeLimits(
        leaves=min(nodes) + 1 if nodes else None,
        levels=np.logical_and.reduce(levels)[:, first] if levels else None,
        below=reduce(and_, below)[np.ix_(first, first)] if below else None,
        subsets=None if column is None else subsets[:, column[first]],
    )


def _terms(problem: Problem) -> list[tuple[Constraint, Terms]]:
    """What each constraint but that on the rows of leaves says of itself."""
    found = []
    for given in problem.constraints:
        if given.name in ROWS:
            continue
        terms = terms_of(problem.encoded, given)
        if terms.lines or terms.leaves or terms.measures or terms.checked:
            raise _refusal(problem, given, "no search over sums tells which trees satisfy it")
        found.append((given, terms))
    return found


def _refusal(problem: Problem, given: Constraint, why: str) -> ChoiceError:
    return ChoiceError(
        f"--task {problem.encoded.task} does not take {str(given)!r}: {why}; leave it out, or bound the size of the "
        "tree by --max-branch-nodes or --max-features"
    )
