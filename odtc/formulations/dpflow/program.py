"""The dynamic program for the best tree of a problem, on which all variants of dpflow are based.

A state is a set of rows that some path of splits leaves (odtc.algorithms.dp.state_graph). This module supports no
constraint except for the least number of rows in a leaf; the variants (odtc.formulations.dpflow.forms) add the facts
that their constraints need. Costs are whole numbers (odtc.problem.exact_objective). If the cost of a leaf is not a sum
over rows, costs are in units of loss, in which a branch node costs λ / (1-λ).
"""

from functools import cached_property

import numpy as np

from odtc.algorithms.dp.state_expansion import build_graph, build_valued_graph, generate
from odtc.algorithms.dp.state_graph import Graph, Rows, line_rows, moment_rows
from odtc.algorithms.moments.laws import LAWS
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.data.task import TASKS, exact_costs
from odtc.formulations.dpflow import size_estimate
from odtc.formulations.dpflow.extract_tree import best_way, tree_along
from odtc.problem.branch_penalty import branch_penalty
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.exact_objective import WholeCosts, exact_objective, search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


@value_class
class Shape:
    """The depth of the trees in the model, and the number of their levels that are folded."""

    depth: int
    tail: int

    @property
    def levels(self) -> int:
        return self.depth - self.tail


class Program:
    """The dynamic program of one problem (`problem.derived(Program)`); each part is made once, when it is first
    needed."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def rows(self) -> Rows:
        """Return the rows of the program, with the cost of each label on them."""
        deadline.check()
        encoded, least = self.problem.encoded, least_rows(self.problem)
        if self.by_moments:
            task = TASKS.get(encoded.task)
            if task.LINES:
                table = exact_costs(encoded).for_search()
                return line_rows(table).of(encoded.X, table.sums, encoded.copies, least)
            return moment_rows(LAWS[task.LOSS]).of(encoded.X, task.moments(encoded.sums).T, encoded.copies, least)
        return Rows.of(encoded.X, self.costs.loss, encoded.copies, least)

    @property
    def costs(self) -> WholeCosts:
        """Return the cost of each label on the rows."""
        return search_costs(self.problem)

    @property
    def price(self) -> float:
        """Return the penalty of a branch node, in the same units."""
        return branch_penalty(self.problem) if self.by_moments else self.costs.price

    @property
    def by_moments(self) -> bool:
        """Return whether the cost of a leaf is a function of sums over its rows, for which no table folds levels."""
        return TASKS.get(self.problem.encoded.task).MOMENTS

    @cached_property
    def shape(self) -> Shape:
        """Return the depth of the trees, and the number of levels that are folded."""
        depth = self.problem.topology.depth
        # The tables that fold a level do not count rows (odtc.formulations.dpflow.resources does).
        return Shape(depth, 0 if self.rows.least > 1 or self.by_moments else folded_levels(self.problem, depth))

    @cached_property
    def known(self) -> Graph:
        """Return the program down to the states with two levels left, or the leaves
        (odtc.algorithms.dp.state_expansion), with the value of every state, in units of loss."""
        if self.by_moments:
            return generate(self.rows, self.shape.depth, self.price, self.problem.params.fold)
        return build_valued_graph(self.rows, self.shape.depth, self.price, self.problem.params.fold)

    @cached_property
    def written(self) -> Graph:
        """Return the states and arcs of the model with their costs."""
        return self.graph()

    def graph(self) -> Graph:
        """Return the same, made again unless it is known."""
        if self.shape.tail == 2:
            return self.known.folded(self.shape.levels)
        problem = self.problem
        return build_graph(self.rows, self.shape.depth, self.price, problem.params.fold, self.shape.tail)

    @property
    def skeleton(self) -> Graph:
        """Return the same states and arcs, without the cost of folded levels if it is not known already."""
        if self._is_written:
            return self.written
        return generate(self.rows, self.shape.levels, self.price, self.problem.params.fold)

    @property
    def states(self) -> tuple[Graph | None, int]:
        """Return (graph, levels): states of all trees of the problem's depth with their values, of which this many
        first levels have arcs of one split each; not made again if they exist."""
        depth = self.shape.depth
        if self._is_written and not self.shape.tail:
            return self.written, depth
        if self.rows.least == 1 and depth <= 2:
            return None, 0
        return self.known, depth if self.rows.least > 1 else depth - 2

    def optimal(self) -> HeapTree:
        """Return the best tree, by the values of the states."""
        depth = self.shape.depth
        shape = Shape(depth, 0 if self.rows.least > 1 or self.by_moments else min(2, depth - 1))
        graph = self.known.folded(shape.levels)
        return tree_along(self.problem, graph, best_way(graph), shape.tail)

    @property
    def _is_written(self) -> bool:
        return "written" in vars(self)


def folded_levels(problem: Problem, depth: int) -> int:
    """Return the number of levels above the leaves that the compiler solves, according to `tail`."""
    tail = problem.params.tail
    return min(
        depth - 1, size_estimate.short_tail(problem.encoded.n_candidate_splits, depth) if tail == "auto" else int(tail)
    )


def share(problem: Problem, cost: np.ndarray, costs: WholeCosts | None = None) -> np.ndarray:
    """Return costs of the program, or of others that it counts in, in units of the objective."""
    if exact_objective(problem) is not None:
        return cost * float((costs or search_costs(problem)).step)
    lam = problem.params.lambda_
    return np.round((1 - lam) * cost, 12) if lam else cost
