"""Improvement of the best known tree of a search over thresholds, as long as there is time.

A node of the tree of height 3 or more is chosen, and a new split for it, below which subtrees are found greedily, by
dives (odtc.algorithms.thresholds.rank_search). The split is

    gini     the cut of least Gini impurity of some column
    lot      any cut of any column

A node of height 3 may also be searched to the end, if this takes little time. The ways and heights that gain more in
their time are chosen more often. A kernel is cheaper for moving splits above unchanged subtrees
(odtc.algorithms.thresholds.node_moves).
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from odtc.algorithms.thresholds import workers

MIN_HEIGHT = 3  # minimum height of a node whose split is changed
LIKELY = 0.35  # probability that the best of the remaining columns is taken
LONGER = 0.5  # a search of height 3 may take this part of the time of all such searches before
WAYS = ("gini", "lot", "whole")
HELD = 16  # maximum number of entries in the stored nodes, divided by all entries
PRAISE = 0.25  # a try that improved the tree counts with this part of its time


class _Enough(Exception):
    """The time for one search is over."""


class NearTrees:
    """Improvement of the tree of one height for all entries.

    Parameters
    ----------
    search : RankSearch, whose memory has the tree and receives better ones
    height : int
    clock : returns the seconds by which the ways are compared; None for wall time
    """

    def __init__(self, search: Any, height: int, clock: Callable[[], float] | None = None):
        self.search, self.height, self.clock = search, height, clock or time.monotonic
        self.nodes, self.ranked = search.nodes, search.ranked
        self.random = np.random.default_rng(0)
        # Other processes are handed proofs of height 3, which should not be ended and begun again and again.
        self.spent = dict.fromkeys(WAYS if workers.present() is None else WAYS[:-1], 0.0)
        self.spent_at = dict.fromkeys(range(min(MIN_HEIGHT, height), height + 1), 0.0)
        self._children: dict[tuple, Any] = {}
        self._cells = 0  # entries in these nodes

    def run(self) -> None:
        """Improve the tree until it is proved optimal, or `search.check` raises."""
        search = self.search
        while not search.is_settled(search.known(self.height)):
            search.check()
            way = min(self.spent, key=lambda way: self.spent[way])
            stop = min(MIN_HEIGHT, self.height)
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
        """Return (node, height, split) of the nodes from the root to the node of this height to change; a side with a
        larger gap between its tree and its bound is more likely. None if there is nothing to change."""
        search, node, height = self.search, self.search.root, self.height
        path: list[tuple] = []
        while True:
            known = search.entry(node, height)
            split, below = known.split, known.below
            while isinstance(split, int):
                split, below = below[0].split, below[0].below
            settled = search.is_settled(known)
            if height <= stop or split[0] < 0 or settled:
                path.append((node, height, None))
                return None if settled and node is search.root else path
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
        """Return the nodes on both sides of a split; None if it does not separate the entries, or leaves
        too few rows."""
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
        """Update the best trees of the nodes of a path from the new costs of their sides, from the bottom up."""
        search = self.search
        for node, height, below in reversed(path):
            if below is not None:
                split, children = below
                sides = [search.entry(child, height - 1) for child in children]
                search.entry(node, height).improve(search._joined(sides), split, *sides)
        search.tell(search.root, self.height, search.entry(search.root, self.height))

    def _take(self, way: str, node, height: int) -> None:
        search = self.search
        if search.nodes.solves(height) or height <= 2:
            search.value(node, height)
            return
        if way == "whole" and height == MIN_HEIGHT:
            self._whole(node)
            return
        known = search.entry(node, height)
        if known.split == (-1, 0):
            search._dive(node, height)
        cut = self._gini(node) if way == "gini" else self._drawn(node)
        if cut is not None:
            search._dive_below(node, height, known, *cut)

    def _gini(self, node) -> tuple[int, int] | None:
        """Return (column, cut) of least impurity of a random column; columns with less impurity are more likely."""
        cuts = self.nodes.gini_of_columns(node)
        return cuts[min(len(cuts), int(self.random.geometric(LIKELY))) - 1] if cuts else None

    def _drawn(self, node) -> tuple[int, int] | None:
        """Return a random (column, cut)."""
        blocks = self.nodes.cuts(node)[0]
        may = np.flatnonzero(blocks > 1)
        if not len(may):
            return None
        column = int(self.random.choice(may))
        return column, int(self.random.integers(1, int(blocks[column])))

    def _whole(self, node) -> None:
        """Find the best tree of height 3, if its proof ends within about the time by which the other ways are ahead."""
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
                search.value(node, MIN_HEIGHT)
        finally:
            search.check = check
