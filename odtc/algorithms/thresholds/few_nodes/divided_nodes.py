"""Trees of a given height with at most a given number of branch nodes, in a search over thresholds (RankSearch).

V_hN(S) is the least cost of a tree of height h with at most N branch nodes on the rows S. The nodes below its first
split are divided between both sides:

    V_hN(S) = min over splits and n of   price + V_h-1,n(left) + V_h-1,N-1-n(right)

For one n the costs at two evaluated thresholds bound those between them as in odtc.algorithms.thresholds.rank_search,
because the cost of a side never falls if it has more rows. So there are intervals for each n, and the one of least
bound is halved next.
"""

from typing import Any

from odtc.algorithms.thresholds.few_nodes.shapes import Limited, Sides, divisions, heights_within, sides_of
from odtc.algorithms.thresholds.open_intervals import OpenIntervals
from odtc.algorithms.thresholds.ordered_nodes import OrderedNodes
from odtc.algorithms.thresholds.ranks import NONE


def search_limited(search: Any, node: Any, shape: Limited, need: int, known: Any) -> None:
    """Find the best tree of a limited shape on a node, or a bound of at least `need`.

    Parameters
    ----------
    search : RankSearch, as odtc.algorithms.thresholds.rank_search has it
    node : of `search.nodes`
    shape : Limited
    need : int
    known : Known
        What is known about these trees on the node. It is improved, also if an interruption ends the search.
    """
    for height in heights_within(shape):
        lesser = search.value(node, height)
        known.improve(lesser.upper, height, lesser)
    if shape.height == 2:  # the kernel of all trees of depth 2 often shows in less time that none costs little enough
        known.lower = max(known.lower, search.value(node, 2, min(need, known.upper)).lower)
        if known.lower < search.cutoff(node, shape, need, known) and isinstance(search.nodes, OrderedNodes):
            _two_splits(search, node, need, known)
            return
    ways = [_Way(search, node, sides, min(need, known.upper), known) for sides in divisions(shape)]
    while (cutoff := search.cutoff(node, shape, need, known)) > known.lower:
        way = min(ways, key=lambda way: way.intervals.least(NONE))
        known.lower = max(known.lower, min(cutoff, way.intervals.least(NONE)))
        search.tell(node, shape, known)
        if (interval := way.intervals.take(cutoff)) is None:
            break
        search.check()
        for half in search.halved(node, way.sides, cutoff, way.known, [interval]):
            way.intervals.add(half)
        known.improve(way.known.upper, way.sides, way.known)


def _two_splits(search: Any, node: Any, need: int, known: Any) -> None:
    """Do the work of `search_limited` for two branch nodes, with a kernel."""

    def found(cost: int, column: int, rank: int, right: bool) -> None:
        if column >= 0:
            tree = type(known)(0, cost)
            tree.split = column, rank
            known.improve(cost, Sides(int(not right), int(right)), tree)

    cost, column, rank, right = search.nodes.two_splits(node, min(need, known.upper), found)
    search.evaluated += 1
    search.effort += 1.0
    found(cost, column, rank, right)
    known.lower = max(known.lower, cost)


class _Way:
    """The trees that divide their branch nodes in one way, and the intervals of thresholds that are left."""

    def __init__(self, search: Any, node: Any, sides: Sides, need: int, known: Any):
        self.sides = sides
        below = [search.value(node, side, need) for side in sides_of(sides)]
        for side, lesser in zip(sides_of(sides), below):
            known.improve(lesser.upper, side, lesser)
        self.known = type(known)(0, known.upper)
        self.intervals = OpenIntervals(search.intervals(node, (below[0], below[1]), self.known), search.raising)
