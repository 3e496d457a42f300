"""Exact search for the leaves to which an adversary can send a row: boxes are followed through the tree as intervals.

A node narrows the box of a row to the part that goes to each side. If [l, u] is the remaining range of a number, the
split x <= θ leaves [l, min(u, θ)] on the left and [max(l, θ'), u] on the right, where θ' is the next double above θ; a
side is reached if its part is not empty. In a column that may have any level, each side keeps the levels that go
there.
"""

import numpy as np

from odtc.base.value_class import frozen_class
from odtc.data.binary_splits.column_splits import box_ends
from odtc.data.dataset import NUMERIC
from odtc.data.splits import Missing, Split, Subset, Threshold
from odtc.trees.boxes import Boxes
from odtc.trees.tree import Leaf, Tree

ABSENT = -2.0  # of a free column: a cell that is missing


def reachable_leaves(tree: Tree, X: np.ndarray, boxes: Boxes) -> np.ndarray:
    """Return which leaves the box of each row reaches.

    Parameters
    ----------
    tree : Tree
    X : float64 (rows, features)
        Coded like `Dataset.X`.
    boxes : Boxes
        Of the features of the tree.

    Returns
    -------
    bool (rows, leaves)
        The leaves in the order of `tree.leaves()`; each row reaches at least one.

    Raises
    ------
    ChoiceError
        For a hyperplane over a column that moves.
    """
    leaves: list[np.ndarray] = []
    stack = [(tree.root, Part.of(X, boxes))]
    while stack:
        node, part = stack.pop()
        if isinstance(node, Leaf):
            reached = np.zeros(len(X), bool)
            reached[part.rows] = True
            leaves.append(reached)
            continue
        boxes.expect(node.split)
        stack += [(node.right, part.side(node.split, False)), (node.left, part.side(node.split, True))]
    return np.stack(leaves, axis=1)


def is_robust(tree: Tree, X: np.ndarray, y: np.ndarray, boxes: Boxes) -> np.ndarray:
    """Return whether every point in the box of each row is predicted as its class.

    Parameters
    ----------
    tree : Tree
    X : float64 (rows, features)
    y : int (rows,)
        Indices into `tree.classes`.
    boxes : Boxes

    Returns
    -------
    bool (rows,)

    Raises
    ------
    ChoiceError
        As in `reachable_leaves`.
    """
    labels = np.array([leaf.label for leaf in tree.leaves()])
    return ~(reachable_leaves(tree, X, boxes) & (labels != y[:, None])).any(axis=1)


def figures(tree: Tree, X: np.ndarray, y: np.ndarray, weight: np.ndarray, boxes: Boxes) -> dict:
    """Return the figures of an attack, under the keys of `--json`.

    Parameters
    ----------
    tree, X, y, boxes
        As in `is_robust`.
    weight : float64 (rows,)

    Returns
    -------
    dict
        `robust_errors`, the weight of the rows with a misclassified point in their box, and `robust_accuracy`.
    """
    lost, total = float(weight[~is_robust(tree, X, y, boxes)].sum()), float(weight.sum())
    return {"robust_errors": lost, "robust_accuracy": 1 - lost / total if total else None}


@frozen_class
class Part:
    """The remaining parts of boxes: for the rows `rows`, int (n,), the numbers [low, high] (n, features), NaN if
    missing; for a free column (feature -> set) the same levels for every row; and the numbers that were excluded
    (`without`)."""

    X: np.ndarray
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    levels: dict[int, frozenset]
    without: dict[int, frozenset]

    @classmethod
    def of(cls, X: np.ndarray, boxes: Boxes) -> "Part":
        levels = {}
        for place in np.flatnonzero(boxes.free).tolist():
            known = map(float, range(len(boxes.features[place].levels)))
            levels[place] = frozenset([*known, *([ABSENT] if boxes.blank[place] else [])])
        moved = np.where([feature.kind == NUMERIC for feature in boxes.features], boxes.radius, 0.0)
        return cls(X, np.arange(len(X)), *box_ends(X, moved), levels, {})

    def side(self, split: Split, left: bool) -> "Part":
        """Return the part that goes to one side."""
        place = split.features[0]
        if place in self.levels and not split.measured:
            if isinstance(split, Missing):
                goes = frozenset([ABSENT])
            else:
                goes = frozenset(map(float, split.values))
            kept = self.levels[place] & goes if left else self.levels[place] - goes
            part = self._taken(np.full(len(self.rows), bool(kept)))
            return Part(part.X, part.rows, part.low, part.high, self.levels | {place: kept}, self.without)
        low, high = self.low.copy(), self.high.copy()
        without = self.without
        if isinstance(split, Threshold):
            if left:
                high[:, place] = np.minimum(high[:, place], split.threshold)
                goes = low[:, place] <= high[:, place]
            else:
                low[:, place] = np.maximum(low[:, place], np.nextafter(split.threshold, np.inf))
                goes = ~(low[:, place] > high[:, place])  # a missing number goes right
        elif isinstance(split, Subset) and len(split.values) == 1:
            (value,) = split.values
            inside = (low[:, place] <= value) & (value <= high[:, place])
            if left:
                goes = inside & (value not in without.get(place, ()))
                low[goes, place] = high[goes, place] = value
            else:
                goes = ~(inside & (low[:, place] == high[:, place]))
                without = without | {place: without.get(place, frozenset()) | {value}}
        else:
            answer = split.left(self.X[self.rows])
            goes = answer if left else ~answer
        for value in without.get(place, ()):
            goes &= ~((low[:, place] == value) & (high[:, place] == value))
        return Part(self.X, self.rows, low, high, self.levels, without)._taken(goes)

    def _taken(self, goes: np.ndarray) -> "Part":
        return Part(self.X, self.rows[goes], self.low[goes], self.high[goes], self.levels, self.without)
