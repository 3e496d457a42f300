"""Two leaves of one branch node predict different classes: otherwise the node needs no split.

    p_{t,f,0,k} + p_{t,f,1,k} ≤ b_tf                    t bottom, f, k     with stump columns
    w_{2t,k} + w_{2t+1,k} + Σ_f b_tf ≤ 2                t bottom, k        with labels

If a node must have a split, it may have split 0 without effect (odtc.problem.cuts.cut.splits_of_an_optimum).
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import AN_OPTIMUM, CutRows, Entry, splits_of_an_optimum
from odtc.problem.expressions import Need, Statement, needed, stated
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "sibling_labels"
SUMMARY = "two leaves of one branch node predict different classes"
NEEDS = (
    (Need(Statement.SPLITS_ON, "bottom"), Need(Statement.STUMP, "bottom")),
    (Need(Statement.SPLITS_ON, "bottom"), Need(Statement.PREDICTS, "leaves")),
)
VALID = AN_OPTIMUM


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    t, f, k = (
        problem.topology.bottom[:, None, None],
        splits_of_an_optimum(problem, model)[:, None],
        np.arange(len(problem.encoded.classes)),
    )
    if not len(f):
        return ()
    b, p = needed(problem, model, Statement.SPLITS_ON, "bottom"), stated(problem, model, Statement.STUMP, "bottom")
    node, klass = node_axis(t), Axis("class", len(k))
    if p is not None:
        axes = node, Axis("split", len(f), int(f.flat[0])), klass
        entries: tuple[Entry, ...] = (
            *b.entries((t, f, k), (t, f), -np.ones(len(k))),
            *p.entries((t, f, k), (t, f, np.zeros(1, int), k)),
            *p.entries((t, f, k), (t, f, np.ones(1, int), k)),
        )
        return (CutRows(fresh_name(model, "differ"), axes, entries, upper=0.0),)
    w, t = needed(problem, model, Statement.PREDICTS, "leaves"), t[:, :, 0]
    entries = (
        *w.entries((t, k), (2 * t, k)),
        *w.entries((t, k), (2 * t + 1, k)),
        *b.entries((t[:, :, None], k[:, None]), (t[:, :, None], f[:, 0])),
    )
    return (CutRows(fresh_name(model, "differ"), (node, klass), entries, upper=2.0),)
