"""Stumps over ordered splits, as plain loops over arrays, which numba compiles.

The splits of a scale are nested: the rows with outcome 1 for a split also have outcome 1 for all splits before it. So
one pass over the rows in the order of their codes gives the sums over the rows with outcome 1 for every split, and the
two leaves of all stumps follow from them (odtc.algorithms.constrained.stump_pairs).
"""

import numpy as np

from odtc.base.kernels import kernel

BLOCK = 1024  # splits whose leaves are computed together, in arrays that the cache holds


def compile_now() -> None:
    """Call the loops on little data."""
    row, number = np.arange(4, dtype=np.int32), np.arange(4)
    ones = sums_of_ones(row, number, np.array([0, 4]), np.ones((2, 4)))
    stump_costs(ones, ones[:, 0], np.ones(1), np.zeros(2), np.ones((0, 2)), 0.0)


@kernel
def sums_of_ones(row, until, first, values):
    """Return the sums of values over the rows with outcome 1 for each split, float64 (lines, splits).

    Parameters
    ----------
    row : int32 (entries,)
        Scale by scale the rows with outcome 1 for some split, those with outcome 1 for most splits first.
    until : int64 (splits,)
        Scale by scale, for each split the end of the rows with outcome 1 among these; falling within a scale.
    first : int64 (scales + 1,)
        Where the splits of each scale begin.
    values : float64 (lines, rows of the data)
        0 for rows that are not on the side.
    """
    lines, at = len(values), 0
    found = np.empty((lines, len(until)))
    for j in range(len(first) - 1):
        begin = at
        for line in range(lines):
            so_far, at = 0.0, begin
            for split in range(first[j + 1] - 1, first[j] - 1, -1):
                while at < until[split]:
                    so_far += values[line, row[at]]
                    at += 1
                found[line, split] = so_far
    return found


@kernel
def stump_costs(ones, total, factor, leaf, least, price):
    """Return the least weighted cost of a stump with each split, float64 (splits,): infinite if no labels are allowed.

    With s the sums over the rows of a leaf, label k costs leaf[k] + Σ_t factor[t] s[t, k] there, if the sum of each
    condition is at least what it requires of the label.

    Parameters
    ----------
    ones : float64 (terms · labels + conditions, splits)
        Sums over the rows with outcome 1.
    total : float64 (terms · labels + conditions,)
        The same sums over all rows of the side.
    factor : float64 (terms,)
    leaf : float64 (labels,)
    least : float64 (conditions, labels)
    price : float, of the branch node
    """
    n_splits, n_labels, n_terms = ones.shape[1], len(leaf), len(factor)
    found = np.empty(n_splits)
    best, here = np.empty((2, BLOCK)), np.empty((2, BLOCK))
    for begin in range(0, n_splits, BLOCK):
        size = min(BLOCK, n_splits - begin)
        best[:] = np.inf
        for k in range(n_labels):
            here[:] = leaf[k]
            for t in range(n_terms):
                line = t * n_labels + k
                for i in range(size):
                    here[0, i] += factor[t] * (total[line] - ones[line, begin + i])
                    here[1, i] += factor[t] * ones[line, begin + i]
            for condition in range(len(least)):
                line = n_terms * n_labels + condition
                for i in range(size):
                    if total[line] - ones[line, begin + i] < least[condition, k]:
                        here[0, i] = np.inf
                    if ones[line, begin + i] < least[condition, k]:
                        here[1, i] = np.inf
            for i in range(size):
                best[0, i], best[1, i] = min(best[0, i], here[0, i]), min(best[1, i], here[1, i])
        for i in range(size):
            found[begin + i] = price + best[0, i] + best[1, i]
    return found
