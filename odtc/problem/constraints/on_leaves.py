"""Constraints on the rows and the prediction of a leaf: parts that their kinds share.

They are written with z_itk, "row i is predicted k at t". A leaf that no row reaches does not count. A kind that states
by `leaf_sums` that measures m_i of the rows of a leaf that predicts k sum to N or more has the rows

    Σ_i m_i z_itk ≥ N u_t;   z_itk ≤ u_t            t a node where rows end, i

where u_t is 1 if any row ends in t and is predicted k, so it need not be integer; u is left out for N = 0. A tree is
repaired by other labels: each leaf gets the cheapest class that it may predict.
"""

from typing import Any

import numpy as np

from odtc.base.whole_numbers import sums_of_whole
from odtc.data.encoding import Encoded
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Constraint, Knows, Terms
from odtc.problem.constraints.on_predictions import in_file, scale_in_file
from odtc.problem.constraints.search_units import fits, rounded_down
from odtc.problem.expressions import Expression, Need, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis
from odtc.trees.heap_tree import HeapTree, settle

KNOWS, NEEDS = Knows.LEAF, ((Need(Statement.PREDICTED, "leaves"),),)


def early(given: Constraint) -> bool:
    """Return True: a leaf of the last level may be forbidden, and the node above it be allowed to predict."""
    return True


def leaves_of(encoded: Encoded, heap: HeapTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (nodes int (leaves,), labels int (leaves,), leaf int (rows,)): the leaves that rows reach, and each
    row's."""
    at, of = np.unique(heap.reach(encoded.X), return_inverse=True)
    return at, heap.label[at].astype(int), of.ravel()


def summed(encoded: Encoded, heap: HeapTree, measure: np.ndarray) -> np.ndarray:
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


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    """Write the rows of a kind that states `leaf_sums`."""
    z, stated = ends(problem, model), given.module.leaf_sums(problem.encoded, given)
    t = z.nodes
    sums = m.rows(f"support{suffix}", Axis("sum", len(stated)), node_axis(t), lower=0)
    for number, (measure, k, least) in enumerate(stated):
        i = np.flatnonzero(measure)[:, None]
        z.add(m, sums, (number, t), (i, t, k), in_file(measure)[i])
        if least:
            m.add(sums[number, t], predicting(problem, model, m, k, suffix)[t], -least / scale_in_file(measure))


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns of `predicting` at a point of the formulation's columns."""
    found: dict[str, np.ndarray] = {}
    for _, k, least in given.module.leaf_sums(problem.encoded, given):
        found |= predicts(problem, model, k, point) if least else {}
    return found


def terms(encoded: Encoded, given: Constraint) -> Terms:
    """Return the sums over leaves. Large numbers are rounded so that no leaf that satisfies them is lost, and every
    tree is then checked."""
    found, rounded = [], False
    for measure, k, least in given.module.leaf_sums(encoded, given):
        if not fits(measure):
            (below, bound), rounded = rounded_down(-measure, -least), True
            measure, least = -below, -bound
        found.append((measure, np.where(np.arange(len(encoded.classes)) == k, float(least), -np.inf)))
    return Terms(measures=tuple(found), checked=rounded)


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree in which each leaf with a label that is not allowed has the cheapest allowed one, if any is."""
    stated = given.module.leaf_sums(encoded, given)

    def may(label: int, rows: np.ndarray) -> bool:
        return all(measure[rows].sum() >= least for measure, k, least in stated if k == label)

    at, labels, of = leaves_of(encoded, heap)
    label = heap.label.copy()
    for leaf, node in enumerate(at.tolist()):
        rows = of == leaf
        if may(int(labels[leaf]), rows):
            continue
        cost = encoded.loss[rows].sum(axis=0)
        label[node] = next((k for k in np.argsort(cost, kind="stable").tolist() if may(k, rows)), label[node])
    return settle(heap.split, encoded, label, heap.beyond)
