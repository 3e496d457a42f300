"""The choices of the nodes of a tree as variables of FlowOCT and BendersOCT.

They are b[node, split], w[node, class], and at bottom nodes p[node, split, side, class], the split with the labels of
both leaves at once (Aghaei, Gomez & Vayanos 2020, (1.2), (1.3), (8.3), (8.4); p is our addition). The tree of a point
is read only from them.
"""

import numpy as np

from odtc.algorithms.dp.shallow_trees import ShallowTreeSearch
from odtc.data.encoding import gains_of
from odtc.model.blocks import Block
from odtc.model.builder import ModelBuilder
from odtc.problem.formulation import SAME, TIGHTER, ModelChange
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis
from odtc.trees.heap_tree import CompleteTree, HeapTree, settle

FULL = ModelChange("at lambda = 0 every branch node branches, so only leaves predict", SAME, TIGHTER)
STUMP = ModelChange("bottom=stump: a bottom node with its two leaves is one choice (undo: bottom=flow)", SAME, TIGHTER)
SURE = 1e-3  # a variable within this distance of a whole number is treated as that number


def choice_rows(m: ModelBuilder, tree: CompleteTree, b: Block, w: Block | None, full: bool, stump: bool) -> None:
    """Add the constraints that each branch node has one split or, unless the tree is `full`, predicts one class, and
    that each leaf predicts one class. A stump may predict one class instead of having a split (`stump`)."""
    B, L, f = tree.branch_nodes[:, None], tree.leaves[:, None], np.arange(b.axes[1].size)

    # Σ_f b_tf + Σ_k w_tk = 1                          t ∈ B                            (1.2), (8.3)
    fork = m.rows("fork", node_axis(B), lower=1, upper=1)
    m.add(fork[B], b[B, f])
    if not full:
        m.add(fork[B], w[B, np.arange(w.axes[1].size)])

    # Σ_k w_tk = 1                                     t ∈ L                            (1.3), (8.4)
    if not stump:
        leaf = m.rows("leaf", node_axis(L), lower=1, upper=1)
        m.add(leaf[L], w[L, np.arange(w.axes[1].size)])


def whole_with_stumps(problem: Problem) -> np.ndarray:
    """Return the branch nodes whose b must be integer if a bottom node with its leaves is one choice.

    Given the b above, the rows of a bottom node are known, and its choice is a vertex of a simplex. A side constraint
    may tie it to the choices of other nodes; and a model without integers is another type of problem to GLPK and
    others, so at depth 1 the root is integer.
    """
    tree = problem.topology
    return tree.inner if tree.depth > 1 and not problem.constraints else tree.branch_nodes


def fit_to_depth(problem: Problem, heap: HeapTree, full: bool) -> HeapTree:
    """Return the tree; with `full`, a tree whose branch nodes all have a split. Raises TreeError for another depth."""
    depth = problem.topology.depth
    heap.expect_depth(depth)
    return heap.filled(depth, own=bool(problem.constraints)) if full else heap


def point_of(problem: Problem, heap: HeapTree, label: np.ndarray, stump: bool) -> dict[str, np.ndarray]:
    """Return {block: values} of b, of w at the nodes `label` and, with `stump`, of p for a tree in heap order."""
    tree, k = problem.topology, np.arange(len(problem.encoded.classes))
    point = {
        "b": (heap.split[tree.branch_nodes][:, None] == np.arange(problem.encoded.n_candidate_splits)).astype(float)
    }
    if len(label):
        # A node that does not branch must predict (1.2), also below one that already did.
        silent = (heap.split[label] < 0) & (heap.label[label] < 0)
        point["w"] = (np.where(silent, 0, heap.label[label])[:, None] == k).astype(float)
    if stump:
        sides = heap.label[np.stack([2 * tree.bottom, 2 * tree.bottom + 1], axis=1)]
        point["p"] = point["b"][tree.bottom - 1][:, :, None, None] * (sides[:, None, :, None] == k)
    return point


def splits_at_nodes(problem: Problem, point: dict[str, np.ndarray]) -> np.ndarray:
    """Return the split of each node in heap order, -1 if it predicts; at a fractional point the likeliest one."""
    b, split = point["b"], np.full(2 ** (problem.topology.depth + 1), -1, np.int32)
    split[problem.topology.branch_nodes] = np.where(b.sum(axis=1) > 0.5, b.argmax(axis=1), -1)
    return split


def tree_of(problem: Problem, point: dict[str, np.ndarray], label: np.ndarray, stump: bool) -> HeapTree:
    """Return the tree of a point, from the choices that `choices_of` reads, without the branch nodes that no training
    row needs."""
    split, labels = choices_of(problem, point, label, stump)
    return settle(split, problem.encoded, labels)


def choices_of(
    problem: Problem, point: dict[str, np.ndarray], label: np.ndarray, stump: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the split and the class of each node, -1 for none. If variables are continuous, their values may be
    fractional: a leaf without a clear label gets the label of least cost, and a bottom node that mixes splits gets
    the best of all splits (or none) for its rows, which costs no more than the mix."""
    tree, encoded, split = problem.topology, problem.encoded, splits_at_nodes(problem, point)
    b = point["b"][tree.bottom - 1]
    mixed = tree.bottom[((b > SURE) & (b < 1 - SURE)).any(axis=1)]
    if len(mixed):
        split[mixed] = -1
        end = HeapTree(split.copy(), split.copy()).reach(encoded.X)
        search = ShallowTreeSearch(encoded.X, gains_of(encoded), problem.module.branch_penalty(problem))
        split[mixed] = [search.best(np.flatnonzero(end == t), 1)[1][1] for t in mixed]
    labels = np.full(len(split), -1, np.int32)

    def read(nodes, weights):
        labels[nodes] = np.where(weights.max(axis=-1) > 1 - SURE, weights.argmax(axis=-1), -1)

    if len(label):
        read(label, point["w"])
    if stump:
        bottom = tree.bottom[split[tree.bottom] >= 0]
        chosen = point["p"][bottom - tree.bottom[0], split[bottom]]
        read(2 * bottom, chosen[:, 0])
        read(2 * bottom + 1, chosen[:, 1])
    # The labels of the leaves below a mixed split were chosen for the rows of another split.
    labels[np.concatenate([mixed, 2 * mixed, 2 * mixed + 1])] = -1
    return split, labels
