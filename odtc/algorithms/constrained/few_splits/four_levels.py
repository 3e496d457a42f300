"""The least weighted cost of trees over few splits, as plain loops that numba compiles.

Rows with the same outcomes for all of these splits are one pattern; under a limit on columns there are few of them,
however many rows there are. The splits of a column divide its patterns into cells: a split is described by the cells
with outcome 1, as changes from the split before it. One table of sums over pairs of cells gives the leaves of all
pairs of splits:

    best(S, 0) = leaf(S),    best(S, h) = min(leaf(S), price + min over splits g of best(S, g = 0) + best(S, g = 1))

with h one less on both sides. A split is skipped if the cheapest labels of its sides, chosen row by row, cost too
much. Sums are whole numbers in float64.
"""

import numpy as np

from odtc.base.kernels import kernel


def leaf_of(sums, beside, least):
    """Return the minimum cost of a leaf with these sums, compared with its rows with label 0; infinite if no label is
    allowed."""
    best, K = np.inf, len(beside)
    for k in range(K):
        may = True
        for h in range(least.shape[0]):
            if sums[K - 1 + h] < least[h, k]:
                may = False
        if may:
            best = min(best, beside[k] + (sums[k - 1] if k > 0 else 0.0))
    return best


def add_flips(sums, cells, begin, test, turn, flips):
    """Add the changes of this split to the sums of the cells with outcome 1 for the split before; the sums of the
    cells of its column are at `begin` and after it."""
    for u in range(turn[test], turn[test + 1]):
        for v in range(len(sums)):
            sums[v] += flips[u, 1] * cells[begin + flips[u, 0], v]


def part(answers, members, n, low, lists, sizes, lows):
    """Write the first n of some patterns into two lists by their outcomes, with the size and sum of `low` of each."""
    sizes[:] = 0
    lows[:] = 0.0
    for j in range(n):
        i = members[j]
        side = 1 if answers[i] else 0
        lists[side, sizes[side]] = i
        sizes[side] += 1
        lows[side] += low[i]


def two_levels(cell, value, members, n, at, first, turn, flips, beside, least, price, table, run, ones, own, chosen):
    """Return the least cost of a subtree of at most two levels on some patterns.

    Parameters
    ----------
    cell : int64 (columns, patterns), the cell of each pattern, from 0 in each column
    value : float64 (patterns, labels - 1 + conditions)
        The additional cost of each label compared with label 0, and the measure of each condition on leaves.
    members, n : int64 (patterns,), int
        The patterns are the first n of `members`.
    at, first : int64 (columns + 1,), where the cells and the splits of each column begin
    turn : int64 (tests + 1,), where the flips of each split begin
    flips : int64 (flips, 2), a cell, and 1 or -1: together with all before it in its column they give the cells with
        outcome 1 of a split
    beside : float64 (labels,), the cost of a leaf in addition to its rows
    least : float64 (conditions, labels)
    price : float, penalty of a branch node
    table, run, ones, own : float64, written: (cells of a column, cells, sums), (cells, sums), (tests, sums + 2),
        (5, sums)
    chosen : int64 (1,), written: the split at the root of the best subtree; -1 for a leaf
    """
    C, V, K = cell.shape[0], value.shape[1], len(beside)
    every, p, q, r, t = own[0], own[1], own[2], own[3], own[4]
    every[:] = 0.0
    run[:] = 0.0
    for j in range(n):
        i = members[j]
        for v in range(V):
            every[v] += value[i, v]
        for b in range(C):
            x = at[b] + cell[b, i]
            for v in range(V):
                run[x, v] += value[i, v]
    best = leaf_of(every, beside, least)
    chosen[0] = -1
    # For each split the sums of the rows with outcome 1, and the least costs on the sides 0 and 1: leaves at first.
    for b in range(C):
        p[:] = 0.0
        for h in range(first[b], first[b + 1]):
            add_flips(p, run, at[b], h, turn, flips)
            for v in range(V):
                ones[h, v] = p[v]
                q[v] = every[v] - p[v]
            ones[h, V], ones[h, V + 1] = leaf_of(q, beside, least), leaf_of(p, beside, least)
    # Two labels and one number that every leaf counts, or none, are the common case.
    plain = K == 2 and (least.shape[0] == 0 or (least.shape[0] == 1 and least[0, 0] == least[0, 1]))
    limit = least[0, 0] if plain and least.shape[0] == 1 else -np.inf
    c = 1 if V > 1 else 0  # without a condition the label's own sums are used, above a limit of -inf
    x0, x1 = beside[0], beside[K - 1]
    for a in range(C):
        table[: at[a + 1] - at[a]] = 0.0
        for j in range(n):
            i = members[j]
            here = table[cell[a, i]]
            for b in range(a, C):
                x = at[b] + cell[b, i]
                for v in range(V):
                    here[x, v] += value[i, v]
        run[:] = 0.0
        for g in range(first[a], first[a + 1]):
            for u in range(turn[g], turn[g + 1]):
                sign, flipped = flips[u, 1], table[flips[u, 0]]
                for x in range(at[a], at[C]):
                    for v in range(V):
                        run[x, v] += sign * flipped[x, v]
            zero, one = ones[g, V], ones[g, V + 1]
            R, N = ones[g, 0], ones[g, c]
            L, M = every[0] - R, every[c] - N
            for b in range(a, C):
                if plain:
                    s, m = 0.0, 0.0
                    for h in range(first[b], first[b + 1]):
                        for u in range(turn[h], turn[h + 1]):
                            x = at[b] + flips[u, 0]
                            s += flips[u, 1] * run[x, 0]
                            m += flips[u, 1] * run[x, c]
                        t0, t1 = ones[h, 0] - s, ones[h, c] - m
                        yes = min(x0, s + x1) if m >= limit else np.inf
                        yes_no = min(x0, R - s + x1) if N - m >= limit else np.inf
                        no_yes = min(x0, t0 + x1) if t1 >= limit else np.inf
                        no = min(x0, L - t0 + x1) if M - t1 >= limit else np.inf
                        zero, one = min(zero, price + no_yes + no), min(one, price + yes + yes_no)
                        ones[h, V] = min(ones[h, V], price + yes_no + no)
                        ones[h, V + 1] = min(ones[h, V + 1], price + yes + no_yes)
                else:
                    p[:] = 0.0
                    for h in range(first[b], first[b + 1]):
                        add_flips(p, run, at[b], h, turn, flips)
                        for v in range(V):
                            q[v], r[v] = ones[g, v] - p[v], ones[h, v] - p[v]
                            t[v] = every[v] - ones[g, v] - r[v]
                        yes, yes_no = leaf_of(p, beside, least), leaf_of(q, beside, least)
                        no_yes, no = leaf_of(r, beside, least), leaf_of(t, beside, least)
                        zero, one = min(zero, price + no_yes + no), min(one, price + yes + yes_no)
                        ones[h, V] = min(ones[h, V], price + yes_no + no)
                        ones[h, V + 1] = min(ones[h, V + 1], price + yes + no_yes)
            ones[g, V], ones[g, V + 1] = min(ones[g, V], zero), min(ones[g, V + 1], one)
    for g in range(len(ones)):
        if price + ones[g, V] + ones[g, V + 1] < best:
            best = price + ones[g, V] + ones[g, V + 1]
            chosen[0] = g
    return best


def three_levels(
    answer, low, rest, cell, value, members, n, at, first, turn, flips, beside, least, price, table, run, ones, own,
    lists, chosen, most,
):  # fmt: skip
    """Return the least cost of a subtree of at most three levels on some patterns, or `most` if that is less.

    Parameters
    ----------
    answer : bool (tests, patterns), the outcomes
    low : float64 (patterns,), the minimum of 0 and of the additional costs of the labels compared with label 0
    rest : float64 (4,), the minimum cost, in addition to its rows, of the leaves and branch nodes of a subtree by its
        number of levels
    lists : int64 (2, patterns), written
    most : float
    Others as for two_levels.
    """
    V, below, root = value.shape[1], 0.0, -1
    every = own[0]
    every[:] = 0.0
    for j in range(n):
        below += low[members[j]]
        for v in range(V):
            every[v] += value[members[j], v]
    best = min(most, leaf_of(every, beside, least))
    sizes, lows = np.empty(2, np.int64), np.empty(2)
    for g in range(answer.shape[0]):
        if price + below + 2.0 * rest[2] >= best:
            break
        part(answer[g], members, n, low, lists, sizes, lows)
        total = 0.0
        for side in range(2):
            total += two_levels(
                cell, value, lists[side], sizes[side], at, first, turn, flips, beside, least, price, table, run, ones,
                own, chosen,
            )  # fmt: skip
            if side == 0 and price + total + lows[1] + rest[2] >= best:
                total = np.inf
                break
        if price + total < best:
            best, root = price + total, g
    chosen[0] = root
    return best


@kernel
def below_roots(
    answer, low, rest, cell, value, at, first, turn, flips, beside, least, price, levels, roots, most, out, chosen
):
    """Write the least cost of the two subtrees below each of some root splits, or at least `most` if that is less.

    Parameters
    ----------
    levels : int, 2 or 3, of each subtree
    roots : int64 (roots,)
    most : float
    out : float64 (roots,), written
    chosen : int64 (roots, 2), written: the first split of each subtree; -1 for a leaf, or if it costs too much
    Others as for three_levels.
    """
    C, V, m = cell.shape[0], value.shape[1], cell.shape[1]
    wide = 1
    for a in range(C):
        wide = max(wide, at[a + 1] - at[a])
    table, run = np.empty((wide, at[C], V)), np.empty((at[C], V))
    ones, own, best = np.empty((answer.shape[0], V + 2)), np.empty((5, V)), np.empty(1, np.int64)
    members, lists, all_patterns = np.empty((2, m), np.int64), np.empty((2, m), np.int64), np.arange(m)
    sizes, lows = np.empty(2, np.int64), np.empty(2)
    for place in range(len(roots)):
        part(answer[roots[place]], all_patterns, m, low, members, sizes, lows)
        total = 0.0
        for side in range(2):
            other = total if side else lows[1] + rest[levels]
            if levels == 3:
                total += three_levels(
                    answer, low, rest, cell, value, members[side], sizes[side], at, first, turn, flips, beside, least,
                    price, table, run, ones, own, lists, best, most - other,
                )  # fmt: skip
            else:
                total += two_levels(
                    cell, value, members[side], sizes[side], at, first, turn, flips, beside, least, price, table, run,
                    ones, own, best,
                )  # fmt: skip
            chosen[place, side] = best[0]
            if side == 0 and total + lows[1] + rest[levels] >= most:
                total += lows[1] + rest[levels]
                chosen[place, 1] = -1
                break
        out[place] = total
