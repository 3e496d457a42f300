"""The trees of a problem in the order of their objectives.

A tree is ranked if each of its subtrees costs less than a single leaf there, and its leaves predict the labels of least
cost. So no two trees differ only by a branch node that is not needed. Where labels have whole costs, the trees come
from the set of all trees within a budget that grows (odtc.algorithms.near_optimal.tree_set); otherwise from the states
of the dynamic program (odtc.algorithms.dp.k_best). Under constraints on more than the rows of leaves every tree that
satisfies them is ranked, with any labels of its leaves.
"""

from collections.abc import Iterator

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.algorithms.constrained.engines import FEW_TESTS
from odtc.algorithms.dp.k_best import TREE_BYTES, Derivations, DerivedTree, OutOfMemory
from odtc.algorithms.near_optimal.constrained_list import ConstrainedList, OpenCases
from odtc.algorithms.near_optimal.tree_set import TreeRows, TreeSet
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.base import deadline
from odtc.base.memory import available
from odtc.base.wording import option
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.forms import beyond_rows
from odtc.formulations.dpflow.forms.moments import by_moments
from odtc.formulations.dpflow.near_optimal_set import MOST_CELLS, splits_of_sets
from odtc.formulations.dpflow.program import Program
from odtc.problem.constraints.constraint import broken
from odtc.problem.exact_objective import WholeCosts, plain_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

FIRST_STEP = 0.0005  # of the best cost: how much more the trees after those of this cost may cost at first
OR_LISTED = ", or add --pool K, which lists the best K that satisfy it"


def expect_ranking(problem: Problem) -> None:
    """Raise ChoiceError for constraints under which the trees cannot be listed."""
    given = beyond_rows(problem)
    if given is None:
        return
    if by_moments(problem):
        expect_leaf_rows_alone(problem)
    if problem.encoded.n_candidate_splits > FEW_TESTS:
        raise ChoiceError(
            f"the near-optimal trees under {str(given)!r} are listed over at most {FEW_TESTS} splits, got "
            f"{problem.encoded.n_candidate_splits:,} splits; take fewer ({option('encoding', 'auto:bins=8')})"
        )
    if not constrained.searches(problem):
        raise ChoiceError(
            f"the near-optimal trees under {str(given)!r} are listed by a search that does not take these parameters "
            f"at depth {problem.topology.depth}; leave out {str(given)!r}, or its parameters"
        )


def expect_leaf_rows_alone(problem: Problem) -> None:
    """Raise ChoiceError for constraints on more than the rows of leaves."""
    if (given := beyond_rows(problem)) is not None:
        raise ChoiceError(
            f"the near-optimal trees are counted among all whose leaves have enough rows, whatever else they keep; "
            f"leave out {str(given)!r}{'' if by_moments(problem) else OR_LISTED}"
        )


def ranking_of(problem: Problem) -> "SearchedRanking | DpflowRanking | ConstrainedRanking":
    """Return the trees in the order of their objectives."""
    if beyond_rows(problem) is not None:
        return ConstrainedRanking(problem)
    if not by_moments(problem) and (costs := plain_costs(problem)).exact:
        ranking = SearchedRanking(problem, costs)
        if ranking.n_cells <= MOST_CELLS:
            return ranking
    return DpflowRanking(problem)


class SearchedRanking:
    """The trees of one problem whose labels have whole costs, over sets of all trees within a growing budget.

    The first budget is the cost of the best tree, which a search proves. Whenever a set has no further tree, the
    distance from the best cost doubles, up to the cost of a single leaf, because no ranked tree costs more.
    """

    rounding = 0.0  # whole numbers

    def __init__(self, problem: Problem, costs: WholeCosts):
        self._problem, self._splits = problem, splits_of_sets(problem, costs)
        self._search = RankSearch(self._splits.ranked, deadline.check)
        self._rows = TreeRows(self._splits.ranked)
        self._root = self._rows.part(np.arange(self._rows.n))
        self._set: TreeSet | None = None
        self._listed: Iterator[tuple | None] = iter(())
        self._found: list[tuple | None] = []
        room = available()
        self._room = np.inf if room is None else room / 2

    @property
    def n_cells(self) -> int:
        """Return the size of the table of all ranked trees by branch nodes and cost."""
        return 2**self._problem.topology.depth * self._root.leaf

    def tree(self, number: int) -> HeapTree | None:
        """Return the tree with this number, from 0; None after the last tree."""
        while len(self._found) <= number:
            deadline.check()
            if len(self._found) * TREE_BYTES * 2**self._problem.topology.depth > self._room:
                raise OutOfMemory
            try:
                self._found.append(next(self._listed))
            except StopIteration:
                if not self._widen():
                    return None
        return self._splits.heap_tree(self._found[number], self._problem.topology)

    def at_least(self, within: float | None) -> int:
        """Return a lower bound on the number of trees with an objective of at most `within` above the best (None:
        any)."""
        counted = within is None and self._set is not None and not self._rows.units.price
        return self._set.table.total if counted else len(self._found)

    def _widen(self) -> bool:
        """Count the trees within a larger budget, and begin to list those that are new; False if there are none."""
        depth, units, seen = self._problem.topology.depth, self._rows.units, -1
        if self._set is None:
            self._search.dive(depth)
            self._search.solve(depth)
            budget = self._search.known(depth).upper
        else:
            seen, best = self._set.budget, self._search.known(depth).upper
            more = max(units.unit, round(best * FIRST_STEP), 2 * (seen - best))
            budget = min(best + more, units.cost(0, self._root.leaf))
        if budget <= seen:
            return False
        self._set = TreeSet(self._rows, self._search, depth, budget)
        self._set.count()
        if self._set.stopped == "an interruption":
            raise KeyboardInterrupt
        if not self._set.complete:
            raise TimeLimitReached if deadline.is_over() else MemoryError
        trees = self._set.trees()
        self._listed = (tree for cost, tree in trees if cost > seen and self._is_needed(tree, self._root.rows))
        return True

    def _is_needed(self, tree: tuple | None, rows: np.ndarray) -> bool:
        """Return whether each subtree costs less than a leaf on its rows."""
        return not self._rows.units.price or self._cost(tree, rows) is not None

    def _cost(self, tree: tuple | None, rows: np.ndarray) -> int | None:
        """Return the cost of a tree on these rows; None if it, or a subtree, costs as much as a leaf."""
        units = self._rows.units
        leaf = units.cost(0, int(self._rows.loss[rows].sum(axis=0).min()))
        if tree is None:
            return leaf
        column, rank, *below = tree
        left = self._rows.rank[column, rows] <= rank
        sides = [self._cost(one, part) for one, part in zip(below, (rows[left], rows[~left]))]
        if None in sides or (cost := units.price + sum(sides)) >= leaf:
            return None
        return cost


class DpflowRanking:
    """The trees of one problem, over the states of its dynamic program."""

    def __init__(self, problem: Problem):
        program = problem.derived(Program)
        self._problem, self._step = problem, float(program.costs.step)
        self._best = Derivations(program.rows, problem.topology.depth, program.price, *program.states)

    def tree(self, number: int) -> HeapTree | None:
        """Return the tree with this number, from 0; None after the last tree."""
        found = self._best.get(self._best.root, number)
        return None if found is None else self._heap(found)

    @property
    def rounding(self) -> float:
        """Return how much a split may save although it is left out, and how much trees in the wrong order may differ,
        because leaves that cost a function of sums are compared in floats: no cost is off by more than `near`."""
        return 4 * self._best.rows.near * self._step if by_moments(self._problem) else 0.0

    def at_least(self, within: float | None) -> int:
        """Return a lower bound on the number of trees with an objective of at most `within` above the best (None:
        any)."""
        if within is None:
            return self._best.first_splits(np.inf)
        least = self._best.get(self._best.root, 0).cost
        return self._best.first_splits(least + within / self._step)

    def _heap(self, found: DerivedTree) -> HeapTree:
        split, _ = blank_arrays(self._problem.topology)
        stack = [(1, found)]
        while stack:
            node, here = stack.pop()
            if here.split < 0:
                continue
            split[node] = here.split
            below = enumerate(here.below)
            stack += [(2 * node + side, self._best.get(*part)) for side, part in below if part is not None]
        return settle(split, self._problem.encoded)


class ConstrainedRanking:
    """The trees of one problem that satisfy its constraints, each with any labels."""

    rounding = 0.0  # whole numbers

    def __init__(self, problem: Problem):
        self._problem, self._posed = problem, problem.derived(constrained.Posed).problem
        self._list: ConstrainedList | None = None

    def tree(self, number: int) -> HeapTree | None:
        """Return the tree with this number, from 0; None after the last tree."""
        if self._list is None and (least := self._least()) is not None:
            self._list = ConstrainedList(self._posed.arrays, least, self._settled, deadline.check)
        try:
            found = None if self._list is None else self._list.tree(number)
        except (OpenCases, TooLarge):
            raise OutOfMemory from None
        return None if found is None else self._posed.tree(found.split, found.label)

    def at_least(self, within: float | None) -> int:
        """Return a lower bound on the number of trees: 1, for the best one."""
        return 1

    def _least(self) -> int | None:
        """Return the cost of the best tree, in whole units; None if there is no tree."""
        engine = self._problem.derived(constrained.Posed).search
        if (known := engine.found).proved:
            return known.cost
        found = constrained.search(self._problem)
        if not found.proved:
            raise TimeLimitReached
        return None if found.heap is None else self._posed.cost(found.heap)

    def _settled(self, split: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        heap, size = self._posed.tree(split, label), len(split)
        if not np.array_equal(heap.split[:size], split) and broken(self._problem, heap):
            return None  # removing a branch node without rows on both sides violates a constraint
        return heap.split[:size], heap.label[:size]
