"""At most N different splits are used, however often: y_f ≥ b_tf, Σ_f y_f ≤ N."""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.constraint import count_bound
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_groups import KNOWS, early, mend, rows, terms, value, values
from odtc.problem.expressions import Need, Statement

NAME = "splits"
SUMMARY = "splits <= N: the tree uses at most N different splits"
OPS = ("<=",)
SUBJECT = Subject.TESTS
NEEDS = ((Need(Statement.SPLITS_ON, "branch_nodes"),),)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return count_bound(given, 0, "splits")


def groups(encoded: Encoded, given: Constraint, split: np.ndarray, feature: np.ndarray) -> np.ndarray:
    return split


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: len(splits) <= given.bound)
