"""No node below a depth splits on this column of the data: Σ_{t deeper than N, f of the column} b_tf ≤ 0.

The root is at depth 0, its children are at depth 1.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_features import KNOWS, NEEDS, depth_bound, depths, early, mend, named, rows, terms
from odtc.trees.heap_tree import HeapTree

NAME = "deepest"
SUMMARY = "deepest[FEATURE] <= N: no node deeper than N splits on the column; the root is at depth 0"
OPS = ("<=",)
SUBJECT = Subject.DEPTHS


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return depth_bound(encoded, given)


def bars(encoded: Encoded, given: Constraint, level: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return np.isin(feature, named(encoded, given)) & (level > int(given.bound))


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(max(depths(encoded, given, heap), default=0))


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def allowed(split: int, above: tuple[int, ...]) -> bool:
        return feature_name(encoded, split) != given.args[0] or len(above) <= given.bound

    return Reference(allowed=allowed)
