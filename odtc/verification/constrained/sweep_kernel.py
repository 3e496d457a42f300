"""Least costs of the subtrees of two levels on some rows, as plain loops that numba compiles.

Splits of one chain are nested: the code of a row is the number of splits, from the first, on whose side 1 it is. At
the root of a subtree the splits of a chain are taken in order. The rows that a split sends to side 0 are added, for
each other chain, to the sums of their codes, and one pass over these sums gives the two leaves of every stump on
either side. Sums are whole numbers in float64. Nothing of the search is used.
"""

import numpy as np

from odtc.base.kernels import kernel


def leaf_of(whole, part, beside, least):
    """Return the least cost of a leaf with the sums `whole` minus `part`, above its rows with label 0; infinite if no
    label is allowed."""
    best, K = np.inf, len(beside)
    for k in range(K):
        may = True
        for h in range(least.shape[0]):
            if whole[K - 1 + h] - part[K - 1 + h] < least[h, k]:
                may = False
        if may:
            best = min(best, beside[k] + (whole[k - 1] - part[k - 1] if k > 0 else 0.0))
    return best


def pairs_of_chain(sums, counts, limit):
    """Return the least and the greatest sum of side 0 of a second split of the same chain, on either side of each first
    split: float64 (2 sides, 2, size). Both are found for all first splits in one pass, because the sums of a chain are
    differences of sums over its first codes.

    Parameters
    ----------
    sums, counts : float64 (size,)
        Over the rows with codes up to each; counts do not decrease, or `limit` is -inf.
    limit : float
        The least count of a leaf.
    """
    size = len(sums)
    found = np.empty((2, 2, size))
    found[:, 0], found[:, 1] = np.inf, -np.inf
    low, high, k = np.inf, -np.inf, 0
    for cut in range(size):
        while k <= cut and counts[cut] - counts[k] >= limit:
            if counts[k] >= limit:
                low, high = min(low, sums[k]), max(high, sums[k])
            k += 1
        found[0, 0, cut], found[0, 1, cut] = low, high
    low, high, k = np.inf, -np.inf, size - 1
    for cut in range(size - 2, -1, -1):
        while k > cut and counts[k - 1] - counts[cut] >= limit:
            k -= 1
            if counts[size - 1] - counts[k] >= limit:
                low, high = min(low, sums[k]), max(high, sums[k])
        found[1, 0, cut], found[1, 1, cut] = low - sums[cut], high - sums[cut]
    return found


@kernel
def two_levels(codes, rows, value, beside, least, price, column, first, second, member, sets, out, each, begin):
    """Write the least cost of a subtree of at most two levels over each set of columns, above label 0 everywhere.

    Parameters
    ----------
    codes : int32 (rows of the problem, chains)
    rows : int64 (rows,)
    value : float64 (rows of the problem, labels - 1 + conditions)
        The cost of each label above label 0, and the amount that each row counts for each condition on leaves.
    beside : float64 (labels,)
        The cost of a leaf in addition to that of its rows.
    least : float64 (conditions, labels)
    price : float
        Of a branch node.
    column : int64 (chains,)
    first : bool (chains,)
        Whether a chain may be at the root of the subtree.
    second : bool (chains, chains)
        [a, b] whether b may be below a there.
    member : bool (sets, columns)
    sets : int64 (sets, width)
        The columns of each set; one may occur twice.
    out : float64 (sets,)
    each : float64 (2, tests)
        The same of the subtree on each side of a split at the root, over the first set; unchanged if it has no splits,
        and where a split separates no rows. Roots for which it is -inf are left out.
    begin : int64 (chains,)
        Where the splits of each chain begin in `each`.
    """
    n, S, V, K = len(rows), codes.shape[1], value.shape[1], len(beside)
    # The codes of these rows without gaps; those of a chain follow those of the chain before.
    code, start = np.empty((n, S), np.int32), np.zeros(S + 1, np.int64)
    given = np.empty((S, n + 1), np.int64)  # the codes that the rows have, in order
    for b in range(S):
        most = 0
        for i in range(n):
            most = max(most, codes[rows[i], b])
        dense = np.full(most + 1, -1, np.int64)
        for i in range(n):
            dense[codes[rows[i], b]] = 0
        used = 0
        for k in range(most + 1):
            if dense[k] == 0:
                dense[k], given[b, used] = used, k
                used += 1
        for i in range(n):
            code[i, b] = start[b] + dense[codes[rows[i], b]]
        start[b + 1] = start[b] + used
    # The codes of each row but the first of a chain: sums over that one are never needed, and a row has few others if
    # most chains are levels of columns.
    upper, until = np.empty(n * S, np.int32), np.zeros(n + 1, np.int64)
    for i in range(n):
        until[i + 1] = until[i]
        for b in range(S):
            if code[i, b] > start[b]:
                upper[until[i + 1]] = code[i, b]
                until[i + 1] += 1
    own, every = np.empty((n, V)), np.zeros(V)
    total, here = np.zeros((start[S], V)), np.zeros((start[S], V))
    for i in range(n):
        for v in range(V):
            own[i, v] = value[rows[i], v]
            every[v] += own[i, v]
        for b in range(S):
            for v in range(V):
                total[code[i, b], v] += own[i, v]
    nothing = np.zeros(V)
    alone = leaf_of(every, nothing, beside, least)
    out[:] = alone
    # Two labels and one number that every leaf counts, or none, are the common case.
    plain = K == 2 and (least.shape[0] == 0 or (least.shape[0] == 1 and least[0, 0] == least[0, 1]))
    limit = least[0, 0] if plain and least.shape[0] == 1 else -np.inf
    counted = 1 if V > 1 else 0  # without a condition the label's own sums are used instead, above a limit of -inf
    quick = plain
    for i in range(n):
        quick = quick and (V == 1 or own[i, 1] >= 0.0)
    C = member.shape[1]
    best = np.empty((2, C))
    low, high, left, right = np.empty(V), np.empty(V), np.empty(V), np.empty(V)
    order = np.empty(n, np.int64)
    for a in range(S):
        size = start[a + 1] - start[a]
        if not first[a] or size < 2:
            continue
        at = np.zeros(size + 1, np.int64)
        for i in range(n):
            at[code[i, a] - start[a] + 1] += 1
        for k in range(size):
            at[k + 1] += at[k]
        mine = np.flatnonzero(member[:, column[a]])
        free = at.copy()
        for i in range(n):
            k = code[i, a] - start[a]
            order[free[k]] = i
            free[k] += 1
        here[:] = 0.0
        left[:] = 0.0
        inside = total[start[a] : start[a + 1]].copy()  # the sums over the codes up to each
        for k in range(1, size):
            for v in range(V):
                inside[k, v] += inside[k - 1, v]
        twice = pairs_of_chain(inside[:, 0], inside[:, counted], limit)
        # For a single split the side with fewer rows is added.
        behind = size == 2 and at[1] > n - at[1]
        for cut in range(size - 1):
            for turn in range(at[cut + behind], at[cut + 1 + behind]):
                i = order[turn]
                for v in range(V):
                    left[v] += own[i, v]
                for nonzero in range(until[i], until[i + 1]):
                    for v in range(V):
                        here[upper[nonzero], v] += own[i, v]
            for v in range(V if behind else 0):
                left[v] = every[v] - left[v]
                for k in range(start[S]):
                    here[k, v] = total[k, v] - here[k, v]
            if each.shape[1] > 0 and each[0, begin[a] + given[a, cut]] == -np.inf:
                continue
            for v in range(V):
                right[v] = every[v] - left[v]
            best[0, :], best[1, :] = leaf_of(left, nothing, beside, least), leaf_of(right, nothing, beside, least)
            for b in range(S):
                if not second[a, b]:
                    continue
                c = column[b]
                one, two = best[0, c], best[1, c]
                if plain:
                    # min(x, p + y) + min(x, P - p + y) is the least of four terms: the least and greatest p matter.
                    p, m, q, u = 0.0, 0.0, 0.0, 0.0
                    P, Q, M, U = left[0], right[0], left[counted], right[counted]
                    low_p, high_p, low_q, high_q = np.inf, -np.inf, np.inf, -np.inf
                    if quick and b == a:
                        low_p, high_p = twice[0, 0, cut], twice[0, 1, cut]
                        low_q, high_q = twice[1, 0, cut], twice[1, 1, cut]
                    for k in range(start[b + 1] - 1, start[b + 1] if quick and b == a else start[b], -1):
                        p += here[k, 0]
                        m += here[k, counted]
                        q += total[k, 0] - here[k, 0]
                        u += total[k, counted] - here[k, counted]
                        if m >= limit and M - m >= limit:
                            low_p, high_p = min(low_p, p), max(high_p, p)
                        if u >= limit and U - u >= limit:
                            low_q, high_q = min(low_q, q), max(high_q, q)
                    x, y = beside[0], beside[1]
                    if low_p <= high_p:
                        one = min(one, price + min(2 * x, P + 2 * y, x + y + min(low_p, P - high_p)))
                    if low_q <= high_q:
                        two = min(two, price + min(2 * x, Q + 2 * y, x + y + min(low_q, Q - high_q)))
                else:
                    low[:] = 0.0
                    high[:] = 0.0
                    for k in range(start[b + 1] - 1, start[b], -1):
                        for v in range(V):
                            low[v] += here[k, v]
                            high[v] += total[k, v] - here[k, v]
                        one = min(
                            one,
                            price + leaf_of(low, nothing, beside, least) + leaf_of(left, low, beside, least),
                        )
                        two = min(
                            two,
                            price + leaf_of(high, nothing, beside, least) + leaf_of(right, high, beside, least),
                        )
                best[0, c], best[1, c] = one, two
            for number in mine:
                one, two = np.inf, np.inf
                for j in range(sets.shape[1]):
                    one, two = min(one, best[0, sets[number, j]]), min(two, best[1, sets[number, j]])
                out[number] = min(out[number], price + one + two)
                if number == 0 and each.shape[1] > 0:
                    for f in range(given[a, cut], given[a, cut + 1]):  # splits that separate the rows in the same way
                        each[0, begin[a] + f], each[1, begin[a] + f] = one, two


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    codes, rows, one = random.integers(0, 9, (20, 1)).astype(np.int32), np.arange(20), np.arange(1)
    may, both = np.ones(1, bool), (np.zeros(2), np.zeros((1, 2)))
    places = (one, may, may[None], may[None], one[None], np.empty(1), np.empty((2, 0)), one)
    two_levels(codes, rows, np.ones((20, 2)), *both, 0.0, *places)
