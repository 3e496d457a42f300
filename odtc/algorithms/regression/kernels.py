"""The best regression trees of one and of two tests on a set of rows.

With W, S and Q the sums of w, w y and w y² over the rows of a leaf, its squared error is Q - S²/W. The sum of Q over
the leaves is the same for all trees, so a tree of least error has the greatest gain Σ S²/W - price · branch nodes.

    depth two: for each column f, rows move from right to left in the order of f; at each cut the sums of both sides by
    rank of every column g stand ready, and one look at all ranks finds the best test on either side

Two levels are plain loops, compiled by numba if it is installed (`compiled`): the same numbers with and without.
"""

import importlib.util
import os
from functools import cache

import numpy as np


def dense_ranks(code, size, rows):
    """(ranks int64 (columns, rows) from 0 without gaps, int64 (columns,) how many, the given rank of each)."""
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
    """int64 (rows,): the places of rows by rising rank."""
    begin = np.zeros(many + 1, np.int64)
    for i in range(len(rank)):
        begin[rank[i] + 1] += 1
    for v in range(many):
        begin[v + 1] += begin[v]
    order = np.empty(len(rank), np.int64)
    for i in range(len(rank)):
        order[begin[rank[i]]] = i
        begin[rank[i]] += 1
    return order


def square(s, w):
    """s²/w, 0 without weight."""
    return s * s / w if w > 0.0 else 0.0


def depth_one(code, size, moments, rows, least, price):
    """(gain, column, cut): the best test, column -1 for a leaf; in numpy.

    Parameters
    ----------
    code : integers (columns, all rows), ranks; a cut c sends ranks of at most c to the left
    size : int64 (columns,), ranks of each column
    moments : float64 (3, all rows): weight, weight · y, rows of the data
    rows : int64 (rows,), the rows that are meant
    least : float, rows of the data that each leaf must have
    price : float, of a branch node
    """
    w, s, c = moments[:, rows].sum(axis=1)
    best, column, cut = square(s, w), -1, -1
    for g in range(len(size)):
        rank = code[g, rows]
        lw, ls, lc = (np.bincount(rank, moments[k, rows], size[g]).cumsum()[:-1] for k in range(3))
        rw, rs = w - lw, s - ls
        parted = np.flatnonzero((lc >= least) & (c - lc >= least) & (lw > 0) & (rw > 0))
        if len(parted):
            gain = ls[parted] ** 2 / lw[parted] + rs[parted] ** 2 / rw[parted] - price
            if gain.max() > best:
                best, column, cut = float(gain.max()), g, int(parted[gain.argmax()])
    return best, column, cut


def depth_two(code, size, moments, rows, least, price):
    """(gain, column, cut) of the root of the best tree of two levels, column -1 for a leaf; of the arguments of
    `depth_one`."""
    dense, many, given = dense_ranks(code, size, rows)
    p, n = len(size), len(rows)
    begin = np.zeros(p + 1, np.int64)
    for g in range(p):
        begin[g + 1] = begin[g] + many[g]
    total = np.zeros((begin[p], 3))
    w = s = c = 0.0
    for i in range(n):
        w += moments[0, rows[i]]
        s += moments[1, rows[i]]
        c += moments[2, rows[i]]
        for g in range(p):
            for k in range(3):
                total[begin[g] + dense[g, i], k] += moments[k, rows[i]]
    best, column, cut = square(s, w), -1, -1
    left = np.empty((begin[p], 3))
    for f in range(p):
        if many[f] < 2:
            continue
        order = by_rank(dense[f], many[f])
        left[:] = 0.0
        lw = ls = lc = 0.0
        for at in range(n):
            i = order[at]
            row = rows[i]
            for g in range(p):
                j = begin[g] + dense[g, i]
                left[j, 0] += moments[0, row]
                left[j, 1] += moments[1, row]
                left[j, 2] += moments[2, row]
            lw += moments[0, row]
            ls += moments[1, row]
            lc += moments[2, row]
            if at == n - 1 or dense[f, order[at + 1]] == dense[f, i]:
                continue
            if lc < least or c - lc < least:
                continue
            rw, rs, rc = w - lw, s - ls, c - lc
            one, two = square(ls, lw), square(rs, rw)
            for g in range(p):
                aw = a = ac = bw = b = bc = 0.0
                for j in range(begin[g], begin[g + 1] - 1):
                    aw += left[j, 0]
                    a += left[j, 1]
                    ac += left[j, 2]
                    bw += total[j, 0] - left[j, 0]
                    b += total[j, 1] - left[j, 1]
                    bc += total[j, 2] - left[j, 2]
                    if ac >= least and lc - ac >= least and aw > 0.0 and lw - aw > 0.0:
                        gain = a * a / aw + (ls - a) * (ls - a) / (lw - aw) - price
                        one = max(one, gain)
                    if bc >= least and rc - bc >= least and bw > 0.0 and rw - bw > 0.0:
                        gain = b * b / bw + (rs - b) * (rs - b) / (rw - bw) - price
                        two = max(two, gain)
            if one + two - price > best:
                best, column, cut = one + two - price, f, given[f, dense[f, i]]
    return best, column, cut


@cache
def compiled():
    """`depth_two` by numba, which keeps what it has compiled; the plain one if it is not installed."""
    if os.environ.get("ODTC_COMPILED") == "never" or importlib.util.find_spec("numba") is None:
        return depth_two
    import types

    import numba

    among = dict(globals())
    for name in ("dense_ranks", "by_rank", "square", "depth_two"):
        plain = among[name]
        own = types.FunctionType(plain.__code__, among, name, plain.__defaults__)
        own.__module__, own.__qualname__ = plain.__module__, plain.__qualname__
        among[name] = numba.njit(nogil=True)(own)
        try:
            among[name].enable_caching()
        except (RuntimeError, OSError):  # no place can be written: it is compiled in each process
            pass
    return among["depth_two"]
