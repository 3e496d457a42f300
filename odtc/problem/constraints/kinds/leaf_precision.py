"""In every leaf that predicts a class, at least this share of the rows is of that class, by weight.

    Σ_i w_i (r - [y_i = c]) z_itc ≤ 0            t a node where rows end

z_itc is 1 if row i ends in t and is predicted c. Without a class the constraint is for every class: each leaf is at
least this pure. For r = a / b the rows are written with a and b.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints.by_definition import Reference, exact, tried
from odtc.problem.constraints.kind import Constraint, ShareSum, Subject
from odtc.problem.constraints.on_leaves import KNOWS, NEEDS, early, leaves_of, mend, rows, summed, terms, values
from odtc.problem.constraints.rates import at_least, klass, lacking, share
from odtc.trees.heap_tree import HeapTree

NAME = "leaf_precision"
SUMMARY = "leaf_precision[CLASS] >= R: in every leaf that predicts a class (any, if none is named) this share is of it"
OPS = (">=",)
SUBJECT = Subject.LEAVES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    if len(given.args) > 1:
        example = replace(given, args=given.args[:1])
        raise ChoiceError(f"expected one class or none in {str(given)!r}; write for example {str(example)!r}")
    _classes(encoded, given)
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
    labels, shares = leaves_of(encoded, heap)[1], [Fraction(1)]
    weight = summed(encoded, heap, encoded.whole_weight)
    for k in _classes(encoded, given):
        own = summed(encoded, heap, encoded.whole_weight * (encoded.y == k))
        here = (labels == k) & (weight > 0)
        shares += map(Fraction, own[here].tolist(), weight[here].tolist())
    return min(shares)


def leaf_sums(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int, int]]:
    return [(-lacking(encoded, given, encoded.y == k), k, 0) for k in _classes(encoded, given)]


def _classes(encoded: Encoded, given: Constraint) -> list[int]:
    return [klass(encoded, name) for name in given.args] or list(range(len(encoded.classes)))


def leaf_proportions(
    encoded: Encoded, given: Constraint, predicted: np.ndarray, leaf: np.ndarray, labels: np.ndarray
) -> list[ShareSum]:
    named, right = _classes(encoded, given), predicted == encoded.y
    return [
        at_least(leaf == at, right, given.bound, f"in leaf {at + 1}, which predicts {encoded.classes[label]!r}")
        for at, label in enumerate(labels)
        if label in named
    ]


def tries(encoded: Encoded) -> list[str]:
    return [*tried(encoded, NAME, SUMMARY.replace("[CLASS]", "")), *tried(encoded, NAME, SUMMARY)]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    data = encoded.dataset
    truth, weight = data.y.tolist(), exact(data.weight.tolist())
    named = [encoded.classes.index(name) for name in given.args]

    def leaf(label: int, held: Sequence[int]) -> bool:
        own = sum(weight[row] for row in held if truth[row] == label)
        return bool(named and label not in named) or own >= given.bound * sum(weight[row] for row in held)

    return Reference(leaf=leaf)
