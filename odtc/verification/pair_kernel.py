"""The check of depth 2 as plain loops over arrays, which numba compiles (odtc.base.kernels).

For a first column f, every evaluated cut has lower bounds l[g] and r[g] for each column g: bounds on the best tree with
at most one split, on g, on the left and on the right of the cut. Between two evaluated cuts the bounds of
odtc.verification.node_cuts are valid for each g. Only columns that could be part of a tree below the target are counted
from the rows. Each interval is halved until its bounds reach the target. The whole state is in arrays (`tables_of`), so
the check can be paused.

A tree for more rows is also a tree for fewer rows. So bounds at the evaluated cuts of one state are also valid for the
next state if that contains all rows of the first one. An interval is first divided at such a cut.

Consider neighbouring members that all gain under the same single label. A second split between two of them is never
better than a split before or after all of them: as members change sides, the saving by that label on one side grows by
their gains, and the greatest saving by a label on the other side is convex. So all these members form one block. A unit
is the sum for one block and one label under which it gains.
"""

import numpy as np

from odtc.base.kernels import kernel
from odtc.verification.node_cuts import Rows

SLOTS = 80  # maximum number of stored evaluated cuts; few are needed, because intervals are halved
FIRST = 10  # columns that are counted first at a cut: in turn those of the least bounds on its left and on its right
NOTED = 64  # maximum number of cuts of a column whose bounds are kept for the next state, and
NUMBERS = 1 << 21  # maximum number of these bounds in total
PAUSED = -1  # returned in place of a cost
NARROW = 2**30  # total cost of rows below which sums have 32 bits, of which a processor compares more at once
LISTED, BEGUN, COLUMN, TOP, HELD, OLD = range(6)  # positions in `at`
LAST, MIXED = 1, 2  # flags of a unit: the last of its block; of two labels, with rows that gain under either


def tables_of(rows: Rows) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the arrays that `least_pair` keeps between two calls, and the row of each entry, int64 (entries,).

    With two classes `gain` is the cost of label 0 above label 1, and all units have one label; otherwise each row has
    an entry for each label that costs less than its worst. Gains and their sums (`gain`, `own`, `whole`, `sums`,
    `upto`, `room`, `peak`) are int32 if all rows together cost less than NARROW.

    Returns
    -------
    gain, label, weigh : (entries,), as above; `weigh` is the largest cost of a row at its first entry, otherwise 0
    line : int32 (columns, entries), entries by rising rank, as entry << 1 | last, where last marks the last of a rank
    at : int64 (6,), whether units are listed, whether a state was begun, the first column, intervals on the stack, the
        entries of the state, and which of the two lists of evaluated cuts is the one of the state before
    ends : int64 (columns, 2), the first unit of each column and the first one behind it
    of_unit, flag : int32, uint8 (all units,), the label of a unit, and LAST and MIXED
    unit : uint32 (columns, entries), the unit of each entry
    own_ends, own_of_unit, own_flag, own_unit : the same of the state
    joined : int64 (all units,), the unit of the state of each unit, only for a while
    inside_before : uint8 (entries,), the entries of the state before
    entry, own : (entries,), the entries of the state in the order of the first column, and their gains
    whole, sums : (all units,), the gain of all entries of each unit, and of the first ones of `entry`
    now : int64 (columns,), how many entries that is for each column; -1 if the sums are of another first column
    upto : (all units,), the sums of `whole` over this unit and those before it in its column
    lower, minimum, weight : of evaluated cuts: slot 0 has all rows on the right, slot 1 all on the left, 2 + d is the
        cut at depth d
    cut_weight, cut_entries, cut_rank : int64 (entries + 1,), the largest cost of the rows left of each cut of the first
        column, how many entries they have, and the greatest rank among them
    stack : int64 (intervals, 5), first and last cut, evaluated cuts on either side, depth
    n_noted : int64 (2, columns), of the states before and now, the evaluated cuts whose bounds are kept
    noted_rank : int64 (2, columns, cuts), the greatest rank left of these
    noted : int64 (2, columns, cuts, 2, columns), their bounds
    noted_at : int64 (cuts,), where the cuts of the state before are in the first column
    room, peak : (labels, 2), (2, most units of a column), both only for a while
    """
    order, small = rows.columns.order, np.int32 if rows.most.sum() < NARROW else np.int64
    loss = rows.loss.astype(np.int64)
    most = loss.max(axis=1)
    if loss.shape[1] == 2:
        row, gain, n_labels = np.arange(len(loss)), loss[:, 0] - loss[:, 1], 1
        label = np.zeros(len(loss), np.int64)
    else:
        saved = most[:, None] - loss
        row, label = np.nonzero(saved)
        gain, n_labels = saved[row, label], loss.shape[1]
    begin = np.searchsorted(row, np.arange(len(loss) + 1))
    n, F = len(row), len(order)
    line = np.empty((F, n), np.int32)
    for f in range(F):
        held = np.diff(begin)[order[f]]
        entry = np.arange(n) + np.repeat(begin[order[f]] - (np.cumsum(held) - held), held)
        last = np.append(np.diff(rows.columns.rank[row[entry], f]) > 0, [True] * (n > 0))
        line[f] = entry << 1 | last
    weigh = np.where(begin[row] == np.arange(n), most[row], 0)
    ranks = rows.columns.rank.max(axis=0, initial=-1).astype(np.int64) + 1
    units = np.minimum(ranks * n_labels, max(n, 1))  # of each column
    n_units, noted = int(units.sum()), max(0, min(NOTED, NUMBERS // max(1, 4 * F * F)))
    zeros = lambda *shape: np.zeros(shape, np.int64)  # noqa: E731
    tables = dict(
        gain=gain.astype(small),
        label=label,
        weigh=weigh,
        line=line,
        at=zeros(6),
        ends=zeros(F, 2),
        of_unit=np.zeros(n_units, np.int32),
        flag=np.zeros(n_units, np.uint8),
        unit=np.empty((F, n), np.uint32),
        own_ends=zeros(F, 2),
        own_of_unit=np.zeros(n_units, np.int32),
        own_flag=np.zeros(n_units, np.uint8),
        own_unit=np.empty((F, n), np.uint32),
        joined=zeros(n_units),
        inside_before=np.zeros(n, np.uint8),
        entry=np.empty(n + 1, np.uint32),
        own=np.zeros(n + 1, small),
        whole=np.zeros(n_units, small),
        sums=np.zeros(n_units, small),
        now=zeros(F),
        upto=np.zeros(n_units, small),
        lower=zeros(2, SLOTS, F),
        minimum=zeros(2, SLOTS),
        weight=zeros(SLOTS),
        cut_weight=zeros(n + 1),
        cut_entries=zeros(n + 1),
        cut_rank=zeros(n + 1),
        stack=zeros(2 * SLOTS, 5),
        n_noted=zeros(2, F),
        noted_rank=zeros(2, F, noted),
        noted=zeros(2, F, noted, 2, F),
        noted_at=zeros(noted),
        room=np.zeros((n_labels, 2), small),
        peak=np.zeros((2, int(units.max(initial=0))), small),
    )
    return tuple(tables.values()), row


@kernel
def least_pair(
    inside, price, target, steps,
    gain, label, weigh, line, at, ends, of_unit, flag, unit, own_ends, own_of_unit, own_flag, own_unit, joined,
    inside_before, entry, own, whole, sums, now, upto, lower, minimum, weight, cut_weight, cut_entries, cut_rank, stack,
    n_noted, noted_rank, noted, noted_at, room, peak,
):  # fmt: skip
    """Return the cost of a tree of depth 2 that costs less than the target; the target if there is none; PAUSED after
    some steps, to be called again with the same arrays.

    Parameters
    ----------
    inside : uint8 (entries,), those of the rows of the state
    price : int, of a branch node
    target : int
    steps : int, about as many entries and units are counted until it pauses
    gain … peak : as in `tables_of`

    Returns
    -------
    int
    """
    F, n = line.shape
    need = target - price
    if not at[LISTED]:
        at[LISTED] = 1
        list_units(line, label, gain, len(room), ends, of_unit, flag, unit)
    if not at[BEGUN]:
        at[BEGUN], at[COLUMN], at[TOP], at[OLD] = 1, 0, 0, 1 - at[OLD]
        m = weight[1] = np.int64(0)
        n_noted[1 - at[OLD]] = 0
        for e in range(n):
            if inside_before[e] and not inside[e]:
                n_noted[at[OLD]] = 0
            inside_before[e] = inside[e]
            if inside[e]:
                entry[m] = e
                m += 1
                weight[1] += weigh[e]
        at[HELD] = m
        of_state = own_ends, own_of_unit, own_flag, own_unit
        join_units(entry[:m], gain, len(room), ends, of_unit, flag, unit, *of_state, joined, sums, whole, upto)
        for g in range(F):
            lower[0, 1, g] = lower[1, 0, g] = stumps(
                g, own_ends, whole, whole, upto, own_of_unit, own_flag, weight[1], weight[1], price, room, peak
            )[0]
        minimum[1, 0] = minimum[0, 1] = least_of(lower[0, 1])
    W, held, old = weight[1], at[HELD], at[OLD]
    counted, n_evaluated = np.int64(0), np.int64(0)
    seen = np.zeros(F, np.int64)  # the last cut of those evaluated here at which each column was counted
    for f in range(at[COLUMN], F):
        if f > at[COLUMN] or not at[TOP]:
            last_cut = cuts_of(line[f], inside, gain, weigh, cut_weight, cut_entries, cut_rank, entry, own)
            if last_cut < 2:
                continue
            for j in range(n_noted[old, f]):
                noted_at[j] = cuts_up_to(cut_rank, last_cut, noted_rank[old, f, j])
            stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 1, last_cut - 1, 0, 1, 0
            at[COLUMN], at[TOP] = f, 1
            now[:] = -1
        top = at[TOP]
        while top:
            if counted > steps:
                at[TOP] = top
                return PAUSED
            top -= 1
            a, z, lo, hi, d = stack[top]
            A, D, B, C = minimum[0, lo], minimum[1, lo], minimum[0, hi], minimum[1, hi]
            if A + C >= need or B + D - (weight[hi] - weight[lo]) >= need:
                continue
            while a <= z and A + D - (cut_weight[a] - weight[lo]) >= need:
                a += 1
            while a <= z and B + C - (weight[hi] - cut_weight[z]) >= need:
                z -= 1
            if a > z:
                continue
            c, before = (a + z) // 2, -1
            for j in range(n_noted[old, f]):  # the one nearest to the middle
                if a <= noted_at[j] <= z and (before < 0 or abs(2 * noted_at[j] - a - z) < abs(2 * c - a - z)):
                    c, before = noted_at[j], j
            new, w = 2 + d, cut_weight[c]
            weight[new] = w
            for g in range(F):
                lower[0, new, g] = max(lower[0, lo, g], lower[0, hi, g] - (weight[hi] - w))
                lower[1, new, g] = max(lower[1, hi, g], lower[1, lo, g] - (w - weight[lo]))
            if before >= 0:
                for g in range(F):
                    lower[0, new, g] = max(lower[0, new, g], noted[old, f, before, 0, g])
                    lower[1, new, g] = max(lower[1, new, g], noted[old, f, before, 1, g])
            left, right = least_of(lower[0, new]), least_of(lower[1, new])
            if left + right < need:
                place = cut_entries[c]
                n_evaluated += 1
                for x in range(FIRST + F):
                    g = x - FIRST
                    if x < FIRST:
                        if left + right >= need:
                            break
                        g = place_of(lower[x & 1, new], right if x & 1 else left)
                    if seen[g] == n_evaluated or (lower[0, new, g] + right >= need and left + lower[1, new, g] >= need):
                        continue
                    seen[g] = n_evaluated
                    counted += bring(sums, whole, own_ends, own_unit, entry, own, now, g, place, held)
                    lower[0, new, g], lower[1, new, g] = stumps(
                        g, own_ends, sums, whole, upto, own_of_unit, own_flag, w, W, price, room, peak
                    )
                    if x < FIRST:
                        left, right = least_of(lower[0, new]), least_of(lower[1, new])
                left, right = least_of(lower[0, new]), least_of(lower[1, new])
                if left + right < need:
                    at[BEGUN] = 0
                    return price + left + right
            minimum[0, new], minimum[1, new] = left, right
            if n_noted[1 - old, f] < noted.shape[2]:
                j = n_noted[1 - old, f]
                for g in range(F):
                    noted[1 - old, f, j, 0, g], noted[1 - old, f, j, 1, g] = lower[0, new, g], lower[1, new, g]
                noted_rank[1 - old, f, j], n_noted[1 - old, f] = cut_rank[c], j + 1
            if c < z:
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = c + 1, z, new, hi, d + 1
                top += 1
            if a < c:
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = a, c - 1, lo, new, d + 1
                top += 1
        at[COLUMN], at[TOP] = f + 1, 0
    at[BEGUN] = 0
    return target


def list_units(line, label, gain, n_labels, ends, of_unit, flag, unit):
    """Fill the arrays that hold the units of each column, and those of each entry.

    A block is one rank, or neighbouring ranks all of whose entries have one label. With two labels a negative gain is
    one of the second label, and the block has one unit anyway."""
    F, n = line.shape
    found = np.empty(n_labels, np.int64)  # the unit of each label in a block
    u = np.int64(0)
    for f in range(F):
        ends[f, 0] = u
        begin, of_rank, of_block = 0, 0, -1
        for j in range(n):
            e = line[f, j] >> 1
            k = label[e] + 1 if n_labels > 1 or gain[e] > 0 else 2
            of_rank = k if j == begin or of_rank == k else -1
            if line[f, j] & 1:
                if of_rank < 0 or of_rank != of_block:
                    if u > ends[f, 0]:
                        flag[u - 1] |= LAST
                    found[:] = -1
                of_block = of_rank
                for i in range(begin, j + 1):
                    e = line[f, i] >> 1
                    k = label[e]
                    if found[k] < 0:
                        found[k], of_unit[u] = u, k
                        flag[u] = MIXED if of_rank < 0 and n_labels == 1 else 0
                        u += 1
                    unit[f, e] = found[k]
                begin = j + 1
        if u > ends[f, 0]:
            flag[u - 1] |= LAST
        ends[f, 1] = u


def join_units(
    held,
    gain,
    n_labels,
    ends,
    of_unit,
    flag,
    unit,
    own_ends,
    own_of_unit,
    own_flag,
    own_unit,
    joined,
    sums,
    whole,
    upto,
):
    """Fill the arrays that hold the units of a state with the entries `held`: without those of no gain, and blocks that
    are neighbours now are joined if they gain under one label."""
    v = np.int64(0)
    for g in range(len(ends)):
        sums[ends[g, 0] : ends[g, 1]] = 0
        for e in held:
            sums[unit[g, e]] += gain[e]
        own_ends[g, 0] = v
        of_block, begin, some = 0, ends[g, 0], 0
        for u in range(ends[g, 0], ends[g, 1]):
            if flag[u] & MIXED:
                some = -1
            elif sums[u] != 0:
                own = of_unit[u] + 1 if n_labels > 1 or sums[u] > 0 else 2
                some = own if some == 0 else -1
            if not flag[u] & LAST:
                continue
            if some > 0 and some == of_block:
                for i in range(begin, u + 1):
                    joined[i] = v - 1
                    whole[v - 1] += sums[i]
            elif some != 0:
                if v > own_ends[g, 0]:
                    own_flag[v - 1] = LAST
                for i in range(begin, u + 1):
                    if sums[i] != 0 or flag[i] & MIXED:
                        joined[i], whole[v], own_of_unit[v], own_flag[v] = v, sums[i], of_unit[i], 0
                        v += 1
            of_block = some if some != 0 else of_block
            begin, some = u + 1, 0
        own_ends[g, 1] = v
        reached = np.int64(0)
        for u in range(own_ends[g, 0], v):
            reached += whole[u]
            upto[u] = reached
        for e in held:
            own_unit[g, e] = joined[unit[g, e]]


def cuts_of(line, inside, gain, weigh, cut_weight, cut_entries, cut_rank, entry, own):
    """Return how many ranks of a line have entries of the state; these entries with their gains, what the rows left of
    each cut cost at most, how many entries they have, and their greatest rank are written to the other arrays."""
    b = at = before = rank = weight = np.int64(0)
    for one in line:
        e = one >> 1
        entry[at], own[at] = e, gain[e]  # if it is not of the state, the next one replaces it: no branch
        at += inside[e]
        weight += inside[e] * weigh[e]
        if one & 1:
            if at > before:
                b, before = b + 1, at
                cut_weight[b], cut_entries[b], cut_rank[b] = weight, at, rank
            rank += 1
    return b


def cuts_up_to(cut_rank, last_cut, rank):
    """Return the number of cuts of ranks up to this one; numba takes a second to compile numpy's function."""
    low, high = 0, last_cut
    while low < high:
        middle = (low + high + 1) // 2
        if cut_rank[middle] <= rank:
            low = middle
        else:
            high = middle - 1
    return low


def least_of(bounds):
    """Return the least of some whole numbers; numba takes a quarter of a second to compile numpy's function."""
    least = bounds[0]
    for g in range(1, len(bounds)):
        least = min(least, bounds[g])
    return least


def place_of(bounds, value):
    """Return the first place of a value."""
    g = 0
    while bounds[g] != value:
        g += 1
    return g


def bring(sums, whole, ends, unit, entry, own, now, g, place, n):
    """Change the sums of a column to those of the first `place` of n entries, from what they are, from none or from
    all, whichever is nearest; return how many entries and units were counted."""
    begin = now[g]
    if begin < 0 or min(place, n - place) < abs(place - begin):
        begin = 0 if 2 * place < n else n
        for u in range(ends[g, 0], ends[g, 1]):
            sums[u] = whole[u] if begin else 0
    for j in range(begin, place):
        sums[unit[g, entry[j]]] += own[j]
    for j in range(place, begin):
        sums[unit[g, entry[j]]] -= own[j]
    now[g] = place
    return abs(place - begin) + ends[g, 1] - ends[g, 0]


def stumps(g, ends, part, whole, upto, of_unit, flag, own, W, price, room, peak):
    """Return the least cost of one split on column g, or of a label, on a part of the rows and on the others.

    Parameters
    ----------
    g : int
    part : int32 or int64 (all units,), the gain of the part of each unit
    ends, whole, upto, of_unit, flag, room, peak : as in `tables_of`, of the state
    own, W : int, the largest cost of the rows of the part, and of all rows
    price : int, the penalty of a branch node

    Returns
    -------
    (int, int)
    """
    first, behind = np.uint64(ends[g, 0]), np.uint64(ends[g, 1])
    if len(room) == 1:
        # min(positive gains, negative gains), and with a split the part of one and the rest of the other
        mine, every, prefix = part[first:behind], upto[first:behind], peak[0]
        of = part.dtype.type  # numba widens sums
        p = q = p_most = p_least = q_most = q_least = of(0)
        for i in range(len(mine)):
            p = of(p + mine[i])
            prefix[i] = p
        for i in range(len(mine)):  # without the sum, a processor compares several units at once
            one, two = prefix[i], of(every[i] - prefix[i])
            p_most, p_least, q_most, q_least = max(p_most, one), min(p_least, one), max(q_most, two), min(q_least, two)
        if len(mine):
            q = of(every[-1] - p)
        up, down = (own + p) >> 1, (own - p) >> 1
        above, below = (W - own + q) >> 1, (W - own - q) >> 1
        return (
            min(up, down, price + min(down + p_least, up - p_most)),
            min(above, below, price + min(below + q_least, above - q_most)),
        )
    here, there, best, other = most_saved(first, behind, part, whole, of_unit, flag, room, peak)
    return min(own - here, price + own - best), min(W - own - there, price + W - own - other)


def most_saved(first, behind, part, whole, of_unit, flag, room, peak):
    """Return the largest gain of one label on a part of the rows and on the others, and of one split of the units
    first … behind - 1, (int, int, int, int): of the best label before each cut, which is counted forwards, and of the
    best one behind it, backwards."""
    room[:] = 0
    here = there = np.int64(0)
    for u in range(first, behind):
        k = np.uint64(of_unit[u])
        a, b = room[k, 0] + part[u], room[k, 1] + (whole[u] - part[u])
        room[k, 0], room[k, 1] = a, b
        here, there = max(here, a), max(there, b)
        peak[0, u - first], peak[1, u - first] = here, there
    room[:] = 0
    best = other = down = other_down = np.int64(0)
    u = behind
    while u > first + np.uint64(1):
        u -= np.uint64(1)
        k = np.uint64(of_unit[u])
        a, b = room[k, 0] + part[u], room[k, 1] + (whole[u] - part[u])
        room[k, 0], room[k, 1] = a, b
        down, other_down = max(down, a), max(other_down, b)
        if flag[u - np.uint64(1)] & LAST:
            before = u - first - np.uint64(1)
            best, other = max(best, peak[0, before] + down), max(other, peak[1, before] + other_down)
    return here, there, best, other
