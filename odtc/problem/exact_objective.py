"""The objective of a tree as an exact number, and the conclusions that a bound allows.

An objective is a penalty of loss times the loss plus a penalty of branch nodes times their number. Weights, costs and
penalties are the decimals that they were written as (odtc.base.whole_numbers), so every objective is a whole multiple
of one unit u:

    cost = a Σ_i l_i + b k,   a l_i and b in u Z   →   cost in u Z

Two objectives that differ do so by u or more. A bound that is above `cost - u` therefore proves `cost`.

The searches of the compiler count in whole numbers, whose sums are exact in float64. If the numbers have too many
digits for that, costs that only trees worse than one leaf pay are lowered first. If that is not enough, all costs are
rounded down, so that a bound of the search is also a bound of the exact objectives.
"""

from fractions import Fraction
from functools import cached_property
from math import ceil, inf, isfinite, nextafter
from typing import Any

import numpy as np

from odtc.algorithms.equal_rows import distinct_values
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_EXACT, ExactParts, as_written, common_unit, whole_losses
from odtc.data.task import TASKS, exact_costs, leaf_cost
from odtc.model.feasibility import ROUNDING, TOLERANCE
from odtc.problem import branch_penalty
from odtc.problem.formulation import Charge, Compiled
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

MAX_TOTAL = MAX_EXACT // 8  # maximum total cost in a search, which also adds differences, and twice the cost of a side
ULPS = 8  # error of a bound that was rounded by a few operations, in units in the last place
TOO_FINE = (
    "the weights, costs and penalties together have more digits than whole numbers of 53 bits hold, so a search cannot "
    "distinguish all trees; round them to fewer digits"
)


@value_class
class WholeCosts:
    """The whole costs that a search uses.

    Attributes
    ----------
    loss : float64 (rows, labels) of whole numbers, the cost of predicting a label on a row
    price : int or float, of a branch node
    step : Fraction
        A tree of cost c of the search has an objective of at least `c * step`.
    exact : bool
        Whether it has exactly that objective, if it is no worse than the best tree of one leaf.
    plain : bool
        Whether every tree has exactly that objective.
    parts : ExactParts or None
        The costs that were rounded down, in units of the exact objective; None if none were.
    """

    loss: np.ndarray
    price: float
    step: Fraction
    exact: bool
    plain: bool
    parts: ExactParts | None = None


class ExactObjective:
    """The exact objectives of a problem (`exact_objective`).

    Attributes
    ----------
    unit : Fraction
        Every objective is a whole multiple of it.
    of_loss, of_node : Fraction
        The penalty of a unit of loss, and of a branch node, or the unit of a charge (odtc.problem.formulation).
    """

    def __init__(self, problem: Problem, charge: Charge | None = None):
        self.problem, self._losses = problem, (losses := whole_losses(problem.encoded))
        self.of_loss, of_node = of_loss, _ = _penalties(problem)
        nodes = len(problem.topology.branch_nodes)
        self._charge = Charge(of_node, lambda heap: heap.n_branch_nodes, nodes) if charge is None else charge
        self.of_node = of_node = self._charge.unit
        parts = [of_loss * losses.unit, of_node]
        self.unit = common_unit(parts)
        self._of_loss, self._of_node = (int(part / self.unit) for part in parts)

    def cost(self, heap: HeapTree) -> Fraction:
        """Return the objective of a tree, counted on the rows."""
        predicted = heap.label[heap.reach(self.problem.encoded.X)]
        return (self._of_loss * self._losses.of(predicted) + self._of_node * self._charge.count(heap)) * self.unit

    def labelled(self, split: np.ndarray) -> HeapTree:
        """Return the tree of some splits, int32 (2^(depth + 1),), whose leaves predict the label of least cost."""
        encoded = self.problem.encoded
        ends = HeapTree(split, np.full_like(split, -1)).reach(encoded.X)
        label = np.full_like(split, -1)
        for end in distinct_values(ends).tolist():
            label[end] = self._losses.cheapest(np.flatnonzero(ends == end))
        return settle(split, encoded, label)

    @cached_property
    def whole_loss(self) -> np.ndarray:
        """Objects (rows, labels) of int: what predicting a label on a row adds to the objective, in units."""
        losses = self._losses
        cost = losses.cost.astype(object)[self.problem.encoded.y]
        return self._of_loss * cost * losses.weight.astype(object)[:, None]

    @property
    def whole_node(self) -> int:
        """The penalty of a branch node, in units."""
        return self._of_node

    @cached_property
    def costs(self) -> WholeCosts:
        """The costs of the rows and of branch nodes for a search."""
        losses, y, of_loss = self._losses, self.problem.encoded.y, self._of_loss
        nodes = self._of_node * (self._charge.most or 0)
        if of_loss * losses.most + nodes < MAX_TOTAL:
            cost = losses.cost.astype(float)[y]
            cost *= (losses.weight.astype(float) * of_loss)[:, None]
            return WholeCosts(cost, self._of_node, self.unit, True, True)
        exact = self.whole_loss
        worse = exact.sum(axis=0).min() + 1  # a tree that pays so much for a row or a node is worse than one leaf
        exact, node = np.minimum(exact, worse), min(self._of_node, worse)
        total = exact.max(axis=1).sum() + node * (self._charge.most or 0)
        many = total // MAX_TOTAL + 1
        parts = None
        if many != 1:
            parts = ExactParts.of(exact, many, node)
        loss = exact.astype(float) if parts is None else parts.high.astype(float)
        return WholeCosts(loss, node // many, self.unit * many, many == 1, False, parts)

    @cached_property
    def least_difference(self) -> Fraction:
        """A lower bound on the difference of two different objectives. It is above the unit if the penalty of branch
        nodes has many digits, because trees have few branch nodes."""
        if self._charge.most is None:
            return self.unit
        of_loss = self._of_loss or self._of_node or 1
        rests = [self._of_node * nodes % of_loss for nodes in range(1, self._charge.most + 1)]
        return min([of_loss, *(min(rest, of_loss - rest) for rest in rests if rest)]) * self.unit

    @cached_property
    def _of_leaf(self) -> Fraction:
        """The objective of the best tree of one leaf."""
        return self.cost(self.labelled(blank_arrays(self.problem.topology)[0]))

    def raised(self, bound: Fraction) -> Fraction:
        """Return the least objective at or above a bound that holds exactly."""
        return ceil(bound / self.unit) * self.unit

    def least(self, bound: Fraction) -> Fraction:
        """Return the least objective at or above a bound that holds exactly: of a loss in whole units with each number
        of branch nodes, or of the best leaf if the bound is not above it."""
        if self._charge.most is None:
            return self.raised(bound)
        leaf = self._of_leaf
        above, of_loss = ceil(bound / self.unit), self._of_loss or 1
        least_nodes = 1 if leaf >= bound else 0
        nodes = [self._of_node * n for n in range(least_nodes, self._charge.most + 1)]
        found = [node + of_loss * max(0, -((node - above) // of_loss)) for node in nodes]
        return min([*(one * self.unit for one in found), *([leaf] if least_nodes else [])])

    def against(self, bound: Fraction, heap: HeapTree) -> float:
        """Return an exact bound as a float to compare with the objective of a tree: equal to it only if the bound
        proves that no tree costs less."""
        paid, least = self.cost(heap), self.raised(bound)
        return float(paid) if least >= paid else min(rounded_down(least), nextafter(float(paid), -inf))

    def settled(self, bound: float, paid: float) -> float:
        """Return the same for numbers that were rounded.

        Parameters
        ----------
        bound : float
            Off by a few units in its last place at most.
        paid : float
            The objective of a tree, to the nearest float.

        Returns
        -------
        float
        """
        if not isfinite(bound):
            return bound
        least = self.least(Fraction(bound) * (1 - Fraction(ULPS, MAX_EXACT)) if bound > 0 else Fraction(bound))
        if float(least) >= paid and 2 * least < MAX_EXACT * self.least_difference:  # floats distinguish all objectives
            return paid
        return min(max(bound, rounded_down(least)), nextafter(paid, -inf))


def settled_bound(problem: Problem, bound: float, paid: float) -> float:
    """Return a bound that can be compared with the objective of a tree, like `ExactObjective.settled`. If the problem
    has no exact objectives, a bound that differs from the objective only by rounding becomes the objective itself,
    unless two trees may differ by less."""
    exact = exact_objective(problem)
    if exact is not None:
        return exact.settled(bound, paid)
    if not least_difference(problem):
        return min(bound, paid)
    return paid if paid - _rounding(problem, paid) <= bound < inf else bound


def _rounding(problem: Problem, paid: float) -> float:
    """Return the rounding error of an objective that is not exact, relative to the objective, or to the smaller of 1
    and the cost of one leaf if that is greater."""
    return ROUNDING * max(min(1.0, leaf_cost(problem.encoded)), abs(paid))


def same_objective(problem: Problem, one: float, other: float) -> bool:
    """Return whether two figures state one objective: exact ones may differ by a few units in the last place, because
    a formulation may sum floats.

    Parameters
    ----------
    problem : Problem
    one, other : float

    Returns
    -------
    bool
    """
    apart = abs(one - other)
    if exact_objective(problem) is None and exact_costs(problem.encoded) is None:
        return apart <= _rounding(problem, max(abs(one), abs(other)))
    return apart <= ULPS / MAX_EXACT * max(abs(one), abs(other))


def costs_no_more(problem: Problem, heap: HeapTree, than: HeapTree) -> bool:
    """Return whether a tree costs no more than another one: exactly, or except for rounding if costs are not exact.

    Parameters
    ----------
    problem : Problem
    heap, than : HeapTree

    Returns
    -------
    bool
    """
    costs, paid = comparable_cost(problem, heap), comparable_cost(problem, than)
    return bool(costs <= paid or (isinstance(paid, float) and costs <= paid + _rounding(problem, paid)))


def settled_solver_bound(problem: Problem, bound: float, paid: float) -> float:
    """Return the same for the bound of a solver, which holds within the tolerance of solvers.

    Parameters
    ----------
    problem : Problem
    bound : float
        No tree of the problem costs less, within TOLERANCE.
    paid : float
        The objective of a tree.

    Returns
    -------
    float
        The objective if the unit of the problem is large enough that the bound proves it; if the unit is so small that
        the tolerance hides other trees, the bound without the tolerance.
    """
    exact, slack, least = exact_objective(problem), TOLERANCE * max(1.0, abs(bound)), least_difference(problem)
    if exact is None and TASKS.get(problem.encoded.task).MOMENTS:  # two trees may differ by any small number
        return min(bound, nextafter(paid, -inf))
    if least <= 4 * slack:
        return max(0.0, min(bound, paid) - slack) if paid > 0 else 0.0
    if exact is None:
        return paid if bound - slack > paid - least else bound
    return max(exact.settled(bound - slack, paid), min(bound, nextafter(paid, -inf)))


def exact_objective(problem: Problem) -> ExactObjective | None:
    """Return the exact objectives of a problem.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    ExactObjective or None
        None for objectives of other terms: costs of leaves that are not sums over rows, soft margins and norms of
        hyperplanes, and rows that an adversary moves.
    """
    return problem.derived(_Known).found


def exact_cost(problem: Problem, heap: HeapTree) -> Any:
    """Return a number by which the objectives of two trees compare exactly, also of leaves that cost sums; None if
    there is none.

    Parameters
    ----------
    problem : Problem
    heap : HeapTree

    Returns
    -------
    Fraction, LogSum or None
    """
    if (exact := exact_objective(problem)) is not None:
        return exact.cost(heap)
    if (costs := exact_costs(problem.encoded)) is None or not hasattr(problem.params, "lambda_"):
        return None
    ends, price = heap.reach(problem.encoded.X), branch_penalty.exact_price(problem) / costs.unit
    leaves = (costs.leaf(np.flatnonzero(ends == end)) for end in distinct_values(ends))
    return sum(leaves, heap.n_branch_nodes * price)


def least_difference(problem: Problem) -> Fraction:
    """Return a lower bound on the difference of two objectives that differ; 0 if they may differ by any small number,
    as functions of sums in leaves, norms of hyperplanes and soft margins do."""
    if (exact := exact_objective(problem)) is not None:
        return exact.least_difference
    if TASKS.get(problem.encoded.task).MOMENTS or problem.module.boxes(problem) is None:
        return Fraction(0)
    # A row that an adversary moves costs as much as one that is misclassified without a move.
    return ExactObjective(problem).least_difference


def comparable_cost(problem: Problem, heap: HeapTree) -> Any:
    """Return `exact_cost`, or the objective as a float if there is none, to compare trees.

    Parameters
    ----------
    problem : Problem
    heap : HeapTree

    Returns
    -------
    Fraction, LogSum or float
    """
    exact = exact_cost(problem, heap)
    return problem.module.objective(problem, heap) if exact is None else exact


def search_costs(problem: Problem) -> WholeCosts:
    """Return the costs that a search of a problem with a price of branch nodes counts in; in units of loss if there are
    no whole ones.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    WholeCosts
    """
    exact = exact_objective(problem)
    return _costs_in_floats(problem) if exact is None else exact.costs


def plain_costs(problem: Problem) -> WholeCosts:
    """Return costs with which every tree has its objective, except for rounding if they are not exact: for models."""
    costs = search_costs(problem)
    return costs if costs.plain else _costs_in_floats(problem)


def _costs_in_floats(problem: Problem) -> WholeCosts:
    """Return the costs in units of loss."""
    of_loss, _ = problem.module.unit_costs(problem)
    return WholeCosts(problem.encoded.loss, problem.module.branch_penalty(problem), Fraction(of_loss), False, True)


class _Known:
    """The exact objectives of one problem, made once."""

    def __init__(self, problem: Problem):
        self.found: ExactObjective | None = None
        module = problem.module
        if TASKS.get(problem.encoded.task).MOMENTS or not module.can(Compiled) or module.boxes(problem) is not None:
            return
        charge = module.charge(problem)
        if charge is not None or not (module.WEIGHS or module.prices_answers(problem)):
            self.found = ExactObjective(problem, charge)


def _penalties(problem: Problem) -> tuple[Fraction, Fraction]:
    """Return the penalties (of a unit of loss, of a branch node)."""
    if problem.module.unit_costs is branch_penalty.unit_costs:
        share = branch_penalty.exact_share(problem.params.lambda_)
        return 1 - share, share
    exact = problem.module.exact_prices(problem)
    of_loss, of_node = exact if exact is not None else map(as_written, problem.module.unit_costs(problem))
    return of_loss, of_node


def rounded_down(value: Fraction) -> float:
    """Return the greatest float at or below a number.

    Parameters
    ----------
    value : Fraction

    Returns
    -------
    float
    """
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)
