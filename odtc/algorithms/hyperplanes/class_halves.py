"""Assignment of classes to the sides of each node of a tree of hyperplanes, so that as many classes as possible have a
leaf of their own.

With K classes and 2^D leaves, a root that separates one class from the others leaves 2^(D-1) leaves for K - 1 classes.
Here a set S of classes with L levels below costs

    c(S, L) = min over A + B = S, of 2^(L-1) classes at most each, of   e(A, B) + c(A, L-1) + c(B, L-1)

where e(A, B) is the weight of the rows that a linear model of these rows sends to the incorrect side; a set of one
class costs nothing. The linear models are least squares on the scores of one ridge regression of all classes, in which
a union of classes is a sum of columns: so one solve for each set gives e of all its halves.
"""

from functools import cache
from itertools import combinations

import numpy as np

MAX_CLASSES = 8  # classes: 3^MAX_CLASSES pairs of a set and a half of it

Halves = tuple[tuple[int, ...], tuple[int, ...]]


def fills_tree(classes: int, depth: int) -> bool:
    """Return whether this many classes need more than half of the leaves, so that each has a leaf only if the nodes
    separate them well."""
    return 2 < classes <= min(2**depth, MAX_CLASSES) and 2 * classes > 2**depth


def class_halves(Z: np.ndarray, label: np.ndarray, weight: np.ndarray, depth: int) -> dict[int, Halves]:
    """Return the classes that go left and right at each node of a tree; nodes with at most one class are omitted.

    Parameters
    ----------
    Z : ndarray of float64, (rows, terms)
        Scaled to about [0, 1].
    label : ndarray of int64, (rows,)
        The class of each row, of no more than 2^depth and MAX_CLASSES classes.
    weight : ndarray of float64, (rows,)
    depth : int

    Returns
    -------
    dict
        {node: (classes to its left, classes to its right)}; the children of t are 2t and 2t + 1.
    """
    scores = _scores(Z, label, weight)

    @cache
    def cheapest(classes: tuple[int, ...], levels: int) -> tuple[float, Halves | None]:
        """Return (c of these classes, the halves at their node)."""
        if len(classes) == 1:
            return 0.0, None
        parts = [
            part
            for size in range(max(1, len(classes) - 2 ** (levels - 1)), len(classes) // 2 + 1)
            for part in combinations(classes, size)
        ]
        best: tuple[float, Halves | None] = (np.inf, None)
        wrong = _wrong(scores, label, weight, classes, parts)
        for at in np.argsort(wrong, kind="stable").tolist():
            if wrong[at] >= best[0]:
                break
            other = tuple(k for k in classes if k not in parts[at])
            below = cheapest(parts[at], levels - 1)[0] + cheapest(other, levels - 1)[0]
            best = min(best, (float(wrong[at]) + below, (parts[at], other)), key=lambda one: one[0])
        return best

    found: dict[int, Halves] = {}
    waiting = [(1, tuple(np.unique(label).tolist()), depth)]
    for t, classes, levels in waiting:
        if halves := cheapest(classes, levels)[1]:
            found[t] = halves
            waiting += [(2 * t + side, halves[side], levels - 1) for side in (0, 1)]
    return found


def _scores(Z, label, weight) -> np.ndarray:
    """Return float64 (rows, classes + 1): the scores of a ridge regression of each class, and 1."""
    from sklearn.linear_model import Ridge

    one_of = (label[:, None] == np.unique(label)).astype(float)
    model = Ridge(1.0).fit(Z, one_of, weight / weight.mean())
    return np.column_stack([model.predict(Z).reshape(one_of.shape), np.ones(len(Z))])


def _wrong(scores, label, weight, classes: tuple[int, ...], parts: list[tuple[int, ...]]) -> np.ndarray:
    """Return float64 (parts,): the weight of the rows of these classes that go to the incorrect side if one part is
    separated from the others."""
    rows = np.isin(label, classes)
    root = np.sqrt(weight[rows])[:, None]
    is_of = (label[rows, None] == np.array(classes)).astype(float)
    said = scores[rows] @ np.linalg.lstsq(scores[rows] * root, is_of * root, rcond=None)[0]
    union = np.array([[float(k in part) for part in parts] for k in classes])
    return weight[rows] @ ((said @ union > 0.5) != (is_of @ union > 0.5))
