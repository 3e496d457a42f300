"""At most this share of the rows is predicted as a class: Σ_i w_i [row i is predicted k] ≤ r Σ_i w_i."""

from fractions import Fraction
from math import floor

import numpy as np

from odtc.extend import ChoiceError, Constraint, Reference, Subject, klass, share
from odtc.problem.constraints.on_predictions import (  # noqa: F401  what is the same for all such kinds
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

TYPE = "constraint"
NAME = "predicted_share"
SUMMARY = "predicted_share[CLASS] <= R: at most this share of the rows is predicted as a class"
OPS = ("<=",)
SUBJECT = Subject.PREDICTIONS


def read(encoded, given: Constraint) -> Constraint:
    if len(given.args) != 1 or given.args[0] not in encoded.classes:
        raise ChoiceError(f"expected {NAME}[CLASS] with one of {', '.join(encoded.classes)}, got {given}")
    return share(given)


def value(encoded, given: Constraint, heap) -> Fraction:
    said, weight = predicted(encoded, heap) == klass(encoded, given.args[0]), encoded.whole_weight
    return Fraction(int(weight[said].sum()), int(weight.sum()))


def answers(encoded, given: Constraint):
    # Σ_i w_i [row i is predicted k] ≤ R Σ_i w_i, in whole numbers
    weight = encoded.whole_weight
    coef = np.zeros((encoded.n_rows, len(encoded.classes)), weight.dtype)
    coef[:, klass(encoded, given.args[0])] = weight
    return [(coef, floor(given.bound * int(weight.sum())))]


def reference(encoded, given: Constraint) -> Reference:
    data, wanted = encoded.dataset, encoded.classes.index(given.args[0])

    def satisfied(classes) -> bool:
        weights = [Fraction(repr(w)) for w in data.weight.tolist()]
        return sum(w for w, k in zip(weights, classes) if k == wanted) <= given.bound * sum(weights)

    return Reference(predictions=satisfied)
