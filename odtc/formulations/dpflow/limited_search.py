"""The search over thresholds if constraints limit the number of branch nodes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained import engines
from odtc.algorithms.thresholds.few_nodes.shapes import Shape, heights_within, limited
from odtc.base import deadline
from odtc.formulations.dpflow.forms import COUNTING, ROWS, is_plain
from odtc.formulations.dpflow.searched import Searched
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_constrained_certificate import only_proof
from odtc.problem.constraints.constraint import most_branch_nodes
from odtc.problem.exact_objective import search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

SHARE = (
    0.75  # fraction of the remaining time; without a proof, the search under constraints raises the bound in the rest
)


def searches(problem: Problem) -> bool:
    """Return whether this search supports a problem: constraints that limit nothing but branch nodes and the rows of
    leaves, over so many splits that the search under constraints, whose multipliers are a certificate, looks at some
    of them only."""
    if most_branch_nodes(problem) is None or not is_plain(problem):
        return False
    if any(given.name not in (*ROWS, *COUNTING) for given in problem.constraints):
        return False
    splits, depth = problem.encoded.n_candidate_splits, problem.topology.depth
    if splits <= engines.MOST_TESTS and engines.sums(splits, depth) <= engines.MOST_SUMS:
        return False
    return search_costs(problem).parts is None


def trees_of(problem: Problem) -> Shape:
    """Return the shape of the trees that a problem allows."""
    return limited(problem.topology.depth, most_branch_nodes(problem))


class LimitedSearch(ThresholdSearch):
    """The search of one problem, with the parameters of ThresholdSearch."""

    def __init__(
        self, problem: Problem, start: HeapTree | None = None, tell: Callable[[float, float, str], None] | None = None
    ):
        super().__init__(problem, start, tell)
        self.shape = trees_of(problem)

    def _can_count(self, ranked) -> bool:
        """Return False: of several best trees, any one is the result, as under other constraints."""
        return False

    def _phases(self) -> None:
        self.need = self._known_cost()
        for height in heights_within(self.shape):
            self.height = height
            self.search.solve(height)
            self.proved.append(height)
        self.height = self.shape
        self.search.solve(self.shape, self.need)

    def _certified(self, found: Searched) -> Searched:
        """Return the result with the reason why it has no certificate."""
        return replace(found, uncertified=only_proof(self.problem)) if found.proved else found


def search(problem: Problem, start: HeapTree | None, tell: Callable[[float, float, str], None]) -> Searched:
    """Return the best tree of a problem and a bound, until a share of the time has passed.

    Parameters
    ----------
    problem : Problem, one that `searches` supports
    start : HeapTree or None, a known tree that satisfies the constraints
    tell : called with (bound, objective, phase as text) now and then
    """
    with deadline.within(deadline.time_share(np.inf, SHARE)):
        return LimitedSearch(problem, start, tell).run()
