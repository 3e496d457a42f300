"""CART (Breiman et al. 1984) on the encoded splits: the greedy tree everyone knows."""

import time
from collections import deque
from functools import partial

import numpy as np

from odtc.algorithms.greedy_gini import Table, grow
from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.data.task import TASKS
from odtc.data.threshold_scales import Scales
from odtc.trees.heap_tree import CompleteTree, HeapTree, blank_arrays, prune, settle

NAME = "cart"
SUMMARY = "greedy Gini splits, chosen from the same candidates"


LIMITS = ("least_rows", "most_leaves")
PATIENCE = 1.0  # seconds that it has also after a limit: a tree for most data


def tree(
    encoded: Encoded, topology: CompleteTree, price: float = 0.0, least_rows: int = 1, most_leaves: int | None = None
) -> HeapTree:
    """Return the greedy tree of this depth without useless branch nodes (Breiman et al. 1984, section 4.4).

    Branch nodes that save no more than `price` of loss are pruned from the leaves up. The weight of a row is the cost
    of an error on it, summed over all classes that it may be predicted as. Each leaf has at least `least_rows` rows of
    the data; with `most_leaves`, the node with the largest saving is split first. Of equal splits, the first is taken.
    The tree is grown once for these rows, because starts, bounds and the comparison on the screen use the same one.

    After the deadline (odtc.base.deadline), PATIENCE seconds remain; nodes that are not split by then are leaves, and
    the next caller grows the tree again.
    """
    asked, clock = ("cart", topology.depth, price, least_rows, most_leaves), Clock()
    grown = partial(_grown, encoded, topology, price, least_rows, most_leaves, clock)
    return encoded.derived(asked, grown, clock.is_whole)


class Clock:
    """Deadline for the growth of one tree, which remembers whether it was reached."""

    def __init__(self) -> None:
        self.began, self.cut = time.monotonic(), False

    def is_over(self) -> bool:
        self.cut = self.cut or deadline.has_waited(self.began, PATIENCE)
        return self.cut

    def is_whole(self) -> bool:
        return not self.cut


def _grown(
    encoded: Encoded, topology: CompleteTree, price: float, least_rows: int, most_leaves: int | None, clock: Clock
) -> HeapTree:
    if TASKS.get(encoded.task).MOMENTS:
        return _tree_by_moments(encoded, topology, price, least_rows, clock)
    if TASKS.get(encoded.task).LOSS and most_leaves is None:
        heap = _tree_by_moments(encoded, topology, 0.0, least_rows, clock)
        return prune(heap, encoded, price) if price else heap
    heap = settle(grown_splits(encoded, topology, least_rows, most_leaves, clock), encoded)
    return prune(heap, encoded, price) if price else heap


def grown_splits(
    encoded: Encoded,
    topology: CompleteTree,
    least_rows: int = 1,
    most_leaves: int | None = None,
    clock: Clock | None = None,
) -> np.ndarray:
    """Return int32 (2^(depth + 1),): the splits of the greedy tree of a classification before any of its nodes is
    dropped, -1 if a node predicts; siblings may predict the same. Arguments as of `tree`; grown once for these rows."""
    asked, clock = ("cart splits", topology.depth, least_rows, most_leaves), clock or Clock()
    grown = partial(_grown_splits, encoded, topology, least_rows, most_leaves, clock)
    found: np.ndarray = encoded.derived(asked, grown, clock.is_whole)
    return found


def _grown_splits(
    encoded: Encoded, topology: CompleteTree, least_rows: int, most_leaves: int | None, clock: Clock
) -> np.ndarray:
    split, _ = blank_arrays(topology)
    scales = Scales.of(encoded)  # a feature with a thousand thresholds is one column to it
    weight = encoded.loss.sum(axis=1) / max(1, len(encoded.classes) - 1)
    rows = np.flatnonzero(weight > 0)
    if not len(rows) or most_leaves == 1:
        return split
    rank = scales.rank if len(rows) == len(scales.rank) else scales.rank[rows]  # a copy is as large as all else
    table = Table(rank, scales.size, encoded.y[rows].astype(np.int64), weight[rows], encoded.copies[rows])
    for node, (column, place) in grow(table, topology.depth, least_rows, most_leaves, clock.is_over).items():
        split[node] = scales.split(column, place)
    split.setflags(write=False)
    return split


def _tree_by_moments(encoded: Encoded, topology: CompleteTree, price: float, least_rows: int, clock: Clock) -> HeapTree:
    """Return the greedy tree for leaves that cost a function of sums, whose splits each save more than `price`."""
    from odtc.algorithms.moments import kernels, laws  # trees of classes do without

    scales, (split, _), task = Scales.of(encoded), blank_arrays(topology), TASKS.get(encoded.task)
    code, law = np.ascontiguousarray(scales.rank.T, np.int64), laws.LAWS[task.LOSS]
    w, s, _ = task.moments(encoded.sums)
    moments, size = np.stack([w, s, encoded.copies.astype(float)]), scales.size + 1
    tiny = laws.smallest(law, moments)
    waiting = deque([(1, np.arange(encoded.n_rows))])
    while waiting and not clock.is_over():
        node, rows = waiting.popleft()  # the nodes nearest to the root first
        _, column, cut = kernels.depth_one(code, size, moments, rows, float(max(1, least_rows)), price, law, tiny)
        if column < 0:
            continue
        split[node] = scales.split(column, cut)
        if 4 * node < len(split):
            left = code[column, rows] <= cut
            waiting += [(2 * node, rows[left]), (2 * node + 1, rows[~left])]
    return settle(split, encoded)
