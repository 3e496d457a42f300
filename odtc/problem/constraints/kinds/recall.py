"""Recall of a class is at least this share: Σ_{i: y_i = c} w_i [row i is predicted c] ≥ r W_c.

W_c is the weight of the rows of c. This equals a false negative rate of at most 1 - r.
"""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_classes
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, rows, values
from odtc.problem.constraints.rates import rate_of_class

NAME = "recall"
SUMMARY = "recall[CLASS] >= R: at least this share of the rows of a class is predicted as the class"
OPS = (">=",)
SUBJECT = Subject.RIGHT


read, value, answers, proportions = rate_of_class(inside=True, said=True)


def tries(encoded: Encoded) -> list[str]:
    return tried_classes(encoded, NAME, OPS[0])


reference = rate_reference
