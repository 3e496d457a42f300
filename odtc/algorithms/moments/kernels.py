"""The best trees of one and of two levels on a set of rows, for leaves that cost Q - G(S, W)
(odtc.algorithms.moments).

The sum of Q over the leaves is the same for all trees, so the best tree has the greatest gain Σ G(S, W) - price ·
branch nodes.

    depth two: for each pair of columns f < g, rows are added in the order of f; at each cut of f one pass over the
    ranks of g gives the sums of the four parts that a cut of each makes, and so the best split below each side of both

For a column of two ranks, such as one level of a category, only the rows of the rarer rank are added; the sums for the
other rank follow by subtraction.

The search for two levels is compiled (odtc.base.kernels).
"""

import numpy as np

from odtc.algorithms.moments.laws import gain, gains
from odtc.base.deadline import BLOCK_CELLS
from odtc.base.kernels import kernel


def dense_ranks(code, size, rows):
    """Return (ranks int64 (columns, rows) from 0 without gaps, int64 (columns,) how many, the given rank of each)."""
    p, n = code.shape[0], len(rows)
    widest = 0
    for g in range(p):
        widest = max(widest, size[g])
    dense, many = np.empty((p, n), np.int64), np.zeros(p, np.int64)
    given = np.empty((p, widest), np.int64)
    number = np.empty(widest, np.int64)
    for g in range(p):
        number[: size[g]] = -1
        for i in range(n):
            number[code[g, rows[i]]] = 0
        for v in range(size[g]):
            if number[v] == 0:
                given[g, many[g]] = v
                number[v] = many[g]
                many[g] += 1
        for i in range(n):
            dense[g, i] = number[code[g, rows[i]]]
    return dense, many, given


def by_rank(rank, many):
    """Return the positions of rows by rising rank, int64 (rows,), and where those of each rank begin, int64
    (many + 1,)."""
    begin = np.zeros(many + 1, np.int64)
    for i in range(len(rank)):
        begin[rank[i] + 1] += 1
    for v in range(many):
        begin[v + 1] += begin[v]
    order, place = np.empty(len(rank), np.int64), begin.copy()
    for i in range(len(rank)):
        order[place[rank[i]]] = i
        place[rank[i]] += 1
    return order, begin


def depth_one(code, size, moments, rows, least, price, law, tiny):
    """Return (gain, column, cut) of the best split, column -1 for a leaf; in numpy.

    Parameters
    ----------
    code : integers (columns, all rows), ranks; a cut c sends ranks of at most c to the left
    size : int64 (columns,), ranks of each column
    moments : float64 (3, all rows): W, S, rows of the data
    rows : int64 (rows,), the rows of the node
    least : float, rows of the data that each leaf must have
    price : float, penalty of a branch node
    law : int, of odtc.algorithms.moments.laws
    tiny : float, `laws.smallest` of the moments
    """
    w, s, c = moments[:, rows].sum(axis=1)
    best, column, cut = gain(law, s, w, tiny), -1, -1
    wide = int(size.max(initial=0))
    for first, parted, total in gains_of_cuts(code, size, moments, rows, least, price, law, tiny):
        if total.max() > best:
            of_best = np.flatnonzero(parted)[total.argmax()]
            best, column, cut = float(total.max()), first + int(of_best) // wide, int(of_best) % wide
    return best, column, cut


def gains_of_cuts(code, size, moments, rows, least, price, law, tiny):
    """Yield (first column, bool (columns, ranks) of their cuts, float64 (cuts,)): the gains of all trees of one level,
    some columns at a time; the arguments are the same as for `depth_one`."""
    w, s, c = moments[:, rows].sum(axis=1)
    wide, own = int(size.max(initial=0)), moments[:, rows]
    step = max(1, BLOCK_CELLS // max(wide, len(rows)))
    for first in range(0, len(size), step):
        some = slice(first, first + step)
        many = len(size[some])
        at = (code[some][:, rows] + wide * np.arange(many)[:, None]).ravel()
        lw, ls, lc = (
            np.bincount(at, np.tile(told, many), many * wide).reshape(many, wide).cumsum(axis=1) for told in own
        )
        held = np.arange(wide) < size[some, None] - 1
        parted = held & (lc >= least) & (c - lc >= least)
        if parted.any():
            left = gains(law, ls[parted], lw[parted], tiny)
            yield first, parted, left + gains(law, s - ls[parted], w - lw[parted], tiny) - price


def split_twice(below, begin, count, terms, one, two):
    """Raise the gains of the sides of each cut, `one` on the left and `two` on the right, float64 (cuts,), to those of
    trees that split once more on the same column. At first they are of one leaf; `below` are the sums left of each cut,
    `count` the rows of the node, and `terms` as for `of_pairs`."""
    least, price, law, tiny = terms
    left, right = one.copy(), two.copy()
    for f in range(len(begin) - 1):
        for i in range(begin[f], begin[f + 1] - 1):
            for j in range(i + 1, begin[f + 1] - 1):
                if least > 0.0 and below[j, 2] - below[i, 2] < least:
                    continue
                middle = gain(law, below[j, 1] - below[i, 1], below[j, 0] - below[i, 0], tiny)
                if least <= 0.0 or below[i, 2] >= least:
                    one[j] = max(one[j], left[i] + middle - price)
                if least <= 0.0 or count - below[j, 2] >= least:
                    two[i] = max(two[i], middle + right[j] - price)


def accumulate_ranks(added, side, f, begin, rare, counted, within):
    """Write the sums of the rows left of a cut of column f, whose sums are `side`, over the ranks up to each rank of
    the columns behind f. `added` are the sums by rank; for a column of two ranks only those of its rarer rank. Rows are
    summed only if `counted`."""
    for g in range(f + 1, len(begin) - 1):
        if rare[g] >= 0:
            for k in range(3):
                within[k, begin[g]] = added[k, begin[g]]
                if rare[g] == 1 and begin[g + 1] - begin[g] == 2:
                    within[k, begin[g]] = side[k] - added[k, begin[g] + 1]
                within[k, begin[g + 1] - 1] = side[k]
            continue
        aw = a = ac = 0.0
        for j in range(begin[g], begin[g + 1]):
            aw += added[0, j]
            a += added[1, j]
            within[0, j], within[1, j] = aw, a
            if counted:
                ac += added[2, j]
                within[2, j] = ac


def best_root(alone, cuts, limits, price, leaf, tree, totals):
    """Return (gain, column, cut) of the best root, column -1 for a leaf, which gains `alone`.

    Parameters
    ----------
    cuts : (sums left of each cut, where those of each column begin, the given rank of each)
    limits : (rows of the node, rows that each leaf must have, leaves of the tree)
    leaf, tree : (float64 (cuts,), float64 (cuts,)), the gains left and right of each cut of a leaf, and of the best
        tree of at most one level
    totals : as `ends` of `depth_two` has it
    """
    (below, begin, given), (c, least, leaves) = cuts, limits
    (left, right), (one, two) = leaf, tree
    best, column, cut = alone, -1, -1
    for f in range(len(begin) - 1):
        for j in range(begin[f], begin[f + 1] - 1):
            if below[j, 2] < least or c - below[j, 2] < least:
                continue
            total = one[j] + two[j] - price
            if leaves < 4.0:
                total = max(one[j] + right[j], left[j] + two[j]) - price
            if totals.size:
                totals[f, given[f, j - begin[f]]] = total
            if total > best:
                best, column, cut = total, f, given[f, j - begin[f]]
    return best, column, cut


@kernel
def depth_two(code, size, moments, rows, ends, price, law, tiny):
    """Return (gain, column, cut) of the root of the best tree of two levels, column -1 for a leaf. The arguments are
    the same as for `depth_one`, except for ends : rows of the data that each leaf must have, leaves of the tree (3
    or 4), both float, and float64 (columns, ranks) or of size 0, which gets the gain of the best tree with each cut
    at its root."""
    least, leaves, totals = ends
    dense, many, given = dense_ranks(code, size, rows)
    p = len(size)
    begin = np.zeros(p + 1, np.int64)
    for g in range(p):
        begin[g + 1] = begin[g] + many[g]
    below = sums_below(dense, begin, moments, rows)
    w, s, c = below[begin[1] - 1, 0], below[begin[1] - 1, 1], below[begin[1] - 1, 2]
    one, two = np.empty(begin[p]), np.empty(begin[p])
    for j in range(begin[p]):
        one[j] = gain(law, below[j, 1], below[j, 0], tiny)
        two[j] = gain(law, s - below[j, 1], w - below[j, 0], tiny)
    alone = gain(law, s, w, tiny)
    counted = least > 1.0
    terms = least if counted else 0.0, price, law, tiny
    left, right = one.copy(), two.copy()  # gains of one leaf on either side
    split_twice(below, begin, c, terms, one, two)
    rare = rarer_rank(dense, many)
    own, added_to = entries_by_row(dense, begin, rare)
    added, within = np.empty((3, begin[p])), np.empty((3, begin[p]))
    whole = np.empty((3, begin[p]))
    for j in range(begin[p]):
        for k in range(3):
            whole[k, j] = below[j, k]
    for f in range(p - 1):
        if many[f] < 2:
            continue
        order, at, after = by_rank(dense[f], many[f])[0], 0, begin[f + 1]
        added[:, after:] = 0.0
        for i in range(begin[f], begin[f + 1] - 1):
            while dense[f, order[at]] == i - begin[f]:
                row = rows[order[at]]
                mw, ms, mc = moments[0, row], moments[1, row], moments[2, row]
                for e in range(own[order[at]], own[order[at] + 1]):
                    j = added_to[e]
                    added[0, j] += mw
                    added[1, j] += ms
                    if counted:
                        added[2, j] += mc
                at += 1
            accumulate_ranks(added, below[i], f, begin, rare, counted, within)
            left_best, right_best = of_pairs(within, whole, below[i], (w, s, c), after, terms, one, two)
            one[i], two[i] = max(one[i], left_best), max(two[i], right_best)
    cuts = below, begin, given
    return best_root(alone, cuts, (c, least, leaves), price, (left, right), (one, two), totals)


def rarer_rank(dense, many):
    """Return int64 (columns,): for a column of two ranks or less the rank that fewer rows have, 1 if there is only
    one; -1 for all others."""
    p, n = dense.shape
    rare = np.full(p, -1, np.int64)
    for g in range(p):
        if many[g] <= 2:
            high = 0
            for i in range(n):
                high += dense[g, i]
            rare[g] = 1 if 2 * high <= n else 0
    return rare


def entries_by_row(dense, begin, rare):
    """Return (int64 (rows + 1,), where the entries of each row begin; int64 (entries,), the ranks that it is added
    to)."""
    p, n = dense.shape
    own = np.zeros(n + 1, np.int64)
    for g in range(p):
        for i in range(n):
            if rare[g] < 0 or dense[g, i] == rare[g]:
                own[i + 1] += 1
    for i in range(n):
        own[i + 1] += own[i]
    place, ranks = own[:n].copy(), np.empty(own[n], np.int64)
    for g in range(p):
        for i in range(n):
            if rare[g] < 0 or dense[g, i] == rare[g]:
                ranks[place[i]] = begin[g] + dense[g, i]
                place[i] += 1
    return own, ranks


def of_pairs(within, whole, side, every, after, terms, one, two):
    """Return (best gain of a split below the left side of a cut, and below its right side), over the splits from
    `after` on. `one` and `two` are updated by the gains of the cut below the left and right sides of these splits.

    Parameters
    ----------
    within, whole : float64 (3, ranks): W, S and rows of at most each rank, left of the cut and in all
    side, every : three floats: the same of the left side, and of all rows
    terms : (rows that a leaf must have or 0, price, law, tiny)
    """
    least, price, law, tiny = terms
    lw, ls, lc = side[0], side[1], side[2]
    rw, rs, rc = every[0] - lw, every[1] - ls, every[2] - lc
    left, right = -np.inf, -np.inf
    for j in range(after, within.shape[1]):
        aw, a = within[0, j], within[1, j]
        bw, b = whole[0, j] - aw, whole[1, j] - a
        both, first = gain(law, a, aw, tiny), gain(law, ls - a, lw - aw, tiny)
        second, none = gain(law, b, bw, tiny), gain(law, rs - b, rw - bw, tiny)
        if least > 0.0:
            ac = within[2, j]
            bc = whole[2, j] - ac
            both = both if ac >= least else -np.inf
            first = first if lc - ac >= least else -np.inf
            second = second if bc >= least else -np.inf
            none = none if rc - bc >= least else -np.inf
        left = max(left, both + first - price)
        right = max(right, second + none - price)
        one[j] = max(one[j], both + second - price)
        two[j] = max(two[j], first + none - price)
    return left, right


def sums_below(dense, begin, moments, rows):
    """Return float64 (ranks of all columns, 3): the moments of the rows of at most each rank; ranks have no gaps."""
    p, n = dense.shape
    below = np.zeros((begin[p], 3))
    for g in range(p):
        for i in range(n):
            for k in range(3):
                below[begin[g] + dense[g, i], k] += moments[k, rows[i]]
        for j in range(begin[g] + 1, begin[g + 1]):
            for k in range(3):
                below[j, k] += below[j - 1, k]
    return below
