"""Optimal tree by a search over sets of rows (odtc.algorithms.dp.shallow_trees), if it ends in time.

Depth h with F splits costs about n F^h multiplications, minus savings by memory and by the bound of equal rows: depth
3 takes a moment, depth 4 seconds with tens of splits. The start is then optimal, and only the proof is left to the
solver.
"""

import numpy as np

from odtc.algorithms.dp.shallow_trees import ShallowTreeSearch, graft_subtree, merge_equal_rows
from odtc.base import deadline
from odtc.base.wording import option
from odtc.data.encoding import Encoded, gains_of
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

NAME = "optimal"
SUMMARY = "the best tree, by dynamic programming, if it ends in time (optimal:seconds=60)"
OPTIONS = {"seconds": (float, "how long it may search (default 60)")}


def tree(encoded: Encoded, topology: CompleteTree, price: float = 0.0, seconds: float = 60.0) -> HeapTree:
    """The tree of least loss + price · branch nodes. Raises ChoiceError after `seconds`."""
    X, gain = merge_equal_rows(encoded.X, gains_of(encoded))
    try:
        with deadline.within(seconds):
            _, found = ShallowTreeSearch(X, gain, price).best(np.arange(len(X)), topology.depth)
    except TimeLimitReached:
        deadline.check()  # a time limit around this one
        raise ChoiceError(
            f"no best tree of depth {topology.depth} on {encoded.n_candidate_splits} splits within {seconds:g} "
            f"seconds; use {option('start', 'local_search')}, or allow more, as in "
            f"{option('start', f'optimal:seconds={10 * seconds:g}')}"
        ) from None
    split, _ = blank_arrays(topology)
    graft_subtree(split, 1, found)
    return settle(split, encoded)
