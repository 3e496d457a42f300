"""Three levels of splits over bins, as plain loops over arrays, which numba compiles (odtc.algorithms.bins.bin_bound).

A cut of a column sends the entries of the bins before `lo` left and the entries from `hi` on right; entries between
them are not counted. For two columns one table of the sums over all pairs of their bins gives the saving of every leaf
below two cuts. The cuts of one column are first cuts one after the other: each takes the table over from its neighbour
and adds the entries between the two, so that all of them together visit each entry once for each pair of columns
(MurTree shares its sums between neighbouring nodes in a similar way).
"""

import numpy as np

from odtc.base.kernels import kernel

STORED = 1 << 22  # maximum number of sums of all first cuts that are stored at once, 32 MB


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


def accumulate(sums, line):
    """Write the sums over the first bins, (sums, bins + 1), of the sums of each bin, which begin at index 1."""
    for k in range(sums.shape[0]):
        so_far = np.int64(0)
        for b in range(1, sums.shape[1]):
            so_far += sums[k, b]
            line[k, b] = so_far


def accumulate_pairs(sums, A, B, table):
    """Write the sums over the first bins of both columns of the sums of each pair of bins, which begin at index 1."""
    for k in range(sums.shape[0]):
        for a in range(1, A + 1):
            so_far = np.int64(0)
            for b in range(1, B + 1):
                so_far += sums[k, a, b]
                table[k, a, b] = table[k, a - 1, b] + so_far


def leaves_of_one(line, whole, last, cuts, m, price, left, right):
    """Set the least costs of a leaf or of one cut of the same column, left and right of each of its m cuts."""
    for i in range(m):
        a, b = cuts[0, i], cuts[1, i]
        left[i], right[i] = leaf(line, whole, 0, a), leaf(line, whole, b, last)
        for j in range(m):
            d, e = cuts[0, j], cuts[1, j]
            one = leaf(line, whole, 0, min(d, a)) + leaf(line, whole, min(e, a), a)
            two = leaf(line, whole, b, max(d, b)) + leaf(line, whole, max(e, b), last)
            left[i], right[i] = min(left[i], price + one), min(right[i], price + two)


def in_order_of_first(first, n_first, code, members, label, gain, most, whole):
    """Return the members in the order of their bins in the column of the first cut: how many are in the bins before
    each; their bins in all columns, counted from 1; their label, gain and maximum cost."""
    C, n = code.shape[0], len(members)
    ends = np.zeros(n_first + 1, np.int64)
    for i in range(n):
        ends[first[members[i]] + 1] += 1
    for b in range(n_first):
        ends[b + 1] += ends[b]
    place = ends.copy()
    own, of_label, gains = np.empty((C, n), np.uint16), np.empty(n, np.int64), np.empty(n, np.int64)
    costs = np.empty(0 if whole else n, np.int64)
    for i in range(n):
        e = members[i]
        at = place[first[e]]
        place[first[e]] += 1
        of_label[at], gains[at] = label[e], gain[e]
        if not whole:
            costs[at] = most[e]
        for c in range(C):
            own[c, at] = code[c, e] + 1
    return ends, own, of_label, gains, costs


def add_line(sums, own, of_label, gains, costs, at, to):
    """Add entries to the sums of the bins of a column."""
    for i in range(at, to):
        sums[of_label[i], own[i]] += gains[i]
    if len(costs):
        last = sums.shape[0] - 1
        for i in range(at, to):
            sums[last, own[i]] += costs[i]


def add_pairs(sums, own, other, of_label, gains, costs, at, to):
    """Add entries to the sums of the pairs of bins of two columns."""
    for i in range(at, to):
        sums[of_label[i], own[i], other[i]] += gains[i]
    if len(costs):
        last = sums.shape[0] - 1
        for i in range(at, to):
            sums[last, own[i], other[i]] += costs[i]


def below_one_column(c, members, first_cuts, last, cuts, m, whole, price, shape, left, right, best):
    """Set the least costs of a leaf or of one cut on both sides of each cut of a column, below each first cut; and
    those of a leaf on each side of the first cut."""
    ends, own, of_label, gains, costs = members
    line, n_firsts = np.zeros(shape, np.int64), first_cuts.shape[1]
    for side in range(2):  # left sides grow from the first entry on, and right sides from the last one
        sums, at = np.zeros(shape, np.int64), side * own.shape[1]
        for step in range(n_firsts):
            f = n_firsts - 1 - step if side else step
            to = ends[first_cuts[side, f]]
            add_line(sums, own[c], of_label, gains, costs, min(at, to), max(at, to))
            at = to
            accumulate(sums, line)
            best[f, side] = leaf(line, whole, 0, last)
            leaves_of_one(line, whole, last, cuts, m, price, left[f, side, c], right[f, side, c])


def below_two_cuts(table, A, B, cuts, n_cuts, c, d, whole, price, left, right, saved):
    """Update the least costs on both sides of each cut of two columns by the cuts of the other one, on one side of a
    first cut, of which `table` has the sums."""
    lo, hi, m = cuts[d, 0], cuts[d, 1], n_cuts[d]
    for i in range(n_cuts[c]):
        if whole:
            leaves_of_two(table, A, B, cuts[c], i, lo, hi, m, price, left[c], right[c], left[d], right[d])
        else:
            leaves_of_many(table, A, B, cuts[c], i, lo, hi, m, price, left[c], right[c], left[d], right[d], saved)


def subtract(everything, table, A, B, rest):
    """Write the sums of the entries that are not in a table."""
    for k in range(table.shape[0]):
        for a in range(1, A + 1):
            for b in range(1, B + 1):
                rest[k, a, b] = everything[k, a, b] - table[k, a, b]


def below_two_columns(c, d, members, first_cuts, n_bins, cuts, n_cuts, whole, price, tables, left, right, best):
    """Do this below each first cut. The entries are added in their order: those right of a first cut are all without
    those before its `hi`, whose sums are stored until all are known. If that takes too much room, there is one table,
    and all entries are added before."""
    ends, own, of_label, gains, costs = members
    (pairs, table, rest, behind, saved), n_firsts = tables, first_cuts.shape[1]
    A, B, n, stored = n_bins[c], n_bins[d], own.shape[1], len(behind) == n_firsts
    pairs[:, : A + 1, : B + 1] = 0
    if not stored:
        add_pairs(pairs, own[c], own[d], of_label, gains, costs, 0, n)
        accumulate_pairs(pairs, A, B, behind[0])
        pairs[:, : A + 1, : B + 1] = 0
    at = -1  # the number of entries in `table`
    for f in range(n_firsts):
        for side in range(2):
            if best[f, side] <= price:  # a leaf costs no more than a cut
                continue
            to = ends[first_cuts[side, f]]
            if at != to:
                add_pairs(pairs, own[c], own[d], of_label, gains, costs, max(at, 0), to)
                accumulate_pairs(pairs, A, B, table)
                at = to
            if side == 0:
                below_two_cuts(table, A, B, cuts, n_cuts, c, d, whole, price, left[f, 0], right[f, 0], saved)
            elif stored:
                behind[f, :, : A + 1, : B + 1] = table[:, : A + 1, : B + 1]
            else:
                subtract(behind[0], table, A, B, rest)
                below_two_cuts(rest, A, B, cuts, n_cuts, c, d, whole, price, left[f, 1], right[f, 1], saved)
    if stored:
        add_pairs(pairs, own[c], own[d], of_label, gains, costs, max(at, 0), n)
        accumulate_pairs(pairs, A, B, table)
        for f in range(n_firsts):
            if best[f, 1] > price:
                subtract(table, behind[f], A, B, rest)
                below_two_cuts(rest, A, B, cuts, n_cuts, c, d, whole, price, left[f, 1], right[f, 1], saved)


def least_of_first_cuts(best, left, right, n_cuts, price):
    """Return the least cost of the trees on the two sides of a first cut; `best` is that of a leaf or of trees over two
    columns, and becomes that of all trees of at most two levels."""
    least = np.int64(2**62)
    for f in range(len(best)):
        for side in range(2):
            if best[f, side] > price:
                for c in range(len(n_cuts)):
                    for i in range(n_cuts[c]):
                        best[f, side] = min(best[f, side], price + left[f, side, c, i] + right[f, side, c, i])
        least = min(least, best[f, 0] + best[f, 1])
    return least


@kernel
def three_levels(
    first, n_first, first_cuts, code, n_bins, cuts, n_cuts, members, label, gain, most, n_labels, whole, price
):
    """Return the least cost of the two trees below a first cut of one column, each of at most two levels of cuts.

    Parameters
    ----------
    first : uint16 (entries,), the bin of each entry in the column of the first cut
    n_first : int, bins of this column
    first_cuts : int64 (2, first cuts), `lo` and `hi` of each; no `lo` is less than the `hi` before it
    code : uint16 (columns, entries), the bin of each entry on the two levels below
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
        Without the price of the first cut; 2**62 if there is none.
    """
    C, n_firsts = code.shape[0], first_cuts.shape[1]
    n_sums = n_labels if whole else n_labels + 1
    most_bins, most_cuts = 1, 1
    for c in range(C):
        most_bins, most_cuts = max(most_bins, n_bins[c]), max(most_cuts, n_cuts[c])
    ordered = in_order_of_first(first, n_first, code, members, label, gain, most, whole)
    # By first cut, side, column and cut: the least cost of a leaf or of one cut, left and right of the cut.
    left = np.empty((n_firsts, 2, C, most_cuts), np.int64)
    right = np.empty((n_firsts, 2, C, most_cuts), np.int64)
    best = np.empty((n_firsts, 2), np.int64)  # by first cut and side: the cost of a leaf, later of the best tree
    shape = (n_sums, most_bins + 1)
    for c in range(C):
        below_one_column(c, ordered, first_cuts, n_bins[c], cuts[c], n_cuts[c], whole, price, shape, left, right, best)
    square = (n_sums, most_bins + 1, most_bins + 1)
    tables = (
        np.zeros(square, np.int64),
        np.zeros(square, np.int64),
        np.zeros(square, np.int64),
        np.zeros((n_firsts if n_firsts * n_sums * most_bins**2 < STORED else 1, *square), np.int64),
        np.zeros((4, most_cuts), np.int64),
    )
    for c in range(C):
        for d in range(c + 1, C):
            if n_cuts[c] and n_cuts[d]:
                below_two_columns(
                    c, d, ordered, first_cuts, n_bins, cuts, n_cuts, whole, price, tables, left, right, best
                )
    return least_of_first_cuts(best, left, right, n_cuts, price)
