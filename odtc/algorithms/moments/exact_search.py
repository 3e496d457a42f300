"""Choice of the best tree by exact costs, among the trees that a search by doubles cannot distinguish.

The search has a bound on its rounding errors, and tries every cut that may be best within that bound. So at each node,
the best tree by exact costs has one of these cuts: all of them are followed, and the cost of each leaf is computed in
whole numbers. States are stored by their rows, so equal parts of trees are compared once. If rounding leaves too many
cuts of some rows, a more careful search of these rows lists fewer.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from odtc.algorithms.moments.exact_costs import Undecided
from odtc.algorithms.moments.search import MomentSearch
from odtc.algorithms.moments.tree_limits import Place, fitted

MOST_CUTS = 64  # maximum number of listed cuts of a state, before a more careful search is made
MOST_STATES = 20_000  # maximum number of states that are compared exactly


class Best(NamedTuple):
    """The exact cost of the best tree of some rows, and the tree: nested (column, cut, left, right), or None."""

    cost: Fraction
    tree: tuple | None


class ExactSearch:
    """Exact comparison of near-optimal trees.

    Parameters
    ----------
    engine : MomentSearch, with a bound on its rounding errors (`slack` or `relative`)
    costs : the exact cost of each `leaf` of some rows, and the `least` cost of any tree
    price : Fraction, penalty of a branch node
    careful : returns a more careful search of the same rows; None if there is none
    """

    def __init__(self, engine: MomentSearch, costs, price: Fraction, careful: Callable[[], MomentSearch] | None):
        self.engine, self.costs, self.price, self._careful = engine, costs, price, careful
        self._by_care: MomentSearch | None = None
        self._known: dict[tuple, Best] = {}

    def best(self, depth: int) -> Best:
        """Return the best tree of all rows. Raises Undecided if exact costs cannot be compared."""
        rows, limits = np.arange(self.engine.code.shape[1]), self.engine.limits
        whole = limits.of_whole_trees  # a leaf uses no columns, so no family contains it
        found = Best(self.costs.leaf(rows), None) if whole else self._best(rows, depth, limits.root)
        families = list(self.engine.families)
        while families:
            family = families.pop()
            best = self._best(rows, self.engine.levels(depth), self.engine.place_of(family))
            if best is None or (found is not None and found.cost <= best.cost):
                continue
            used = self.engine.columns_of(best.tree)
            if family.has(used):
                found = best
            else:
                families += family.parts(used)
        if found is None:
            raise Undecided
        return found

    def cost_of(self, tree: tuple | None, rows: np.ndarray) -> Fraction:
        """Return the exact cost of a nested tree on some rows."""
        if tree is None:
            return self.costs.leaf(rows)
        below = zip(tree[2:], self.engine.sides(rows, *tree[:2]))
        return sum((self.cost_of(one, side) for one, side in below), start=self.price)

    def _best(self, rows: np.ndarray, depth: int, place: Place) -> Best | None:
        """Return the best tree of some rows; None if no tree splits on the columns that the position needs."""
        place, depth = fitted(place, depth)
        if len(place.needed) >= 2**depth:
            return None
        if depth == 0:
            return Best(self.costs.leaf(rows), None)
        key = self.engine.key_of(rows, depth, place)
        if key not in self._known:
            self.engine.check()
            if len(self._known) >= MOST_STATES:
                raise Undecided
            self._known[key] = self._compared(rows, depth, place)
        return self._known[key]

    def _compared(self, rows: np.ndarray, depth: int, place: Place) -> Best | None:
        found, listed = self._listed(rows, depth, place, self.engine, MOST_CUTS if self._careful else MOST_STATES)
        if listed is None and self._careful is not None:
            self._by_care = self._by_care or self._careful()
            found, listed = self._listed(rows, depth, place, self._by_care, MOST_STATES)
        if listed is None:
            raise Undecided
        seen = set()
        for column, cut, share, _ in listed:
            left = self.engine.code[column, rows] <= cut
            parted = np.packbits(left ^ left[0]).tobytes()
            if parted in seen and self.engine.limits.nothing:  # another column has the same sides
                continue
            seen.add(parted)
            sides = self.engine.sides(rows, column, cut)
            places = self.engine.limits.sides(place, column, *share)
            below = [self._best(side, depth - 1, at) for side, at in zip(sides, places)]
            if None in below:
                continue
            cost = sum((one.cost for one in below), self.price)
            if cost < found.cost:
                found = Best(cost, (column, cut, *(one.tree for one in below)))
        return found

    def _listed(self, rows: np.ndarray, depth: int, place: Place, engine: MomentSearch, most: int):
        """Return (the best tree that a search knows, the cuts that may be better); None for the latter if they are too
        many, or if the search has no bound on its rounding."""
        entry = engine.solved(rows, depth, place)
        if entry.upper == np.inf:
            return None, []
        tree = engine._whole(entry.tree, rows)
        found = Best(self.cost_of(tree, rows), tree)
        if entry.upper <= max(engine.slack, engine.relative) and found.cost <= self.costs.least(rows):
            return found, []
        if engine.is_exact:
            return found, []
        room = engine.room(entry.upper)
        if engine.slack > room or not room:
            return found, None
        listed = engine.near_cuts(rows, depth, place, entry.upper)
        if not place.needed and (leaf := self.costs.leaf(rows)) < found.cost:
            found = Best(leaf, None)
        return found, None if len(listed) > most else listed
