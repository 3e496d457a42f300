"""A tree of other data as a tree of a problem: each split is replaced by the nearest split of the problem, or dropped.

The nearest split sends the fewest rows of the problem's data to another side. A split is dropped if its column no
longer exists, or if it does not separate rows. One of its children takes its place: the one that had more training
rows, or the one that all rows reach.
"""

import numpy as np

from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.data.dataset import Feature
from odtc.data.encoding import Encoded
from odtc.data.splits import Split, Threshold, split_from_json
from odtc.errors import DataError, TreeError
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import Beyond, HeapTree, blank_arrays, settle
from odtc.trees.tree import Leaf, Node, Tree

CANDIDATES = 64  # maximum number of splits on a column that are compared row by row


@value_class
class SplitChange:
    """A split of the old tree in words, the new one ("" if it was dropped), and the reason."""

    before: str
    after: str
    why: str

    def __str__(self) -> str:
        return f"{self.before!r} is {f'moved to {self.after!r}' if self.after else 'dropped'}: {self.why}"


@value_class
class Projection:
    """The tree over the splits of a problem, whose leaves predict the cheapest classes there, and the changes."""

    heap: HeapTree
    changes: tuple[SplitChange, ...]


def project_tree(tree: Tree, problem: Problem) -> Projection:
    """Convert a tree of other data to this problem.

    Parameters
    ----------
    tree : Tree
        Of any columns, classes and depth.
    problem : Problem
        With its data set.

    Returns
    -------
    Projection
        Constraints are not looked at.
    """
    projecting = _Projecting(tree, problem)
    projecting.place(tree.root, 1, 0)
    return Projection(settle(projecting.chosen, problem.encoded, None, projecting.asked), tuple(projecting.changes))


class _Projecting:
    """The conversion of a tree, node by node.

    Attributes
    ----------
    chosen : int (2 · nodes,)
        The split of each node of the complete tree so far.
    changes : list of SplitChange
    """

    def __init__(self, tree: Tree, problem: Problem):
        self.tree, self.problem, self.encoded = tree, problem, problem.encoded
        self.chosen, _ = blank_arrays(problem.topology)
        self.changes: list[SplitChange] = []
        self._beyond: dict[Split, np.ndarray] = {}  # splits that are not in the encoding, with their results
        self._X, self._rows = _cells(problem.encoded)

    @property
    def asked(self) -> Beyond | None:
        """The splits that are not in the encoding."""
        answers = [*self._beyond.values()]
        return Beyond(tuple(self._beyond), np.stack(answers, axis=1), np.ones(len(answers), bool)) if answers else None

    def place(self, node: Node, t: int, depth: int) -> None:
        """Put the subtree of a node at node t of the complete tree, `depth` levels below its root."""
        if isinstance(node, Leaf):
            return None
        words = node.split.words(self.tree.features)[0]
        if depth == self.problem.topology.depth:
            self.changes.append(SplitChange(words, "", f"it is below depth {depth}"))
            return None
        split, why = translated(node.split, self.tree.features, self.encoded.features)
        left = None if split is None else split.left(self._X)
        if left is not None and (left.all() or not left.any()):
            self.changes.append(SplitChange(words, "", "all rows answer it alike"))
            return self.place(node.left if left.all() else node.right, t, depth)
        found = None if split is None else self._number(split)
        if split is not None and left is not None and found is None:
            found, why = self._near(split, left, words), "no split uses its columns"
        if found is None:
            self.changes.append(SplitChange(words, "", why))
            return self.place(node.left if sum(node.left.rows) >= sum(node.right.rows) else node.right, t, depth)
        self.chosen[t], left_is_zero = found
        zero, one = (node.left, node.right) if left_is_zero else (node.right, node.left)
        self.place(zero, 2 * t, depth + 1)
        self.place(one, 2 * t + 1, depth + 1)

    def _number(self, split: Split) -> tuple[int, bool] | None:
        """Return the number of a split, and whether its left rows have the result 0; None if the problem does not have
        it."""
        found = self.encoded.find(split)
        if found is None and self.problem.module.BEYOND and (left := self.encoded.left(split)) is not None:
            self._beyond.setdefault(split, left)
            found = self.encoded.n_candidate_splits + list(self._beyond).index(split), False
        return found

    def _near(self, split: Split, left: np.ndarray, words: str) -> tuple[int, bool] | None:
        """Return `_number` of the nearest split of the encoding, and record the change; None if there is none."""
        near = nearest_split(split, left, self.encoded)
        if near is None:
            return None
        number, is_left, moved = near
        now = self.encoded.splits[number].words(self.encoded.features)[0 if is_left else 1]
        why = f"{moved} of {count_of(self._rows.sum(), 'row', '')} go to the other side"
        self.changes.append(SplitChange(words, now, why))
        return number, is_left != bool(self.encoded.ones_left[number])


def translated(split: Split, old: tuple[Feature, ...], new: tuple[Feature, ...]) -> tuple[Split | None, str]:
    """Return (the split over other columns of the same names, ""), or (None, why there is none)."""
    kinds = {feature.name: feature for feature in new}
    for place in split.features:
        name, kind = old[place].name, old[place].kind
        if name not in kinds:
            return None, f"the data has no column {name!r}"
        if kinds[name].kind != kind:
            return None, f"the column {name!r} is {kinds[name].kind}, and was {kind}"
    facts = split.to_json(old)
    if split.kind == "subset" and kinds[facts["feature"]].levels:
        facts["values"] = [level for level in facts["values"] if level in kinds[facts["feature"]].levels]
        if not facts["values"]:
            return None, "none of its levels occurs"
    try:
        return split_from_json(facts, new), ""
    except (TreeError, KeyError, ValueError):
        return None, "its levels do not occur"


def nearest_split(split: Split, left: np.ndarray, encoded: Encoded) -> tuple[int, bool, int] | None:
    """Return the split of the encoding on the same columns that separates the rows most similarly to a given split.

    Parameters
    ----------
    split : Split
        Over the columns of `encoded`.
    left : bool (data rows,)
        Which rows it sends left.
    encoded : Encoded

    Returns
    -------
    (int, bool, int) or None
        The number of the split, whether its left side corresponds to the left side of `split`, and how many rows of the
        file go to the other side; None if the encoding has no split on the columns.
    """
    X, rows = _cells(encoded)
    best: tuple[int, bool, int] | None = None
    for splits in _by_column(split, encoded):
        for at in splits:
            other = int(rows[encoded.splits[at].left(X) != left].sum())
            for same, moved in ((True, other), (False, int(rows.sum()) - other)):
                if best is None or moved < best[2]:
                    best = at, same, moved
    return best


def _by_column(split: Split, encoded: Encoded) -> list[list[int]]:
    """Return the splits on the columns of a split, at most CANDIDATES for each column: the thresholds nearest to its
    own, or evenly spaced ones."""
    found: dict[tuple[int, ...], list[int]] = {}
    for at, candidate in enumerate(encoded.splits):
        if set(candidate.features) & set(split.features):
            found.setdefault(candidate.features, []).append(at)
    picked = []
    for splits in found.values():
        if len(splits) > CANDIDATES and isinstance(split, Threshold):
            cut = split.threshold
            splits = sorted(splits, key=lambda at: abs(getattr(encoded.splits[at], "threshold", np.inf) - cut))
            splits = splits[:CANDIDATES]
        picked.append(splits[:: -(-len(splits) // CANDIDATES)])
    return picked


def _cells(encoded: Encoded) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of the data, and how many rows of the file each row represents, int64 (rows,); raises DataError
    for an encoding without them."""
    if encoded.dataset is None:
        raise DataError(f"expected the data of {encoded.name!r} to project a tree, got an encoding without data")
    copies = encoded.dataset.copies
    return encoded.dataset.X, np.ones(len(encoded.dataset.X), np.int64) if copies is None else copies
