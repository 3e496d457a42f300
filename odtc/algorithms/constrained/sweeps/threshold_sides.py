"""The costs W of the two sides of a root: the least weighted cost of a subtree for their rows, by subset of columns.

all_thresholds describes the bounds that follow from W; stump_pairs and two_splits have the sides of depth 2.
"""

from typing import Any

import numpy as np

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
from odtc.algorithms.constrained.sweeps.threshold_kernel import subtrees
from odtc.base.value_class import value_class


@value_class
class Side:
    """W of one root outcome: relative to label 0, and the cost of label 0 there."""

    value: np.ndarray  # float64 (subsets,); NaN where it was not needed
    base: float

    @property
    def full(self) -> np.ndarray:
        return self.value + self.base


class Sides:
    """W of the two outcomes of roots, computed when needed and kept.

    Parameters
    ----------
    splits : list of int (splits of the scale,)
    price : float
        The weighted cost of a branch node.
    leaf : float64 (labels,)
        The weighted cost of a leaf, in addition to its rows.
    conditions : bool
        Whether W takes conditions on the rows of leaves into account.

    Attributes
    ----------
    falls : bool
        Whether W falls with each row that a side loses, by at least the least weighted cost of the row: a tree may then
        have any leaves, and a leaf without rows costs no less than no leaf.
    """

    def __init__(self, splits: list[np.ndarray], price: float, leaf: np.ndarray, conditions: bool):
        self.splits, self.price, self.leaf = splits, price, leaf
        self.falls = not conditions and price >= 0 and bool((leaf >= 0).all())
        self._known: dict[tuple[int, int, int], Any] = {}

    def zero(self, j: int, f: int, among: np.ndarray) -> Any:
        """Return W of the rows with outcome 0 for split f of scale j; of all rows for the position behind the last
        split."""
        return self._side(j, f, 0, among) if f < len(self.splits[j]) else self._side(-1, 0, 0, among)

    def one(self, j: int, f: int, among: np.ndarray) -> Any:
        """Return W of the rows with outcome 1 for it; of all rows for the position before the first split."""
        return self._side(j, f, 1, among) if f >= 0 else self._side(-1, 0, 0, among)

    def apart(self, j: int, zero: int, one: int, among: np.ndarray) -> np.ndarray:
        """Return float64 (some subsets,): the least weighted cost of a branch node whose sides are the rows with
        outcome 0 for split `zero` of scale j and the rows with outcome 1 for split `one` of it, over the subsets
        `among`, int (some subsets,). With one split for both, it is the root of a tree."""
        return (self.both(self.zero(j, zero, among), self.one(j, one, among)) + self.price)[among]

    def both(self, zero: Any, one: Any) -> np.ndarray:
        """Return float64 (subsets,): the least weighted cost of two sides."""
        return zero.full + one.full

    def _side(self, j: int, f: int, answer: int, among: np.ndarray) -> Any:
        known = self._known.get((j, f, answer))
        if known is None or np.isnan(known.full[among]).any():
            known = self._known[j, f, answer] = self._made(j, f, answer, among)
        return known

    def _made(self, j: int, f: int, answer: int, among: np.ndarray) -> Any:
        raise NotImplementedError


def weighed(problem: ConstrainedProblem, scale: int, m: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (float64 (rows, labels), float): the weighted costs of a row with a label, and of a branch node, at the
    multipliers m, int64 (constraints,), in units of 1 / scale."""
    weight = scale * problem.cost.astype(float) + np.tensordot(m.astype(float), problem.uses.astype(float), 1)
    return weight, float(scale * problem.branch_cost + m @ problem.branch_uses)


class ThresholdSides(Sides):
    """W of the two outcomes of roots by sweeps over the rows; two labels, depth 3.

    Parameters
    ----------
    problem : ConstrainedProblem
    codes : int32 (scales, rows)
        For how many splits of each scale a row has outcome 1.
    splits : list of int (splits of the scale,)
    weight : float64 (rows, 2)
    m : int64 (constraints,)
    price : float
        `weight` and `price` are the weighted costs of a row with a label, and of a branch node, at the multipliers m
        (`weighed`).
    """

    def __init__(self, problem: ConstrainedProblem, codes, splits, weight, m, price: float):
        leaf = m.astype(float) @ problem.leaf_uses if len(m) else np.zeros(2)
        super().__init__(splits, price, leaf, len(problem.measures) > 0)
        self.codes = codes
        self.delta, self.zero_label = weight[:, 1] - weight[:, 0], weight[:, 0]
        self.copies = problem.measures[0] if len(problem.measures) else np.ones(len(problem.X), np.int64)
        self.shape = np.array([problem.least[0, 0] if len(problem.measures) else 0.0, self.price])
        subsets = problem.subsets
        width = int(subsets.sum(axis=1).max())
        order = np.argsort(~subsets, axis=1, kind="stable")[:, :width]
        self.columns = np.where(np.arange(width) < subsets.sum(axis=1)[:, None], order, order[:, :1]).astype(np.int64)
        self.subsets = subsets
        self.column = np.array([problem.column[mine[0]] for mine in splits], np.int64)

    def _made(self, j: int, f: int, answer: int, among: np.ndarray) -> Side:
        value = np.full(len(self.subsets), np.nan)
        if j < 0:  # over all scales
            among = np.arange(len(self.subsets))
        rows = np.arange(len(self.delta)) if j < 0 else np.flatnonzero((self.codes[j] > f) == bool(answer))
        value[among] = self._subtrees(rows, among)[0]
        return Side(value, float(self.zero_label[rows].sum()))

    def _subtrees(self, rows: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (the costs of the best subtrees of some rows over some subsets of columns, their first splits as
        written by the kernel, int (scales,) the scales that these count)."""
        inside = self.subsets[among]
        column, member = np.nonzero(inside.T)
        scales = np.flatnonzero(inside.any(axis=0)[self.column])
        out, where = np.empty(len(among)), np.empty((len(among), 2), np.int64)
        subtrees(
            self.codes if len(scales) == len(self.codes) else self.codes[scales],
            rows,
            self.delta,
            self.copies,
            self.shape,
            self.leaf,
            self.column[scales],
            np.searchsorted(column, np.arange(inside.shape[1] + 1)).astype(np.int64),
            member,
            self.columns[among],
            out,
            where,
        )
        return out, where, scales

    def best_split(self, rows: np.ndarray, subset: int) -> tuple[int, int]:
        """Return (scale, position) of the first split of the best subtree of some rows over a subset; (-1, -1) if it is
        a leaf."""
        _, where, scales = self._subtrees(rows, np.array([subset]))
        scale, place = where[0].tolist()
        return (int(scales[scale]), place) if scale >= 0 else (-1, -1)

    def best_stump(self, rows: np.ndarray, subset: int) -> tuple[int, int]:
        """Return the same for the best subtree of depth 1 of some rows, int (rows,)."""
        delta, copies = self.delta[rows], self.copies[rows]
        every, held = delta.sum(), copies.sum()
        least, leaf = self.shape[0], self.leaf
        best, found = (min(leaf[0], every + leaf[1]) if held >= least else np.inf), (-1, -1)
        for j in np.flatnonzero(self.subsets[subset][self.column]).tolist():
            code = self.codes[j, rows]
            sums, counts, there = (
                np.cumsum(np.bincount(code, weights=one, minlength=len(self.splits[j]) + 1))[:-1]
                for one in (delta, copies, np.ones(len(rows)))
            )
            stump = self.price + np.minimum(leaf[0], sums + leaf[1]) + np.minimum(leaf[0], every - sums + leaf[1])
            parts = (there > 0) & (there < len(rows)) & (counts >= least) & (held - counts >= least)
            stump = np.where(parts, stump, np.inf)
            f = int(stump.argmin())
            if stump[f] < best:
                best, found = float(stump[f]), (j, f)
        return found
