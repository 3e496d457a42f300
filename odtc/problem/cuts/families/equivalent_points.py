"""Rows with equal results for all splits go together, so at most one class of each such group is correct.

With flows, on every edge (G: rows with equal x and, as equal rows are merged, different labels):

    Σ_{i∈G} z_{i,t} ≤ Σ_{f: x_Gf leads to t} b_{a(t),f}            the edge into t; ≤ 1 into the root

Without flows, Σ_{i∈G} [row i is correct] ≤ 1. Data without such groups gets no rows.
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows
from odtc.problem.expressions import Need, Statement, needed, stated
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "equivalent_points"
SUMMARY = "among rows that every split sends the same way, at most one class is correct"
NEEDS = ((Need(Statement.SPLITS_ON, "branch_nodes"), Need(Statement.PASSES)), (Need(Statement.CORRECT),))
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
    b, z = stated(problem, model, Statement.SPLITS_ON, "branch_nodes"), stated(problem, model, Statement.PASSES)
    if b is None or z is None:
        right = needed(problem, model, Statement.CORRECT)
        return (CutRows(name, (axis,), tuple(right.entries((group,), (member,))), upper=1.0),)
    t = z.nodes
    entries = z.entries((group[:, None], t), (member[:, None], t))
    for side in (0, 1):
        below = t[(t > 1) & (t % 2 == side)]
        at, f = (labels[:, None] for labels in np.nonzero(same == side))
        if len(below):
            entries += b.entries((at, below), (below // 2, f), -1.0)
    upper = np.broadcast_to(np.where(t == 1, 1.0, 0.0), (len(first), len(t)))
    return (CutRows(name, (axis, node_axis(t)), tuple(entries), upper=upper),)
