"""What a heuristic is: a function from encoded rows and a depth to a tree, without a solver.

    NAME, SUMMARY
    tree(encoded, topology, price) -> HeapTree     price: how much error a branch node must save

Used for MIP starts and to stand beside every result.
"""

import numpy as np

from odtc.heap import blank
from odtc.registry import Registry
from odtc.topology import Topology

HEURISTICS = Registry("start", "odtc.heuristics", ("cart",), ("NAME", "SUMMARY", "tree"))


def tests_of(model, topology: Topology) -> np.ndarray:
    """The test of each branch node of a fitted DecisionTreeClassifier on 0/1 columns, int32 in heap
    order, -1 where it does not branch."""
    fitted = model.tree_
    test, _ = blank(topology)

    def place(node, t):
        if fitted.children_left[node] >= 0:
            test[t] = fitted.feature[node]
            place(fitted.children_left[node], 2 * t)  # left in scikit-learn: column <= 0.5, that is 0
            place(fitted.children_right[node], 2 * t + 1)

    place(0, 1)
    return test
