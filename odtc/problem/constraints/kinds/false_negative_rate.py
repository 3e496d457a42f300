"""Limit on the false negative rate: at most this share of the rows of a class is predicted as another class:

Σ_{i: y_i = c} w_i [row i is not predicted c] ≤ r W_c.
"""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_classes
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, rows, values
from odtc.problem.constraints.rates import rate_of_class

NAME = "false_negative_rate"
SUMMARY = "false_negative_rate[CLASS] <= R: at most this share of the rows of a class is predicted as another class"
OPS = ("<=",)
SUBJECT = Subject.RIGHT


read, value, answers, proportions = rate_of_class(inside=True, said=False)


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
