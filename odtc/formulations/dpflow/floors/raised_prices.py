"""A bound under constraints by searches at rising prices, over so few splits that such a search soon ends.

A search at multipliers (odtc.formulations.dpflow.floors.priced) that has ended gives the cheapest tree at them. The
cost and the uses of this tree give a cut (odtc.algorithms.constrained.multipliers), and the next search is at the
multipliers that maximise the minimum of all cuts. So the bound rises to the best one that multipliers can prove, over
all trees of the depth. The trees on the way, with labels chosen again, are good ones.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.all_thresholds import only
from odtc.algorithms.constrained.constrained_problem import (
    TooLarge,
    cost_of,
    fixed_point,
    keeps,
    leaves_of,
    named,
    uses_of,
)
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Pass
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.trace_tree import Structure, feasible
from odtc.base import deadline
from odtc.formulations.dpflow.floors.priced import BoundBySearch, of_few_digits
from odtc.problem.constraints.search_terms import SearchProblem
from odtc.trees.heap_tree import HeapTree

LEAST = 1e-6  # of the bound: the additional bound that other multipliers have to promise


class BoundByRaisedPrices:
    """Lower bound on the objective, and a tree; another run continues where the time ended.

    Parameters
    ----------
    posed : SearchProblem
    multipliers : float64 (constraints,)
        To begin with, for each sum, in costs for one use.
    known : HeapTree or None
        A tree that satisfies the constraints.

    Attributes
    ----------
    floor : float
    tree : HeapTree or None
        The best tree found that satisfies the constraints.
    """

    def __init__(self, posed: SearchProblem, multipliers: np.ndarray, known: HeapTree | None = None):
        self.floor, self.tree, self._posed = 0.0, None, posed
        self._upper = posed.arrays.most_cost + 1
        self._multipliers, self._tried = of_few_digits(multipliers), set[bytes]()
        self._search: BoundBySearch | None = None
        scale, largest = fixed_point(posed.arrays)
        self._cuts = Cuts(largest / scale)
        if known is not None and (heaps := posed.heaps(known)) is not None:
            self._cut(*heaps)

    def run(self, tell: Callable[[float], None], upper: float) -> float:
        """Return the bound, raised until the deadline of this context, until it is `upper`, or until no multipliers
        promise more; `tell` is called with the bounds as they rise."""

        def told(floor: float) -> None:
            if floor > self.floor:
                self.floor = floor
                tell(floor)

        while self.floor < upper and self._multipliers is not None:
            if self._search is None:
                self._tried.add(self._multipliers.tobytes())
                self._search = BoundBySearch(self._posed, self._multipliers)
            told(self._search.run(told, upper))
            if (split := self._search.split) is not None:
                with deadline.cut_short():
                    self._look(split)
            if not self._search.ended:
                break
            self._multipliers, self._search = self._next(), None
        return self.floor

    def _next(self) -> np.ndarray | None:
        """Return the most promising multipliers; None if they promise no more than is proved."""
        if not self._posed.arrays.n_constraints or not self._cuts.cost:
            return None
        most, multipliers = self._cuts.best()
        multipliers = of_few_digits(multipliers)
        shown = self.floor / self._posed.unit
        more = most > shown + LEAST * max(1.0, shown)
        return multipliers if more and multipliers.tobytes() not in self._tried else None

    def _look(self, split: np.ndarray) -> None:
        """Add the cut of a tree, and use the tree if it satisfies the constraints with other labels."""
        arrays, asked = self._posed.arrays, np.unique(split[split >= 0])
        tables = Pass(Counts(only(arrays, asked)), fixed_point(arrays)[0], deadline.check)
        node = leaves_of(arrays, split)
        places = np.unique(node)
        count = np.zeros((len(split), arrays.kinds[0].shape[1]))
        np.add.at(count, node, arrays.kinds[0])
        weight = arrays.cost + np.tensordot(self._multipliers, arrays.uses, 1)
        sums = np.zeros((len(split), arrays.n_labels))
        np.add.at(sums, node, weight)
        label = np.where(
            np.isin(np.arange(len(split)), places), (sums + self._multipliers @ arrays.leaf_uses).argmin(1), -1
        )
        self._cut(split, label)
        own = np.where(split >= 0, np.searchsorted(asked, split), -1).astype(np.int32)
        try:
            found = feasible(tables, Structure(own, tuple(places.tolist()), count[places]), self._upper)
        except TooLarge:
            return
        if found is not None and keeps(arrays, named(found.split, asked), found.label):
            self._upper, self.tree = found.cost, self._posed.tree(named(found.split, asked), found.label)

    def _cut(self, split: np.ndarray, label: np.ndarray) -> None:
        arrays = self._posed.arrays
        self._cuts.add(cost_of(arrays, split, label), uses_of(arrays, split, label) - arrays.bound)
