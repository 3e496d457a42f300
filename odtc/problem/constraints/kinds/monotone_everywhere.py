"""Monotone predictions on all inputs: if any two inputs differ only in a column, and the one with the smaller number
is predicted as the class, so is the other, also for inputs that are not in the data.

The constraint is about the final tree without nodes that separate no rows (odtc.trees.monotone_order compares its
leaves). No constraint of a model expresses which node separates rows, so only the built-in search supports this kind,
by a check of every candidate tree. `monotone` is the version for rows of the data, which models can express.
"""

import itertools
import math
from typing import Any

from odtc.data.dataset import NUMERIC
from odtc.data.encoding import Encoded
from odtc.data.splits import Subset, Threshold
from odtc.errors import ChoiceError
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.kind import Constraint, Knows
from odtc.problem.constraints.on_features import feature_of, single
from odtc.problem.constraints.rates import positive_of
from odtc.problem.constraints.searched_only import NEEDS, SUBJECT, early, rows
from odtc.trees.heap_tree import HeapTree
from odtc.trees.monotone_order import falling_pairs
from odtc.trees.tree import Branch, Leaf

NAME = "monotone_everywhere"
SUMMARY = (
    "monotone_everywhere[FEATURE,positive=CLASS]: of any two inputs that differ only in this column, the one with the "
    "greater number is predicted as the class if the other is"
)
OPS = ()
KNOWS = Knows.CLASS
HINT = "monotone[FEATURE,positive=CLASS] requires it only for the rows of the data, which a model can express"


def read(encoded: Encoded, given: Constraint) -> Constraint:
    single(encoded, given)
    positive_of(encoded, given)
    place = feature_of(encoded, given, given.args[0])
    sets = [split for split in encoded.splits if isinstance(split, Subset) and split.features == (place,)]
    if encoded.features[place].kind != NUMERIC or sets:
        raise ChoiceError(
            f"expected {str(given)!r} to name a column of numbers that is encoded by thresholds, got {given.args[0]!r}"
            + (", whose numbers have a split each" if sets and encoded.features[place].kind == NUMERIC else "")
        )
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    def node(t: int) -> Branch | Leaf:
        if heap.split[t] < 0:
            return Leaf(int(heap.label[t]))
        split, ones_left = heap.split_at(t, encoded)
        zero, one = node(2 * t), node(2 * t + 1)
        return Branch(split, *((one, zero) if ones_left else (zero, one)))

    place = feature_of(encoded, given, given.args[0])
    falling = falling_pairs(node(1), encoded.features, place, positive_of(encoded, given))
    return float("inf") if falling is None else float(falling)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    """Return the reference: compare inputs with, in each column that the tree splits on, a number on either side of
    every threshold, every level, an unknown level, and a missing cell."""
    place = [feature.name for feature in encoded.features].index(given.args[0])
    positive = encoded.classes.index(given.args[1].partition("=")[2])

    def cells(column: int) -> list[float]:
        if encoded.features[column].kind != NUMERIC:
            return [*range(-1, len(encoded.features[column].levels)), math.nan]
        cuts = {
            split.threshold for split in encoded.splits if isinstance(split, Threshold) and split.features == (column,)
        }
        return [*sorted(cuts), math.inf, math.nan]

    def answer(candidate: int, inputs: dict[int, float]) -> bool:
        split = encoded.splits[candidate]
        cell = inputs[split.features[0]]
        if isinstance(split, Threshold):
            left = cell <= split.threshold
        elif isinstance(split, Subset):
            left = cell in split.values
        else:
            left = cell != cell
        return left == bool(encoded.ones_left[candidate])

    def asked(shape: Any) -> set[int]:
        if isinstance(shape, int):
            return set()
        return {encoded.splits[shape[0]].features[0]} | asked(shape[1]) | asked(shape[2])

    def said(shape: Any, inputs: dict[int, float]) -> int:
        while not isinstance(shape, int):
            shape = shape[1 + answer(shape[0], inputs)]
        return shape

    def rises(shape: Any) -> bool:
        others = sorted(asked(shape) - {place})
        for values in itertools.product(*map(cells, others)):
            alike = dict(zip(others, values))
            # From the lesser to the greater number; a missing one is neither.
            told = [said(shape, alike | {place: cell}) == positive for cell in cells(place) if cell == cell]
            if any(one and not two for one, two in itertools.pairwise(told)):
                return False
        return True

    return Reference(tree=rises)
