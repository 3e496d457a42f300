"""Interface to find the cheapest tree of each case (a root split with a subset of columns), and a version by tables."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from odtc.algorithms.constrained.close_gap import GapCloser
from odtc.algorithms.constrained.lagrangian_pass import Pass, Segments, Weights
from odtc.algorithms.constrained.trace_tree import Structure, trace

MOST_LAYOUTS = 4096  # maximum number of cached layouts of subsets of columns


class CaseTrees(Protocol):
    """The cheapest trees of cases, at any multipliers."""

    def values(
        self, weights: Weights, cases: dict[int, np.ndarray], most: float, tell: Callable[[float], None]
    ) -> dict[int, np.ndarray]:
        """Return the least weighted costs of the trees of cases, or lower bounds.

        Parameters
        ----------
        weights : Weights
        cases : {root split: int (subsets,)}
        most : float
            Values up to `most` are exact. Greater values are lower bounds on the least cost of the case, and at least
            `most`. With -inf only the least value of all cases is exact.
        tell : Callable[[float], None]
            Called often, with a lower bound on the costs of all these cases. If it raises an exception, the call ends.

        Returns
        -------
        dict, {root split: float64 (subsets,)}
        """
        ...

    def trace(self, weights: Weights, root: int, subset: int) -> tuple[Structure | None, float]:
        """Return (the cheapest tree of a case, its weighted cost); (None, inf) if there is none."""
        ...

    def closer(
        self, multipliers: np.ndarray, root: int, subset: int, tick: Callable[[], None]
    ) -> tuple[GapCloser, int, np.ndarray]:
        """Return (the lists of a case at multipliers int64 (constraints,), the number of its root there, int (splits,)
        the splits that its numbers are)."""
        ...


class TableTrees:
    """The trees of cases by tables of all splits (lagrangian_pass).

    Parameters
    ----------
    tables : Pass
    """

    def __init__(self, tables: Pass):
        self.tables, self._segments = tables, {}

    def values(self, weights: Weights, cases: dict[int, np.ndarray], most: float, tell: Callable[[float], None]):
        """Return the least weighted costs of cases, as for CaseTrees; all are exact."""
        found = {}
        for root, subsets in cases.items():
            tell(-np.inf)
            found[root] = self.tables.roots(root, weights, self.segments(subsets))
        return found

    def trace(self, weights: Weights, root: int, subset: int) -> tuple[Structure | None, float]:
        """Return the cheapest tree of a case, as for CaseTrees."""
        return trace(self.tables, root, weights, self.splits(subset))

    def closer(self, multipliers: np.ndarray, root: int, subset: int, tick: Callable[[], None]):
        """Return the lists of a case, as for CaseTrees."""
        weights = Weights.of(self.tables.counts, self.tables.scale, multipliers)
        closer = GapCloser(self.tables, weights, self.splits(subset), tick)
        return closer, root, np.arange(len(self.tables.problem.column))

    def segments(self, subsets: np.ndarray) -> Segments:
        """Return the layout of some subsets of columns, int (subsets,)."""
        key = subsets.tobytes()
        if key not in self._segments:
            if len(self._segments) > MOST_LAYOUTS:
                self._segments.clear()
            self._segments[key] = Segments(self.tables.problem.subsets[subsets], self.tables.problem.column)
        return self._segments[key]

    def splits(self, subset: int) -> np.ndarray:
        """Return int (splits,): the splits on the columns of a subset."""
        return np.flatnonzero(self.tables.problem.subsets[subset][self.tables.problem.column])
