"""The check of depth 2 as plain loops over arrays, which numba compiles (odtc.base.kernels).

For a first column f, every evaluated cut has for each column g lower bounds l[g] and r[g] of the best tree with at
most one split, on g, on its left and its right. Between two evaluated cuts the bounds of odtc.verification.node_cuts
are valid for each g; only columns that could be part of a tree below the target are counted from the rows. An interval
is halved until its bounds reach the target. The whole state is in arrays (`Place`), so the check can be paused.

The second split is never better between two neighbouring members that save under the same label only than before or
behind all such neighbours: as they change sides, what that label saves on one side rises as they do, and what the
labels of the other side save at most is convex. So the members between two such splits are one block. A sum is counted
for each block and each label under which it saves: a unit.
"""

import numpy as np

from odtc.base.kernels import kernel
from odtc.base.value_class import value_class
from odtc.verification.node_cuts import Rows

SLOTS = 80  # evaluated cuts that are stored at once: the intervals are halved
FIRST = 10  # columns that are counted first at a cut: those of the least bounds left and right of it, in turn
PAUSED = -1  # in place of a cost
BEGUN, COLUMN, TOP = range(3)  # of `at`


def entries(rows: Rows) -> tuple:
    """Return the arrays of `least_pair` that are the same for all states.

    With two classes `gain` is the cost of label 0 above label 1, and all units have one label; otherwise each row has
    an entry for each label that costs less than its worst.
    """
    loss = rows.loss.astype(np.int64)
    if loss.shape[1] == 2:
        begin, label = np.arange(len(loss) + 1), np.zeros(len(loss), np.int64)
        gain, n_labels = loss[:, 0] - loss[:, 1], 1
    else:
        saved = loss.max(axis=1, keepdims=True) - loss
        row, label = np.nonzero(saved)
        begin, gain, n_labels = np.searchsorted(row, np.arange(len(loss) + 1)), saved[row, label], loss.shape[1]
    most = loss.max(axis=1)
    columns = rows.columns
    return columns.rank, columns.order, begin.astype(np.int64), label.astype(np.int64), gain, most, n_labels


@value_class
class Place:
    """The progress of a check on the rows of one state: members, their entries, and the sums counted for them.

    Attributes
    ----------
    at : int64 (3,), whether it was begun, the first column, intervals on the stack
    line : int32 (columns, members), members by rising rank, as member << 1 | last, where last marks the last of a rank
    units : int64 (columns + 2,), where the units of each column begin; after the last column, each label is a unit
    of_unit, last : int32, uint8 (all units,), the label of a unit, and whether it is the last of its block
    unit : uint32 (columns + 1, entries), the unit of each entry
    entry, own : uint32, int64 (entries,), the entries in the order of the first column, and their gains
    first_entry, of_label, gains, own_most : the entries of each member, and the largest cost of a member
    whole, sums : int64 (all units,), the gain of all entries of each unit, and of the first ones of `entry`
    now : int64 (columns + 1,), how many entries that is for each column
    upto : int64 (all units,), the sums of `whole` over this unit and those before it in its column
    lower, minimum, weight : of evaluated cuts: slot 0 has all rows on the right, slot 1 all on the left, 2 + d is the
        cut at depth d
    cut_weight, cut_entries : int64 (members + 1,), the largest cost of the rows left of each cut of the first column,
        and how many entries they have
    stack : int64 (intervals, 5), first and last cut, evaluated cuts on either side, depth
    room, peak : int64 (2, labels), (2, most units of a column), both only for a while
    """

    at: np.ndarray
    line: np.ndarray
    units: np.ndarray
    of_unit: np.ndarray
    last: np.ndarray
    unit: np.ndarray
    entry: np.ndarray
    own: np.ndarray
    first_entry: np.ndarray
    of_label: np.ndarray
    gains: np.ndarray
    own_most: np.ndarray
    whole: np.ndarray
    sums: np.ndarray
    now: np.ndarray
    upto: np.ndarray
    lower: np.ndarray
    minimum: np.ndarray
    weight: np.ndarray
    cut_weight: np.ndarray
    cut_entries: np.ndarray
    stack: np.ndarray
    room: np.ndarray
    peak: np.ndarray

    @classmethod
    def before(cls, arrays: tuple, n_ranks: np.ndarray, members: np.ndarray) -> "Place":
        """Return the place before the first step on these members, int64 (members,); `arrays` is from `entries`, and
        `n_ranks` int64 (columns,), how many ranks the columns have."""
        begin, n_labels = arrays[2], arrays[6]
        F, m = len(arrays[1]), len(members)
        n_entries = int((begin[members + 1] - begin[members]).sum())
        most = np.minimum(n_ranks * n_labels, max(n_entries, 1))  # units of each column
        n_units = int(most.sum()) + n_labels
        zeros = lambda *shape: np.zeros(shape, np.int64)  # noqa: E731
        return cls(
            at=zeros(3),
            line=np.empty((F, m), np.int32),
            units=zeros(F + 2),
            of_unit=np.zeros(n_units, np.int32),
            last=np.zeros(n_units, np.uint8),
            unit=np.empty((F + 1, n_entries), np.uint32),
            entry=np.empty(n_entries, np.uint32),
            own=zeros(n_entries),
            first_entry=zeros(m + 1),
            of_label=zeros(n_entries),
            gains=zeros(n_entries),
            own_most=zeros(m),
            whole=zeros(n_units),
            sums=zeros(n_units),
            now=zeros(F + 1),
            upto=zeros(n_units),
            lower=zeros(2, SLOTS, F),
            minimum=zeros(2, SLOTS),
            weight=zeros(SLOTS),
            cut_weight=zeros(m + 1),
            cut_entries=zeros(m + 1),
            stack=zeros(2 * SLOTS, 5),
            room=zeros(2, n_labels),
            peak=zeros(2, int(most.max(initial=0))),
        )

    @property
    def arrays(self) -> tuple:
        """As `least_pair` takes them."""
        return tuple(vars(self).values())


@kernel
def least_pair(
    rank, order, begin, label, gain, most, n_labels, inside, price, target, steps,
    at, line, units, of_unit, last, unit, entry, own, first_entry, of_label, gains, own_most, whole, sums, now, upto,
    lower, minimum, weight, cut_weight, cut_entries, stack, room, peak,
):  # fmt: skip
    """Return the cost of a tree of depth 2 that costs less than the target; the target if there is none; PAUSED after
    some steps, to be called again with the same arrays.

    Parameters
    ----------
    rank : int32 (rows, columns)
    order : int32 (columns, rows), rows by rising rank
    begin, label, gain, most, n_labels : as returned by `entries`
    inside : uint8 (rows,), the rows of the state
    price : int, of a branch node
    target : int
    steps : int, about as many entries and units are counted until it pauses
    at … peak : as in `Place`

    Returns
    -------
    int
    """
    F, m = line.shape
    need = target - price
    if not at[BEGUN]:
        at[BEGUN] = 1
        list_members(rank, order, begin, label, gain, most, inside, line, first_entry, of_label, gains, own_most)
        list_units(line, first_entry, of_label, gains, n_labels, units, of_unit, last, unit)
        for j in range(m):
            weight[1] += own_most[j]
        for g in range(F + 1):
            for e in range(len(gains)):
                whole[unit[g, e]] += gains[e]
        total = whole[units[F] : units[F + 1]]
        for g in range(F):
            reached = np.int64(0)
            for u in range(units[g], units[g + 1]):
                reached += whole[u]
                upto[u] = reached
            lower[0, 1, g] = stumps(
                g, units, whole, whole, upto, of_unit, last, total, total, weight[1], weight[1], price, room, peak
            )[0]
            lower[1, 0, g] = lower[0, 1, g]
        minimum[1, 0] = minimum[0, 1] = least_of(lower[0, 1])
    total, moved = whole[units[F] : units[F + 1]], sums[units[F] : units[F + 1]]
    W = weight[1]
    counted, n_evaluated = np.int64(0), np.int64(0)
    seen = np.zeros(F, np.int64)  # the last cut of those evaluated here at which each column was counted
    for f in range(at[COLUMN], F):
        if f > at[COLUMN] or not at[TOP]:
            last_cut = cuts_of(line[f], own_most, first_entry, gains, cut_weight, cut_entries, entry, own)
            if last_cut < 2:
                continue
            stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 1, last_cut - 1, 0, 1, 0
            at[COLUMN], at[TOP] = f, 1
            sums[:], now[:] = 0, 0
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
            c = (a + z) // 2
            new, w = 2 + d, cut_weight[c]
            weight[new] = w
            for g in range(F):
                lower[0, new, g] = max(lower[0, lo, g], lower[0, hi, g] - (weight[hi] - w))
                lower[1, new, g] = max(lower[1, hi, g], lower[1, lo, g] - (w - weight[lo]))
            left, right = least_of(lower[0, new]), least_of(lower[1, new])
            if left + right < need:
                place = cut_entries[c]
                counted += bring(sums, whole, units, unit, entry, own, now, F, place)
                n_evaluated += 1
                for x in range(FIRST + F):
                    g = x - FIRST
                    if x < FIRST:
                        left, right = least_of(lower[0, new]), least_of(lower[1, new])
                        if left + right >= need:
                            break
                        g = place_of(lower[x & 1, new], right if x & 1 else left)
                    if seen[g] == n_evaluated or (lower[0, new, g] + right >= need and left + lower[1, new, g] >= need):
                        continue
                    seen[g] = n_evaluated
                    counted += bring(sums, whole, units, unit, entry, own, now, g, place)
                    lower[0, new, g], lower[1, new, g] = stumps(
                        g, units, sums, whole, upto, of_unit, last, moved, total, w, W, price, room, peak
                    )
                left, right = least_of(lower[0, new]), least_of(lower[1, new])
                if left + right < need:
                    return price + left + right
            minimum[0, new], minimum[1, new] = left, right
            if c < z:
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = c + 1, z, new, hi, d + 1
                top += 1
            if a < c:
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = a, c - 1, lo, new, d + 1
                top += 1
        at[COLUMN], at[TOP] = f + 1, 0
    return target


def list_members(rank, order, begin, label, gain, most, inside, line, first_entry, of_label, gains, own_most):
    """Fill the arrays of a `Place` that hold the members of a state, their entries, and their order in each column."""
    F, n = order.shape
    local = np.empty(n, np.int32)
    m = e = np.int64(0)
    for i in range(n):
        if inside[i]:
            local[i] = m
            own_most[m] = most[i]
            for k in range(begin[i], begin[i + 1]):
                of_label[e], gains[e] = label[k], gain[k]
                e += 1
            m += 1
            first_entry[m] = e
    for f in range(F):
        j, before = 0, -1
        for i in order[f]:
            if inside[i]:
                if j and rank[i, f] != before:
                    line[f, j - 1] |= 1
                before = rank[i, f]
                line[f, j] = local[i] << 1
                j += 1
        if j:
            line[f, j - 1] |= 1


def list_units(line, first_entry, of_label, gains, n_labels, units, of_unit, last, unit):
    """Fill the arrays of a `Place` that hold the units of each column, and those of each entry."""
    F, m = line.shape
    kind, block = kinds_of(of_label, gains, first_entry, n_labels), np.empty(m, np.int32)
    held = np.empty(n_labels, np.int64)  # the unit of each label in a block
    u = np.int64(0)
    for f in range(F):
        units[f] = u
        list_blocks(line[f], kind, block)
        now = -1
        for j in range(m):
            i = line[f, j] >> 1
            if block[i] != now:
                now = block[i]
                held[:] = -1
                if u > units[f]:
                    last[u - 1] = 1
            for e in range(first_entry[i], first_entry[i + 1]):
                k = of_label[e]
                if held[k] < 0:
                    held[k], of_unit[u] = u, k
                    u += 1
                unit[f, e] = held[k]
    units[F], units[F + 1] = u, u + n_labels
    for e in range(len(gains)):
        unit[F, e] = u + of_label[e]


def kinds_of(of_label, gains, first_entry, n_labels):
    """Return the label under which each member saves, as 1 more than its number; 0 if under none, -1 if under several.

    With two labels a negative gain is one of the second label. The result is int32 (members,).
    """
    kind = np.zeros(len(first_entry) - 1, np.int32)
    for j in range(len(kind)):
        for e in range(first_entry[j], first_entry[j + 1]):
            if gains[e] != 0:
                own = of_label[e] + 1 if n_labels > 1 or gains[e] > 0 else 2
                kind[j] = own if kind[j] == 0 else -1
    return kind


def list_blocks(line, kind, block):
    """Write the block of each member of a column, in which all ranks save under one label, or which is one rank."""
    at, of_block, of_rank, begin = 0, 0, 0, 0
    for j in range(len(line)):
        own = kind[line[j] >> 1]
        if own != 0 and of_rank != own:
            of_rank = own if of_rank == 0 else -1
        if line[j] & 1:
            if of_block != 0 and of_rank != 0 and (of_block != of_rank or of_block < 0):
                at += 1
                of_block = 0
            if of_block == 0:
                of_block = of_rank
            for i in range(begin, j + 1):
                block[line[i] >> 1] = at
            begin, of_rank = j + 1, 0


def cuts_of(line, own_most, first_entry, gains, cut_weight, cut_entries, entry, own):
    """Return how many ranks a line has; its entries with their gains, what the members left of each cut cost at most,
    and how many entries they have, are written to the other arrays."""
    b, at, weight = 0, np.int64(0), np.int64(0)
    for j in range(len(line)):
        i = line[j] >> 1
        weight += own_most[i]
        for e in range(first_entry[i], first_entry[i + 1]):
            entry[at], own[at] = e, gains[e]
            at += 1
        if line[j] & 1:
            b += 1
            cut_weight[b], cut_entries[b] = weight, at
    return b


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


def bring(sums, whole, units, unit, entry, own, now, g, place):
    """Change the sums of a column to those of the first `place` entries, from what they are, from none or from all,
    whichever is nearest; return how many entries and units were counted."""
    begin, n = now[g], len(entry)
    if min(place, n - place) < abs(place - begin):
        begin = 0 if 2 * place < n else n
        for u in range(units[g], units[g + 1]):
            sums[u] = whole[u] if begin else 0
    for j in range(begin, place):
        sums[unit[g, entry[j]]] += own[j]
    for j in range(place, begin):
        sums[unit[g, entry[j]]] -= own[j]
    now[g] = place
    return abs(place - begin) + units[g + 1] - units[g]


def stumps(g, units, part, whole, upto, of_unit, last, sums, total, own, W, price, room, peak):
    """Return the least cost of one split on column g, or of a label, on a part of the rows and on the others.

    Parameters
    ----------
    g : int
    part : int64 (all units,), the gain of the part of each unit
    units, whole, upto, of_unit, last, room, peak : as in `Place`
    sums, total : int64 (labels,), the gain of the part, and of all rows
    own, W : int, the largest cost of the rows of the part, and of all rows
    price : int, the penalty of a branch node

    Returns
    -------
    (int, int)
    """
    first, behind = np.uint64(units[g]), np.uint64(units[g + 1])
    if (
        len(total) == 1
    ):  # min(positive gains, negative gains), and with a split the part of one and the rest of the other
        p_most = p_least = q_most = q_least = p = np.int64(0)
        for u in range(first, behind):
            p += part[u]
            q = upto[u] - p
            p_most, p_least, q_most, q_least = max(p_most, p), min(p_least, p), max(q_most, q), min(q_least, q)
        P, Q = sums[0], total[0] - sums[0]
        up, down = (own + P) >> 1, (own - P) >> 1
        above, below = (W - own + Q) >> 1, (W - own - Q) >> 1
        return (
            min(up, down, price + min(down + p_least, up - p_most)),
            min(above, below, price + min(below + q_least, above - q_most)),
        )
    here = there = np.int64(0)
    for k in range(len(total)):
        here, there = max(here, sums[k]), max(there, total[k] - sums[k])
    best, other = most_saved(units[g], units[g + 1], part, whole, of_unit, last, room, peak)
    return min(own - here, price + own - best), min(W - own - there, price + W - own - other)


def most_saved(first, behind, part, whole, of_unit, last, room, peak):
    """Return the largest gain of one split of the units first … behind - 1 on a part of the rows and on the others,
    (int, int): of the best label before each cut, which is counted forwards, and of the best one behind it,
    backwards."""
    room[:] = 0
    up = other_up = np.int64(0)
    for u in range(first, behind):
        k = of_unit[u]
        room[0, k] += part[u]
        room[1, k] += whole[u] - part[u]
        up, other_up = max(up, room[0, k]), max(other_up, room[1, k])
        peak[0, u - first], peak[1, u - first] = up, other_up
    room[:] = 0
    best = other = down = other_down = np.int64(0)
    for u in range(behind - 1, first, -1):
        k = of_unit[u]
        room[0, k] += part[u]
        room[1, k] += whole[u] - part[u]
        down, other_down = max(down, room[0, k]), max(other_down, room[1, k])
        if last[u - 1]:
            best, other = max(best, peak[0, u - 1 - first] + down), max(other, peak[1, u - 1 - first] + other_down)
    return best, other
