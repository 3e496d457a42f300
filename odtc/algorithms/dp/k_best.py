"""The trees of a problem in order of cost, state by state of the dynamic program, computed when they are needed.

The k-th best tree at a state is found, when it is needed, from the k-th best ones at the states below (Huang & Chiang
2005, "Better k-best Parsing", lazily; a tree is a derivation of a hypergraph). Upper states and the costs of their
best trees come from an existing Graph; the last two levels, which are most of a program, are computed from the rows of
the state only if a tree needs them.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from odtc.algorithms.dp.state_expansion import stump_costs
from odtc.algorithms.dp.state_graph import Graph, Rows
from odtc.base import deadline
from odtc.base.memory import available
from odtc.base.value_class import value_class

STATE_BYTES = 2000  # bytes of a visited state, in addition to two numbers for each split that may pay there
TREE_BYTES = 300  # bytes of a tree that is a candidate at a state, and of each node of a tree in a list


class OutOfMemory(Exception):
    """The visited states do not fit in half of the memory that was free."""


@value_class
class DerivedTree:
    """A tree at a state: its cost, its first split (-1 for a leaf), and the trees on both sides, each as a state and a
    position in the order of its trees; None for a leaf, whose cost is part of the arc."""

    cost: float
    split: int
    below: tuple


@dataclass
class _Open:
    """A state with its trees known so far, and the candidates for its next tree. `worth` has for each split the cost of
    the best tree that begins with it; the first `begun` splits are in the heap."""

    stop: float
    worth: np.ndarray
    split: np.ndarray
    arc: np.ndarray | None
    members: np.ndarray | None
    known: list
    heap: list
    begun: int = 0


class Derivations:
    """Trees of a depth over `rows`, in order of cost. The first `n_levels` levels of `graph` have arcs of one split
    each, and its values are for trees of this depth; it may be None if `n_levels` is 0.

    A state is (level, its position in the graph) or (level, its rows packed). Raises TimeLimitReached at the deadline,
    and OutOfMemory if the memory is used up.
    """

    def __init__(self, rows: Rows, depth: int, price: float, graph: Graph | None, n_levels: int):
        self.rows, self.depth, self.price, self.graph, self.n_levels = rows, depth, price, graph, n_levels
        self.root = (0, 0) if n_levels else (0, np.packbits(np.ones(len(rows.X), bool)).tobytes())
        self._open, self._below, self._bytes = {}, {}, 0
        room = available()
        self._room = np.inf if room is None else room / 2

    def get(self, state, i: int) -> DerivedTree | None:
        """Return the i-th best tree at a state; None if it has fewer trees."""
        if state not in self._open:
            self._open[state] = self._opened(state)
        here = self._open[state]
        while len(here.known) <= i and (here.heap or here.begun < len(here.split)):
            deadline.check()
            # The best tree of the next split enters the heap if it may be the next tree of all.
            while here.begun < len(here.split) and (not here.heap or here.worth[here.begun] <= here.heap[0][0]):
                heapq.heappush(here.heap, (float(here.worth[here.begun]), here.begun, 0, 0))
                here.begun += 1
            cost, at, left, right = heapq.heappop(here.heap)
            self._expect(TREE_BYTES)
            if at < 0:
                here.known.append(DerivedTree(cost, -1, ()))
                continue
            base, below = self._sides(state, here, at)
            here.known.append(
                DerivedTree(
                    cost,
                    int(here.split[at]),
                    tuple(side and (side, place) for side, place in zip(below, (left, right))),
                )
            )
            # Each pair of positions occurs once: the left one grows only while the right one is 0.
            self._push(here, at, base, below, left, right + 1)
            if right == 0:
                self._push(here, at, base, below, left + 1, 0)
        return here.known[i] if i < len(here.known) else None

    def first_splits(self, most: float) -> int:
        """Return a lower bound on the number of trees that cost at most `most`: one for each first split,
        and a leaf."""
        self.get(self.root, 0)
        root = self._open[self.root]
        return int((root.worth <= most).sum()) + (root.stop <= most)

    def _push(self, here: _Open, at: int, base: float, below: tuple, left: int, right: int) -> None:
        cost = base
        for side, place in zip(below, (left, right)):
            if side is None:
                if place:
                    return
                continue
            found = self.get(side, place)
            if found is None:
                return
            cost += found.cost
        if cost < here.stop - self.rows.near:
            heapq.heappush(here.heap, (cost, at, left, right))

    def _opened(self, state) -> _Open:
        j, place = state
        if isinstance(place, int):
            level = self.graph.levels[j]
            begin, end = level.first[place : place + 2].tolist()
            arc, stop, members = np.arange(begin, end), float(level.stop[place]), None
            below = self.graph.values[j + 1] if j + 1 < len(self.graph.levels) else None
            worth, split = level.worth(level.cost, below, slice(begin, end)), level.split[begin:end]
        else:
            arc = None
            members = np.flatnonzero(np.unpackbits(np.frombuffer(place, np.uint8), count=len(self.rows.X)))
            stop, worth = self._counted(members, self.depth - j)
            split = np.arange(len(worth))
        pays = np.flatnonzero(worth < stop - self.rows.near)
        pays = pays[np.argsort(worth[pays], kind="stable")]
        self._expect(STATE_BYTES + 24 * len(pays))
        return _Open(
            stop, worth[pays], split[pays], arc[pays] if arc is not None else None, members, [], [(stop, -1, 0, 0)]
        )

    def _counted(self, members: np.ndarray, height: int) -> tuple[float, np.ndarray]:
        """Return the cost of one label on these rows, and of the best tree of one or two levels that begins with each
        split."""
        X, loss = self.rows.X[members], self.rows.loss[members]
        total = loss.sum(axis=0)
        stop = float(self.rows.leaf_costs(total))
        if height == 0 or stop <= self.rows.floor[members].sum() + self.rows.near:
            return stop, np.zeros(0)
        count = X.sum(axis=0)
        if height == 1:
            ones = deadline.product(X, loss, float)
            worth = self.rows.leaf_costs(ones) + self.rows.leaf_costs(total - ones)
        else:
            worth = stump_costs(self.rows, members, self.price)
        return stop, np.where((count > 0) & (count < len(X)), self.price + worth, np.inf)

    def _sides(self, state, here: _Open, at: int) -> tuple[float, tuple]:
        """Return the cost of an arc itself, and the states on either side of it, None for one that stops at once."""
        if (state, at) not in self._below:
            self._below[state, at] = self._found_sides(state, here, at)
            self._expect(TREE_BYTES)
        return self._below[state, at]

    def _found_sides(self, state, here, at):
        j = state[0]
        if here.arc is not None:
            level, arc = self.graph.levels[j], int(here.arc[at])
            below = tuple(
                None
                if side < 0
                else (j + 1, side if j + 1 < self.n_levels else self.graph.levels[j + 1].cover[side].tobytes())
                for side in level.below[arc].tolist()
            )
            return float(level.cost[arc]), below
        ones = self.rows.X[here.members, here.split[at]]
        base, below = self.price, []
        for part in (here.members[~ones], here.members[ones]):
            stop = float(self.rows.leaf_costs(self.rows.loss[part].sum(axis=0)))
            if j + 1 == self.depth or stop <= self.rows.floor[part].sum() + self.rows.near:
                base += stop
                below.append(None)
            else:
                member = np.zeros(len(self.rows.X), bool)
                member[part] = True
                below.append((j + 1, np.packbits(member).tobytes()))
                self._expect(len(below[-1][1]))
        return base, tuple(below)

    def _expect(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._room:
            raise OutOfMemory
