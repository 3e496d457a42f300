"""Consequences of the weights s_1 <= … <= s_K of the classes for the errors (Zhu et al. 2020, Proposition 1).

    Σ_i w_i c_i >= Σ_i w_i z_il - s_K                          every leaf l: it predicts one class
    Σ_i w_i (c_i + z_il) >= s_1 (K - 2^D + 1)                  every leaf l, if K >= 2^D: other leaves predict 2^D - 1
    Σ_i w_i c_i >= s_1 + … + s_{K - 2^D}                       if K > 2^D

K is the number of classes with positive weight. The last inequality raises the bound; the first two seldom do.
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows
from odtc.problem.expressions import Need, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "class_sizes"
SUMMARY = "each leaf predicts one class, so the rows of further classes are misclassified (SVM1-ODT, Proposition 1)"
NEEDS = ((Need(Statement.MISCLASSIFIED), Need(Statement.ENDS, "leaves")),)
VALID = EVERY_TREE


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    encoded, most = problem.encoded, 2**problem.topology.depth
    c, z = needed(problem, model, Statement.MISCLASSIFIED), needed(problem, model, Statement.ENDS, "leaves")
    sizes = np.bincount(encoded.y, encoded.weight)
    sizes = np.sort(sizes[sizes > 0])
    heavy, K = np.flatnonzero(encoded.weight), len(sizes)
    w, i, leaf = encoded.weight[heavy], heavy[:, None], z.nodes
    axis = node_axis(leaf)
    wrong = c.entries((leaf,), (i,), w[:, None])
    ends, less = (z.entries((leaf,), (i, leaf), coef) for coef in (w[:, None], -w[:, None]))
    found = [CutRows(fresh_name(model, "largest"), (axis,), (*wrong, *less), lower=-sizes[-1])]
    if K >= most:
        lower = sizes[0] * (K - most + 1)
        found.append(CutRows(fresh_name(model, "others"), (axis,), (*wrong, *ends), lower=lower))
    if K > most:
        all_rows, lower = c.entries((np.zeros(1, int),), (heavy,), w), float(sizes[: K - most].sum())
        found.append(CutRows(fresh_name(model, "smallest"), (Axis("all", 1),), tuple(all_rows), lower=lower))
    return tuple(found)
