"""The AND/OR graph of the near-optimal trees as plain lists, which can be stored in a file: it counts trees without
the data.

A state is a set of rows with the remaining height. Its arcs name the column of the split, the number of splits that
separate these rows in the same way, and the states of both sides; at height 1 both sides are leaves, and the arc has
their cost.
"""

from collections.abc import Collection
from itertools import combinations

import numpy as np

from odtc.algorithms.near_optimal.tree_set import TreeSet
from odtc.algorithms.near_optimal.tree_table import TreeTable, Units
from odtc.base import deadline
from odtc.base.value_class import value_class

MOST_ARCS = 200_000  # maximum number of arcs in a file (some megabytes)
MOST_SUBSETS = 200  # maximum number of sets of columns that are tried for the fewest columns


@value_class
class StoredGraph:
    """States, the root last, so that the states of the sides come before.

    Attributes
    ----------
    unit, price : int, the costs of a unit of loss and of a branch node
    states : list of [height, cost as a leaf in units of loss, least cost, budget, arcs]; an arc is [column, splits,
        cost of the leaves] at height 1, and [column, splits, left, right, 1 if both sides as leaves are twins] above
    """

    unit: int
    price: int
    states: list

    @property
    def n_arcs(self) -> int:
        return sum(len(state[4]) for state in self.states)

    def count(self, columns: Collection[int] | None = None) -> TreeTable:
        """Return the trees that use these columns only (None: any), by branch nodes and cost."""
        units, tables = Units(self.unit, self.price), []
        for height, leaf, lower, budget, arcs in self.states:
            deadline.check()
            table = TreeTable(units, height, lower, budget)
            table.add(0, leaf, 1)
            for column, times, *below in arcs:
                if columns is not None and column not in columns:
                    continue
                if height == 1:
                    table.add(1, below[0] + units.skew, times)
                    continue
                left, right, twins = below
                one, two = tables[left], tables[right]
                if one.total and two.total:
                    table.add_products(one, two, times)
                    if twins:
                        x = self.states[left][1] + self.states[right][1] + units.skew
                        table.add(1, x, -times)
            tables.append(table)
        return tables[-1]

    def saved(self, column: int) -> tuple[int, int] | None:
        """Return the least and the greatest loss that the splits on a column save, over all trees.

            saved(T) = Σ_{t splits on the column} leaf(rows of t) - leaf(rows left of t) - leaf(rows right of t)

        The saving adds up over the sides of a split. So at each state only the trees are needed for which no cheaper
        tree saves as much (or as little).

        Parameters
        ----------
        column : int

        Returns
        -------
        (least, greatest) in units of loss; None without any tree
        """
        least, greatest = (self._extreme(column, sign) for sign in (1, -1))
        return None if least is None or greatest is None else (least, -greatest)

    def _extreme(self, column, sign):
        """Return the least value of sign · saved over all trees."""
        # For each state, the (cost, sign · saved) of its trees that are not a leaf.
        known: list[list[tuple[int, int]]] = []
        for height, leaf, _, budget, arcs in self.states:
            deadline.check()
            found = []
            for used, _, *below in arcs:
                if height == 1:
                    paid, saved = self.unit * below[0], leaf - below[0]
                    pairs = [((paid, 0), (0, 0))]
                else:
                    left, right, twins = below
                    ends = [(self.unit * self.states[side][1], 0) for side in (left, right)]
                    saved = leaf - self.states[left][1] - self.states[right][1]
                    pairs = [(one, two) for one in known[left] for two in [*known[right], ends[1]]]
                    pairs += [(ends[0], two) for two in ([] if twins else ends[1:]) + known[right]]
                own = sign * saved if used == column else 0
                found += [
                    (cost, own + one[1] + two[1])
                    for one, two in pairs
                    if (cost := one[0] + two[0] + self.price) <= budget
                ]
            known.append(_staircase(found))
        height, leaf, _, budget, _ = self.states[-1]
        values = [value for _, value in known[-1]] + ([0] if self.unit * leaf <= budget else [])
        return min(values, default=None)


def _staircase(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the points (cost, value) for which no other point has both a cost and a value that are as low."""
    kept: list[tuple[int, int]] = []
    for point in sorted(points):
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept


def store(trees: TreeSet, column_of: np.ndarray, most: int = MOST_ARCS) -> StoredGraph | None:
    """Return the graph of a set whose trees are counted; None if it has more arcs than `most`.

    Parameters
    ----------
    trees : TreeSet
    column_of : int (columns of the set,), the number under which each column's splits are stored
    most : int
    """
    found = _Walk(trees, column_of, most)
    if not trees.complete or not found.visit():
        return None
    return StoredGraph(trees.rows.units.unit, trees.rows.units.price, found.states())


class _Walk:
    """Walk over the states of a set with their greatest budgets, from the root down, height by height."""

    def __init__(self, trees: TreeSet, column_of, most: int):
        self.trees, self.column_of, self.most = trees, column_of, most
        # For each height, by rows: [part, least cost, budget, arcs].
        self.levels: list[dict] = [{} for _ in range(trees.depth + 1)]
        self.n_arcs = 0

    def visit(self) -> bool:
        """Visit all states, and return whether they have at most `most` arcs."""
        trees = self.trees
        lower = min(trees.table.lower, trees.budget)
        self.levels[trees.depth][trees.root.key] = [trees.root, lower, trees.budget, {}]
        for height in range(trees.depth, 0, -1):
            for state in self.levels[height].values():
                deadline.check()
                self._open(height, state)
                self.n_arcs += len(state[3])
                if self.n_arcs > self.most:
                    return False
        return True

    def _open(self, height, state):
        part, _, budget, arcs = state
        units = self.trees.rows.units
        if height == 1:
            columns, low, high, costs = self.trees.stump_cuts(part, (budget - units.price) // units.unit)
            alike, of = np.unique([self.column_of[columns], costs], axis=1, return_inverse=True)
            times = np.bincount(of, high - low, alike.shape[1]).astype(int).tolist()
            arcs.update(zip(zip(*alike.tolist()), times))
            return
        for arc in self.trees.arcs(part, height, budget):
            room = budget - units.price - sum(arc.bounds)
            if room < 0:
                continue
            for side, bound in zip(arc.sides, arc.bounds):
                known = self.levels[height - 1].setdefault(side.key, [side, bound, bound + room, {}])
                known[1:3] = min(known[1], bound), max(known[2], bound + room)
            key = int(self.column_of[arc.column]), *(side.key for side in arc.sides), arc.twins
            arcs[key] = arcs.get(key, 0) + arc.high - arc.low

    def states(self):
        place, found = {}, []
        for height, level in enumerate(self.levels):
            for key, (part, lower, budget, arcs) in level.items():
                place[height, key] = len(found)
                if height == 1:
                    listed = [[column, times, paid] for (column, paid), times in arcs.items()]
                else:
                    listed = [
                        [column, times, place[height - 1, left], place[height - 1, right], int(twins)]
                        for (column, left, right, twins), times in arcs.items()
                    ]
                found.append([height, part.leaf, int(lower), int(budget), listed])
        return found


def count_using(count, columns: Collection[int], using: Collection[int], without: Collection[int] = ()) -> int:
    """Return the number of trees that use all columns of `using` and none of `without`, by inclusion and exclusion.

    Parameters
    ----------
    count : callable, the number of trees that use only the columns of a set
    columns : all columns that trees may use
    using, without : columns
    """
    allowed = set(columns) - set(without)
    found = 0
    for size in range(len(using) + 1):
        for left_out in combinations(sorted(using), size):
            found += (-1) ** size * count(allowed - set(left_out))
    return found if set(using) <= allowed else 0


def fewest_columns(count, used: Collection[int]) -> tuple[int, tuple[int, ...]] | None:
    """Return the fewest distinct columns of a tree of a set, and the first such columns; None if that takes too many
    tries.

    Parameters
    ----------
    count : callable, the number of trees that use only the columns of a set
    used : the columns that some tree uses
    """
    tried = 0
    for size in range(len(used) + 1):
        for columns in combinations(sorted(used), size):
            tried += 1
            if tried > MOST_SUBSETS:
                return None
            if count(set(columns)):
                return size, columns
    return None
