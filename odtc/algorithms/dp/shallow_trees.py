"""The best tree of few levels on a set of rows, exactly, by counting in numpy and a memo above.

A row predicted as class k is worth `gain[row, k]`; a tree is worth the sum over its rows, minus `price` per branch
node. Depth 1 is one product XᵀG, depth 2 one product Xᵀdiag(G_k)X per class, which counts all four sides of every pair
of splits at once: n F² multiplications in total. Deeper trees try every split at the top and look up the subtrees,
with a memo on packed row sets and the bound that equal rows get one prediction. So depth h costs about n F^h, minus
the savings by the bound.
"""

import numpy as np

from odtc.algorithms.dp.state_graph import least_difference
from odtc.base import deadline

CELLS = 2_000_000  # of a table of pairs held at once
CALL = 1e6  # multiplications that take as long as what a product needs beside them


def merge_equal_rows(X: np.ndarray, gain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X, gain) with equal rows of X as one, in the order they first appear."""
    _, first, kind = np.unique(np.packbits(X, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    total = np.zeros((len(order), gain.shape[1]))
    np.add.at(total, rank[kind.reshape(-1)], gain)
    return X[first[order]], total


class ShallowTreeSearch:
    """Best trees on sets of the rows of X (bool (rows, splits)) with `gain` (float64 (rows, classes)).

    `best(rows, depth)` gives (value, splits), splits int32 of shape (2^depth,) in heap order from
    index 1, -1 if the node predicts. Of equal trees it keeps the one with fewer branch nodes,
    then the first splits. Raises TimeLimitReached at the deadline (odtc.base.deadline).
    """

    def __init__(self, X: np.ndarray, gain: np.ndarray, price: float = 0.0):
        self.X, self.gain, self.price = X, gain, price
        self.most = gain.max(axis=1)  # the bound: every row predicted as it pays best
        self.near = least_difference(gain)
        self.memo = {}
        self.work = 0.0  # multiplications so far: rows · splits² per product of all pairs, and what a call costs

    def best(self, rows: np.ndarray, depth: int) -> tuple[float, np.ndarray]:
        """`rows` are indices in ascending order."""
        deadline.check()
        leaf, splits = (
            float(self.gain[rows].sum(axis=0).max(initial=0)) if len(rows) else 0.0,
            np.full(2**depth, -1, np.int32),
        )
        most = float(self.most[rows].sum())
        if depth == 0 or leaf >= most - self.near:
            return leaf, splits
        if depth == 1:
            return self._stump(rows, leaf, splits)
        member = np.zeros(len(self.X), bool)
        member[rows] = True
        key = (depth, np.packbits(member).tobytes())
        if key not in self.memo:
            self.memo[key] = (self._pair if depth == 2 else self._deep)(rows, leaf, splits)
        return self.memo[key]

    def stumps(self, rows) -> np.ndarray:
        """Return the value of the tree with each split as its only one."""
        ones, zeros = self._sides(rows)
        self.work += CALL / 10 + 10 * len(rows) * self.X.shape[1]  # one pass over memory, so slower a product
        return ones.max(axis=1) + zeros.max(axis=1) - self.price

    def _stump(self, rows, leaf, splits):
        value = self.stumps(rows)
        f = int(value.argmax())
        if value[f] > leaf + self.near:
            leaf, splits[1] = float(value[f]), f
        return leaf, splits

    def _sides(self, rows):
        """The gains (splits, classes) of the rows with a 1, and with a 0."""
        gain = self.gain[rows]
        ones = deadline.product(self.X[rows], gain, float)
        return ones, gain.sum(axis=0) - ones

    def _pair(self, rows, leaf, splits):
        """Depth 2: the best split of all, over the best stumps on its sides."""
        value, below = self.pairs(rows)
        f = int(value.argmax())
        if value[f] > leaf + self.near:
            leaf, splits[1:4] = float(value[f]), (f, *below[f])
        return leaf, splits

    def pairs(self, rows) -> tuple[np.ndarray, np.ndarray]:
        """Return (value, below) for every split, from the gains of all pairs of splits.

        `value` is that of the best tree of depth 2 that begins with the split, `below` the splits of its children, -1
        if they predict.
        """
        X, gain = self.X[rows], self.gain[rows]
        ones, zeros = self._sides(rows)
        F, K = ones.shape
        self.work += CALL + len(rows) * F * F
        classes = [(X[held := gain[:, k] != 0], gain[held, k, None]) for k in range(K)]
        total, splits = np.empty(F), np.empty((F, 2), np.int32)
        for begin in range(0, F, step := max(1, CELLS // F)):
            f = slice(begin, begin + step)
            on11, on10, on01, on00 = (None,) * 4
            for k, (Xk, weight) in enumerate(classes):
                both = deadline.product(Xk[:, f] * weight, Xk, float)
                sides = both, ones[f, k, None] - both, ones[:, k] - both, zeros[f, k, None] - ones[:, k] + both
                on11, on10, on01, on00 = sides if k == 0 else map(np.maximum, (on11, on10, on01, on00), sides)
            total[f] = -self.price
            for side, (split, alone) in enumerate(
                ((on01 + on00, zeros[f].max(axis=1)), (on11 + on10, ones[f].max(axis=1)))
            ):
                g = split.argmax(axis=1)
                value = split[np.arange(len(g)), g] - self.price
                worth = value > alone + self.near
                total[f] += np.where(worth, value, alone)
                splits[f, side] = np.where(worth, g, -1)
        return total, splits

    def _deep(self, rows, leaf, splits):
        best, lower = self.best(rows, 2)
        splits[:4] = lower
        most = float(self.most[rows].sum())
        ones, zeros = self._sides(rows)
        X = self.X[rows]
        # The splits that part the rows best come first: the sooner a good tree, the more the bound spares.
        for f in np.argsort(-(ones.max(axis=1) + zeros.max(axis=1)), kind="stable").tolist():
            if best >= most - self.near:
                break
            right = rows[X[:, f]]
            left = rows[~X[:, f]]
            if not len(left) or not len(right) or most - self.price <= best + self.near:
                continue
            depth = len(splits).bit_length() - 2
            small, large = sorted((left, right), key=len)
            one, below = self.best(large, depth)
            if one + float(self.most[small].sum()) - self.price <= best + self.near:
                continue
            two, beside = self.best(small, depth)
            if one + two - self.price > best + self.near:
                best = one + two - self.price
                splits[1] = f
                graft_subtree(splits, 2, below if large is left else beside)
                graft_subtree(splits, 3, beside if large is left else below)
        return best, splits


def graft_subtree(splits: np.ndarray, node: int, below: np.ndarray) -> None:
    """Lays the splits of a subtree (heap order from 1) at this node of `splits`, in place."""
    for level in range(len(below).bit_length() - 1):
        first, width = node << level, 1 << level
        splits[first : first + width] = below[width : 2 * width]
