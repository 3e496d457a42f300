"""In every leaf that predicts a class, at least this share of the rows is of that class, by weight.

    Σ_i w_i (r - [y_i = c]) z_itc ≤ 0            t a node where rows end

z_itc is 1 if row i ends in t and is predicted c. Without a class the constraint is for every class: each leaf is at
least this pure. For r = a / b the rows are written with a and b.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import BOUNDS, Reference, exact
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_leaves import NEEDS, early, ends, held, leaves_of, relabelled
from odtc.problem.constraints.on_predictions import Knows, in_file
from odtc.problem.constraints.proportions import ShareSum, at_least
from odtc.problem.constraints.rates import klass, lacking, share
from odtc.problem.constraints.search_units import fits, rounded_down
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis, nodes
from odtc.trees.heap_tree import HeapTree

NAME = "leaf_precision"
SUMMARY = "leaf_precision[CLASS] >= R: in every leaf that predicts a class (any, if none is named) this share is of it"
OPS = (">=",)
SUBJECT = Subject.LEAVES
KNOWS = Knows.LEAF


def read(encoded: Encoded, given: Constraint) -> Constraint:
    if len(given.args) > 1:
        example = replace(given, args=given.args[:1])
        raise ChoiceError(f"expected one class or none in {str(given)!r}; write for example {str(example)!r}")
    _classes(encoded, given)
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
    labels, shares = leaves_of(encoded, heap)[1], [Fraction(1)]
    weight = held(encoded, heap, encoded.whole_weight)
    for k in _classes(encoded, given):
        own = held(encoded, heap, encoded.whole_weight * (encoded.y == k))
        here = (labels == k) & (weight > 0)
        shares += map(Fraction, own[here].tolist(), weight[here].tolist())
    return min(shares)


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    encoded, z = problem.encoded, ends(problem, model)
    t, classes = z.nodes, _classes(encoded, given)
    pure = m.rows(f"pure{suffix}", Axis("named", len(classes)), node_axis(t), upper=0)
    for place, k in enumerate(classes):
        lacks = lacking(encoded, given, encoded.y == k)
        i = np.flatnonzero(lacks)[:, None]
        z.add(m, pure, (place, t), (i, t, k), in_file(lacks)[i])


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree with other labels at leaves that are less pure."""
    named = _classes(encoded, given)

    def may(label: int, rows: Any) -> Any:
        weight = encoded.whole_weight[rows]
        own = int(weight[encoded.y[rows] == label].sum())
        return label not in named or own >= given.bound * int(weight.sum())

    return relabelled(encoded, heap, may)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    found, rounded = [], False
    for k in _classes(encoded, given):
        lacks = lacking(encoded, given, encoded.y == k)
        if not fits(lacks):  # no leaf that satisfies it is lost, and every tree is checked
            lacks, rounded = rounded_down(lacks, 0)[0], True
        found.append((-lacks, np.where(np.arange(len(encoded.classes)) == k, 0.0, -np.inf)))
    return Terms(measures=tuple(found), checked=rounded)


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
    return [f"{NAME}{name} >= {bound}" for name in ["", *(f"[{c}]" for c in encoded.classes)] for bound in BOUNDS]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    data = encoded.dataset
    truth, weight = data.y.tolist(), exact(data.weight.tolist())
    named = [encoded.classes.index(name) for name in given.args]

    def leaf(label: int, rows: Sequence[int]) -> bool:
        own = sum(weight[row] for row in rows if truth[row] == label)
        return bool(named and label not in named) or own >= given.bound * sum(weight[row] for row in rows)

    return Reference(leaf=leaf)
