"""The constrained search for trees that may split on only one column, over any number of its thresholds.

A tree on one column divides its ranks into intervals (interval_trees). All such trees are searched column by column,
the most promising column first.
"""

import numpy as np

from odtc.algorithms.constrained.all_thresholds import CoarseSearch
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge
from odtc.algorithms.constrained.constrained_search import Found, Stopped
from odtc.algorithms.constrained.one_column.interval_trees import IntervalTrees, nested_subsets


class OneColumnSearch(CoarseSearch):
    """Search column by column.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale : int (splits,)
        As for CoarseSearch.
    orders : list of int (splits,)
        As returned by `orders_of` for the problem.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(self, problem: ConstrainedProblem, scale: np.ndarray, orders: list[np.ndarray]):
        super().__init__(problem, scale)
        self.orders = orders

    def run(self) -> Found:
        """Search every column, or until the time is over: first bounds of each by multipliers, then all trees of the
        most promising column, and so on."""
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
    """Return int (splits,) for each subset of columns: its splits, from the one with the most ones on. None if one of
    them is not a single column whose splits are nested, or if trees are too small for this search."""
    if problem.depth < 2:
        return None
    orders = nested_subsets(problem)
    return list(orders.values()) if len(orders) == len(problem.subsets) else None
