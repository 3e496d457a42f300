"""No node above a depth splits on this column; the root is at depth 0, its children are at depth 1.

The constraint is about the final tree: nodes that separate no rows are removed, which moves the nodes below them up.
No constraint of a model expresses this, so only the built-in search supports this kind: it splits on the column at the
levels N, N + 1, … and every leaf has a row.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_features import depth_bound, depths, named, of_columns
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "shallowest"
SUMMARY = "shallowest[FEATURE] >= N: no node above depth N splits on the column; the root is at depth 0"
OPS = (">=",)
SUBJECT = Subject.SETTLED
KNOWS = Knows.TESTS
NEEDS = ()


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return depth_bound(encoded, given)


def early(given: Constraint) -> bool:
    return True


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(min(depths(encoded, given, heap), default=int(given.bound)))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    raise NotImplementedError("odtc.problem.constraints.constraint.built refuses this kind")


def terms(encoded: Encoded, given: Constraint) -> Terms:
    mine = of_columns(encoded, named(encoded, given, 1))
    return Terms(levels=lambda depth: np.where(np.arange(depth)[:, None] < int(given.bound), ~mine, True))


def tries(encoded: Encoded) -> list[str]:
    return [f"{NAME}[{feature.name}] >= {depth}" for feature in encoded.features for depth in (0, 1, 2)]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def allowed(split: int, above: tuple[int, ...]) -> bool:
        return feature_name(encoded, split) != given.args[0] or len(above) >= given.bound

    return Reference(allowed=allowed)
