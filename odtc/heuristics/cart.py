"""CART (Breiman et al. 1984) on the encoded tests: the greedy tree everyone knows."""

import numpy as np

from odtc.algorithms.greedy_gini import Table, grow
from odtc.algorithms.moments import laws
from odtc.algorithms.moments.kernels import depth_one
from odtc.data.encoding import Encoded
from odtc.data.task import TASKS
from odtc.data.threshold_scales import Scales
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, blank_arrays, prune, settle

NAME = "cart"
SUMMARY = "greedy Gini splits on the same tests"


LIMITS = ("least_rows", "most_leaves")


def tree(
    encoded: Encoded, topology: CompleteTree, price: float = 0.0, least_rows: int = 1, most_leaves: int | None = None
) -> HeapTree:
    """The greedy tree of this depth, its useless branch nodes dropped; those that save no more
    than `price` of loss are pruned bottom-up. A row weighs what an error on it costs, over all classes
    that it may be taken for (Breiman et al., section 4.4). Each leaf has `least_rows` rows of the data
    or more, and with `most_leaves` what saves most is split first. Of equal splits the first test is taken.
    It is grown once for these rows: starts, bounds and the comparison on the screen ask for the same."""
    asked = ("cart", topology.depth, price, least_rows, most_leaves)
    return encoded.derived(asked, lambda: _grown(encoded, topology, price, least_rows, most_leaves))


def _grown(
    encoded: Encoded, topology: CompleteTree, price: float, least_rows: int, most_leaves: int | None
) -> HeapTree:
    if TASKS.get(encoded.task).MOMENTS:
        return _tree_by_moments(encoded, topology, price, least_rows)
    if TASKS.get(encoded.task).LAW and most_leaves is None:
        heap = _tree_by_moments(encoded, topology, 0.0, least_rows)
        return prune(heap, encoded, price) if price else heap
    heap = settle(grown_tests(encoded, topology, least_rows, most_leaves), encoded)
    return prune(heap, encoded, price) if price else heap


def grown_tests(
    encoded: Encoded, topology: CompleteTree, least_rows: int = 1, most_leaves: int | None = None
) -> np.ndarray:
    """int32 (2^(depth + 1),): the tests of the greedy tree of a classification before any of its nodes is dropped, -1
    if a node predicts; siblings may predict the same. Arguments as of `tree`; grown once for these rows."""
    asked = ("cart tests", topology.depth, least_rows, most_leaves)
    found: np.ndarray = encoded.derived(asked, lambda: _grown_tests(encoded, topology, least_rows, most_leaves))
    return found


def _grown_tests(encoded: Encoded, topology: CompleteTree, least_rows: int, most_leaves: int | None) -> np.ndarray:
    test, _ = blank_arrays(topology)
    scales = Scales.of(encoded)  # a feature with a thousand thresholds is one column to it
    weight = encoded.loss.sum(axis=1) / max(1, len(encoded.classes) - 1)
    rows = np.flatnonzero(weight > 0)
    if not len(rows) or most_leaves == 1:
        return test
    rank = scales.rank if len(rows) == len(scales.rank) else scales.rank[rows]  # a copy is as large as all else
    table = Table(rank, scales.size, encoded.y[rows].astype(np.int64), weight[rows], encoded.copies[rows])
    for node, (column, place) in grow(table, topology.depth, least_rows, most_leaves).items():
        test[node] = scales.test(column, place)
    test.setflags(write=False)
    return test


def _tree_by_moments(encoded: Encoded, topology: CompleteTree, price: float, least_rows: int) -> HeapTree:
    """The greedy tree for leaves that cost a function of sums, whose tests each save more than `price`."""
    scales, (test, _), task = Scales.of(encoded), blank_arrays(topology), TASKS.get(encoded.task)
    code, law = np.ascontiguousarray(scales.rank.T, np.int64), laws.LAWS[task.LAW]
    w, s, _ = task.moments(encoded.sums)
    moments, size = np.stack([w, s, encoded.copies.astype(float)]), scales.size + 1
    tiny = laws.smallest(law, moments)
    stack = [(1, np.arange(encoded.n_rows))]
    while stack:
        node, rows = stack.pop()
        _, column, cut = depth_one(code, size, moments, rows, float(max(1, least_rows)), price, law, tiny)
        if column < 0:
            continue
        test[node] = scales.test(column, cut)
        if 4 * node < len(test):
            left = code[column, rows] <= cut
            stack += [(2 * node, rows[left]), (2 * node + 1, rows[~left])]
    return settle(test, encoded)
