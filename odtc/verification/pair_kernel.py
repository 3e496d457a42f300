"""The check of depth 2 as plain loops over arrays, which numba compiles (odtc.base.kernels).

For a first column f, every evaluated cut has for each column g lower bounds l[g] and r[g] of the best tree with at
most one split, on g, on its left and its right. Between two evaluated cuts the bounds of odtc.verification.node_cuts
are valid for each g; only columns that could be part of a tree below the target are counted from the rows. An interval
is halved until its bounds reach the target. The whole state is in arrays (`Place`), so the check can be paused.

The second split is never better between two neighbouring members that save under the same label only than before or
behind all such neighbours: as they change sides, what that label saves on one side rises as they do, and what the
labels of the other side save at most is convex. So the members between two such splits are one block.
"""

import numpy as np

from odtc.base.kernels import kernel
from odtc.base.value_class import value_class
from odtc.verification.node_cuts import Rows

SLOTS = 80  # evaluated cuts that are stored at once: the intervals are halved
PAUSED = -1  # in place of a cost
BEGUN, COLUMN, TOP, SUMMED = range(4)  # of `at`


def entries(rows: Rows) -> tuple:
    """Return the arrays of `least_pair` that are the same for all states.

    With two classes `gain` is the cost of label 0 above label 1; otherwise each row has an entry for each label that
    costs less than its worst.
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
    at : int64 (4,), whether it was begun, the first column, intervals on the stack, rows in `held_sums`
    line : int32 (columns, members), members by rising rank, as member << 1 | last, where last marks the last of a rank
    block : int32 (columns, members), the block of each member in each column
    blocks : int64 (columns + 1,), where the blocks of each column begin
    first_entry, of_label, gains, own_most : the entries of each member, and the largest cost of a member
    total, held_sums : int64 (1, labels), the gain of all members, and of those left of the evaluated cut
    table : int64 (all blocks, labels), the gain of all members of each block
    held, held_to, stamp : the same of the members left of the cut at which each column was counted last: the first
        `held_to` members by a first column
    lower, minimum, weight : of evaluated cuts: slot 0 has all rows on the right, slot 1 all on the left, 2 + d is the
        cut at depth d
    cut_weight, cut_rows : int64 (members + 1,), the largest cost of the rows left of each cut of a column; their number
    stack : int64 (intervals, 5), first and last cut, evaluated cuts on either side, depth
    """

    at: np.ndarray
    line: np.ndarray
    block: np.ndarray
    blocks: np.ndarray
    first_entry: np.ndarray
    of_label: np.ndarray
    gains: np.ndarray
    own_most: np.ndarray
    total: np.ndarray
    held_sums: np.ndarray
    table: np.ndarray
    held: np.ndarray
    held_to: np.ndarray
    stamp: np.ndarray
    lower: np.ndarray
    minimum: np.ndarray
    weight: np.ndarray
    cut_weight: np.ndarray
    cut_rows: np.ndarray
    stack: np.ndarray

    @classmethod
    def before(cls, arrays: tuple, n_ranks: np.ndarray, members: np.ndarray) -> "Place":
        """Return the place before the first step on these members, int64 (members,); `arrays` is from `entries`, and
        `n_ranks` int64 (columns,), how many ranks the columns have."""
        begin, n_labels = arrays[2], arrays[6]
        F, m = len(arrays[1]), len(members)
        n_entries, n_blocks = int((begin[members + 1] - begin[members]).sum()), int(np.minimum(n_ranks, m).sum())
        zeros = lambda *shape: np.zeros(shape, np.int64)  # noqa: E731
        return cls(
            at=zeros(4),
            line=np.empty((F, m), np.int32),
            block=np.empty((F, m), np.int32),
            blocks=zeros(F + 1),
            first_entry=zeros(m + 1),
            of_label=zeros(n_entries),
            gains=zeros(n_entries),
            own_most=zeros(m),
            total=zeros(1, n_labels),
            held_sums=zeros(1, n_labels),
            table=zeros(n_blocks, n_labels),
            held=zeros(n_blocks, n_labels),
            held_to=zeros(F),
            stamp=np.full(F, -1),
            lower=zeros(2, SLOTS, F),
            minimum=zeros(2, SLOTS),
            weight=zeros(SLOTS),
            cut_weight=zeros(m + 1),
            cut_rows=zeros(m + 1),
            stack=zeros(2 * SLOTS, 5),
        )

    @property
    def arrays(self) -> tuple:
        """As `least_pair` takes them."""
        return tuple(vars(self).values())


@kernel
def least_pair(
    rank, order, begin, label, gain, most, n_labels, inside, price, target, steps,
    at, line, block, blocks, first_entry, of_label, gains, own_most, total, held_sums, table, held, held_to, stamp,
    lower, minimum, weight, cut_weight, cut_rows, stack,
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
    steps : int, about as many rows and blocks are counted until it pauses
    at … stack : as in `Place`

    Returns
    -------
    int
    """
    F, n = order.shape
    if not at[BEGUN]:
        members = line, block, blocks, first_entry, of_label, gains, own_most, total, table
        list_members(rank, order, begin, label, gain, most, inside, *members)
    W = np.int64(0)
    for j in range(len(own_most)):
        W += own_most[j]
    need = target - price
    room = np.zeros((2, n_labels), np.int64)
    if not at[BEGUN]:
        at[BEGUN] = 1
        for g in range(F):
            among = slice(blocks[g], blocks[g + 1])
            lower[1, 0, g] = stumps(table[among], held[among], held_sums[0], total[0], np.int64(0), W, price, room)[1]
            lower[0, 1, g] = lower[1, 0, g]
        minimum[1, 0] = minimum[0, 1] = least_of(lower[1, 0])
        weight[1] = W
    of_nothing = np.zeros(len(own_most), np.int32)
    counted = np.int64(0)
    for f in range(at[COLUMN], F):
        if f > at[COLUMN] or not at[TOP]:
            last_cut = cuts_of(line[f], own_most, cut_weight, cut_rows)
            if last_cut < 2:
                continue
            stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 1, last_cut - 1, 0, 1, 0
            at[COLUMN], at[TOP], at[SUMMED] = f, 1, 0
            held_sums[:] = 0
        top, summed = at[TOP], at[SUMMED]
        while top:
            if counted > steps:
                at[TOP], at[SUMMED] = top, summed
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
                place = cut_rows[c]
                move(line[f], held_sums, of_nothing, of_label, gains, first_entry, summed, place)
                counted += abs(place - summed) + F
                summed = place
                for g in range(F):
                    if lower[0, new, g] + right >= need and left + lower[1, new, g] >= need:
                        continue
                    own = held[blocks[g] : blocks[g + 1]]
                    if stamp[g] != f or abs(place - held_to[g]) > place:
                        own[:] = 0
                        held_to[g], stamp[g] = 0, f
                    move(line[f], own, block[g], of_label, gains, first_entry, held_to[g], place)
                    counted += abs(place - held_to[g]) + len(own)
                    held_to[g] = place
                    whole = table[blocks[g] : blocks[g + 1]]
                    lower[0, new, g], lower[1, new, g] = stumps(whole, own, held_sums[0], total[0], w, W, price, room)
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


def list_members(
    rank, order, begin, label, gain, most, inside,
    line, block, blocks, first_entry, of_label, gains, own_most, total, table,
):  # fmt: skip
    """Fill the arrays of a `Place` that depend only on the members of a state."""
    F, n = order.shape
    local = np.empty(n, np.int32)
    m = e = np.int64(0)
    for i in range(n):
        if inside[i]:
            local[i] = m
            own_most[m] = most[i]
            for k in range(begin[i], begin[i + 1]):
                of_label[e], gains[e] = label[k], gain[k]
                total[0, label[k]] += gain[k]
                e += 1
            m += 1
            first_entry[m] = e
    kind = kinds_of(of_label, gains, first_entry, total.shape[1])
    for f in range(F):
        at, last = 0, -1
        for j in range(n):
            i = order[f, j]
            if inside[i]:
                if at and rank[i, f] != last:
                    line[f, at - 1] |= 1
                last = rank[i, f]
                line[f, at] = local[i] << 1
                at += 1
        if at:
            line[f, at - 1] |= 1
        blocks[f + 1] = blocks[f] + list_blocks(line[f], kind, block[f])
        for j in range(m):
            for e in range(first_entry[j], first_entry[j + 1]):
                table[blocks[f] + block[f, j], of_label[e]] += gains[e]


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
    """Write the block of each member of a column, in which all ranks save under one label, or which is one rank; return
    how many blocks there are."""
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
    return at + 1 if len(line) else 0


def cuts_of(line, own_most, cut_weight, cut_rows):
    """Return how many ranks a line has; what the members left of each cut cost at most, and how many they are, are
    written to the other arrays."""
    b, weight = 0, np.int64(0)
    for j in range(len(line)):
        weight += own_most[line[j] >> 1]
        if line[j] & 1:
            b += 1
            cut_weight[b], cut_rows[b] = weight, j + 1
    return b


def least_of(bounds):
    """Return the least of some whole numbers; numba takes a quarter of a second to compile numpy's function."""
    least = bounds[0]
    for g in range(1, len(bounds)):
        least = min(least, bounds[g])
    return least


def move(line, held, block, of_label, gains, first_entry, begin, end):
    """Add rows begin … end of a line to the sums of each block, or subtract them if end is before begin."""
    sign = 1 if end > begin else -1
    if held.shape[1] == 1:
        for j in range(min(begin, end), max(begin, end)):
            i = line[j] >> 1
            held[block[i], 0] += sign * gains[i]
        return
    if len(of_label) == len(first_entry) - 1:  # each member saves under one label, as none saves under no label
        for j in range(min(begin, end), max(begin, end)):
            i = line[j] >> 1
            held[block[i], of_label[i]] += sign * gains[i]
        return
    for j in range(min(begin, end), max(begin, end)):
        i = line[j] >> 1
        for e in range(first_entry[i], first_entry[i + 1]):
            held[block[i], of_label[e]] += sign * gains[e]


def stumps(table, part, sums, total, own, W, price, room):
    """Return the least cost of one split on a column, or of a label, on a part of the rows and on the others.

    Parameters
    ----------
    table, part : int (blocks, labels), the gain of all rows of each block, and of those of the part
    sums, total : int (labels,), their sums
    own, W : int, the largest cost of the rows of the part, and of all rows
    price : int, the penalty of a branch node
    room : int64 (2, labels), for sums

    Returns
    -------
    (int, int)
    """
    size, n_labels = table.shape
    if n_labels == 1:  # min(positive gains, negative gains), and with a split the part of one and the rest of the other
        p_most = p_least = q_most = q_least = p = q = 0
        for b in range(size - 1):
            p += part[b, 0]
            q += table[b, 0] - part[b, 0]
            p_most, p_least, q_most, q_least = max(p_most, p), min(p_least, p), max(q_most, q), min(q_least, q)
        P, Q = sums[0], total[0] - sums[0]
        up, down = (own + P) // 2, (own - P) // 2
        above, below = (W - own + Q) // 2, (W - own - Q) // 2
        return (
            min(up, down, price + min(down + p_least, up - p_most)),
            min(above, below, price + min(below + q_least, above - q_most)),
        )
    one, two = room
    room[:] = 0
    best, other = 0, 0  # the largest gain of one split
    for b in range(size - 1):
        up = down = above = below = 0
        for k in range(n_labels):
            one[k] += part[b, k]
            two[k] += table[b, k] - part[b, k]
            up, down = max(up, one[k]), max(down, sums[k] - one[k])
            above, below = max(above, two[k]), max(below, total[k] - sums[k] - two[k])
        best, other = max(best, up + down), max(other, above + below)
    here, there = 0, 0
    for k in range(n_labels):
        here, there = max(here, sums[k]), max(there, total[k] - sums[k])
    return min(own - here, price + own - best), min(W - own - there, price + W - own - other)
