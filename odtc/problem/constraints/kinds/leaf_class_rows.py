"""Every leaf that predicts a class has at least N rows of the data of this class.

    Σ_{i of c} copies_i z_itc ≥ N u_t;   z_itc ≤ u_t            t a node where rows end, i

z_itc is 1 if row i ends in t and is predicted c, u_t if any row does, so it need not be integer. Rows of the data are
counted, whatever their weights.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.groups import rarest
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_leaves import (
    NEEDS,
    early,
    ends,
    held,
    leaves_of,
    predicting,
    predicts,
    relabelled,
)
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.rates import klass, of_class
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis, nodes
from odtc.trees.heap_tree import HeapTree

NAME = "leaf_class_rows"
SUMMARY = "leaf_class_rows[CLASS] >= N: at least N rows of a class in every leaf that predicts it"
OPS = (">=",)
SUBJECT = Subject.LEAVES
KNOWS = Knows.LEAF


def read(encoded: Encoded, given: Constraint) -> Constraint:
    if len(given.args) != 1:
        raise ChoiceError(
            f"expected {NAME}[CLASS] >= N, one of {', '.join(encoded.classes)}, got {str(given)!r}; write for example "
            f"'{NAME}[{rarest(encoded)}] >= 5'"
        )
    klass(encoded, given.args[0])
    rows = int(encoded.copies.sum())  # more than the class has is kept by trees that never predict it
    if given.bound != int(given.bound) or not 0 <= given.bound <= rows:
        raise ChoiceError(
            f"expected a whole number up to the {rows:,} rows of the data in {str(given)!r}, got {float(given.bound):g}"
        )
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    labels = leaves_of(encoded, heap)[1]
    found = held(encoded, heap, _measure(encoded, given))[labels == klass(encoded, given.args[0])]
    return float(found.min()) if len(found) else max(float(given.bound), float(_measure(encoded, given).sum()))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    encoded, z = problem.encoded, ends(problem, model)
    k, t = klass(encoded, given.args[0]), z.nodes
    u = predicting(problem, model, m, k, suffix)
    of = np.flatnonzero(of_class(encoded, given.args[0]))[:, None]
    fill = m.rows(f"support{suffix}", node_axis(t), lower=0)
    z.add(m, fill, (t,), (of, t, k), encoded.copies[of])
    if given.bound:
        m.add(fill[t], u[t], -int(given.bound))


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return predicts(problem, model, klass(problem.encoded, given.args[0]), point)


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree with other labels at leaves with fewer rows."""
    k, measure = klass(encoded, given.args[0]), _measure(encoded, given)
    return relabelled(encoded, heap, lambda label, rows: label != k or measure[rows].sum() >= given.bound)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    least = np.where(np.arange(len(encoded.classes)) == klass(encoded, given.args[0]), float(given.bound), -np.inf)
    return Terms(measures=((_measure(encoded, given), least),))


def _measure(encoded: Encoded, given: Constraint) -> np.ndarray:
    """Return int64 (rows,): the rows of the data of the class."""
    return (encoded.copies * of_class(encoded, given.args[0])).astype(np.int64)


def tries(encoded: Encoded) -> list[str]:
    return [f"{NAME}[{name}] >= {least}" for name in encoded.classes for least in range(5)]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    truth, k = encoded.dataset.y.tolist(), encoded.classes.index(given.args[0])
    return Reference(leaf=lambda label, rows: label != k or sum(truth[row] == k for row in rows) >= given.bound)
