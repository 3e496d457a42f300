"""Trees that satisfy the constraints, in order of cost, found by the constrained search.

If each tree that the search offers is refused, it offers every feasible tree that costs less than `upper`, because its
lists are cut only by bounds, and no tree is dropped as dominated (odtc.algorithms.constrained.close_gap). If there are
more than `most` trees, the cheapest are kept, and `upper` falls to the cost of the last of them. So at the end,

    all trees that cost less than `upper` are kept, and some of the trees that cost `upper`.

Trees are different if their splits or labels differ after branch nodes without rows on both sides, or with two leaves
of one label, are removed.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, cost_of
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.base.value_class import value_class

FIRST = 200  # maximum number of trees that are kept at first
MORE = 8  # factor on this number if there are more trees

Heap = tuple[np.ndarray, np.ndarray]


class OpenCases(Exception):
    """Some lists of subtrees were too large, so that trees may be missing."""


@value_class
class Listed:
    """A tree: its cost, and its splits and labels, int32 (2^(depth + 1),), on a heap from 1."""

    cost: int
    split: np.ndarray
    label: np.ndarray


class ConstrainedList:
    """List of the feasible trees in order of cost, which are found when they are needed.

    Parameters
    ----------
    problem : ConstrainedProblem
    least : int
        The cost of the cheapest feasible tree.
    settled : Callable[[split, label], (split, label) or None]
        Removes branch nodes that no row needs; None if the tree does not satisfy the constraints then.
    tick : Callable[[], None]
        Raises when the time is over.
    """

    def __init__(
        self,
        problem: ConstrainedProblem,
        least: int,
        settled: Callable[[np.ndarray, np.ndarray], Heap | None],
        tick: Callable[[], None],
    ):
        self.problem, self.settled, self.tick = problem, settled, tick
        self.limit, self.step, self.most = least, 1, FIRST
        self.trees: list[Listed] = []  # in their final order
        self._told: set[bytes] = set()
        self._ended = False

    def tree(self, number: int) -> Listed | None:
        """Return the tree with this number, from 0; None after the last tree.

        Raises
        ------
        OpenCases
        """
        while number >= len(self.trees) and not self._ended:
            self._round()
        return self.trees[number] if number < len(self.trees) else None

    def _round(self) -> None:
        """Find all trees up to the limit, or the cheapest of them; the next round finds more."""
        found, cut = self._held()
        for key, tree in sorted(found.items(), key=lambda item: (item[1].cost, (item[1].split >= 0).sum(), item[0])):
            if key not in self._told:
                self._told.add(key)
                self.trees.append(tree)
        if cut:
            self.most *= MORE
        elif self.limit >= self.problem.most_cost:
            self._ended = True
        else:
            self.limit, self.step = min(self.limit + self.step, self.problem.most_cost), 2 * self.step

    def _held(self) -> tuple[dict[bytes, Listed], bool]:
        """Return the cheapest trees up to the limit, and whether there are more of these."""
        found: dict[bytes, Listed] = {}
        problem, cut = self.problem, False

        def offered(split: np.ndarray, label: np.ndarray) -> bool:
            nonlocal found, cut
            if problem.accepts is not None and not problem.accepts(split, label):
                return False
            whole = self.settled(split, label)
            if whole is None:
                return False
            split, label = whole
            found[split.tobytes() + label.tobytes()] = Listed(cost_of(problem, split, label), split, label)
            if len(found) >= 2 * self.most:
                costs = sorted(tree.cost for tree in found.values())
                search.upper = min(search.upper, costs[self.most - 1])
                cheap = {key: tree for key, tree in found.items() if tree.cost < search.upper}
                equal = [item for item in found.items() if item[1].cost == search.upper]
                found, cut = cheap | dict(equal[: self.most]), True
            return False

        search = ConstrainedSearch(replace(problem, accepts=offered), lambda: bool(self.tick()))
        search.begun = True  # trees of less depth are among the offered trees
        search.want_below(self.limit + 1)
        if search.run().open_cases:
            raise OpenCases
        # Some trees above `upper` were offered while labels were chosen, but not all of the same cost.
        return {key: tree for key, tree in found.items() if tree.cost <= search.upper}, cut
