"""A search over all tests beside column generation over some: its tree, and a bound of all trees.

Columns are generated over some of the tests (odtc.formulations.cg.initial_columns), and what they prove holds for trees
over these. What no tree over any tests costs less than comes from here: min loss + reward · (leaves - 1), by best-first
search over intervals (odtc.algorithms.thresholds.rank_search). Evaluations are counted and not timed, so that the same
data has the same columns, as long as the time limit does not end the search.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from odtc.algorithms.thresholds.early_bound import EarlyBound
from odtc.algorithms.thresholds.rank_search import NONE, RankSearch
from odtc.base import deadline
from odtc.errors import TimeLimitReached
from odtc.formulations.shared.ranked_tests import RankedTests
from odtc.problem.exact_objective import rounded_down, search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

PART = 0.5  # of the time that is left, for one run
FIRST = 0.15  # of a run, for a first bound: rows that many tests have in common are soon looked at
LESS = 0.2  # of a run, for the trees of one depth less
BOUND = 0.2, 0.4  # of a run, for a bound; the second if the trees of one depth less are not proved
MOST = 2e9  # entries times columns of the nodes that one run evaluates: about a minute


@dataclass(frozen=True)
class Stopped:
    """What a search found that was ended by Ctrl-C, or by the deadline: its tree, and what no tree costs less than."""

    heap: HeapTree
    bound: float
    proved: bool
    infeasible: bool = False
    interrupted: bool = True


class OverAllTests:
    """The search over all tests of a problem of column generation; it goes on where it stopped.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem):
        self.problem, self._room, self.interrupted = problem, 0.0, False
        costs = search_costs(problem)
        self.tests = RankedTests(problem.encoded, costs.price, max(1, problem.params.n_min), costs.loss)
        self._step = costs.step
        self.search = RankSearch(self.tests.ranked, self._check)

    @property
    def bound(self) -> float:
        """No tree over any tests has a lower objective."""
        lower = self.search.lower(self.problem.topology.depth)
        return rounded_down(Fraction(self.tests.ranked.cost(lower)) * self._step)

    @property
    def proved(self) -> bool:
        """Whether the best tree that was found is the best of all."""
        return self.search.known(self.problem.topology.depth).exact

    @property
    def stopped(self) -> Stopped:
        """Its tree and its bound, for whoever hands them in."""
        return Stopped(self.tests.tree(self.search, self.problem.topology), self.bound, self.proved)

    def run(self, part: float = PART) -> HeapTree:
        """The best tree so far after a part of the time that is left, MOST more evaluations, or Ctrl-C, which
        `interrupted` tells."""
        depth, self._room = self.problem.topology.depth, self._room + MOST
        try:
            with deadline.within(deadline.time_share(float("inf"), part)):
                self.search.dive(depth)
                if deadline.seconds_left() is not None and depth > 2:
                    self._bound_soon(depth)
                for height in range(min(2, depth), depth + 1):
                    self.search.solve(height)
        except TimeLimitReached:
            pass
        except KeyboardInterrupt:  # whoever asks hands in the tree
            self.interrupted = True
        return self.tests.tree(self.search, self.problem.topology)

    def _bound_soon(self, depth: int) -> None:
        """What a time limit leaves is to have a bound, as the search of dpflow has one: a first bound, trees of less
        depth and then a better bound, each in a part of the time."""
        early = EarlyBound(self.search, depth, NONE)

        def part(share: float, work: Callable) -> bool:
            try:
                with deadline.within(deadline.time_share(float("inf"), share)):
                    work()
            except TimeLimitReached:
                return False
            return True

        part(FIRST, lambda: early.by_common_rows(True))
        less = all(part(LESS, partial(self.search.solve, height)) for height in range(2, depth))
        part(BOUND[not less], lambda: [early.by_common_rows(True), early.raise_all(True)])

    def _check(self) -> None:
        deadline.check()
        if self.search.evaluated * self.tests.ranked.rank.size > self._room:
            raise TimeLimitReached("enough trees were looked at")
