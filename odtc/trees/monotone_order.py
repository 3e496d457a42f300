"""Check whether the prediction of a tree rises with a column, for all inputs: its leaves are boxes, and boxes are
compared.

The leaves of a tree divide the inputs into boxes: for each column an interval of numbers, or a set of levels. Let l be
a leaf that predicts a class, and r one that does not. Some input of l becomes one of r if its number in column f
grows, and nothing else changes, exactly if

    inf l_f < sup r_f    and    l_g ∩ r_g ≠ ∅    for every other column g.

So the tree rises with f everywhere if this is true for no two leaves.
"""

import numpy as np

from odtc.data.dataset import NUMERIC, Feature
from odtc.trees.tree import Branch, Leaf, Node

ANY_NUMBER = (-np.inf, np.inf, True)


def falling_pairs(root: Node, features: tuple[Feature, ...], column: int, positive: int) -> int | None:
    """Count the pairs of leaves in which an input may lose the class as its number grows.

    Parameters
    ----------
    root : Branch or Leaf
    features : tuple of Feature
        The columns to which the splits refer by position.
    column : int
        The position of the column, which is numeric.
    positive : int
        The class.

    Returns
    -------
    int or None
        0 if, for any two inputs that differ only in this column, the greater is predicted the class if the lesser is;
        None if a split is a hyperplane or a set of numbers, whose leaves are not boxes. A missing number is neither
        lesser nor greater.
    """
    boxes = leaf_boxes(root, features)
    if boxes is None:
        return None
    others = [(box, box.get(column, ANY_NUMBER)) for box, label in boxes if label != positive]
    found = 0
    for low, label in boxes:
        if label != positive:
            continue
        least, most, _ = low.get(column, ANY_NUMBER)
        for high, (lesser, greater, _) in others:
            if least >= most or lesser >= greater or least >= greater:
                continue
            found += all(_meet(low[at], high[at]) for at in set(low) & set(high) - {column})
    return found


def leaf_boxes(root: Node, features: tuple[Feature, ...]) -> list[tuple[dict, int]] | None:
    """Return (box, class) of each leaf that an input can reach; None if some leaf is not a box.

    For each column of a split above the leaf, a box contains an interval (low, high] and whether it includes a missing
    number, or the set of levels, with None for a missing one and -1 for one that no training row has.
    """
    found: list[tuple[dict, int]] = []

    def walk(node: Node, box: dict) -> bool:
        if isinstance(node, Leaf):
            found.append((box, node.label))
            return True
        sides = _sides(node, box, features)
        return sides is not None and all(
            walk(child, box | {at: part})
            for child, (at, part) in zip((node.left, node.right), sides)
            if _meet(part, part)  # otherwise no input comes here
        )

    return found if walk(root, {}) else None


def _sides(node: Branch, box: dict, features: tuple[Feature, ...]):
    """Return (column, part) of both sides of a split."""
    split, kind = node.split, node.split.kind
    at = split.features[0]
    if kind == "oblique" or (kind != "missing" and (kind == "subset") == (features[at].kind == NUMERIC)):
        return None
    if features[at].kind == NUMERIC:
        low, high, missing = box.get(at, ANY_NUMBER)
        if kind == "missing":
            return (at, (np.inf, np.inf, missing)), (at, (low, high, False))
        cut = split.threshold
        return (at, (low, min(high, cut), False)), (at, (max(low, cut), high, missing))
    held = box.get(at, {*range(-1, len(features[at].levels)), None})
    left = held & ({None} if kind == "missing" else set(map(int, split.values)))
    return (at, left), (at, held - left)


def _meet(one, other) -> bool:
    if isinstance(one, set):
        return bool(one & other)
    return max(one[0], other[0]) < min(one[1], other[1]) or (one[2] and other[2])
