"""The best tree with the fewest distinct columns; of several such trees, the first in a fixed order.

The best trees of a set of rows are an AND/OR graph (tree_set): all splits with which one begins, and the best trees of
both sides. With it, the sets of columns of the best trees, none of which contains another, are

    C(leaf) = {∅},   C(S, h) = min { column(split) ∪ A ∪ B : A in C(left, h - 1), B in C(right, h - 1) }

A split that separates all rows in the same way as splits on other columns do counts as a split on each of these: the
minimum is over their columns, too. The sets are computed with at most 0, 1, 2, … columns, until there is one. Branch
nodes have a penalty, so no leaf ties with a split.
"""

from bisect import bisect_left

from odtc.algorithms.near_optimal.tree_set import Arc, Part, TreeSet
from odtc.base.value_class import value_class

MOST_SETS = 200_000  # maximum number of sets of columns before it gives up


class TooMany(Exception):
    """The best trees, or the sets of their columns, are too many."""


class NoTree(TooMany):
    """No tree of the set has few enough columns."""


@value_class
class Looks:
    """The columns of the data that splits use, as bits of a whole number.

    Attributes
    ----------
    own : list of int (columns of the search,), the bits of the splits on each column
    others : for each column a list of (rank, int), rising: the bits of splits on other columns that separate all rows
        in the same way as the split at this rank
    """

    own: list[int]
    others: list[list[tuple[int, int]]]

    def of(self, arc: Arc) -> list[int]:
        """Return the bits of the splits of an arc, its own column first."""
        return list(dict.fromkeys([self.own[arc.column], *(bits for _, bits in self._others(arc))]))

    def rank(self, arc: Arc, columns: int) -> int | None:
        """Return the first rank of an arc for which a split uses these columns only."""
        if not self.own[arc.column] & ~columns:
            return arc.low
        return next((rank for rank, bits in self._others(arc) if not bits & ~columns), None)

    def _others(self, arc: Arc) -> list[tuple[int, int]]:
        told = self.others[arc.column]
        return told[bisect_left(told, (arc.low,)) : bisect_left(told, (arc.high,))]


class FewestColumns:
    """Search for the best tree with the fewest columns.

    Parameters
    ----------
    trees : TreeSet, whose budget is the cost of the best tree, proved by its search
    looks : Looks
    most : int, number of columns of the data that some best tree uses
    """

    def __init__(self, trees: TreeSet, looks: Looks, most: int):
        self.trees, self.looks, self.most = trees, looks, most
        self._arcs: dict[tuple[int, bytes], list] = {}
        self._sets: dict[tuple[int, bytes], list[int]] = {}
        self._made = 0

    def solve(self):
        """Return (the columns as bits of a whole number, a tree as nested (column, rank, left, right) with None for a
        leaf).

        Of the sets with the fewest columns, this is the one whose columns come first; of its trees, it is the one with
        the first column and the lowest rank at the root, then left of it, then right.

        Raises
        ------
        TooMany, and exceptions of `check` of the search
        """
        trees = self.trees
        for most in range(self.most + 1):
            self._sets.clear()
            if found := self._of(trees.root, trees.depth, trees.budget, most):
                columns = min((one for one in found if one.bit_count() == most), key=_first)
                return columns, self._tree(trees.root, trees.depth, trees.budget, columns)
        raise NoTree

    def _begins(self, part: Part, height: int, cost: int) -> list:
        """Return the arcs with which the best trees begin, by column and rank; none if the best tree is a leaf."""
        known = self._arcs.get((height, part.key))
        if known is None:
            trees, units = self.trees, self.trees.rows.units
            trees.search.check()
            if units.unit * part.leaf <= cost:
                known = []
            elif height == 1:
                known = trees.stumps(part, (cost - units.price) // units.unit)
            else:
                known = list(trees.arcs(part, height, cost))
            known.sort(key=lambda arc: (arc.column, arc.low))
            self._arcs[height, part.key] = known
        return known

    def _of(self, part: Part, height: int, cost: int, most: int) -> list[int]:
        """Return the sets of at most `most` columns of the best trees, none of which contains another."""
        known = self._sets.get((height, part.key))
        if known is not None:
            return known
        found: set[int] = set()
        arcs = self._begins(part, height, cost)
        if not arcs:
            found.add(0)
        for arc in arcs:
            left, right = self._below(arc, height, most)
            looks = self.looks.of(arc)
            self._made += len(left) * len(right) * len(looks)
            if self._made > MOST_SETS:
                raise TooMany
            for own in looks:
                found.update(both for one in left for two in right if (both := own | one | two).bit_count() <= most)
        self._sets[height, part.key] = _smallest(found)
        return self._sets[height, part.key]

    def _below(self, arc, height, most):
        left = self._of(arc.sides[0], height - 1, self._paid(arc, 0, height), most)
        return left, self._of(arc.sides[1], height - 1, self._paid(arc, 1, height), most) if left else []

    def _paid(self, arc, side, height):
        """Return the cost of the best tree on a side."""
        return arc.bounds[side] if height > 1 else self.trees.rows.units.unit * arc.sides[side].leaf

    def _tree(self, part, height, cost, columns):
        for arc in self._begins(part, height, cost):
            below = self._below(arc, height, columns.bit_count())
            rank = self.looks.rank(arc, columns)
            if rank is not None and all(any(one & ~columns == 0 for one in sets) for sets in below):
                sides = (self._tree(arc.sides[at], height - 1, self._paid(arc, at, height), columns) for at in (0, 1))
                return arc.column, rank, *sides
        return None


def _first(columns: int) -> list[int]:
    return [at for at in range(columns.bit_length()) if columns >> at & 1]


def _smallest(found: set[int]) -> list[int]:
    """Return the sets that do not contain another one."""
    kept: list[int] = []
    for one in sorted(found, key=int.bit_count):
        if not any(other & ~one == 0 for other in kept):
            kept.append(one)
    return kept
