"""Search for the best tree over ordered thresholds, by bounds on intervals of thresholds.

The cost of a tree is counted above the unavoidable cost (odtc.algorithms.thresholds.prefix_sums), so V_h(S), the least
cost of a tree of height h on the rows S, grows with S, and by no more than the largest cost of the added rows. So the
values at few thresholds bound the values at all others: for a <= c <= b on one scale

    V(L_c) >= V(L_a),   V(L_c) >= V(L_b) - moved(c, b)
    V(R_c) >= V(R_b),   V(R_c) >= V(R_a) - moved(a, c)

Thresholds are evaluated until the two bounds at each other threshold together reach the cost of the best tree.
(Intervals of thresholds: Mazumder, Meng & Wang 2022, Quant-BnB; Brita, van der Linden & Demirović 2025, ConTree. The
values at the evaluated thresholds also prove the tree: odtc.algorithms.thresholds.interval_lp.)
"""

from dataclasses import dataclass

import numpy as np

from odtc.algorithms.thresholds.prefix_sums import Part, Ranked
from odtc.algorithms.thresholds.rank_search import NONE, Known, RankSearch
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base import deadline

FIRST = 5  # thresholds of each scale that are evaluated first
NEXT = 3  # thresholds of each interval that is still open, in later rounds
SLACK = 0.5  # a side is searched for a bound that exceeds the required one by about this part of the best tree's cost


@dataclass
class Found:
    """Result for the trees of one height on some rows.

    No tree costs less than `cost`, and if `exact`, some tree has this cost. `tried` (IntervalSearch.evaluated) contains
    thresholds (scale, rank), int64 (2, tried); `left` and `right` are lower bounds on the costs of trees of the height
    below on their sides.
    """

    members: np.ndarray
    cost: float
    exact: bool = True
    tried: np.ndarray | None = None
    left: np.ndarray | None = None
    right: np.ndarray | None = None
    known: Known | None = None


class Bounds:
    """Lower bounds on the costs of trees left and right of every place of a part, from the bounds at some places."""

    def __init__(self, part: Part):
        self.part = part
        wide = int((part.last - part.first).max()) + 1
        self.at = part.scale * wide + np.arange(part.size) - part.first[part.scale]
        shape = len(part.first), wide
        self.known = np.full((2, *shape), -np.inf)
        self.moved = np.zeros(shape)
        self.moved.reshape(-1)[self.at] = part.moved

    def learn(self, places: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        for known, values in zip(self.known, (left, right)):
            known.reshape(-1)[self.at[places]] = values

    def learn_more(self, places: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """Raise the bounds of places to the given ones; a place may occur several times."""
        for known, values in zip(self.known, (left, right)):
            np.maximum.at(known.reshape(-1), self.at[places], values)

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Return float64 (places,) twice: bounds of the trees left and right of each place."""
        (left, right), most = self.known, np.maximum.accumulate
        left = np.maximum(most(left, axis=1), most((left - self.moved)[:, ::-1], axis=1)[:, ::-1] + self.moved)
        right = np.maximum(most(right[:, ::-1], axis=1)[:, ::-1], most(right + self.moved, axis=1) - self.moved)
        return tuple(np.maximum(side.reshape(-1)[self.at], 0.0) for side in (left, right))


class IntervalSearch:
    """Search for the best trees over all thresholds (odtc.algorithms.thresholds.rank_search), and for evaluated
    thresholds that prove them. `value` stores all its results in `memo`, by height and packed rows."""

    def __init__(self, ranked: Ranked):
        self.ranked, self.memo = ranked, {}
        self.rows = rank_rows(ranked.rank, ranked.loss, None, ranked.price)
        self.search = RankSearch(self.rows, deadline.check)
        self.values = [np.unique(ranked.rank[:, scale]) for scale in self.rows.columns]

    def key(self, members: np.ndarray, height: int) -> tuple[int, bytes]:
        row = np.zeros(len(self.ranked.rank), bool)
        row[members] = True
        return height, np.packbits(row).tobytes()

    def value(self, members: np.ndarray, height: int, enough: float = np.inf) -> Found:
        """Return the best tree of this height, at least 1, on these rows; or a bound of at least `enough`."""
        key = self.key(members, height)
        found = self.memo.get(key)
        if found is None or (not found.exact and found.cost < enough):
            found = self.memo[key] = self._value(members, height, enough)
        return found

    def _value(self, members, height, enough):
        leaf = float(self.ranked.loss[members].sum(axis=0).min()) if len(members) else 0.0
        if leaf <= self.ranked.near + self.ranked.price:  # a split costs at least its price
            return Found(members, leaf)
        unit = self.rows.unit
        known = self.search.value(
            self._node(members), height, NONE if enough == np.inf else int(np.ceil(enough / unit))
        )
        return Found(members, unit * min(known.lower, known.upper), known.exact, known=known)

    def _node(self, members):
        """Return the node of the search for these rows."""
        inside = np.zeros(len(self.ranked.rank), bool)
        inside[members] = True
        return self.search.node_of(inside[self.rows.row])

    def _threshold(self, column, rank):
        """Return a split of the search as (scale, rank)."""
        return int(self.rows.columns[column]), int(self.values[column][rank])

    def evaluated(self, found: Found, height: int) -> Found:
        """Return the result with thresholds whose values prove its bound: the evaluated thresholds of the search, and
        further ones if these do not bound every other threshold."""
        if found.tried is not None or found.known is None:
            return found
        part = Part(self.ranked, found.members)
        bounds, tried = Bounds(part), np.zeros(part.size, bool)
        if height > 2 and found.known.points:
            columns, ranks, *values = zip(*found.known.points)
            places = part.places(*np.transpose([self._threshold(*split) for split in zip(columns, ranks)]))
            bounds.learn_more(places, *(self.rows.unit * np.array(side, float) for side in values))
            tried[places] = True
        near, price, turn = self.ranked.near, self.ranked.price, 0
        while True:
            deadline.check()
            left, right = bounds.sides()
            least = left + right + price
            intervals = _runs(part.parting & (least < found.cost - near), part.scale)
            if not len(intervals[0]):
                break
            if height == 2:
                places = spread(*intervals, NEXT if turn else FIRST)
                values = part.stumps(places)
            else:
                places = _middle(*intervals, least, widest=turn % 2 == 1)
                values = self._sides(part, height, int(places[0]), found.cost, right)
            tried[places] = True
            bounds.learn(places, *values)
            turn += 1
        at = np.flatnonzero(tried)
        found.tried = np.stack([part.scale[at], part.original[at]])
        found.left, found.right = (known.reshape(-1)[bounds.at[at]] for known in bounds.known)
        return found

    def _sides(self, part, height, place, cut, right):
        """Return bounds of both sides of one threshold, each (1,)."""
        more = SLACK * cut - self.ranked.price
        sides = part.sides(place)
        one = self.value(sides[0], height - 1, cut - right[place] + more)
        two = self.value(sides[1], height - 1, cut - one.cost + more)
        return np.array([one.cost]), np.array([two.cost])

    def tree(self, members: np.ndarray, height: int):
        """Return the best tree of this height on these rows as nested (scale, rank, left, right), None for a leaf."""
        return self._named(self.search.tree_of(self._node(members), height))

    def _named(self, tree):
        return tree and (*self._threshold(*tree[:2]), *map(self._named, tree[2:]))


def spread(first: np.ndarray, last: np.ndarray, many: int) -> np.ndarray:
    """Return at most `many` evenly spaced whole numbers of each range first .. last, as one ascending array."""
    size = last - first + 1
    taken = np.minimum(size, many)
    run = np.repeat(np.arange(len(first)), taken)
    number = np.arange(len(run)) - (np.cumsum(taken) - taken)[run]
    return first[run] + (2 * number + 1) * size[run] // (2 * taken[run])


def _runs(open_, scale):
    """Return the first and last place of each run of open places within one scale."""
    at = np.flatnonzero(open_)
    new = np.ones(len(at), bool)
    new[1:] = (np.diff(at) > 1) | (np.diff(scale[at]) > 0)
    begin = np.flatnonzero(new)
    return at[begin], at[np.append(begin[1:], len(at))[: len(begin)] - 1]


def _middle(first, last, least, widest):
    """Return the middle place of the widest interval, or of the interval with the lowest bound."""
    if widest:
        at = int((last - first).argmax())
    else:
        at = int(np.minimum.reduceat(least, np.stack([first, last + 1], axis=1).reshape(-1))[::2].argmin())
    return (first[at : at + 1] + last[at]) // 2
