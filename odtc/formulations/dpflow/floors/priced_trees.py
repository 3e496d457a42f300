"""Good trees under constraints in a short time, over very many thresholds: trees of low weighted cost at multipliers.

At multipliers m a row costs w = D · cost + Σ_r m_r uses_r (odtc.formulations.dpflow.floors.priced). If m is good, the
uses of a tree over few cuts of each column that is cheap by w (odtc.algorithms.thresholds.coarse_tree) are close to the
bounds. Its labels are chosen again so that it satisfies the constraints. Its cost and its uses by w give a cut (Kelley
1960), and the cuts give the next multipliers.
"""

import numpy as np

from odtc.algorithms.constrained.constrained_problem import BOX, fixed_point, in_fixed_point
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.sweeps.threshold_sides import weighed
from odtc.algorithms.thresholds.coarse_tree import CoarseTree
from odtc.base import deadline
from odtc.formulations.dpflow.floors.splits_of_tree import SplitsOfTree, Tree
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.problem.constraints.search_terms import SearchProblem
from odtc.trees.heap_tree import HeapTree

ROUNDS = 8  # maximum number of multipliers tried
# The next multipliers are at most FURTHER times the last ones, or half of the multiplier at which the largest use of
# one row costs as much as the largest cost.
FURTHER, NEAR = 2, 0.5 / BOX
PARTS = 16  # bins of a column
MAX_REORDERED_DEPTH = 3  # up to this depth, a search over all orders of a tree's splits is fast


def priced_tree(posed: SearchProblem, multipliers: np.ndarray, least: int) -> HeapTree | None:
    """Return the cheapest tree found that satisfies the constraints, by the deadline of this context; None if none was
    found.

    Parameters
    ----------
    posed : SearchProblem
        Of depth 1 or more.
    multipliers : float64 (constraints,)
        For each sum, in costs for one use: those to begin with.
    least : int
        Rows that each leaf must have.
    """
    rounds = _Rounds(posed, least)
    with deadline.cut_short():
        rounds.run(multipliers)
    return None if rounds.best is None else posed.tree(*rounds.best)


class _Rounds:
    """The search for multipliers, and the best tree so far."""

    def __init__(self, posed: SearchProblem, least: int):
        self.posed, self.least = posed, least
        self.best: Tree | None = None
        self.upper = posed.arrays.most_cost + 1

    def run(self, first: np.ndarray) -> None:
        arrays = self.posed.arrays
        scale, largest = fixed_point(arrays)
        cuts, seen = Cuts(largest / scale), set()
        for multipliers in cuts.rounds(first, ROUNDS):
            m = in_fixed_point(multipliers, scale, largest)
            if m.tobytes() in seen:
                return
            seen.add(m.tobytes())
            cost, uses = self._look(scale, m)
            cuts.add(cost, uses - arrays.bound)
            cuts.within(np.minimum(largest, np.maximum(FURTHER * m, largest * NEAR)) / scale)

    def _look(self, scale: int, m: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the cost and the uses of the tree at these multipliers, int64 (constraints,) in units of 1 / scale."""
        arrays = self.posed.arrays
        weight, price = weighed(arrays, scale, m)
        splits = RankedSplits(self.posed.encoded, max(0.0, price), self.least, weight)
        coarse = CoarseTree(splits.ranked, arrays.depth, PARTS, deadline.check)
        with deadline.cut_short():  # it is a tree at every moment
            coarse.search()
        heap = splits.split_heap(coarse.nested(), self.posed.problem.topology)
        found = SplitsOfTree(arrays, heap[: 2 ** (arrays.depth + 1)].astype(np.int32))
        better = found.cheapest(self.upper)
        if better is None and arrays.depth <= MAX_REORDERED_DEPTH and len(found.asked):
            better = found.in_any_order(self.upper)
        if better is not None:
            self.best, self.upper = better
        priced = found.at(m / scale)
        return float(priced.cost), priced.uses
