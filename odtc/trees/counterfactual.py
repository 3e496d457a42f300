"""The fewest cells of a row to change so that a tree predicts something else.

Splits on one column each divide the inputs into boxes, one for each leaf. A row is moved into the box of a leaf by
changing the columns whose cells are outside of it, so the fewest changes lead to the leaf with the fewest such
columns, among the leaves with another prediction. Trees with hyperplanes have no boxes, so they have no
counterfactuals here.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC
from odtc.data.splits import Missing, Split, Subset, Threshold
from odtc.trees.places import joinable
from odtc.trees.tree import Branch, Leaf, Tree


@value_class
class CellChange:
    """A column to change: the words of its conditions, and a cell that satisfies them, coded like `Dataset.X`."""

    column: str
    needed: str
    cell: float


@value_class
class OtherLeaf:
    """Another leaf, and the changes that lead to it, in the order of the columns."""

    leaf: Leaf
    changes: tuple[CellChange, ...]
    row: np.ndarray  # float64 (features,): the row after these changes


@value_class
class _Box:
    """A leaf with its conditions (split, whether a row goes left) by column, and the cells that satisfy them."""

    leaf: Leaf
    conditions: dict[int, list[tuple[Split, bool]]]
    cells: dict[int, np.ndarray]

    @property
    def is_reachable(self) -> bool:
        """Return whether any input is in the box."""
        return all(map(len, self.cells.values()))

    def outside(self, row: np.ndarray) -> list[int]:
        """Return the columns whose cells are outside of the box."""
        return [place for place, given in self.conditions.items() if not _satisfied(given, place, row[[place]])[0]]


@value_class
class Counterfactuals:
    """The counterfactuals of the rows of a tree."""

    tree: Tree

    def of(self, row: np.ndarray) -> OtherLeaf | None:
        """Return the fewest changes of a row.

        Parameters
        ----------
        row : float64 (features,)
            Coded like `Dataset.X`.

        Returns
        -------
        OtherLeaf or None
            If several leaves need equally few changes, the one with the most training rows. None if no input has
            another prediction, if a split is not on one column, or if a leaf predicts a line.
        """
        tree, boxes = self.tree, self._boxes
        if not boxes:
            return None
        now = tree.answer(boxes[int(tree.apply(row[None, :])[0])].leaf)
        others = [(box.outside(row), box) for box in boxes if tree.answer(box.leaf) != now and box.is_reachable]
        if not others:
            return None
        places, box = min(others, key=lambda one: (len(one[0]), -sum(one[1].leaf.rows)))
        changed, changes = row.copy(), []
        for place in sorted(places):
            known = box.cells[place]
            apart = np.abs(np.nan_to_num(known, nan=np.inf) - np.nan_to_num(row[place]))
            changed[place] = known[apart.argmin() if tree.features[place].kind == NUMERIC else 0]
            changes.append(
                CellChange(tree.features[place].name, self._words(box.conditions[place]), float(changed[place]))
            )
        return OtherLeaf(box.leaf, tuple(changes), changed)

    @cached_property
    def _boxes(self) -> list[_Box]:
        """The boxes of all leaves, left to right; none if a split is not of one column, or a leaf predicts a line."""
        paths = list(_paths(self.tree))
        splits = {split for _, path in paths for split, _ in path}
        if self.tree.has_lines or not all(isinstance(split, Threshold | Subset | Missing) for split in splits):
            return []
        cells = {place: self._cells(place, splits) for split in splits for place in split.features}
        boxes = []
        for leaf, path in paths:
            conditions: dict[int, list[tuple[Split, bool]]] = {}
            for split, left in path:
                conditions.setdefault(split.features[0], []).append((split, left))
            boxes.append(
                _Box(
                    leaf,
                    conditions,
                    {
                        place: cells[place][_satisfied(given, place, cells[place])]
                        for place, given in conditions.items()
                    },
                )
            )
        return boxes

    def _cells(self, place: int, splits: set[Split]) -> np.ndarray:
        """Return a cell for each combination of sides of all splits on a column."""
        of = [split for split in splits if split.features == (place,)]
        feature = self.tree.features[place]
        if feature.kind != NUMERIC:
            cells = [float(code) for code in (*range(len(feature.levels)), -1)]  # at last a level that was not seen
        else:
            cuts = [split.threshold for split in of if isinstance(split, Threshold)]
            named = [value for split in of if isinstance(split, Subset) for value in split.values]
            beyond = [max(map(abs, named)) + 1.0] if named else []
            cells = sorted({*cuts, *np.nextafter(cuts, np.inf).tolist(), *named, *beyond})
            cells = cells or [0.0]  # a column of which only missing cells matter
        return np.array([*cells, np.nan] if self.tree.missing == "separate" else cells)

    def _words(self, given: list[tuple[Split, bool]]) -> str:
        """Return the conditions of a column in words; of thresholds on one side only the tightest."""
        (place,) = given[0][0].features
        if any(left and isinstance(split, Subset) for split, left in given):  # the values that all sets have in common
            cells = self._cells(place, {split for split, _ in given})
            shared = tuple(cells[_satisfied(given, place, cells) & (cells >= 0)].tolist())
            if shared and self.tree.features[place].kind != NUMERIC:
                return self.tree.branch_words(Subset(place, shared))[0]
        kept: dict[object, tuple[Split, bool]] = {}
        for split, left in given:
            key: object = left if isinstance(split, Threshold) else (split, left)
            before = kept.get(key, (split, left))[0]
            tighter = not isinstance(split, Threshold) or (
                split.threshold <= before.threshold if left else split.threshold >= before.threshold
            )
            kept[key] = (split if tighter else before, left)
        return " and ".join(
            joinable([self.tree.branch_words(split)[0 if left else 1] for split, left in kept.values()])
        )


def _satisfied(given: list[tuple[Split, bool]], place: int, cells: np.ndarray) -> np.ndarray:
    """Return which cells of a column satisfy conditions, bool (cells,)."""
    rows = np.zeros((len(cells), place + 1))
    rows[:, place] = cells
    return np.all([split.left(rows) == left for split, left in given], axis=0)


def _paths(tree: Tree) -> Iterator[tuple[Leaf, list[tuple[Split, bool]]]]:
    """Yield each leaf, left to right, with the splits on its way and whether it is on their left."""
    stack: list[tuple[Branch | Leaf, list[tuple[Split, bool]]]] = [(tree.root, [])]
    while stack:
        node, path = stack.pop()
        if isinstance(node, Leaf):
            yield node, path
        else:
            stack += [(node.right, [*path, (node.split, False)]), (node.left, [*path, (node.split, True)])]
