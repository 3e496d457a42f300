"""The best tree over ordered thresholds, searched by bounds on intervals of them.

What a tree costs is counted above what no tree can avoid (odtc.algorithms.thresholds.prefix_sums), so that V_h(S),
the least cost of
a tree of height h on the rows S, grows with S, and by no more than what the rows that come in can
cost. So the values at few thresholds bound those at all others: for a <= c <= b on one scale

    V(L_c) >= V(L_a),   V(L_c) >= V(L_b) - moved(c, b)
    V(R_c) >= V(R_b),   V(R_c) >= V(R_a) - moved(a, c)

and thresholds are looked at until the two bounds of no other are together below the best tree.
(Intervals of thresholds: Mazumder, Meng & Wang 2022, Quant-BnB; Brita, van der Linden & Demirović 2025,
ConTree. The values that are found here are the bounds that prove the tree: odtc.algorithms.thresholds.interval_lp.)
"""

from dataclasses import dataclass

import numpy as np

from odtc.algorithms.thresholds.prefix_sums import Part, Ranked
from odtc.base import deadline

FIRST = 5  # thresholds of each scale that are looked at first
NEXT = 3  # of each interval that is left, then
SLACK = 0.5  # a side is searched for a bound of so much more than needed, relative to the best tree


@dataclass
class Found:
    """What is known of the trees of a height on some rows: none costs less than `cost`, and where it is
    `exact` one costs that. `choice` is its first test, (scale, rank), or None for a label;
    with `lower` it is a tree of less height. `tried` holds thresholds (scale, rank), int64 (2, tried), and
    `left` and `right` what trees of the height below cost at least on their sides."""

    members: np.ndarray
    cost: float
    exact: bool = True
    choice: tuple[int, int] | None = None
    lower: bool = False
    tried: np.ndarray | None = None
    left: np.ndarray | None = None
    right: np.ndarray | None = None


class Bounds:
    """The least that trees cost left and right of every place of a part, by what they do at some."""

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

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """float64 (places,) twice: bounds of the trees left and right."""
        (left, right), most = self.known, np.maximum.accumulate
        left = np.maximum(most(left, axis=1), most((left - self.moved)[:, ::-1], axis=1)[:, ::-1] + self.moved)
        right = np.maximum(most(right[:, ::-1], axis=1)[:, ::-1], most(right + self.moved, axis=1) - self.moved)
        return tuple(np.maximum(side.reshape(-1)[self.at], 0.0) for side in (left, right))


class IntervalSearch:
    """Best trees over all thresholds. `value` remembers all it finds, in `memo`, by height and packed rows."""

    def __init__(self, ranked: Ranked):
        self.ranked, self.memo = ranked, {}

    def key(self, members: np.ndarray, height: int) -> tuple[int, bytes]:
        row = np.zeros(len(self.ranked.rank), bool)
        row[members] = True
        return height, np.packbits(row).tobytes()

    def value(self, members: np.ndarray, height: int, enough: float = np.inf) -> Found:
        """The best tree of this height, at least 1, on these rows; or a bound of at least `enough`."""
        key = self.key(members, height)
        found = self.memo.get(key)
        if found is None or not found.exact and found.cost < enough:
            found = self.memo[key] = self._value(members, height, enough)
        return found

    def _value(self, members, height, enough):
        leaf = float(self.ranked.loss[members].sum(axis=0).min()) if len(members) else 0.0
        if leaf <= self.ranked.near + self.ranked.price:  # a test costs its price, too
            return Found(members, leaf)
        part = Part(self.ranked, members)
        if height == 1:
            cost, place = part.stump()
            return Found(members, cost, choice=_test(part, place))
        best = Found(members, leaf)
        if height > 2:
            below = self.value(members, height - 1)
            if below.choice is not None or below.lower:
                best = Found(members, below.cost, lower=True)
        return self._search(part, height, enough, best)

    def _search(self, part, height, enough, best):
        """Tries thresholds until the bounds of all others reach the best tree, or are enough."""
        near, price, bounds = self.ranked.near, self.ranked.price, Bounds(part)
        left, right, tried, turn = np.zeros(part.size), np.zeros(part.size), np.zeros(part.size, bool), 0
        while True:
            deadline.check()
            least, cut = left + right + price, min(best.cost, enough)
            intervals = _runs(part.parting & (least < cut - near), part.scale)
            if not len(intervals[0]):
                break
            if height == 2:
                places = spread(*intervals, NEXT if turn else FIRST)
                values, exact = part.stumps(places), np.ones(len(places), bool)
            else:
                places = _middle(*intervals, least, widest=turn % 2 == 1)
                values, exact = self._sides(part, height, int(places[0]), cut, right)
            cost = np.where(exact, values[0] + values[1] + price, np.inf)
            at = int(cost.argmin())
            if cost[at] < best.cost - near:
                best = Found(part.members, float(cost[at]), choice=_test(part, int(places[at])))
            tried[places] = True
            bounds.learn(places, *values)
            left, right = bounds.sides()
            turn += 1
        best.exact = best.cost < enough
        if not best.exact:
            best.cost = min(best.cost, float(least[part.parting].min(initial=np.inf)))
        at = np.flatnonzero(tried)
        best.tried = np.stack([part.scale[at], part.original[at]])
        best.left, best.right = (known.reshape(-1)[bounds.at[at]] for known in bounds.known)
        return best

    def _sides(self, part, height, place, cut, right):
        """The values of both sides of one threshold, each (1,), and whether they are exact."""
        more = SLACK * cut - self.ranked.price
        sides = part.sides(place)
        one = self.value(sides[0], height - 1, cut - right[place] + more)
        two = self.value(sides[1], height - 1, cut - one.cost + more)
        return (np.array([one.cost]), np.array([two.cost])), np.array([one.exact and two.exact])

    def tree(self, members: np.ndarray, height: int):
        """The best tree that was found on these rows, as (scale, rank, left, right); None for a label."""
        if not height or not len(members):
            return None
        found = self.value(members, height)
        if found.lower:
            return self.tree(members, height - 1)
        if found.choice is None:
            return None
        scale, rank = found.choice
        left = self.ranked.rank[members, scale] <= rank
        return scale, rank, self.tree(members[left], height - 1), self.tree(members[~left], height - 1)


def spread(first: np.ndarray, last: np.ndarray, many: int) -> np.ndarray:
    """At most `many` whole numbers of each range first .. last, evenly, as one ascending array."""
    size = last - first + 1
    taken = np.minimum(size, many)
    run = np.repeat(np.arange(len(first)), taken)
    number = np.arange(len(run)) - (np.cumsum(taken) - taken)[run]
    return first[run] + (2 * number + 1) * size[run] // (2 * taken[run])


def _runs(open_, scale):
    """The first and the last places of the intervals of one scale without a gap."""
    at = np.flatnonzero(open_)
    new = np.ones(len(at), bool)
    new[1:] = (np.diff(at) > 1) | (np.diff(scale[at]) > 0)
    begin = np.flatnonzero(new)
    return at[begin], at[np.append(begin[1:], len(at))[: len(begin)] - 1]


def _middle(first, last, least, widest):
    """The middle place of the widest interval, or of that with the lowest bound."""
    if widest:
        at = int((last - first).argmax())
    else:
        at = int(np.minimum.reduceat(least, np.stack([first, last + 1], axis=1).reshape(-1))[::2].argmin())
    return (first[at : at + 1] + last[at]) // 2


def _test(part, place):
    return (int(part.scale[place]), int(part.original[place])) if place >= 0 else None
