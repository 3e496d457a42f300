"""Two leaves of one branch node predict different classes: else the node need not ask.

    p_{t,f,0,k} + p_{t,f,1,k} ≤ b_tf                    t bottom, f, k     with stump columns
    w_{2t,k} + w_{2t+1,k} + Σ_f b_tf ≤ 2                t bottom, k        with labels

If a node must ask something, it may ask test 0 for nothing (odtc.problem.cuts.cut.tests_of_an_optimum).
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import AN_OPTIMUM, CutRows, Entry, tests_of_an_optimum
from odtc.problem.problem import Problem
from odtc.problem.roles import Need, Role, columns, fresh_name, needed_columns, node_axis

NAME = "sibling_labels"
SUMMARY = "two leaves of one branch node predict different classes"
NEEDS = (
    (Need(Role.BRANCH, "bottom"), Need(Role.STUMP, "bottom")),
    (Need(Role.BRANCH, "bottom"), Need(Role.LABEL, "leaves")),
)
VALID = AN_OPTIMUM


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    t, f, k = (
        problem.topology.bottom[:, None, None],
        tests_of_an_optimum(problem, model)[:, None],
        np.arange(len(problem.encoded.classes)),
    )
    if not len(f):
        return ()
    b, p = needed_columns(problem, model, Role.BRANCH, "bottom"), columns(problem, model, Role.STUMP, "bottom")
    node, klass = node_axis(t), Axis("class", len(k))
    if p is not None:
        axes = node, Axis("test", len(f), int(f.flat[0])), klass
        entries: tuple[Entry, ...] = (
            ((t, f, k), b[t, f], -np.ones(len(k))),
            ((t, f, k), p[t, f, 0, k], 1.0),
            ((t, f, k), p[t, f, 1, k], 1.0),
        )
        return (CutRows(fresh_name(model, "differ"), axes, entries, upper=0.0),)
    w, t = needed_columns(problem, model, Role.LABEL, "leaves"), t[:, :, 0]
    entries = (
        ((t, k), w[2 * t, k], 1.0),
        ((t, k), w[2 * t + 1, k], 1.0),
        ((t[:, :, None], k[:, None]), b[t[:, :, None], f[:, 0]], 1.0),
    )
    return (CutRows(fresh_name(model, "differ"), (node, klass), entries, upper=2.0),)
