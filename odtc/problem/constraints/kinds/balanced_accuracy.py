"""The mean recall of the K classes that have rows is at least R: Σ_i (w_i / W_{y_i}) [row i is right] ≥ R K."""

from fractions import Fraction
from math import ceil, lcm

import numpy as np

from odtc.base.whole_numbers import product, sums_of_whole
from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_shares
from odtc.problem.constraints.constraint import Constraint, expect_no_arguments
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.problem.constraints.proportions import Share, ShareSum
from odtc.problem.constraints.rates import class_words, share
from odtc.trees.heap_tree import HeapTree

NAME = "balanced_accuracy"
SUMMARY = "balanced_accuracy >= R: the mean recall of the classes is at least R"
OPS = (">=",)
SUBJECT = Subject.RIGHT


def read(encoded: Encoded, given: Constraint) -> Constraint:
    expect_no_arguments(given)
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
    right = _totals(encoded, predicted(encoded, heap) == encoded.y)
    recalls = [Fraction(part, total) for part, total in zip(right, _totals(encoded)) if total]
    return sum(recalls, Fraction(0)) / len(recalls)


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    total = _totals(encoded)
    heavy = [weight for weight in total if weight]
    scale = lcm(*heavy)
    each = np.array([scale // weight if weight else 0 for weight in total], object)
    right = encoded.y[:, None] == np.arange(len(encoded.classes))
    coef = product(encoded.whole_weight, each[encoded.y])
    return [(-coef[:, None] * right, -ceil(given.bound * scale * len(heavy)))]


def _totals(encoded: Encoded, among: np.ndarray | bool = True) -> list[int]:
    """Return the weight of the rows of each class among `among`, bool (rows,), in the unit of `whole_weight`."""
    found: list[int] = sums_of_whole(encoded.y, encoded.whole_weight * among, len(encoded.classes)).tolist()
    return found


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    K, right = len(encoded.classes), predicted == encoded.y  # of a class without rows here new rows may have some
    shares = (Share(-1.0 / K, encoded.y == k, right, class_words(encoded, k)) for k in range(K))
    return [ShareSum(tuple(shares), -float(given.bound))]


def tries(encoded: Encoded) -> list[str]:
    return tried_shares(NAME, OPS[0])


reference = rate_reference
