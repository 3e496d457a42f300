"""Of the rows of other classes at most this share is predicted as the class: Σ_{i: y_i ≠ c} w_i [row i is predicted c] ≤ r (W - W_c)."""

import numpy as np

from odtc.answered import HINT, KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values  # noqa: F401
from odtc.constraint import Constraint
from odtc.heap import HeapTree
from odtc.rate import counting, klass, of_class, one_class

NAME = "false_positive_rate"
SUMMARY = "false_positive_rate[CLASS] <= R: of the rows of other classes at most this share is predicted as the class"
OPS = ("<=",)


def read(encoded, given: Constraint) -> Constraint:
    return one_class(encoded, given, inside=False)


def value(encoded, given: Constraint, heap: HeapTree) -> float:
    other, k = ~of_class(encoded, given.args[0]), klass(encoded, given.args[0])
    return float(encoded.weight[other & (predicted(encoded, heap) == k)].sum() / encoded.weight[other].sum())


def answers(encoded, given: Constraint) -> list[tuple[np.ndarray, float]]:
    other = encoded.weight * ~of_class(encoded, given.args[0])
    return [(counting(encoded, other, klass(encoded, given.args[0])), given.limit * other.sum())]
