"""The best tree of depth 2 over all thresholds, exactly, by bounds on pairs of columns (ConTree: Brita et al. 2025).

Plain functions of arrays, which numba compiles (odtc.base.kernels); none is recursive.

A node has `order`, uint32 (columns, entries): the entries by rising rank in each column, as entry << 1 | last, where
last marks the last entry of a block of equal ranks. Cut c of a column is after its first c blocks. The weight w(c) of
a cut is the largest cost of the entries left of it.

For a first split on column f, l[g] and r[g] bound the costs of the left and the right side with at most one split, on
column g. As left sides grow with the cut and right sides shrink, for lo <= c <= hi

    l_c >= l_lo,   l_c >= l_hi - (w(hi) - w(c)),   r_c >= r_hi,   r_c >= r_lo - (w(c) - w(lo))

so cuts between two evaluated ones are skipped if the bounds of all pairs of columns reach the best tree, and at the
remaining cuts only columns that can be part of a better tree are scanned. If leaves must have `least` rows, the costs
of trees without this constraint are bounded in this way. The second and the fourth bound also hold for the costs with
it, because a leaf that gains rows has enough. The first and the third hold for the costs with it if the costs at lo and
hi are of leaves that may lack as many rows as are between the two cuts. They are stored for leaves that may lack
2^k - 1 rows, k = 0, 1, 2, …
"""

import numpy as np

from odtc.algorithms.thresholds.block_groups import MIN_BLOCKS, group_blocks, group_size, scan_groups, settle_groups
from odtc.base.kernels import Kernel, kernel, kernel_with

POINTS = 48  # evaluated cuts that are stored at once: one for each halving of an interval of cuts, and a few more
NEVER = 1 << 60  # more than any cost
NEAR = 8  # a bound that closes a cut may be lowered by its excess divided by this
# The sums of binary splits are moved together if there are at least SEVERAL of them whose rarer outcome at most one in
# RARE entries has.
RARE = 3
SEVERAL = 16
FIRST = 10  # columns of least bounds that are scanned first at a cut, for the left and the right side in turn
# Functions that numba writes out inside `depth_two`, because then it costs nothing to pass their many arrays.
WRITTEN_OUT = ("kinds_of", "lines_of", "block_sums", "leaf_cost", "least_loss")
# Features that `depth_two` is compiled with (`kernel_for`): without them it compiles faster.
LABELS = True  # support for nodes of more than two labels, and for leaves that need a number of rows
SHORTCUTS = True  # for larger tables: groups of blocks, and common moves of the sums of rare outcomes
SHORTCUT_ENTRIES = 4096  # entries with more than two labels from which it pays to compile the shortcuts
PURE = 8  # if a better tree may cost at most this many least losses, cuts with a side without loss are sought first


@kernel
def take_side(order, side, wanted, size):
    """Return the order of the entries on one side of a split.

    Parameters
    ----------
    order : uint32 (columns, entries)
    side : uint8 (all entries,), which side each entry of the node is on
    wanted : int, the side
    size : int, its entries

    Returns
    -------
    uint32 (columns, size)
    """
    F = len(order)
    out = np.empty((F, size), np.uint32)
    if size == 0:
        return out
    for g in range(F):
        i, t = 0, 0
        while i < size:  # each entry is written, and overwritten by the next one if it is on the other side: no branch
            e = order[g, t]
            out[g, i] = e & np.uint32(0xFFFFFFFE)
            i += side[e >> 1] == wanted
            if e & 1 and i > 0:
                out[g, i - 1] |= np.uint32(1)
            t += 1
        out[g, size - 1] |= np.uint32(1)
    return out


@kernel
def profile(order, most, count):
    """Return the blocks of each column: entries of equal rank, which no cut separates.

    Returns
    -------
    blocks : int64 (columns,)
    starts : int32 (columns, entries + 1), entries left of each cut
    weight : int64 (columns, entries + 1), what these can cost at most
    rows : int64 (columns, entries + 1), rows of the data left of each cut
    """
    F, n = order.shape
    blocks = np.zeros(F, np.int64)
    starts = np.zeros((F, n + 1), np.int32)
    weight = np.zeros((F, n + 1), np.int64)
    rows = np.zeros((F, n + 1), np.int64)
    for g in range(F):
        b, w, c = 0, 0, 0
        for t in range(n):
            e = order[g, t]
            w += most[e >> 1]
            c += count[e >> 1]
            if e & 1:
                b += 1
                starts[g, b] = t + 1
                weight[g, b] = w
                rows[g, b] = c
        blocks[g] = b
    return blocks, starts, weight, rows


@kernel
def totals(line, label, gain, most, count, stride):
    """Return (cost of the best label, that label, weight, rows of the data) of the entries of one line of an order."""
    weight, rows = np.int64(0), np.int64(0)
    value = np.zeros(max(2, stride), np.int64)
    for t in range(len(line)):
        e = line[t] >> 1
        weight += most[e]
        rows += count[e]
        if stride == 1:
            if gain[e] > 0:
                value[1] += gain[e]
            else:
                value[0] -= gain[e]
        else:
            value[label[e]] += gain[e]
    best = 0
    for k in range(1, len(value)):
        if value[k] > value[best]:
            best = k
    return weight - value[best], best, weight, rows


@kernel
def gini_test(order, label, gain, stride):
    """Return (column, cut, purity) of the split that leaves the least Gini impurity, by gains; (-1, 0, -1) if no split
    separates the entries."""
    F, n = order.shape
    K = max(2, stride)
    total, left = np.zeros(K), np.zeros(K)
    for t in range(n):
        e = order[0, t] >> 1
        if stride == 1:
            total[1 if gain[e] > 0 else 0] += abs(gain[e])
        else:
            total[label[e]] += gain[e]
    best, column, cut = -1.0, -1, 0
    for g in range(F):
        left[:] = 0.0
        b = 0
        for t in range(n - 1):
            e = order[g, t]
            r = e >> 1
            if stride == 1:
                left[1 if gain[r] > 0 else 0] += abs(gain[r])
            else:
                left[label[r]] += gain[r]
            if e & 1:
                b += 1
                a, q, c, d = 0.0, 0.0, 0.0, 0.0
                for k in range(K):
                    a += left[k]
                    q += left[k] * left[k]
                    rest = total[k] - left[k]
                    c += rest
                    d += rest * rest
                pure = (q / a if a > 0 else 0.0) + (d / c if c > 0 else 0.0)
                if pure > best:
                    best, column, cut = pure, g, b
    return column, cut, best


def scan_two(left, upto, weight_left, weight_whole, price, prefix):
    """Return the least costs of both sides with one split on a column or none, for two labels.

    `left` holds the sums of gains of each block over the left side, `upto` the prefix sums over all entries: p and q
    are the prefix sums of both sides. Label 1 left of the split and label 0 right of it cost (positive gains) - p.
    `prefix`, of the type of the gains, is room for p: without the sum, a processor compares several blocks at once,
    the more the shorter their type is (numba widens sums).
    """
    gain = left.dtype.type
    p = high = low = high_right = low_right = gain(0)
    for b in range(len(left)):
        p = gain(p + left[b])
        prefix[b] = p
    for b in range(len(left)):
        here, there = prefix[b], gain(upto[b] - prefix[b])
        high, low = max(high, here), min(low, here)
        high_right, low_right = max(high_right, there), min(low_right, there)
    weight_right = weight_whole - weight_left
    positive, positive_right = (weight_left + p) >> 1, (weight_right + upto[-1] - p) >> 1
    one = min(positive, weight_left - positive)
    two = min(positive_right, weight_right - positive_right)
    one = min(one, price + min(positive - high, weight_left - positive + low))
    two = min(two, price + min(positive_right - high_right, weight_right - positive_right + low_right))
    return one, two


def scan_labels(left, upto, blocks, of_left, of_whole, weight_left, weight_whole, price, prefix, saved):
    """Return the same for more labels; the sums of the blocks of one label are before those of the next one. `saved`,
    of the type of the gains, (4, blocks or more), is room for what the best label saves before and behind each
    split."""
    up, down, up_right, down_right = saved[0], saved[1], saved[2], saved[3]
    up[:blocks] = 0
    down[:blocks] = 0
    up_right[:blocks] = 0
    down_right[:blocks] = 0
    gain, none, none_right, at = left.dtype.type, 0, 0, 0
    for k in range(len(of_left)):
        none, none_right = max(none, of_left[k]), max(none_right, of_whole[k] - of_left[k])
        p = gain(0)
        for b in range(blocks):
            p = gain(p + left[at + b])
            prefix[b] = p
        q = gain(upto[at + blocks - 1] - p)
        for b in range(blocks):
            here, there = prefix[b], gain(upto[at + b] - prefix[b])
            up[b], down[b] = max(up[b], here), max(down[b], gain(p - here))
            up_right[b], down_right[b] = max(up_right[b], there), max(down_right[b], gain(q - there))
        at += blocks
    best = best_right = gain(0)
    for b in range(blocks - 1):
        best, best_right = max(best, gain(up[b] + down[b])), max(best_right, gain(up_right[b] + down_right[b]))
    weight_right = weight_whole - weight_left
    return (
        min(weight_left - none, price + weight_left - best),
        min(weight_right - none_right, price + weight_right - best_right),
    )


def scan_entries(
    line,
    lab,
    gain,
    count,
    side,
    stride,
    of_left,
    of_whole,
    weight_left,
    weight_whole,
    rows_left,
    rows_whole,
    price,
    least,
    lacking,
    sums,
    peak,
):
    """Return the same entry by entry, for columns with many blocks, and for leaves of at least `least` rows.

    `line` holds the entries in the order of the column, as in a node's order, but numbered within the node; `lab`,
    `gain` belong to its places, `count` and `side` to the entries; `side` is 1 for entries on the left side, else 0.
    The costs of both sides with leaves that may lack 2^k - 1 of these rows, NEVER if a side lacks more, are written to
    `lacking`, int64 (2, levels). `sums` is int64 (2 labels,), `peak` int64 (2, entries). There are no branches on the
    side, which a processor cannot predict.
    """
    n = len(line)
    sums[:] = 0
    up, up_right, none, none_right = 0, 0, 0, 0
    for t in range(n):
        s = np.int64(side[line[t] >> 1])
        k = lab[t] + s * stride
        v = sums[k] + gain[t]
        sums[k] = v
        up = max(up, v * s)
        up_right = max(up_right, v * (1 - s))
        peak[0, t] = up
        peak[1, t] = up_right
    for k in range(stride):
        none = max(none, of_left[k])
        none_right = max(none_right, of_whole[k] - of_left[k])
    sums[:] = 0
    rows_right = rows_whole - rows_left
    best, best_right, down, down_right = 0, 0, 0, 0
    behind, behind_right = 0, 0
    lacking[:] = -1  # at first, what the best split saves that lacks as many rows
    for t in range(n - 1, 0, -1):
        e = line[t] >> 1
        s = np.int64(side[e])
        k = lab[t] + s * stride
        v = sums[k] + gain[t]
        sums[k] = v
        down = max(down, v * s)
        down_right = max(down_right, v * (1 - s))
        if least > 1:
            behind += count[e] * s
            behind_right += count[e] * (1 - s)
        if line[t - 1] & 1:
            both, both_right = peak[0, t - 1] + down, peak[1, t - 1] + down_right
            best, best_right = max(best, both), max(best_right, both_right)
            if least > 1:
                rarer, rarer_right = min(behind, rows_left - behind), min(behind_right, rows_right - behind_right)
                if rarer > 0:
                    k = level_of(least - rarer)
                    lacking[0, k] = max(lacking[0, k], both)
                if rarer_right > 0:
                    k = level_of(least - rarer_right)
                    lacking[1, k] = max(lacking[1, k], both_right)
    weight_right = weight_whole - weight_left
    one, two = weight_left - none, weight_right - none_right
    bound, bound_right = min(one, price + weight_left - best), min(two, price + weight_right - best_right)
    if least > 1:
        costs_of_levels(lacking[0], one, price + weight_left, rows_left, least)
        costs_of_levels(lacking[1], two, price + weight_right, rows_right, least)
    return bound, bound_right


def level_of(lack):
    """Return the least k such that 2^k - 1 rows are at least those that a leaf lacks; 0 if it lacks none."""
    k = 0
    while lack > 0:
        lack >>= 1
        k += 1
    return k


def lower(held, lacking):
    """Replace each cost by that of `lacking` if it is less."""
    for k in range(held.shape[1]):
        held[0, k] = min(held[0, k], lacking[0, k])
        held[1, k] = min(held[1, k], lacking[1, k])


def costs_of_levels(lacking, leaf, unsplit, rows, least):
    """Replace what the best splits of each level save, -1 if there is none, by the least cost of a side with a leaf or
    a split of at most this level; `unsplit` is the cost of a split that saves nothing."""
    saved = np.int64(-1)
    for k in range(len(lacking)):
        saved = max(saved, lacking[k])
        cost = NEVER
        if rows + (1 << k) > least:
            cost = leaf
        if saved >= 0:
            cost = min(cost, unsplit - saved)
        lacking[k] = cost


def move_cut(sums, whole, of_place, of_label, place, entry, lab, gain, starts, old, new):
    """Bring the sums of blocks over the left side of a cut from cut `old` to cut `new`, by the shortest way; places
    and entries are unsigned, so that no index is examined for a sign. The sum of a block and a label is `of_place`
    times the one plus `of_label` times the other; `of_label` is 0 for two labels, which have one sum."""
    a, b, n, size = starts[old], starts[new], len(entry), len(sums)
    way = abs(b - a)
    if b + size < way:
        sums[:] = 0
        a = 0
    elif n - b + size < way:
        for j in range(size):  # a slice would make numba compile error messages, which takes longer than this function
            sums[j] = whole[j]
        a = n
    if not LABELS or of_label == 0:
        for i in range(a, b):
            e = entry[i]
            sums[place[e]] += gain[e]
        for i in range(b, a):
            e = entry[i]
            sums[place[e]] -= gain[e]
    else:
        for i in range(a, b):
            e = entry[i]
            sums[place[e] * of_place + lab[e] * of_label] += gain[e]
        for i in range(b, a):
            e = entry[i]
            sums[place[e] * of_place + lab[e] * of_label] -= gain[e]


def move_rare(left, whole, of_left, of_whole, first, held, entry, lab, own, starts, old, new):
    """Update the same for the rarer outcomes of all binary splits: the saving of each label on the entries left of a
    cut that have them, and on all entries left of it.

    `left` and `whole` are int64 (columns, labels), `of_left` and `of_whole` int64 (labels,); entry e has the rarer
    outcome of the columns held[first[e] : first[e + 1]].
    """
    a, b, n = starts[old], starts[new], len(entry)
    way = abs(b - a)
    if b < way:
        left[:] = 0
        of_left[:] = 0
        a = 0
    elif n - b < way:
        for k in range(len(of_whole)):
            of_left[k] = of_whole[k]
            for j in range(len(whole)):
                left[j, k] = whole[j, k]
        a = n
    for i in range(a, b):
        e = entry[i]
        k, v = lab[e], own[e]
        of_left[k] += v
        for x in range(first[e], first[e + 1]):
            left[held[x], k] += v
    for i in range(b, a):
        e = entry[i]
        k, v = lab[e], own[e]
        of_left[k] -= v
        for x in range(first[e], first[e + 1]):
            left[held[x], k] -= v


def cost_rare(rare, other, of_all, of_other, weight, price):
    """Return the least cost of a side with at most one binary split, for which rare - other is the saving of each
    label on the entries of one outcome, and of_all - of_other on all; `weight` is their largest cost."""
    if len(rare) == 1:
        a, p = rare[0] - other[0], of_all[0] - of_other[0]
        positive = (weight + p) >> 1
        high, low = max(0, a, p), min(0, a, p)
        return min(positive, weight - positive, price + min(positive - high, weight - positive + low))
    none, one, two = np.int64(0), np.int64(0), np.int64(0)
    for k in range(len(rare)):
        a, p = rare[k] - other[k], of_all[k] - of_other[k]
        none = max(none, p)
        one = max(one, a)
        two = max(two, p - a)
    return min(weight - none, price + weight - one - two)


def separable(entry, lab, own, place, starts, blocks, columns, backward):
    """Return how far one split of some column separates the entries of one side of a first split without a loss.

    `entry` holds the entries by rising rank of the first split's column, of which each loses something under all labels
    except one, which `lab` and the sign of its gain `own` name; an entry of gain 0 loses under none. `starts` are the
    entries left of each of its `blocks` + 1 cuts, `place` the block of each entry in each of the `columns`. A column
    separates two labels as long as the last block of one is before the first block of the other.

    Returns
    -------
    int : the last cut of which the left side is separated; with `backward` the first one of which the right side is
    """
    n = len(entry)
    far = 0
    for g in range(columns):
        low, high = n, -1  # blocks of the label that comes first
        low_other, high_other = n, -1
        kind, other = -1, -1
        b, failed = 0, False
        for i in range(n):
            e = entry[n - 1 - i] if backward else entry[i]
            while (n - i <= starts[blocks - 1 - b]) if backward else (i >= starts[b + 1]):
                b += 1
            if own[e] == 0:
                continue
            k = 2 * lab[e] + (1 if own[e] > 0 else 0)
            at = place[g, e]
            if kind < 0:
                kind = k
            if k == kind:
                low = min(low, at)
                high = max(high, at)
            else:
                if other < 0:
                    other = k
                if k != other:
                    failed = True
                    break
                low_other = min(low_other, at)
                high_other = max(high_other, at)
            if low <= high_other and low_other <= high:
                failed = True
                break
        far = max(far, b if failed else blocks)
    return blocks - far if backward else far


def least_at(values):
    """Return (position, value) of the least value."""
    at, least = 0, values[0]
    for g in range(1, len(values)):
        if values[g] < least:
            at, least = g, values[g]
    return at, least


def least_open(bounds, is_open, limit):
    """Return the position of the least bound of those that are open and below a limit; -1 if there is none."""
    found = -1
    for g in range(len(bounds)):
        if is_open[g] and bounds[g] < limit and (found < 0 or bounds[g] < bounds[found]):
            found = g
    return found


def entries_of(line, label, gain, most, count, local):
    """Return (label, gain, most, count) of the entries of a node, in the order of a line; their positions in it are
    written to `local`."""
    n = len(line)
    lab, own = np.empty(n, np.int32), np.empty(n, gain.dtype)
    cap, number = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        e = line[i] >> 1
        local[e] = i
        lab[i] = label[e]
        own[i] = gain[e]
        cap[i] = most[e]
        number[i] = count[e]
    return lab, own, cap, number


def parting_columns(order, local, kind, amount):
    """Return the columns that separate a node: (how many, the columns, how many sums each has, and the sum that each
    entry belongs to).

    A sum is of the entries of a block, or of neighbouring blocks that gain under one label only. A split between two of
    these is no better than one at an end of them: as entries change sides, the saving of that label on one side rises
    as they do, and what the labels of the other side save at most is convex. (That is not so for the first of two
    splits. Where leaves need a number of rows, the sums bound the costs.) The line after the last column has one sum,
    of a side.
    """
    F, n = order.shape
    column, blocks = np.empty(F, np.int64), np.empty(F + 1, np.int64)
    place = np.empty((F + 1, n), np.uint32)
    m = np.int64(0)
    for g in range(F):
        b = np.int64(0)
        for i in range(n):
            e = order[g, i]
            place[m, local[e >> 1]] = b
            b += e & 1
        if b > 1:
            column[m] = g
            blocks[m] = join_blocks(order[g], local, kind, amount, place[m]) if b > 2 else b
            m += 1
    blocks[m] = 1
    place[m] = 0
    return m, column, blocks, place


def join_blocks(line, local, kind, amount, place):
    """Return how many sums a column has if neighbouring blocks that gain under one label are one; that of each entry
    is written to `place`. Columns of two ranks are not among them, because `rare_answers` counts their sums."""
    n = len(line)
    none, several = -1, -2
    at, of_sum, of_block, begin = np.int64(0), none, none, 0
    for i in range(n):
        e = local[line[i] >> 1]
        if amount[e] != 0 and of_block != kind[e]:
            of_block = kind[e] if of_block == none else several
        if line[i] & 1:
            if begin > 0 and of_sum != none and of_block != none and (of_sum != of_block or of_sum == several):
                at += 1
                of_sum = none
            if of_sum == none:
                of_sum = of_block
            for j in range(begin, i + 1):
                place[local[line[j] >> 1]] = at
            begin, of_block = i + 1, none
    return at + 1


def blocks_of(order, column, local):
    """Return the block of each entry in each column, uint32 (columns, entries)."""
    block = np.empty((len(column), order.shape[1]), np.uint32)
    for g in range(len(column)):
        at = 0
        for i in range(order.shape[1]):
            e = order[column[g], i]
            block[g, local[e >> 1]] = at
            at += e & 1
    return block


def rare_answers(order, local, column, blocks, place, lab, own, cap, stride, least):
    """Return the columns of two ranks of which one is rare, as with levels: the sums of the rare ranks are moved
    together.

    Returns
    -------
    rare : bool (columns + 1,), whether a column is one of these
    save : int64 (labels,), what each label saves on all entries
    whole : int64 (columns, labels), what each saves on the entries with the rare rank; no row if no column is rare
    weight : int64 (columns,), of these entries
    first, held : int64 (entries + 1,), int32; entry e has the rarer rank of the columns held[first[e] : first[e + 1]]
    """
    m, n = len(column), order.shape[1]
    rare, n_rare, few = np.zeros(m + 1, np.bool_), 0, np.zeros((m, 2), np.int64)
    for j in range(m):
        if least <= 1 and blocks[j] == 2:
            ones = np.int64(0)
            for i in range(n):
                ones += place[j, i]
            few[j, 0], few[j, 1] = (0, n - ones) if 2 * ones > n else (n - ones, n)
            rare[j] = RARE * (few[j, 1] - few[j, 0]) <= n
            n_rare += rare[j]
    if n_rare < SEVERAL:
        n_rare = 0
        rare[:] = False
    first, save = np.zeros(n + 1, np.int64), np.zeros(stride, np.int64)
    whole, weight = np.zeros((m if n_rare else 0, stride), np.int64), np.zeros(m, np.int64)
    for j in range(m):
        if rare[j]:
            for i in range(few[j, 0], few[j, 1]):
                e = local[order[column[j], i] >> 1]
                first[e + 1] += 1
                whole[j, lab[e]] += own[e]
                weight[j] += cap[e]
    for i in range(n):
        first[i + 1] += first[i]
        save[lab[i]] += own[i]
    held, next_of = np.empty(first[n], np.int32), first.copy()
    for j in range(m):
        if rare[j]:
            for i in range(few[j, 0], few[j, 1]):
                e = local[order[column[j], i] >> 1]
                held[next_of[e]] = j
                next_of[e] += 1
    return rare, save, whole, weight, first, held


def cuts_of(line, local, cap, number, entry, starts, cut_weight, cut_rows):
    """Return how many blocks a line has; the entries in its order are written to `entry`, and to the others, for each
    cut, how many entries are left of it, their weight and their rows."""
    b, w, c = np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(line)):
        e = line[i]
        entry[i] = local[e >> 1]
        w += cap[entry[i]]
        c += number[entry[i]]
        if e & 1:
            b += 1
            starts[b] = i + 1
            cut_weight[b] = w
            cut_rows[b] = c
    return b


def kinds_of(lab, own, stride):
    """Return (int32, gains): the label under which each entry gains, where two signs of a gain are two labels, and how
    much."""
    kind, amount = np.empty(len(own), np.int32), np.empty(len(own), own.dtype)
    for i in range(len(own)):
        kind[i] = lab[i] if stride > 1 else 1 if own[i] > 0 else 0
        amount[i] = abs(own[i])
    return kind, amount


def lines_of(order, local, column, kind, amount, needed, lines):
    """Return the orders of the columns that are scanned by entry now and then, numbered within the node, with the kinds
    and amounts of their positions; other lines are not written, and without such a column there are none (`lines` is
    0)."""
    n = order.shape[1]
    line = np.empty((lines, n), np.uint32)
    line_lab = np.empty((lines, n), np.int32)
    line_gain = np.empty((lines, n), amount.dtype)
    for j in range(len(column)):
        if needed[j]:
            for i in range(n):
                e = order[column[j], i]
                at = local[e >> 1]
                line[j, i] = np.uint32(at << 1) | (e & np.uint32(1))
                line_lab[j, i] = kind[at]
                line_gain[j, i] = amount[at]
    return line, line_lab, line_gain


def block_sums(first, place, lab, own, kind, amount, stride, labels, grouped, rare):
    """Return (whole, upto): the sums of gains of each block of each column over all entries, and their prefix sums.
    With more than two labels, those of the first label come first, then those of the next one; in a grouped column
    those of all labels of the first group come first, then those of the next group, without prefix sums."""
    columns, n = len(first) - 1, len(own)
    whole = np.zeros(first[columns], own.dtype)
    for j in range(columns):
        at = first[j]
        if SHORTCUTS and LABELS and grouped[j]:
            for i in range(n):
                whole[at + place[j, i] * labels + kind[i]] += amount[i]
        elif rare[j]:
            continue
        else:
            blocks = (first[j + 1] - at) // stride
            for i in range(n):
                whole[at + lab[i] * blocks + place[j, i]] += own[i]
    upto = np.empty(len(whole), own.dtype)
    for j in range(columns):
        at, blocks = first[j], (first[j + 1] - first[j]) // stride
        for _ in range(stride):
            total = own[0] - own[0]
            for i in range(at, at + blocks):
                total += whole[i]
                upto[i] = total
            at += blocks
    return whole, upto


def leaf_cost(of_whole, weight, stride):
    """Return the cost of a node as a leaf; `of_whole` is the saving of each label on all entries."""
    if stride == 1:
        positive = (weight + of_whole[0]) >> 1
        return min(positive, weight - positive)
    leaf = weight
    for k in range(stride):
        leaf = min(leaf, weight - of_whole[k])
    return leaf


def least_loss(own, cap):
    """Return (the least loss of an entry, whether each entry has one label that saves all that it can cost)."""
    loss, single = NEVER, True
    for i in range(len(own)):
        if own[i] != 0:
            loss = min(loss, abs(own[i]))
        if abs(own[i]) != cap[i]:
            single = False
    return loss, single


@kernel_with(*WRITTEN_OUT)
def depth_two(order, label, gain, most, count, stride, price, least, need, local, told):
    """Find the best tree of depth 2 on a node, if it costs less than `need`.

    Parameters
    ----------
    order : uint32 (columns, entries)
    label, gain, most, count : as in RankedRows, of all entries
    stride, price, least : int, as in RankedRows
    need : int, only a tree of less cost is wanted
    local : int32 (all entries,), room
    told : int64 (4,): cost, column and cut of the best tree so far are written to places 1 to 3; if another thread
        writes a number other than 0 to place 0, the search ends without a proof

    Returns
    -------
    cost : int, of the best tree, `need` if none costs less
    column, cut : int, its first split; column -1 if it is a leaf, -2 if no tree costs less than `need`
    scans : int, how many columns were scanned
    """
    F, n = order.shape
    lab, own, cap, number = entries_of(order[0], label, gain, most, count, local)
    kind, amount = kinds_of(lab, own, stride)
    m, column, blocks, place = parting_columns(order, local, kind, amount)
    # Columns of many blocks are grouped, and have one sum for each label that saves something.
    labels, levels = max(2, stride), level_of(least - 1) + 1
    lacking = np.empty((2, levels), np.int64)
    wide = group_size(n)
    grouped = np.zeros(m + 1, np.bool_)
    n_grouped = 0
    for j in range(m):
        grouped[j] = SHORTCUTS and stride > 1 and blocks[j] > MIN_BLOCKS and blocks[j] > 2 * (n // wide)
        n_grouped += grouped[j]
    rare = np.zeros(m + 1, np.bool_)
    if SHORTCUTS:
        rare, rare_save, rare_whole, rare_weight, rare_first, rare_held = rare_answers(
            order, local, column[:m], blocks, place, lab, own, cap, stride, least
        )
        n_rare = len(rare_whole)
        rare_left, nothing = np.zeros_like(rare_whole), np.zeros(stride, np.int64)
        rare_save_left, rare_now = np.zeros(stride, np.int64), np.int64(0)
    sizes = np.empty(m + 1, np.int64)  # the number of sums of each column
    groups = n // wide + 2 if n_grouped else 0
    lines = m if stride > 1 or least > 1 else 0
    by_entry = np.zeros(m + 1, np.bool_)
    for j in range(m):
        by_entry[j] = stride > 1 and not grouped[j] and not rare[j] and blocks[j] * stride > 2 * n
    if LABELS:
        scanned_by_entry = by_entry | grouped
        if least > 1:
            scanned_by_entry[:] = True
        line, line_lab, line_gain = lines_of(order, local, column[:m], kind, amount, scanned_by_entry, lines)
        saved = np.empty((4, blocks[: m + 1].max()), gain.dtype)
        both, peak = np.zeros(2 * labels, np.int64), np.empty((2, n if lines else 1), np.int64)
        # Columns with known bounds, but without known costs.
        open_l, open_r = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    if SHORTCUTS and LABELS:
        ends, inner = np.zeros((m, groups + 1), np.int32), np.zeros((m, groups), np.bool_)
        room = np.zeros((4, labels), np.int64)
        upto_group, gone = np.empty((groups + 1, labels), np.int64), np.empty((3, groups + 1), np.int64)
        save_right = np.zeros(labels, np.int64)
        block = np.empty((0, n), np.uint32)  # the block of each entry in each column, if `place` has groups
    for j in range(m):
        if SHORTCUTS and LABELS and grouped[j]:
            sizes[j] = labels * group_blocks(line[j], place[j], ends[j], inner[j], wide)
        else:
            sizes[j] = 0 if rare[j] else blocks[j] * stride
    sizes[m] = stride
    first = np.zeros(m + 2, np.int64)
    for j in range(m + 1):
        first[j + 1] = first[j] + sizes[j]
    whole, upto = block_sums(first, place, lab, own, kind, amount, stride, labels, grouped, rare)
    sums, prefix = np.zeros(len(whole), gain.dtype), np.empty(sizes.max(), gain.dtype)
    weight, rows = np.int64(0), np.int64(0)
    for i in range(n):
        weight += cap[i]
        rows += number[i]
    side = np.ones(n, np.uint8)  # 1 for the entries on the left side of the cut
    of_whole = whole[first[m] : first[m + 1]]
    # The saving of each label on all entries, and left of a cut.
    save_whole, save_left = np.zeros(labels, np.int64), np.zeros(labels, np.int64)
    for i in range(n):
        save_whole[kind[i]] += amount[i]
    # The cost of the best stump of every column, which bounds either side at both ends of its order.
    stump = np.zeros(m, np.int64)
    loss, single = least_loss(own, cap)
    leaf = leaf_cost(of_whole, weight, stride)
    best, best_column, best_cut, scans = need, -2, 0, 0
    if leaf < best:
        best, best_column = leaf, -1
    told[1], told[2], told[3] = best, best_column, best_cut
    for j in range(m):
        if SHORTCUTS and LABELS and grouped[j]:
            among = slice(first[j], first[j + 1])
            stump[j] = settle_groups(
                whole[among],
                whole[among],
                inner[j],
                ends[j],
                line[j],
                line_lab[j],
                line_gain[j],
                side,
                np.int64(1),
                save_whole,
                weight,
                price,
                upto_group,
                gone,
                peak[0],
            )
        elif SHORTCUTS and rare[j]:
            stump[j] = cost_rare(rare_whole[j], nothing, rare_save, nothing, weight, price)
        elif not LABELS or stride == 1:
            stump[j], _ = scan_two(
                whole[first[j] : first[j + 1]], upto[first[j] : first[j + 1]], weight, weight, price, prefix
            )
        elif by_entry[j]:
            stump[j], _ = scan_entries(
                line[j],
                line_lab[j],
                line_gain[j],
                number,
                side,
                labels,
                save_whole,
                save_whole,
                weight,
                weight,
                rows,
                rows,
                price,
                least,
                lacking,
                both,
                peak,
            )
        else:
            among = slice(first[j], first[j + 1])
            stump[j], _ = scan_labels(
                whole[among], upto[among], blocks[j], save_whole, save_whole, weight, weight, price, prefix, saved
            )
    least_stump = NEVER
    for j in range(m):
        least_stump = min(least_stump, stump[j])
    low, high = np.empty((POINTS, m), np.int64), np.empty((POINTS, m), np.int64)
    low_mins, high_mins = np.empty(POINTS, np.int64), np.empty(POINTS, np.int64)
    # The same with leaves that may lack 2^k - 1 of the `least` rows, for each level k; and those of one cut.
    low_held, high_held = np.empty((POINTS, levels), np.int64), np.empty((POINTS, levels), np.int64)
    held = np.empty((2, levels), np.int64)
    at_cut, at_weight, users = np.empty(POINTS, np.int64), np.empty(POINTS, np.int64), np.empty(POINTS, np.int64)
    stack = np.empty((POINTS, 4), np.int64)
    starts, cut_weight, cut_rows = np.empty(n + 1, np.int32), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    starts[0] = cut_weight[0] = cut_rows[0] = 0
    entry, now = np.empty(n, np.uint32), np.zeros(m + 1, np.int64)
    left_out = np.zeros(m, np.bool_)
    scanned, point = np.zeros(m, np.int64), 0  # the number of the cut at which each column was scanned last
    for _ in range(m):
        if price >= best or told[0] != 0:
            break
        j = -1  # the column of the least remaining stump; numba takes seconds to compile a sort
        for g in range(m):
            if not left_out[g] and (j < 0 or stump[g] < stump[j]):
                j = g
        left_out[j] = True
        if SHORTCUTS and rare[j]:  # a side costs at least the cost of the node minus the weight of the other side
            w = rare_weight[j]
            if max(0, least_stump - w) + max(0, least_stump - (weight - w)) >= best - price:
                continue
        f = column[j]
        b = cuts_of(order[f], local, cap, number, entry, starts, cut_weight, cut_rows)
        for g in range(m + 1):  # at first, the sums are over no entries
            now[g] = 0
        for i in range(len(sums)):
            sums[i] = 0
        if SHORTCUTS and n_rare:
            rare_left[:] = 0
            rare_save_left[:] = 0
            rare_now = np.int64(0)
        users[:] = 0
        side[:] = 0
        save_left[:] = 0
        for g in range(m):
            low[0, g] = 0
            high[0, g] = stump[g]
            low[1, g] = stump[g]
            high[1, g] = 0
        low_mins[0], high_mins[0], at_cut[0], at_weight[0] = 0, least_stump, 0, 0
        low_mins[1], high_mins[1], at_cut[1], at_weight[1] = least_stump, 0, b, weight
        for k in range(levels):
            low_held[0, k], high_held[0, k], low_held[1, k], high_held[1, k] = 0, least_stump, least_stump, 0
        users[0] = users[1] = 1
        a, z = 1, b - 1
        while a <= z and cut_rows[a] < least:
            a += 1
        while a <= z and rows - cut_rows[z] < least:
            z -= 1
        # Cuts up to `pure` have no loss on their left side, and cuts from `pure_right` on have none on their right
        # side. All other sides lose the least gain or more.
        pure, pure_right, looked = b, 0, single and best - price <= PURE * loss
        if looked:
            if SHORTCUTS and LABELS and n_grouped and len(block) == 0:
                block = blocks_of(order, column[:m], local)
            pure = separable(
                entry, lab, own, block if SHORTCUTS and LABELS and n_grouped else place, starts, b, m, np.bool_(False)
            )
            pure_right = separable(
                entry, lab, own, block if SHORTCUTS and LABELS and n_grouped else place, starts, b, m, np.bool_(True)
            )
            if pure < pure_right and loss >= best - price:
                continue
            pure, pure_right = min(pure, b - 1), max(pure_right, 1)
        looked = looked and price == 0 and least <= 1
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = a, z, 0, 1
        top = 1
        while top > 0 and told[0] == 0:
            top -= 1
            a, z, lo, hi = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            part = cut_weight[at_cut[hi]] - cut_weight[at_cut[lo]]
            target = best - price
            some, some_right = loss if a > pure else 0, loss if z < pure_right else 0
            grown, grown_right = low_mins[lo], high_mins[hi]
            if LABELS and least > 1:  # without the rows between two cuts, leaves lack at most these
                k = level_of(cut_rows[z] - cut_rows[at_cut[lo]])
                if k < levels:
                    grown = max(grown, low_held[lo, k])
                k = level_of(cut_rows[at_cut[hi]] - cut_rows[a])
                if k < levels:
                    grown_right = max(grown_right, high_held[hi, k])
            up = max(some, grown) + max(some_right, grown_right)
            down = low_held[hi, 0] + high_held[lo, 0] - part
            # Without a price, the last cut that is pure on its left side is at least as good as the cuts before it, and
            # the first one that is pure on its right side as the cuts behind it.
            worse = looked and (z < pure or a > pure_right)
            if up >= target or down >= target or worse:
                users[lo] -= 1
                users[hi] -= 1
                continue
            one, two = grown + high_held[lo, 0], low_held[hi, 0] + grown_right
            while a <= z and one - (cut_weight[a] - at_weight[lo]) >= target:
                a += 1
            while a <= z and two - (at_weight[hi] - cut_weight[z]) >= target:
                z -= 1
            if a > z:
                users[lo] -= 1
                users[hi] -= 1
                continue
            c = (a + z) >> 1
            if looked:
                c = pure if a <= pure <= z else pure_right if a <= pure_right <= z else c
            w = cut_weight[c]
            new = 0
            while users[new] > 0:
                new += 1
            left_less, right_less = at_weight[hi] - w, w - at_weight[lo]
            most_left, most_right = NEVER, NEVER
            for g in range(m):
                l = max(low[lo, g], low[hi, g] - left_less)
                r = max(high[hi, g], high[lo, g] - right_less)
                low[new, g] = l
                high[new, g] = r
                most_left = min(most_left, l)
                most_right = min(most_right, r)
            held[:] = 0
            if most_left + most_right < target:
                at_left, _ = least_at(low[new])
                at_right, _ = least_at(high[new])
                if LABELS and lines:
                    for i in range(starts[now[m]], starts[c]):
                        e = entry[i]
                        side[e] = 1
                        save_left[kind[e]] += amount[e]
                    for i in range(starts[c], starts[now[m]]):
                        e = entry[i]
                        side[e] = 0
                        save_left[kind[e]] -= amount[e]
                    now[m] = c
                kept, kept_right = NEVER, NEVER
                if LABELS and least > 1:
                    held[:] = NEVER
                some_open = False
                point += 1
                if LABELS and lines:
                    open_l[:] = False
                    open_r[:] = False
                for t in range(FIRST + m):
                    # The columns of least bounds come first: as these bounds rise, fewer other columns are needed.
                    g = t - FIRST
                    if t < FIRST:
                        if most_left + most_right >= target:
                            break
                        g = at_right if t & 1 else at_left
                    if scanned[g] == point:
                        continue
                    if low[new, g] + most_right >= target and most_left + high[new, g] >= target:
                        continue
                    scans += 1
                    scanned[g] = point
                    if LABELS and by_entry[g]:
                        l, r = scan_entries(
                            line[g],
                            line_lab[g],
                            line_gain[g],
                            number,
                            side,
                            labels,
                            save_left,
                            save_whole,
                            w,
                            weight,
                            cut_rows[c],
                            rows,
                            price,
                            least,
                            lacking,
                            both,
                            peak,
                        )
                        k, q = l, r
                    elif SHORTCUTS and rare[g]:
                        if rare_now != c:
                            move_rare(
                                rare_left,
                                rare_whole,
                                rare_save_left,
                                rare_save,
                                rare_first,
                                rare_held,
                                entry,
                                lab,
                                own,
                                starts,
                                rare_now,
                                c,
                            )
                            rare_now = c
                        l = k = cost_rare(rare_left[g], nothing, rare_save_left, nothing, w, price)
                        r = q = cost_rare(rare_whole[g], rare_left[g], rare_save, rare_save_left, weight - w, price)
                    elif SHORTCUTS and LABELS and grouped[g]:
                        among = slice(first[g], first[g + 1])
                        move_cut(sums[among], whole[among], labels, 1, place[g], entry, kind, amount, starts, now[g], c)
                        now[g] = c
                        l, r, k, q = scan_groups(
                            sums[among], whole[among], inner[g], save_left, save_whole, w, weight, price, room
                        )
                        open_l[g], open_r[g] = l < k, r < q
                        some_open = some_open or l < k or r < q
                        l, r = max(l, low[new, g]), max(r, high[new, g])
                    else:
                        among = slice(first[g], first[g + 1])
                        move_cut(
                            sums[among],
                            whole[among],
                            1,
                            blocks[g] if stride > 1 else 0,
                            place[g],
                            entry,
                            lab,
                            own,
                            starts,
                            now[g],
                            c,
                        )
                        now[g] = c
                        if not LABELS or stride == 1:
                            l, r = scan_two(sums[among], upto[among], w, weight, price, prefix)
                        else:
                            l, r = scan_labels(
                                sums[among],
                                upto[among],
                                blocks[g],
                                save_left,
                                save_whole,
                                w,
                                weight,
                                price,
                                prefix,
                                saved,
                            )
                        k, q = l, r
                    low[new, g] = l
                    high[new, g] = r
                    if LABELS and least > 1 and by_entry[g]:
                        lower(held, lacking)
                        kept, kept_right = held[0, 0], held[1, 0]
                    elif LABELS and least > 1:
                        open_l[g] = open_r[g] = True
                    else:
                        kept, kept_right = min(kept, k), min(kept_right, q)
                    if t < FIRST:
                        at_left, most_left = least_at(low[new])
                        at_right, most_right = least_at(high[new])
                # Where leaves need a number of rows, the sums bound the costs. Columns are scanned by entry until the
                # cut is not part of a better tree. If the costs may close an interval next to it, columns are scanned
                # until no other one can have the least costs.
                near = min(cut_rows[c] - cut_rows[at_cut[lo]], cut_rows[at_cut[hi]] - cut_rows[c]) <= least
                while LABELS and least > 1:
                    g, j = least_open(low[new], open_l, kept), least_open(high[new], open_r, kept_right)
                    some = low[new, g] if g >= 0 else kept
                    some_right = high[new, j] if j >= 0 else kept_right
                    closes = kept < NEVER and kept + kept_right - target >= min(left_less, right_less)
                    if (g < 0 and j < 0) or (some + some_right >= target and not near and not closes):
                        break
                    g = j if g < 0 else g
                    l, r = scan_entries(
                        line[g],
                        line_lab[g],
                        line_gain[g],
                        number,
                        side,
                        labels,
                        save_left,
                        save_whole,
                        w,
                        weight,
                        cut_rows[c],
                        rows,
                        price,
                        least,
                        lacking,
                        both,
                        peak,
                    )
                    open_l[g] = open_r[g] = False
                    low[new, g], high[new, g] = max(l, low[new, g]), max(r, high[new, g])
                    lower(held, lacking)
                    kept, kept_right = held[0, 0], held[1, 0]
                if LABELS and least > 1:
                    for g in range(m):
                        if scanned[g] != point or open_l[g]:  # it bounds the costs at all levels
                            lacking[0], lacking[1] = low[new, g], high[new, g]
                            lower(held, lacking)
                most_left, most_right = NEVER, NEVER
                for g in range(m):
                    most_left = min(most_left, low[new, g])
                    most_right = min(most_right, high[new, g])
                # Columns that are only bounded by groups are evaluated exactly if they may have the least costs.
                while SHORTCUTS and LABELS and some_open and least <= 1:
                    some = max(0, most_left + most_right - target) // NEAR
                    g, wanted = least_open(low[new], open_l, kept - some), np.int64(1)
                    if g < 0:
                        g, wanted = least_open(high[new], open_r, kept_right - some), np.int64(0)
                    if g < 0:
                        break
                    for k in range(labels):
                        save_right[k] = save_whole[k] - save_left[k]
                    among = slice(first[g], first[g + 1])
                    l = settle_groups(
                        sums[among],
                        whole[among],
                        inner[g],
                        ends[g],
                        line[g],
                        line_lab[g],
                        line_gain[g],
                        side,
                        wanted,
                        save_left if wanted else save_right,
                        w if wanted else weight - w,
                        price,
                        upto_group,
                        gone,
                        peak[0],
                    )
                    if wanted:
                        open_l[g], low[new, g], kept = False, l, min(kept, l)
                        most_left = NEVER
                        for j in range(m):
                            most_left = min(most_left, low[new, j])
                    else:
                        open_r[g], high[new, g], kept_right = False, l, min(kept_right, l)
                        most_right = NEVER
                        for j in range(m):
                            most_right = min(most_right, high[new, j])
                if kept + kept_right < target:
                    best, best_column, best_cut = price + kept + kept_right, f, c
                    told[1], told[2], told[3] = best, best_column, best_cut
            low_mins[new], high_mins[new], at_cut[new], at_weight[new] = most_left, most_right, c, w
            for k in range(levels):
                low_held[new, k] = max(most_left, held[0, k], low_held[hi, k] - left_less)
                high_held[new, k] = max(most_right, held[1, k], high_held[lo, k] - right_less)
            users[new] = 2
            one = max(low_mins[lo] + most_right, most_left + high_mins[lo] - (w - at_weight[lo]))
            two = max(most_left + high_mins[hi], low_mins[hi] + most_right - (at_weight[hi] - w))
            below = top + 1 if one <= two else top
            above = 2 * top + 1 - below
            stack[below, 0], stack[below, 1], stack[below, 2], stack[below, 3] = a, c - 1, lo, new
            stack[above, 0], stack[above, 1], stack[above, 2], stack[above, 3] = c + 1, z, new, hi
            top += 2
    return best, best_column, best_cut, scans


KERNELS = {  # the compiled variants, by (LABELS, SHORTCUTS)
    (True, True): depth_two,
    (True, False): depth_two.with_constants(SHORTCUTS=False),
    (False, True): depth_two.with_constants(LABELS=False),
    (False, False): depth_two.with_constants(LABELS=False, SHORTCUTS=False),
}


def kernel_for(order: np.ndarray, stride: int, least: int) -> Kernel:
    """Return `depth_two` for the nodes of a table, compiled with only the features that these nodes need."""
    labels = stride > 1 or least > 1
    shortcuts = labels and order.shape[1] >= SHORTCUT_ENTRIES
    if not shortcuts and len(order) >= SEVERAL:
        shortcuts = sum(np.count_nonzero(line & 1) == 2 for line in order) >= SEVERAL
    return KERNELS[labels, shortcuts]
