"""The best tree by exact costs, among the trees that a search by rounded costs cannot distinguish.

The search counts in whole numbers that are the exact costs divided by `parts`, rounded down. So a tree of rounded cost
c costs at least parts · c, and only trees for which this is less than the best exact cost so far can be better. These
are followed from the root: the splits of a node whose bounds are below that cost, with the exact best trees of both
sides. Subproblems are stored by their rows, so splits that separate the rows in the same way are compared once. Trees
of one split are compared over all splits, by cumulative sums of the exact costs.
"""

from typing import NamedTuple

import numpy as np

from odtc.algorithms.near_optimal.tree_set import Part, TreeSet
from odtc.base.whole_numbers import ExactParts

MIN_ROWS = 2e7  # minimum number of rows, over all compared splits, before the comparison is given up
ROWS_OF_A_LOOK = 1000  # number of rows that take as long as the rest of one comparison
ROWS_PER_EVALUATION = 2  # rows that may be compared for each evaluation of the search, relative to all rows


class TooManyTies(Exception):
    """So many trees are within the rounding of the search that comparing them is not worth the time."""


class Best(NamedTuple):
    """An exact cost and its tree: nested (column, rank, left, right), None for a leaf."""

    cost: int
    tree: tuple | None


class ExactBest:
    """Exact comparison of the trees within the rounding of a search.

    Parameters
    ----------
    trees : TreeSet, of the search; its rows were made with `keep`, because exact costs may be above 0 where rounded
        costs are 0
    costs : ExactParts, of the given rows
    """

    def __init__(self, trees: TreeSet, costs: ExactParts):
        self.trees, self.search, self.rows = trees, trees.search, trees.rows
        ranked = trees.search.ranked
        head = np.flatnonzero(np.diff(ranked.row, prepend=-1) > 0)
        self.costs = costs.of_kinds(ranked.kind, ranked.row[head])
        self._floor = self.costs.least(self.costs.high, self.costs.rest)
        self._floor_of_search = self.costs.high.min(axis=1)
        self._known: dict[tuple[int, bytes], Best] = {}
        self._unit, self._price = int(ranked.unit), ranked.price
        self._looks, self._most = 0.0, max(MIN_ROWS, ROWS_PER_EVALUATION * self.search.evaluated * self.rows.n)

    def solve(self) -> Best:
        """Return the best tree of all rows.

        Raises
        ------
        TooManyTies, and exceptions of `check` of the search
        """
        return self._best(self.trees.root, self.trees.depth)

    def _best(self, part: Part, height: int) -> Best:
        rows = part.rows
        leaf = Best(self.costs.leaf(rows), None)
        if not height or len(rows) < 2:
            return leaf
        known = self._known.get((height, part.key))
        if known is None:
            self._look(part)
            known = leaf
            if leaf.cost > self._unavoidable(rows) + self.costs.price:
                known = self._stump(part, leaf) if height == 1 else self._tall(part, height, leaf)
            self._known[height, part.key] = known
        return known

    def _look(self, part: Part) -> None:
        """End the comparison at the deadline, or if it takes much more work than the search did."""
        self.search.check()
        self._looks += len(part.rows) + ROWS_OF_A_LOOK
        if self._looks > self._most:
            raise TooManyTies

    def _unavoidable(self, rows: np.ndarray) -> int:
        """Return the cost of some rows that no tree avoids."""
        high, rest = (int(part[rows].sum()) for part in self._floor)
        return self.costs.parts * high + rest

    def _stump(self, part: Part, found: Best) -> Best:
        """Return the best tree of one split, if it costs less than `found`."""
        costs = self.costs
        for column, order, ranks, cuts in self.rows.cuts(part, range(len(self.rows.rank))):
            if not len(cuts):
                continue
            sums = [cost[order].cumsum(axis=0) for cost in (costs.high, costs.rest)]
            left = costs.least(*(one[cuts] for one in sums))
            right = costs.least(*(one[-1] - one[cuts] for one in sums))
            high, rest = costs.carried(left[0] + right[0], left[1] + right[1])
            at = int(np.lexsort((rest, high))[0])
            cost = costs.parts * int(high[at]) + int(rest[at]) + costs.price
            if cost < found.cost:
                found = Best(cost, (column, int(ranks[cuts[at]]), None, None))
        return found

    def _tall(self, part: Part, height: int, found: Best) -> Best:
        """Return the best tree of two levels or more that costs less than `found`."""
        node, rows, parts, price = self.trees.node(part), part.rows, self.costs.parts, self.costs.price
        nested = self.search.tree_of(node, height)
        found = min(found, Best(self._cost_of(nested, rows), nested), key=_cost)
        below = self._rounded_floor(rows)
        limit = ((found.cost - 1) // parts - below) // self._unit + 1
        open_ = limit > 0 and found.cost > self._unavoidable(rows) + price
        splits = list(self.search.splits_below(node, height, limit)) if open_ else []
        for column, rank, *bounds in sorted(splits, key=lambda split: split[2] + split[3]):
            if parts * (below + self._unit * (sum(bounds) + self._price)) >= found.cost:
                break
            self._look(part)
            one, two = self.trees.arc(part, column, rank, bounds).sides
            left = self._best(one, height - 1)
            if left.cost + price + parts * (self._rounded_floor(two.rows) + self._unit * bounds[1]) >= found.cost:
                continue
            right = self._best(two, height - 1)
            cost = left.cost + right.cost + price
            if cost < found.cost:
                found = Best(cost, (column, rank, left.tree, right.tree))
        return found

    def _rounded_floor(self, rows: np.ndarray) -> int:
        """Return the minimum cost of some rows in the search, which counts only the cost above it."""
        return int(self._floor_of_search[rows].sum())

    def _cost_of(self, tree, rows: np.ndarray) -> int:
        if tree is None:
            return self.costs.leaf(rows)
        column, rank, *below = tree
        left = self.rows.rank[column, rows] <= rank
        sides = (rows[left], rows[~left])
        return self.costs.price + sum(self._cost_of(one, side) for one, side in zip(below, sides))


def _cost(best: Best) -> int:
    return best.cost
