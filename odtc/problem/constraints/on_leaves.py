"""Constraints on the rows and the prediction of a leaf: parts that their kinds share.

They are written with "row i is predicted k at t". A leaf that no row reaches does not count. A tree is repaired by
other labels: each leaf gets the cheapest class that it may predict.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from odtc.base.whole_numbers import sums_of_whole
from odtc.data.encoding import Encoded
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.expressions import Expression, Need, Needs, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis
from odtc.trees.heap_tree import HeapTree, settle

NEEDS: Needs = ((Need(Statement.PREDICTED, "leaves"),),)


def early(given: Constraint) -> bool:
    """Return True: a leaf of the last level may be forbidden, and the node above it be allowed to predict."""
    return True


def leaves_of(encoded: Encoded, heap: HeapTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (nodes int (leaves,), labels int (leaves,), leaf int (rows,)): the leaves that rows reach, and each
    row's."""
    at, of = np.unique(heap.reach(encoded.X), return_inverse=True)
    return at, heap.label[at].astype(int), of.ravel()


def held(encoded: Encoded, heap: HeapTree, measure: np.ndarray) -> np.ndarray:
    """Return whole numbers (leaves,): the sums of a measure (rows,) over the leaves of `leaves_of`."""
    at, _, of = leaves_of(encoded, heap)
    return sums_of_whole(of, measure, len(at))


def ends(problem: Problem, model: Model) -> Expression:
    """Return the expression for "row i is predicted k at t", [row, node, class]."""
    return needed(problem, model, Statement.PREDICTED, "leaves")


def predicting(problem: Problem, model: Model, m: ModelBuilder, k: int, suffix: str) -> Block:
    """Add own columns u_t, 1 if a row ends in t and is predicted class k: z_itk ≤ u_t for each row i."""
    z = ends(problem, model)
    t, n = z.nodes, z.axis("row").size
    u = m.columns(f"predicts{suffix}", node_axis(t))
    within = m.rows(f"reached{suffix}", Axis("row", n), node_axis(t), upper=0)
    i = np.arange(n)[:, None]
    z.add(m, within, (i, t), (i, t, k))
    m.add(within[i, t], u[t], -1)
    return u


def predicts(problem: Problem, model: Model, k: int, point: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the columns of `predicting` at a point of the formulation's columns."""
    return {"predicts": ends(problem, model).value(point)[:, :, k].max(axis=0)}


def relabelled(encoded: Encoded, heap: HeapTree, may: Callable[[int, np.ndarray], bool]) -> HeapTree:
    """Return the tree in which each leaf with a label that is not allowed has the cheapest allowed one; may(class,
    rows bool)."""
    at, labels, of = leaves_of(encoded, heap)
    label = heap.label.copy()
    for leaf, node in enumerate(at.tolist()):
        rows = of == leaf
        if may(int(labels[leaf]), rows):
            continue
        cost = encoded.loss[rows].sum(axis=0)
        label[node] = next((k for k in np.argsort(cost, kind="stable").tolist() if may(k, rows)), label[node])
    return settle(heap.split, encoded, label, heap.beyond)
