"""Local search around a greedy tree: splits are moved, and the trees below them are found again, until none improves.

The search is the one of dpflow over the ordered splits (odtc.algorithms.thresholds.rank_search). Its greedy tree has
the best trees of two levels above the leaves, or of more over few splits. Better trees are sought around it. Then
trees of rising depth are proved, and the best tree of each depth is made deeper. The work is counted and not timed, so
the result does not depend on the machine; a small problem is solved. The tree is never worse than CART's; at a
deadline (odtc.base.deadline) it is the best so far.
"""

from contextlib import suppress

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.errors import TimeLimitReached
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.trees.heap_tree import CompleteTree, HeapTree

NAME = "local_search"
SUMMARY = "a greedy tree that is improved around its splits; the best tree if a second of work proves it"

MAX_WORK = 2e7  # rows times columns times trees of two levels: about a second


class _Enough(Exception):
    """The work is done."""


def tree(encoded: Encoded, topology: CompleteTree, price: float = 0.0) -> HeapTree:
    """Return the tree of least loss + price · branch nodes that is found with this work."""
    greedy, depth = HEURISTICS.get("cart").tree(encoded, topology, price), topology.depth
    try:
        splits = RankedSplits(encoded, price, 1)
    except TimeLimitReached:
        return greedy
    search = RankSearch(splits.ranked, deadline.check)

    def look() -> None:
        deadline.check()
        if search.evaluated * splits.ranked.rank.size > MAX_WORK:
            raise _Enough

    with suppress(TimeLimitReached, _Enough):
        search.dive(depth)
        search.check = look
        search.improve(depth)
        for height in range(min(2, depth), depth + 1):
            search.solve(height)
            search.grow(depth)
    return min(greedy, splits.tree(search, topology), key=lambda heap: heap.loss(encoded) + price * heap.n_branch_nodes)
