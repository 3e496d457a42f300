"""No split is repeated on a path from the root: the second time, one side is empty.

    Σ_{n on the path to t} b_nf ≤ 1            t bottom, f

Such a branch node can be removed and the subtree of its other side moves up, so some optimum has none. If a node must
have a split, the inequalities do not apply to split 0 (odtc.problem.cuts.cut.splits_of_an_optimum).
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import AN_OPTIMUM, CutRows, splits_of_an_optimum
from odtc.problem.expressions import Need, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "no_feature_reuse"
SUMMARY = "no path uses a split twice"
NEEDS = ((Need(Statement.SPLITS_ON, "branch_nodes"),),)
VALID = AN_OPTIMUM


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    tree, f = problem.topology, splits_of_an_optimum(problem, model)
    if tree.depth == 1 or not len(f):
        return ()
    b, bottom = needed(problem, model, Statement.SPLITS_ON, "branch_nodes"), tree.bottom[:, None]
    axes = node_axis(bottom), Axis("split", len(f), int(f[0]))
    path = bottom[:, :, None] >> np.arange(tree.depth)
    entries = b.entries((bottom[:, :, None], f[:, None]), (path, f[:, None]))
    return (CutRows(fresh_name(model, "once"), axes, tuple(entries), upper=1.0),)
