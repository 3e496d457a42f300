"""Limit on the number of columns of the data that the tree splits on: y_j ≥ Σ_{f of j} b_tf, Σ_j y_j ≤ N.

If a constraint is about columns, the encoding keeps splits on two columns that separate the rows alike.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.data.splits import Splits
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, feature_name, tried_counts
from odtc.problem.constraints.constraint import Constraint, cap_distinct, count_bound, distinct_values, least_missed
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_features import NEEDS, asked, of_label, single
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "features"
SUMMARY = "features <= N: the tree splits on at most N columns of the data"
OPS = ("<=",)
SUBJECT = Subject.FEATURES
KNOWS = Knows.TESTS


def read(encoded: Encoded, given: Constraint) -> Constraint:
    single(encoded, given)
    return count_bound(given, 0, "columns of the data")


def groups(encoded: Encoded) -> np.ndarray:
    return np.unique(Splits.of(encoded.splits).first_feature, return_inverse=True)[1].ravel()


def early(given: Constraint) -> bool:
    return given.bound < 1


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(len(set(asked(encoded, heap).tolist()) - {-1}))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    cap_distinct(problem, model, m, suffix, _group(problem, model), int(given.bound))


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return distinct_values(problem, model, point, _group(problem, model), int(given.bound))


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without the column whose removal costs least, one column after another."""
    while value(encoded, given, heap) > given.bound:
        of = asked(encoded, heap)
        heap = least_missed(encoded, heap, [np.flatnonzero(of == j) for j in np.unique(of[of >= 0])])
    return heap


def _group(problem: Problem, model: Model) -> np.ndarray:
    """Return the number, from 0, of the column of the data of each split, or each scale."""
    return np.unique(of_label(problem, model), return_inverse=True)[1]


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(groups=(groups(encoded), int(given.bound)))


def tries(encoded: Encoded) -> list[str]:
    return tried_counts(NAME)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: len({feature_name(encoded, split) for split in splits}) <= given.bound)
