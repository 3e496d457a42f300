"""Constraints monotone_everywhere[COLUMN,positive=CLASS] of a certificate: a class rises with a column on all inputs.

The leaves of a tree divide the inputs into boxes. A cell of a column represents all inputs that no split distinguishes
there: an interval of numbers, a level, a level that the data does not have, or a missing number or level. Some input of
a leaf l that predicts the class becomes one of a leaf r that does not, if its number in column f grows and nothing else
changes, exactly if

    l_f has an interval below one of r_f    and    l_g ∩ r_g ≠ ∅ for every other column g.

A tree is a heap of numbers in the order of levels: 1 + f for split f, -1 - k for a leaf that predicts class k, else 0;
the first child has the inputs that the split sends right.
"""

from collections.abc import Sequence
from itertools import permutations
from types import SimpleNamespace

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Dataset
from odtc.errors import CertificateError
from odtc.verification.constrained.stated_order import Order
from odtc.verification.threshold_columns import distinct_numbers, left_of

AT_ONCE = 10_000  # maximum number of trees whose boxes are compared at once


@value_class
class Boxes:
    """The cells of the columns that splits use.

    Attributes
    ----------
    orders : tuple of Order
    left, right : bool (splits, cells)
        The cells that a split sends to a side; all cells of other columns are on both sides.
    column : list of str
        The column of each cell.
    number : bool (cells,)
        Whether a cell is an interval of numbers; the intervals of a column are in ascending order.
    """

    orders: tuple[Order, ...]
    left: np.ndarray
    right: np.ndarray
    column: list[str]
    number: np.ndarray

    @classmethod
    def of(cls, orders: Sequence[Order], splits: list[dict], dataset: Dataset) -> "Boxes":
        """Return the cells that some splits distinguish.

        Raises
        ------
        CertificateError
            For a column that has no numbers, and for splits whose sides are not intervals.
        """
        numeric = {feature.name for feature in dataset.features if feature.kind == NUMERIC}
        for order in orders:
            if order.column not in numeric:
                raise CertificateError(f"a class of the certificate rises with {order.column!r}, which has no numbers")
        parts, column = [np.zeros((0, len(dataset.features)))], []
        for at, feature in enumerate(dataset.features):
            own = [split for split in splits if split["feature"] == feature.name]
            if feature.kind == NUMERIC and any(split["kind"] == "subset" for split in own):
                raise CertificateError(f"a split of the certificate uses numbers of {feature.name!r} one by one")
            ends = sorted({float(split["threshold"]) for split in own if split["kind"] == "threshold"})
            known = [*ends, np.inf] if feature.kind == NUMERIC else [*range(-1, len(feature.levels))]
            cells = np.full((len(known) + 1, len(dataset.features)), np.nan)
            cells[:-1, at] = known
            parts += [cells] * bool(own)
            column += [feature.name] * len(cells) * bool(own)
        table = SimpleNamespace(features=dataset.features, places=dataset.places, X=np.concatenate(parts))
        others = np.array([[name != split["feature"] for name in column] for split in splits], bool)
        left = np.array([left_of(split, table) for split in splits], bool)
        number = np.array([name in numeric for name in column]) & ~np.isnan(table.X).all(axis=1)
        return cls(tuple(orders), left | others, ~left | others, column, number)

    def only(self, splits: np.ndarray) -> "Boxes":
        """Return the same for some of the splits."""
        return Boxes(self.orders, self.left[splits], self.right[splits], self.column, self.number)

    def rise(self, trees: np.ndarray) -> np.ndarray:
        """Return bool (trees,): whether every class rises with its column, for heaps int (trees, nodes)."""
        if len(trees) > AT_ONCE:
            return np.concatenate([self.rise(trees[at : at + AT_ONCE]) for at in range(0, len(trees), AT_ONCE)])
        box = {0: np.ones((len(trees), len(self.column)), bool)}
        for t in range(trees.shape[1] // 2):
            split = np.maximum(trees[:, t] - 1, 0)
            for child, sides in ((2 * t + 1, self.right), (2 * t + 2, self.left)):
                box[child] = box[t] & sides[split]
        fits = np.ones(len(trees), bool)
        for low, high in permutations(box, 2):
            for order in self.orders:
                mine = np.flatnonzero((trees[:, low] == -1 - order.klass) & (trees[:, high] < 0) & fits)
                mine = mine[trees[mine, high] != -1 - order.klass]
                fits[mine] = ~self._may_fall(order.column, box[low][mine], box[high][mine])
        return fits

    def _may_fall(self, name: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return bool (pairs,): whether an input of the first box becomes one of the second as its number grows."""
        column = np.array(self.column)
        own, fall = (column == name) & self.number, np.ones(len(low), bool)
        for other in set(self.column) - {name}:
            fall &= (low & high)[:, column == other].any(axis=1)
        below = np.cumsum(low[:, own], axis=1) > low[:, own]  # an interval of the first box is below
        return fall & (below & high[:, own]).any(axis=1)


def splits_of(columns: list[dict], dataset: Dataset) -> list[dict]:
    """Return the cuts of all columns of a certificate, one after the other, as splits."""
    found = []
    for column in columns:
        if column["kind"] == "nested":
            raise CertificateError("nested splits of the certificate have no boxes, which its constraints compare")
        if column["kind"] != "threshold":
            found.append(column)
            continue
        cuts = column.get("thresholds")
        if cuts is None:
            cells = dataset.X[:, [feature.name for feature in dataset.features].index(column["feature"])]
            cuts = distinct_numbers(cells[~np.isnan(cells)])[:-1]
        found += [column | {"threshold": float(cut)} for cut in cuts]
    return found


def heap_of(tree: dict, depth: int, classes: Sequence[str]) -> tuple[np.ndarray, list[dict]]:
    """Return (the heap of a tree of at most this depth, its splits)."""
    heap, splits = np.zeros((1, 2 ** (depth + 1) - 1), np.int64), []
    stack = [(0, tree)]
    while stack:
        t, node = stack.pop()
        if "label" in node:
            heap[0, t] = -1 - classes.index(node["label"])
            continue
        splits.append(node["split"])
        heap[0, t] = len(splits)
        stack += [(2 * t + 1, node["right"]), (2 * t + 2, node["left"])]
    return heap, splits
