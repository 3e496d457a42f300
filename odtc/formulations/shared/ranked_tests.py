"""The tests of an encoding as ranks of columns, which a search over thresholds takes, and its trees back as tests."""

from copy import copy

import numpy as np

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base.memory import require_memory
from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import Scales
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

BYTES = (
    24  # of a search for each row and column, at least: ranks and orders of the proof, and of the search for few leaves
)
FEWER = "set columns aside (--aside), train on part of the rows (--select, --hold-out), or take --model cart"


class RankedTests:
    """Encoded rows and tests for odtc.algorithms.thresholds.rank_search.

    Parameters
    ----------
    encoded : Encoded
    price : float, what a branch node costs, in units of loss
    least : int, rows of the data that each leaf must have; 1 or less for none
    loss : float64 (rows, labels), what predicting a label costs on a row; None for that of the data

    Attributes
    ----------
    ranked : RankedRows
    """

    def __init__(self, encoded: Encoded, price: float, least: int, loss: np.ndarray | None = None):
        self.encoded, self.scales = encoded, Scales.of(encoded)
        rows, columns = self.scales.rank.shape
        require_memory(BYTES * rows * columns, f"the search over {rows:,} rows and {columns:,} columns", FEWER)
        loss = encoded.loss if loss is None else loss
        self.ranked = rank_rows(self.scales.rank, loss, encoded.copies, price, least)

    def counting(self, scale: int) -> "RankedTests":
        """The same with `scale` units of the search for each unit of cost, so that it can count branch nodes beside
        it."""
        other = copy(self)
        other.ranked = self.ranked.counting(scale)
        return other

    def test(self, column: int, rank: int) -> int:
        """The test of the encoding that a rank of a column is."""
        scale = self.ranked.columns[column]
        return int(self.scales.test(scale, np.unique(self.scales.rank[:, scale])[rank]))

    def looks(self) -> list[int]:
        """The columns of the data that the tests of each column of the search look at, as bits of a whole number."""
        tests = self.scales.test(self.ranked.columns, 0)
        return [sum(1 << feature for feature in set(self.encoded.tests[j].features)) for j in tests.tolist()]

    def tree(self, search: RankSearch, topology: CompleteTree) -> HeapTree:
        """The best tree that a search of `ranked` has found."""
        return self.heap_tree(search.tree(topology.depth), topology)

    def heap_tree(self, nested, topology: CompleteTree) -> HeapTree:
        """A tree as nested (column, rank, left, right), with None for a leaf."""
        test, _ = blank_arrays(topology)
        stack = [(1, nested)]
        while stack:
            node, tree = stack.pop()
            if tree is not None:
                column, rank, *below = tree
                test[node] = self.test(column, rank)
                stack += [(2 * node + side, sub) for side, sub in enumerate(below)]
        return settle(test, self.encoded)
