"""The tests of an encoding as ranks of columns, which a search over thresholds takes, and its trees back as tests."""

from copy import copy

import numpy as np

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows, rank_rows
from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import Scales
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle


class RankedTests:
    """Encoded rows and tests for odtc.algorithms.thresholds.rank_search.

    Parameters
    ----------
    encoded : Encoded
    price : float, what a branch node costs, in units of loss
    least : int, rows of the data that each leaf must have; 1 or less for none

    Attributes
    ----------
    ranked : RankedRows
    """

    def __init__(self, encoded: Encoded, price: float, least: int):
        self.encoded, self.price, self.least, self.scales = encoded, price, least, Scales.of(encoded)
        self.ranked = self._rows(1)

    def _rows(self, scale: int) -> RankedRows:
        encoded = self.encoded
        return rank_rows(self.scales.rank, encoded.loss, encoded.copies, self.price, self.least, scale)

    def counting(self, scale: int) -> "RankedTests":
        """The same with `scale` units of the search for each unit of cost, so that it can count branch nodes beside
        it."""
        other = copy(self)
        other.ranked = self._rows(scale)
        return other

    def test(self, column: int, rank: int) -> int:
        """The test of the encoding that a rank of a column is."""
        scale = self.ranked.columns[column]
        return int(self.scales.test(scale, np.unique(self.scales.rank[:, scale])[rank]))

    def tree(self, search: RankSearch, topology: CompleteTree) -> HeapTree:
        """The best tree that a search of `ranked` has found."""
        test, _ = blank_arrays(topology)
        stack = [(1, search.tree(topology.depth))]
        while stack:
            node, tree = stack.pop()
            if tree is not None:
                column, rank, *below = tree
                test[node] = self.test(column, rank)
                stack += [(2 * node + side, sub) for side, sub in enumerate(below)]
        return settle(test, self.encoded)
