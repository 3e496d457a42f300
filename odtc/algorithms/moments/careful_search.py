"""Search for trees if sums of squares of all rows lose digits: the costs of each set of rows are computed separately.

One number of 10^9 among numbers near 1 makes all sums of squares that contain it inexact. Here a leaf is the sum of
the squares around its own mean, so its relative error is a few ε times the number of rows, whatever the other rows
are. The cuts of a column are first compared by sums around the median of the rows, with a bound on their rounding
error; those that may be the best are computed again. Trees of two levels are found by intervals of cuts.
"""

import numpy as np

from odtc.algorithms.moments.exact_costs import ROUND, ExactCosts, ExactMedians
from odtc.algorithms.moments.medians import gains_of_cuts, rounding
from odtc.algorithms.moments.search import NO_LIMITS, Known, SearchByIntervals
from odtc.algorithms.moments.tree_limits import Place
from odtc.algorithms.weighted_quantiles import ROUNDING, weighted_median


class CarefulSearch(SearchByIntervals):
    """The search on some rows, whose numbers are stored in two parts.

    Parameters
    ----------
    rank : integers (rows, columns)
    costs : ExactCosts
    count : float64 (rows,), rows of the data
    price, least, check, told, limits
        As for MomentSearch.
    """

    def __init__(self, rank, costs: ExactCosts, count, price=0.0, least=1, check=lambda: None, limits=NO_LIMITS):
        self.costs, self.n_rows = costs, len(rank)
        self.high, self.low = costs.means()
        self.weight = costs.moments[0]
        super().__init__(rank, self.weight, count, price, least, check, limits=limits)
        self.near = 0.0
        self.relative = ROUND * 16 * (len(rank) + 16) + 8 * ROUNDING

    def _of_any_rows(self, rank, moments, limits) -> "CarefulSearch":
        return CarefulSearch(rank, self.costs, moments[3], self.price, 1, self.check, limits)

    def _apart(self, rows: np.ndarray) -> np.ndarray:
        """Return float64 (rows,): the numbers less their median."""
        middle = weighted_median(self.high[rows], self.weight[rows])
        at = rows[np.flatnonzero(self.high[rows] == middle)[0]]
        return (self.high[rows] - self.high[at]) + (self.low[rows] - self.low[at])

    def _leaf(self, rows: np.ndarray) -> float:
        if len(rows) < 2:
            return 0.0
        return self.costs.near_leaf(self.weight[rows], self._apart(rows))

    def _parts(self, rows: np.ndarray) -> np.ndarray:
        """Return float64 (3, rows): w, w t and w t² of numbers t around their median."""
        weight, apart = self.weight[rows], self._apart(rows)
        return np.stack([weight, weight * apart, weight * apart * apart])

    def _side_costs(self, rows: np.ndarray, column: int, parts: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return (ranks, costs, errors) of the cuts of a column: float64 (cuts,) by sums around the median."""
        if isinstance(self.costs, ExactMedians):
            return self._median_costs(rows, column)
        cuts = self.cuts(rows, column)
        by_rank = np.stack([np.bincount(self.code[column, rows], part, self.size[column]) for part in parts])
        below = by_rank.cumsum(axis=1)[:, cuts]
        above = by_rank[:, ::-1].cumsum(axis=1)[:, ::-1][:, cuts + 1]
        costs = sum(np.maximum(0.0, q - s * s / w) for w, s, q in (below, above))
        return cuts, costs, 8 * ROUND * (len(rows) + 4) * (below[2] + above[2])

    def _median_costs(self, rows: np.ndarray, column: int) -> tuple[np.ndarray, ...]:
        """Return the same of absolute errors."""
        apart = self._apart(rows)
        order = np.argsort(apart, kind="stable")
        rows, apart, cuts = rows[order], apart[order], self.cuts(rows, column)
        weight = self.weight[rows]
        code, size = self.code[column : column + 1, rows], self.size[column : column + 1]
        terms = np.ones(len(rows)), np.arange(len(rows)), (0.0, 0.0)
        (gains,) = gains_of_cuts(code, size, weight, apart, *terms)
        off = 8 * ROUNDING * float(weight @ np.abs(apart)) + 8 * rounding(weight, apart)
        return cuts, -gains[cuts], np.full(len(cuts), off)

    def _shallow_cuts(self, rows: np.ndarray, depth: int, place: Place, reach: float) -> list[tuple[int, int, float]]:
        """Return (column, cut, cost) of all trees of one level that may cost no more than `reach`."""
        found, parts = [], self._parts(rows)
        for column in self.limits.columns(place, len(self.size)).tolist():
            cuts, costs, off = self._side_costs(rows, column, parts)
            for cut in cuts[costs - off + self.price <= reach].tolist():
                cost = sum(map(self._leaf, self.sides(rows, column, cut))) + self.price
                if cost <= reach:
                    found.append((column, cut, cost))
        return found

    def _shallow(self, rows: np.ndarray, depth: int, place: Place) -> Known:
        if place.needed:
            return self._needed_split(rows, place)
        leaf = self._leaf(rows)
        found = Known(leaf, leaf, None)
        if leaf == 0:
            return found
        parts = self._parts(rows)
        for column in self.limits.columns(place, len(self.size)).tolist():
            cuts, costs, off = self._side_costs(rows, column, parts)
            reach = min(found.upper - self.price, float((costs + off).min(initial=np.inf)))
            for cut in cuts[costs - off <= reach].tolist():
                cost = sum(map(self._leaf, self.sides(rows, column, cut))) + self.price
                if cost < found.upper:
                    found = Known(cost, cost, (column, cut, None, None))
        return found
