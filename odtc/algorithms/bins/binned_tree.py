"""A good tree over few cuts of each column of ranked rows, in little time.

Some of the cuts of each column divide it into bins of about equal size. The tree of depth 2 over these cuts that costs
least is found from the joint histograms of two columns f <= g,

    H_k[a, b] = Σ_{e: bin_f(e) = a, bin_g(e) = b, label(e) = k} gain[e]

whose sums over a <= c and b <= d are the savings of the leaves of the splits f <= c, g <= d, for all c and d at once.
It takes (rows + CELL · labels · bins²) · columns² / 2 steps, the same on each level of a tree, and no compiled kernel.
If that is more than STEPS, for example with columns of names, where each level is a column, only the columns whose
best split costs least are used.

The tree begins with one of depth 2; each node below the root is then replaced by the best tree of depth 2, the nodes
that cost most first. After that, splits are changed above subtrees that stay: with l(e) and r(e) the cost of an entry
in the left and the right subtree,

    Σ_e r(e) + min over f, c of Σ_{e: bin_f(e) <= c} (l(e) - r(e))

and so on, until no step saves anything. If there are many rows, a tree of depth 2 is at first chosen by only a part of
them. A step is taken if the tree costs less on all rows, so there is a tree at every moment, and never a worse one
than before.
"""

import math
from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

from odtc.algorithms.thresholds.ranks import RankedRows

NEVER = float(1 << 59)  # more than any cost
QUICK, LOOKED = 2**13, 2**17  # maximum entries that a tree of depth 2 is chosen by, at first and later
CELLS = 2**21  # entries times columns that are counted at once
STEPS = 2**26  # for one tree of depth 2, at most: about two CPU seconds
CELL = 4  # steps for a cell of two columns' bins and a label

Place = tuple[int, int]  # a column, and the last bin of it that goes left
Pair = tuple[Place | None, Place | None, Place | None]  # the first split, and those on its sides; None for a leaf


class BinnedTree:
    """The best tree so far, which `search` improves until it is done, or `check` raises.

    Parameters
    ----------
    ranked : RankedRows
    depth : int, 1 or more
    parts : int, bins of a column, about; more than 1
    check : called between steps; raises to end the search

    Attributes
    ----------
    place : dict, the split of each branch node in heap order, as a Place
    cost : int, of that tree
    """

    def __init__(self, ranked: RankedRows, depth: int, parts: int, check: Callable[[], None]):
        self.ranked, self.depth, self.check = ranked, depth, check
        self.label = ranked.saving
        self.saved, self.labels = np.abs(ranked.gain).astype(float), max(2, ranked.stride)
        self.whole = bool((ranked.most == self.saved).all())  # the maximum cost of leaves is the saving of all labels
        self.kept, codes = [], []
        for ranks in ranked.rank.T:
            check()
            self.kept.append(_cuts(ranks, parts))
            codes.append(np.searchsorted(self.kept[-1], ranks).astype(np.uint16))
        self.code = np.stack(codes) if codes else np.zeros((0, ranked.n), np.uint16)
        self.bins = 1 + max((len(kept) for kept in self.kept), default=0)
        self.entries, self.looked = np.arange(ranked.n), LOOKED
        self.pairs: dict[int, Pair] = {}  # trees of depth 2, by the hash of the entries
        self.place: dict[int, Place] = {}
        self.cost = self._paid(self.place, 1, self.entries)

    def nested(self, node: int = 1):
        """Return the best tree so far as nested (column, rank, left, right), with None for a leaf."""
        if node not in self.place:
            return None
        column, last = self.place[node]
        return column, int(self.kept[column][last]), self.nested(2 * node), self.nested(2 * node + 1)

    def search(self) -> None:
        """Improve the tree until no step does."""
        if not len(self.code) or not self.ranked.n:
            return
        for looked in (QUICK, LOOKED) if self.ranked.n > QUICK else (LOOKED,):
            self.looked = looked
            grown = self._grown(dict(_heap(1, self._pair(self.entries), self.depth)))
            self.looked = LOOKED
            self._polish(grown)

    def _grown(self, place):
        """Grow a tree that begins with some splits, and then has the best tree of depth 2 below each node."""
        self._note(place)
        waiting: list[tuple[float, int]] = []

        def meet(node):
            if self._height(node) >= 2:
                heappush(waiting, (-self._paid(place, node, self._at(place, node)), node))

        meet(2)
        meet(3)
        while waiting:
            _, node = heappop(waiting)
            self._best_below(place, node)
            if node in place:
                meet(2 * node)
                meet(2 * node + 1)
        return place

    def _polish(self, place):
        """Change splits and replace subtrees of depth 2 until no step makes the tree cheaper."""
        better = True
        while better:
            better = False
            for node in sorted(range(1, 2**self.depth), reverse=True):
                height = self._height(node)
                if height == 2 or (height == 1 and self.depth == 1):
                    better |= self._best_below(place, node)
                elif height > 2 and node in place:
                    better |= self._move(place, node)

    def _height(self, node: int) -> int:
        return self.depth - node.bit_length() + 1

    def _note(self, place):
        if (paid := self._paid(place, 1, self.entries)) < self.cost:
            self.place, self.cost = dict(place), paid

    def _best_below(self, place, node) -> bool:
        """Replace a subtree by the best tree of depth 2 if that costs less, and return whether it does."""
        entries = self._at(place, node)
        if not len(entries):
            return False
        return self._taken(place, node, dict(_heap(node, self._pair(entries), self._height(node))), entries)

    def _move(self, place, node) -> bool:
        """Change the split of a node, above subtrees that stay, if the tree then costs less, and return whether it
        does."""
        self.check()
        entries = self._at(place, node)
        left, right = (self._losses(place, 2 * node + side, entries) for side in (0, 1))
        gained, best = left - right, (NEVER, 0, 0)
        for column, kept in enumerate(self.kept):
            sums = np.bincount(self.code[column, entries], gained, len(kept) + 1).cumsum()[:-1]
            if len(sums) and (least := float(sums[last := int(sums.argmin())])) < best[0]:
                best = least, column, last
        if best[0] == NEVER:  # no column has a cut: the rows that a split separates cost the same for all predictions
            return False
        below = {one: there for one, there in place.items() if _is_below(one, node)}
        return self._taken(place, node, below | {node: best[1:]}, entries)

    def _taken(self, place, node, subtree, entries) -> bool:
        """Replace a subtree by another one if that costs less on all entries, and return whether it does."""
        if self._paid(subtree, node, entries) >= self._paid(place, node, entries):
            return False
        for one in [one for one in place if _is_below(one, node)]:
            del place[one]
        place.update(subtree)
        self._note(place)
        return True

    def _at(self, place, node):
        """Return the entries that reach a node."""
        if node == 1:
            return self.entries
        entries, above = self._at(place, node // 2), place.get(node // 2)
        if above is None:
            return entries[:0]
        return entries[(self.code[above[0], entries] > above[1]) == bool(node % 2)]

    def _paid(self, place, node, entries) -> float:
        """Return the cost of a subtree; NEVER if one of its leaves has too few rows."""
        if node not in place:
            few = int(self.ranked.count[entries].sum()) < self.ranked.least
            return NEVER if few and self.ranked.least > 1 else self._leaf(entries)[1]
        column, last = place[node]
        right = self.code[column, entries] > last
        sides = [self._paid(place, 2 * node + side, entries[right == bool(side)]) for side in (0, 1)]
        return min(NEVER, self.ranked.price + sum(sides))

    def _leaf(self, entries):
        """Return (the label of a leaf, its cost)."""
        saves = np.bincount(self.label[entries], self.saved[entries], self.labels)
        label = int(saves.argmax())
        return label, float(self.ranked.most[entries].sum() - saves[label])

    def _losses(self, place, node, entries):
        """Return the cost of each of some entries in the subtree of a node, as its leaves predict now."""
        paid = np.zeros(len(entries))

        def walk(node, own, at):  # those that reach the node, and positions of those that would
            if node not in place:
                label = self._leaf(own)[0]
                there = entries[at]
                paid[at] = self.ranked.most[there] - np.where(self.label[there] == label, self.saved[there], 0.0)
                return
            column, last = place[node]
            right, moved = self.code[column, own] > last, self.code[column, entries[at]] > last
            for side in (False, True):
                walk(2 * node + side, own[right == side], at[moved == side])

        walk(node, self._at(place, node), np.arange(len(entries)))
        return paid

    def _pair(self, entries) -> Pair:
        """Return the best tree of depth 2, by some of the entries if they are many."""
        entries = entries[:: 1 + (len(entries) - 1) // self.looked]
        key = hash(entries.tobytes())
        if key not in self.pairs:
            self.pairs[key] = self._sought(entries)
        return self.pairs[key]

    def _sought(self, entries):
        entries = entries[np.argsort(self.label[entries], kind="stable")]
        columns = self._likely(entries)
        code = self.code[np.ix_(columns, entries)].astype(np.intp)
        F, sides = len(columns), _Sides([len(self.kept[column]) for column in columns], self.bins)
        wide = max(1, CELLS // max(1, len(entries)))
        for f in range(F):
            for first in range(f, F, wide):
                self.check()
                below = np.arange(first, min(F, first + wide))
                sums = self._sums(code, f, below, entries)
                sides.take(f, below, sums, self.ranked.price, self.ranked.least)
        found = sides.best(self.ranked.price, self.depth, self._leaf(entries)[1])
        return tuple(split and (int(columns[split[0]]), split[1]) for split in found)

    def _likely(self, entries):
        """Return the columns whose pairs are counted: all, or those whose best split costs least."""
        steps = len(entries) + CELL * self.labels * self.bins**2  # of a pair of columns
        F, most = len(self.code), max(2, math.isqrt(2 * STEPS // steps))
        if F <= most:
            return np.arange(F)
        cost = np.empty(F)
        whole = np.zeros((1, len(entries)), np.intp)  # one bin of all entries, in place of a second column
        for f, kept in enumerate(self.kept):
            self.check()
            sums = self._sums(np.vstack([whole, self.code[f : f + 1, entries]]), 1, np.zeros(1, np.intp), entries)
            leaves = _leaves(_parts(sums[:, :, 0, -1], 1), self.ranked.least).sum(axis=1)
            cost[f] = leaves[: len(kept)].min(initial=NEVER)
        return np.sort(np.argsort(cost, kind="stable")[:most])

    def _sums(self, code, f, below, entries):
        """Return (quantities, bins of f, columns below, their bins): the savings of labels, the maximum cost of
        leaves, and rows, summed up to each bin of both columns."""
        B = self.bins
        shape = B, len(below), B
        at = code[below] + B * np.arange(len(below))[:, None] + len(below) * B * code[f]

        def counted(part, weight):
            each = np.ascontiguousarray(np.broadcast_to(weight, (len(below), len(weight)))).ravel()
            return np.bincount(at[:, part].ravel(), each, B * len(below) * B).reshape(shape)

        ends = np.searchsorted(self.label[entries], np.arange(self.labels + 1))
        found = []
        for one, until in zip(ends[:-1], ends[1:]):
            saved = self.saved[entries[one:until]]
            if len(saved) and (saved == saved[0]).all():
                cells = np.bincount(at[:, one:until].ravel(), minlength=B * len(below) * B).reshape(shape)
                found.append(cells * saved[0])
            else:
                found.append(counted(slice(one, until), saved))
        whole = self.whole
        found.append(sum(found) if whole else counted(slice(None), self.ranked.most[entries].astype(float)))
        if self.ranked.least > 1:
            found.append(counted(slice(None), self.ranked.count[entries].astype(float)))
        return np.stack(found).cumsum(axis=1).cumsum(axis=3)


class _Sides:
    """The costs of the best trees of depth 1 on the sides of each cut, and their splits."""

    def __init__(self, cuts: list[int], bins: int):
        columns = len(cuts)
        self.none = np.arange(bins) >= np.array(cuts)[:, None]  # no cut of the column
        self.cost = np.full((columns, bins, 2), NEVER)  # by column, last bin on the left, and side
        self.leaf = np.full((columns, bins, 2), NEVER)
        self.split = np.zeros((columns, bins, 2, 2), np.int64)

    def take(self, f, below, sums, price, least) -> None:
        """Use the sums of pairs of columns: for the sides of f with splits on the columns below, and for the sides of
        each of these with splits on f."""
        cost, last = _stumps(sums, price, least)  # (bins of f, sides, columns below)
        leaf = _leaves(_parts(sums[:, :, 0, -1], 1), least)  # (bins of f, sides)
        self.leaf[f] = leaf
        one = cost.argmin(axis=2)[..., None]
        self._better(f, cost.min(axis=2), below[one[..., 0]], np.take_along_axis(last, one, 2)[..., 0])
        cost, last = _stumps(sums.transpose(0, 3, 2, 1), price, least)
        for place, g in enumerate(below.tolist()):
            self._better(g, cost[..., place], f, last[..., place])

    def _better(self, column, cost, split, last):
        less = cost < self.cost[column]
        self.cost[column][less] = cost[less]
        self.split[column][less] = np.stack(np.broadcast_arrays(split, last), axis=-1)[less]

    def best(self, price, depth, leaf) -> Pair:
        """Return the best tree of depth 2, or 1."""
        sides = self.leaf if depth == 1 else np.minimum(self.cost, self.leaf)
        paid = np.where(self.none, NEVER, price + sides.sum(axis=2))
        column, last = divmod(int(paid.argmin()), paid.shape[1])
        if paid[column, last] >= min(leaf, NEVER):
            return None, None, None
        splits: list[Place | None] = [None, None]
        for one in (0, 1):
            if sides[column, last, one] < self.leaf[column, last, one]:
                split, at = self.split[column, last, one].tolist()
                splits[one] = split, at
        return (column, last), splits[0], splits[1]


def _parts(sums, axis):
    """Return (…, last bin, …, both sides): sums up to each bin, and of the rest."""
    ends = sums.take([-1], axis=axis)
    return np.stack([sums, ends - sums], axis=-1)


def _leaves(parts, least):
    """Return the costs of leaves; NEVER with too few rows, or with none at all."""
    labels = len(parts) - 1 - (least > 1)
    cost = parts[labels] - parts[:labels].max(axis=0)
    return np.where(parts[-1] < least, NEVER, cost) if least > 1 else cost


def _stumps(sums, price, least):
    """Return the cost of the best split on each column below each side of each cut of the first column, and the last
    bin on the left of that split."""
    parts = _parts(sums, 1)  # (quantities, cuts, columns, bins below, sides)
    paid = price + _leaves(_parts(parts, 3), least).sum(axis=-1)  # over both leaves
    return paid.min(axis=2).swapaxes(1, 2), paid.argmin(axis=2).swapaxes(1, 2)


def _cuts(ranks, parts):
    """Return the ranks of some cuts of a column, all if they are few; rows of each of these ranks and below go left."""
    distinct = np.unique(ranks)
    if len(distinct) > parts:
        at = np.arange(1, parts) * len(ranks) // parts
        distinct = np.append(np.unique(np.partition(ranks, at)[at]), distinct[-1])
    return distinct[distinct < distinct[-1]] if len(distinct) else distinct


def _heap(node: int, pair: Pair, height: int):
    """Yield the splits of a tree of depth 2 below a node, by their numbers in heap order."""
    first, *below = pair
    if first is not None:
        yield node, first
        for side, split in enumerate(below):
            if split is not None and height > 1:
                yield 2 * node + side, split


def _is_below(node: int, above: int) -> bool:
    """Return whether a node is another one or below it."""
    return node >> max(0, node.bit_length() - above.bit_length()) == above
