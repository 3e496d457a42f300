"""The splits of a tree without labels: find the cheapest labels at multipliers, the cheapest labels that satisfy the
constraints, and the best tree over the same splits in any order."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    fixed_point,
    in_fixed_point,
    keeps,
    leaves_of,
    named,
    only,
)
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, Found
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights
from odtc.algorithms.constrained.trace_tree import Labelled, Structure, by_weight, feasible
from odtc.base import deadline

Tree = tuple[np.ndarray, np.ndarray]  # splits and labels, int32 (2^(depth + 1),) each


class SplitsOfTree:
    """The splits of a tree, and the rows that each of its leaves has.

    Parameters
    ----------
    arrays : ConstrainedProblem
    split : int (2^(depth + 1),)
        The split of each node in heap order, -1 for a leaf.
    look : callable
        Called now and then; it raises an exception to end the search.

    Attributes
    ----------
    asked : int (splits,)
        The distinct splits, in ascending order.
    own : int32 (2^(depth + 1),)
        The position of the split of each node in `asked`, -1 for a leaf.
    leaves : int (rows,)
        The node where each row ends.
    count : float64 (2^(depth + 1), kinds)
        The rows of each leaf, by kind.
    """

    def __init__(self, arrays: ConstrainedProblem, split: np.ndarray, look: Callable[[], None] = lambda: None):
        self.arrays, self._look, self.asked = arrays, look, np.unique(split[split >= 0])
        self.own = np.where(split >= 0, np.searchsorted(self.asked, split), -1).astype(np.int32)
        self.leaves = leaves_of(arrays, split)
        self.count = np.zeros((len(split), arrays.kinds[0].shape[1]))
        np.add.at(self.count, self.leaves, arrays.kinds[0])

    @cached_property
    def problem(self) -> ConstrainedProblem:
        """Return the problem over these splits only."""
        return only(self.arrays, self.asked)

    @cached_property
    def tables(self) -> Pass:
        """Return the sums over these splits."""
        return Pass(Counts(self.problem), fixed_point(self.arrays)[0], self._look)

    @cached_property
    def _structure(self) -> Structure:
        places = np.unique(self.leaves)
        return Structure(self.own, tuple(places.tolist()), self.count[places])

    def at(self, multipliers: np.ndarray) -> Labelled:
        """Return the tree with the labels that are cheapest at some multipliers, float64 (constraints,), in costs for
        one use."""
        scale, largest = fixed_point(self.arrays)
        m = in_fixed_point(multipliers, scale, largest)
        return by_weight(self.tables, self._structure, Weights.of(self.tables.counts, scale, m))

    def cheapest(self, below: int) -> tuple[Tree, int] | None:
        """Return the tree with the cheapest labels that satisfy the constraints, and its cost; None if none is found
        that costs less than `below`."""
        try:
            return self._kept(feasible(self.tables, self._structure, below), below)
        except TooLarge:
            return None

    def in_any_order(self, below: float = np.inf) -> tuple[Tree, int] | None:
        """Return (tree, cost) like `cheapest`, for the best tree over these splits in any order, as far as it is found
        quickly."""
        return self._kept(ConstrainedSearch(self.problem, deadline.is_over).run(exactly=False), below)

    def _kept(self, found: Labelled | Found | None, below: float) -> tuple[Tree, int] | None:
        if found is None or found.split is None or found.cost >= below:
            return None
        tree = named(found.split, self.asked), found.label
        return (tree, found.cost) if keeps(self.arrays, *tree) else None
