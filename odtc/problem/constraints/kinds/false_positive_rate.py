"""Limit on the false positive rate: at most this share of the rows of other classes is predicted as the class:

Σ_{i: y_i ≠ c} w_i [row i is predicted c] ≤ r (W - W_c).
"""

from fractions import Fraction
from math import floor

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_classes
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import (  # noqa: F401
    KNOWS,
    NEEDS,
    early,
    knows,
    mend,
    needs,
    predicted,
    rows,
    values,
)
from odtc.problem.constraints.proportions import ShareSum, at_most
from odtc.problem.constraints.rates import class_words, counting, klass, of_class, one_class, part
from odtc.trees.heap_tree import HeapTree

NAME = "false_positive_rate"
SUMMARY = "false_positive_rate[CLASS] <= R: at most this share of the rows of other classes is predicted as the class"
OPS = ("<=",)
SUBJECT = Subject.RIGHT_OF_TWO


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return one_class(encoded, given, inside=False)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
    return part(encoded, ~of_class(encoded, given.args[0]), predicted(encoded, heap) == klass(encoded, given.args[0]))


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    other = encoded.whole_weight * ~of_class(encoded, given.args[0])
    return [(counting(encoded, other, klass(encoded, given.args[0])), floor(given.bound * int(other.sum())))]


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    k = klass(encoded, given.args[0])
    return [at_most(encoded.y != k, predicted == k, given.bound, class_words(encoded, k, False))]


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
