"""Kernels of the search in numpy, with the same results: columns are scanned in parallel.

Arguments and results are those of odtc.algorithms.thresholds.depth_two, which explains the bounds.
"""

import numpy as np

from odtc.algorithms.thresholds.depth_two import NEVER
from odtc.base import deadline

CELLS = 2_000_000  # entries of a table that is held at once
RARE = 4  # one in so many entries at most has the rarer answer of a split of two answers, for sums of these alone


def take_side(order, side, wanted, size):
    """The order of one side of a split, uint32 (columns, size); `side` is uint8 (all entries,)."""
    kept = side[order >> 1] == wanted
    block = (np.cumsum(order & 1, axis=1) - (order & 1))[kept].reshape(len(order), size)
    out = (order[kept] & np.uint32(0xFFFFFFFE)).reshape(len(order), size)
    if size:
        out[:, :-1] |= (block[:, 1:] > block[:, :-1]).astype(np.uint32)
        out[:, -1] |= 1
    return out


def profile(order, most, count):
    """(blocks, starts, weight, rows) of the cuts of each column."""
    F, n = order.shape
    last = (order & 1).astype(bool)
    blocks = last.sum(axis=1)
    starts = np.zeros((F, n + 1), np.int32)
    weight, rows = np.zeros((F, n + 1), np.int64), np.zeros((F, n + 1), np.int64)
    line, at = np.nonzero(last)
    cut = 1 + np.arange(len(at)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    starts[line, cut] = at + 1
    weight[line, cut] = np.cumsum(most[order >> 1], axis=1)[line, at]
    rows[line, cut] = np.cumsum(count[order >> 1], axis=1)[line, at]
    return blocks, starts, weight, rows


def totals(line, label, gain, most, count, stride):
    """(cost of the best label, that label, weight, rows of the data) of the entries of one line of an order."""
    entry = line >> 1
    value = _values(entry, label, gain, stride)
    weight, best = int(most[entry].sum()), int(value.argmax())
    return weight - int(value[best]), best, weight, int(count[entry].sum())


def gini_test(order, label, gain, stride):
    """(column, cut, purity) of the split that leaves the least Gini impurity, by gains; (-1, 0, -1) if none parts the
    entries."""
    best, column, cut = -1.0, -1, 0
    total = _values(order[0] >> 1, label, gain, stride).astype(float)
    for g, line in enumerate(order):
        entry, ends = line >> 1, np.flatnonzero(line[:-1] & 1)
        if not len(ends):
            continue
        left = np.zeros((len(entry), len(total)))
        own = (gain[entry] > 0).astype(int) if stride == 1 else label[entry]
        left[np.arange(len(entry)), own] = np.abs(gain[entry])
        left = np.cumsum(left, axis=0)[ends]
        right = total - left
        pure = sum(
            np.divide((side**2).sum(axis=1), side.sum(axis=1), out=np.zeros(len(ends)), where=side.sum(axis=1) > 0)
            for side in (left, right)
        )
        if pure.max() > best:
            best, column, cut = float(pure.max()), g, int(pure.argmax()) + 1
    return column, cut, best


def depth_two(order, label, gain, most, count, stride, price, least, need, local, told):
    """(cost, column, cut, scans) of the best tree of depth 2 on a node, if it costs less than `need`."""
    node = _Node(order, label, gain, most, count, stride, price, least, told)
    best, split = (need, (-2, 0)) if node.leaf >= need else (node.leaf, (-1, 0))
    told[1:] = best, *split
    if not len(node.column):
        return best, *split, 0
    stump = node.scan(np.zeros(0, np.int64), np.arange(len(node.column)))[1]
    for j in np.argsort(stump, kind="stable").tolist():
        if price >= best or told[0]:
            break
        best, split = _best_over(node, j, stump, best, split)
    return int(best), *split, node.scans


def _best_over(node, j, stump, best, split):
    """The best tree and its first split, after those that split column j first."""
    line = node.order[node.column[j]]
    blocks, starts, weight, rows = (part[0] for part in profile(line[None], node.most, node.count))
    entry, price = line >> 1, node.price
    zero = np.zeros_like(stump)
    a, z = 1, int(blocks) - 1
    while a <= z and rows[a] < node.least:
        a += 1
    while a <= z and rows[blocks] - rows[z] < node.least:
        z -= 1
    # (first and last cut left; of both ends the weight and the bounds of both sides by column)
    stack = [(a, z, (0, zero, stump), (int(weight[blocks]), stump, zero))]
    while stack and not node.told[0]:
        a, z, (wl, l0, r0), (wh, l1, r1) = stack.pop()
        target = best - price
        A, B, C, D = int(l0.min()), int(l1.min()), int(r1.min()), int(r0.min())
        if A + C >= target or B + D - (wh - wl) >= target:
            continue
        a = max(a, int(np.searchsorted(weight[: blocks + 1], A + D - target + wl, side="right")))
        z = min(z, int(np.searchsorted(weight[: blocks + 1], wh - (B + C - target), side="left")) - 1)
        if a > z:
            continue
        c = (a + z) >> 1
        w = int(weight[c])
        l, r = np.maximum(l0, l1 - (wh - w)), np.maximum(r1, r0 - (w - wl))
        if l.min() + r.min() < target:
            wanted = np.flatnonzero((l + r.min() < target) | (l.min() + r < target))
            l[wanted], r[wanted], kept, kept_right = node.scan(entry[: starts[c]], wanted)
            if kept + kept_right < target:
                best, split = price + kept + kept_right, (int(node.column[j]), c)
                node.told[1:] = best, *split
        new = (w, l, r)
        one = max(A + int(r.min()), int(l.min()) + D - (w - wl))
        two = max(int(l.min()) + C, B + int(r.min()) - (wh - w))
        halves = [(a, c - 1, (wl, l0, r0), new), (c + 1, z, new, (wh, l1, r1))]
        stack += halves[::-1] if one <= two else halves
    return best, split


class _Node:
    """The columns of a node that part its entries, and their stumps on a side of a split."""

    def __init__(self, order, label, gain, most, count, stride, price, least, told):
        cuts, first = _cuts(order)
        self.column, self.order = np.flatnonzero(cuts), order
        self.label, self.gain, self.most, self.count = label, gain, most, count
        self.stride, self.price, self.least, self.scans, self.told = stride, price, least, 0, told
        self.leaf, _, self.weight, self.rows = (
            totals(order[0], label, gain, most, count, stride) if len(order) else (0, 0, 0, 0)
        )
        self.side = np.zeros(len(most), bool)
        self._note_rare(cuts[self.column], first[self.column])

    def _note_rare(self, cuts, first):
        """Lists the entries that have the rarer answer to each split of two answers."""
        n = self.order.shape[1] if len(self.column) else 0
        before = first < n - first  # whether these come first
        self.is_rare = (cuts == 1) & (RARE * np.minimum(first, n - first) <= n)
        places = np.flatnonzero(self.is_rare)
        lists = [
            self.order[self.column[j], : first[j]] if before[j] else self.order[self.column[j], first[j] :]
            for j in places.tolist()
        ]
        self.rare_entry = np.concatenate(lists) >> 1 if lists else np.zeros(0, np.uint32)
        self.rare_of = np.repeat(np.arange(len(places)), [len(one) for one in lists])
        self.rare_place = np.cumsum(self.is_rare) - 1  # of a column among those with a rare answer

    def scan(self, left, columns):
        """int64 (columns,) twice: what the left side (these entries) and the right side cost with a split of each
        column, or none; and the least of those for each side with enough rows in all leaves."""
        self.side[left] = True
        self.scans += len(columns)
        step = max(1, CELLS // max(1, self.order.shape[1]))
        rare = self.is_rare[columns]
        bounds, kept = np.empty((2, len(columns)), np.int64), [NEVER, NEVER]
        parts = [(rare, self._scan_rare)] if rare.any() else []
        others = np.flatnonzero(~rare)
        parts += [(others[begin : begin + step], self._scan) for begin in range(0, len(others), step)]
        for part, scanned in parts:
            deadline.check()
            bounds[0, part], bounds[1, part], *least = scanned(columns[part])
            kept = list(map(min, kept, least))
        self.side[left] = False
        return *bounds, *kept

    def _scan_rare(self, columns):
        """As `_scan`, from the entries with the rarer answers alone: what a split saves is the same if its sides are
        exchanged."""
        entry, places = self.order[self.column[0]] >> 1, self.rare_place[columns]
        found = []
        for here in (self.side, ~self.side):
            inside = entry[here[entry]]
            rare = np.flatnonzero(here[self.rare_entry])
            one, of = self.rare_entry[rare], self.rare_of[rare]
            weight, total = int(self.most[inside].sum()), _values(inside, self.label, self.gain, self.stride)
            if self.stride == 1:
                p = self._by_rare(of, self.gain[one], places)
                leaf, cost = int(min(total)), self.price + np.minimum(total[1] - p, total[0] + p)
            else:
                saved = np.zeros((2, len(columns)), np.int64)
                for k in range(self.stride):
                    p = self._by_rare(of, self.gain[one] * (self.label[one] == k), places)
                    saved = np.maximum(saved, [p, total[k] - p])
                leaf, cost = weight - int(total.max()), self.price + weight - saved.sum(axis=0)
            bound, least = np.minimum(leaf, cost), leaf
            if self.least > 1:
                count, rows = self._by_rare(of, self.count[one], places), int(self.count[inside].sum())
                enough = (count >= self.least) & (rows - count >= self.least)
                least = min(leaf, int(np.where(enough, cost, NEVER).min())) if rows >= self.least else NEVER
            else:
                least = int(bound.min())
            found.append((bound, least))
        return found[0][0], found[1][0], found[0][1], found[1][1]

    def _by_rare(self, of, value, places):
        """The sums of a value of the entries with the rarer answer, int64 (columns,)."""
        return np.rint(np.bincount(of, value, int(self.rare_place[-1]) + 1)).astype(np.int64)[places]

    def _scan(self, columns):
        order = self.order[self.column[columns]]
        entry, cuts = order >> 1, (order & 1).astype(bool)
        cuts[:, -1] = False  # the last block ends no cut
        side = self.side[entry]
        found = []
        for here in (side, ~side):
            weight = int((self.most[entry[0]] * here[0]).sum())
            gain = self.gain[entry] * here.astype(self.gain.dtype)
            count = np.cumsum(self.count[entry] * here, axis=1) if self.least > 1 else None
            found.append(self._stumps(entry, cuts, gain, weight, count))
        return found[0][0], found[1][0], found[0][1], found[1][1]

    def _stumps(self, entry, cuts, gain, weight, count):
        """(least cost by column, the least of all with enough rows) on one side."""
        if self.stride == 1:
            p = np.cumsum(gain, axis=1, dtype=np.int64)
            positive = (weight + int(p[0, -1])) >> 1
            leaf = min(positive, weight - positive)
            saved = np.where(cuts, weight - np.minimum(positive - p, weight - positive + p), 0)
        else:
            up = down = None
            leaf = weight
            for k in range(self.stride):
                p = np.cumsum(gain * (self.label[entry] == k), axis=1, dtype=np.int64)
                leaf = min(leaf, weight - int(p[0, -1]))
                rest = p[:, -1:] - p
                up, down = (p, rest) if up is None else (np.maximum(up, p), np.maximum(down, rest))
            saved = np.where(cuts, up + down, 0)
        bound = np.minimum(leaf, self.price + weight - saved.max(axis=1))
        if count is None:
            return bound, int(bound.min())
        rows = int(count[0, -1])
        if rows < self.least:
            return bound, NEVER
        enough = cuts & (count >= self.least) & (rows - count >= self.least)
        held = np.where(enough, saved, -1).max()
        return bound, min(leaf, self.price + weight - int(held)) if held >= 0 else leaf


def _cuts(order):
    """(how many cuts each column has, how many entries are left of the first one)."""
    F, n = order.shape
    cuts, first = np.zeros(F, np.int64), np.zeros(F, np.int64)
    step = max(1, CELLS // max(1, n))
    for begin in range(0, F if n else 0, step):
        ends = (order[begin : begin + step, :-1] & 1).astype(bool)
        cuts[begin : begin + step] = ends.sum(axis=1)
        first[begin : begin + step] = ends.argmax(axis=1) + 1 if n > 1 else 0
    return cuts, first


def _values(entry, label, gain, stride):
    """int64 (labels,): what predicting each label saves on these entries."""
    if stride == 1:
        own = gain[entry]
        return np.array([-own[own < 0].sum(), own[own > 0].sum()], np.int64)
    value = np.zeros(stride, np.int64)
    np.add.at(value, label[entry], gain[entry])
    return value
