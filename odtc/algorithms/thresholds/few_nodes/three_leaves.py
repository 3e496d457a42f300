"""The best tree of two splits over all thresholds, exactly: a first split, a leaf on one side, a stump on the other.

Plain functions of arrays, which numba compiles (odtc.base.kernels). The arrays are those of
odtc.algorithms.thresholds.depth_two, and cut c of a column is after its first c blocks, with weight w(c) on its left.

For a first split on column f, the costs p_c and q_c of a leaf on its left and right side are sums along f. l[g] and
r[g] bound the costs of the sides with at most one split, on column g. For lo <= c <= hi they are at least

    l_c >= l_lo,   l_c >= l_hi - (w(hi) - w(c)),   r_c >= r_hi,   r_c >= r_lo - (w(c) - w(lo))

so a cut is skipped if both min l_c + q_c and p_c + min r_c reach the best tree for these bounds. At the remaining cuts
only columns that can be part of a better tree are scanned. If leaves must have `least` rows, the first and the third
bound use costs without this constraint, because a leaf may lack rows where the side is smaller.
"""

import numpy as np

from odtc.algorithms.thresholds.depth_two import (
    NEVER,
    POINTS,
    cuts_of,
    entries_of,
    kinds_of,
    level_of,
    lines_of,
    parting_columns,
    scan_entries,
)
from odtc.base.kernels import kernel


def leaf_costs(entry, starts, blocks, kind, amount, labels, cut_weight, costs):
    """Write the costs of one leaf left and right of each cut of a column to `costs`, int64 (2, entries + 1)."""
    left, right = np.zeros(labels, np.int64), np.zeros(labels, np.int64)
    for i in range(len(entry)):
        right[kind[entry[i]]] += amount[entry[i]]
    weight = cut_weight[blocks]
    for c in range(blocks + 1):
        if c > 0:
            for i in range(starts[c - 1], starts[c]):
                left[kind[entry[i]]] += amount[entry[i]]
                right[kind[entry[i]]] -= amount[entry[i]]
        costs[0, c] = cut_weight[c] - left.max()
        costs[1, c] = weight - cut_weight[c] - right.max()


def next_cut(a, z, lo, hi, target, at_weight, mins, held, cut_weight, costs):
    """Return the cut from a to z nearest to the middle whose bound is below `target`; -1 if there is none.

    `lo` and `hi` are the evaluated cuts around them, `mins` the bounds of both sides of each, and `held` the same for
    leaves with enough rows, int64 (2, points).
    """
    chosen, middle = np.int64(-1), a + z
    for c in range(a, z + 1):
        w = cut_weight[c]
        left = max(mins[0, lo], held[0, hi] - (at_weight[hi] - w))
        right = max(mins[1, hi], held[1, lo] - (w - at_weight[lo]))
        if min(left + costs[1, c], costs[0, c] + right) < target:
            if chosen < 0 or abs(2 * c - middle) < abs(2 * chosen - middle):
                chosen = c
    return chosen


def scan_column(g, node, at, room):
    """Return the costs of both sides of a cut with at most one split each, on column g: bounds without a number of rows
    of leaves, and the costs if leaves have enough.

    `node` are the arrays of the node and the labels, the price and the least rows; `at` are the weight and the rows
    left of the cut, and the savings of each label there; `room` is for the scan.
    """
    line, line_lab, line_gain, number, side, save_whole, weight, rows, price, least = node
    weight_left, rows_left, save_left = at
    lacking, both, peak = room
    left, right = scan_entries(
        line[g],
        line_lab[g],
        line_gain[g],
        number,
        side,
        len(save_whole),
        save_left,
        save_whole,
        weight_left,
        weight,
        rows_left,
        rows,
        price,
        least,
        lacking,
        both,
        peak,
    )
    if least > 1:
        return left, right, lacking[0, 0], lacking[1, 0]
    return left, right, left, right


def scan_cut(node, at, room, bounds, leaf_left, leaf_right, target, kept):
    """Find the best tree whose first split is at a cut, if it costs less than `target` without the first split.

    The columns of `bounds`, int64 (2, columns), that may be part of it are scanned, least bounds first, and their
    bounds become exact. The least costs of both sides for leaves of enough rows are written to `kept`.

    Returns
    -------
    cost : int, `target` if none costs less
    right : bool, whether the second split is on the right side
    scans : int, how many columns were scanned
    """
    m = bounds.shape[1]
    scanned, scans, on_right = np.zeros(m, np.bool_), 0, False
    kept[:] = NEVER
    while True:
        g, least_bound = -1, target
        for j in range(m):
            some = min(bounds[0, j] + leaf_right, bounds[1, j] + leaf_left)
            if not scanned[j] and some < least_bound:
                g, least_bound = j, some
        if g < 0:
            break
        scanned[g] = True
        scans += 1
        bounds[0, g], bounds[1, g], left, right = scan_column(g, node, at, room)
        kept[0], kept[1] = min(kept[0], left), min(kept[1], right)
        cost = min(left + leaf_right, leaf_left + right)
        if cost < target:
            target, on_right = cost, leaf_left + right < left + leaf_right
    for g in range(m):  # other columns cost at least their bounds
        if not scanned[g]:
            kept[0], kept[1] = min(kept[0], bounds[0, g]), min(kept[1], bounds[1, g])
    return target, on_right, scans


def search_column(node, room, entry, starts, cut_weight, cut_rows, blocks, kind, amount, stump, kept_stump, best, told):
    """Find the best tree of two splits whose first split is on one column, if it costs less than `best`.

    Parameters
    ----------
    node, room : as in `scan_column`
    entry, starts, cut_weight, cut_rows : the entries in the order of the column, and for each cut how many entries are
        left of it, their weight and their rows
    blocks : int
    kind, amount : of each entry, the label under which it saves, and how much
    stump : int64 (columns,), cost of the best stump of each column on all entries
    kept_stump : int, the least of these if leaves have enough rows
    best : int
    told : as in `three_leaves`

    Returns
    -------
    cost, cut, scans : int; the cut is 0 if no tree costs less, and negative if the second split is on its right side
    """
    side, save_whole, weight, rows, price, least = node[4:]
    m, labels = len(stump), len(save_whole)
    # Of each evaluated cut: bounds of the left and the right side, by column; the least, and for leaves of enough rows.
    bounds = np.empty((POINTS, 2, m), np.int64)
    mins, held, kept = np.empty((2, POINTS), np.int64), np.empty((2, POINTS), np.int64), np.empty(2, np.int64)
    at_weight, users = np.empty(POINTS, np.int64), np.zeros(POINTS, np.int64)
    stack, costs = np.empty((POINTS, 4), np.int64), np.empty((2, blocks + 1), np.int64)
    leaf_costs(entry, starts, blocks, kind, amount, labels, cut_weight, costs)
    save_left, now, best_cut, scans = np.zeros(labels, np.int64), np.int64(0), np.int64(0), 0
    side[:] = 0
    bounds[0, 0] = bounds[1, 1] = 0
    bounds[0, 1] = bounds[1, 0] = stump
    mins[0, 0] = mins[1, 1] = held[0, 0] = held[1, 1] = 0
    mins[1, 0] = mins[0, 1] = stump.min()
    held[1, 0] = held[0, 1] = kept_stump
    at_weight[0], at_weight[1], users[0], users[1] = 0, weight, 1, 1
    a, z = 1, blocks - 1
    while a <= z and cut_rows[a] < least:
        a += 1
    while a <= z and rows - cut_rows[z] < least:
        z -= 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = a, z, 0, 1
    top = 1
    while top > 0 and told[0] == 0:
        top -= 1
        a, z, lo, hi = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        c = next_cut(a, z, lo, hi, best - price, at_weight, mins, held, cut_weight, costs)
        if c < 0:
            users[lo] -= 1
            users[hi] -= 1
            continue
        new, w = 0, cut_weight[c]
        while users[new] > 0:
            new += 1
        left_less, right_less = at_weight[hi] - w, w - at_weight[lo]
        for g in range(m):
            bounds[new, 0, g] = max(bounds[lo, 0, g], bounds[hi, 0, g] - left_less)
            bounds[new, 1, g] = max(bounds[hi, 1, g], bounds[lo, 1, g] - right_less)
        for i in range(starts[now], starts[c]):
            side[entry[i]] = 1
            save_left[kind[entry[i]]] += amount[entry[i]]
        for i in range(starts[c], starts[now]):
            side[entry[i]] = 0
            save_left[kind[entry[i]]] -= amount[entry[i]]
        now, at = c, (w, cut_rows[c], save_left)
        cost, on_right, looked = scan_cut(node, at, room, bounds[new], costs[0, c], costs[1, c], best - price, kept)
        scans += looked
        if price + cost < best:
            best, best_cut = price + cost, -c if on_right else c
        mins[0, new], mins[1, new] = bounds[new, 0].min(), bounds[new, 1].min()
        held[0, new] = max(mins[0, new], kept[0], held[0, hi] - left_less)
        held[1, new] = max(mins[1, new], kept[1], held[1, lo] - right_less)
        at_weight[new], users[new] = w, 2
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = a, c - 1, lo, new
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2], stack[top + 1, 3] = c + 1, z, new, hi
        top += 2
    return best, best_cut, scans


@kernel
def three_leaves(order, label, gain, most, count, stride, price, least, need, local, told):
    """Find the best tree of two splits on a node, if it costs less than `need`.

    Parameters
    ----------
    order, label, gain, most, count, stride, price, least, need, local
        As of odtc.algorithms.thresholds.depth_two.depth_two.
    told : int64 (4,)
        Cost, column and cut of the best tree so far are written to places 1 to 3; if another thread writes a number
        other than 0 to place 0, the search ends without a proof.

    Returns
    -------
    cost : int, of the best tree, `need` if none costs less
    column, cut : int
        Its first split; the cut is negative if the second split is on the right side. Column -2 if no tree costs less
        than `need`.
    scans : int, how many columns were scanned
    """
    n = order.shape[1]
    lab, own, cap, number = entries_of(order[0], label, gain, most, count, local)
    kind, amount = kinds_of(lab, own, stride)
    m, column, _, _ = parting_columns(order, local, kind, amount)
    labels, levels = max(2, stride), level_of(least - 1) + 1
    line, line_lab, line_gain = lines_of(order, local, column[:m], kind, amount, np.ones(m + 1, np.bool_), m)
    side, save_whole = np.ones(n, np.uint8), np.zeros(labels, np.int64)
    weight, rows = np.int64(0), np.int64(0)
    for i in range(n):
        weight += cap[i]
        rows += number[i]
        save_whole[kind[i]] += amount[i]
    node = line, line_lab, line_gain, number, side, save_whole, weight, rows, price, least
    room = np.empty((2, levels), np.int64), np.zeros(2 * labels, np.int64), np.empty((2, n), np.int64)
    stump, kept_stump = np.zeros(m, np.int64), NEVER
    for g in range(m):
        stump[g], _, kept, _ = scan_column(g, node, (weight, rows, save_whole), room)
        kept_stump = min(kept_stump, kept)
    best, best_column, best_cut, scans = need, -2, np.int64(0), m
    told[1], told[2], told[3] = best, best_column, best_cut
    starts, cut_weight, cut_rows = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    entry, left_out = np.empty(n, np.uint32), np.zeros(m, np.bool_)
    for _ in range(m):
        if told[0] != 0:
            break
        f = -1  # the column of the least remaining stump
        for g in range(m):
            if not left_out[g] and (f < 0 or stump[g] < stump[f]):
                f = g
        left_out[f] = True
        b = cuts_of(order[column[f]], local, cap, number, entry, starts, cut_weight, cut_rows)
        cost, cut, looked = search_column(
            node, room, entry, starts, cut_weight, cut_rows, b, kind, amount, stump, kept_stump, best, told
        )
        scans += looked
        if cost < best:
            best, best_column, best_cut = cost, column[f], cut
            told[1], told[2], told[3] = best, best_column, best_cut
    return best, best_column, best_cut, scans
