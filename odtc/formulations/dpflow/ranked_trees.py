"""The trees of a problem in the order of their objectives, over the states of the dynamic program.

A tree is ranked if each of its subtrees costs less than one label alone would, and its leaves predict what costs least;
so no two are the same but for a branch node that nobody needs (odtc.algorithms.dp.k_best).
"""

import numpy as np

from odtc.algorithms.dp.k_best import Derivations, DerivedTree
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.forms.states import ROWS
from odtc.formulations.dpflow.program import Program
from odtc.problem.branch_penalty import branch_price
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle


def expect_leaf_rows_alone(problem: Problem) -> None:
    """Raises ChoiceError for constraints on more than the rows of leaves."""
    if others := [given for given in problem.constraints if given.name not in ROWS]:
        raise ChoiceError(
            f"the trees near the best are counted among all whose leaves have enough rows, whatever else they keep; "
            f"leave out {str(others[0])!r}"
        )


class DpflowRanking:
    """The trees of one problem, over the states that the compiler has made already."""

    def __init__(self, problem: Problem):
        program = problem.derived(Program)
        self._problem = problem
        self._best = Derivations(program.rows, problem.topology.depth, branch_price(problem), *program.states)

    def tree(self, number: int) -> HeapTree | None:
        """The tree of this number, from 0; None if there are no more."""
        found = self._best.get(self._best.root, number)
        return None if found is None else self._heap(found)

    def at_least(self, within: float | None) -> int:
        """A number of trees that are there at least, whose objective is at most `within` above the best (None: any)."""
        if within is None:
            return self._best.first_tests(np.inf)
        least = self._best.get(self._best.root, 0).cost
        return self._best.first_tests(least + within / (1 - self._problem.params.lambda_))

    def _heap(self, found: DerivedTree) -> HeapTree:
        test, _ = blank_arrays(self._problem.topology)
        stack = [(1, found)]
        while stack:
            node, here = stack.pop()
            if here.test < 0:
                continue
            test[node] = here.test
            below = enumerate(here.below)
            stack += [(2 * node + side, self._best.get(*part)) for side, part in below if part is not None]
        return settle(test, self._problem.encoded)
