"""Monotonic constraints of the estimator: as constraints on training rows, and whether a tree keeps them everywhere."""

from collections.abc import Mapping, Sequence

import numpy as np

from odtc.base.spec_fields import quoted
from odtc.data.dataset import NUMERIC, Feature
from odtc.trees.tree import Branch, Leaf, Tree


def directions(given, names: Sequence[str]) -> list[tuple[str, int]]:
    """(column, 1 or -1) of each constrained column.

    Parameters
    ----------
    given : sequence of int, mapping {column name: int} or None
        1 if the second class becomes more likely as the column grows, -1 if less, 0 for no constraint.
    names : sequence of str
        The columns in their order.

    Raises
    ------
    ValueError
        For another number of columns, an unknown name, or other values.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        if strange := [name for name in given if name not in names]:
            raise ValueError(f"expected monotonic_cst of the columns {', '.join(names)}, got one of {strange[0]!r}")
        values = [given.get(name, 0) for name in names]
    else:
        values = list(given)
    if len(values) != len(names):
        raise ValueError(f"expected monotonic_cst of {len(names)} columns, got {len(values)} values")
    if strange := [value for value in values if value not in (-1, 0, 1)]:
        raise ValueError(f"expected -1, 0 or 1 in monotonic_cst, got {strange[0]!r}")
    return [(name, int(value)) for name, value in zip(names, values) if value]


def constraint_text(name: str, positive: str) -> str:
    """The constraint that the class becomes more likely as the column grows."""
    return f"monotone[{quoted(name)},{quoted(f'positive={positive}')}]"


def keeps_order(tree: Tree, place: int, positive: int) -> bool | None:
    """Whether of any two inputs that differ in one column alone the greater is predicted a class if the lesser is.

    Leaves are boxes. Two of them break the order if inputs with the same other cells lie in both, the lesser in one
    that predicts the class and the greater in one that does not.

    Parameters
    ----------
    tree : Tree
    place : int
        The column, of numbers.
    positive : int
        The class.

    Returns
    -------
    bool or None
        None if a split is a hyperplane or a set of numbers, whose leaves are no boxes.
    """
    boxes: list[tuple[dict, Leaf]] = []

    def walk(node, box: dict) -> bool:
        if not all(_meet(part, part) for part in box.values()):
            return True  # no input comes here
        if isinstance(node, Leaf):
            boxes.append((box, node))
            return True
        sides = _sides(node, box, tree.features)
        return sides is not None and all(walk(child, side) for child, side in zip((node.left, node.right), sides))

    if not walk(tree.root, {}):
        return None
    whole = (-np.inf, np.inf, True)
    for low, one in boxes:
        for high, other in boxes:
            if one.label != positive or other.label == positive:
                continue
            lesser, greater = low.get(place, whole), high.get(place, whole)
            if lesser[0] >= lesser[1] or greater[0] >= greater[1] or lesser[0] >= greater[1]:
                continue  # a missing cell is neither lesser nor greater
            if all(_meet(low[at], high[at]) for at in set(low) & set(high) - {place}):
                return False
    return True


def _sides(node: Branch, box: dict, features: tuple[Feature, ...]):
    """The boxes of both sides: an interval (low, high] and whether a missing cell lies in it, or a set of levels."""
    split, kind = node.split, node.split.kind
    at = split.features[0]
    if kind == "oblique" or (kind != "missing" and (kind == "subset") == (features[at].kind == NUMERIC)):
        return None
    if features[at].kind == NUMERIC:
        low, high, missing = box.get(at, (-np.inf, np.inf, True))
        if kind == "missing":
            return box | {at: (np.inf, np.inf, missing)}, box | {at: (low, high, False)}
        cut = split.threshold
        return box | {at: (low, min(high, cut), False)}, box | {at: (max(low, cut), high, missing)}
    held = box.get(at, {*range(-1, len(features[at].levels)), None})  # None: missing; -1: a level that was not seen
    left = held & ({None} if kind == "missing" else set(map(int, split.values)))
    return box | {at: left}, box | {at: held - left}


def _meet(one, other) -> bool:
    if isinstance(one, set):
        return bool(one & other)
    return max(one[0], other[0]) < min(one[1], other[1]) or (one[2] and other[2])
