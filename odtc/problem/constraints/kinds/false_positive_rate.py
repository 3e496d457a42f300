"""Limit on the false positive rate: at most this share of the rows of other classes is predicted as the class:

Σ_{i: y_i ≠ c} w_i [row i is predicted c] ≤ r (W - W_c).
"""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_classes
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, rows, values
from odtc.problem.constraints.rates import rate_of_class

NAME = "false_positive_rate"
SUMMARY = "false_positive_rate[CLASS] <= R: at most this share of the rows of other classes is predicted as the class"
OPS = ("<=",)
SUBJECT = Subject.RIGHT_OF_TWO


read, value, answers, proportions = rate_of_class(inside=False, said=True)


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
