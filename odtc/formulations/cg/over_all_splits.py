"""A search over all splits next to column generation over some of them: it gives a tree, and a bound for all trees.

Columns are generated over some of the splits (odtc.formulations.cg.initial_columns), and their proof covers only trees
over these. The bound on trees over any splits comes from here: min loss + reward · (leaves - 1), by best-first search
over intervals (odtc.algorithms.thresholds.rank_search). Evaluations are counted instead of timed, so that the same
data gives the same columns, as long as the time limit does not end the search.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from odtc.algorithms.thresholds.early_bound import EarlyBound
from odtc.algorithms.thresholds.rank_search import NONE, RankSearch
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.errors import TimeLimitReached
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.problem.exact_objective import rounded_down, search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

RUN_SHARE = 0.5  # fraction of the remaining time for one run
COMMON_ROWS_SHARE = 0.15  # fraction of a run for a first bound by common rows of many splits, which takes little time
SHALLOWER_SHARE = 0.2  # fraction of a run for the trees of one depth less
BOUND = 0.2, 0.4  # fraction of a run for a bound; the second if the trees of one depth less are not proved
WORK = 2e9  # maximum of entries times columns of the nodes evaluated in one run: about a minute


@value_class
class Stopped:
    """Result of a search that was ended by Ctrl-C or by the deadline: its tree, and a lower bound on the cost of all
    trees."""

    heap: HeapTree
    bound: float
    proved: bool
    infeasible: bool = False
    interrupted: bool = True


class OverAllSplits:
    """The search over all splits of a problem of column generation; another run continues where it stopped.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem):
        self.problem, self._room, self.interrupted = problem, 0.0, False
        costs = search_costs(problem)
        self.splits = RankedSplits(problem.encoded, costs.price, max(1, problem.params.n_min), costs.loss)
        self._step = costs.step
        self.search = RankSearch(self.splits.ranked, self._check)

    @property
    def bound(self) -> float:
        """Return a lower bound on the objective of trees over any splits."""
        lower = self.search.lower(self.problem.topology.depth)
        return rounded_down(Fraction(self.splits.ranked.cost(lower)) * self._step)

    @property
    def proved(self) -> bool:
        """Return whether the best tree that was found is the best of all."""
        return self.search.known(self.problem.topology.depth).exact

    @property
    def stopped(self) -> Stopped:
        """Return the result of the search so far: its tree and its bound."""
        return Stopped(self.splits.tree(self.search, self.problem.topology), self.bound, self.proved)

    def run(self, part: float = RUN_SHARE) -> HeapTree:
        """Return the best tree so far after a part of the time that is left, WORK more evaluations, or Ctrl-C, which
        sets `interrupted`."""
        depth, self._room = self.problem.topology.depth, self._room + WORK
        try:
            with deadline.within(deadline.time_share(float("inf"), part)):
                self.search.dive(depth)
                if deadline.seconds_left() is not None and depth > 2:
                    self._bound_soon(depth)
                for height in range(min(2, depth), depth + 1):
                    self.search.solve(height)
        except TimeLimitReached:
            pass
        except KeyboardInterrupt:  # the caller returns the tree
            self.interrupted = True
        return self.splits.tree(self.search, self.problem.topology)

    def _bound_soon(self, depth: int) -> None:
        """Find a bound within the time limit, as the search of dpflow does: a first bound, trees of less depth and
        then a better bound, each in a part of the time."""
        early = EarlyBound(self.search, depth, NONE)

        def part(share: float, work: Callable) -> bool:
            try:
                with deadline.within(deadline.time_share(float("inf"), share)):
                    work()
            except TimeLimitReached:
                return False
            return True

        part(COMMON_ROWS_SHARE, lambda: early.by_common_rows(True))
        less = all(part(SHALLOWER_SHARE, partial(self.search.solve, height)) for height in range(2, depth))
        part(BOUND[not less], lambda: [early.by_common_rows(True), early.raise_all(True)])

    def _check(self) -> None:
        deadline.check()
        if self.search.evaluated * self.splits.ranked.rank.size > self._room:
            raise TimeLimitReached("enough trees were looked at")
