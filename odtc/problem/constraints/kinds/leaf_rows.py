"""Every leaf that has a row has at least N rows of the data.

    Σ_i copies_i z_it ≥ N u_t;   z_it ≤ u_t            t a node where rows end, i

z is 1 if row i ends in t (summed over the classes that t may predict, if the variables distinguish these), u_t is 1 if
any row does: for integer z it is 1 then and may be 0 otherwise, so it need not be integer. A leaf that no row reaches
does not count. Rows of the data are counted, whatever their weights.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.constraint import count_bound
from odtc.problem.constraints.kind import Constraint, Knows, Subject, Terms
from odtc.problem.expressions import Expression, Need, Statement, needed, stated
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis, route_of
from odtc.trees.heap_tree import HeapTree, with_min_leaf_rows

NAME = "leaf_rows"
SUMMARY = "leaf_rows >= N: at least N rows of the data in every leaf; 0.05 or 5% is a share of the rows"
OPS = (">=",)
SUBJECT = Subject.LEAF_ROWS
KNOWS = Knows.LEAF
NEEDS = ((Need(Statement.ENDS, "leaves"),),)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    if 0 < given.bound < 1:  # a share of the rows
        given = replace(given, bound=Fraction(ceil(given.bound * int(encoded.copies.sum()))))
    if given.bound > (rows := int(encoded.copies.sum())):
        raise ChoiceError(
            f"expected at most the {rows} rows of the data in {str(given)!r}: no tree has that many in a leaf"
        )
    return count_bound(given, 0, "rows")


def early(given: Constraint) -> bool:
    return given.bound > 1


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.fewest_rows(encoded))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    z = needed(problem, model, Statement.ENDS, "leaves")
    t = z.nodes
    copies = np.bincount(route_of(problem), problem.encoded.copies)
    i, row, node = np.arange(len(copies))[:, None], Axis("row", len(copies)), node_axis(t)
    used = stated(problem, model, Statement.USED)
    fill = m.rows(f"fill{suffix}", node, lower=0)
    if used is None:
        used = Expression.of(m.columns(f"used{suffix}", node), "node")
        within = m.rows(f"within{suffix}", row, node, upper=0)
        used.add(m, within, (i, t), (t,), -1)
        z.add(m, within, (i, t), (i, t))
    z.add(m, fill, (t,), (i, t), copies[:, None])
    if given.bound:
        used.add(m, fill, (t,), (t,), -int(given.bound))


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if stated(problem, model, Statement.USED) is not None:
        return {}
    return {"used": needed(problem, model, Statement.ENDS, "leaves").value(point).max(axis=0)}


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that have a leaf of fewer rows, from the bottom up."""
    return with_min_leaf_rows(heap, encoded, int(given.bound))


def terms(encoded: Encoded, given: Constraint) -> Terms:
    least = np.full(len(encoded.classes), float(given.bound))
    return Terms(measures=((encoded.copies, least),)) if given.bound > 1 else Terms()


def tries(encoded: Encoded) -> list[str]:
    rows = int(encoded.copies.sum())
    return [f"{NAME} >= {least}" for most in (rows, rows // 2, rows // 3) for least in range(most + 1)]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(least_rows=int(given.bound))
