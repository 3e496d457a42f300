"""The best tree of depth 2 over binary splits: sums over pairs of splits, row by row.

Plain functions of arrays, which numba compiles (odtc.base.kernels), with the formulas in
odtc.algorithms.thresholds.binary_nodes. An entry adds to the pairs of splits for which it has outcome 1; tables of
levels have few of these.
"""

import numpy as np

from odtc.base.kernels import kernel


@kernel
def pair_sums(entries, first, column, label, gain, most, stride, columns):
    """Return the saving of each label on the entries with outcome 1 for two splits, and for one split the largest cost
    of these entries.

    Parameters
    ----------
    entries : int64 (n,), entries of the node
    first, column : int64 (all entries + 1,), int32; entry e has outcome 1 for column[first[e] : first[e + 1]], rising
    label, gain, most : as in RankedRows, of all entries
    stride, columns : int, labels and splits

    Returns
    -------
    pairs : int64 (stride, columns, columns), [k, f, g] for f <= g
    weight : int64 (columns,)
    """
    pairs, weight = np.zeros((stride, columns, columns), np.int64), np.zeros(columns, np.int64)
    for e in entries:
        v, k, z, w = np.int64(gain[e]), label[e], first[e + 1], most[e]
        for x in range(first[e], z):
            f = column[x]
            weight[f] += w
            for y in range(x, z):
                pairs[k, f, column[y]] += v
    return pairs, weight


@kernel
def best_pair(pairs, weight, total, whole, price, counted):
    """Return (cost, split) of the best tree of depth 2 with a first split.

    Parameters
    ----------
    pairs, weight : as returned by `pair_sums`
    total : int64 (stride,), the saving of each label on all entries of the node
    whole : int, the largest cost of these
    price : int, the penalty of a branch node
    counted : (int64 (columns, columns), the rows of the data with outcome 1 for two splits, as in `pairs`; the rows of
        the node; those that each leaf must have)
    """
    K, F = pairs.shape[0], pairs.shape[1]
    count, rows, least = counted
    best, test = np.int64(1 << 59), -1
    for f in range(F):
        one, none = weight[f], whole - weight[f]
        if least > 1 and min(count[f, f], rows - count[f, f]) < least:
            continue
        if K == 1:
            s = pairs[0, f, f]
            t = total[0] - s
            right, left = abs(s), abs(t)
            most, most_left = right, left
            for g in range(F):
                p = pairs[0, f, g] if f < g else pairs[0, g, f]
                a, c = abs(2 * p - s), abs(2 * (pairs[0, g, g] - p) - t)
                if least > 1:
                    both = count[f, g] if f < g else count[g, f]
                    other = count[g, g] - both
                    if min(both, count[f, f] - both) < least:
                        a = np.int64(0)
                    if min(other, rows - count[f, f] - other) < least:
                        c = np.int64(0)
                most, most_left = max(most, a), max(most_left, c)
            cost = min((one - right) >> 1, price + ((one - most) >> 1))
            cost += min((none - left) >> 1, price + ((none - most_left) >> 1))
        else:
            right, left, most, most_left = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            for k in range(K):
                right = max(right, pairs[k, f, f])
                left = max(left, total[k] - pairs[k, f, f])
            for g in range(F):
                a, b, c, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
                for k in range(K):
                    p = pairs[k, f, g] if f < g else pairs[k, g, f]
                    q, own = pairs[k, g, g] - p, pairs[k, f, f]
                    a = max(a, p)
                    b = max(b, own - p)
                    c = max(c, q)
                    d = max(d, total[k] - own - q)
                if least > 1:
                    both = count[f, g] if f < g else count[g, f]
                    other = count[g, g] - both
                    if min(both, count[f, f] - both) < least:
                        a, b = np.int64(0), np.int64(0)
                    if min(other, rows - count[f, f] - other) < least:
                        c, d = np.int64(0), np.int64(0)
                most = max(most, a + b)
                most_left = max(most_left, c + d)
            cost = min(one - right, price + one - most) + min(none - left, price + none - most_left)
        if price + cost < best:
            best, test = price + cost, f
    return best, test
