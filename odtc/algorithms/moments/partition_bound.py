"""Lower bound on the cost of all trees with at most K leaves, whatever their splits: the best partition of the rows.

A row with W, S costs w (θ - r)² in a leaf with the prediction θ, or w (θ - r log θ), where r = S/W: of two predictions,
one is better for all rows with r below some number, the other one for all rows above. So the sets of the best partition
of the rows into K sets follow one another in the order of r. Its cost, the minimum over all partitions, is found row by
row:

    D_k(j) = min_{i <= j} D_k-1(i) + cost of the rows i + 1 … j

The position i of the minimum does not fall as j rises (Monge's inequality is true for such costs), so positions are
found for every second j first, and then for the others.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.moments.laws import gains


def partition_costs(
    law: int, moments: np.ndarray, tiny: float, most: int, check: Callable[[], None] = lambda: None
) -> np.ndarray:
    """Return float64 (most,): the least cost of the rows in at most 1, 2, … sets.

    Parameters
    ----------
    law : int, of odtc.algorithms.moments.laws
    moments : float64 (3, rows): W, S and Q
    tiny : float, `laws.smallest` of the moments
    most : int, at least 1
    check : called often; an exception that it raises ends the search
    """
    held = moments[0] > 0
    w, s, q = moments[:, held]
    order = np.argsort(s / w, kind="stable")
    below = np.zeros((3, len(order) + 1))
    np.cumsum(np.stack([w, s, q])[:, order], axis=1, out=below[:, 1:])

    def cost(i, j):
        w, s, q = below[:, j] - below[:, i]
        return np.maximum(q - gains(law, s, w, tiny), 0.0)

    n = len(order)
    least = cost(np.zeros(n + 1, np.int64), np.arange(n + 1))
    found = [float(least[n])]
    for _ in range(1, most):
        check()
        least = _next(least, cost)
        found.append(float(least[n]))
    return np.array(found)


def _next(least: np.ndarray, cost) -> np.ndarray:
    """Return D_k from D_k-1, float64 (rows + 1,)."""
    n = len(least) - 1
    at, after = np.zeros(n + 1, np.int64), least.copy()
    stride = 1 << n.bit_length()
    while stride:
        j = np.arange(stride, n + 1, 2 * stride)
        low, high = at[j - stride], j.copy()
        inner = j + stride <= n
        high[inner] = np.minimum(at[(j + stride)[inner]], j[inner])
        size = high - low + 1
        first = np.cumsum(size) - size
        i = np.arange(int(size.sum())) - np.repeat(first - low, size)
        if len(i):
            tried = least[i] + cost(i, np.repeat(j, size))
            after[j] = np.minimum.reduceat(tried, first)
            best = np.flatnonzero(tried == np.repeat(after[j], size))
            owner = np.repeat(np.arange(len(j)), size)[best]
            at[j[owner[::-1]]] = i[best[::-1]]  # the first one if several are equal
        stride //= 2
    return after
