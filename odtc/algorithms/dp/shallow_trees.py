"""Search for the best tree of few levels over binary splits on any set of rows, by the search over ranks
(odtc.algorithms.thresholds.rank_search), which stores its results for each set.

A row predicted as class k is worth `gain[row, k]`. A tree is worth the sum over its rows, minus `price` per branch
node.
"""

import numpy as np

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base import deadline


class ShallowTreeSearch:
    """Best trees on sets of the rows of X (bool (rows, splits)) with `gain` (float64 (rows, classes)).

    Rows that are equal in X are one row: a set contains all of them or none. Raises TimeLimitReached at the deadline
    (odtc.base.deadline).
    """

    def __init__(self, X: np.ndarray, gain: np.ndarray, price: float = 0.0):
        self.ranked = rank_rows(np.asarray(X, np.uint8), -gain, None, price)
        self.search = RankSearch(self.ranked, deadline.check)
        merged = np.zeros((int(self.ranked.kind.max(initial=-1)) + 1, gain.shape[1]))
        np.add.at(merged, self.ranked.kind, gain)
        self.most = merged.max(axis=1)  # each row with its best class

    def best(self, rows: np.ndarray, depth: int) -> tuple[float, np.ndarray]:
        """Return (value, splits) of the best tree on these rows (indices): int32 (2^depth,) in heap order from 1, -1
        for a node that predicts."""
        held = np.zeros(len(self.most), bool)
        held[self.ranked.kind[rows]] = True
        node = self.search.node_of(held[self.ranked.row])
        value = float(self.most[held].sum()) - self.ranked.unit * self.search.value(node, depth).upper
        splits, stack = np.full(2**depth, -1, np.int32), [(1, self.search.tree_of(node, depth))]
        while stack:
            place, tree = stack.pop()
            if tree is not None:
                splits[place] = self.ranked.columns[tree[0]]
                stack += [(2 * place, tree[2]), (2 * place + 1, tree[3])]
        return value, splits


def graft_subtree(splits: np.ndarray, node: int, below: np.ndarray) -> None:
    """Write the splits of a subtree (heap order from 1) into `splits` at this node, in place."""
    for level in range(len(below).bit_length() - 1):
        first, width = node << level, 1 << level
        splits[first : first + width] = below[width : 2 * width]
