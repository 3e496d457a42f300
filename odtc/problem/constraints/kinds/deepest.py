"""No node below a depth splits on this column of the data: Σ_{t deeper than N, f of the column} b_tf ≤ 0.

The root is at depth 0, its children are at depth 1.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.constraint import Constraint, split_variables
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_features import (
    NEEDS,
    asked,
    depth_bound,
    depths,
    named,
    of_columns,
    of_label,
)
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

NAME = "deepest"
SUMMARY = "deepest[FEATURE] <= N: no node deeper than N splits on the column; the root is at depth 0"
OPS = ("<=",)
SUBJECT = Subject.DEPTHS
KNOWS = Knows.TESTS


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return depth_bound(encoded, given)


def early(given: Constraint) -> bool:
    return True


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(max(depths(encoded, given, heap), default=0))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    t = problem.topology.branch_nodes
    deep = t[np.log2(t).astype(int) > int(given.bound)][:, None]
    labels = np.flatnonzero(np.isin(of_label(problem, model), named(problem.encoded, given, 1)))
    if len(deep) and len(labels):
        split_variables(problem, model).add(m, m.rows(f"deep{suffix}", upper=0), (), (deep, labels))


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without nodes that split on the column too deep, and without the nodes below them."""
    t = np.arange(len(heap.split))
    deep = np.log2(np.maximum(t, 1)).astype(int) > int(given.bound)
    wrong = deep & np.isin(asked(encoded, heap), named(encoded, given, 1))
    return settle(np.where(wrong, -1, heap.split), encoded, None, heap.beyond)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    mine = of_columns(encoded, named(encoded, given, 1))
    return Terms(levels=lambda depth: np.where(np.arange(depth)[:, None] > int(given.bound), ~mine, True))


def tries(encoded: Encoded) -> list[str]:
    return [f"{NAME}[{feature.name}] <= {depth}" for feature in encoded.features for depth in range(3)]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def allowed(split: int, above: tuple[int, ...]) -> bool:
        return feature_name(encoded, split) != given.args[0] or len(above) <= given.bound

    return Reference(allowed=allowed)
