"""The best subtrees of depth 2 over ordered splits, for all subsets of columns: rows moved from bucket to bucket.

Splits of one scale are nested: the code of a row is the number of splits for which it has outcome 1. Below one root
outcome the splits g of a scale are swept in order; the rows that g sends to 0 are moved into buckets by every other
scale, and one scan of the buckets gives all stumps below both outcomes of g: the two leaves below a split h, with the
sum s of the rows below with outcome 0 for h, and T over all of them, cost

    min(l0, s + l1) + min(l0, T - s + l1) = min(2 l0, T + 2 l1, l0 + l1 + s, l0 + l1 + T - s),

so only the least and the greatest s matter. Codes that no row of the side has are left out, so a side of few rows
takes little time. With W_n the cost of the best subtree whose leaves have at least n rows, rows D that move from the
right to the left of g change the two sides by no more than

    W_n(left + D) ≥ W_m(left) + Σ_D min(0, δ) if D are at most n - m rows, W_n(right - D) ≥ W_n(right) - Σ_D max(0, δ),

because a tree of the greater set is a tree of the smaller set whose leaves lose these rows, and a tree of the smaller
set is a tree of the greater. A scan therefore leaves a margin above the best known cost, and no split is scanned until
the rows that have moved since then outweigh this margin.
"""

import numpy as np

from odtc.base.kernels import kernel


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    codes, rows, one = random.integers(0, 9, (2, 20)).astype(np.int32), np.arange(20), np.arange(1)
    numbers, written = np.ones(20), (np.empty(1), np.empty((1, 2), np.int64))
    both = one.repeat(2)
    subtrees(codes, rows, numbers, rows, numbers[:2], numbers[:2], both, np.arange(2), one, one[None], *written)


def pairs_of_scale(sums, counts, least):
    """Return the least and the greatest sum of the rows with outcome 0 for a second split of the same scale, below
    either outcome of each first split: float64 (2 outcomes, 2, buckets). One pass finds all of them, because the sums
    of a scale are differences of sums over its first buckets.

    Parameters
    ----------
    sums, counts : float64 (buckets,)
        Over the rows of the buckets up to each.
    least : float
        The rows that a leaf must have.
    """
    buckets = len(sums)
    found = np.empty((2, 2, buckets))
    found[:, 0], found[:, 1] = np.inf, -np.inf
    low, high, v = np.inf, -np.inf, 0
    for k in range(buckets):
        while v <= k and counts[k] - counts[v] >= least:
            if counts[v] >= least:
                low, high = min(low, sums[v]), max(high, sums[v])
            v += 1
        found[0, 0, k], found[0, 1, k] = low, high
    low, high, v = np.inf, -np.inf, buckets - 1
    for k in range(buckets - 2, -1, -1):
        while v > k and counts[v - 1] - counts[k] >= least:
            v -= 1
            if counts[buckets - 1] - counts[v] >= least:
                low, high = min(low, sums[v]), max(high, sums[v])
        found[1, 0, k], found[1, 1, k] = low - sums[k], high - sums[k]
    return found


@kernel
def subtrees(codes, rows, delta, copies, shape, leaf, column, start, member, columns, out, where):
    """Compute the least weighted cost of a subtree of depth 2 over each subset of columns, relative to label 0; two
    labels.

    Parameters
    ----------
    codes : int32 (scales, rows of the data)
    rows : int64 (rows of this side,)
    delta : float64 (rows of the data,)
        The additional cost of label 1 compared with label 0.
    copies : int64 (rows of the data,)
    shape : float64 (2,)
        (rows that a leaf must have, penalty of a branch node).
    leaf : float64 (2,)
        The cost of a leaf of each label in addition to its rows.
    column : int64 (scales,)
    start, member : int64
        The subsets that contain column c are member[start[c] : start[c + 1]].
    columns : int64 (subsets, k)
        The columns of each subset.
    out : float64 (subsets,)
        Written.
    where : int64 (subsets, 2)
        Written: the first split of the best subtree, as its scale and its position there; -1 if it is a leaf.
    """
    least, price = shape[0], shape[1]
    S, n = codes.shape[0], len(rows)
    # Codes of these rows, renumbered without gaps, scale behind scale; `first` is where the buckets of a scale begin.
    code = np.empty((n, S), np.int32)
    first = np.zeros(S + 1, np.int64)
    widest = 0
    for b in range(S):
        most = 0
        for i in range(n):
            most = max(most, codes[b, rows[i]])
        place = np.zeros(most + 1, np.int32)
        for i in range(n):
            place[codes[b, rows[i]]] = 1
        used = 0
        for k in range(most + 1):
            if place[k]:
                place[k] = used
                used += 1
        for i in range(n):
            code[i, b] = first[b] + place[codes[b, rows[i]]]
        first[b + 1] = first[b] + used
        widest = max(widest, used)
    # The buckets of each row but the first of a scale: sums over that one are never needed, and a row has few others if
    # most scales are levels of columns.
    upper, until = np.empty(n * S, np.int32), np.zeros(n + 1, np.int64)
    for i in range(n):
        until[i + 1] = until[i]
        for b in range(S):
            if code[i, b] > first[b]:
                upper[until[i + 1]] = code[i, b]
                until[i + 1] += 1
    total_sum, total_count = np.zeros(first[S]), np.zeros(first[S])
    every, held = 0.0, 0.0
    for i in range(n):
        term, copy = delta[rows[i]], copies[rows[i]]
        every += term
        held += copy
        for b in range(S):
            total_sum[code[i, b]] += term
            total_count[code[i, b]] += copy
    alone = min(leaf[0], every + leaf[1]) if held >= least else np.inf
    for s in range(len(out)):
        out[s] = alone
        where[s, 0], where[s, 1] = -1, -1
    n_columns = len(start) - 1
    best = np.empty((3, n_columns))
    order, begin = np.empty(n, np.int64), np.empty(widest + 1, np.int64)
    zero_sum, zero_count = np.empty(first[S]), np.empty(first[S])
    either, alike = leaf[0] + leaf[1], 2.0 * leaf[0]
    # Best subtrees of both sides by the column of their first split, and of the left side with leaves of half the rows.
    half = np.floor(least / 2.0)
    spare = least - half if least > 0.0 else np.inf
    for a in range(S):
        buckets = first[a + 1] - first[a]
        if buckets < 2:
            continue
        # The rows in the order of their codes; begin[k] becomes the position behind the rows of bucket k.
        begin[: buckets + 1] = 0
        for i in range(n):
            begin[code[i, a] - first[a] + 1] += 1
        for k in range(buckets):
            begin[k + 1] += begin[k]
        for i in range(n):
            k = code[i, a] - first[a]
            order[begin[k]] = i
            begin[k] += 1
        own = np.cumsum(total_sum[first[a] : first[a + 1]]), np.cumsum(total_count[first[a] : first[a + 1]])
        twice, twice_half = pairs_of_scale(*own, least), pairs_of_scale(*own, half)
        zero_sum[:] = 0.0
        zero_count[:] = 0.0
        left_sum, left_count, at, slack, room = 0.0, 0.0, 0, -1.0, 0.0
        # For a single split the side with fewer rows is added.
        behind = 1 if buckets == 2 and begin[0] > n - begin[0] else 0
        if behind:
            at = begin[0]
        for k in range(buckets - 1):
            while at < begin[k + behind]:
                i = order[at]
                term, copy = delta[rows[i]], copies[rows[i]]
                left_sum += term
                left_count += copy
                slack -= abs(term)
                room -= copy
                for nonzero in range(until[i], until[i + 1]):
                    zero_sum[upper[nonzero]] += term
                    zero_count[upper[nonzero]] += copy
                at += 1
            if behind:
                at = begin[0]
                left_sum, left_count = every - left_sum, held - left_count
                for v in range(first[S]):
                    zero_sum[v] = total_sum[v] - zero_sum[v]
                    zero_count[v] = total_count[v] - zero_count[v]
            right_sum, right_count = every - left_sum, held - left_count
            if right_count < least:
                break
            if (slack >= 0.0 and room >= 0.0) or left_count < least:
                continue
            for c in range(n_columns):
                best[0, c] = best[2, c] = min(leaf[0], left_sum + leaf[1])
                best[1, c] = min(leaf[0], right_sum + leaf[1])
            for b in range(S):
                s0, c0, s1, c1 = 0.0, 0.0, 0.0, 0.0
                low0, high0, low1, high1 = np.inf, -np.inf, np.inf, -np.inf
                any0, most0 = np.inf, -np.inf
                if b == a:
                    low0, high0, low1, high1 = twice[0, 0, k], twice[0, 1, k], twice[1, 0, k], twice[1, 1, k]
                    any0, most0 = twice_half[0, 0, k], twice_half[0, 1, k]
                for v in range(first[b + 1] - 1, first[b + 1] if b == a else first[b], -1):
                    s0 += zero_sum[v]
                    c0 += zero_count[v]
                    s1 += total_sum[v] - zero_sum[v]
                    c1 += total_count[v] - zero_count[v]
                    if c0 >= half and left_count - c0 >= half:
                        any0, most0 = min(any0, s0), max(most0, s0)
                    if c0 >= least and left_count - c0 >= least:
                        low0, high0 = min(low0, s0), max(high0, s0)
                    if c1 >= least and right_count - c1 >= least:
                        low1, high1 = min(low1, s1), max(high1, s1)
                c = column[b]
                two0, two1 = min(alike, left_sum + 2.0 * leaf[1]), min(alike, right_sum + 2.0 * leaf[1])
                if most0 >= any0:
                    best[2, c] = min(best[2, c], price + min(two0, either + min(any0, left_sum - most0)))
                if high0 >= low0:
                    best[0, c] = min(best[0, c], price + min(two0, either + min(low0, left_sum - high0)))
                if high1 >= low1:
                    best[1, c] = min(best[1, c], price + min(two1, either + min(low1, right_sum - high1)))
            slack = np.inf
            for at_subset in range(start[column[a]], start[column[a] + 1]):
                s = member[at_subset]
                one, two, any_one = np.inf, np.inf, np.inf
                for j in range(columns.shape[1]):
                    c = columns[s, j]
                    one = min(one, best[0, c])
                    two = min(two, best[1, c])
                    any_one = min(any_one, best[2, c])
                if price + one + two < out[s]:
                    out[s] = price + one + two
                    where[s, 0], where[s, 1] = a, codes[a, rows[order[at - 1]]]
                slack = min(slack, price + any_one + two - out[s])
            room = spare
