"""The root splits on none of these columns: Σ_f b_1f ≤ 0 over their splits. A tree of one leaf satisfies it."""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_features import KNOWS, NEEDS, early, mend, named, rows, terms, value

NAME = "forbid_root"
SUMMARY = "forbid_root[FEATURE,…]: the root splits on none of these columns of the data"
OPS = ()
SUBJECT = Subject.PLACES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    named(encoded, given)
    return given


def bars(encoded: Encoded, given: Constraint, level: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return np.isin(feature, named(encoded, given)) & (level == 0)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(allowed=lambda split, above: bool(above) or feature_name(encoded, split) not in given.args)
