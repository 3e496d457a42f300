"""Optimal tree by a search over sets of rows (odtc.algorithms.thresholds.rank_search), if it ends in time.

Depth 3 takes a moment, depth 4 seconds with tens of splits. The start is then optimal, and only the proof is left to
the solver.
"""

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.base import deadline
from odtc.base.wording import option
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.trees.heap_tree import CompleteTree, HeapTree

NAME = "optimal"
SUMMARY = "the best tree, by dynamic programming, if it ends in time (optimal:seconds=60)"
OPTIONS = {"seconds": (float, "how long it may search (default 60)")}


def tree(encoded: Encoded, topology: CompleteTree, price: float = 0.0, seconds: float = 60.0) -> HeapTree:
    """Return the tree of least loss + price · branch nodes. Raises ChoiceError after `seconds`."""
    try:
        with deadline.within(seconds):
            splits = RankedSplits(encoded, price, 1)
            search = RankSearch(splits.ranked, deadline.check)
            search.dive(topology.depth)
            search.solve(topology.depth)
    except TimeLimitReached:
        deadline.check()  # a time limit around this one
        raise ChoiceError(
            f"no best tree of depth {topology.depth} on {encoded.n_candidate_splits} splits within {seconds:g} "
            f"seconds; use {option('start', 'local_search')}, or allow more, as in "
            f"{option('start', f'optimal:seconds={10 * seconds:g}')}"
        ) from None
    return splits.tree(search, topology)
