"""Limits on trees that do not depend on the predictions of leaves: the number of leaves, and which columns, how many,
and where.

The limits that apply to the trees at a node are its position (`Place`): the level if levels differ, the number of
remaining leaves, and the columns that may still be used. If branch nodes without rows on one side are removed, a tree
that satisfies the limits on some rows also satisfies them on fewer rows, because the other nodes only move up, and the
tree loses leaves and columns. However, this is not true if a column may be used below the root at some level and not at
the level above (`rises`), nor for columns that must be used.

A node cannot check a limit on the columns of a whole tree. These limits are satisfied by families of sets of columns
(`Family`): all columns of a family are searched at once, and the family is divided in two if none of its sets contains
the columns of the best tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from odtc.base.value_class import value_class


class Place(NamedTuple):
    """The limits on the trees at a node.

    `level` is the level of the node if levels differ, otherwise 0. `leaves` is the number of leaves of its tree, None
    for any number. `columns` may be used at the node or below, None for all. Of each set of columns in `needed`, one
    column must be used at the node or below.
    """

    level: int = 0
    leaves: int | None = None
    columns: tuple[int, ...] | None = None
    needed: tuple[tuple[int, ...], ...] = ()


@value_class
class Family:
    """Sets of columns, one of which must contain all columns of a tree.

    They are the sets within one of the `subsets`, bool (subsets, columns), that have at most `distinct` columns
    including all `held` columns, and no `barred` column. `needed` is for the position of the root.
    """

    subsets: np.ndarray
    distinct: int | None = None
    held: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()
    needed: tuple[tuple[int, ...], ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        """Return all columns of its sets."""
        full = len(self.held) == self.distinct
        some = np.flatnonzero(self.subsets.any(axis=0)).tolist()
        return tuple(one for one in some if one not in self.barred and (one in self.held or not full))

    def has(self, used: Sequence[int]) -> bool:
        """Return whether one of its sets contains the columns of a tree."""
        few = self.distinct is None or len(used) <= self.distinct
        return few and bool(self.subsets[:, list(used)].all(axis=1).any())

    def parts(self, used: Sequence[int]) -> list["Family"]:
        """Divide this family into two, or one, which together allow all trees that it allows. `used` are the columns
        of a tree, the column of the root first; they are in none of its sets."""
        held = self.subsets[:, list(used)].sum(axis=0)
        if self.subsets[:, list(used)].all(axis=1).any():
            column = next(column for column in used if column not in self.held)
            barred = replace(self, barred=self.barred | {column})
            return [replace(self, held=self.held | {column}), barred]
        with_it = self.subsets[:, used[int(np.argmin(np.abs(2 * held - len(self.subsets))))]]
        return [replace(self, subsets=part) for part in (self.subsets[with_it], self.subsets[~with_it]) if len(part)]


@value_class
class TreeLimits:
    """Limits on the trees of a search.

    Attributes
    ----------
    leaves : int or None
        The maximum number of leaves.
    levels : bool (depth, columns) or None
        The columns that nodes may split on at each level.
    below : bool (columns, columns) or None
        Whether a node may split on the second column below a node that splits on the first.
    subsets : bool (subsets, columns) or None
        One of these sets contains all columns of a tree.
    distinct : int or None
        The maximum number of different columns of a tree.
    together : tuple of tuples of sets of columns
        A tree that uses a column of one of the sets uses a column of each set in the same tuple.
    """

    leaves: int | None = None
    levels: np.ndarray | None = None
    below: np.ndarray | None = None
    subsets: np.ndarray | None = None
    distinct: int | None = None
    together: tuple[tuple[tuple[int, ...], ...], ...] = ()

    @property
    def root(self) -> Place:
        """Return the position of the root, without the limits of families of columns."""
        return Place(leaves=self.leaves)

    @property
    def nothing(self) -> bool:
        """Return True if all trees satisfy the limits."""
        return self.leaves is self.levels is self.below is None and not self.of_whole_trees

    @property
    def of_whole_trees(self) -> bool:
        """Return True if there are limits on the columns of a whole tree."""
        return self.subsets is not None or self.distinct is not None or bool(self.together)

    @property
    def distinct_alone(self) -> bool:
        """Return True if only the number of different columns is limited."""
        others = self.leaves is self.levels is self.below is self.subsets is None and not self.together
        return self.distinct is not None and others

    def families(self, of: int) -> list[Family]:
        """Return families of sets of columns, of this many columns, such that the columns of each tree that satisfies
        the limits are in one of the families: for each tuple of `together`, one family in which none of its columns
        is used, and one in which each of its sets is needed."""
        every = np.ones((1, of), bool) if self.subsets is None else self.subsets
        found = []
        for asked in product((False, True), repeat=len(self.together)):
            needed = {one for group, some in zip(self.together, asked) if some for one in group}
            out = {column for group, some in zip(self.together, asked) if not some for one in group for column in one}
            if not any(set(one) <= out for one in needed):
                found.append(Family(every, self.distinct, barred=frozenset(out), needed=tuple(sorted(needed))))
        return found

    @property
    def rises(self) -> bool:
        """Return True if a column may be used below the root at some level, and not at the level above."""
        return self.levels is not None and bool((self.levels[2:] & ~self.levels[1:-1]).any())

    def of_any_rows(self) -> "TreeLimits":
        """Return the limits that a tree also satisfies on fewer rows; a state applies them by its position only."""
        return TreeLimits(self.leaves, below=self.below)

    def columns(self, place: Place, of: int) -> np.ndarray:
        """Return int64: the columns, of this many, that the node at a position may split on."""
        found = np.arange(of) if place.columns is None else np.array(place.columns, np.int64)
        return found if self.levels is None else found[self.levels[place.level, found]]

    def alike(self, place: Place) -> bool:
        """Return whether the nodes one level below may split on the same columns as the node at this position."""
        if self.below is not None:
            return False
        return self.levels is None or bool((self.levels[place.level] == self.levels[place.level + 1]).all())

    def sides(self, place: Place, column: int, leaves: int | None, needed: Iterable[int] = ()) -> tuple[Place, Place]:
        """Return the positions on both sides of a node that splits on a column. The left one has `leaves` leaves, and
        the sets that must still be used (`still`) with the indices `needed`; the right one has the rest."""
        columns = place.columns
        if self.below is not None:
            every = range(len(self.below)) if columns is None else columns
            columns = tuple(other for other in every if self.below[column, other])
        level = place.level if self.levels is None else place.level + 1
        rest = None if leaves is None else place.leaves - leaves
        if not place.needed:
            return Place(level, leaves, columns), Place(level, rest, columns)
        left, mine = still(place, column), set(needed)
        here, there = (tuple(one for at, one in enumerate(left) if (at in mine) == side) for side in (True, False))
        return Place(level, leaves, columns, here), Place(level, rest, columns, there)


def still(place: Place, column: int) -> tuple[tuple[int, ...], ...]:
    """Return the sets that must be used below a node that splits on a column."""
    return tuple(one for one in place.needed if column not in one)


def dealt(place: Place, column: int) -> list[tuple[int, ...]]:
    """Return all choices of the sets, by index, that must be used on the left side of a node, among the sets that must
    be used below it."""
    left = range(len(still(place, column)))
    return [tuple(at for at, here in zip(left, chosen) if here) for chosen in product((False, True), repeat=len(left))]


def shares(place: Place, depth: int) -> list[int | None]:
    """Return the possible numbers of leaves on the left side of a node, if both sides have less depth."""
    if place.leaves is None:
        return [None]
    most = 2 ** (depth - 1)
    return list(range(max(1, place.leaves - most), min(most, place.leaves - 1) + 1))


def fitted(place: Place, depth: int) -> tuple[Place, int]:
    """Return the position and the depth of the trees at a position, without a limit on leaves that follows from the
    depth, and without levels that so few leaves cannot reach."""
    if place.leaves is None:
        return place, depth
    depth = min(depth, place.leaves - 1)
    return (place._replace(leaves=None) if place.leaves >= 2**depth else place), depth
