"""Rows that answer all tests alike go together, so of each such group at most one class is right.

With flows, on every edge (G: rows with equal x and, as equal rows are merged, different labels):

    Σ_{i∈G} z_{i,t} ≤ Σ_{f: x_Gf leads to t} b_{a(t),f}            the edge into t; ≤ 1 into the root

With a column per row, Σ_{i∈G} g_i ≤ 1. Data without such groups gets no rows.
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows
from odtc.problem.problem import Problem
from odtc.problem.roles import Need, Role, columns, fresh_name, needed_columns, node_axis, nodes

NAME = "equivalent_points"
SUMMARY = "among rows with equal tests and different labels at most one class is right"
NEEDS = ((Need(Role.BRANCH, "branch_nodes"), Need(Role.FLOW)), (Need(Role.CORRECT),))
VALID = EVERY_TREE


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    X = problem.encoded.X
    _, kind, size = np.unique(np.packbits(X, axis=1), axis=0, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    member = np.flatnonzero(size[kind] > 1)
    if not len(member):
        return ()
    _, first, group = np.unique(kind[member], return_index=True, return_inverse=True)
    same = X[member[first]]
    name, axis = fresh_name(model, "same"), Axis("group", len(first))
    z = columns(problem, model, Role.FLOW)
    if z is None:
        g = needed_columns(problem, model, Role.CORRECT)
        return (CutRows(name, (axis,), (((group,), g[member], 1.0),), upper=1.0),)
    b, t = needed_columns(problem, model, Role.BRANCH, "branch_nodes"), nodes(z)
    entries = [((group[:, None], t), z[member[:, None], t], 1.0)]
    for side in (0, 1):
        below = t[(t > 1) & (t % 2 == side)]
        at, f = (labels[:, None] for labels in np.nonzero(same == side))
        if len(below):
            entries.append(((at, below), b[below // 2, f], -1.0))
    upper = np.broadcast_to(np.where(t == 1, 1.0, 0.0), (len(first), len(t)))
    return (CutRows(name, (axis, node_axis(t)), tuple(entries), upper=upper),)
