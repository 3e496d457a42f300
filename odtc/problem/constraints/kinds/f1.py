"""The F1 score of a class is at least r: Σ_i w_i ((2 - r) [y_i = c] - r [y_i ≠ c]) [row i is predicted c] ≥ r W_c.

F1 is 2 TP / (2 TP + FP + FN), and TP + FN is the weight W_c of the rows of c, so the inequality is linear in the
predictions. A tree that never predicts the class has an F1 of 0.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import judged_rate, tried_classes
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
from odtc.problem.constraints.rates import counting, fraction_of, klass, of_class, one_class
from odtc.trees.heap_tree import HeapTree

NAME = "f1"
SUMMARY = "f1[CLASS] >= R: the F1 score of a class, 2 TP / (2 TP + FP + FN), is at least R"
OPS = (">=",)
SUBJECT = Subject.RIGHT_OF_TWO


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return one_class(encoded, given, inside=True)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    said = encoded.weight * (predicted(encoded, heap) == klass(encoded, given.args[0]))
    mine = of_class(encoded, given.args[0])
    return float(2 * said[mine].sum() / (said.sum() + encoded.weight[mine].sum()))


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, float]]:
    mine = of_class(encoded, given.args[0])
    part = fraction_of(given)
    a, b = float(part.numerator), float(part.denominator)
    coef = encoded.weight * np.where(mine, a - 2 * b, a)
    slack = (given.bound - given.limit) * b * encoded.weight.sum()
    return [(counting(encoded, coef, klass(encoded, given.args[0])), -a * float(encoded.weight[mine].sum()) + slack)]


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


judged = judged_rate
