"""A row can be right only if some node predicts its class: q_i ≤ Σ_t w_t,y_i.

It holds for every tree; q_i says that row i is right, w_tk that node t predicts class k.
"""

import numpy as np

from odtc.extend import EVERY_TREE, Axis, CutRows, Need, Role, columns, fresh_name, nodes

KIND = "cut"
NAME = "class_predicted"
SUMMARY = "a row is right only if a node predicts its class"
NEEDS = (
    (Need(Role.CORRECT), Need(Role.LABEL, "leaves")),
    (Need(Role.SINK), Need(Role.LABEL, "leaves")),
)
VALID = EVERY_TREE


def rows(problem, model, point=None):
    right, label = columns(problem, model, Role.CORRECT), columns(problem, model, Role.LABEL, "leaves")
    i, y, t = np.arange(problem.encoded.n_rows)[:, None], problem.encoded.y[:, None], nodes(label)
    entries = [((i,), label[t, y], -1.0)]
    if right is not None:
        entries.append(((i,), right[i], 1.0))
    else:  # a row ends at one node
        sink = columns(problem, model, Role.SINK)
        entries.append(((i,), sink[i, nodes(sink)], 1.0))
    return (CutRows(fresh_name(model, "known"), (Axis("row", len(i)),), tuple(entries), upper=0.0),)
