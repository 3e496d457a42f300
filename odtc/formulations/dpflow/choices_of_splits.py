"""Leaving out variables if sums over the tree are bounded and a constraint depends on splits, by choices of few splits.

Bounds are Lagrangian: with multipliers λ of the sums (odtc.algorithms.dp.reduced_cost_fixing) the trees of each choice
G of few splits cost at least L_λ(G). So the choices are processed in the order of L_λ, and the best tree of each is
found, until L_λ is above the cost of the best of them; a variable stays if a choice that is not above it leaves it.
"""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from odtc.algorithms.constrained.subtree_options import lay
from odtc.algorithms.dp.lagrangian_flow import (
    Flow,
    Incumbent,
    drop_dominated_columns,
    inside_costs,
    outside_costs,
    solve_dual,
)
from odtc.algorithms.dp.lattice import reached
from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow, fix_columns
from odtc.base import deadline
from odtc.formulations.dpflow import path_constraints
from odtc.problem.constraints.constraint import broken
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import blank_arrays, settle

CHOICES = 2_000  # of splits that are tried
SOLVED = 40  # of them whose best tree is searched for


def fix_by_choices(problem: Problem, flow: Flow) -> FixedFlow:
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
        part = _with_splits(flow, np.isin(group, choice))
        bounds.append(float(inside_costs(part, weight)[0][0]) - least)
    best, order = None, np.argsort(bounds, kind="stable")
    for at in order[:SOLVED]:
        if (best is not None and bounds[at] > best.vector[0]) or len(choices) == 1 < n:
            break
        found = fix_columns(_with_splits(flow, np.isin(group, choices[at]))).incumbent
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
        part = _with_splits(flow, np.isin(group, choices[at]))
        for step, marks, (_, _, value) in zip(
            part.steps, alive, outside_costs(part, weight, inside_costs(part, weight))
        ):
            marks[step.arc[value <= limit]] = True
    left = replace(flow, steps=reached(flow.steps, alive))
    left = drop_dominated_columns(left, multipliers, best.vector[0])
    return FixedFlow(left, max(bound, bounds[order[0]]), best, whole)


def _keeps(problem: Problem, found: Incumbent) -> bool:
    split, label = blank_arrays(problem.topology)
    lay(found.code, split, label, 1)
    return not broken(problem, settle(split, problem.encoded, label))


def _with_splits(flow: Flow, held: np.ndarray) -> Flow:
    """Return the flow over these splits, bool (splits,)."""
    return replace(flow, steps=reached(flow.steps, [held[step.split] for step in flow.steps]))
