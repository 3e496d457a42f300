"""A row can be correct only if some node predicts its class: q_i ≤ Σ_t w_t,y_i.

The inequality is valid for every tree. q_i states that row i is correct, and w_tk that node t predicts class k: two
statements of the model, whatever its formulation calls the variables.
"""

import numpy as np

from odtc.extend import EVERY_TREE, Axis, CutRows, Need, Statement, fresh_name, needed

TYPE = "cut"
NAME = "class_predicted"
SUMMARY = "a row is correct only if a node predicts its class"
NEEDS = ((Need(Statement.CORRECT), Need(Statement.PREDICTS, "leaves")),)
VALID = EVERY_TREE


def rows(problem, model, point=None):
    q, w = needed(problem, model, Statement.CORRECT), needed(problem, model, Statement.PREDICTS, "leaves")
    i, y = np.arange(problem.encoded.n_rows)[:, None], problem.encoded.y[:, None]
    entries = [*q.entries((i,), (i,)), *w.entries((i,), (w.nodes, y), -1.0)]
    return (CutRows(fresh_name(model, "known"), (Axis("row", len(i)),), tuple(entries), upper=0.0),)
