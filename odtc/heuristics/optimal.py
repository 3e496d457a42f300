"""The best tree of all, by a search over sets of rows (odtc.algorithms.dp.shallow_trees), if it ends in time.

Depth h on F tests costs about n F^h multiplications, less what the memo and the bound of equal
rows save: up to depth 3 a moment, depth 4 seconds on tens of tests. The start is then an optimum,
and all that is left to the solver is the proof.
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
    test, _ = blank_arrays(topology)
    graft_subtree(test, 1, found)
    return settle(test, encoded)
