"""A tree splits on at most one of these columns of the data: y_j ≥ Σ_{f of j} b_tf, Σ_j y_j ≤ 1 over these columns j.

If a constraint is about columns, the encoding keeps splits on two columns that separate the rows alike.
"""

from itertools import combinations
from typing import Any

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.constraint import Constraint, cap_distinct, distinct_values, least_missed
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_features import NEEDS, asked, of_columns, of_label, two_columns
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "never_together"
SUMMARY = "never_together[FEATURE,FEATURE,…]: a tree splits on at most one of these columns of the data"
OPS = ()
SUBJECT = Subject.FEATURES
KNOWS = Knows.TESTS


def read(encoded: Encoded, given: Constraint) -> Constraint:
    two_columns(encoded, given)
    return given


def early(given: Constraint) -> bool:
    return False


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(max(0, len(_asked(encoded, given, heap)) - 1))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    group = _group(problem, model, given)
    if group.max(initial=-1) > 0:
        cap_distinct(problem, model, m, suffix, group, 1)


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    group = _group(problem, model, given)
    return distinct_values(problem, model, point, group, 1) if group.max(initial=-1) > 0 else {}


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without the one of these columns whose removal costs least, one column after another."""
    while len(mine := _asked(encoded, given, heap)) > 1:
        of = asked(encoded, heap)
        heap = least_missed(encoded, heap, [np.flatnonzero(of == j) for j in mine])
    return heap


def terms(encoded: Encoded, given: Constraint) -> Terms:
    sides = [of_columns(encoded, [feature]) for feature in two_columns(encoded, given)]
    return Terms(apart=tuple(combinations([side for side in sides if side.any()], 2)))


def _asked(encoded: Encoded, given: Constraint, heap: HeapTree) -> list[int]:
    """Return those of these columns that the tree splits on."""
    return [feature for feature in two_columns(encoded, given) if feature in asked(encoded, heap)]


def _group(problem: Problem, model: Model, given: Constraint) -> np.ndarray:
    """Return int64 (splits,) or (scales,): the number, from 0, of the column of each; -1 for other columns."""
    of, mine = of_label(problem, model), two_columns(problem.encoded, given)
    there = [feature for feature in mine if (of == feature).any()]
    return np.array([there.index(feature) if feature in there else -1 for feature in of.tolist()], int)


def tries(encoded: Encoded) -> list[str]:
    names = [feature.name for feature in encoded.features]
    pairs = [*combinations(names, 2), *combinations(names, 3)] or [(names[0], names[0])]
    return [f"{NAME}[{','.join(some)}]" for some in pairs]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def counts(n: int, splits: Any) -> bool:
        return len({feature_name(encoded, split) for split in splits} & set(given.args)) <= 1

    return Reference(counts=counts)
