"""Nodes of a search over thresholds: entries that reach a node by a path of splits, in the order of each column."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from odtc.algorithms.thresholds.depth_two import gini_test, kernel_for, profile, take_side, totals
from odtc.algorithms.thresholds.ranks import NONE, RankedRows
from odtc.base import deadline, threads

CELLS = 2**16  # maximum cells of a table of columns and entries that numpy handles at once
# Minimum columns times entries for which a separate thread searches a tree of depth 2: the time limit or Ctrl-C may
# come before its end. Where leaves need a number of rows, it may take a hundred times as long.
THREAD_ENTRIES, THREAD_ENTRIES_OF_LEAVES = 2**17, 2**13


class Node:
    """Entries that reach a node by a path of splits: their order, the set of them as bytes (`key`), and the cost and
    label of one leaf."""

    __slots__ = ("cuts", "key", "label", "leaf", "order", "rows", "weight")

    def __init__(self, order: np.ndarray, key: bytes, totals: tuple[int, int, int, int]):
        self.order, self.key, self.cuts = order, key, None
        self.leaf, self.label, self.weight, self.rows = map(int, totals)

    @property
    def n(self) -> int:
        """Return the number of entries."""
        return self.order.shape[1]

    @property
    def held(self) -> np.ndarray:
        """Return the entries, int64 (entries of the node,)."""
        return (self.order[0] >> 1).astype(np.int64)


class OrderedNodes:
    """The nodes of ranked rows, searched by the kernels of `depth_two`."""

    def __init__(self, ranked: RankedRows):
        self.ranked = ranked
        self._depth_two = kernel_for(ranked.order, ranked.stride, ranked.least)
        self.local, self.side = np.zeros(max(1, ranked.n), np.int32), np.zeros(max(1, ranked.n), np.uint8)

    def root(self) -> Node:
        """Return the node of all entries."""
        return self._node(self.ranked.order)

    def node_of(self, inside: np.ndarray) -> Node:
        """Return the node of these entries, bool (entries,)."""
        size = int(inside.sum())
        return self._node(take_side(self.ranked.order, inside.astype(np.uint8), 1, size), inside)

    def _node(self, order, inside=True):
        line = np.flatnonzero(np.broadcast_to(inside, self.ranked.n)).astype(np.uint32) << 1
        return Node(order, self._marked(line >> 1), self._totals(line))

    def _marked(self, entries: np.ndarray) -> bytes:
        """Return the set of some entries as bytes, and mark them for `child`."""
        self.side[:] = 0
        self.side[entries] = 1
        return np.packbits(self.side).tobytes()

    def _totals(self, line):
        ranked = self.ranked
        return totals(line, ranked.label, ranked.gain, ranked.most, ranked.count, ranked.stride)

    def beside(self) -> "OrderedNodes":
        """Return a copy with its own arrays, for another thread."""
        return OrderedNodes(self.ranked)

    def cuts(self, node: Node) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (blocks, starts, weight, rows) of the cuts of each column."""
        if node.cuts is None:
            node.cuts = profile(node.order, self.ranked.most, self.ranked.count)
        return node.cuts

    def part(self, node: Node, column: int, cut: int, right: bool) -> tuple[bytes, np.ndarray]:
        """Return (the set of the entries on one side of a cut, these entries), and mark them for `child`."""
        at = int(self.cuts(node)[1][column, cut])
        line = node.order[column]
        line = line[at:] if right else line[:at]
        return self._marked(line >> 1), line

    def child(self, node: Node, key: bytes, line: np.ndarray) -> Node:
        """Return the node of the side of a cut that `part` marked last."""
        return Node(take_side(node.order, self.side, 1, len(line)), key, self._totals(line))

    def sides(self, node: Node, column: int, rank: int) -> list[Node]:
        """Return both sides of a split, which need not be a cut of the node. The cuts of all columns are not computed,
        because they take 20 bytes for each entry and column."""
        line = node.order[column]
        at = np.count_nonzero(self.ranked.rank[line >> 1, column] <= rank)
        return [self.child(node, self._marked(part >> 1), part) for part in (line[:at], line[at:])]

    def narrowed(self, node: Node, entries: np.ndarray) -> Node:
        """Return the node of some entries of a node."""
        return self.child(node, self._marked(entries), entries.astype(np.uint32) << 1)

    def middle(self, node: Node, weight: np.ndarray) -> np.ndarray:
        """Return the rank of each column up to which half of a weight is, float (entries of the node,) in the order of
        `held`."""
        each, ranks = np.zeros(self.ranked.n), np.zeros(len(node.order), np.uint32)
        each[node.held] = weight
        wide = max(1, CELLS // max(1, node.n))
        for first in range(0, len(ranks), wide):
            entry = node.order[first : first + wide] >> 1
            upto = each[entry].cumsum(axis=1)
            at = (2 * upto < upto[:, -1:]).sum(axis=1).clip(max=node.n - 1)
            line = np.arange(len(entry))
            ranks[first : first + wide] = self.ranked.rank[entry[line, at], first + line]
        return ranks

    def split(self, node: Node, column: int, cut: int) -> tuple[int, int]:
        """Return a cut of a node as a split (column, rank) of all entries."""
        line = node.order[column]
        last = line[(line & 1).nonzero()[0][cut - 1]] >> 1  # computing the `cuts` of all columns would take longer
        return column, int(self.ranked.rank[last, column])

    def cut_of(self, node: Node, column: int, rank: int) -> int:
        """Return a split as a cut of a node; the split must separate its entries."""
        left = np.count_nonzero(self.ranked.rank[node.order[column] >> 1, column] <= rank)
        return int(np.searchsorted(self.cuts(node)[1][column, : self.cuts(node)[0][column] + 1], left))

    def stump(self, node: Node) -> tuple[tuple[int, int] | None, int]:
        """Return (the best split with a leaf on both sides, its cost); None as the split if there is none."""
        return best_stump(node.order, self.ranked, node.weight, node.rows)

    def gini(self, node: Node) -> tuple[int, int]:
        """Return (column, cut) of the split of least Gini impurity; (-1, 0) if no split separates the entries."""
        return self._gini(node.order)[:2]

    def gini_of_columns(self, node: Node) -> list[tuple[int, int]]:
        """Return (column, cut) of the best split of each column that separates the entries, by rising Gini impurity."""
        found = [(column, *self._gini(node.order[column : column + 1])) for column in range(len(node.order))]
        return [(column, cut) for column, one, cut, _ in sorted(found, key=lambda at: -at[3]) if one >= 0]

    def _gini(self, order):
        ranked = self.ranked
        column, cut, pure = gini_test(order, ranked.label, ranked.gain, ranked.stride)
        return int(column), int(cut), float(pure)

    def solves(self, height: int) -> bool:
        """Return whether a kernel finds the best tree of this height: False for all heights above 2."""
        return False

    def first_splits(self, node: Node, height: int, limit: int) -> None:
        """Return None: only a search finds the splits with which trees begin."""

    def pair(self, node: Node, limit: int, found: Callable[[int, int, int], None]) -> tuple[int, int, int]:
        """Return the best tree of depth 2 on a node, if it costs less than `limit`.

        On a large node another thread searches, while this thread checks the time limit and Ctrl-C.

        Parameters
        ----------
        node : Node
        limit : int
        found : called with the best result so far, as it is returned, if the time limit or Ctrl-C ends the search

        Returns
        -------
        (cost, column, rank) : column -1 if the tree is a leaf, -2 and `limit` if no tree costs less

        Raises
        ------
        TimeLimitReached
            If the time ends before the proof.
        """

        def named(best):
            cost, column, cut = best
            return (cost, *self.split(node, column, cut)) if column >= 0 else best

        return named(self._search(self._depth_two, node, limit, lambda best: found(*named(best))))

    def two_splits(self, node: Node, limit: int, found: Callable[[int, int, int, bool], None]):
        """Return the best tree of two splits on a node, if it costs less than `limit`.

        The parameters and the exceptions are those of `pair`.

        Returns
        -------
        (cost, column, rank, right) : the first split, and whether the second one is on its right side; column -2 and
            `limit` if no tree costs less
        """

        from odtc.algorithms.thresholds.few_nodes.three_leaves import three_leaves  # most searches never need it

        def named(best):
            cost, column, cut = best
            if column < 0:
                return cost, column, 0, False
            return *(cost, *self.split(node, column, abs(cut))), cut < 0

        return named(self._search(three_leaves, node, limit, lambda best: found(*named(best))))

    def _search(self, kernel, node, limit, found):
        """Return the result of a kernel on a node, as of `pair`."""
        told = np.zeros(4, np.int64)
        if node.order.size < (THREAD_ENTRIES if self.ranked.least <= 1 else THREAD_ENTRIES_OF_LEAVES):
            return self._run(kernel, node.order, limit, told)
        self._run(kernel, node.order[:1, :0].copy(), limit, told.copy())  # numba compiles here, where Ctrl-C ends it
        with ThreadPoolExecutor(1) as pool:
            seeking = pool.submit(self._run, kernel, node.order, limit, told)
            try:
                while True:
                    try:
                        return seeking.result(timeout=threads.LOOK)
                    except TimeoutError:
                        deadline.check()
            except BaseException:
                told[0] = 1
                found(seeking.result())
                raise

    def _run(self, kernel, order, limit, told):
        ranked = self.ranked
        cost, column, cut, _ = kernel(
            order,
            ranked.label,
            ranked.gain,
            ranked.most,
            ranked.count,
            ranked.stride,
            ranked.price,
            ranked.least,
            limit,
            self.local,
            told,
        )
        return int(cost), int(column), int(cut)


def best_stump(order: np.ndarray, ranked: RankedRows, weight: int, rows: int) -> tuple[tuple[int, int] | None, int]:
    """Return the best split of a node whose sides are leaves.

    Parameters
    ----------
    order : uint32 (columns, entries)
    ranked : RankedRows
    weight, rows : int, the greatest possible cost of the entries, and their number of data rows

    Returns
    -------
    ((column, rank), cost) : None if no split parts the entries into sides with enough rows
    """
    best, wide = (None, NONE), max(1, CELLS // max(1, order.shape[1]))
    whole = np.int32 if 4 * (weight + ranked.price) < 2**31 else np.int64  # sums of half the bytes take half the time
    for first in range(0, len(order), wide):
        entry, ends = order[first : first + wide] >> 1, (order[first : first + wide, :-1] & 1).astype(bool)
        if ranked.least > 1:
            left = ranked.count[entry].cumsum(axis=1)[:, :-1]
            ends &= (left >= ranked.least) & (rows - left >= ranked.least)
        if not ends.any():
            continue
        gain = ranked.gain.take(entry)
        if ranked.stride == 1:
            p = gain.cumsum(axis=1, dtype=whole)
            positive = (weight + int(p[0, -1])) >> 1
            cost = positive + np.minimum(-p, weight - 2 * positive + p)[:, :-1]
        else:
            up = down = 0
            label = ranked.label.take(entry)
            for k in range(ranked.stride):
                p = (gain * (label == k)).cumsum(axis=1, dtype=whole)  # np.where takes five times as long
                up, down = np.maximum(up, p[:, :-1]), np.maximum(down, p[:, -1:] - p[:, :-1])
            cost = weight - up - down
        cost += ranked.price
        cost[~ends] = np.iinfo(whole).max
        column, at = divmod(int(cost.argmin()), cost.shape[1])
        if cost[column, at] < best[1]:
            best = (first + column, int(ranked.rank[entry[column, at], first + column])), int(cost[column, at])
    return best
