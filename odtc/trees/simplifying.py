"""Remove needless branch nodes: merge equal subtrees, and replace a split that no row needs by the child with the rows.

A branch node is needless if both children have the same subtree, or if all rows that reach it go to one child. Every
row has the same prediction without it.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.data.encoding import Encoded
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Branch, Leaf, Tree


def simplify_heap(heap: HeapTree, encoded: Encoded, accepts: Callable[[HeapTree], bool] | None = None) -> HeapTree:
    """Return the tree without its needless branch nodes, from the bottom up.

    Parameters
    ----------
    heap : HeapTree
        Laid over the encoded rows.
    encoded : Encoded
    accepts : callable or None
        Returns whether a smaller tree is acceptable; otherwise the node stays. None accepts all.

    Returns
    -------
    HeapTree
        The same object if no branch node is removed.
    """
    while True:
        smaller = (without(heap, t, child) for t, child in needless_nodes(heap, encoded))
        found = next((one for one in smaller if accepts is None or accepts(one)), None)
        if found is None:
            return heap
        heap = found


def needless_nodes(heap: HeapTree, encoded: Encoded) -> list[tuple[int, int]]:
    """Return (branch node, the child whose subtree can take its place) of each needless branch node, the
    lowest first."""
    rows = np.zeros(len(heap.split), dtype=np.int64)
    np.add.at(rows, heap.reach(encoded.X), encoded.copies)
    branches = np.flatnonzero(heap.split >= 0)[::-1].tolist()
    for t in range(len(rows) - 1, 1, -1):
        rows[t // 2] += rows[t]
    found = []
    for t in branches:
        zero, one = 2 * t, 2 * t + 1
        if _words(heap, zero) == _words(heap, one):
            found.append((t, zero))
        elif rows[t] and not (rows[zero] and rows[one]):
            found.append((t, zero if rows[zero] else one))
    return found


def without(heap: HeapTree, t: int, child: int) -> HeapTree:
    """Return the tree with the subtree at `child` in place of the branch node t above it."""
    split, label = heap.split.copy(), heap.label.copy()

    def clear(node):
        if node < len(split):
            split[node] = label[node] = -1
            clear(2 * node)
            clear(2 * node + 1)

    def move(source, target):
        split[target], label[target] = heap.split[source], heap.label[source]
        if heap.split[source] >= 0:
            move(2 * source, 2 * target)
            move(2 * source + 1, 2 * target + 1)

    clear(t)
    move(child, t)
    return HeapTree(split, label, heap.beyond)


def simplify_tree(tree: Tree) -> Tree:
    """Return a Tree without its needless branch nodes, as far as the rows in its leaves show; the same object if none
    is removed.

    Leaves that do not state their number of rows are only merged with equal leaves.
    """

    def walk(node):
        if isinstance(node, Leaf):
            return node
        left, right = walk(node.left), walk(node.right)
        if _same(left, right):
            return _added(left, right)
        held = sum(left.rows), sum(right.rows)
        if sum(held) and not all(held):
            return left if held[0] else right
        return node if left is node.left and right is node.right else Branch(node.split, left, right)

    root = walk(tree.root)
    return tree if root is tree.root else replace(tree, root=root)


def _words(heap: HeapTree, t: int):
    """Return a subtree as nested tuples, which are equal if the subtrees are."""
    if heap.split[t] < 0:
        return int(heap.label[t])
    return int(heap.split[t]), _words(heap, 2 * t), _words(heap, 2 * t + 1)


def _same(one, other) -> bool:
    if isinstance(one, Leaf) or isinstance(other, Leaf):
        return isinstance(one, Leaf) and isinstance(other, Leaf) and one.label == other.label
    return one.split == other.split and _same(one.left, other.left) and _same(one.right, other.right)


def _added(one, other):
    """Return two equal subtrees as one, with the rows of both."""
    if isinstance(one, Branch):
        return Branch(one.split, _added(one.left, other.left), _added(one.right, other.right))
    add = lambda a, b: tuple(x + y for x, y in zip(a, b))  # noqa: E731
    return Leaf(one.label, add(one.counts, other.counts), add(one.rows, other.rows), add(one.sums, other.sums))
