"""Local search over the splits of a whole tree, one kernel: many cheap changes, each followed by exact single splits.

For one node t of a tree, with everything else unchanged, the best split is known exactly (coordinate descent over the
nodes; Carreira-Perpinan and Tavallali 2018, Dunn 2018). With l(e) and r(e) the savings of an entry in the left and in
the right subtree

    saved(column, rank) = Σ_e r(e) + Σ_{e: rank of e <= rank} (l(e) - r(e))

so only the entries with l(e) != r(e) are sorted. Above two leaves the labels are chosen with the split

    saved(column, rank) = max_k Σ_{left, label k} value + max_k Σ_{right, label k} value

`polish` repeats this from the leaves up until no split of a subtree saves more. A trial changes one node: a split that
is drawn, its cut moved, or a greedy tree over drawn columns, and polishes the subtree below it. If it then costs little
more, trials below it follow. It stays if the subtree costs no more than before. Equal costs are accepted, so that the
search leaves plateaus.

Trees are arrays over the nodes 1 … 2^(depth + 1) - 1 of a complete tree; column -1 is a leaf. Work is counted in
visits of an entry, and not timed, so that a result does not depend on the machine.
"""

from collections.abc import Iterator

import numpy as np

from odtc.algorithms.thresholds.depth_two import NEVER
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base.kernels import kernel

ROUNDS = 8  # maximum number of passes of `polish`
NEARLY = 0.1  # relative to the cost of a subtree: a trial that costs more by this is not followed by trials below it
FOLLOW = 12  # maximum number of such trials
COLUMNS = 0.5  # share of the columns that are drawn for a greedy split
BUCKETS = 4  # times the entries to sort: a column of at most this many ranks is sorted by counting
PRAISE = 0.25  # share of the work that counts for its height if a trial lowered the cost
WAYS = 4  # number of ways to change a node
CHAINS = 8  # number of trees at the start of a race
SHARE = 100  # times entries and columns: the work for each tree in the first race
STEP = 20_000_000  # visits of an entry between two checks of the time, about a tenth of a second,
LONG_STEP = 20  # or this many visits of each entry in each column, so that a trial of all entries ends
SEED = 88172645463325252  # of the random numbers of `draw`: the usual start of xorshift64*


def draw(state, below):
    """Return a number 0 … below - 1 (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(1)) % np.int64(below)


def sort_by(line, entries, m, order, keys, places, blocks):
    """Write the numbers 0 … m - 1 of some entries to `order`, by rising rank in a column."""
    if blocks <= BUCKETS * m:
        for r in range(blocks + 1):
            places[r] = 0
        for i in range(m):
            places[line[entries[i]] + 1] += 1
        for r in range(blocks):
            places[r + 1] += places[r]
        for i in range(m):
            r = line[entries[i]]
            order[places[r]] = i
            places[r] += 1
        return blocks + 2 * m
    for i in range(m):
        keys[i] = (np.int64(line[entries[i]]) << 32) | i
    gap = 1
    while gap < m // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort
        for i in range(gap, m):
            key, j = keys[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
        gap //= 3
    for i in range(m):
        order[i] = keys[i] & 0xFFFFFFFF
    steps, left = 4, m
    while left > 1:
        steps, left = steps + 2, left >> 1
    return steps * m


def label_at(rank, column, cut, label, t, e):
    """Return the label of an entry in the subtree of a node."""
    while column[t] >= 0:
        t = 2 * t + (rank[e, column[t]] > cut[t])
    return label[t]


def part(data, tree, room, t, price, least):
    """Part the entries of a node among the nodes below it, give leaves their best labels, and note what each subtree
    saves, what it costs, and how many of its leaves have too few rows; the entries of the node itself are known."""
    rank, _, _, saving, value, most, count = data
    column, cut, label, done = tree
    entry, begin, end, saved, lost, short, sums, _, _, _, _, _, _, _ = room
    size, first, wide, work = len(column), t, 1, 0
    while first < size:
        for s in range(first, first + wide):
            b, e = begin[s], end[s]
            work += e - b
            if column[s] < 0:
                for k in range(len(sums)):
                    sums[k] = 0
                total, rows = 0, 0
                for i in range(b, e):
                    sums[saving[entry[i]]] += value[entry[i]]
                    total += most[entry[i]]
                    rows += count[entry[i]]
                best = label[s]
                for k in range(len(sums)):
                    if sums[k] > sums[best]:
                        best = k
                label[s] = best
                saved[s] = sums[best]
                lost[s] = total - sums[best]
                short[s] = 0 < rows < least
                if 2 * s < size:
                    begin[2 * s] = end[2 * s] = begin[2 * s + 1] = end[2 * s + 1] = b
                    column[2 * s] = column[2 * s + 1] = -1
                continue
            i, j, f, c = b, e - 1, column[s], cut[s]
            while i <= j:
                if rank[entry[i], f] <= c:
                    i += 1
                else:
                    entry[i], entry[j] = entry[j], entry[i]
                    j -= 1
            begin[2 * s], end[2 * s], begin[2 * s + 1], end[2 * s + 1] = b, i, i, e
        first, wide = 2 * first, 2 * wide
    gather(tree, room, t, price)
    return work


def lowest_splits(size, t):
    """Return the first node, and the number of nodes, of the lowest level of a subtree that may have splits."""
    first, wide = t, 1
    while 4 * first < size:
        first, wide = 2 * first, 2 * wide
    return first, wide


def gather(tree, room, t, price):
    """Note what the subtrees of the branch nodes at and below a node save, from those of the leaves."""
    column = tree[0]
    first, wide = lowest_splits(len(column), t)
    while first >= t:
        for s in range(first, first + wide):
            if column[s] >= 0:
                join(room, s, price)
        first, wide = first // 2, wide // 2


def join(room, s, price):
    """Note what the subtree of a branch node saves, from those of its sides."""
    _, begin, end, saved, lost, short, _, _, _, _, _, _, _, _ = room
    both = begin[2 * s] < end[2 * s] and begin[2 * s + 1] < end[2 * s + 1]
    saved[s] = saved[2 * s] + saved[2 * s + 1] - (price if both else 0)
    lost[s] = lost[2 * s] + lost[2 * s + 1] + (price if both else 0)
    short[s] = short[2 * s] + short[2 * s + 1]


def renew(tree, s):
    """Note that the splits below a node and above it may no longer be the best ones, and its own is."""
    done = tree[3]
    first, wide = s, 1
    while first < len(done):
        for t in range(first, first + wide):
            done[t] = 0
        first, wide = 2 * first, 2 * wide
    done[s] = 1
    while s > 1:
        s //= 2
        done[s] = 0


def fit_stump(data, tree, room, s, price, least, state):
    """Give a node the best split above two leaves, if it saves more than the node does as it is; return the work."""
    _, by_column, blocks, saving, value, _, count = data
    column, cut, label, done = tree
    entry, begin, end, saved, _, _, sums, order, keys, places, local, up, _, _ = room
    b, m, rows, leaf = begin[s], end[s] - begin[s], 0, False
    for i in range(m):
        local[i] = entry[b + i]
        rows += count[local[i]]
    best, best_f, best_c, ties, work = saved[s], -1, 0, 0, m
    for f in range(len(by_column)):
        line = by_column[f]
        work += sort_by(line, local, m, order, keys, places, blocks[f]) + 2 * m
        for k in range(len(sums)):
            sums[k] = 0
        most = 0
        for i in range(m):
            e = local[order[i]]
            sums[saving[e]] += value[e]
            most = max(most, sums[saving[e]])
            up[i] = most
        if f == 0 and most >= best and price > 0:
            best, leaf = most, True
        for k in range(len(sums)):
            sums[k] = 0
        most, found, low, high, on_right = 0, -1, 0, 0, 0
        for i in range(m - 1, 0, -1):
            e = local[order[i]]
            sums[saving[e]] += value[e]
            most = max(most, sums[saving[e]])
            on_right += count[e]
            before = line[local[order[i - 1]]]
            if before < line[e] and up[i - 1] + most - price > found and least <= on_right <= rows - least:
                found, low, high = up[i - 1] + most - price, before, line[e]
        if found > best:
            best, ties, leaf = found, 0, False
        if found == best and best > saved[s] and not leaf:
            ties += 1
            if draw(state, ties) == 0:
                best_f, best_c = f, low + draw(state, high - low)
    done[s] = 1
    if leaf:
        column[s] = -1
        work += part(data, tree, room, s, price, least)
        renew(tree, s)
    elif best_f >= 0:
        column[s], cut[s] = best_f, best_c
        column[2 * s] = column[2 * s + 1] = -1
        work += part(data, tree, room, s, price, least)
        renew(tree, s)
    return work


def fit_split(data, tree, room, s, price, least, state):
    """Give a node the best split above its subtrees as they are; return the work."""
    rank, by_column, blocks, saving, value, _, _ = data
    column, cut, label, done = tree
    entry, begin, end, saved, _, short, _, order, keys, places, local, _, gain, _ = room
    m, work, now = 0, 0, 0
    for i in range(begin[s], end[s]):
        e = entry[i]
        one = label_at(rank, column, cut, label, 2 * s, e)
        two = label_at(rank, column, cut, label, 2 * s + 1, e)
        if one != two and (saving[e] == one or saving[e] == two):
            local[m], gain[m] = e, value[e] if saving[e] == one else -value[e]
            now += gain[m] if rank[e, column[s]] <= cut[s] else 0
            m += 1
    work = 4 * (end[s] - begin[s])
    best, best_f, best_c, ties = now, -1, 0, 0
    for f in range(len(by_column)):
        line = by_column[f]
        work += sort_by(line, local, m, order, keys, places, blocks[f]) + m
        upto, found, low, high = 0, -(1 << 60), 0, 0
        for i in range(m - 1):
            upto += gain[order[i]]
            here, behind = line[local[order[i]]], line[local[order[i + 1]]]
            if here < behind and upto > found:
                found, low, high = upto, here, behind
        if found > best:
            best, ties = found, 0
        if found == best:
            ties += 1
            if draw(state, ties) == 0:
                best_f, best_c = f, low + draw(state, high - low)
    done[s] = 1
    if best_f >= 0:
        own_f, own_c, few = column[s], cut[s], short[s]
        column[s], cut[s] = best_f, best_c
        work += part(data, tree, room, s, price, least)
        if short[s] > few:
            column[s], cut[s] = own_f, own_c
            work += part(data, tree, room, s, price, least)
        else:
            renew(tree, s)
    return work


def polish(data, tree, room, t, price, least, state, most_work):
    """Fit the splits of a subtree, from the leaves up, until a pass saves no more or the work is done; return the
    work."""
    column, done = tree[0], tree[3]
    _, begin, end, saved, lost, _, _, _, _, _, _, _, _, _ = room
    work = 0
    for _ in range(ROUNDS):
        before = saved[t]
        first, wide = lowest_splits(len(column), t)
        while first >= t:
            for s in range(first, first + wide):
                if column[s] >= 0:
                    join(room, s, price)
                if lost[s] <= price or end[s] - begin[s] < 2 or work > most_work:
                    continue
                if column[s] >= 0 and (column[2 * s] >= 0 or column[2 * s + 1] >= 0):
                    work += fit_split(data, tree, room, s, price, least, state)
                elif not done[s]:
                    work += fit_stump(data, tree, room, s, price, least, state)
            first, wide = first // 2, wide // 2
        if saved[t] <= before or work > most_work:
            break
    return work


def grow(data, tree, room, t, price, least, state, most_work):
    """Give a subtree splits of least Gini impurity over drawn columns, and the best ones above the leaves; return the
    work. The impurity of weights w_k is least where Σ_sides Σ_k w_k² / Σ_k w_k is greatest."""
    _, by_column, blocks, saving, value, _, count = data
    column, cut, label, done = tree
    entry, begin, end, saved, lost, _, sums, order, keys, places, local, _, _, right = room
    size, first, wide, work = len(column), t, 1, 0
    renew(tree, t)
    done[t], column[t] = 0, -1
    work += part(data, tree, room, t, price, least)
    while 2 * first < size:
        for s in range(first, first + wide):
            m = end[s] - begin[s]
            if m < 2 or lost[s] <= price or work > most_work:
                continue
            if 4 * s >= size:
                work += fit_stump(data, tree, room, s, price, least, state)
                continue
            rows = 0
            for i in range(m):
                local[i] = entry[begin[s] + i]
                rows += count[local[i]]
            best, best_f, best_c = -1.0, -1, 0
            only = draw(state, len(by_column))
            for f in range(len(by_column)):
                if f != only and draw(state, 1000) >= 1000 * COLUMNS:
                    continue
                line = by_column[f]
                work += sort_by(line, local, m, order, keys, places, blocks[f]) + 2 * m
                for k in range(len(sums)):
                    sums[k] = right[k] = 0
                for i in range(m):
                    right[saving[local[i]]] += value[local[i]]
                square_left, square_right, on_left, on_right, before = 0.0, 0.0, 0.0, 0.0, 0
                for k in range(len(sums)):
                    square_right += float(right[k]) * float(right[k])
                    on_right += right[k]
                for i in range(m - 1):
                    e = local[order[i]]
                    k, v = saving[e], float(value[e])
                    square_left += v * (2.0 * sums[k] + v)
                    square_right -= v * (2.0 * right[k] - v)
                    sums[k] += value[e]
                    right[k] -= value[e]
                    on_left += v
                    on_right -= v
                    before += count[e]
                    behind = line[local[order[i + 1]]]
                    if line[e] < behind and on_left > 0 and on_right > 0 and least <= before <= rows - least:
                        pure = square_left / on_left + square_right / on_right
                        if pure > best:
                            best, best_f, best_c = pure, f, line[e] + draw(state, behind - line[e])
            if best_f >= 0:
                column[s], cut[s] = best_f, best_c
                column[2 * s] = column[2 * s + 1] = -1
                work += part(data, tree, room, s, price, least)
        first, wide = 2 * first, 2 * wide
    gather(tree, room, t, price)
    return work


def change(data, tree, room, t, price, least, state, most_work):
    """Change the split of a node, which has entries of several ranks in some column, and polish its subtree; return the
    work."""
    rank = data[0]
    column, cut, _, done = tree
    entry, begin, end = room[0], room[1], room[2]
    b, m, work = begin[t], end[t] - begin[t], 0
    way = draw(state, WAYS)
    if price > 0 and column[t] >= 0 and draw(state, WAYS) == 0:
        column[t] = -1
        renew(tree, t)
        work += part(data, tree, room, t, price, least)
    elif column[t] < 0 or way == 0:
        work += grow(data, tree, room, t, price, least, state, most_work)
    else:
        f = column[t] if way == 1 else draw(state, rank.shape[1])
        column[t], cut[t] = f, rank[entry[b + draw(state, m)], f]
        renew(tree, t)
        work += part(data, tree, room, t, price, least)
        if way == 3 and 4 * t < len(column):
            for s in (2 * t, 2 * t + 1):
                if begin[s] < end[s]:
                    work += grow(data, tree, room, s, price, least, state, most_work)
            gather(tree, room, t, price)
    return work + polish(data, tree, room, t, price, least, state, most_work)


def keep(tree, kept, t):
    """Copy a subtree."""
    first, wide = t, 1
    while first < len(tree[0]):
        for s in range(first, first + wide):
            kept[0][s], kept[1][s], kept[2][s], kept[3][s] = tree[0][s], tree[1][s], tree[2][s], tree[3][s]
        first, wide = 2 * first, 2 * wide


def below(tree, room, t, levels, state):
    """Return a node so many levels below another one, or less, of two children rather that which loses more."""
    column, lost = tree[0], room[4]
    for _ in range(levels):
        both = lost[2 * t] + lost[2 * t + 1] if column[t] >= 0 else 0
        if both <= 0:
            break
        t = 2 * t + (draw(state, both) >= lost[2 * t])
    return t


def join_up(room, s, top, price):
    """Note what the subtrees of the nodes above a node save, up to the node `top`."""
    while s > top:
        s //= 2
        join(room, s, price)


def least_worked(spent):
    """Return the height at which the least work was done, the least of several."""
    height = 1
    for h in range(2, len(spent)):
        if spent[h] < spent[height]:
            height = h
    return height


def follow(data, tree, again, room, t, aim, costs, state):
    """Change nodes below a changed node until its subtree saves enough, `aim` is (height of the node, saving that is
    enough); changes that save less are taken back. `costs` are (of a branch node, rows of a leaf, most work). Return
    the work."""
    (height, enough), (price, least, most_work) = aim, costs
    saved, lost, short, work = room[3], room[4], room[5], np.int64(0)
    for _ in range(FOLLOW):
        s = below(tree, room, t, 1 + draw(state, height - 1), state)
        if s == t or lost[s] <= price or room[2][s] - room[1][s] < 2 or 2 * s >= len(tree[0]):
            continue
        had = saved[s]
        keep(tree, again, s)
        work += change(data, tree, room, s, price, least, state, most_work)
        if saved[s] < had or short[s]:
            keep(again, tree, s)
            work += part(data, tree, room, s, price, least)
        join_up(room, s, t, price)
        if saved[t] >= enough and not short[t]:
            break
    return work


@kernel
def improve_tree(data, tree, kept, again, room, progress, costs, most_work):
    """Improve a tree by trials until they took this work.

    Parameters
    ----------
    data : (rank (entries, columns), the same (columns, entries), ranks of each column, the label that saves on each
        entry, how much it saves, what the entry costs at most, its rows of the data)
    tree : (column, rank, label, whether the split is the best one as it was last found), each int32
        (2^(depth + 1),); receives the better tree
    kept, again : the same, room for copies
    room : arrays for `part` and the others
    progress : (work at each height so far, int64 (depth + 1,); state of the random numbers, uint64 (1,))
    costs : (cost of a branch node, rows that each leaf must have)
    most_work : int

    Returns
    -------
    int, the cost of the tree
    """
    (spent, state), (price, least) = progress, costs
    saved, lost, short = room[3], room[4], room[5]
    n, depth, work = len(data[3]), len(spent) - 1, np.int64(0)
    room[1][1], room[2][1] = 0, n
    work += part(data, tree, room, 1, price, least)
    work += polish(data, tree, room, 1, price, least, state, most_work)
    while work < most_work and lost[1] > 0:
        height = least_worked(spent)
        t = below(tree, room, 1, depth - height, state)
        if lost[t] <= price or room[2][t] - room[1][t] < 2 or 2 * t >= len(tree[0]):
            spent[height] += n
            work += n
            continue
        before, at_most = saved[t], lost[t]
        keep(tree, kept, t)
        took = change(data, tree, room, t, price, least, state, most_work)
        enough = before - max(np.int64(1), np.int64(NEARLY * at_most))
        if height > 2 and enough <= saved[t] < before:
            took += follow(data, tree, again, room, t, (height, before), (price, least, most_work), state)
        if saved[t] < before or short[t]:
            keep(kept, tree, t)
            took += part(data, tree, room, t, price, least)
        gained = saved[t] > before
        join_up(room, t, 1, price)
        work += took
        spent[height] += np.int64(PRAISE * took) if gained else took
    return lost[1]


class Chain:
    """A tree that is improved, as arrays, with its cost and the work at each height."""

    def __init__(self, depth: int):
        self.tree = tuple(np.zeros(2 ** (depth + 1), np.int32) for _ in range(4))
        self.tree[0][:] = -1
        self.spent, self.cost = np.zeros(depth + 1, np.int64), NEVER


class TreeMoves:
    """Search for better and better trees of one depth over all entries, by `improve_tree`.

    A tree that is improved only by trials ends in different local optima, depending on the first trials. So several
    trees are started, and the better half of them continues with twice the work, until one is left (successive halving;
    Jamieson and Talwalkar 2016). The best tree of all then gets as much work, and a race with more work follows.

    Parameters
    ----------
    ranked : RankedRows
    depth : int

    Attributes
    ----------
    best : Chain, the best tree so far
    """

    def __init__(self, ranked, depth: int):
        self.depth, n, size = depth, ranked.n, 2 ** (depth + 1)
        rank = np.ascontiguousarray(ranked.rank).view(np.int32)
        blocks = rank.max(axis=0, initial=0).astype(np.int64) + 1
        self._costs, labels = (int(ranked.price), int(ranked.least)), max(2, ranked.stride)
        gain, most = np.abs(ranked.gain.astype(np.int64)), ranked.most.astype(np.int64)
        saving, count = ranked.saving.astype(np.int32), ranked.count.astype(np.int64)
        self._data = rank, np.ascontiguousarray(rank.T), blocks, saving, gain, most, count
        self._copies = [tuple(np.zeros(size, np.int32) for _ in range(4)) for _ in range(2)]
        self._room = (
            np.arange(n, dtype=np.int32),
            *(np.zeros(size, np.int64) for _ in range(5)),
            np.zeros(labels, np.int64),
            np.zeros(n, np.int32),
            np.zeros(n, np.int64),
            np.zeros(int(blocks.max(initial=0)) + 2, np.int32),
            np.zeros(n, np.int32),
            *(np.zeros(n, np.int64) for _ in range(2)),
            np.zeros(labels, np.int64),
        )
        self._state = np.full(1, SEED, np.uint64)
        self._step = max(STEP, LONG_STEP * rank.size)
        self.best = Chain(depth)

    def steps(self) -> Iterator[None]:
        """Improve trees until one costs nothing, with a stop after each step of work."""
        share = SHARE * self._data[0].size
        while self.best.cost > 0:
            chains, each = [Chain(self.depth) for _ in range(CHAINS)], share
            while len(chains) > 1:
                for chain in chains:
                    yield from self._improve(chain, each)
                chains, each = sorted(chains, key=lambda chain: chain.cost)[: len(chains) // 2], 2 * each
            yield from self._improve(self.best, CHAINS * share * (CHAINS.bit_length() - 1))
            share *= 2

    def _improve(self, chain: Chain, work: int) -> Iterator[None]:
        while work > 0 and self.best.cost > 0:
            self._run(chain, min(work, self._step))
            work -= self._step
            yield

    def _run(self, chain: Chain, work: int) -> None:
        chain.cost = int(
            improve_tree(
                self._data,
                chain.tree,
                *self._copies,
                self._room,
                (chain.spent, self._state),
                self._costs,
                work,
            )
        )
        if chain.cost < self.best.cost:
            self.best = chain

    def take(self, nested) -> None:
        """Use a tree, nested (column, rank, left, right) with None for a leaf, as the best tree if it costs less."""
        chain = Chain(self.depth)
        chain.spent[:] = self.best.spent
        waiting = [(1, nested)]
        while waiting:
            t, one = waiting.pop()
            if one is not None:
                chain.tree[0][t], chain.tree[1][t] = one[:2]
                waiting += [(2 * t, one[2]), (2 * t + 1, one[3])]
        self._run(chain, 0)

    def nested(self):
        """Return the best tree, without splits that leave one side empty."""
        self._run(self.best, 0)
        return self._nested(1)

    def _nested(self, t: int):
        column, cut, *_ = self.best.tree
        if column[t] < 0:
            return None
        _, begin, end, *_ = self._room
        for empty, other in ((2 * t, 2 * t + 1), (2 * t + 1, 2 * t)):
            if begin[empty] >= end[empty]:
                return self._nested(other)
        return int(column[t]), int(cut[t]), self._nested(2 * t), self._nested(2 * t + 1)


def compile_now() -> None:
    """Call the kernel of this module on little data."""
    rank = np.random.default_rng(0).integers(0, 9, (60, 3))
    next(TreeMoves(rank_rows(rank, np.eye(2)[rank[:, 0] % 2]), 2).steps(), None)
