"""The best subtrees of depth 2 over ordered tests, for all subsets of columns: rows moved from bucket to bucket.

Tests of one scale are nested: a row answers 1 to as many of them as its code says. Below one root answer the tests g of
a scale are swept in order; the rows that g sends to 0 are moved into buckets by every other scale, and one scan of the
buckets gives all stumps below both answers of g. Codes that no row of the side has are left out, so a side of few rows
takes little time. numba compiles these loops; numpy does the same at first, and where numba is not installed
(threshold_numpy), a few times slower.
"""

from functools import cache

import numpy as np

from odtc.algorithms.constrained import threshold_numpy
from odtc.algorithms.thresholds import compile_apart
from odtc.base.compiled_loops import Repaid, compile_loops


@cache
def compiled():
    """The compiled function `subtrees`. Raises ImportError without numba."""
    return compile_loops(("subtrees",), dict(globals()))


# Compiled in five seconds, they take a fifth of the time.
COMPILED = Repaid(compiled, 6.0, compile_apart.once_it_pays(compile_apart.SUBTREES, compiled))


def best_subtrees(*given) -> None:
    """`subtrees`, compiled once that pays; its arguments are those of `subtrees`."""
    COMPILED.run(threshold_numpy.subtrees, *given)


def subtrees(codes, rows, delta, copies, shape, leaf, column, start, member, columns, out, where):
    """The least weighted cost of a subtree of depth 2 over each subset of columns, relative to label 0; two labels.

    Parameters
    ----------
    codes : int32 (scales, rows of the data)
    rows : int64 (rows of this side,)
    delta : float64 (rows of the data,)
        What label 1 costs more than label 0.
    copies : int64 (rows of the data,)
    shape : float64 (2,)
        (rows that a leaf must have, price of a branch node).
    leaf : float64 (2,)
        What a leaf of each label costs beside its rows.
    column : int64 (scales,)
    start, member : int64
        The subsets that hold column c are member[start[c] : start[c + 1]].
    columns : int64 (subsets, k)
        The columns of each subset.
    out : float64 (subsets,)
        Written.
    where : int64 (subsets, 2)
        Written: the first test of the best subtree, as its scale and its place there; -1 if it is a leaf.
    """
    least, price = shape[0], shape[1]
    S, n = codes.shape[0], len(rows)
    # Codes of these rows, renumbered without gaps; `first` is where the buckets of a scale begin.
    code = np.empty((n, S), np.int32)
    first = np.zeros(S + 1, np.int64)
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
            code[i, b] = place[codes[b, rows[i]]]
        first[b + 1] = first[b] + used
    total_sum, total_count = np.zeros(first[S]), np.zeros(first[S])
    every, held = 0.0, 0.0
    for i in range(n):
        row = rows[i]
        every += delta[row]
        held += copies[row]
        for b in range(S):
            total_sum[first[b] + code[i, b]] += delta[row]
            total_count[first[b] + code[i, b]] += copies[row]
    alone = min(leaf[0], every + leaf[1]) if held >= least else np.inf
    for s in range(len(out)):
        out[s] = alone
        where[s, 0], where[s, 1] = -1, -1
    n_columns = len(start) - 1
    best = np.empty((2, n_columns))
    for a in range(S):
        buckets = first[a + 1] - first[a]
        if buckets < 2:
            continue
        order = np.argsort(code[:, a])
        zero_sum, zero_count = np.zeros(first[S]), np.zeros(first[S])
        left_sum, left_count, at = 0.0, 0.0, 0
        for k in range(buckets - 1):
            while at < n and code[order[at], a] == k:
                i = order[at]
                row = rows[i]
                left_sum += delta[row]
                left_count += copies[row]
                for b in range(S):
                    zero_sum[first[b] + code[i, b]] += delta[row]
                    zero_count[first[b] + code[i, b]] += copies[row]
                at += 1
            right_sum, right_count = every - left_sum, held - left_count
            if left_count < least or right_count < least:
                continue
            for c in range(n_columns):
                best[0, c] = min(leaf[0], left_sum + leaf[1])
                best[1, c] = min(leaf[0], right_sum + leaf[1])
            for b in range(S):
                c = column[b]
                one, two = best[0, c], best[1, c]
                s0, c0, s1, c1 = 0.0, 0.0, 0.0, 0.0
                for v in range(first[b], first[b + 1] - 1):
                    s0 += zero_sum[v]
                    c0 += zero_count[v]
                    s1 += total_sum[v] - zero_sum[v]
                    c1 += total_count[v] - zero_count[v]
                    if c0 >= least and left_count - c0 >= least:
                        one = min(one, price + min(leaf[0], s0 + leaf[1]) + min(leaf[0], left_sum - s0 + leaf[1]))
                    if c1 >= least and right_count - c1 >= least:
                        two = min(two, price + min(leaf[0], s1 + leaf[1]) + min(leaf[0], right_sum - s1 + leaf[1]))
                best[0, c], best[1, c] = one, two
            for place in range(start[column[a]], start[column[a] + 1]):
                s = member[place]
                one, two = np.inf, np.inf
                for j in range(columns.shape[1]):
                    one = min(one, best[0, columns[s, j]])
                    two = min(two, best[1, columns[s, j]])
                if price + one + two < out[s]:
                    out[s] = price + one + two
                    where[s, 0], where[s, 1] = a, codes[a, rows[order[at - 1]]]
