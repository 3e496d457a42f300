"""The F1 score of a class is at least r: Σ_i w_i ((2 - r) [y_i = c] - r [y_i ≠ c]) [row i is predicted c] ≥ r W_c.

F1 is 2 TP / (2 TP + FP + FN), and TP + FN is the weight W_c of the rows of c, so the inequality is linear in the
predictions. A tree that never predicts the class has an F1 of 0.
"""

from fractions import Fraction

import numpy as np

from odtc.base.whole_numbers import product
from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_classes
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.problem.constraints.rates import attainable, counting, klass, of_class, one_class
from odtc.trees.heap_tree import HeapTree

NAME = "f1"
SUMMARY = "f1[CLASS] >= R: the F1 score of a class, 2 TP / (2 TP + FP + FN), is at least R"
OPS = (">=",)
SUBJECT = Subject.RIGHT_OF_TWO


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return one_class(encoded, given, inside=True)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
    weight, mine = encoded.whole_weight, of_class(encoded, given.args[0])
    said = predicted(encoded, heap) == klass(encoded, given.args[0])
    counted = int(weight[said].sum()) + int(weight[mine].sum())
    return Fraction(2 * int(weight[said & mine].sum()), counted) if counted else np.nan


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    mine = of_class(encoded, given.args[0])
    weight, (a, b) = attainable(encoded, given, 2)
    coef = product(weight, np.array([a, a - 2 * b], object)[mine.astype(int)])
    return [(counting(encoded, coef, klass(encoded, given.args[0])), -a * int(weight[mine].sum()))]


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
