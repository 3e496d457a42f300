"""The constrained search where a tree may ask the thresholds of one column alone, over any number of them.

The trees over each column are partings of its ranks (interval_trees), which are all looked at, column by column, the
one first that promises most.
"""

import numpy as np

from odtc.algorithms.constrained.all_thresholds import CoarseSearch
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge
from odtc.algorithms.constrained.constrained_search import Found, Stopped
from odtc.algorithms.constrained.one_column.interval_trees import IntervalTrees, nested_order, of_subsets
from odtc.algorithms.constrained.one_column.interval_trees import takes as takes_intervals


class OneColumnSearch(CoarseSearch):
    """A search column by column; its parameters are those of CoarseSearch, of a problem that this module `takes`."""

    def run(self) -> Found:
        """Looks at every column, or until the clock says stop: first what multipliers tell of each, then all trees of
        the one that promises most, and so on."""
        trees, first = list(of_subsets(self.problem, self._look).values()), None
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


def takes(problem: ConstrainedProblem) -> bool:
    """Whether every subset of columns is one column whose tests are nested."""
    if problem.depth < 2 or not takes_intervals(problem):
        return False
    for columns in problem.subsets:
        tests = np.flatnonzero(columns[problem.column])
        one = len(np.unique(problem.column[tests])) == 1
        if not one or nested_order(problem.X, tests) is None:
            return False
    return True
