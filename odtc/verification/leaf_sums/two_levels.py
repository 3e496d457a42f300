"""Costs of every root of a tree of one or two levels on some rows, as a kernel.

For each pair of columns the rows are added by rising rank of the first, and at each of its cuts the sums of the four
parts are computed that it makes with a cut of either column. Sums are whole numbers, so only the cost of a part is
rounded. For columns of two ranks, of which there are many in categorical data, only the rows of the rarer rank are
added, for all such columns at once; the sums of the others follow by subtraction. Nothing of the search is used.
"""

import math

import numpy as np

from odtc.base.kernels import kernel

SQUARE, LIKELIHOOD, CHEAPEST = 0, 1, 2


def part_gain(law, unit, a, b):
    """Return how much less a leaf with these sums costs than the cost of its rows before any gain.

    The law decides what the sums are: w and w y, where the cost before is Σ w y²; the hazard in units 1/unit and the
    events, where it is the events; or the cost of one label above a second and above a third one.
    """
    if law == 0:
        return float(b) * float(b) / a if a > 0 else 0.0
    if law == 1:
        return b * math.log(b * unit / a) if b > 0 and a > 0 else 0.0
    return float(max(0, a, b))


def sums_of_cuts(dense, begin, own):
    """Return (int64 (2, cuts), int64 (cuts,)): the sums and the number of the rows on the left of each cut."""
    sums, many = np.zeros((2, begin[-1]), np.int64), np.zeros(begin[-1], np.int64)
    for g in range(len(begin) - 1):
        for i in range(own.shape[1]):
            sums[0, begin[g] + dense[g, i]] += own[0, i]
            sums[1, begin[g] + dense[g, i]] += own[1, i]
            many[begin[g] + dense[g, i]] += 1
        for j in range(begin[g] + 1, begin[g + 1]):
            sums[0, j] += sums[0, j - 1]
            sums[1, j] += sums[1, j - 1]
            many[j] += many[j - 1]
    return sums, many


def split_twice(cuts, terms, sides):
    """Raise the gains of the sides of each cut to those of trees that split once more on the same column; at first they
    are of one leaf. The arguments are as for `cross_pairs_of_ranks`."""
    (begin, sums, many, (_, _, n)), (law, unit, least, price), (one, two) = cuts, terms, sides
    alone, other = one.copy(), two.copy()
    for g in range(len(begin) - 1):
        for i in range(begin[g], begin[g + 1] - 1):
            for j in range(i + 1, begin[g + 1] - 1):
                if many[j] - many[i] < least:
                    continue
                middle = part_gain(law, unit, sums[0, j] - sums[0, i], sums[1, j] - sums[1, i]) - price
                if many[i] >= least:
                    one[j] = max(one[j], alone[i] + middle)
                if n - many[j] >= least:
                    two[i] = max(two[i], middle + other[j])


def first_of_ranks(ranks, wide, order):
    """Write the rows of a column to `order` by rising rank; return where the rows of each of its `wide` ranks begin,
    int64 (wide + 1,)."""
    first = np.zeros(wide + 1, np.int64)
    for i in range(len(ranks)):
        first[ranks[i] + 1] += 1
    for u in range(wide):
        first[u + 1] += first[u]
    place = first.copy()
    for i in range(len(ranks)):
        order[place[ranks[i]]] = i
        place[ranks[i]] += 1
    return first


def cross_pairs_of_ranks(f, rare, by_rank, few, cuts, terms, sides):
    """Raise the gains of the sides of the cuts of column f, and of the cuts of the columns of two ranks behind it, to
    those of trees with one cut of each.

    Parameters
    ----------
    rare : as `rarer_sides` returns
    by_rank : (sums of each row, rows by rising rank of f, where those of each rank begin)
    few : int64 (3, columns), becomes the sums of the rows of the rarer rank at most at a cut
    cuts : (where the cuts of each column begin; as `sums_of_cuts` returns; the two sums and the number of all rows)
    terms : (law, unit, rows that each leaf must have, price)
    sides : float64 (cuts,) twice, the gains of the trees left and right of each cut
    """
    (rarer, starts, beside), (own, order, first), (begin, sums, many, every) = rare, by_rank, cuts
    (one, two), (law, unit, least, price) = sides, terms
    few[:] = 0
    for u in range(len(first) - 2):
        for at in range(first[u], first[u + 1]):
            row = order[at]
            for e in range(starts[row], starts[row + 1]):
                few[0, beside[e]] += own[0, row]
                few[1, beside[e]] += own[1, row]
                few[2, beside[e]] += 1
        i, left, right = begin[f] + u, -np.inf, -np.inf
        side = sums[0, i], sums[1, i], many[i]
        for g in range(f + 1, len(rarer)):
            if rarer[g] < 0:
                continue
            j, part = begin[g], (few[0, g], few[1, g], few[2, g])
            if rarer[g] == 1:
                part = side[0] - part[0], side[1] - part[1], side[2] - part[2]
            both, over, below, none = four_gains(law, unit, least, part, side, (sums[0, j], sums[1, j], many[j]), every)
            left, right = max(left, both + over), max(right, below + none)
            one[j] = max(one[j], both + below - price)
            two[j] = max(two[j], over + none - price)
        one[i], two[i] = max(one[i], left - price), max(two[i], right - price)


def cross_columns(f, g, ranks, by_rank, held, cuts, terms, sides):
    """Do the same for the cuts of column f and of one column g of more ranks, `ranks` int64 (rows,). `held`, int64 (3,
    ranks), becomes the sums of the rows of each rank of g at most at a cut of f."""
    (own, order, first), (begin, sums, many, every) = by_rank, cuts
    (one, two), (law, unit, least, price) = sides, terms
    held[:, : begin[g + 1] - begin[g]] = 0
    for u in range(len(first) - 2):
        for at in range(first[u], first[u + 1]):
            row = order[at]
            v = ranks[row]
            held[0, v] += own[0, row]
            held[1, v] += own[1, row]
            if least > 1:
                held[2, v] += 1
        i, a, b, c, left, right = begin[f] + u, 0, 0, 0, -np.inf, -np.inf
        side = sums[0, i], sums[1, i], many[i]
        for v in range(begin[g + 1] - begin[g] - 1):
            j = begin[g] + v
            a, b, c = a + held[0, v], b + held[1, v], c + held[2, v]
            both, over, below, none = four_gains(
                law, unit, least, (a, b, c), side, (sums[0, j], sums[1, j], many[j]), every
            )
            left, right = max(left, both + over), max(right, below + none)
            one[j] = max(one[j], both + below - price)
            two[j] = max(two[j], over + none - price)
        one[i], two[i] = max(one[i], left - price), max(two[i], right - price)


@kernel
def root_costs(rank, moments, rows, told, laws, price, least, leaves):
    """Return (column, cut, cost) of each cut whose sides have enough rows, as arrays, with the best tree of at most
    one split on either side.

    Parameters
    ----------
    rank : int64 (all rows, columns), from 0
    moments : int64 (at least 2, all rows)
    rows : int64 (rows,)
    told : float, the cost of the rows before any gain
    laws : (int, float), the law and the unit of `part_gain`
    price : float, of a branch node
    least : int, rows that each leaf must have
    leaves : int, 2 if both sides must be leaves, 3 if one side must be, otherwise 0
    """
    n, p, (law, unit) = len(rows), rank.shape[1], laws
    dense, begin, given = dense_ranks(rank, rows)
    column, one, two = np.empty(begin[p], np.int64), np.empty(begin[p]), np.empty(begin[p])
    own, order = np.empty((2, n), np.int64), np.empty(n, np.int64)
    for i in range(n):
        own[0, i], own[1, i] = moments[0, rows[i]], moments[1, rows[i]]
    w, s = own[0].sum(), own[1].sum()
    sums, many = sums_of_cuts(dense, begin, own)
    for g in range(p):
        for j in range(begin[g], begin[g + 1]):
            column[j] = g
            one[j] = part_gain(law, unit, sums[0, j], sums[1, j])
            two[j] = part_gain(law, unit, w - sums[0, j], s - sums[1, j])
    allowed = np.minimum(many, n - many) >= least
    if leaves == 2:
        return column[allowed], given[: begin[p]][allowed], told - (one + two)[allowed] + price
    alone, other = one.copy(), two.copy()
    cuts, terms, sides = (begin, sums, many, (w, s, n)), (law, unit, least, price), (one, two)
    split_twice(cuts, terms, sides)
    few, held = np.zeros((3, p), np.int64), np.zeros((3, n), np.int64)
    rarer, starts, beside = rarer_sides(dense, begin)
    for f in range(p):
        by_rank = own, order, first_of_ranks(dense[f], begin[f + 1] - begin[f], order)
        cross_pairs_of_ranks(f, (rarer, starts, beside), by_rank, few, cuts, terms, sides)
        for g in range(f + 1, p):
            if begin[g + 1] - begin[g] > 2:
                cross_columns(f, g, dense[g], by_rank, held, cuts, terms, sides)
    gains = one + two
    if leaves > 0:
        gains = np.maximum(one + other, alone + two)
    return column[allowed], given[: begin[p]][allowed], told - gains[allowed] + price


@kernel
def least_cost(rank, moments, rows, told, laws, price, least, leaves):
    """Return the least of these costs, and of a leaf of all rows."""
    w = s = 0
    for row in rows:
        w += moments[0, row]
        s += moments[1, row]
    found = told - part_gain(laws[0], laws[1], w, s)
    for cost in root_costs(rank, moments, rows, told, laws, price, least, leaves)[2]:
        found = min(found, cost)
    return found


def four_gains(law, unit, least, both, first, second, every):
    """Return the gains of the four parts that two cuts make, -inf for fewer rows than a leaf must have: at most at
    both cuts, at the first only, at the second only, at none; from three sums (those of `part_gain`, and the number
    of rows) of the rows at most at both cuts, at the first one, at the second one, and of all."""
    (a, b, c), (wf, sf, nf), (wg, sg, ng), (w, s, n) = both, first, second, every
    of_both, of_first = part_gain(law, unit, a, b), part_gain(law, unit, wf - a, sf - b)
    of_second, of_none = part_gain(law, unit, wg - a, sg - b), part_gain(law, unit, w - wf - wg + a, s - sf - sg + b)
    if least > 1:
        of_both, of_first = of_both if c >= least else -np.inf, of_first if nf - c >= least else -np.inf
        of_second = of_second if ng - c >= least else -np.inf
        of_none = of_none if n - nf - ng + c >= least else -np.inf
    return of_both, of_first, of_second, of_none


def rarer_sides(dense, begin):
    """Return (int64 (columns,), the rarer rank of columns of two ranks; int64 (rows + 1,), where the columns in which
    a row has this rank begin; int64 (entries,), these columns)."""
    p, n = dense.shape
    rarer, starts = np.full(p, -1, np.int64), np.zeros(n + 1, np.int64)
    for g in range(p):
        if begin[g + 1] - begin[g] == 2:
            rarer[g] = 1 if 2 * dense[g].sum() <= n else 0
            for i in range(n):
                starts[i + 1] += dense[g, i] == rarer[g]
    for i in range(n):
        starts[i + 1] += starts[i]
    place, columns = starts[:n].copy(), np.empty(starts[n], np.int64)
    for g in range(p):
        if rarer[g] >= 0:
            for i in range(n):
                if dense[g, i] == rarer[g]:
                    columns[place[i]] = g
                    place[i] += 1
    return rarer, starts, columns


def dense_ranks(rank, rows):
    """Return (int64 (columns, rows), ranks without gaps; where those of each column begin; original ranks)."""
    n, p = len(rows), rank.shape[1]
    most = 0
    for i in range(n):
        for g in range(p):
            most = max(most, rank[rows[i], g])
    dense, begin = np.empty((p, n), np.int64), np.zeros(p + 1, np.int64)
    given, number = np.empty(p * min(n, most + 1), np.int64), np.empty(most + 1, np.int64)
    for g in range(p):
        number[:] = -1
        for i in range(n):
            number[rank[rows[i], g]] = 0
        at = begin[g]
        for v in range(most + 1):
            if number[v] == 0:
                number[v], given[at] = at - begin[g], v
                at += 1
        begin[g + 1] = at
        for i in range(n):
            dense[g, i] = number[rank[rows[i], g]]
    return dense, begin, given
