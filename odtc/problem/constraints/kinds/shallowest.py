"""No node above a depth splits on this column; the root is at depth 0, its children are at depth 1.

The constraint is about the final tree: nodes that separate no rows are removed, which moves the nodes below them up.
No constraint of a model expresses this, so only the built-in search supports this kind: it splits on the column at the
levels N, N + 1, … and every leaf has a row.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint
from odtc.problem.constraints.on_features import depth_bound, depths, early, mend, named, terms
from odtc.problem.constraints.searched_only import KNOWS, NEEDS, SUBJECT, rows
from odtc.trees.heap_tree import HeapTree

NAME = "shallowest"
SUMMARY = "shallowest[FEATURE] >= N: no node above depth N splits on the column; the root is at depth 0"
OPS = (">=",)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return depth_bound(encoded, given)


def bars(encoded: Encoded, given: Constraint, level: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return np.isin(feature, named(encoded, given)) & (level < int(given.bound))


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(min(depths(encoded, given, heap), default=int(given.bound)))


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def allowed(split: int, above: tuple[int, ...]) -> bool:
        return feature_name(encoded, split) != given.args[0] or len(above) >= given.bound

    return Reference(allowed=allowed)
