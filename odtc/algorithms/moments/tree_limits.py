"""Limits on trees that ask nothing of their leaves' answers: how many leaves, which columns, and where.

What a limit leaves to the trees at a node is its place: the level if levels differ, how many leaves are left, and which
columns may still be tested. A tree that keeps the limits on some rows keeps them on fewer rows, too, where branch nodes
without rows on one side are left out: the others only move up, and lose leaves and columns. That is not so if a column
may be tested below the root at some level and not at the one above (`rises`).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np


class Place(NamedTuple):
    """What the limits leave to the trees at a node: its level if levels differ, else 0; the leaves of such a tree, None
    of any number; the columns that may be tested there or below, None of all."""

    level: int = 0
    leaves: int | None = None
    columns: tuple[int, ...] | None = None


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
    """

    leaves: int | None = None
    levels: np.ndarray | None = None
    below: np.ndarray | None = None
    subsets: np.ndarray | None = None

    @property
    def root(self) -> Place:
        """The place of the root; `subsets` are none of it."""
        return Place(leaves=self.leaves)

    @property
    def nothing(self) -> bool:
        """Whether all trees keep them."""
        return self.leaves is self.levels is self.below is self.subsets is None

    @property
    def rises(self) -> bool:
        """Whether a column may be tested below the root at some level, and not at the one above."""
        return self.levels is not None and bool((self.levels[2:] & ~self.levels[1:-1]).any())

    def without_levels(self) -> "TreeLimits":
        """The others."""
        return replace(self, levels=None)

    def columns(self, place: Place, of: int) -> np.ndarray:
        """int64: the columns, of so many, that the node at a place may test."""
        found = np.arange(of) if place.columns is None else np.array(place.columns, np.int64)
        return found if self.levels is None else found[self.levels[place.level, found]]

    def alike(self, place: Place) -> bool:
        """Whether the nodes one level below may test what the node at this place may."""
        if self.below is not None:
            return False
        return self.levels is None or bool((self.levels[place.level] == self.levels[place.level + 1]).all())

    def sides(self, place: Place, column: int, leaves: int | None) -> tuple[Place, Place]:
        """The places on either side of a node that tests a column, of which the left one has so many leaves."""
        columns = place.columns
        if self.below is not None:
            every = range(len(self.below)) if columns is None else columns
            columns = tuple(other for other in every if self.below[column, other])
        level = place.level if self.levels is None else place.level + 1
        rest = None if leaves is None else place.leaves - leaves
        return Place(level, leaves, columns), Place(level, rest, columns)


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
