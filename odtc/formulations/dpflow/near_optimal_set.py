"""All near-optimal trees of a problem as an AND/OR graph (odtc.algorithms.near_optimal), in the terms of the problem.

The trees are defined in odtc.algorithms.near_optimal.tree_set: they differ in their splits as written, leaves have the
class of least cost, no two leaves are twins, and every split has rows on both sides. A branch node need not save its
penalty.
"""

from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import floor

import numpy as np

from odtc.algorithms.near_optimal.stored_graph import StoredGraph, store
from odtc.algorithms.near_optimal.tree_set import TreeRows, TreeSet
from odtc.algorithms.near_optimal.tree_table import TreeTable
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.base import deadline
from odtc.base.whole_numbers import as_written
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.model.feasibility import ROUNDING
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.exact_objective import WholeCosts, comparable_cost, plain_costs, same_objective
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

MOST_CELLS = 20_000_000  # maximum size of the table of trees by branch nodes and cost
PROOF = 0.5  # fraction of the time for the proof of the best tree
COUNT = 0.7  # fraction of the time that then remains, for the count


def splits_of_sets(problem: Problem, costs: WholeCosts) -> RankedSplits:
    """Return the ordered splits of a problem for sets of its trees, in which splits count as different even if they
    separate only rows that cost the same.

    Parameters
    ----------
    problem : Problem, whose constraints are on the rows of leaves at most
    costs : WholeCosts, its `plain_costs`
    """
    terms = float(costs.price), least_rows(problem), costs.loss.astype(float)
    return RankedSplits(problem.encoded, *terms, keep=True, apart=bool(problem.encoded.by_column))


class DpflowNearOptimalTrees:
    """Trees of one problem whose objective is within a given distance of the best one.

    Parameters
    ----------
    problem : Problem, whose constraints are on the rows of leaves at most
    within : float
    relative : bool, whether `within` is a part of the best objective
    known : HeapTree or None, a good tree

    Raises
    ------
    ChoiceError
        If the losses are not multiples of one unit that is large enough to distinguish trees.
    """

    def __init__(self, problem: Problem, within: float, relative: bool = False, known: HeapTree | None = None):
        self.problem, depth, costs = problem, problem.topology.depth, plain_costs(problem)
        self._splits, self._step = splits_of_sets(problem, costs), costs.step
        self._ranked = self._splits.ranked
        search = RankSearch(self._ranked, deadline.check)
        self.proved = self._prove(search, depth)
        best = self._exact(search.known(depth).upper)
        if known is not None:
            best = min(best, Fraction(comparable_cost(problem, known)))
        limit = best + as_written(within) * (abs(best) if relative else 1)
        self.best, self.limit = float(best), float(limit)
        budget = floor((limit / self._step - Fraction(self._ranked.floor)) / Fraction(self._ranked.unit))
        rows = TreeRows(self._ranked)
        cells = 2**depth * (budget - search.known(depth).lower) / rows.units.unit
        if cells > MOST_CELLS:
            raise ChoiceError(
                f"expected losses that are whole multiples of one unit, to count trees by their cost, got {cells:,.0f} "
                f"costs within {self.limit - best:g} of the best; round the weights to few digits (0.3, 1.25), "
                "or use a smaller --within"
            )
        names = [self._name(column) for column in range(len(self._ranked.columns))]
        self.columns = tuple(dict.fromkeys(names))
        self._column_of = np.array([self.columns.index(name) for name in names], np.int64)
        self.trees = TreeSet(rows, search, depth, budget)
        with deadline.within(deadline.time_share(float("inf"), COUNT)):
            self.trees.count()
        if self.stopped == "an interruption":
            deadline.end_soon()
        self._in_hand = [] if self.complete else self._uncounted(search, known, limit)

    @property
    def count(self) -> int:
        """Return the number of trees that were counted or are available otherwise."""
        return self.trees.table.total + len(self._in_hand)

    @property
    def complete(self) -> bool:
        """Return whether these are all."""
        return self.trees.complete

    @property
    def stopped(self) -> str:
        """Return the event that ended the count early."""
        return self.trees.stopped

    def cells(self, columns: frozenset[int] | None = None) -> list[tuple[float, int, int]]:
        """Return (objective, leaves, trees), the best first, of the trees that split only on these columns (None:
        any). Raises TimeLimitReached if they are not all counted."""
        if columns is None:
            counted = self._cells(self.trees.table)
            return sorted([*counted, *((cost, heap.n_branch_nodes + 1, 1) for cost, heap in self._in_hand)])
        stored = self.__dict__.get("_graph")  # if it exists, because counting in it is faster
        if stored is not None:
            return self._cells(stored.count(columns))
        part = self.trees.restricted(np.flatnonzero(np.isin(self._column_of, sorted(columns))).tolist())
        part.count()
        if not part.complete:
            raise TimeLimitReached(f"{part.stopped} came before the trees were counted")
        return self._cells(part.table)

    def _cells(self, table: TreeTable) -> list[tuple[float, int, int]]:
        return [(self._objective(table.units.cost(b, x)), b + 1, trees) for b, x, trees in table.cells()]

    def sample(self, number: int, seed: int = 0) -> list[tuple[float, HeapTree]]:
        """Return trees with their objectives, each with the same probability; all trees, the best first, if there are
        no more. At the deadline, or if the memory is exhausted, the trees that were drawn so far. Available trees
        that were not counted come before the others."""
        found, topology = self._in_hand[:number], self.problem.topology
        number -= len(found)
        if self.trees.table.total <= number:
            drawn = islice(self.trees.trees(), number)
        else:
            drawn = (self.trees.sample(1, seed + at)[0] for at in range(number))
        with deadline.cut_short():
            found.extend((self._objective(cost), self._splits.heap_tree(tree, topology)) for cost, tree in drawn)
        return found

    def _uncounted(self, search: RankSearch, known: HeapTree | None, limit: Fraction) -> list[tuple[float, HeapTree]]:
        """Return the known tree and the best one that the search has found, as trees of the set, if they cannot have
        been counted: no tree of the same objective and number of leaves was."""
        heaps = [] if known is None or known.beyond is not None else [known]
        with deadline.put_off(), deadline.cut_short():
            heaps.append(self._splits.tree(search, self.problem.topology))
        counted = self._cells(self.trees.table)
        found: list[tuple[float, HeapTree]] = []
        for heap in (_without_twins(heap, self.problem) for heap in heaps):
            exact = comparable_cost(self.problem, heap)
            cost, leaves = float(exact), heap.n_branch_nodes + 1
            if exact > limit or any(n == leaves and same_objective(self.problem, c, cost) for c, n, _ in counted):
                continue
            if not any(np.array_equal(heap.split, other.split) for _, other in found):
                found.append((cost, heap))
        return sorted(found, key=lambda one: one[0])

    def graph(self) -> dict | None:
        """Return the states and their arcs in JSON; None if there are many, or if the count did not end."""
        try:
            found = self._graph
        except (TimeLimitReached, MemoryError):
            return None
        if found is None:
            return None
        to_objective = [float(self._step * Fraction(part)) for part in (self._ranked.floor, self._ranked.unit)]
        return {"unit": found.unit, "penalty": found.price, "objective": to_objective, "states": found.states}

    @cached_property
    def _graph(self) -> StoredGraph | None:
        return store(self.trees, self._column_of)

    def _objective(self, cost: int) -> float:
        return float(self._exact(cost))

    def _exact(self, cost: float) -> Fraction:
        return (Fraction(self._ranked.floor) + Fraction(self._ranked.unit) * Fraction(cost)) * self._step

    def _prove(self, search, depth) -> bool:
        """Return whether the best tree is proved in a part of the time."""
        try:
            with deadline.within(deadline.time_share(float("inf"), PROOF)):
                search.dive(depth)
                search.solve(depth)
            return True
        except TimeLimitReached:
            return False
        except KeyboardInterrupt:
            deadline.end_soon()
            return False

    def _name(self, column: int) -> str:
        """Return the columns of the data that the splits of a column of the search use."""
        encoded, scale = self.problem.encoded, self._ranked.columns[column]
        split = encoded.splits[int(np.flatnonzero(self._splits.scales.scale == scale)[0])]
        return " + ".join(encoded.features[j].name for j in split.features)


def _without_twins(heap: HeapTree, problem: Problem) -> HeapTree:
    """Return a tree with the labels of least cost, without useless splits: splits with rows on one side only, or with
    two leaves that cost the same as one leaf."""
    encoded, heap, costs = problem.encoded, settle(heap.split, problem.encoded), plain_costs(problem)
    split = heap.split.copy()
    loss = np.zeros((len(split), costs.loss.shape[1]))
    np.add.at(loss, heap.reach(encoded.X), costs.loss)
    for t in range(len(split) - 1, 1, -1):
        loss[t // 2] += loss[t]
    least, rounding = loss.min(axis=1), 0.0 if costs.exact else ROUNDING * float(loss[1].max())
    for t in np.flatnonzero(split >= 0)[::-1].tolist():
        sides = [2 * t, 2 * t + 1]
        if (split[sides] < 0).all() and least[sides].sum() >= least[t] - rounding:
            split[t] = -1
    return settle(split, encoded)
