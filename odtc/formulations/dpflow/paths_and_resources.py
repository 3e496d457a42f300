"""dpflow if sums over the tree are bounded and a constraint depends on splits, both at once.

The variables are those of odtc.formulations.dpflow.resources with no level folded, because a dominated subtree may be
the only one with allowed splits. The states remember their paths as in odtc.formulations.dpflow.path_constraints, and
know their nodes if constraints of the model depend on the splits of these:

    b_nf = Σ_S u_{n,S,f}            n a branch node, f a split

Parts that no tree as good as one found needs are left out here, too. Bounds are Lagrangian: with multipliers λ of the
sums (odtc.algorithms.dp.reduced_cost_fixing) the trees of each choice G of few splits cost at least L_λ(G). So the
choices are processed in the order of L_λ, and the best tree of each is found, until L_λ is above the cost of the best
of them; a variable stays if a choice that is not above it leaves it.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from odtc.algorithms.dp.lagrangian_flow import (
    Flow,
    FlowLevel,
    Incumbent,
    drop_dominated_columns,
    inside_costs,
    outside_costs,
    solve_dual,
    tie_tolerance,
)
from odtc.algorithms.dp.pareto import label_points
from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow, fix_columns
from odtc.algorithms.dp.state_expansion import generate
from odtc.base import deadline
from odtc.formulations.dpflow import path_constraints, resources
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import broken
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import blank_arrays, settle

CHOICES = 2_000  # of splits that are tried
SOLVED = 40  # of them whose best tree is searched for


@dataclass(frozen=True)
class Joint(FixedFlow):
    """A Fixed flow of states that remember. If model constraints depend on the splits of nodes, `nodes` has per level
    the node of each state, and there are more variables than the `n_left` that were left."""

    n_left: int = 0
    nodes: tuple[np.ndarray, ...] | None = None


def most_columns(n_candidate_splits: int, depth: int) -> int:
    """Return the number of variables of the program before it is reduced and its states know their nodes, for two
    classes, if no two itemsets had the same rows and each had some."""
    return sum(
        2**j * comb(n_candidate_splits, j) * (2 + (n_candidate_splits - j if j < depth else 0))
        for j in range(depth + 1)
    )


def flow_of(problem: Problem, nodes: bool) -> Joint:
    """Return the flow of the model; with `-p fix=false` every variable of it."""
    rows, branch, budgets, scale = resources.frame(problem)
    graph = path_constraints.barred(problem, generate(rows, problem.topology.depth, branch[0], fold=False, ends=True))
    steps = tuple(
        FlowLevel(
            level.n_states,
            label_points(rows, level, budgets, tie_tolerance(scale)),
            level.state,
            level.test,
            level.below,
        )
        for level in graph.levels
    )
    flow = Flow(steps, 0, branch, budgets, scale)
    whole = FixedFlow(flow, -np.inf, None, flow.n_columns)
    found = whole if not problem.params.fix else _fixed(problem, flow) if nodes else fix_columns(flow)
    return (
        _placed(found)
        if nodes
        else Joint(found.flow, found.bound, found.incumbent, found.n_columns, found.flow.n_columns)
    )


def asked(problem: Problem, joint: Joint, model: Model) -> Model:
    """Return the model with the variables b, the split of each node."""
    m = ModelBuilder.onto(model)
    node, test = Axis("node", 2**problem.topology.depth - 1, 1), Axis("test", problem.encoded.n_candidate_splits)
    b = m.columns("b", node, test, role=Role.BRANCH)
    asks = m.rows("asks", node, test, lower=0, upper=0)
    m.add(asks.all(), b.all(), -1)
    arcs = {block.name: block for block in model.columns}
    for j, (step, where) in enumerate(zip(joint.flow.steps, joint.nodes)):
        if len(step.state):
            m.add(asks[where[step.state], step.test], arcs[f"u{j}"][np.arange(len(step.state))])
    return m.finish()


def _fixed(problem: Problem, flow: Flow) -> FixedFlow:
    """Return the part of a flow that trees with few splits need, by choices of these."""
    multipliers, bound, _ = solve_dual(flow)
    weight, least = flow.weight(multipliers), float(multipliers @ flow.budgets.sides[1])
    group, size = min(
        path_constraints.budgets(problem),
        key=lambda budget: comb(int(budget[0].max()) + 1, min(budget[1], int(budget[0].max()) + 1)),
        default=(np.zeros(problem.encoded.n_candidate_splits, int), 1),
    )
    n = int(group.max()) + 1
    choices = list(combinations(range(n), min(size, n))) if comb(n, min(size, n)) <= CHOICES else [tuple(range(n))]
    bounds = []
    for choice in choices:
        deadline.check()
        part, _ = _with_tests(flow, np.isin(group, choice))
        bounds.append(float(inside_costs(part, weight)[0][0]) - least)
    best, order = None, np.argsort(bounds, kind="stable")
    for at in order[:SOLVED]:
        if (best is not None and bounds[at] > best.vector[0]) or len(choices) == 1 < n:
            break
        found = fix_columns(_with_tests(flow, np.isin(group, choices[at]))[0]).incumbent
        if found is not None and _keeps(problem, found) and (best is None or found.vector[0] < best.vector[0]):
            best = found
    whole = flow.n_columns
    if best is None:
        return FixedFlow(flow, bound, None, whole)
    limit = best.vector[0] + least + flow.near(weight)
    alive = [np.zeros(len(step.state), bool) for step in flow.steps]
    for at in order:
        if bounds[at] + least > limit:
            break
        part, arcs = _with_tests(flow, np.isin(group, choices[at]))
        for marks, arc, (_, _, value) in zip(alive, arcs, outside_costs(part, weight, inside_costs(part, weight))):
            marks[arc[value <= limit]] = True
    left = drop_dominated_columns(_reached(flow, alive)[0], multipliers, best.vector[0])
    return FixedFlow(left, max(bound, bounds[order[0]]), best, whole)


def _keeps(problem: Problem, found: Incumbent) -> bool:
    test, label = blank_arrays(problem.topology)
    resources.lay(found.code, test, label, 1)
    return not broken(problem, settle(test, problem.encoded, label))


def _with_tests(flow: Flow, held: np.ndarray) -> tuple[Flow, list[np.ndarray]]:
    """Return (the flow over these splits, bool (splits,); per level the arcs of this one that it has)."""
    return _reached(flow, [held[step.test] for step in flow.steps])


def _reached(flow: Flow, alive: list[np.ndarray]) -> tuple[Flow, list[np.ndarray]]:
    """Return the flow with these arcs, bool (arcs,) per level, as far as they are reached, and their positions."""
    states, steps, arcs = np.zeros(1, np.int64), [], []
    for j, (step, kept) in enumerate(zip(flow.steps, alive)):
        number = np.full(step.n_states, -1, np.int32)
        number[states] = np.arange(len(states))
        arc = np.flatnonzero(kept & (number[step.state] >= 0)) if len(step.state) else np.zeros(0, np.int64)
        sides, points = step.below[arc], step.points.picked(np.flatnonzero(number[step.points.state] >= 0))
        after = np.unique(sides)
        place = np.zeros(flow.steps[j + 1].n_states if len(after) else 0, np.int32)
        place[after] = np.arange(len(after))
        steps.append(
            FlowLevel(
                len(states),
                replace(points, state=number[points.state]),
                number[step.state[arc]],
                step.test[arc],
                place[sides].reshape(-1, 2),
            )
        )
        arcs.append(arc)
        if not len(after):
            break
        states = after
    return replace(flow, steps=tuple(steps)), arcs


def _placed(found: FixedFlow) -> Joint:
    """Return the flow over (node, rows)."""
    node, states, steps, nodes = np.ones(1, np.int64), np.zeros(1, np.int64), [], []
    for j, step in enumerate(found.flow.steps):
        count = np.diff(step.first)[states]
        state, arc = _runs(count, step.first[states])
        own = step.points.first(step.n_states)
        of, place = _runs(np.diff(own)[states], own[states])
        points = replace(step.points.picked(place), state=of.astype(np.int32))
        n = found.flow.steps[j + 1].n_states if j + 1 < len(found.flow.steps) else 1
        pairs, below = np.unique((2 * node[state, None] + [0, 1]) * n + step.below[arc], return_inverse=True)
        steps.append(
            FlowLevel(
                len(states), points, state.astype(np.int32), step.test[arc], below.reshape(-1, 2).astype(np.int32)
            )
        )
        nodes.append(node)
        if not len(pairs):
            break
        node, states = pairs // n, pairs % n
    return Joint(
        replace(found.flow, steps=tuple(steps)),
        found.bound,
        found.incumbent,
        found.n_columns,
        found.flow.n_columns,
        tuple(nodes),
    )


def _runs(count: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (which, position) of `count` positions from `first` on, one run after another."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)
