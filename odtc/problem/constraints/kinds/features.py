"""Limit on the number of columns of the data that the tree splits on: y_j ≥ Σ_{f of j} b_tf, Σ_j y_j ≤ N.

If a constraint is about columns, the encoding keeps splits on two columns that separate the rows alike.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.constraint import count_bound
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_features import single
from odtc.problem.constraints.on_groups import KNOWS, NEEDS, early, mend, rows, terms, value, values

NAME = "features"
SUMMARY = "features <= N: the tree splits on at most N columns of the data"
OPS = ("<=",)
SUBJECT = Subject.FEATURES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    single(encoded, given)
    return count_bound(given, 0, "columns of the data")


def groups(encoded: Encoded, given: Constraint, split: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return feature


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: len({feature_name(encoded, split) for split in splits}) <= given.bound)
