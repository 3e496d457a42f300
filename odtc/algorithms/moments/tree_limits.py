"""Limits on trees that ask nothing of their leaves' answers: how many leaves, which columns, how many, and where.

What a limit leaves to the trees at a node is its place: the level if levels differ, how many leaves are left, and which
columns may still be tested. A tree that keeps the limits on some rows keeps them on fewer rows, too, where branch nodes
without rows on one side are left out: the others only move up, and lose leaves and columns. That is not so if a column
may be tested below the root at some level and not at the one above (`rises`), nor of columns that must be tested.

A limit on the columns of a whole tree is none that a node tells. It is heeded by families of sets of columns
(`Family`): all columns of a family are searched at once, and the family is parted in two if the best tree lies in none
of its sets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np


class Place(NamedTuple):
    """What the limits leave to the trees at a node: its level if levels differ, else 0; the leaves of such a tree, None
    of any number; the columns that may be tested there or below, None of all; and sets of columns of each of which one
    must be tested there or below."""

    level: int = 0
    leaves: int | None = None
    columns: tuple[int, ...] | None = None
    needed: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Family:
    """Sets of columns to which a tree has to keep: those within one of the `subsets`, bool (subsets, columns), that
    have at most `distinct` columns with all that are `held`, and none that is `barred`. The place of the root may
    need some of them."""

    subsets: np.ndarray
    distinct: int | None = None
    held: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()
    needed: tuple[tuple[int, ...], ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns of its sets."""
        full = len(self.held) == self.distinct
        some = np.flatnonzero(self.subsets.any(axis=0)).tolist()
        return tuple(one for one in some if one not in self.barred and (one in self.held or not full))

    def has(self, used: Sequence[int]) -> bool:
        """Whether a tree that tests these columns keeps to one of its sets."""
        few = self.distinct is None or len(used) <= self.distinct
        return few and bool(self.subsets[:, list(used)].all(axis=1).any())

    def parts(self, used: Sequence[int]) -> list["Family"]:
        """Two families, or one, with all sets of this one in which a tree lies that tests other columns than these,
        which lie in no set of it; the first column is that of the root."""
        held = self.subsets[:, list(used)].sum(axis=0)
        if self.subsets[:, list(used)].all(axis=1).any():
            column = next(column for column in used if column not in self.held)
            barred = replace(self, barred=self.barred | {column})
            return [replace(self, held=self.held | {column}), barred]
        with_it = self.subsets[:, used[int(np.argmin(np.abs(2 * held - len(self.subsets))))]]
        return [replace(self, subsets=part) for part in (self.subsets[with_it], self.subsets[~with_it]) if len(part)]


@dataclass(frozen=True)
class TreeLimits:
    """Limits on the trees of a search.

    Attributes
    ----------
    leaves : int or None
        At most so many leaves.
    levels : bool (depth, columns) or None
        The columns that may be tested at each level.
    below : bool (columns, columns) or None
        Whether the second may be tested below a node that tests the first.
    subsets : bool (subsets, columns) or None
        The columns of a tree all lie in one of these sets.
    distinct : int or None
        A tree tests at most so many different columns.
    together : tuple of tuples of sets of columns
        A tree that tests a column of one of the sets tests a column of each set that stands with it.
    """

    leaves: int | None = None
    levels: np.ndarray | None = None
    below: np.ndarray | None = None
    subsets: np.ndarray | None = None
    distinct: int | None = None
    together: tuple[tuple[tuple[int, ...], ...], ...] = ()

    @property
    def root(self) -> Place:
        """The place of the root, of which families of columns tell more."""
        return Place(leaves=self.leaves)

    @property
    def nothing(self) -> bool:
        """Whether all trees keep them."""
        return self.leaves is self.levels is self.below is None and not self.of_whole_trees

    @property
    def of_whole_trees(self) -> bool:
        """Whether there are limits on the columns of a whole tree."""
        return self.subsets is not None or self.distinct is not None or bool(self.together)

    @property
    def distinct_alone(self) -> bool:
        """Whether nothing but the number of different columns is limited."""
        others = self.leaves is self.levels is self.below is self.subsets is None and not self.together
        return self.distinct is not None and others

    def families(self, of: int) -> list[Family]:
        """Families of sets of columns, of so many, one of which holds the columns of each tree that keeps the limits:
        of each of `together` one in which none is tested, and one in which each set is needed."""
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
        """Whether a column may be tested below the root at some level, and not at the one above."""
        return self.levels is not None and bool((self.levels[2:] & ~self.levels[1:-1]).any())

    def of_any_rows(self) -> "TreeLimits":
        """Those that a tree keeps on fewer rows, too: a state of a search tells them by its place alone."""
        return TreeLimits(self.leaves, below=self.below)

    def columns(self, place: Place, of: int) -> np.ndarray:
        """int64: the columns, of so many, that the node at a place may test."""
        found = np.arange(of) if place.columns is None else np.array(place.columns, np.int64)
        return found if self.levels is None else found[self.levels[place.level, found]]

    def alike(self, place: Place) -> bool:
        """Whether the nodes one level below may test what the node at this place may."""
        if self.below is not None:
            return False
        return self.levels is None or bool((self.levels[place.level] == self.levels[place.level + 1]).all())

    def sides(self, place: Place, column: int, leaves: int | None, needed: Iterable[int] = ()) -> tuple[Place, Place]:
        """The places on either side of a node that tests a column, of which the left one has so many leaves, and those
        of the sets that are left to be tested (`still`) that stand at these places."""
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
    """The sets that must be tested below a node that tests a column."""
    return tuple(one for one in place.needed if column not in one)


def dealt(place: Place, column: int) -> list[tuple[int, ...]]:
    """Which of the sets that must be tested below a node may be tested on its left side: all choices."""
    left = range(len(still(place, column)))
    return [tuple(at for at, here in zip(left, chosen) if here) for chosen in product((False, True), repeat=len(left))]


def shares(place: Place, depth: int) -> list[int | None]:
    """How many leaves the left side of a node may have, if it and the right side are of less depth."""
    if place.leaves is None:
        return [None]
    most = 2 ** (depth - 1)
    return list(range(max(1, place.leaves - most), min(most, place.leaves - 1) + 1))


def fitted(place: Place, depth: int) -> tuple[Place, int]:
    """The place and the depth of the trees at a place: no limit on leaves that depth tells, no depth that they do not
    reach."""
    if place.leaves is None:
        return place, depth
    depth = min(depth, place.leaves - 1)
    return (place._replace(leaves=None) if place.leaves >= 2**depth else place), depth
