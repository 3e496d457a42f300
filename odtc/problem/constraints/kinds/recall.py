"""Recall of a class is at least this share: Σ_{i: y_i = c} w_i [row i is predicted c] ≥ r W_c.

W_c is the weight of the rows of c. This equals a false negative rate of at most 1 - r.
"""

from fractions import Fraction
from math import ceil

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
from odtc.problem.constraints.proportions import ShareSum, at_least
from odtc.problem.constraints.rates import class_words, counting, klass, of_class, one_class, part
from odtc.trees.heap_tree import HeapTree

NAME = "recall"
SUMMARY = "recall[CLASS] >= R: at least this share of the rows of a class is predicted as the class"
OPS = (">=",)
SUBJECT = Subject.RIGHT


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return one_class(encoded, given, inside=True)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
    return part(encoded, of_class(encoded, given.args[0]), predicted(encoded, heap) == klass(encoded, given.args[0]))


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    mine = encoded.whole_weight * of_class(encoded, given.args[0])
    return [(counting(encoded, -mine, klass(encoded, given.args[0])), -ceil(given.bound * int(mine.sum())))]


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    k = klass(encoded, given.args[0])
    return [at_least(encoded.y == k, predicted == k, given.bound, class_words(encoded, k))]


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
