"""No node that splits on the first column is below a node that splits on the second: Σ_{q of f} b_sq + Σ_{q of g} b_tq
≤ 1.

For every node s and every ancestor t of s. not_below[f,f] forbids two splits on f on a path.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_features import KNOWS, NEEDS, mend, named, rows, terms, value

NAME = "not_below"
SUMMARY = "not_below[F,G]: no node that splits on column F of the data is below a node that splits on column G"
OPS = ()
SUBJECT = Subject.PLACES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    named(encoded, given, 2)
    return given


def early(given: Constraint) -> bool:
    return given.args[0] == given.args[1]  # otherwise a tree can be filled up with the splits of its own nodes


def bars(encoded: Encoded, given: Constraint, level: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return np.zeros(np.broadcast(level, feature).shape, bool)


def below(encoded: Encoded, given: Constraint, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = named(encoded, given, 2)
    return feature == high, feature == low


def reference(encoded: Encoded, given: Constraint) -> Reference:
    low, high = given.args

    def allowed(split: int, above: tuple[int, ...]) -> bool:
        return feature_name(encoded, split) != low or high not in (feature_name(encoded, other) for other in above)

    return Reference(allowed=allowed)
