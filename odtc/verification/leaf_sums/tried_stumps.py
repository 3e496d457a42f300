"""A state whose tried cuts have sides of one level, bounded at once, as plain loops that numba compiles.

The rows are sorted by each column once. For a tried cut they are taken in that order, each to the sums of its side, and
whenever the rank changes on a side these are the sums of a cut of it. Sums are whole numbers, as in
odtc.verification.leaf_sums.tried_cuts. Nothing of the search is used.
"""

import numpy as np

from odtc.base.kernels import kernel
from odtc.verification.leaf_sums.two_levels import part_gain

PART = 36  # bits of the lower part of the cost of a row before any gain


@kernel
def stump_costs(table, rows, by_rank, tried, span, terms, found):
    """Fill `found`, float64 (cuts, 2), for the cuts from `span`[0] to before `span`[1]: lower bounds on the costs of
    the sides beyond their floors, or 0 for a side without a bound. Returns False if a cut leaves a side without
    rows.

    Parameters
    ----------
    table, rows, tried, span, terms, found : as in `tried_cuts.side_costs`
    by_rank : (int32 (columns, rows), positions in `rows` by rising rank of each column; int32, these ranks; int64
        (rows, 2), the first two moments of `rows`), so that memory is read in order
    """
    rank, _, told, floors = table
    order, ranks, moments = by_rank
    law, unit, price, off, floor_unit = terms
    n = len(rows)
    side = np.empty(n, np.uint8)
    whole, own, parts = np.empty((2, 2), np.int64), np.empty((2, 2), np.int64), np.empty((2, 4), np.int64)
    last, best = np.empty(2, np.int64), np.empty(2)
    for t in range(span[0], span[1]):
        whole[:], parts[:] = 0, 0
        for i in range(n):
            row = rows[i]
            k = 0 if rank[row, tried[t, 0]] <= tried[t, 1] else 1
            side[i] = k
            whole[k, 0] += moments[i, 0]
            whole[k, 1] += moments[i, 1]
            parts[k, 0] += told[0, row]
            parts[k, 1] += told[1, row]
            parts[k, 2] += floors[row]
            parts[k, 3] += 1
        if parts[0, 3] == 0 or parts[1, 3] == 0:
            return False
        for k in range(2):
            best[k] = part_gain(law, unit, whole[k, 0], whole[k, 1])
        for g in range(len(order)):
            own[:], last[:] = 0, -1
            for at in range(n):
                i = order[g, at]
                k = side[i]
                if tried[t, 2 + k] == 0:
                    continue
                if ranks[g, at] != last[k]:
                    if last[k] >= 0:
                        w, s = own[k, 0], own[k, 1]
                        both = part_gain(law, unit, w, s) + part_gain(law, unit, whole[k, 0] - w, whole[k, 1] - s)
                        best[k] = max(best[k], both - price)
                    last[k] = ranks[g, at]
                own[k, 0] += moments[i, 0]
                own[k, 1] += moments[i, 1]
        for k in range(2):
            found[t, k] = 0.0
            if tried[t, 2 + k] != 0:
                cost = float(parts[k, 0]) + float(parts[k, 1]) * 2.0**PART - best[k]
                found[t, k] = cost - off - float(parts[k, 2]) * floor_unit
    return True


def sorted_rows(rank: np.ndarray, moments: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `by_rank` of `stump_costs`."""
    own = rank[rows].T
    order = np.argsort(own, axis=1, kind="stable")
    ranks = np.take_along_axis(own, order, axis=1)
    return order.astype(np.int32), ranks.astype(np.int32), np.ascontiguousarray(moments[:2, rows].T)
