"""A tree splits on at most one of these columns of the data: y_j ≥ Σ_{f of j} b_tf, Σ_j y_j ≤ 1 over these columns j.

If a constraint is about columns, the encoding keeps splits on two columns that separate the rows alike.
"""

from typing import Any

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_features import two_columns
from odtc.problem.constraints.on_groups import KNOWS, NEEDS, early, mend, rows, terms, value, values

NAME = "never_together"
SUMMARY = "never_together[FEATURE,FEATURE,…]: a tree splits on at most one of these columns of the data"
OPS = ()
SUBJECT = Subject.FEATURES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    two_columns(encoded, given)
    return given


def groups(encoded: Encoded, given: Constraint, split: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return np.where(np.isin(feature, two_columns(encoded, given)), feature, -1)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def counts(n: int, splits: Any) -> bool:
        return len({feature_name(encoded, split) for split in splits} & set(given.args)) <= 1

    return Reference(counts=counts)
