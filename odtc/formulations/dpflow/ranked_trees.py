"""The trees of a problem in the order of their objectives, over the states of the dynamic program.

A tree is ranked if each of its subtrees costs less than a single leaf there, and its leaves predict the labels of least
cost. So no two trees differ only by a branch node that is not needed (odtc.algorithms.dp.k_best). Under constraints on
more than the rows of leaves every tree that satisfies them is ranked, with any labels of its leaves.
"""

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.algorithms.constrained.engines import FEW_TESTS
from odtc.algorithms.dp.k_best import Derivations, DerivedTree, OutOfMemory
from odtc.algorithms.near_optimal.constrained_list import ConstrainedList, OpenCases
from odtc.base import deadline
from odtc.base.wording import option
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.forms import ROWS, moments
from odtc.formulations.dpflow.program import Program
from odtc.problem.constraints.constraint import broken
from odtc.problem.constraints.kind import Constraint
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

OR_LISTED = ", or add --pool K, which lists the best K that satisfy it"


def expect_ranking(problem: Problem) -> None:
    """Raise ChoiceError for constraints under which the trees cannot be listed."""
    given = _beyond_rows(problem)
    if given is None:
        return
    if moments.by_moments(problem):
        expect_leaf_rows_alone(problem)
    if problem.encoded.n_candidate_splits > FEW_TESTS:
        raise ChoiceError(
            f"the near-optimal trees under {str(given)!r} are listed over at most {FEW_TESTS} splits, got "
            f"{problem.encoded.n_candidate_splits:,} splits; take fewer ({option('encoding', 'auto:bins=8')})"
        )
    if not constrained.searches(problem):
        raise ChoiceError(
            f"the near-optimal trees under {str(given)!r} are listed by a search that does not take these parameters "
            f"at depth {problem.topology.depth}; leave out {str(given)!r}, or its parameters"
        )


def expect_leaf_rows_alone(problem: Problem) -> None:
    """Raise ChoiceError for constraints on more than the rows of leaves."""
    if (given := _beyond_rows(problem)) is not None:
        raise ChoiceError(
            f"the near-optimal trees are counted among all whose leaves have enough rows, whatever else they keep; "
            f"leave out {str(given)!r}{'' if moments.by_moments(problem) else OR_LISTED}"
        )


def by_constraints(problem: Problem) -> bool:
    """Return whether the trees are those that satisfy constraints on more than rows of leaves, each with any labels."""
    return _beyond_rows(problem) is not None


def _beyond_rows(problem: Problem) -> Constraint | None:
    """Return the first constraint on more than the rows of leaves."""
    return next((given for given in problem.constraints if given.name not in ROWS), None)


def ranking_of(problem: Problem) -> "DpflowRanking | ConstrainedRanking":
    """Return the trees in the order of their objectives."""
    return DpflowRanking(problem) if _beyond_rows(problem) is None else ConstrainedRanking(problem)


class DpflowRanking:
    """The trees of one problem, over the states that the compiler has already made."""

    def __init__(self, problem: Problem):
        program = problem.derived(Program)
        self._problem, self._step = problem, float(program.costs.step)
        self._best = Derivations(program.rows, problem.topology.depth, program.price, *program.states)

    def tree(self, number: int) -> HeapTree | None:
        """Return the tree with this number, from 0; None after the last tree."""
        found = self._best.get(self._best.root, number)
        return None if found is None else self._heap(found)

    def at_least(self, within: float | None) -> int:
        """Return a lower bound on the number of trees with an objective of at most `within` above the best (None:
        any)."""
        if within is None:
            return self._best.first_splits(np.inf)
        least = self._best.get(self._best.root, 0).cost
        return self._best.first_splits(least + within / self._step)

    def _heap(self, found: DerivedTree) -> HeapTree:
        split, _ = blank_arrays(self._problem.topology)
        stack = [(1, found)]
        while stack:
            node, here = stack.pop()
            if here.split < 0:
                continue
            split[node] = here.split
            below = enumerate(here.below)
            stack += [(2 * node + side, self._best.get(*part)) for side, part in below if part is not None]
        return settle(split, self._problem.encoded)


class ConstrainedRanking:
    """The trees of one problem that satisfy its constraints, each with any labels."""

    def __init__(self, problem: Problem):
        self._problem, self._posed = problem, problem.derived(constrained.Posed).problem
        self._list: ConstrainedList | None = None

    def tree(self, number: int) -> HeapTree | None:
        """Return the tree with this number, from 0; None after the last tree."""
        if self._list is None and (least := self._least()) is not None:
            self._list = ConstrainedList(self._posed.arrays, least, self._settled, deadline.check)
        try:
            found = None if self._list is None else self._list.tree(number)
        except (OpenCases, TooLarge):
            raise OutOfMemory from None
        return None if found is None else self._posed.tree(found.split, found.label)

    def at_least(self, within: float | None) -> int:
        """Return a lower bound on the number of trees: 1, for the best one."""
        return 1

    def _least(self) -> int | None:
        """Return the cost of the best tree, in whole units; None if there is no tree."""
        engine = self._problem.derived(constrained.Posed).search
        if (known := engine.found).proved:
            return known.cost
        found = constrained.search(self._problem)
        if not found.proved:
            raise TimeLimitReached
        return None if found.heap is None else self._posed.cost(found.heap)

    def _settled(self, split: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        heap, size = self._posed.tree(split, label), len(split)
        if not np.array_equal(heap.split[:size], split) and broken(self._problem, heap):
            return None  # removing a branch node without rows on both sides violates a constraint
        return heap.split[:size], heap.label[:size]
