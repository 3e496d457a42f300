"""Lower bound on all trees by rows that the sides of many splits have in common.

With b(f) any rank of a column f, each cut of f has all rows of rank <= b(f) on its left side, or all rows of rank >=
b(f) on its right side. Call these two sets the halves of f: they overlap in one rank, so a column with few ranks has
large ones, and one of two ranks needs only one of them. V_h grows with the rows, so for any partition of the halves of
all columns into groups

    V_h(S) >= min(leaf(S), price + min over groups G of V_{h-1}(C_G)),    C_G = the rows in all halves of G

A group of many halves has few rows in common: its bound is small, but available soon, because fewer and smaller trees
are sought. Groups are as large as the required bound allows, and are divided if their common rows cost too little.
Where one half of a column of two ranks costs too little, the two sides of its only split are taken together.
"""

import math
from dataclasses import dataclass

import numpy as np

MARGIN = 2.5  # minimum cost of the rows of a group as one leaf, relative to the requested bound, at first
MORE, LESS = 1.25, 0.98  # factors on this margin after a group that has to be divided, and after another one
LEAST = 1.6  # minimum of the margin, because with less it takes long scans to show that a group costs enough
NEARLY = 0.95  # a half that leaves at least this part of a group's cost is nearly a copy of one of its halves
MEASURED = 2**14  # maximum number of entries on which groups are chosen
OFTEN = 64  # halves that are added to a group between two checks of the deadline
AGAIN = 4  # a pass ends if it shows less than the requested bound divided by this


@dataclass
class Group:
    """A group of halves, and its bound.

    A half is (column, rank of a split, whether it is right of the split). `key` is the set of the entries that all
    halves contain, and `lower` a lower bound on the cost of trees of the height below on these entries.
    """

    halves: list[tuple[int, int, bool]]
    key: bytes
    lower: int


class CommonRows:
    """Lower bounds on trees for all entries of a search, by groups of halves. A minimum number of rows per leaf is
    ignored, so the bounds are also valid with it.

    Parameters
    ----------
    search : RankSearch, whose memory receives the bounds
    """

    def __init__(self, search):
        self.asked, self.search = search, search.relaxed or search
        ranked = search.ranked
        # By label, to compute costs of sets of entries as one leaf.
        self.saved = np.zeros((ranked.n, max(2, ranked.stride)), np.float32)
        self.saved[np.arange(ranked.n), ranked.saving] = np.abs(ranked.gain)
        self.margin: dict[int, float] = {}
        self.halves = float((1 + (ranked.rank.max(axis=0, initial=0) > 1)).sum())

    def bound(self, height: int, need: int) -> int:
        """Return a lower bound on the cost of trees of this height for all entries; stop at a bound of `need`."""
        try:
            return self.lower(self.search.root, height, need)
        finally:
            self.asked.note_bound(height, self.search.known(height).lower)

    def most(self, height: int) -> int:
        """Return about the greatest bound of trees of this height for all entries that groups show in little time."""
        root = self.search.root
        return int((root.leaf / 2 - self._fitted(root, height - 1)) / self.margin.get(height, MARGIN))

    def work(self, height: int, need: int) -> float:
        """Return about how many entries the trees of depth 2 have together that a bound of `need` takes, if each half
        of a column contains every other entry of a half of another column."""
        root = self.search.root
        return self._work(float(root.n), root.leaf / max(1, root.n), height, need)

    def _work(self, entries, each, height, need):
        if height <= 2:
            return entries
        enough = self._fitted(self.search.root, height - 1) + self.margin.get(height, MARGIN) * need
        together = min(self.halves, max(1.0, math.log2(max(1.0, entries * each / enough))))
        return self.halves / together * self._work(entries / 2**together, each, height - 1, need)

    def lower(self, node, height: int, need: int) -> int:
        """Return a lower bound on the cost of trees of this height on a node; stop at a bound of `need`."""
        search = self.search
        known = search.entry(node, height)
        if known.lower >= min(known.upper, need):
            return known.lower
        self.asked.check()
        if height <= 2 or search.nodes.solves(height):
            return search.value(node, height, need).lower
        price = search.ranked.price
        found, groups = self._in_groups(node, height, min(need, node.leaf) - price, known.lower - price)
        if found + price > known.lower:
            known.lower, known.grouped = found + price, (found + price, groups)
        return known.lower

    def _in_groups(self, node, height, need, known):
        """Return (a lower bound on the trees below any split, the groups that prove it); (`known`, []) if no better
        bound is found soon."""
        halves, entries = self._halves(node)
        enough = max(known + 1, -(-need // AGAIN))
        some = entries[:: 1 + (len(entries) - 1) // MEASURED]
        table = np.empty((len(some), len(halves)), np.float32)
        for number, half in enumerate(halves):
            table[:, number] = self._holds(half, some)
        saved = self.saved[some] * (len(entries) / max(1, len(some)))
        open_, groups, parted = np.ones(len(halves), bool), [], []
        while parted or open_.any():
            if parted:
                group = parted.pop()
            else:
                least = self.margin.setdefault(height, MARGIN) * need
                fitted = self._fitted(node, height - 1)
                group = _chosen(table, saved, np.flatnonzero(open_), least, fitted, self.asked.check)
                open_[group] = False
            found = self._found(node, [halves[one] for one in group], entries, height - 1, need)
            if found.lower < need and len(group) > 1:
                self.margin[height] *= MORE
                parted += [group[: len(group) // 2], group[len(group) // 2 :]]
                continue
            groups.append(found)
            lower = found.lower
            if lower < need and self._alone(halves, group[0], node):
                column, rank, right = halves[group[0]]
                groups.append(self._found(node, [(column, rank, not right)], entries, height - 1, need - lower))
                lower += groups[-1].lower
            self.margin[height] = max(LEAST, self.margin[height] * LESS)
            need = min(need, lower)
            if need < enough:
                return known, []
        return need, groups

    def _fitted(self, node, height) -> float:
        """Return about the cost, as one leaf, of rows that some tree of a height predicts without a loss whatever
        their labels are: as many rows as it takes bits to identify the tree."""
        cuts = max(2, int((self.search.nodes.cuts(node)[0] - 1).sum()))
        each = node.weight / max(1, node.n)
        return each * (2**height - 1) * math.log2(cuts) / 2

    def _found(self, node, halves, entries, height, need) -> Group:
        for half in halves:
            entries = entries[self._holds(half, entries)]
        self.asked.check()
        core = self.search.nodes.narrowed(node, entries)
        return Group(halves, core.key, min(need, self.lower(core, height, need)))

    def _alone(self, halves, one, node) -> bool:
        """Return whether the column of a half has one cut."""
        return int(self.search.nodes.cuts(node)[0][halves[one][0]]) == 2

    def _holds(self, half, entries):
        column, rank, right = half
        return (self.search.ranked.rank[entries, column] <= rank) != right

    def _halves(self, node):
        """Return (the halves of all columns that separate the entries of a node, these entries)."""
        entries, ranked = node.held, self.search.ranked
        saved = self.saved[entries]
        total = saved.sum(axis=0)
        # The label of most entries weighs no more than all others together.
        weight = saved @ np.minimum(1.0, (total.sum() - total) / np.maximum(total, 1e-9))
        halves = []
        for column, at in enumerate(self.search.nodes.middle(node, weight).tolist()):
            rank = ranked.rank[entries, column]
            if at < rank.max():
                halves.append((column, at, False))
            if at > rank.min():
                halves.append((column, at - 1, True))
        return halves, entries


def _chosen(table, saved, left, least, fitted, check):
    """Return a group of the remaining halves: the half of least cost, then in turn the half that leaves the common
    entries the greatest cost as one leaf. A further half must leave them a cost of `least` + `fitted`, or of `least` if
    it takes away next to nothing.

    Parameters
    ----------
    table : float32 (entries, halves), 1 where a half contains an entry
    saved : float32 (entries, labels)
    left : int64, numbers of the remaining halves
    least, fitted : float
    check : called every OFTEN halves; raises to end the choice
    """
    table = table[:, left]
    inside, group, free = np.ones(len(table), bool), [], np.ones(len(left), bool)
    sums = table.T @ saved  # by half and label, over the common entries that are in the half
    alone = sums.sum(axis=1) - sums.max(axis=1)
    at = int(alone.argmin())
    cost = alone[at]  # of the common entries as one leaf
    while True:
        group.append(int(left[at]))
        free[at] = False
        gone = np.flatnonzero(inside & (table[:, at] == 0))
        inside[gone] = False
        if len(group) == len(left):
            return group
        if 2 * len(gone) < inside.sum():
            sums -= table[gone].T @ saved[gone]
        else:
            sums = table[inside].T @ saved[inside]
        costs = np.where(free, sums.sum(axis=1) - sums.max(axis=1), -1.0)
        at = int(costs.argmax())
        if costs[at] < max(1.0, min(least + fitted, max(least, NEARLY * cost))):
            return group
        cost = costs[at]
        if len(group) % OFTEN == 0:
            check()
