"""Lagrangian bounds for the flow of the constrained dynamic program, and the reduced costs of its variables.

With multipliers λ >= 0 on the bounds D · use ≤ most (odtc.algorithms.dp.pareto) the dynamic program is separable again:

    L(λ) = min over trees of cost + λ · (D use - most)        no tree that satisfies the bounds costs less

One pass from the leaves up gives the least cost below every state, and one from the root down the least cost of the
rest of a tree. Together they give, for each variable, the least cost of a tree that uses it: its exact reduced cost in
the flow. The λ of the best bound are the duals of the linear relaxation, and max L is its value, because the polytope
without the bounds is integral. They are found by cutting planes (Kelley 1960), one for each tree found.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.subtree_options import join_codes
from odtc.algorithms.dp import lattice
from odtc.algorithms.dp.lattice import Layer, reached, runs, segment_minimum
from odtc.algorithms.dp.pareto import Budgets, Points
from odtc.base import deadline
from odtc.base.value_class import value_class

ROUNDS = 80  # maximum number of cutting planes
CLOSE = 1e-7  # relative to the scale of cost: multipliers this near to the best are good enough
MAX_MULTIPLIER = 1e4  # the largest multiplier, with cost and uses relative to their scales
NEAR = 1e-9  # rounding error of a sum, relative to the scales of cost and uses


@dataclass(frozen=True, kw_only=True)
class FlowLevel(Layer):
    """The states of one level with their points, and the arcs to the next level; both sides of an arc lead
    to a state."""

    points: Points

    def picked(self, states: np.ndarray, arcs: np.ndarray, **links: Any) -> "FlowLevel":
        own = self.points.first(self.n_states)
        state, place = runs(np.diff(own)[states], own[states])
        points = replace(self.points.picked(place), state=state.astype(np.int32))
        return super().picked(states, arcs, points=points, **links)


@dataclass(frozen=True)
class Incumbent:
    """A tree that satisfies the bounds: its vector (1 + r,), and its code (as in Points)."""

    vector: np.ndarray
    code: np.ndarray


@value_class
class Flow:
    """All levels, above subtrees of `height` levels. `branch` (1 + r,) is the cost and the uses of a branch node, and
    `scale` (1 + r,) the largest values of a tree without branch nodes."""

    steps: tuple[FlowLevel, ...]
    height: int
    branch: np.ndarray
    budgets: Budgets
    scale: np.ndarray

    @property
    def n_columns(self) -> int:
        return sum(len(step.points) + len(step.state) for step in self.steps)

    @property
    def unit(self) -> np.ndarray:
        return tie_tolerance(self.scale)

    def weight(self, multipliers: np.ndarray) -> np.ndarray:
        """Return (1 + r,): the weights of the coordinates of a vector."""
        return np.append(1.0, multipliers @ self.budgets.sides[0])

    def near(self, weight: np.ndarray) -> float:
        """Return the tolerance: weighted sums that differ by less are equal."""
        return NEAR * float(np.abs(weight) @ self.scale)


def tie_tolerance(scale: np.ndarray) -> np.ndarray:
    """Return (1 + r,): vectors that differ by less than half of it are equal. Different whole numbers stay apart; equal
    sums of fractions may not be recognized, which does no harm."""
    scale = np.maximum(scale, 1e-300)
    return np.clip(2.0**-44 * scale, None, np.maximum(0.5, 2.0**-60 * scale))  # quotients by it fit in int64


def solve_dual(flow: Flow) -> tuple[np.ndarray, float, Incumbent | None]:
    """Return (multipliers, their bound L, the cheapest tree found that satisfies the bounds)."""
    D, most = flow.budgets.sides
    cost, use = max(flow.scale[0], 1e-300), np.abs(D) @ flow.scale[1:]
    use = np.where(use > 0, use, np.maximum(1.0, np.abs(most)))  # for a sum that is 0 for every tree
    chosen, bound, best, cuts = np.zeros(len(most)), -np.inf, None, Cuts(np.full(len(most), MAX_MULTIPLIER), CLOSE)
    for at in cuts.rounds(chosen, ROUNDS):  # multipliers, costs and uses relative to their scales
        deadline.check()
        weight = flow.weight(at * cost / use)
        values = inside_costs(flow, weight)
        value = float(values[0][0] - at * cost / use @ most)
        tree = cheapest_tree(flow, weight, values)
        if cuts.reach(value / cost):
            bound, chosen = value, at
        if flow.budgets.kept(tree.vector) and (best is None or tree.vector[0] < best.vector[0]):
            best = tree
        cuts.add(tree.vector[0] / cost, (D @ tree.vector[1:] - most) / use)
    return chosen * cost / use, bound, best


def inside_costs(flow: Flow, weight: np.ndarray) -> list[np.ndarray]:
    """Return for each level, float64 (states,): the least weighted vector of a subtree."""
    ends = [segment_minimum(step.points.vector @ weight, step.points.first(step.n_states)) for step in flow.steps]
    return lattice.inside_costs(flow.steps, ends, _prices(flow, weight))


def outside_costs(
    flow: Flow, weight: np.ndarray, values: list[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return for each level (outside (states,), points, arcs): the least weighted vector of the rest of a tree; and of
    a tree that uses each point, and each arc."""
    found = lattice.outside_costs(flow.steps, _prices(flow, weight), values)
    return [
        (outside, outside[step.points.state] + step.points.vector @ weight, arc)
        for step, (outside, arc) in zip(flow.steps, found)
    ]


def _prices(flow: Flow, weight: np.ndarray) -> list[np.ndarray]:
    """Return for each level, float64 (arcs,): the weighted vector of a branch node."""
    return [np.full(len(step.state), float(flow.branch @ weight)) for step in flow.steps]


def cheapest_tree(flow: Flow, weight: np.ndarray, values: list[np.ndarray]) -> Incumbent:
    """Return a tree of the least weighted vector."""

    def grow(j, state):
        step = flow.steps[j]
        begin, end = step.points.first(step.n_states)[state : state + 2]
        own = step.points.vector[begin:end] @ weight
        first, last = step.first[state : state + 2]
        arcs = (
            values[j + 1][step.below[first:last]].sum(axis=1) + flow.branch @ weight
            if last > first
            else np.array([np.inf])
        )
        if end > begin and own.min() <= arcs.min():
            place = begin + int(own.argmin())
            code, missing = step.points.code[place], len(flow.steps) - 1 - j
            return step.points.vector[place], code if not missing else np.full(
                2 ** (missing + flow.height + 1) - 1, code[0]
            )
        arc = first + int(arcs.argmin())
        (one, left), (two, right) = (grow(j + 1, int(side)) for side in step.below[arc])
        return flow.branch + one + two, join_codes(step.split[[arc]], left[None], right[None])[0]

    return Incumbent(*grow(0, 0))


def drop_dominated_columns(flow: Flow, multipliers: np.ndarray, most: float) -> Flow:
    """Return the flow without the variables for which these multipliers prove that every tree with them costs more than
    `most` or violates the bounds."""
    weight = flow.weight(multipliers)
    values = inside_costs(flow, weight)
    limit = most + float(multipliers @ flow.budgets.sides[1]) + flow.near(weight)
    kept = [(point <= limit, arc <= limit) for _, point, arc in outside_costs(flow, weight, values)]
    # No tree satisfies the bounds, and neither do the labels of the root.
    if not kept[0][0].any() and not kept[0][1].any():
        kept[0] = flow.steps[0].points.code[:, 0] < 0, kept[0][1]
    left = [replace(step, points=step.points.picked(points)) for step, (points, _) in zip(flow.steps, kept)]
    steps = reached(left, [arcs for _, arcs in kept])
    # Levels that no arc reaches are removed, and the points of the last remaining level are labels, of height 0.
    return replace(flow, steps=steps, height=flow.height if len(steps) == len(flow.steps) else 0)
