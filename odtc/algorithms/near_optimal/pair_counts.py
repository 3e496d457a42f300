"""Number of trees of height 2 of a set of rows, by branch nodes and cost.

Plain functions of arrays, which numba compiles (odtc.base.kernels). The first threshold of a column moves over the
rows; the sums of the left side by block of every column move with it, so one sweep over the blocks of a column covers
all its second thresholds. Most sweeps are skipped: the left side grows, so a tree of one split costs at least as much
there as before; the right side shrinks, so its cost falls by at most the maximum cost of the rows that left it. A
column whose bound, together with the bound of the other side, is beyond the budget is not swept.
"""

import numpy as np

from odtc.base.kernels import kernel

UNIT, PRICE, SKEW, BUDGET, LEAST, LOW, SPAN, BRANCHES, COST, TWINS = range(10)  # indices of the parameters in `units`


@kernel
def pair_counts(order, rank, loss, count, columns, firsts, units, table, per_cut):
    """Add the trees of height 1 and 2 of a node to a table.

    Parameters
    ----------
    order : int32 (columns, n), rows of the node by rising rank
    rank : int32 (columns, all rows)
    loss : int64 (all rows, labels), in units
    count : int64 (all rows,)
    columns, firsts : int64, the columns of all splits, and those of the first split
    units : int64 (10,), the costs of a unit of loss and of a branch node; units of loss that a branch node is counted
        as in the table; the budget; the minimum rows of a leaf; the units of the table's first cell; the maximum number
        of cells between the budget and the cheapest tree; the branch nodes and the units of the trees that `per_cut`
        counts, -1 branch nodes for all trees; 1 to count trees with twin leaves, too
    table : int64 (4, cells), [b, x] trees with b branch nodes and x units more than the first cell
    per_cut : int64 (columns, n), the trees that begin with a threshold, at the number of rows left of it
    """
    unit, price, skew, budget, least, low = units[0], units[1], units[2], units[3], units[4], units[5]
    span, want, want_x, twins = units[6], units[7], units[8] - units[5], units[9]
    F, n = order.shape
    K = loss.shape[1]
    first = np.zeros(F + 1, np.int64)
    local = np.zeros(rank.shape, np.int32)
    block_rank = np.zeros(F * n, np.int64)
    for g in columns:
        at, last = first[g] - 1, np.int64(-1)
        for i in range(n):
            row = order[g, i]
            if rank[g, row] != last:
                at += 1
                last = rank[g, row]
                block_rank[at] = last
            local[g, row] = at
        for h in range(g + 1, F + 1):
            first[h] = at + 1
    blocks = first[F]
    whole, rows = np.zeros((blocks, K), np.int64), np.zeros(blocks, np.int64)
    total, n_rows = np.zeros(K, np.int64), np.int64(0)
    for i in range(n):
        row = order[columns[0], i]
        n_rows += count[row]
        for k in range(K):
            total[k] += loss[row, k]
        for g in columns:
            rows[local[g, row]] += count[row]
            for k in range(K):
                whole[local[g, row], k] += loss[row, k]
    leaf = total.min()
    # The loss and the number of the rows on the left side, by block.
    part, there = np.zeros((blocks, K), np.int64), np.zeros(blocks, np.int64)
    sums, sizes, acc = np.zeros((2, K), np.int64), np.zeros(2, np.int64), np.zeros(K, np.int64)
    cost, times = np.zeros((2, blocks), np.int64), np.zeros((2, blocks), np.int64)
    bound = np.zeros((2, F), np.int64)  # lower bound of trees of one split on a side, by column
    stumps = np.zeros(2, np.int64)
    leaves = np.zeros(2, np.int64)
    cheap = np.zeros(2, np.int64)
    lowest = np.zeros(2, np.int64)
    hist, floor = np.zeros((2, span), np.int64), np.zeros(2, np.int64)
    for f in firsts:
        part[:, :], there[:] = 0, 0
        sums[0, :], sums[1, :], sizes[0], sizes[1] = 0, total, 0, n_rows
        bound[:, :] = 0
        i = 0
        while i < n:
            here = local[f, order[f, i]]
            moved = np.int64(0)
            while i < n and local[f, order[f, i]] == here:
                row = order[f, i]
                i += 1
                most = np.int64(0)
                for k in range(K):
                    v = loss[row, k]
                    most = max(most, v)
                    sums[0, k] += v
                    sums[1, k] -= v
                moved += most * unit
                sizes[0] += count[row]
                sizes[1] -= count[row]
                for g in columns:
                    at = local[g, row]
                    there[at] += count[row]
                    for k in range(K):
                        part[at, k] += loss[row, k]
            if i == n:
                break
            for g in columns:
                bound[1, g] -= moved
            if sizes[0] < least or sizes[1] < least:
                continue
            for s in range(2):
                stumps[s], leaves[s] = 0, sums[s].min()
                cheap[s] = lowest[s] = leaves[s] * unit
                for g in columns:
                    lowest[s] = min(lowest[s], bound[s, g])
            for s in range(2):
                if lowest[0] + lowest[1] + price > budget:
                    break
                low_side = leaves[s] * unit
                for g in columns:
                    if bound[s, g] + lowest[1 - s] + price > budget:
                        low_side = min(low_side, bound[s, g])
                        continue
                    acc[:] = 0
                    size, before, best = np.int64(0), -1, leaves[s]
                    for at in range(first[g], first[g + 1]):
                        here_rows = rows[at] - there[at] if s else there[at]
                        if here_rows == 0:
                            continue
                        if before >= 0:
                            one, two = acc[0], sums[s, 0] - acc[0]
                            for k in range(1, K):
                                one, two = min(one, acc[k]), min(two, sums[s, k] - acc[k])
                            paid = one + two
                            if paid < leaves[s] + twins:
                                best = min(best, paid)
                                if size >= least and sizes[s] - size >= least:
                                    cheap[s] = min(cheap[s], paid * unit + price)
                                    cost[s, stumps[s]] = paid
                                    times[s, stumps[s]] = block_rank[at] - block_rank[before]
                                    stumps[s] += 1
                        size += here_rows
                        for k in range(K):
                            acc[k] += whole[at, k] - part[at, k] if s else part[at, k]
                        before = at
                    bound[s, g] = best * unit + price
                    low_side = min(low_side, bound[s, g])
                lowest[s] = low_side
            if lowest[0] + lowest[1] + price > budget or cheap[0] + cheap[1] + price > budget:
                continue
            begun = np.int64(0)
            mult = block_rank[here + 1] - block_rank[here]
            if leaves[0] + leaves[1] < leaf + twins and (leaves[0] + leaves[1]) * unit + price <= budget:
                x = leaves[0] + leaves[1] + skew - low
                table[1, x] += mult
                if want < 0 or (want == 1 and x == want_x):
                    begun += 1
            for s in range(2):
                floor[s] = 0
                if stumps[s]:
                    floor[s] = cost[s, : stumps[s]].min()
                hist[s, :] = 0
                limit = budget - cheap[1 - s] - 2 * price
                for j in range(stumps[s]):
                    if cost[s, j] * unit <= limit:
                        hist[s, cost[s, j] - floor[s]] += times[s, j]
                top = budget - 2 * price - leaves[1 - s] * unit
                for a in range(span):
                    if hist[s, a] and (floor[s] + a) * unit <= top:
                        x = floor[s] + a + leaves[1 - s] + 2 * skew - low
                        table[2, x] += mult * hist[s, a]
                        if want < 0 or (want == 2 and x == want_x):
                            begun += hist[s, a]
            for a in range(span):
                if hist[0, a]:
                    for b in range(span):
                        paid = floor[0] + a + floor[1] + b
                        if paid * unit + 3 * price > budget:
                            break
                        if hist[1, b]:
                            x = paid + 3 * skew - low
                            table[3, x] += mult * hist[0, a] * hist[1, b]
                            if want < 0 or (want == 3 and x == want_x):
                                begun += hist[0, a] * hist[1, b]
            per_cut[f, i] = begun


@kernel
def add_products(left, right, out, shift, caps, times):
    """Add the products of two tables to a third: out[b + c + 1, x + y + shift] += times · left[b, x] · right[c, y].

    Parameters
    ----------
    left, right, out : int64 (branch nodes, cells)
    shift : int, may be below 0
    caps : int64 (branch nodes of `out`,), the last cell within the budget, -1 for none
    times : int
    """
    for b in range(left.shape[0]):
        for c in range(right.shape[0]):
            cap = caps[b + c + 1]
            for x in range(left.shape[1]):
                v = left[b, x] * times
                if v:
                    for y in range(max(0, -shift - x), min(right.shape[1], cap - shift - x + 1)):
                        out[b + c + 1, x + y + shift] += v * right[c, y]
