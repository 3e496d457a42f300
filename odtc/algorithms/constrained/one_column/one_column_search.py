"""The constrained search where a tree may ask the thresholds of one column alone, over any number of them.

The trees over each column are partings of its ranks (interval_trees), which are all looked at, column by column, the
one first that promises most.
"""

import numpy as np

from odtc.algorithms.constrained.all_thresholds import CoarseSearch
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge
from odtc.algorithms.constrained.constrained_search import Found, Stopped
from odtc.algorithms.constrained.one_column.interval_trees import IntervalTrees, nested_subsets


class OneColumnSearch(CoarseSearch):
    """A search column by column.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale : int (tests,)
        As of CoarseSearch.
    orders : list of int (tests,)
        What `orders_of` tells of the problem.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(self, problem: ConstrainedProblem, scale: np.ndarray, orders: list[np.ndarray]):
        super().__init__(problem, scale)
        self.orders = orders

    def run(self) -> Found:
        """Looks at every column, or until the clock says stop: first what multipliers tell of each, then all trees of
        the one that promises most, and so on."""
        trees, first = [IntervalTrees(self.problem, order, self._look) for order in self.orders], None
        try:
            for each in trees:
                each.bound(self.upper, first)
                first = each.multipliers[-1] if len(each.multipliers) else first
            self._tell(trees)
            for each in sorted(trees, key=lambda one: one.lower):
                if (found := each.best(self.upper)) is not None:
                    self._take(*found[0], found[1])
                self._tell(trees)
        except (Stopped, TooLarge):
            pass
        self._tell(trees)
        return self._found()

    def _tell(self, trees: list[IntervalTrees]) -> None:
        self.bound = min([self.upper, *(each.lower for each in trees)])
        self._progress(self.bound, None if self.best is None else self.upper)

    def _look(self) -> None:
        if self._tick():
            raise Stopped


def orders_of(problem: ConstrainedProblem) -> list[np.ndarray] | None:
    """int (tests,) of each subset of columns: its tests, from the one with the most ones on. None if one of them is
    more than a column whose tests are nested, or trees are too small for this search."""
    if problem.depth < 2:
        return None
    orders = nested_subsets(problem)
    return list(orders.values()) if len(orders) == len(problem.subsets) else None
