"""Search for trees whose leaves cost the absolute error around their median: Σ w |y - v|, minimized over v.

This is the minimum over one number of a sum of costs of the rows, as in odtc.algorithms.moments.laws: no tree on rows A
and B costs less than the best tree on A and the best one on B together, and V(A) <= V(B) for A within B. But it is not
a function of three sums of the rows. The best split on one column is found by moving the rows from the right side to
the left one in the order of the column: for each side a Fenwick tree (1994) contains W and Σ w y by the rank of y, and
gives the median and its cost in log n steps. Trees of two levels are found by intervals of cuts.
"""

import numpy as np

from odtc.algorithms.moments.exact_costs import ROUND
from odtc.algorithms.moments.kernels import by_rank
from odtc.algorithms.moments.search import SearchByIntervals
from odtc.algorithms.weighted_quantiles import ROUNDING
from odtc.base.kernels import kernel
from odtc.base.whole_numbers import MAX_EXACT


def add_at(tree, place, weight, value):
    """Add a weight and a weighted number at a position of a Fenwick tree, float64 (2, positions + 1)."""
    at = place + 1
    while at < tree.shape[1]:
        tree[0, at] += weight
        tree[1, at] += value
        at += at & -at


def filled(weight, number):
    """Return the Fenwick tree of all rows, with these weights and weighted numbers."""
    n = len(weight)
    tree = np.zeros((2, n + 1))
    for i in range(n):
        tree[0, i + 1] += weight[i]
        tree[1, i + 1] += number[i]
        up = (i + 1) + ((i + 1) & -(i + 1))
        if up <= n:
            tree[0, up] += tree[0, i + 1]
            tree[1, up] += tree[1, i + 1]
    return tree


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
def leaf_cost(w, y, rows):
    """Return the cost of a leaf of some rows around their lower median; the arguments are those of `best_cut`."""
    whole = below = cost = 0.0
    for row in rows:
        whole += w[row]
    half, at = 0.5 * whole * (1 - ROUNDING), 0
    while at < len(rows) - 1 and below + w[rows[at]] < half:
        below += w[rows[at]]
        at += 1
    for row in rows:
        cost += w[row] * abs(y[row] - y[rows[at]])
    return cost


@kernel
def best_cut(code, size, w, y, count, rows, limits, found):
    """Return what `best_cut` of odtc.algorithms.moments.search.CutCosts returns, for leaves around their median.

    Parameters
    ----------
    code, size, rows, limits, found : as there
    w, y, count : float64 (all rows,), weight, number, and rows of the data; y does not fall
    """
    n, listed, (least, most) = len(rows), len(found) > 0, limits
    weight, number, values = np.empty(n), np.empty(n), np.empty(n)
    whole = total = below = held = 0.0
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
    every = filled(weight, number)
    best, column, cut = np.inf, -1, -1
    near = 0.0 if listed else ROUNDING * spread(every, values, whole, total)
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
            cost = spread(left, values, lw, ls)
            if cost >= most - near:
                continue
            cost += spread(right, values, whole - lw, total - ls)
            if cost < most - near:
                if listed:
                    found[g, v] = cost
                else:
                    best, column, cut = cost, g, v
                    most = cost
    return best, column, cut


def rounding(weight: np.ndarray, apart: np.ndarray) -> float:
    """Return a bound on the rounding error of sums over rows that are added and taken off, where `apart` are numbers
    less their median: all weights count as far from it as the furthest number, unless sums of weights are exact."""
    far, each = np.abs(apart), ROUND * (len(apart) + 4)
    total = float(weight.sum())
    exact = total < MAX_EXACT and (weight == np.rint(weight)).all()
    return each * (float(weight @ far) if exact else total * float(far.max(initial=0.0)))


class MedianCosts:
    """The costs of leaves around their median (odtc.algorithms.moments.search.CutCosts).

    Parameters
    ----------
    numbers : float64 (3, rows): the number of each row, which does not fall from one row to the next, its weight, and
        how many rows of the data it represents
    """

    relative = 0.0

    def __init__(self, numbers: np.ndarray):
        self.y, self.weight, self.count = np.ascontiguousarray(numbers, float)

    def leaf(self, rows: np.ndarray) -> float:
        return float(leaf_cost(self.weight, self.y, rows))

    def best_cut(self, code, size, rows, limits, found) -> tuple[float, int, int]:
        return best_cut(code, size, self.weight, self.y, self.count, rows, limits, found)


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    numbers, rank = np.sort(random.random(200)), random.integers(0, 40, (200, 3))
    count = np.ones(200)
    SearchByIntervals(rank, MedianCosts(np.stack([numbers, count, count])), count).solve(1)
