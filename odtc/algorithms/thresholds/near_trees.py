"""Improvement of the best known tree of a search over thresholds, as long as there is time.

A node of the tree of height 3 or more is chosen, and a split for it:

    move     the cut of some column that costs least above the two unchanged subtrees. With l(e) and r(e) the costs of
             an entry in the left and the right one that is  Σ_e r(e) + min over cuts of Σ_{e left} (l(e) - r(e))
    shift    another cut of its column, near or far
    gini     the cut of least Gini impurity of some column
    lot      any cut of any column
    dive     as gini, with dives (RankSearch) below it

Then the splits of the old subtrees stay below it, or those of least Gini impurity are used, with the best splits above
the leaves. If the cost is then not much higher than before, the best trees of height 2 are put at the bottom, which
takes the time; and if it is then only a little higher, the sides are improved by moves, too. A node of height 3 may
also be searched to the end, if that takes little time. Ways and heights that gain more in their time are chosen more
often.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from odtc.algorithms.thresholds import workers

LEAST = 3  # height of a node whose split is changed
DRAWN = 8  # cuts that are drawn, of which the one is taken whose tree costs least with its other splits as they are
STAY = 0.5  # of the changes of a split leave the subtrees
LIKE, NEAR = 0.15, 0.02  # of what a node costs: trees that cost so much more have a second look, and a third
MOVES = 3  # cuts that are tried at a node whose subtrees stay
LIKELY = 0.35  # that the best of the columns left is taken
LONGER = 0.5  # of the time that searches of height 3 have taken: one more may take so long
WAYS = ("move", "dive", "shift", "gini", "lot", "whole")
HELD = 16  # times the entries, in the nodes that are held
PRAISE = 0.25  # of its time that counts, of a try that gained


class _Enough(Exception):
    """More is not worth it."""


class NearTrees:
    """Improvement of the tree of one height of all entries.

    Parameters
    ----------
    search : RankSearch, whose memory has the tree and receives better ones
    height : int
    clock : called for the seconds by which ways are weighed; None for wall time
    """

    def __init__(self, search: Any, height: int, clock: Callable[[], float] | None = None):
        self.search, self.height, self.clock = search, height, clock or time.monotonic
        self.nodes, self.ranked = search.nodes, search.ranked
        self.random = np.random.default_rng(0)
        # What other processes are handed, a proof of height 3, is not to be ended and begun again and again.
        self.spent = dict.fromkeys(WAYS if workers.present() is None else WAYS[:-1], 0.0)
        self.spent_at = dict.fromkeys(range(min(LEAST, height), height + 1), 0.0)
        self._children: dict[tuple, Any] = {}
        self._cells = 0  # entries times columns of these

    def run(self) -> None:
        """Until the tree is proved, or `search.check` raises."""
        search = self.search
        while not search.known(self.height).exact:
            search.check()
            way = min(self.spent, key=lambda way: self.spent[way])
            stop = min(LEAST, self.height)
            if way != "whole":
                stop = min(self.spent_at, key=lambda height: self.spent_at[height])
            path = self._path(stop)
            if path is None:
                return
            began, node, height = self.clock(), *path[-1][:2]
            known = search.entry(node, height)
            before = known.upper
            try:
                self._take(way, node, height)
            finally:
                self._join(path)
            took = (self.clock() - began) * (PRAISE if known.upper < before else 1.0)
            self.spent[way] += took
            self.spent_at[stop] += took * (way != "whole")

    def _path(self, stop: int):
        """(node, height, split) from the root to the one of this height that is to change, of two sides rather that
        which costs more. None if there is nothing to change."""
        search, node, height = self.search, self.search.root, self.height
        path: list[tuple] = []
        while True:
            known = search.entry(node, height)
            split, below = known.split, known.below
            while isinstance(split, int):
                split, below = below[0].split, below[0].below
            if height <= stop or split[0] < 0 or known.exact:
                path.append((node, height, None))
                return None if known.exact and node is search.root else path
            children = self._sides(node, *split)
            if children is None:
                path.append((node, height, None))
                return path
            sides = [search.entry(child, height - 1) for child in children]
            gaps = [max(0, side.upper - side.lower) for side in sides]
            if not sum(gaps):
                path.append((node, height, None))
                return path
            side = int(self.random.random() * sum(gaps) >= gaps[0])
            path.append((node, height, (split, children)))
            node, height = children[side], height - 1

    def _sides(self, node, column, rank):
        """The nodes on both sides of a split; None if it does not part the entries, or leaves too few rows."""
        key = node.key, column, rank
        found = self._children.get(key)
        if found is None:
            cut = self.nodes.cut_of(node, column, rank)
            found = self._parted(node, column, cut)
            self._cells += node.n
            if self._cells > HELD * self.search.root.n:
                self._children.clear()
                self._cells = node.n
            self._children[key] = found
        return found

    def _parted(self, node, column, cut):
        blocks, _, _, rows = self.nodes.cuts(node)
        if not 1 <= cut < int(blocks[column]):
            return None
        left = int(rows[column, cut])
        if min(left, node.rows - left) < self.ranked.least:
            return None
        return [self.search._child(node, column, cut, right) for right in (False, True)]

    def _join(self, path) -> None:
        """Notes on the way up what the sides cost now."""
        search = self.search
        for node, height, below in reversed(path):
            if below is not None:
                split, children = below
                sides = [search.entry(child, height - 1) for child in children]
                search.entry(node, height).improve(search._joined(sides), split, *sides)
        search.tell(search.root, self.height, search.entry(search.root, self.height))

    # One change.

    def _take(self, way: str, node, height: int) -> None:
        search = self.search
        if search.nodes.solves(height) or height <= 2:
            search.value(node, height)
            return
        if way == "whole" and height == LEAST:
            self._whole(node)
            return
        known = search.entry(node, height)
        if known.split == (-1, 0):
            search._dive(node, height)
        tree = search._tree(node, known, height)
        stay = tree is not None
        if way == "move" and stay:
            cuts = [one[1:] for one in self._moves(node, tree)]
        elif way in ("gini", "dive"):
            cuts = self.nodes.gini_of_columns(node)
            stay = stay and way == "gini" and self.random.random() < STAY
        else:
            cuts = self._shifts(node, tree) if way == "shift" and stay else self._drawn(node)
            stay = stay and (way == "shift" or self.random.random() < STAY)
            if cuts and stay:
                cuts = [min(cuts, key=lambda cut: self._as_it_is(node, tree, cut))]
        if cuts:
            column, cut = cuts[self._likely(len(cuts))]
            change = self._dive if way == "dive" else self._change
            change(node, height, column, cut, tree[2:] if stay else None)

    def _shifts(self, node, tree) -> list[tuple[int, int]]:
        """(column, cut) of some cuts of the column that a tree splits first, near its own and far from it."""
        column, last = tree[0], int(self.nodes.cuts(node)[0][tree[0]]) - 1
        own = self.nodes.cut_of(node, *tree[:2])
        steps = np.ceil(last * 0.5 ** self.random.uniform(1, 8, DRAWN)) * self.random.choice((-1, 1), DRAWN)
        return [(column, cut) for cut in sorted(set((own + steps).astype(int).tolist())) if 1 <= cut <= last]

    def _drawn(self, node) -> list[tuple[int, int]]:
        """(column, cut) of some cuts that are drawn."""
        blocks = self.nodes.cuts(node)[0]
        may = np.flatnonzero(blocks > 1)
        if not len(may):
            return []
        columns = self.random.choice(may, DRAWN)
        return [(column, int(self.random.integers(1, int(blocks[column])))) for column in columns.tolist()]

    def _as_it_is(self, node, tree, cut) -> int:
        """Return the cost of a tree with another first split and the best labels."""
        return self._labelled((*self.nodes.split(node, *cut), *tree[2:]), node.held)

    def _labelled(self, tree, entries) -> int:
        """Return the cost of a tree with the best labels."""
        if tree is None:
            saves = np.bincount(self.ranked.saving[entries], np.abs(self.ranked.gain[entries]), 1)
            return int(self.ranked.most[entries].sum() - saves.max())
        left = self.ranked.rank[entries, tree[0]] <= tree[1]
        return self._labelled(tree[2], entries[left]) + self._labelled(tree[3], entries[~left])

    def _likely(self, size: int) -> int:
        """The place of one of some, the first ones more likely than others."""
        return min(size, int(self.random.geometric(LIKELY))) - 1

    def _whole(self, node) -> None:
        """The best tree of height 3, if it is proved in about the time that the other ways had more than this one."""
        search, check, began = self.search, self.search.check, self.clock()
        own = self.spent["whole"]
        most = max(LONGER * own, sum(self.spent.values()) / len(self.spent) - own)

        def look():
            check()
            if self.clock() > began + most:
                raise _Enough

        search.check = look
        try:
            with suppress(_Enough):
                search.value(node, LEAST)
        finally:
            search.check = check

    def _change(self, node, height, column, cut, trees) -> None:
        """Tries a first split above some subtrees, or above those of least Gini impurity."""
        search, known = self.search, self.search.entry(node, height)
        sides = self._parted(node, column, cut)
        if sides is None:
            return
        trees = [self._greedy(side, height - 1) for side in sides] if trees is None else trees
        before, split = known.upper, self.nodes.split(node, column, cut)
        below = [search.entry(side, height - 1) for side in sides]
        try:
            for most, whole in ((LIKE, False), (NEAR, True)):
                need = before + max(1, int(most * before))
                for at, side in enumerate(sides):
                    if below[0].lower + below[1].lower + self.ranked.price < need:
                        self._planted(
                            side, height - 1, trees[at], need - self.ranked.price - below[1 - at].lower, whole
                        )
                if search._joined(below) > need:
                    return
            self._better_below(node, height, sides, split, before)
        finally:
            known.improve(search._joined(below), split, *below)

    def _dive(self, node, height, column, cut, trees) -> None:
        """Tries a first split above dives."""
        known = self.search.entry(node, height)
        before, sides = known.upper, self.search._dive_below(node, height, known, column, cut)
        if sides:
            self._better_below(node, height, sides, self.nodes.split(node, column, cut), before)

    def _better_below(self, node, height, sides, split, before) -> None:
        """Betters the sides of a split whose tree costs little more than before."""
        search = self.search
        below = [search.entry(side, height - 1) for side in sides]
        if before <= search._joined(below) <= before + max(1, int(NEAR * before)):
            for side in sides:
                self._better(side, height - 1)
            search.entry(node, height).improve(search._joined(below), split, *below)

    def _greedy(self, node, height):
        """The tree of least Gini impurity at each node, down to the height 2."""
        column, cut = self.nodes.gini(node) if height > 1 else (-1, 0)
        sides = self._parted(node, column, cut) if column >= 0 else None
        if sides is None:
            return None
        return (*self.nodes.split(node, column, cut), *(self._greedy(side, height - 1) for side in sides))

    def _planted(self, node, height, tree, need, whole=True) -> None:
        """Notes a tree of a height on a node, with the splits of another one's tree above the best ones of height 2, or
        of height 1 if not `whole`; no more of it than shows that it costs as much as `need`, if it does."""
        search = self.search
        known = search.entry(node, height)
        if known.lower >= min(known.upper, need):
            return
        if height < 2 or self.nodes.solves(height):
            search.value(node, height, need)
            return
        search.check()
        sides = None
        if tree is not None:
            column, rank, *trees = tree
            cut = self.nodes.cut_of(node, column, rank)
            sides = self._parted(node, column, cut)
            if sides is None and height > 2:
                self._planted(node, height, trees[int(cut == 0)], need, whole)
                return
        if sides is not None:
            split, price = self.nodes.split(node, column, cut), self.ranked.price
            below = [search.entry(side, height - 1) for side in sides]
            try:
                for at, side in enumerate(sides):
                    if below[0].lower + below[1].lower + price < need:
                        self._planted(side, height - 1, trees[at], need - price - below[1 - at].lower, whole)
            finally:
                known.improve(search._joined(below), split, *below)
        elif height > 2 or not whole:
            less = 2 if whole else 1
            best = search.value(node, less, need)
            known.improve(best.upper, less, best)
        if height == 2 and whole:
            search.value(node, 2, need)

    def _better(self, node, height) -> None:
        """Betters the tree of a node by moves of its splits, those below first, until none costs less."""
        search = self.search
        if height < LEAST or self.nodes.solves(height):
            return
        known = search.entry(node, height)
        while not known.exact:
            before = known.upper
            tree = search._tree(node, known, height)
            if tree is None:
                return
            sides = self._sides(node, *tree[:2])
            if sides is not None and height > LEAST:
                for side in sides:
                    self._better(side, height - 1)
                below = [search.entry(side, height - 1) for side in sides]
                known.improve(search._joined(below), tree[:2], *below)
                tree = search._tree(node, known, height)
            for _, column, cut in self._moves(node, tree)[:MOVES]:
                if self._moved(node, height, column, cut, tree):
                    break
            if known.upper >= before:
                return

    def _moved(self, node, height, column, cut, tree) -> bool:
        search, known = self.search, self.search.entry(node, height)
        before = known.upper
        self._planted(node, height, (*self.nodes.split(node, column, cut), *tree[2:]), before)
        return search.entry(node, height).upper < before

    def _moves(self, node, tree) -> list[tuple[float, int, int]]:
        """(cost above the subtrees of a tree as they are, column, cut), the best cut of each column but the one that
        the tree has, the least cost first."""
        entries = node.held
        own = self.ranked.rank[entries, tree[0]] <= tree[1]
        losses = [self._losses(side, entries, inside) for side, inside in zip(tree[2:], (own, ~own))]
        cuts = self.nodes.least_cuts(node, losses[0] - losses[1])
        has = tree[0], self.nodes.cut_of(node, *tree[:2])
        return sorted(one for one in cuts if one[1:] != has)

    def _losses(self, tree, entries, inside) -> np.ndarray:
        """Return the cost of each of some entries in a tree whose leaves predict the best label for those inside."""
        if tree is None:
            most, saved = self.ranked.most[entries], np.abs(self.ranked.gain[entries])
            label = self.ranked.saving[entries]
            best = np.bincount(label[inside], saved[inside], 1).argmax() if inside.any() else 0
            return most - np.where(label == best, saved, 0).astype(np.int64)
        column, rank, *sides = tree
        left = self.ranked.rank[entries, column] <= rank
        found = np.empty(len(entries), np.int64)
        for side, there in zip(sides, (left, ~left)):
            found[there] = self._losses(side, entries[there], inside[there])
        return found
