"""The root splits on none of these columns: Σ_f b_1f ≤ 0 over their splits. A tree of one leaf satisfies it."""

from itertools import product

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_features import NEEDS, asked, bar, named, of_columns, of_label, with_root
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "forbid_root"
SUMMARY = "forbid_root[FEATURE,…]: the root splits on none of these columns of the data"
OPS = ()
SUBJECT = Subject.PLACES
KNOWS = Knows.TESTS


def read(encoded: Encoded, given: Constraint) -> Constraint:
    named(encoded, given)
    return given


def early(given: Constraint) -> bool:
    return True


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(asked(encoded, heap)[1] in named(encoded, given))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    bar(problem, model, m, f"root{suffix}", np.isin(of_label(problem, model), named(problem.encoded, given)))


def bars(encoded: Encoded, given: Constraint) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    none = np.zeros(encoded.n_candidate_splits, bool)
    return of_columns(encoded, named(encoded, given)), none, none


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree with the best other split at the root."""
    return with_root(encoded, heap, ~of_columns(encoded, named(encoded, given)))


def tries(encoded: Encoded) -> list[str]:
    names = [feature.name for feature in encoded.features]
    return [f"{NAME}[{name}]" for name in names] + [f"{NAME}[{','.join(pair)}]" for pair in product(names, names)]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(allowed=lambda split, above: bool(above) or feature_name(encoded, split) not in given.args)
