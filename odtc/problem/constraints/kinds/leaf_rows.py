"""Every leaf that holds a row holds at least N rows of the data.

    Σ_i copies_i z_it ≥ N u_t;   z_it ≤ u_t            t a node where rows end, i

z says whether row i ends in t (summed over the classes that t may predict, if the columns tell
these apart), u_t whether any row does: for whole z it is 1 then and may be 0 else, so it need not be
integer. A leaf that no row reaches counts as none. Rows of the data are counted, whatever they weigh.
"""

from typing import Any

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis, Block, Cells
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Judge
from odtc.problem.constraints.constraint import Constraint, count_bound
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.problem.roles import Need, Role, columns, node_axis, nodes, route_of
from odtc.trees.heap_tree import HeapTree, with_min_leaf_rows

NAME = "leaf_rows"
SUMMARY = "leaf_rows >= N: at least N rows of the data in every leaf"
OPS = (">=",)
SUBJECT = Subject.LEAF_ROWS
KNOWS = Knows.LEAF
NEEDS = ((Need(Role.ROUTE),), (Need(Role.PREDICTED, "leaves"),))


def read(encoded: Encoded, given: Constraint) -> Constraint:
    if given.bound > (rows := int(encoded.copies.sum())):
        raise ChoiceError(
            f"expected at most the {rows} rows of the data in {str(given)!r}: no tree has so many in a leaf"
        )
    return count_bound(given, 0, "rows")


def early(given: Constraint) -> bool:
    return given.bound > 1


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.fewest_rows(encoded))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    z, t = _ends(problem, model), nodes(_ends(problem, model))
    copies = np.bincount(route_of(problem), problem.encoded.copies)
    i, row, node = np.arange(len(copies))[:, None], Axis("row", len(copies)), node_axis(t)
    used = columns(problem, model, Role.USED)
    fill = m.rows(f"fill{suffix}", node, lower=0)
    if used is None:
        used = m.columns(f"used{suffix}", node)
        within = m.rows(f"within{suffix}", row, node, upper=0)
        m.add(within[i, t], used[t], -1)
        _add(m, within[i, t], z, i, t, np.ones((1, 1)))
    _add(m, fill[t], z, i, t, copies[:, None])
    if given.bound:
        m.add(fill[t], used[t], -given.bound)


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if columns(problem, model, Role.USED) is not None:
        return {}
    z = _ends(problem, model)
    ends = point[z.name]
    return {"used": (ends if ends.ndim == 2 else ends.max(axis=2)).max(axis=0)}


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Without the branch nodes that have a leaf of fewer rows, from the bottom up."""
    return with_min_leaf_rows(heap, encoded, int(given.bound))


def _ends(problem: Problem, model: Model) -> Any:
    """The columns that say where each row ends."""
    route = columns(problem, model, Role.ROUTE)
    return route if route is not None else columns(problem, model, Role.PREDICTED, "leaves")


def _add(m: ModelBuilder, cells: Cells, z: Block, i: np.ndarray, t: np.ndarray, coef: np.ndarray) -> None:
    """coef · z in these rows, over all classes if z has them."""
    if len(z.axes) == 2:
        m.add(cells, z[i, t], coef)
    else:
        for k in range(z.axes[2].size):
            m.add(cells, z[i, t, k], coef)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    least = np.full(len(encoded.classes), given.bound)
    return Terms(measures=((encoded.copies, least),)) if given.bound > 1 else Terms()


def tries(encoded: Encoded) -> list[str]:
    rows = int(encoded.copies.sum())
    return [f"{NAME} >= {least}" for most in (rows, rows // 2, rows // 3) for least in range(most + 1)]


def judged(encoded: Encoded, given: Constraint) -> Judge:
    return Judge(least_rows=int(given.bound))
