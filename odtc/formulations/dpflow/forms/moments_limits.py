"""Constraints on the tree that the search over sums respects (odtc.algorithms.moments.tree_limits), from the
description that each constraint type gives to a search (odtc.problem.constraints.search_terms)."""

from functools import reduce
from operator import and_

import numpy as np

from odtc.algorithms.moments.tree_limits import TreeLimits
from odtc.base.wording import option
from odtc.data.task import TASKS
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.forms import ROWS
from odtc.problem.constraints.kind import Constraint, Terms
from odtc.problem.constraints.search_terms import subsets_of, terms_of
from odtc.problem.problem import Problem

TESTS = "splits"  # the type that counts different splits
MANY_TESTS = 2_000  # each is a column of the search


def by_limits(problem: Problem) -> bool:
    """Return whether a constraint refers to columns, so that each column of the search must contain only splits of one
    column."""
    return any(
        terms.levels or terms.below is not None or terms.groups or terms.apart or terms.all_or_none
        for _, terms in _terms(problem)
    )


def by_places(problem: Problem) -> bool:
    """Return whether a constraint limits where a tree splits on columns."""
    return any(terms.levels or terms.below is not None for _, terms in _terms(problem))


def scales_of(problem: Problem) -> Scales:
    """Return the columns of the search: if different splits are counted, one for each split; otherwise the splits of
    each column together if a constraint refers to columns, and all that are nested if none does. It raises the
    exceptions of `limits_of`."""
    if _most_splits(problem) is not None:
        return Scales.single(problem.encoded)
    scales = Scales.of(problem.encoded)
    return scales if by_limits(problem) else scales.nested()


def limits_of(problem: Problem, scales: Scales) -> TreeLimits:
    """Return the limits on the columns of the search, which are these ordered features (`scales_of`).

    Raises
    ------
    ChoiceError
        For a constraint that they cannot represent.
    """
    found, depth, most = _terms(problem), problem.topology.depth, _most_splits(problem)
    first = np.unique(scales.scale, return_index=True)[1]  # a split of each ordered feature
    nodes = [terms.nodes for _, terms in found if terms.nodes is not None]
    levels = [terms.levels(depth) for _, terms in found if terms.levels]
    below = [terms.below for _, terms in found if terms.below is not None]
    of_columns = [terms for given, terms in found if given.name != TESTS]
    column, subsets, relaxed = subsets_of(of_columns, depth)
    for given, terms in found:
        if any(terms is one for one in relaxed):
            raise _refusal(problem, given, "its sets of columns are too many")
    if column is not None and len(subsets) == 0:
        subsets = np.zeros((1, subsets.shape[1]), bool)
    return TreeLimits(
        leaves=min(nodes) + 1 if nodes else None,
        levels=np.logical_and.reduce(levels)[:, first] if levels else None,
        below=reduce(and_, below)[np.ix_(first, first)] if below else None,
        subsets=None if column is None else subsets[:, column[first]],
        distinct=most,
        together=tuple(
            tuple(tuple(np.unique(scales.scale[splits]).tolist()) for splits in terms.all_or_none)
            for _, terms in found
            if terms.all_or_none
        ),
    )


def _most_splits(problem: Problem) -> int | None:
    """Return how many different splits a tree may have; None if that is not less than the number of its nodes."""
    counted = [(given, terms.groups[1]) for given, terms in _terms(problem) if given.name == TESTS]
    given, most = min(counted, key=lambda one: one[1], default=(None, 0))
    if given is None or most >= 2**problem.topology.depth - 1:
        return None
    if (n := problem.encoded.n_candidate_splits) > MANY_TESTS:
        why = f"the splits of a tree are counted among {MANY_TESTS:,} at most, and these are {n:,}"
        raise _refusal(problem, given, why, f"use fewer ({option('encoding', 'auto:bins=8')}), ")
    return most


def _terms(problem: Problem) -> list[tuple[Constraint, Terms]]:
    """Return the description of each constraint, except for the one on the rows of leaves."""
    found = []
    for given in problem.constraints:
        if given.name in ROWS:
            continue
        terms = terms_of(problem.encoded, given)
        told = terms.all_or_none and TASKS.get(problem.encoded.task).MOMENTS  # equal medians leave no split
        if terms.lines or terms.leaves or terms.measures or (terms.checked and not told):
            raise _refusal(problem, given, "no search over sums can check it")
        found.append((given, terms))
    return found


def _refusal(problem: Problem, given: Constraint, why: str, instead: str = "") -> ChoiceError:
    return ChoiceError(
        f"{option('task', problem.encoded.task)} does not take {str(given)!r}: {why}; {instead}leave it out, or bound "
        "the size of the tree by --max-branch-nodes or --max-features"
    )
