r"""The best trees of height 3 and 4 over binary splits: sums over triples of splits, and a search above them.

Plain functions of arrays, which numba compiles (odtc.base.kernels). T_k[f, g, h], the saving of
label k on the entries with outcome 1 for f, g and h, and the sums over pairs and single splits (as in
odtc.algorithms.thresholds.binary_nodes) determine every tree of height 3: the sums p over the entries of a cell with
outcome 1 for h, for the four cells of f and g, are

    (1, 1): T[f, g, h]   (1, 0): P[f, h] - T   (0, 1): P[g, h] - T   (0, 0): S[h] - P[f, h] - P[g, h] + T

and with two labels a split h saves max(|s|, |2 p - s|) on a cell with the sum s, so only the largest and the least p
over all h matter. With two labels, savings count twice: a tree costs (weight - saving) / 2, and a branch node 2 price.
Trees of height 4 are searched split by split; the cost of a set of entries bounds the cost of any other one,

    V(B) >= V(A) - w(A \ B),

because a tree for B is one for A, on which the entries that B lacks cost no more than their weight.
"""

import numpy as np

from odtc.base.kernels import kernel

TABLE = 2**27  # maximum bytes of the sums over triples of splits, which are stored at once


def triples(entries, n, first, column, label, gain, stride, place, m, room):
    """Return the sums over triples, pairs and single splits, of some entries.

    Parameters
    ----------
    entries : int32, of which the first n count
    first, column : int64 (all entries + 1,), int32; entry e answers 1 to column[first[e] : first[e + 1]], rising
    label, gain : as in RankedRows, of all entries; int32
    stride : int, labels
    place : the number of each column among the m that count, -1 for others
    room : int32, at least stride m³

    Returns
    -------
    table : int32 (stride, m, m, m), whole for f < g
    pairs : int32 (stride, m, m)
    total : int32 (stride,)
    """
    table = room[: stride * m * m * m].reshape((stride, m, m, m))
    table[:] = 0
    pairs, total = np.zeros((stride, m, m), np.int32), np.zeros(stride, np.int32)
    own = np.empty(m, np.int32)
    for i in range(n):
        e = entries[i]
        v, k, size = gain[e], label[e], 0
        for x in range(first[e], first[e + 1]):
            p = place[column[x]]
            if p >= 0:
                own[size] = p
                size += 1
        total[k] += v
        for x in range(size):
            a = own[x]
            pairs[k, a, a] += v
            for y in range(x + 1, size):
                b = own[y]
                pairs[k, a, b] += v
                line = table[k, a, b]
                for z in range(y + 1, size):
                    line[own[z]] += v
    for k in range(stride):
        for f in range(m):
            for g in range(f + 1, m):
                pairs[k, g, f] = pairs[k, f, g]
        for f in range(m):
            for g in range(f + 1, m):
                line = table[k, f, g]
                for h in range(f):
                    line[h] = table[k, h, f, g]
                for h in range(f + 1, g):
                    line[h] = table[k, f, h, g]
                line[f] = line[g] = pairs[k, f, g]
    return table, pairs, total


def best_pairs(table, pairs, total, toll):
    """Return the savings of trees of depth 2 on both sides of each split, int64 (2, m): outcome 0, and outcome 1.

    Parameters
    ----------
    table, pairs, total : as in `triples`
    toll : int, the reduction of a saving by a branch node
    """
    stride, m = pairs.shape[0], pairs.shape[1]
    best = np.zeros((2, m), np.int64)
    up, down = np.empty((4, m), np.int32), np.empty((4, m), np.int32)
    cell, one = np.zeros(4, np.int64), np.zeros(4, np.int64)
    single = np.empty(m, np.int32)
    for f in range(m):
        for g in range(f + 1, m):
            if stride == 1:
                for h in range(m):
                    single[h] = pairs[0, h, h]
                s = pairs[0, f, g]
                cell[0], cell[1], cell[2] = s, single[f] - s, single[g] - s
                cell[3] = total[0] - single[f] - single[g] + s
                line, of_f, of_g = table[0, f, g], pairs[0, f], pairs[0, g]
                a = b = c = d = np.int32(-(1 << 30))
                p = q = r = t = np.int32(1 << 30)
                for h in range(m):
                    v = line[h]
                    w, x = np.int32(of_f[h] - v), np.int32(of_g[h] - v)
                    y = np.int32(single[h] - of_f[h] - x)
                    a, b, c, d = max(a, v), max(b, w), max(c, x), max(d, y)
                    p, q, r, t = min(p, v), min(q, w), min(r, x), min(t, y)
                one[0] = max(2 * np.int64(a) - cell[0], cell[0] - 2 * np.int64(p))
                one[1] = max(2 * np.int64(b) - cell[1], cell[1] - 2 * np.int64(q))
                one[2] = max(2 * np.int64(c) - cell[2], cell[2] - 2 * np.int64(r))
                one[3] = max(2 * np.int64(d) - cell[3], cell[3] - 2 * np.int64(t))
                for j in range(4):
                    one[j] = max(abs(cell[j]), one[j] - toll)
            else:
                one[:] = 0
                up[:] = 0
                down[:] = 0
                for k in range(stride):
                    s = pairs[k, f, g]
                    s1, s2 = np.int32(pairs[k, f, f] - s), np.int32(pairs[k, g, g] - s)
                    s3 = np.int32(total[k] - pairs[k, f, f] - s2)
                    one[0], one[1], one[2], one[3] = max(one[0], s), max(one[1], s1), max(one[2], s2), max(one[3], s3)
                    line, of_f, of_g = table[k, f, g], pairs[k, f], pairs[k, g]
                    for h in range(m):
                        v = line[h]
                        w, x = np.int32(of_f[h] - v), np.int32(of_g[h] - v)
                        y = np.int32(pairs[k, h, h] - of_f[h] - x)
                        up[0, h], down[0, h] = max(up[0, h], v), max(down[0, h], np.int32(s - v))
                        up[1, h], down[1, h] = max(up[1, h], w), max(down[1, h], np.int32(s1 - w))
                        up[2, h], down[2, h] = max(up[2, h], x), max(down[2, h], np.int32(s2 - x))
                        up[3, h], down[3, h] = max(up[3, h], y), max(down[3, h], np.int32(s3 - y))
                for j in range(4):
                    most = np.int32(0)
                    for h in range(m):
                        most = max(most, np.int32(up[j, h] + down[j, h]))
                    one[j] = max(one[j], most - toll)
            best[1, f] = max(best[1, f], one[0] + one[1] - toll)
            best[0, f] = max(best[0, f], one[2] + one[3] - toll)
            best[1, g] = max(best[1, g], one[0] + one[2] - toll)
            best[0, g] = max(best[0, g], one[1] + one[3] - toll)
    for f in range(m):
        right, left = np.int64(0), np.int64(0)
        if stride == 1:
            right, left = abs(np.int64(pairs[0, f, f])), abs(np.int64(total[0]) - pairs[0, f, f])
        else:
            for k in range(stride):
                right, left = max(right, np.int64(pairs[k, f, f])), max(left, np.int64(total[k]) - pairs[k, f, f])
        best[1, f], best[0, f] = max(best[1, f], right), max(best[0, f], left)
    return best


@kernel
def two_levels(entries, first, column, label, gain, stride, toll, F):
    """Return `best_pairs` of some entries and all columns; the parameters are those of `triples`."""
    every, room = np.arange(F).astype(np.int32), np.empty(stride * F * F * F, np.int32)
    table, pairs, total = triples(entries, len(entries), first, column, label, gain, stride, every, F, room)
    return best_pairs(table, pairs, total, toll)


def most_saved(total):
    """Return the largest saving of a leaf; with two labels either one, with one sum for both.

    Parameters
    ----------
    total : int32 (labels,), as in `triples`
    """
    saved = np.int64(abs(total[0])) if len(total) == 1 else np.int64(0)
    for k in range(len(total)):
        saved = max(saved, np.int64(total[k]))
    return saved


def columns_of(entries, n, first, column, F):
    """Return (the columns that separate the entries, the number of each column among them or -1)."""
    ones = np.zeros(F, np.int64)
    for i in range(n):
        for x in range(first[entries[i]], first[entries[i] + 1]):
            ones[column[x]] += 1
    active, place, m = np.empty(F, np.int32), np.full(F, -1, np.int32), 0
    for f in range(F):
        if 0 < ones[f] < n:
            active[m], place[f] = f, m
            m += 1
    return active[:m], place


@kernel
def height_three(entries, n, first, column, label, gain, most, stride, price, F, room, saves):
    """Return (cost, column) of the best tree of height 3; column -1 if it is a leaf. `saves` (F,) receives the
    saving of the best one with each first split, counted as above; 0 if the split separates nothing."""
    active, place = columns_of(entries, n, first, column, F)
    m, toll = len(active), 2 * price if stride == 1 else price
    table, pairs, total = triples(entries, n, first, column, label, gain, stride, place, m, room)
    best = best_pairs(table, pairs, total, toll)
    whole = np.int64(0)
    for i in range(n):
        whole += most[entries[i]]
    saved, test = most_saved(total), -1
    saves[:] = 0
    for f in range(m):
        both = best[0, f] + best[1, f] - toll
        saves[active[f]] = both
        if both > saved:
            saved, test = both, active[f]
    return (whole - saved) >> 1 if stride == 1 else whole - saved, test


def known_three(entries, n, first, column, label, gain, most, stride, price, F, room, keys, costs):
    """Return the cost of the best tree of height 3, which is stored by the set of the entries.

    `keys` is uint64 (slots, words), `costs` int64 (slots,), -1 if the slot is free; a set takes the place of another.
    """
    words = keys.shape[1]
    key = np.zeros(words, np.uint64)
    for i in range(n):
        key[entries[i] >> 6] |= np.uint64(1) << np.uint64(entries[i] & 63)
    mixed = np.uint64(1469598103934665603)
    for w in range(words):
        mixed = (mixed ^ key[w]) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed % np.uint64(keys.shape[0]))
    if costs[slot] >= 0:
        same = True
        for w in range(words):
            same = same and keys[slot, w] == key[w]
        if same:
            return costs[slot]
    saves = np.empty(F, np.int64)
    cost, _ = height_three(entries, n, first, column, label, gain, most, stride, price, F, room, saves)
    for w in range(words):
        keys[slot, w] = key[w]
    costs[slot] = cost
    return cost


@kernel
def height_four(entries, first, column, answer, label, gain, most, stride, price, need, room, keys, costs):
    """Find the best tree of height 4 on some entries, if it costs less than `need`.

    Parameters
    ----------
    entries : int32 (n,)
    first, column, label, gain, stride, room : as of `triples`
    answer : bool (columns, all entries), the same answers as `column` has
    most : int64 (all entries,), price : int, as in RankedRows
    keys, costs : as of `known_three`

    Returns
    -------
    cost : int, of the best tree; if none costs less than `need`, a bound of at least that
    test : int, its first test; -1 for a leaf, -2 for the tree of height 3, -3 if none costs less than `need`
    sets : int, for how many sets of entries trees of height 3 were sought
    """
    n, F = len(entries), answer.shape[0]
    active, place = columns_of(entries, n, first, column, F)
    m, toll = len(active), 2 * price if stride == 1 else price
    table, pairs, total = triples(entries, n, first, column, label, gain, stride, place, m, room)
    saved = best_pairs(table, pairs, total, toll)
    # The weight of the entries with outcome 1 for two splits.
    weight, whole = np.zeros((m, m), np.int64), np.int64(0)
    own = np.empty(m, np.int64)
    for i in range(n):
        e, size = entries[i], 0
        whole += most[e]
        for x in range(first[e], first[e + 1]):
            if place[column[x]] >= 0:
                own[size] = place[column[x]]
                size += 1
        for x in range(size):
            for y in range(size):
                weight[own[x], own[y]] += most[e]
    shift = 1 if stride == 1 else 0
    leaf = (whole - most_saved(total)) >> shift
    both = saved[0] + saved[1]
    three, sets = leaf, 1
    for f in range(m):
        three = min(three, (whole + toll - both[f]) >> shift)
    best, test = need, -3
    if leaf < best:
        best, test = leaf, -1
    if three < best:
        best, test = three, -2
    low = np.zeros((2, m), np.int64)
    for f in range(m):
        low[0, f] = max(np.int64(0), three - weight[f, f])
        low[1, f] = max(np.int64(0), three - (whole - weight[f, f]))
    side = np.empty((2, n), np.int32)
    size = np.zeros(2, np.int64)
    bound = three
    left_out = np.zeros(m, np.bool_)
    for _ in range(m):
        f = -1  # the split with the largest saving among the remaining ones; numba takes seconds to compile a sort
        for g in range(m):
            if not left_out[g] and (f < 0 or both[g] > both[f]):
                f = g
        left_out[f] = True
        if price + low[0, f] + low[1, f] < best:
            size[:] = 0
            for i in range(n):
                s = 1 if answer[active[f], entries[i]] else 0
                side[s, size[s]] = entries[i]
                size[s] += 1
            turn = 0 if size[0] <= size[1] else 1
            for s in (turn, 1 - turn):
                if price + low[0, f] + low[1, f] >= best:
                    break
                cost = known_three(
                    side[s], size[s], first, column, label, gain, most, stride, price, F, room, keys, costs
                )
                sets += 1
                low[s, f] = cost
                for g in range(m):
                    w11 = weight[f, g]
                    if s == 1:  # among entries with outcome 1 for f: the weight with outcome 1, and 0, for g
                        with_one, with_none = w11, weight[f, f] - w11
                    else:
                        with_one, with_none = weight[g, g] - w11, whole - weight[f, f] - weight[g, g] + w11
                    low[1, g] = max(low[1, g], cost - with_none)
                    low[0, g] = max(low[0, g], cost - with_one)
                low[s, f] = cost
            if price + low[0, f] + low[1, f] < best:
                best, test = price + low[0, f] + low[1, f], active[f]
    for f in range(m):
        bound = min(bound, price + low[0, f] + low[1, f])
    return (best, test, sets) if test > -3 else (max(bound, need), test, sets)
