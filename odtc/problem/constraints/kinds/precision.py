"""Precision of a class is at least this share: Σ_i w_i (r - [y_i = c]) [row i is predicted c] ≤ 0.

A tree that never predicts the class satisfies it, with precision 1. For r = a / b the constraint is written with a and
b, so that its coefficients are integers if the weights are.
"""

from fractions import Fraction

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_classes
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.problem.constraints.proportions import ShareSum, at_least
from odtc.problem.constraints.rates import counting, klass, lacking, of_class, one_class, part
from odtc.trees.heap_tree import HeapTree

NAME = "precision"
SUMMARY = "precision[CLASS] >= R: at least this share of the rows predicted as a class belongs to it, if there are any"
OPS = (">=",)
SUBJECT = Subject.RIGHT_OF_TWO


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return one_class(encoded, given, inside=True)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
    said = predicted(encoded, heap) == klass(encoded, given.args[0])
    share = part(encoded, said, of_class(encoded, given.args[0]))
    return Fraction(1) if share != share else share


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    lacks = lacking(encoded, given, of_class(encoded, given.args[0]))
    return [(counting(encoded, lacks, klass(encoded, given.args[0])), 0)]


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    k = klass(encoded, given.args[0])
    return [at_least(predicted == k, encoded.y == k, given.bound, f"that is predicted {encoded.classes[k]!r}")]


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
