"""The complete binary tree of a depth, and a tree stored on its nodes: the split or the class index of each node.

Nodes are numbered as in a heap (FlowOCT, section 2): branch nodes are 1 .. 2^D - 1, leaves 2^D .. 2^(D+1) - 1; the
children of t are 2t (left) and 2t + 1 (right), its parent is t // 2.

Formulations write and read trees in this form. Left in a heap tree means that the column of the split is 0 (FlowOCT,
section 2). In a `Tree` these rows may go right, so the conversion from and to a `Tree` swaps children if
`Encoded.ones_left` is true.

A model may find splits that are not in its encoding, such as sets of levels and hyperplanes. They are in `beyond`, with
their results on the encoded rows, and are numbered after the splits of the encoding.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from odtc.base.value_class import frozen_class
from odtc.base.whole_numbers import whole_losses
from odtc.base.wording import option
from odtc.data.encoding import Encoded, sums_over
from odtc.data.splits import Split
from odtc.data.task import TASKS, line_of, part_costs
from odtc.errors import ChoiceError, TreeError
from odtc.trees.tree import Branch, Leaf, Line, Tree

DEEPEST = 20  # 2^20 leaves: no exact model of such a tree can be solved or even written


@frozen_class
class CompleteTree:
    """The nodes of the complete binary tree of a depth, 1 to 20."""

    depth: int

    def __post_init__(self):
        whole = isinstance(self.depth, (int, np.integer))
        if not whole or not 1 <= self.depth <= DEEPEST:
            least = 1 if whole and self.depth == 0 else 0  # a run of depth 0 is a run of depth 1 with LEAF_ONLY
            raise ChoiceError(
                f"expected a depth{'' if whole else ', a whole number,'} from {least} to {DEEPEST}, got "
                f"{self.depth!r}; optimal trees are practical for depths of 2 to 5"
            )

    @property
    def branch_nodes(self) -> np.ndarray:
        return np.arange(1, 2**self.depth)

    @property
    def leaves(self) -> np.ndarray:
        return np.arange(2**self.depth, 2 ** (self.depth + 1))

    @property
    def nodes(self) -> np.ndarray:
        return np.arange(1, 2 ** (self.depth + 1))

    def rightmost(self, nodes: np.ndarray) -> np.ndarray:
        """Return the last leaf below each of these nodes: the leaf to which a node without a split sends its rows in
        OCT."""
        for _ in range(self.depth):
            nodes = np.where(nodes < 2**self.depth, 2 * nodes + 1, nodes)
        return nodes

    def sides(self, turn: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (branch nodes, leaves), arrays of equal length, level by level: the pairs of a leaf and a branch node
        whose left (turn 0) or right (turn 1) subtree contains it."""
        for level in range(self.depth):
            goes = self.leaves[(self.leaves >> self.depth - 1 - level & 1) == turn]
            yield goes >> self.depth - level, goes

    @property
    def bottom(self) -> np.ndarray:
        """The branch nodes whose children are leaves."""
        return np.arange(2 ** (self.depth - 1), 2**self.depth)

    @property
    def inner(self) -> np.ndarray:
        """The branch nodes whose children are branch nodes."""
        return np.arange(1, 2 ** (self.depth - 1))


@frozen_class
class Beyond:
    """Splits that are not in the encoding, in the same form as in `Encoded`: column j of X (bool, (rows, splits), for
    the encoded rows) has the results of splits[j]; a 1 means left if ones_left[j]. Hyperplanes that are `kept` are
    not replaced, even if a split of the encoding separates the training rows in the same way, because it may
    separate other rows differently."""

    splits: tuple[Split, ...]
    X: np.ndarray
    ones_left: np.ndarray
    kept: bool = False

    @classmethod
    def of(cls, splits, values: np.ndarray, kept: bool = False) -> "Beyond | None":
        """Return these splits with their results on the encoded rows (`Encoded.values`), 1 if a row goes right; None
        without splits."""
        if not splits:
            return None
        answers = np.stack([~split.left(values) for split in splits], axis=1)
        return cls(tuple(splits), answers, np.zeros(len(splits), bool), kept)

    def stays(self, j: int) -> bool:
        """Return whether split j is a hyperplane that is kept."""
        return self.kept and len(self.splits[j].features) > 1


@frozen_class
class HeapTree:
    """A tree of depth D as arrays.

    `split` and `label` are int32 of shape (2^(D+1),), index 0 unused: at node t either split[t] >= 0 (a branch node) or
    label[t] >= 0 (it predicts), or neither (not in the tree). Split `n_candidate_splits + j` is number j of `beyond`;
    such a tree is only valid for these encoded rows.
    """

    split: np.ndarray
    label: np.ndarray
    beyond: Beyond | None = None

    def __post_init__(self):
        self.split.setflags(write=False)
        self.label.setflags(write=False)

    @property
    def n_branch_nodes(self) -> int:
        return int((self.split >= 0).sum())

    def reach(self, X: np.ndarray) -> np.ndarray:
        """Return the node where each row ends, int64 of shape (rows,), for X bool (rows, splits), which is `Encoded.X`
        itself if the tree has splits in `beyond`."""
        node = np.ones(len(X), dtype=np.int64)
        rows = np.arange(len(X))
        while True:
            here = self.split[node]
            moving = here >= 0
            if not moving.any():
                return node
            node = np.where(moving, 2 * node + _answers(X, self.beyond, rows, np.where(moving, here, 0)), node)

    def fewest_rows(self, encoded: Encoded) -> int:
        """Return the number of data rows in the leaf with the fewest, among the leaves that rows reach."""
        rows = np.bincount(self.reach(encoded.X), encoded.copies)
        return int(rows[rows > 0].min())

    def expect_depth(self, depth: int) -> None:
        """Raise TreeError for a tree of another depth."""
        if len(self.split) != 2 ** (depth + 1):
            raise TreeError(f"expected a tree laid out for depth {depth}, got {len(self.split)} places")

    def expect_rows(self, encoded: Encoded, n_min: int) -> None:
        """Raise TreeError for a tree with a leaf that has fewer than `n_min` data rows, but at least one."""
        if (few := self.fewest_rows(encoded)) < n_min:
            raise TreeError(
                f"expected at least n_min = {n_min} rows in each leaf, got a leaf with {few}; give another tree"
            )

    def errors(self, encoded: Encoded) -> float:
        """Return the weight of the misclassified rows."""
        return float(encoded.weight[self.label[self.reach(encoded.X)] != encoded.y].sum())

    def loss(self, encoded: Encoded) -> float:
        """Return the cost of the misclassified rows (`Encoded.cost`): the weight of the errors, if every error costs
        1."""
        return float(self.exact_loss(encoded))

    def exact_loss(self, encoded: Encoded) -> Any:
        """Return the same loss as a Fraction; as a float if leaves cost no rational numbers."""
        if TASKS.get(encoded.task).MOMENTS:
            return sum(part_costs(encoded, self.reach(encoded.X), len(self.split)))
        losses = whole_losses(encoded)
        return losses.of(self.label[self.reach(encoded.X)]) * losses.unit

    def answers(self, encoded: Encoded) -> np.ndarray:
        """Return the prediction of the tree for each encoded row: int (rows,), classes, or float64 (rows,) if its
        leaves predict numbers."""
        end, task = self.reach(encoded.X), TASKS.get(encoded.task)
        if not task.MOMENTS:
            return np.array(list(map(float, encoded.classes)))[self.label[end]] if task.NUMBERS else self.label[end]
        sums, value = sums_over(end, encoded.sums, len(self.split)), np.zeros(len(self.split))
        for node in np.unique(end).tolist():
            value[node] = task.answer(sums[node])
        return value[end]

    def row_answers(self, encoded: Encoded) -> np.ndarray:
        """Return the prediction for each data row, because leaves that predict lines need the cells of the data."""
        if TASKS.get(encoded.task).LINES:
            return self.to_tree(encoded).answers(encoded.dataset.X)
        return self.answers(encoded)[encoded.row_of]

    def filled(self, depth: int, own: bool = False) -> "HeapTree":
        """Return a tree with the same predictions and a split at every branch node down to `depth`.

        Below a node that predicts, split 0 is added and the label is repeated. With `own` the parent's split is added
        instead, so no new split is used, and no additional rows are separated, except for a root that predicts.
        """
        split, label = self.split.copy(), self.label.copy()
        for node in range(1, 2**depth):
            if split[node] < 0:
                split[node] = split[node // 2] if own and node > 1 else 0
                label[[2 * node, 2 * node + 1]] = label[node]
                label[node] = -1
        return HeapTree(split, label, self.beyond)

    def split_at(self, t: int, encoded: Encoded) -> tuple[Split, bool]:
        """Return (split, whether its ones go left) of branch node t."""
        number, own = self.split[t], encoded.n_candidate_splits
        if number < own:
            return encoded.splits[number], bool(encoded.ones_left[number])
        return self.beyond.splits[number - own], bool(self.beyond.ones_left[number - own])

    def column(self, t: int, encoded: Encoded) -> np.ndarray:
        """Return the result of the split of branch node t for the encoded rows: bool (rows,), 1 for child 2t + 1."""
        return _answers(encoded.X, self.beyond, np.arange(encoded.n_rows), self.split[t])

    def to_tree(self, encoded: Encoded) -> Tree:
        """Return the tree in original units, with training counts in its leaves."""
        K, task = len(encoded.classes), TASKS.get(encoded.task)
        ends = self.reach(encoded.X)

        def node(t):
            if self.split[t] < 0:
                here = ends == t
                counts = np.bincount(encoded.y[here], encoded.weight[here], K)
                rows = np.bincount(encoded.y[here], encoded.copies[here], K).astype(int)
                sums = tuple(map(float, encoded.sums[here].sum(axis=0)))
                whole = None if encoded.dataset is None else encoded.dataset.sums[here[encoded.row_of]]
                curve = () if whole is None else task.curve(whole)
                line = line_of(encoded, np.flatnonzero(here))
                made = tuple(map(float, counts)), tuple(map(int, rows)), sums, curve
                return Leaf(int(self.label[t]), *made, None if line is None else Line(*line))
            zero, one = node(2 * t), node(2 * t + 1)
            split, ones_left = self.split_at(t, encoded)
            return Branch(split, *((one, zero) if ones_left else (zero, one)))

        goal = encoded.goal if encoded.dataset is None else task.terms(encoded.dataset.source).get("goal", "")
        about = encoded.target, encoded.missing, encoded.task, "max" if goal == "max" else "", encoded.label_type
        return Tree(node(1), encoded.features, encoded.classes, *about)

    @classmethod
    def from_tree(
        cls, tree: Tree, encoded: Encoded, topology: CompleteTree, beyond: bool = False, as_written: bool = False
    ) -> "HeapTree":
        """Convert a tree to a heap tree.

        Raises TreeError if the tree is deeper than the topology, has other columns or classes, or has a split that is
        not in the encoding. The last is allowed with `beyond` if all rows of the data that the encoding merges into
        one go to the same side. With `as_written` a split that separates the rows in the same way as a split on other
        columns is put in `beyond`, too.
        """
        if tree.classes != encoded.classes or tree.features != encoded.features:
            raise TreeError("the tree has other columns or classes than the data; start from a tree of the same data")
        if tree.depth > topology.depth:
            raise TreeError(
                f"the tree has depth {tree.depth}, the model only {topology.depth}; raise {option('depth')}"
            )
        chosen, label = blank_arrays(topology)
        others = {}  # splits beyond the encoding, and the rows that go left

        def number(split):
            found = encoded.find(split)
            if found is not None and as_written and encoded.splits[found[0]].features != split.features:
                found = None
            if found is None and beyond and (left := encoded.left(split)) is not None:
                others.setdefault(split, left)
                found = encoded.n_candidate_splits + list(others).index(split), False
            return found

        def place(node, t):
            if isinstance(node, Leaf):
                label[t] = node.label
                return
            found = number(node.split)
            if found is None:
                left = node.split.left(encoded.dataset.X)
                if left.all() or not left.any():  # no row needs the split; it may come from a tree for other rows
                    place(node.left if left.all() else node.right, t)
                    return
                raise TreeError(
                    f"the tree splits on {node.split.words(encoded.features)[0]!r}, which is not a split of the "
                    f"encoding {encoded.scheme!r}; use an {option('encoding')} that holds it"
                )
            chosen[t], left_is_zero = found
            zero, one = (node.left, node.right) if left_is_zero else (node.right, node.left)
            place(zero, 2 * t)
            place(one, 2 * t + 1)

        place(tree.root, 1)
        new = (
            Beyond(tuple(others), np.stack([*others.values()], axis=1), np.ones(len(others), bool)) if others else None
        )
        return cls(chosen, label, new)


def blank_arrays(topology: CompleteTree) -> tuple[np.ndarray, np.ndarray]:
    """Return writable arrays for a tree that has no split and no label yet.

    Parameters
    ----------
    topology : CompleteTree

    Returns
    -------
    split, label : int32 (2^(depth + 1),)
        All -1.
    """
    size = 2 ** (topology.depth + 1)
    return np.full(size, -1, np.int32), np.full(size, -1, np.int32)


def nested_splits(nested: tuple | None, topology: CompleteTree, split_of: Callable[..., int]) -> np.ndarray:
    """Return int32 (2^(depth + 1),): the splits of a nested tree on the heap of a topology.

    Parameters
    ----------
    nested : tuple or None
        A branch node is (..., left, right), a leaf None.
    topology : CompleteTree
    split_of : callable
        Returns the number of the split, from the entries of a branch node before its sides.
    """
    chosen, _ = blank_arrays(topology)
    stack = [(1, nested)]
    while stack:
        node, tree = stack.pop()
        if tree is not None:
            *split, left, right = tree
            chosen[node] = split_of(*split)
            stack += [(2 * node, left), (2 * node + 1, right)]
    return chosen


def settle(
    split: np.ndarray, encoded: Encoded, label: np.ndarray | None = None, beyond: Beyond | None = None
) -> HeapTree:
    """Return a HeapTree without the branch nodes that no training row needs.

    A branch node is removed if one of its sides is empty, or if its two children predict the same class. A split of
    `beyond` that separates the rows in the same way as a split of the encoding is replaced by that split, unless it is
    kept.

    Parameters
    ----------
    split : int32 (2^(depth + 1),)
        The split of each node, -1 if it predicts.
    encoded : Encoded
    label : int32 (2^(depth + 1),) or None
        The class of each node that predicts. If None or -1, it is the class that costs least (ties: the first in
        class order).
    beyond : Beyond or None
        The splits that are not in the encoding; their numbers begin at `encoded.n_candidate_splits`.

    Returns
    -------
    HeapTree
    """
    own, labels_tell = encoded.n_candidate_splits, not TASKS.get(encoded.task).MOMENTS

    def walk(t, rows):
        if split[t] < 0:
            return encoded.cheapest(rows) if label is None or label[t] < 0 else int(label[t])
        ones = _answers(encoded.X, beyond, rows, split[t])
        if ones.all() or not ones.any():
            return walk(2 * t + int(ones[:1].any()), rows)
        zero, one = walk(2 * t, rows[~ones]), walk(2 * t + 1, rows[ones])
        if zero == one and isinstance(zero, int) and labels_tell:
            return zero
        other = split[t] >= own and not beyond.stays(split[t] - own)
        same = encoded.place(beyond.X[:, split[t] - own]) if other else None
        if same is None:
            return int(split[t]), zero, one
        return same[0], *((zero, one) if same[1] else (one, zero))

    splits, labels = laid_out(walk(1, np.arange(encoded.n_rows)), len(split))
    return HeapTree(splits, labels, _numbered(splits, own, beyond))


def laid_out(root, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (split, label), int32 (size,), on the heap of a tree: a node is a class, or (split, child of 0, child of
    1)."""
    splits, labels = np.full(size, -1, np.int32), np.full(size, -1, np.int32)

    def lay(node, t):
        if isinstance(node, int):
            labels[t] = node
        else:
            splits[t] = node[0]
            lay(node[1], 2 * t)
            lay(node[2], 2 * t + 1)

    lay(root, 1)
    return splits, labels


def with_min_leaf_rows(heap: HeapTree, encoded: Encoded, least: int) -> HeapTree:
    """Return the settled tree without the branch nodes that leave a leaf with fewer than `least` data rows."""
    split, label, beyond = heap.split.copy(), heap.label, heap.beyond
    while True:
        rows = np.bincount(HeapTree(split.copy(), label, beyond).reach(encoded.X), encoded.copies)
        few = np.flatnonzero((0 < rows) & (rows < least))
        few = few[few > 1]
        if not len(few):
            return settle(split, encoded, label, beyond)
        split[few.max() // 2] = -1


def prune(heap: HeapTree, encoded: Encoded, price: float) -> HeapTree:
    """Remove the branch nodes whose subtree saves at most `price` per branch node (cost-complexity pruning, bottom-up,
    exact for this tree)."""
    chosen = heap.split.copy()

    def cost(t, rows):
        alone = float(encoded.loss[rows].sum(axis=0).min())
        if chosen[t] < 0:
            return alone
        ones = _answers(encoded.X, heap.beyond, rows, chosen[t])
        split = price + cost(2 * t, rows[~ones]) + cost(2 * t + 1, rows[ones])
        if split < alone:
            return split
        chosen[t] = -1
        return alone

    cost(1, np.arange(encoded.n_rows))
    return settle(chosen, encoded, None, heap.beyond)


def _answers(X: np.ndarray, beyond: Beyond | None, rows, split) -> np.ndarray:
    """Return the results of splits for rows; the arrays `rows` and `split` broadcast."""
    if beyond is None:
        return X[rows, split]
    own = X.shape[1]
    return np.where(split < own, X[rows, np.minimum(split, own - 1)], beyond.X[rows, np.maximum(split - own, 0)])


def _numbered(numbers: np.ndarray, own: int, beyond: Beyond | None) -> Beyond | None:
    """Return the splits that a tree uses, each once and in the order of its nodes, and renumber `numbers` to match."""
    asked = {}
    for t in np.flatnonzero(numbers >= own):
        split = beyond.splits[numbers[t] - own]
        asked.setdefault(split, int(numbers[t]) - own)
        numbers[t] = own + list(asked).index(split)
    if not asked:
        return None
    return Beyond(tuple(asked), beyond.X[:, [*asked.values()]], beyond.ones_left[[*asked.values()]], beyond.kept)
