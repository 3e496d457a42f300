"""The states of a certificate over thresholds, from the results of a search (odtc.verification.interval_bound).

A node of the search is a set of entries, and its bound follows from the bounds on both sides of its evaluated cuts. So
the first level contains the node of all entries, and every other level contains the nodes to which nodes of the level
above refer. With two levels left only a bound is needed, because the check counts these levels from the data; with
three levels the same is true over few cuts, if the search counts them in this way. A bound by common rows
(odtc.algorithms.thresholds.common_rows) needs only the halves of its groups: a state to which several cuts refer
contains the rows that they have in common.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.thresholds.common_rows import Group
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows
from odtc.base import deadline
from odtc.verification.three_levels import is_quick

Points = list[tuple[int, int, int, int]]  # column, cut, and the states of the next level on either side, from 1


class Named:
    """The nodes of one level, numbered from 1 as they are named, with their bounds."""

    def __init__(self, ranked: RankedRows, height: int):
        self.ranked, self.height = ranked, height
        self.number, self.keys, self.lower, self.free = {}, [], [], []

    def of_cost(self, lower: int) -> int:
        """Return a bound in units of cost, without the branch nodes that the search counts.

        As both sides of a split have fewer branch nodes together than a unit of cost counts, bounds that close a cut
        with these nodes close it without them, too.
        """
        return self.ranked.lifted(self.height, lower) // self.ranked.scale

    def of(self, key: bytes, lower: int, free: bool) -> int:
        """Return the number of a node; 0 if it may cost nothing. If it is named with two bounds, because the search
        has dropped the greater one since, it has the greater."""
        if self.of_cost(lower) <= 0:
            return 0
        number = self.number.setdefault((key, free), len(self.keys) + 1)
        if number > len(self.keys):
            self.keys.append(key)
            self.lower.append(lower)
            self.free.append(free)
        self.lower[number - 1] = max(self.lower[number - 1], lower)
        return number


def interval_states(
    search: RankSearch, depth: int, target: int, look: Callable[[], None] = lambda: None
) -> list[list[tuple[int, bool, Points]]]:
    """Return the states that prove a bound of all trees of a depth.

    Parameters
    ----------
    search : RankSearch
    depth : int
    target : int, the bound, which the search has found, in its units
    look : called between states; raises to end the writing

    Returns
    -------
    list of list of (bound, whether of trees without a least number of rows, points), level by level; these bounds are
    in units of cost
    """
    named = Named(search.ranked, depth)
    named.number[search.root.key, False] = 1
    named.keys, named.lower, named.free = [search.root.key], [target], [False]
    levels = []
    for height in range(depth, min(depth, 2) - 1, -1):
        below, states = Named(search.ranked, height - 1), []
        if height == 3 and is_counted(search):
            levels.append([(named.of_cost(lower), free, []) for lower, free in zip(named.lower, named.free)])
            break
        for key, lower, free in zip(named.keys, named.lower, named.free):
            among = search.relaxed if free and search.relaxed is not None else search
            if among.nodes.solves(height):  # first, as that finds more of the sides, whose bounds are named below
                among.explain(among.node_of(_inside(search, key)), height, lower, look)
        for key, lower, free in zip(named.keys, named.lower, named.free):
            look()
            points = _points(search, key, height, (lower, free), below) if height > 2 else []
            states.append((named.of_cost(lower), free, points))
        levels.append(states)
        if not below.keys:
            break
        named = below
    return levels


def is_counted(search: RankSearch) -> bool:
    """Return whether the check counts states of three levels from the data, so that they refer to no others: over few
    cuts."""
    ranked = search.ranked
    if not search.nodes.solves(3) or search.relaxed is not None:
        return False
    rare = np.zeros(ranked.n)  # cuts for which an entry is on the side of fewer entries
    for column in ranked.rank.T:
        left = np.bincount(column).cumsum()[:-1]
        fewer = np.where(2 * left <= ranked.n, 1, -1)
        # An entry is left of the cuts from its rank on, and right of those before it.
        rare += np.append((fewer > 0)[::-1].cumsum()[::-1], 0)[column] + np.append(0, (fewer < 0).cumsum())[column]
    cuts = int(ranked.rank.max(axis=0, initial=0).sum())
    return is_quick(max(2, ranked.stride), cuts, float((rare**3).sum()) / 6)


def _points(search: RankSearch, key: bytes, height: int, state: tuple[int, bool], below: Named) -> Points:
    """Return the evaluated splits of a node with the nodes on their sides."""
    lower, free = state
    inside = _inside(search, key)
    # Bounds without a least number of rows bound the trees with one, too.
    kinds = [(search, False)] if search.relaxed is None else [(search.relaxed, True)]
    if search.relaxed is not None and not free:
        kinds.insert(0, (search, False))
    for among, kind in kinds:
        bound, groups = among.memo[height, key].grouped if (height, key) in among.memo else (0, [])
        if bound >= lower:
            return list(_of_groups(groups, lower - search.ranked.price, kind, below))
    known = kinds[0][0].memo.get((height, key))
    splits: dict[
        tuple[int, int], tuple[int, int]
    ] = {}  # with the bounds that were found, which the memo may have dropped
    for column, rank, *bounds in known.points if known else ():
        old = splits.get((column, rank), (0, 0))
        splits[column, rank] = max(old[0], bounds[0]), max(old[1], bounds[1])
    found, whole = [], 0
    for among, kind in kinds:
        own = among.memo.get((height - 1, key))
        if own is None and height == 3:
            with deadline.put_off():  # the bound that is stated needs it, also after the end of the search
                own = among.value(among.node_of(inside), 2)
        whole = min(own.lower, own.upper) if own is not None else 0
        if number := below.of(key, whole, kind):
            found.append((-1, 0, 0, number))
    sides = {split: _sides(search, inside, split, kinds, height - 1) for split in splits}
    if height == 3:  # with two levels left the check needs no more than the bound
        for split, noted in splits.items():
            sides[split][0] = [(key, max(bound, old)) for (key, bound), old in zip(sides[split][0], noted)]
    if search.relaxed is None:
        sides = _needed(search, inside, sides, lower - search.ranked.price, whole)
    for split, values in sides.items():
        if len(values) == 2:  # a bound of all trees is one of those with enough rows, too
            values[0] = [(key, bound if bound > free else 0) for (key, bound), (_, free) in zip(*values)]
        for (_, kind), nodes in zip(kinds, values):
            numbers = [below.of(key, bound, kind) for key, bound in nodes]
            if any(numbers):
                found.append((*split, *numbers))
    return found


def _of_groups(groups: list[Group], target: int, free: bool, below: Named):
    """Yield each half of a group, with the node of the rows that all of its halves contain."""
    for group in groups:
        number = below.of(group.key, min(group.lower, target), free)
        for column, rank, right in group.halves if number else ():
            yield (column, rank, 0, number) if right else (column, rank, number, 0)


def _inside(search, key) -> np.ndarray:
    return np.unpackbits(np.frombuffer(key, np.uint8), count=search.ranked.n).astype(bool)


def _sides(search, inside, split, kinds, height):
    """Return, for each type of trees, (key, bound) of the left and the right side of a split."""
    column, rank = split
    goes = search.ranked.rank[:, column] <= rank
    keys = [np.packbits(part).tobytes() for part in (inside & goes, inside & ~goes)]
    found = []
    for among, _ in kinds:
        nodes = [among.memo.get((height, key)) for key in keys]
        found.append([(key, min(node.lower, node.upper) if node else 0) for key, node in zip(keys, nodes)])
    return found


def _needed(search, inside, sides, target, whole):
    """Return the evaluated splits without which some cut between them is open."""
    columns, kept = {}, {}
    for column, rank in sides:
        columns.setdefault(column, []).append(rank)
    for column, ranks in columns.items():
        values, place = np.unique(search.ranked.rank[inside, column], return_inverse=True)
        moved = np.cumsum(np.bincount(place.reshape(-1), search.ranked.most[inside], len(values)))
        ends = [(-1, 0.0, 0, whole)]
        for rank in sorted(ranks):
            at = int(np.searchsorted(values, rank, side="right")) - 1
            ends.append((at, moved[at], *(bound for _, bound in sides[column, rank][0])))
        ends.append((len(values) - 1, moved[-1], whole, 0))
        used = ends[:1]
        for here, after in zip(ends[1:], ends[2:]):
            if not _closed(moved, used[-1], after, target):
                used.append(here)
        # A cut may be closed by one that is not next to it; then all are kept.
        enough = all(_closed(moved, low, high, target) for low, high in zip(used, [*used[1:], ends[-1]]))
        enough &= all(left + right >= target for _, _, left, right in used[1:])
        wanted = {place for place, *_ in used}
        for rank, (place, *_) in zip(sorted(ranks), ends[1:]):
            if place in wanted or not enough:
                kept[column, rank] = sides[column, rank]
    return kept


def _closed(moved, low, high, target) -> bool:
    """Return whether all cuts between two evaluated ones (position, weight, left, right) cost the target or more."""
    between = moved[low[0] + 1 : high[0]]
    left = np.maximum(low[2], high[2] - (high[1] - between))
    right = np.maximum(high[3], low[3] - (between - low[1]))
    return bool((left + right >= target).all())
