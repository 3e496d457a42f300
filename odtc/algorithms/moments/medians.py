"""Search for trees whose leaves cost the absolute error around their median: Σ w |y - v|, minimized over v.

This is the minimum over one number of a sum of costs of the rows, as in odtc.algorithms.moments.laws: no tree on rows
A and B costs less than the best tree on A and the best one on B together, and V(A) <= V(B) for A within B. But it is
not a function of three sums. The best split on one column is found by moving the rows from the right side to the left
one in the order of the column: for each side a Fenwick tree (1994) contains W and Σ w y by the rank of y, and gives
the median and its cost in log n steps. Trees of two levels are found by intervals of cuts.
"""

import numpy as np

from odtc.algorithms.moments.exact_costs import ROUND, WHOLE
from odtc.algorithms.moments.kernels import by_rank
from odtc.algorithms.moments.search import NO_LIMITS, NO_TOTALS, SearchByIntervals
from odtc.algorithms.moments.tree_limits import Place
from odtc.algorithms.weighted_quantiles import ROUNDING, places_of
from odtc.base.kernels import kernel


def add_at(tree, place, weight, value):
    """Add a weight and a weighted number at a position of a Fenwick tree, float64 (2, positions + 1)."""
    at = place + 1
    while at < tree.shape[1]:
        tree[0, at] += weight
        tree[1, at] += value
        at += at & -at


def spread(tree, values, weight, total):
    """Return the cost, around their median, of the rows of a Fenwick tree of this weight and weighted sum."""
    if weight <= 0.0:
        return 0.0
    at, below, told, step = 0, 0.0, 0.0, 1
    while 2 * step < tree.shape[1]:
        step *= 2
    half = 0.5 * weight * (1 - ROUNDING)
    while step > 0:
        if at + step < tree.shape[1] and below + tree[0, at + step] < half:
            at += step
            below += tree[0, at]
            told += tree[1, at]
        step //= 2
    middle = values[min(at, len(values) - 1)]
    return max(0.0, middle * below - told + (total - told) - middle * (weight - below))


@kernel
def best_cut(code, size, w, y, count, rows, terms, totals):
    """Return (gain, column, cut) of the best split, column -1 for a leaf; a gain is minus a cost.

    Parameters
    ----------
    code : integers (columns, all rows), ranks; a cut c sends ranks of at most c to the left
    size : int64 (columns,), ranks of each column
    w, y, count : float64 (all rows,), weight, number, and rows of the data; y does not fall
    rows : int64 (rows,), the rows of the node, rising
    terms : (rows of the data that each leaf must have, penalty of a branch node), both float
    totals : float64 (columns, ranks), filled with the gain of each cut that is allowed; without rows nothing is filled
    """
    n, (least, price) = len(rows), terms
    weight, number, values = np.empty(n), np.empty(n), np.empty(n)
    every, held = np.zeros((2, n + 1)), 0.0
    whole = total = below = 0.0
    for i in range(n):
        whole += w[rows[i]]
    at = 0
    while at < n - 1 and below + w[rows[at]] < 0.5 * whole:
        below += w[rows[at]]
        at += 1
    middle = y[rows[at]]  # sums around the median are no larger than the cost of these rows
    for i in range(n):
        weight[i], values[i] = w[rows[i]], y[rows[i]] - middle
        number[i] = weight[i] * values[i]
        total += number[i]
        held += count[rows[i]]
    for i in range(n):
        every[0, i + 1] += weight[i]
        every[1, i + 1] += number[i]
        up = (i + 1) + ((i + 1) & -(i + 1))
        if up <= n:
            every[0, up] += every[0, i + 1]
            every[1, up] += every[1, i + 1]
    leaf = spread(every, values, whole, total)
    best, column, cut, near = -leaf, -1, -1, ROUNDING * leaf
    for g in range(len(size)):
        order, begin = by_rank(code[g][rows], size[g])
        left, right = np.zeros((2, n + 1)), every.copy()
        lw = ls = lc = 0.0
        for v in range(size[g] - 1):
            if begin[v] == begin[v + 1]:
                continue
            for at in range(begin[v], begin[v + 1]):
                i = order[at]
                add_at(left, i, weight[i], number[i])
                add_at(right, i, -weight[i], -number[i])
                lw += weight[i]
                ls += number[i]
                lc += count[rows[i]]
            if begin[v + 1] == n:
                break
            if lc < least or held - lc < least:
                continue
            gain = -spread(left, values, lw, ls) - spread(right, values, whole - lw, total - ls) - price
            if len(totals):
                totals[g, v] = gain
            if gain > best + near:
                best, column, cut = gain, g, v
    return best, column, cut


def gains_of_cuts(code, size, *terms) -> np.ndarray:
    """Return float64 (columns, ranks): the gain of each cut as in `best_cut`, -inf if it is not allowed."""
    gains = np.full((len(size), int(size.max(initial=1))), -np.inf)
    best_cut(code, size, *terms, gains)
    return gains


def rounding(weight: np.ndarray, apart: np.ndarray) -> float:
    """Return a bound on the rounding error of sums over rows that are added and taken off, where `apart` are numbers
    less their median: all weights count as far from it as the furthest number, unless sums of weights are exact."""
    far, each = np.abs(apart), ROUND * (len(apart) + 4)
    total = float(weight.sum())
    exact = total < WHOLE and (weight == np.rint(weight)).all()
    return each * (float(weight @ far) if exact else total * float(far.max(initial=0.0)))


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    rank, numbers = random.integers(0, 40, (200, 3)), np.sort(random.random(200))
    MedianSearch(rank, np.stack([numbers, numbers**0, numbers**0])).solve(1)


class MedianSearch(SearchByIntervals):
    """The search on some rows, whose numbers do not fall from one row to the next.

    Parameters
    ----------
    rank : integers (rows, columns)
    numbers : float64 (3, rows): the number of each row, its weight, and how many rows of the data it represents
    price, least, check, told, limits
        As for MomentSearch.
    """

    def __init__(self, rank, numbers, price=0.0, least=1, check=lambda: None, told=None, limits=NO_LIMITS):
        self.y, self.weight, self.count = np.ascontiguousarray(numbers, float)
        super().__init__(rank, self.weight, self.count, price, least, check, told or (lambda *_: None), limits)

    def _of_any_rows(self, rank, moments, limits) -> "MedianSearch":
        numbers = np.stack([self.y, self.weight, self.count])
        return MedianSearch(rank, numbers, self.price, 1, self.check, limits=limits)

    def _gain(self, rows: np.ndarray) -> float:
        y, weight = self.y[rows], self.weight[rows]
        return -float((weight * np.abs(y - y[places_of(weight, 0.5)])).sum())

    def _depth_one(self, rows: np.ndarray, columns: tuple[int, ...] | None):
        code, size = self._over(columns)
        found = best_cut(code, size, self.weight, self.y, self.count, rows, (self.least, self.price), NO_TOTALS)
        return self._named(found, columns)

    def _shallow_cuts(self, rows: np.ndarray, depth: int, place: Place, reach: float) -> list[tuple[int, int, float]]:
        """Return (column, cut, cost) of all trees of one level that cost no more than `reach`."""
        terms, found = (self.weight, self.y, self.count, rows, (self.least, self.price)), []
        for column in self.limits.columns(place, len(self.size)).tolist():
            gains = gains_of_cuts(self.code[column : column + 1], self.size[column : column + 1], *terms)[0]
            found += [(column, cut, -float(gains[cut])) for cut in np.flatnonzero(-gains <= reach).tolist()]
        return found
