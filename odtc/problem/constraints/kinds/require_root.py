"""The root splits on one of these columns: Σ_f b_1f ≤ 0 over the splits on all others. A tree of one leaf, whose root
has no split, satisfies it."""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_features import KNOWS, NEEDS, early, mend, named, of_columns, rows, terms, value

NAME = "require_root"
SUMMARY = "require_root[FEATURE,…]: the root splits on one of these columns of the data, if it is a branch node"
OPS = ()
SUBJECT = Subject.PLACES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    if not of_columns(encoded, named(encoded, given)).any():
        raise ChoiceError(
            f"expected {str(given)!r} to name a column that can be split on, got only columns without a split in the "
            f"encoding {encoded.scheme!r} (they are constant, or part the rows as others do)"
        )
    return given


def bars(encoded: Encoded, given: Constraint, level: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return ~np.isin(feature, named(encoded, given)) & (level == 0)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(allowed=lambda split, above: bool(above) or feature_name(encoded, split) in given.args)
