"""The mean recall of the K classes that have rows is at least R: Σ_i (w_i / W_{y_i}) [row i is right] ≥ R K."""

from math import lcm

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import judged_rate, tried_shares
from odtc.problem.constraints.constraint import Constraint, expect_no_arguments
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
from odtc.problem.constraints.proportions import Share, ShareSum
from odtc.problem.constraints.rates import class_words, share
from odtc.trees.heap_tree import HeapTree

NAME = "balanced_accuracy"
SUMMARY = "balanced_accuracy >= R: the mean recall of the classes is at least R"
OPS = (">=",)
SUBJECT = Subject.RIGHT
MOST_SCALE = 1e9  # weights of classes with a smaller common multiple give whole coefficients


def read(encoded: Encoded, given: Constraint) -> Constraint:
    expect_no_arguments(given)
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    total = _totals(encoded)
    right = np.bincount(encoded.y, encoded.weight * (predicted(encoded, heap) == encoded.y), len(total))
    return float((right[total > 0] / total[total > 0]).mean())


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, float]]:
    total = _totals(encoded)
    heavy = total[total > 0]
    scale = float(lcm(*map(int, heavy))) if (heavy == np.rint(heavy)).all() else np.inf
    scale = scale if scale <= MOST_SCALE else 1.0
    each = np.divide(scale, total, out=np.zeros_like(total), where=total > 0)
    right = encoded.y[:, None] == np.arange(len(encoded.classes))
    return [(-(encoded.weight * each[encoded.y])[:, None] * right, -given.limit * scale * len(heavy))]


def _totals(encoded: Encoded) -> np.ndarray:
    """float64 (classes,): the weight of the rows of each class."""
    return np.bincount(encoded.y, encoded.weight, len(encoded.classes))


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    K, right = len(encoded.classes), predicted == encoded.y  # of a class without rows here new rows may have some
    shares = (Share(-1.0 / K, encoded.y == k, right, class_words(encoded, k)) for k in range(K))
    return [ShareSum(tuple(shares), -given.bound)]


def tries(encoded: Encoded) -> list[str]:
    return tried_shares(NAME, OPS[0])


judged = judged_rate
