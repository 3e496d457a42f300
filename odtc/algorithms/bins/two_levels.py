"""Two levels of splits over bins, as plain loops over arrays, which numba compiles (odtc.algorithms.bins.bin_bound).

A cut of a column sends the entries of the bins before `lo` left and those from `hi` on right; those between are not
counted. For two columns one table of the sums over all pairs of their bins gives the saving of every leaf below two
cuts.
"""

import numpy as np

from odtc.base.kernels import kernel


def leaf(line, whole, a, b):
    """Return the cost of a leaf of the entries in bins a .. b - 1, by sums over the first bins, (sums, bins + 1)."""
    n_sums = line.shape[0]
    if whole:
        return min(line[0, b] - line[0, a], line[1, b] - line[1, a])
    saved = line[0, b] - line[0, a]
    for k in range(1, n_sums - 1):
        saved = max(saved, line[k, b] - line[k, a])
    return line[n_sums - 1, b] - line[n_sums - 1, a] - saved


def leaves_of_two(table, A, B, cuts, i, lo, hi, m, price, left, right, upper, lower):
    """Update the least costs by the four leaves of cut i of a column with each of the m cuts `lo`, `hi` of another
    one, if two labels together save the maximum cost of each entry."""
    p, q, a, b = table[0], table[1], cuts[0, i], cuts[1, i]
    p_all, q_all = p[A, B] - p[b, B], q[A, B] - q[b, B]
    best_left, best_right = left[i], right[i]
    for j in range(m):
        d, e = lo[j], hi[j]
        one = min(p[a, d], q[a, d])
        two = min(p[a, B] - p[a, e], q[a, B] - q[a, e])
        three = min(p[A, d] - p[b, d], q[A, d] - q[b, d])
        four = min(p_all - p[A, e] + p[b, e], q_all - q[A, e] + q[b, e])
        best_left, best_right = min(best_left, price + one + two), min(best_right, price + three + four)
        upper[j], lower[j] = min(upper[j], price + one + three), min(lower[j], price + two + four)
    left[i], right[i] = best_left, best_right


def leaves_of_many(table, A, B, cuts, i, lo, hi, m, price, left, right, upper, lower, saved):
    """Do the same for any labels: the last sum is the maximum cost of the entries."""
    a, b, n_labels = cuts[0, i], cuts[1, i], table.shape[0] - 1
    for k in range(n_labels):
        t = table[k]
        everything = t[A, B] - t[b, B]
        for j in range(m):
            d, e = lo[j], hi[j]
            one, two = t[a, d], t[a, B] - t[a, e]
            three, four = t[A, d] - t[b, d], everything - t[A, e] + t[b, e]
            if k == 0:
                saved[0, j], saved[1, j], saved[2, j], saved[3, j] = one, two, three, four
            else:
                saved[0, j], saved[1, j] = max(saved[0, j], one), max(saved[1, j], two)
                saved[2, j], saved[3, j] = max(saved[2, j], three), max(saved[3, j], four)
    t = table[n_labels]
    everything = t[A, B] - t[b, B]
    for j in range(m):
        d, e = lo[j], hi[j]
        one, two = t[a, d] - saved[0, j], t[a, B] - t[a, e] - saved[1, j]
        three, four = t[A, d] - t[b, d] - saved[2, j], everything - t[A, e] + t[b, e] - saved[3, j]
        left[i], right[i] = min(left[i], price + one + two), min(right[i], price + three + four)
        upper[j], lower[j] = min(upper[j], price + one + three), min(lower[j], price + two + four)


@kernel
def two_levels(code, n_bins, cuts, n_cuts, members, label, gain, most, n_labels, whole, price):
    """Return the least cost of a tree of at most two levels of cuts.

    Parameters
    ----------
    code : uint16 (columns, entries), the bin of each entry
    n_bins : int64 (columns,)
    cuts : int64 (columns, 2, cuts), `lo` and `hi` of each cut
    n_cuts : int64 (columns,)
    members : int64 (members,), the entries of the node
    label : int64 (entries,), the label that saves `gain`, int64 (entries,)
    most : int64 (entries,), the maximum cost of an entry
    n_labels : int
    whole : bool, whether there are two labels that together save the maximum cost of each entry
    price : int, of a cut

    Returns
    -------
    int
    """
    C, n = code.shape[0], len(members)
    n_sums = n_labels if whole else n_labels + 1
    most_bins, most_cuts = 1, 1
    for c in range(C):
        most_bins, most_cuts = max(most_bins, n_bins[c]), max(most_cuts, n_cuts[c])
    own, of_label, gains, costs = np.empty((C, n), np.int64), np.empty(n, np.int64), np.empty(n, np.int64), most[:0]
    for i in range(n):
        e = members[i]
        of_label[i], gains[i] = label[e], gain[e]
        for c in range(C):
            own[c, i] = code[c, e] + 1
    if not whole:
        costs = most[members]
    line = np.zeros((C, n_sums, most_bins + 1), np.int64)
    for c in range(C):
        for i in range(n):
            line[c, of_label[i], own[c, i]] += gains[i]
            if not whole:
                line[c, n_labels, own[c, i]] += costs[i]
        for k in range(n_sums):
            for b in range(1, n_bins[c] + 1):
                line[c, k, b] += line[c, k, b - 1]
    best = leaf(line[0], whole, 0, n_bins[0])
    if best <= price:
        return best
    # The least cost of a leaf or of one cut, left and right of each first cut.
    left, right = np.empty((C, most_cuts), np.int64), np.empty((C, most_cuts), np.int64)
    for c in range(C):
        mine, last = line[c], n_bins[c]
        for i in range(n_cuts[c]):
            a, b = cuts[c, 0, i], cuts[c, 1, i]
            left[c, i], right[c, i] = leaf(mine, whole, 0, a), leaf(mine, whole, b, last)
            for j in range(n_cuts[c]):
                d, e = cuts[c, 0, j], cuts[c, 1, j]
                one = leaf(mine, whole, 0, min(d, a)) + leaf(mine, whole, min(e, a), a)
                two = leaf(mine, whole, b, max(d, b)) + leaf(mine, whole, max(e, b), last)
                left[c, i], right[c, i] = min(left[c, i], price + one), min(right[c, i], price + two)
    table = np.zeros((n_sums, most_bins + 1, most_bins + 1), np.int64)
    saved = np.zeros((4, most_cuts), np.int64)
    for c in range(C):
        for d in range(c + 1, C):
            if n_cuts[c] == 0 or n_cuts[d] == 0:
                continue
            A, B = n_bins[c], n_bins[d]
            for k in range(n_sums):
                for a in range(1, A + 1):
                    for b in range(1, B + 1):
                        table[k, a, b] = 0
            for i in range(n):
                table[of_label[i], own[c, i], own[d, i]] += gains[i]
            if not whole:
                for i in range(n):
                    table[n_labels, own[c, i], own[d, i]] += costs[i]
            for k in range(n_sums):
                for a in range(1, A + 1):
                    so_far = np.int64(0)
                    for b in range(1, B + 1):
                        so_far += table[k, a, b]
                        table[k, a, b] = table[k, a - 1, b] + so_far
            lo, hi, m = cuts[d, 0], cuts[d, 1], n_cuts[d]
            for i in range(n_cuts[c]):
                if whole:
                    leaves_of_two(table, A, B, cuts[c], i, lo, hi, m, price, left[c], right[c], left[d], right[d])
                else:
                    leaves_of_many(
                        table, A, B, cuts[c], i, lo, hi, m, price, left[c], right[c], left[d], right[d], saved
                    )
    for c in range(C):
        for i in range(n_cuts[c]):
            best = min(best, price + left[c, i] + right[c, i])
    return best
