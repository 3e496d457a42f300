"""Linear program of the best tree over ordered thresholds: variables for whole intervals of them.

A state (S, j) is a set of rows with h = D - j levels left. For the thresholds c of a scale from l to r

    V(L_c, h-1) + V(R_c, h-1) >= V(L_a, h-1) - moved(l, a)⁺ + V(R_b, h-1) - moved(b, r)⁺     for any a, b

(odtc.algorithms.thresholds.interval_search; moved(x, y)⁺ is 0 if y <= x), so one variable represents all of them: it
costs the subtracted amounts and the penalty of a branch node, and leads to the states of L_a and R_b. Each state has
variables for all its thresholds, as wide as its own bound allows, and stops at the cost of its best label; the states
of the best tree have its splits, too. So every tree costs at least as much as some flow, the best tree is a flow, and
the bounds of the search are feasible for the dual of the linear program: its optimum is the tree's cost. If losses are
whole multiples of a unit, the variables of intervals cost a little more, less than a unit together: then no other flow
is as cheap as the tree.
"""

import numpy as np

from odtc.algorithms.thresholds.interval_search import Bounds, Found, IntervalSearch
from odtc.algorithms.thresholds.prefix_sums import Part
from odtc.base import deadline
from odtc.base.value_class import value_class


@value_class
class Arcs:
    """Variables of one level of the linear program: arcs from its states to states of the next level.

    An arc leaves `state`, splits on `first`, int64 (arcs, 2) of (scale, rank), and leads to the states `below`, int64
    (arcs, 2), -1 for none; `cost` is its cost. The arc of an interval represents all thresholds from `first` up to the
    next arc's.
    """

    state: np.ndarray
    first: np.ndarray
    below: np.ndarray
    cost: np.ndarray


@value_class
class Layer:
    """The states of one level: `stop`, float64 (states,), is the cost of stopping, `splits` are the arcs of the best
    tree, and `intervals` the arcs of intervals of thresholds."""

    stop: np.ndarray
    splits: Arcs
    intervals: Arcs


class _States:
    """The states of a level, numbered in the order in which they are reached, each with the result whose bound it must
    have (None: no bound)."""

    def __init__(self):
        self.number, self.members, self.found = {}, [], []

    def of(self, search: IntervalSearch, members: np.ndarray, found: Found | None, height: int) -> int:
        number = self.number.setdefault(search.key(members, height), len(self.members))
        if number == len(self.members):
            self.members.append(members)
            self.found.append(found)
        elif self.found[number] is None:
            self.found[number] = found
        return number


def layers(search: IntervalSearch, depth: int, tail: int, more: float, merged: bool = False) -> list[Layer]:
    """Return the linear program for all rows; its last `tail` levels, at least 1, are folded into costs. The arcs of
    intervals cost `more` in addition. With `merged`, a state of the last level has one arc for all its intervals."""
    rows = np.arange(len(search.ranked.rank))
    states, layers_ = _States(), []
    states.of(search, rows, search.value(rows, depth), depth)
    asked = [(0, rows, search.tree(rows, depth))]  # the nodes of the best tree at this level, with their states
    for j in range(depth - tail):
        height, below = depth - j, _States()
        last = j == depth - tail - 1
        splits, asked = _splits(search, asked, below, height, last)
        intervals = [
            _intervals(search, number, states, below, height, last, more, merged)
            for number, found in enumerate(states.found)
            if found is not None and found.cost > search.ranked.near
        ]
        stop = np.array([search.ranked.loss[members].sum(axis=0).min() for members in states.members])
        layers_.append(Layer(stop, splits, _joined(intervals)))
        if not below.members:
            break
        states = below
    return layers_


def _splits(search, asked, below, height, last):
    """Return the arcs of the best tree, and its branch nodes at the next level."""
    ranked, found, going = search.ranked, [], []
    for state, members, node in asked:
        if node is None:
            continue
        scale, rank, *trees = node
        left = ranked.rank[members, scale] <= rank
        cost, sides = ranked.price, [-1, -1]
        for side, (tree, part) in enumerate(zip(trees, (members[left], members[~left]))):
            if tree is None or last:
                cost += _cost(search, part, tree)
            else:
                sides[side] = below.of(search, part, None, height - 1)
                going.append((sides[side], part, tree))
        found.append(Arcs(np.array([state]), np.array([[scale, rank]]), np.array([sides]), np.array([cost])))
    return _joined(found), going


def _cost(search, members, tree) -> float:
    """Return the cost of a nested tree (IntervalSearch.tree) on these rows."""
    ranked = search.ranked
    if tree is None:
        return float(ranked.loss[members].sum(axis=0).min())
    scale, rank, *trees = tree
    left = ranked.rank[members, scale] <= rank
    return ranked.price + sum(_cost(search, part, below) for part, below in zip((members[left], members[~left]), trees))


def _intervals(search, number, states, below, height, last, more, merged) -> Arcs:
    """Return the arcs that bound one state: for each scale the fewest intervals that each cost its bound or more."""
    members, found = states.members[number], search.evaluated(states.found[number], height)
    if found.tried is None:  # a leaf costs no more than any split
        return _joined([])
    deadline.check()
    ranked, part = search.ranked, Part(search.ranked, members)
    bounds = Bounds(part)
    places = part.places(*found.tried)
    bounds.learn(places, found.left, found.right)
    left, right = bounds.sides()
    begin, end = _widest(part, left, right, found.cost - ranked.price - ranked.near)
    first = np.stack([part.scale[begin], part.original[begin]], axis=1)
    none = np.full((len(begin), 2), -1)
    if last:
        cost = ranked.price + more + left[begin] + right[end]
        if merged:
            first, none, cost = first[:1], none[:1], cost.min(keepdims=True)
        return Arcs(np.full(len(cost), number), first, none, cost)
    cost, sides = np.full(len(begin), ranked.price + more), none
    for side, (at, values) in enumerate(((begin, left), (end, right))):
        sources = _sources(part, bounds.known[side].reshape(-1)[bounds.at], side)[at]
        for arc in np.flatnonzero(values[at] > ranked.near).tolist():
            source = int(sources[arc])
            rows = part.sides(source)[side]
            known = search.value(rows, height - 1, 0.0)
            sides[arc, side] = below.of(search, rows, known, height - 1)
        gap = part.moved[sources] - part.moved[at]
        cost -= np.where(sides[:, side] >= 0, np.maximum(gap if side == 0 else -gap, 0.0), 0.0)
    return Arcs(np.full(len(cost), number), first, sides, cost)


def _widest(part, left, right, least):
    """Return the first and last places of intervals, one after another through each scale, such that the bounds of the
    left side of the first place and of the right side of the last place add up to at least `least`."""
    begins, ends = [], []
    for first, last in zip(part.first.tolist(), part.last.tolist()):
        falling = -right[first:last]
        place = first
        while place < last:
            end = first + int(np.searchsorted(falling, left[place] - least, side="right")) - 1
            begins.append(place)
            ends.append(max(end, place))
            place = ends[-1] + 1
    return np.array(begins, int), np.array(ends, int)


def _sources(part, known, side):
    """Return for each place the place with a known value that gives the best bound of this side; of equal ones the
    nearest that subtracts nothing. -1 for none."""
    sources = np.full(part.size, -1)
    for first, last in zip(part.first.tolist(), part.last.tolist()):
        tried = first + np.flatnonzero(known[first:last] > -np.inf)
        if not len(tried):
            continue
        every = np.arange(first, last)
        off = part.moved[tried] - part.moved[every, None]  # (places, tried)
        worth = known[tried] - np.maximum(off if side == 0 else -off, 0.0)
        sources[first:last] = (
            tried[worth.argmax(axis=1)] if side else tried[len(tried) - 1 - worth[:, ::-1].argmax(axis=1)]
        )
    return sources


def _joined(parts) -> Arcs:
    if not parts:
        return Arcs(np.zeros(0, int), np.zeros((0, 2), int), np.zeros((0, 2), int), np.zeros(0))
    return Arcs(
        *(np.concatenate([getattr(part, key) for part in parts]) for key in ("state", "first", "below", "cost"))
    )
