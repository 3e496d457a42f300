"""At most N different splits are used, however often: y_f ≥ b_tf, Σ_f y_f ≤ N."""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, tried_counts
from odtc.problem.constraints.constraint import Constraint, cap_distinct, count_bound, distinct_values, least_missed
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.expressions import Need, Statement
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "splits"
SUMMARY = "splits <= N: the tree uses at most N different splits"
OPS = ("<=",)
SUBJECT = Subject.TESTS
KNOWS = Knows.TESTS
NEEDS = ((Need(Statement.SPLITS_ON, "branch_nodes"),),)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return count_bound(given, 0, "splits")


def groups(encoded: Encoded) -> np.ndarray:
    return np.arange(encoded.n_candidate_splits)


def early(given: Constraint) -> bool:
    return given.bound < 1


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(len(np.unique(heap.split[heap.split >= 0])))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    cap_distinct(problem, model, m, suffix, groups(problem.encoded), int(given.bound))


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return distinct_values(problem, model, point, groups(problem.encoded), int(given.bound))


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without the split, and its subtrees, whose removal costs least, one after another."""
    while value(encoded, given, heap) > given.bound:
        heap = least_missed(
            encoded, heap, [np.flatnonzero(heap.split == f) for f in np.unique(heap.split[heap.split >= 0])]
        )
    return heap


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(groups=(groups(encoded), int(given.bound)))


def tries(encoded: Encoded) -> list[str]:
    return tried_counts(NAME)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: len(splits) <= given.bound)
