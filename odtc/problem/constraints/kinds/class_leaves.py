"""At most N leaves predict a class: z_itc ≤ u_t, Σ_t u_t ≤ N.

z_itc says whether row i ends in t and is predicted c, u_t whether any row does.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.kind import Constraint, Subject, Terms
from odtc.problem.constraints.on_leaves import KNOWS, NEEDS, early, leaves_of, predicting, predicts
from odtc.problem.constraints.rates import klass, named_class
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

NAME = "class_leaves"
SUMMARY = "class_leaves[CLASS] <= N: at most N leaves predict a class"
OPS = ("<=",)
SUBJECT = Subject.LEAVES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    named_class(encoded, given)
    if given.bound != int(given.bound) or given.bound < 0:
        raise ChoiceError(f"expected a whole number of leaves, 0 or more, got {str(given)!r}")
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float((leaves_of(encoded, heap)[1] == klass(encoded, given.args[0])).sum())


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    u = predicting(problem, model, m, klass(problem.encoded, given.args[0]), suffix)
    m.add(m.rows(f"predicted{suffix}", upper=int(given.bound))[()], u.all())


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return predicts(problem, model, klass(problem.encoded, given.args[0]), point)


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree with other labels at the leaves of the class where this costs least."""
    k = klass(encoded, given.args[0])
    while (over := value(encoded, given, heap) - given.bound) > 0 and len(encoded.classes) > 1:
        at, labels, of = leaves_of(encoded, heap)
        cost = np.array([encoded.loss[of == leaf].sum(axis=0) for leaf in range(len(at))])
        others = np.where(np.arange(len(encoded.classes)) == k, np.inf, cost)
        dearer = np.where(labels == k, others.min(axis=1) - cost[:, k], np.inf)
        changed, label = np.argsort(dearer, kind="stable")[: int(over)], heap.label.copy()
        label[at[changed]] = others[changed].argmin(axis=1)
        heap = settle(heap.split, encoded, label, heap.beyond)
    return heap


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(leaves=((klass(encoded, given.args[0]), int(given.bound)),))


def reference(encoded: Encoded, given: Constraint) -> Reference:
    k = encoded.classes.index(given.args[0])
    return Reference(leaves=lambda counts: counts[k] <= given.bound)
