"""Limit on the cost of misclassifications: Σ_i w_i cost[y_i, predicted class of i] ≤ C.

The costs are set by --cost and --class-weight, or 1 for every error. With a penalty for branch nodes, or another
objective, this is an additional limit.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints.by_definition import Reference, exact
from odtc.problem.constraints.constraint import expect_no_arguments
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.trees.heap_tree import HeapTree

NAME = "cost"
SUMMARY = "cost <= C: all misclassifications together cost at most C"
OPS = ("<=",)
SUBJECT = Subject.RIGHT_OF_TWO


def read(encoded: Encoded, given: Constraint) -> Constraint:
    expect_no_arguments(given)
    if given.bound < 0:
        raise ChoiceError(f"expected a cost of 0 or more, got {str(given)!r}")
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
    loss, unit = encoded.whole_loss
    return int(loss[np.arange(encoded.n_rows), predicted(encoded, heap)].sum()) * unit


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    loss, unit = encoded.whole_loss
    return [(loss, floor(given.bound / unit))]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    data, price = encoded.dataset, [exact(line) for line in encoded.cost.tolist()]
    truth, weight = data.y.tolist(), exact(data.weight.tolist())

    def holds(predicted: Sequence[int]) -> bool:
        return sum(w * price[t][p] for w, t, p in zip(weight, truth, predicted)) <= given.bound

    return Reference(predictions=holds)
