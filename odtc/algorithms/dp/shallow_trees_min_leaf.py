"""Search for the best subtree of one or two levels on sets of rows, if a leaf costs its loss and a reward, and has a
minimum number of rows.

The losses on the four sides of two splits are products of their columns and the losses of the rows. With two classes
one such product gives the least losses of both sides, because min(p, q) = (p + q - |p - q|) / 2.
(odtc.algorithms.dp.shallow_trees is for leaves that cost only their loss and may have any number of rows.)
"""

import numpy as np


class Subtrees:
    """Search for subtrees over groups of equal rows.

    X is bool (groups, splits), `loss` float64 (groups, classes), and `copies` the number of data rows of each group. A
    leaf costs `reward` in addition to its loss, and has at least `least` rows of the data, and at least one. Costs
    closer than `near` are equal. Sums have the type `kind`: float32 only if it represents all of them exactly as whole
    numbers.
    """

    def __init__(
        self, X: np.ndarray, loss: np.ndarray, copies: np.ndarray, reward: float, least: int, near: float, kind: type
    ):
        self.X = X
        self.loss = loss
        self.copies = copies
        self.reward = reward
        self.least = least
        self.near = near
        self.kind = kind

    def stumps(self, bits: np.ndarray, asked: np.ndarray, leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (cost, split) of the best stump for each line of bits, (paths, groups); split -1 if a leaf
        is as good."""
        if not len(asked):
            return leaf, np.full(len(leaf), -1, np.int32)
        bits, X, K = bits.astype(self.kind), self.X[:, asked].astype(self.kind), self.loss.shape[1]
        tables = []
        for k in range(K):
            weights = bits * self.loss[:, k].astype(self.kind)
            ones = weights @ X
            tables.append((ones, weights.sum(axis=1, keepdims=True) - ones))
        value = np.minimum.reduce([t[0] for t in tables]) + np.minimum.reduce([t[1] for t in tables]) + 2 * self.reward
        value = np.where(
            self._fit(
                bits @ (X * self.copies[:, None].astype(self.kind)), (bits @ self.copies.astype(self.kind))[..., None]
            ),
            value,
            np.inf,
        )
        best = value.argmin(axis=1)
        found = value[np.arange(len(best)), best]
        better = found < leaf - self.near
        return np.where(better, found, leaf), np.where(better, asked[best], -1).astype(np.int32)

    def two_levels(
        self, members: np.ndarray, asked: np.ndarray, then: tuple[np.ndarray, np.ndarray], leaf: float
    ) -> tuple[float, np.ndarray]:
        """Return (cost, int32 (3,)) of the best subtree for these groups: its first split, from `asked`, and the splits
        of its left and right side, from `then`. A node that predicts has -1; if a leaf, which costs `leaf`, is as good,
        all three are -1."""
        splits = np.full(3, -1, np.int32)
        loss = self.loss[members]
        if leaf <= loss.min(axis=1).sum() + self.reward + self.near or not len(asked):
            return leaf, splits
        X = self.X[members].astype(self.kind)
        loss = loss.astype(self.kind)
        copies = self.copies[members].astype(self.kind)
        A = X if len(asked) == X.shape[1] else X[:, asked]
        one_loss, total, one_count, count = A.T @ loss, loss.sum(axis=0), A.T @ copies, copies.sum()
        fits = self._fit(one_count, count)
        if not fits.any():
            return leaf, splits
        value, chosen, tables = np.zeros(len(asked)), [], []
        same = np.array_equal(*then)
        for side in (1, 0):
            below = then[side]
            side_loss = one_loss if side else total - one_loss
            alone = side_loss.min(axis=1) + self.reward
            if not len(below):
                value, chosen = value + alone, [np.full(len(asked), -1), *chosen]
                continue
            if side or not same:
                B = X if len(below) == X.shape[1] else X[:, below]
                tables = self._tables(A, B, loss, copies)
            best, found = self._stumps_below(tables, side_loss, one_count if side else count - one_count, side)
            better = found < alone - self.near
            value = value + np.where(better, found, alone)
            chosen = [np.where(better, below[best], -1), *chosen]
        value = np.where(fits, value, np.inf)
        f = int(value.argmin())
        if value[f] < leaf - self.near:
            return value[f], np.array([asked[f], chosen[0][f], chosen[1][f]], np.int32)
        return leaf, splits

    def _fit(self, ones: np.ndarray, all_: np.ndarray) -> np.ndarray:
        """Return whether both sides have enough rows, at least one each."""
        least = max(1, self.least)
        return (ones >= least) & (all_ - ones >= least)

    def _tables(self, A, B, loss, copies) -> list:
        """Return (sums over the rows with 1 for A's and B's split, sums over the rows with 1 for B's split) of the
        values that choose a stump: with two classes the difference of their losses, otherwise the loss of every class;
        and the numbers of rows, if they are needed."""
        columns = [loss[:, 0] - loss[:, 1]] if loss.shape[1] == 2 else [*loss.T]
        columns += [copies] if self.reward or self.least > 1 else []
        return [((A * weight[:, None]).T @ B, weight @ B) for weight in columns]

    def _stumps_below(self, tables, alone, count, side) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each first split, (position of B's split, cost) of the best stump for the rows on one side, which
        have the losses `alone` (splits, classes) and the numbers `count`."""
        on = [both if side else all_ - both for both, all_ in tables]
        counted = [on.pop()] if self.reward or self.least > 1 else []
        if alone.shape[1] == 2:  # min(p, q) = (p + q - |p - q|) / 2, and p + q is the same for all of B
            whole = (alone[:, 0] - alone[:, 1])[:, None]
            if not counted:
                # |d| + |w - d| is |w|, or more at the ends of d: 2 max d - w, and w - 2 min d.
                high, low = on[0].argmax(axis=1), on[0].argmin(axis=1)
                line = np.arange(len(high))
                up, down = 2 * on[0][line, high] - whole[:, 0], whole[:, 0] - 2 * on[0][line, low]
                gain = np.maximum(np.maximum(up, down), np.abs(whole[:, 0]))
                return np.where(up >= down, high, low), (alone.sum(axis=1) - gain) / 2
            value = (alone.sum(axis=1)[:, None] - np.abs(on[0]) - np.abs(whole - on[0])) / 2
        else:
            value = np.minimum.reduce(on) + np.minimum.reduce([alone[:, k, None] - table for k, table in enumerate(on)])
        if counted:
            value = np.where(self._fit(counted[0], count[:, None]), value + 2 * self.reward, np.inf)
        best = value.argmin(axis=1)
        return best, value[np.arange(len(best)), best]
