"""Local search from CART's tree: every subtree of few levels is replaced by its best form until none improves.

A polished tree is one that no subtree of up to LEVELS levels improves, nor new first splits above subtrees that stay.
The reason that it is not optimal is nearly always its root, so every other split is tried there, the most promising
first: both sides begin empty and are polished in the same way.

At a node, the splits of the node and of its children are chosen again, jointly and exactly, while the subtrees below
them stay. With r_00 … r_11 the gain of a row under each of the four subtrees below:

    max_f  max_g Σ_{x_f=0} (x_g = 0 ? r_00 : r_01)  +  max_h Σ_{x_f=1} (x_h = 0 ? r_10 : r_11)

One matrix product per side computes this for all pairs of splits. Every node, including leaves above the lowest level,
is also replaced by the best tree of up to LEVELS levels (odtc.algorithms.dp.shallow_trees) for comparison. The search
is deterministic, because work is counted and not timed. A step is taken only if it saves weight, so the search ends
with a tree that is never worse than CART's; at a deadline (odtc.base.deadline) it returns the best so far. Up to depth
LEVELS the result is optimal. If there are too many splits to count (thousands of thresholds), smaller subtrees are
replaced.
"""

import numpy as np

from odtc.algorithms.dp.shallow_trees import CALL, CELLS, ShallowTreeSearch, graft_subtree, merge_equal_rows
from odtc.data.encoding import Encoded, gains_of
from odtc.errors import TimeLimitReached
from odtc.heuristics.heuristic import HEURISTICS
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, settle

NAME = "local_search"
SUMMARY = "CART and other roots, subtrees of up to 3 levels re-optimised exactly until none improves"

LEVELS = 3  # of a subtree that is replaced as a whole
PRODUCTS = 2e9  # rows · splits^levels that one step may count: about a second
WORK = 6e9  # multiplications after which no other root is begun


def tree(encoded: Encoded, topology: CompleteTree, price: float = 0.0) -> HeapTree:
    X, gain = merge_equal_rows(encoded.X, gains_of(encoded))
    n, F = X.shape
    levels = next((h for h in range(min(LEVELS, topology.depth), 1, -1) if n * F**h <= PRODUCTS), 1)
    search = ShallowTreeSearch(X, gain, price)
    best = _State(search, HEURISTICS.get("cart").tree(encoded, topology, price).split.copy())
    try:
        best.polished(topology, levels)
        for f in _roots(search, levels) if topology.depth > levels else ():
            if search.work > WORK or best.value(1) >= float(search.most.sum()) - search.near:
                break
            split = np.full_like(best.split, -1)
            split[1] = f
            state = _State(search, split).polished(topology, levels)
            if state.value(1) > best.value(1) + search.near:
                best = state
    except TimeLimitReached:
        pass  # unfinished parts are left out
    return settle(best.split, encoded)


def _roots(search: ShallowTreeSearch, levels: int) -> np.ndarray:
    """Return the splits, sorted by their value at the root with the best stumps below them, or as single splits."""
    rows = np.arange(len(search.X))
    return np.argsort(-(search.pairs(rows)[0] if levels > 1 else search.stumps(rows)), kind="stable")


class _State:
    """The splits of the tree, and which rows come to each of its nodes."""

    def __init__(self, search: ShallowTreeSearch, split: np.ndarray):
        self.search, self.split = search, split
        self.X, self.gain, self.price = search.X, search.gain, search.price
        self._route()

    def polished(self, topology: CompleteTree, levels: int) -> "_State":
        """Itself, when no step makes it better."""
        improved = True
        while improved:
            improved = False
            for t in topology.branch_nodes[::-1].tolist():
                height = topology.depth - t.bit_length() + 1
                improved |= self.improve(t, min(levels, height))
                if height > levels:
                    improved |= self.improve_above(t, min(levels, 2))
        return self

    def _route(self) -> None:
        none = np.zeros(0, np.int64)
        self.rows, self.label = [none, np.arange(len(self.X))], np.zeros(len(self.split), int)
        for t in range(1, len(self.split)):
            rows = self.rows[t]
            self.label[t] = self.gain[rows].sum(axis=0).argmax() if len(rows) else self.label[t // 2]
            if self.split[t] >= 0:
                ones = self.X[rows, self.split[t]]
                self.rows += [rows[~ones], rows[ones]]
            else:
                self.rows += [none, none]

    def value(self, t: int) -> float:
        """Return the gain of the subtree of a node on its rows, minus its penalty."""
        if self.split[t] >= 0:
            return self.value(2 * t) + self.value(2 * t + 1) - self.price
        return float(self.gain[self.rows[t]].sum(axis=0).max()) if len(self.rows[t]) else 0.0

    def improve(self, t: int, depth: int) -> bool:
        """Puts the best tree of this depth in the place of the node's subtree, if it is better."""
        rows = self.rows[t]
        if not len(rows):
            return False
        value, found = self.search.best(rows, depth)
        if value <= self.value(t) + self.search.near:
            return False
        self._clear(t)
        graft_subtree(self.split, t, found)
        self._route()
        return True

    def improve_above(self, t: int, levels: int) -> bool:
        """Choose the splits of the first one or two levels again, exactly, above subtrees that stay."""
        rows = self.rows[t]
        if not len(rows) or self.split[t] < 0:
            return False
        before, kept = self.value(t), self.split.copy()
        X = self.X[rows].astype(float)
        if levels == 1:
            zero, one = self._under(2 * t, rows), self._under(2 * t + 1, rows)
            self.split[t] = (X.T @ (one - zero)).argmax()
        else:
            self.search.work += CALL + len(rows) * X.shape[1] ** 2
            self.split[[t, 2 * t, 2 * t + 1]] = _three(X, *(self._under(4 * t + j, rows) for j in range(4)))
        self._route()
        if self.value(t) > before + self.search.near:
            return True
        self.split = kept
        self._route()
        return False

    def _under(self, t: int, rows) -> np.ndarray:
        """Return the gain of each row if it goes to the subtree of this node, with unchanged labels."""
        node = np.full(len(rows), t)
        while (moving := self.split[node] >= 0).any():
            node = np.where(moving, 2 * node + self.X[rows, np.maximum(self.split[node], 0)], node)
        return self.gain[rows, self.label[node]]

    def _clear(self, t: int) -> None:
        width = 1
        while t < len(self.split):
            self.split[t : t + width] = -1
            t, width = 2 * t, 2 * width


def _three(X, r00, r01, r10, r11) -> tuple[int, int, int]:
    """The splits of a node, its left and its right child that gain most (the formula above)."""
    F, best = X.shape[1], (-np.inf, None)
    left, right = X * (r01 - r00)[:, None], X * (r11 - r10)[:, None]
    total = left.sum(axis=0)
    for begin in range(0, F, step := max(1, CELLS // F)):
        some = X[:, begin : begin + step].T
        zero, one = total - some @ left, some @ right
        value = zero.max(axis=1) + one.max(axis=1) + some @ (r10 - r00)
        f = int(value.argmax())
        if value[f] > best[0]:
            best = value[f], (begin + f, int(zero[f].argmax()), int(one[f].argmax()))
    return best[1]
