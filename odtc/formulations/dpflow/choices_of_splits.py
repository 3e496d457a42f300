"""Leaving out variables if sums over the tree are bounded and a constraint depends on splits, by choices of few splits.

Bounds are Lagrangian: with multipliers λ of the sums (odtc.algorithms.dp.lagrangian_flow) the trees of each choice G of
few splits cost at least L_λ(G). A variable stays if it is in a tree of some choice that costs, by this bound, no more
than a known tree.
"""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from odtc.algorithms.constrained.subtree_options import code_of
from odtc.algorithms.dp.lagrangian_flow import (
    Flow,
    Incumbent,
    drop_dominated_columns,
    inside_costs,
    outside_costs,
    solve_dual,
)
from odtc.algorithms.dp.lattice import reached
from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow
from odtc.base import deadline
from odtc.formulations.dpflow import path_constraints
from odtc.problem.exact_objective import plain_costs
from odtc.problem.problem import Problem

CHOICES = 2_000  # of splits that are tried


def fix_by_choices(problem: Problem, flow: Flow) -> FixedFlow:
    """Return the part of a flow that trees with few splits need, by choices of these, if a tree is known."""
    multipliers, bound, _ = solve_dual(flow)
    known, proved = _known(problem, flow)
    if known is None:
        return FixedFlow(flow, bound, None, flow.n_columns)
    weight, least = flow.weight(multipliers), float(multipliers @ flow.budgets.sides[1])
    group, size = min(
        path_constraints.budgets(problem),
        key=lambda budget: comb(int(budget[0].max()) + 1, min(budget[1], int(budget[0].max()) + 1)),
        default=(np.zeros(problem.encoded.n_candidate_splits, int), 1),
    )
    n = int(group.max()) + 1
    choices = list(combinations(range(n), min(size, n))) if comb(n, min(size, n)) <= CHOICES else [tuple(range(n))]
    limit, lowest = known.vector[0] + least + flow.near(weight), np.inf
    alive = [np.zeros(len(step.state), bool) for step in flow.steps]
    for choice in choices:
        deadline.check()
        part = _with_splits(flow, np.isin(group, choice))
        values = inside_costs(part, weight)
        lowest = min(lowest, float(values[0][0]))
        for step, marks, (_, _, value) in zip(part.steps, alive, outside_costs(part, weight, values)):
            marks[step.arc[value <= limit]] = True
    left = replace(flow, steps=reached(flow.steps, alive))
    left = drop_dominated_columns(left, multipliers, known.vector[0])
    bound = known.vector[0] if proved else min(max(bound, lowest - least), known.vector[0])
    return FixedFlow(left, bound, known, flow.n_columns)


def _known(problem: Problem, flow: Flow) -> tuple[Incumbent | None, bool]:
    """Return the result of `path_constraints.known_tree`, with the tree as a subtree of the flow."""
    (heap, proved), costs, encoded = path_constraints.known_tree(problem), plain_costs(problem), problem.encoded
    if heap is None:
        return None, False
    rows, label = np.arange(encoded.n_rows), heap.label[heap.reach(encoded.X)]
    sums = np.append(costs.loss[rows, label].sum(), flow.budgets.answers[rows, label].sum(axis=0))
    vector = sums + flow.branch * heap.n_branch_nodes
    size = 2 ** (problem.topology.depth + 1) - 1
    return Incumbent(vector, code_of(heap.split, heap.label, 1, size)), proved


def _with_splits(flow: Flow, held: np.ndarray) -> Flow:
    """Return the flow over these splits, bool (splits,)."""
    return replace(flow, steps=reached(flow.steps, [held[step.split] for step in flow.steps]))
