"""Costs of leaves if sums of squares of all rows lose digits: they are computed separately for each set of rows.

One number of 10^9 among numbers near 1 makes all sums of squares that contain it inexact. Here a leaf is the sum of
the squares around its own mean, so its relative error is a few ε times the number of rows, whatever the other rows
are. The cuts of a column are first compared by sums around the median of the rows, with a bound on their rounding
error; the cuts that may be the best are computed again.
"""

import numpy as np

from odtc.algorithms.moments.exact_costs import ROUND, ExactCosts, ExactMedians
from odtc.algorithms.moments.medians import best_cut, rounding
from odtc.algorithms.moments.search import allowed_cuts
from odtc.algorithms.weighted_quantiles import ROUNDING, weighted_median


class CarefulCosts:
    """The costs of leaves (odtc.algorithms.moments.search.CutCosts) of numbers that are stored in two parts.

    Parameters
    ----------
    costs : ExactCosts
    count : float64 (rows,), how many rows of the data each row represents
    """

    def __init__(self, costs: ExactCosts, count: np.ndarray):
        self.costs, self.count = costs, count
        self.high, self.low = costs.means()
        self.weight = costs.moments[0]
        self.relative = ROUND * 16 * (len(count) + 16) + 8 * ROUNDING

    def _apart(self, rows: np.ndarray) -> np.ndarray:
        """Return float64 (rows,): the numbers minus their median."""
        middle = weighted_median(self.high[rows], self.weight[rows])
        at = rows[np.flatnonzero(self.high[rows] == middle)[0]]
        return (self.high[rows] - self.high[at]) + (self.low[rows] - self.low[at])

    def leaf(self, rows: np.ndarray) -> float:
        if len(rows) < 2:
            return 0.0
        return self.costs.near_leaf(self.weight[rows], self._apart(rows))

    def best_cut(self, code, size, rows, limits, found) -> tuple[float, int, int]:
        apart, (least, most) = self._apart(rows), limits
        best, listed, near = (np.inf, -1, -1), len(found) > 0, self._squares
        if isinstance(self.costs, ExactMedians):
            near, order = self._medians, np.argsort(apart, kind="stable")
            rows, apart = rows[order], apart[order]
        for column, ranks in enumerate(code[:, rows]):
            cuts = allowed_cuts(ranks, int(size[column]), self.count[rows], least)
            costs, off = near(self.weight[rows], apart, ranks, int(size[column]), cuts)
            reach = most if listed else min(most, float((costs + off).min(initial=np.inf)))
            for cut in cuts[costs - off <= reach].tolist():
                left = ranks <= cut
                cost = self.leaf(rows[left]) + self.leaf(rows[~left])
                if cost < most and listed:
                    found[column, cut] = cost
                elif cost < most:
                    best, most = (cost, column, cut), cost
        return best

    @staticmethod
    def _squares(weight, apart, ranks, size: int, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (costs, errors) of the cuts of a column, float64 (cuts,), by sums of squares around the median."""
        parts = weight, weight * apart, weight * apart * apart
        by_rank = np.stack([np.bincount(ranks, part, size) for part in parts])
        below = by_rank.cumsum(axis=1)[:, cuts]
        above = by_rank[:, ::-1].cumsum(axis=1)[:, ::-1][:, cuts + 1]
        costs = sum(np.maximum(0.0, q - s * s / w) for w, s, q in (below, above))
        return costs, 8 * ROUND * (len(ranks) + 4) * (below[2] + above[2])

    @staticmethod
    def _medians(weight, apart, ranks, size: int, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for absolute errors; the numbers must not fall from one row to the next."""
        n, costs = len(ranks), np.full((1, size), np.inf)
        code = np.ascontiguousarray(ranks[None])
        best_cut(code, np.array([size]), weight, apart, np.ones(n), np.arange(n), (0.0, np.inf), costs)
        off = 8 * ROUNDING * float(weight @ np.abs(apart)) + 8 * rounding(weight, apart)
        return costs[0, cuts], np.full(len(cuts), off)
