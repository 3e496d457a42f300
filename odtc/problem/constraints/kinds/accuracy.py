"""Accuracy constraint: at least this share of the rows is classified correctly: Σ_i w_i [row i is correct] ≥ r Σ_i
w_i.

Rows count by weight, as errors do; the costs of errors do not matter.
"""

from fractions import Fraction
from math import ceil

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_shares
from odtc.problem.constraints.constraint import Constraint, expect_no_arguments
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.problem.constraints.proportions import ShareSum, at_least
from odtc.problem.constraints.rates import part, share
from odtc.trees.heap_tree import HeapTree

NAME = "accuracy"
SUMMARY = "accuracy >= R: at least this share of the rows is correct"
OPS = (">=",)
SUBJECT = Subject.RIGHT


def read(encoded: Encoded, given: Constraint) -> Constraint:
    expect_no_arguments(given)
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
    return part(encoded, np.ones(encoded.n_rows, bool), predicted(encoded, heap) == encoded.y)


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    right = encoded.y[:, None] == np.arange(len(encoded.classes))
    weight = encoded.whole_weight
    return [(-weight[:, None] * right, -ceil(given.bound * int(weight.sum())))]


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    return [at_least(np.ones(encoded.n_rows, bool), predicted == encoded.y, given.bound, "at all")]


def tries(encoded: Encoded) -> list[str]:
    return tried_shares(NAME, OPS[0])


reference = rate_reference
