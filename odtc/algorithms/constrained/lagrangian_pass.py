"""One Lagrangian pass: the tree of least weighted cost for a root split, for all subsets of columns at once.

At multipliers μ a leaf with rows S costs leaf(S) = min_l Σ_{i in S} (cost_il + Σ_r μ_r uses_ril), +∞ if no label is
allowed there. Below a path p of outcomes,

    best[t, g, c] = min(leaf(p, g = t),  price + min over splits h of column c of Σ_u leaf(p, g = t, h = u))
    W[p, C]       = min(leaf(p),         price + min over splits g of C of Σ_t min over columns c of C of best[t, g, c])

is exact for all subtrees of depth 2 over the columns C; deeper subtrees are the same one level up. Costs are stored
relative to the costs of label 0, which sum to the same over the leaves of every tree. All numbers are whole, in units
of 1 / scale.
"""

from collections.abc import Callable
from copy import copy

import numpy as np

from odtc.algorithms.constrained.count_tensors import Counts
from odtc.base.value_class import value_class

Path = tuple[tuple[int, int], ...]


@value_class
class Weights:
    """Weighted costs at some multipliers, in units of 1 / scale.

    Attributes
    ----------
    multipliers : int64 (constraints,)
    label : float64 (labels, kinds)
        The weighted cost of each label for one unit of a kind of rows, relative to label 0.
    base : float
        The part of the weighted cost that all trees with a root split share: all rows with label 0, and the root.
    leaf : float64 (labels,)
        The weighted cost of a leaf with this label, in addition to its rows.
    branch : float
        The weighted cost of a branch node.
    budget : int
        Σ_r m_r bound_r; the weighted cost of a feasible tree exceeds its own cost by at most this.
    """

    multipliers: np.ndarray
    label: np.ndarray
    base: float
    leaf: np.ndarray
    branch: float
    budget: int

    @classmethod
    def of(cls, counts: Counts, scale: int, multipliers: np.ndarray) -> "Weights":
        problem, m = counts.problem, multipliers.astype(float)
        full = scale * counts.cost + np.tensordot(m, counts.uses, 1)  # (kinds, labels)
        branch = float(scale * problem.branch_cost + m @ problem.branch_uses)
        return cls(
            multipliers,
            np.ascontiguousarray((full - full[:, :1]).T),
            float(full[:, 0] @ counts.total) + branch,
            m @ problem.leaf_uses,
            branch,
            problem.budget(multipliers),
        )


def sums(n_splits: int, depth: int) -> float:
    """Return about how many sums one pass over all roots takes."""
    return 20.0 * 2.0 ** (depth - 1) * float(n_splits) ** depth


class Segments:
    """Subsets of columns, with the splits that each allows, laid out one after another.

    Parameters
    ----------
    subsets : bool (subsets, columns)
    column : int (splits,)
    """

    def __init__(self, subsets: np.ndarray, column: np.ndarray):
        self.size = len(subsets)
        self.all = bool(subsets.all()) and len(subsets) == 1
        of, self.split = np.nonzero(subsets[:, column])
        self.start = np.searchsorted(of, np.arange(self.size))
        self.empty = np.bincount(of, minlength=self.size) == 0
        width = int(subsets.sum(axis=1).max(initial=1))
        # The columns of each subset; a smaller one repeats its first.
        order = np.argsort(~subsets, axis=1, kind="stable")[:, :width]
        order = np.where(np.arange(width) < subsets.sum(axis=1)[:, None], order, order[:, :1])
        self.columns = order[of]
        self.subsets = subsets

    def least(self, value: np.ndarray) -> np.ndarray:
        """Return the least of each subset, float64 (subsets,), of values of the splits in this layout, float64
        (positions,)."""
        if not len(value):
            return np.full(self.size, np.inf)
        found = np.minimum.reduceat(value, np.minimum(self.start, len(value) - 1))
        return np.where(self.empty, np.inf, found) if self.empty.any() else found


class Pass:
    """The tables below paths, for any weights.

    Parameters
    ----------
    counts : Counts
        Of a problem whose splits are sorted by column.
    scale : int
        Of the multipliers (constrained_problem.fixed_point).
    tick : Callable[[], None]
        Called between subtrees of two levels: there are many below one root of a deep tree. It may raise to end the
        pass.
    """

    def __init__(self, counts: Counts, scale: int, tick: Callable[[], None] = lambda: None):
        self.counts, self.problem, self.scale, self.tick = counts, counts.problem, scale, tick
        problem = self.problem
        self.starts = np.searchsorted(problem.column, np.arange(int(problem.column.max(initial=0)) + 1))
        self.positioned = problem.below is not None or not problem.allowed.all()
        self.local = [
            [j for j in range(len(problem.measures)) if np.isfinite(problem.least[j, k])]
            for k in range(problem.n_labels)
        ]
        self.alike = len(problem.least) == 0 or (problem.least == problem.least[:, :1]).all()

    def of(self, counts: Counts) -> "Pass":
        """Return the same tables for a problem that differs only in its sums; both share their common results."""
        again = copy(self)
        again.counts, again.problem = counts, counts.problem
        return again

    # Allowed leaves, by their rows, and allowed splits, by their position.

    def _forbidden(self, path: Path, pairs, total, splits) -> list:
        """Return for each label None, or (alone, single (2, T), leaves (3, T, T)), bool: leaves that are not allowed
        with this label; the pairs of outcomes are (1, 1), (1, 0) and (0, 0)."""
        if not len(self.problem.measures):
            return [None] * self.problem.n_labels
        keep = splits is None and self.counts.stored and len(path) < 2
        if keep and path in self.counts.barred:
            return self.counts.barred[path]
        measured = [
            _quarters(np.tensordot(measure, pairs, 1), float(measure @ total)) for measure in self.counts.measures
        ]
        found = []
        for k in range(self.problem.n_labels):
            if k and self.alike:
                found.append(found[0])
                continue
            parts = [
                (alone < least, single < least, leaves < least)
                for (alone, single, leaves), least in ((measured[j], self.problem.least[j, k]) for j in self.local[k])
            ]
            found.append(tuple(np.logical_or.reduce([part[i] for part in parts]) for i in range(3)) if parts else None)
        if keep:
            self.counts.barred[path] = found
        return found

    def may(self, path: Path, splits: np.ndarray | None = None) -> np.ndarray:
        """Return bool (splits,): whether each split is allowed at the end of a path."""
        problem = self.problem
        own = problem.allowed[len(path)].copy()
        for split, _ in path if problem.below is not None else ():
            own &= problem.below[split]
        return own if splits is None else own[splits]

    # Tables below a path.

    def leaf(self, count: np.ndarray, weights: Weights) -> tuple[float, int]:
        """Return (weighted cost, label) of the best leaf of rows with these counts; (inf, -1) if none is allowed."""
        value = weights.label @ count + weights.leaf
        value[~self.labels_of(count)] = np.inf
        k = int(value.argmin())
        return (float(value[k]), k) if value[k] < np.inf else (np.inf, -1)

    def leaves(self, counts: np.ndarray, weights: Weights) -> np.ndarray:
        """Return float64 (labels, …): weighted costs of leaves with these counts, float64 (kinds, …), by label; inf if
        a label is not allowed."""
        flat = counts.reshape(len(counts), -1)
        value = weights.label @ flat + weights.leaf[:, None]
        for measure, least in zip(self.counts.measures, self.problem.least):
            value[measure @ flat < least[:, None]] = np.inf
        return value.reshape(len(value), *counts.shape[1:])

    def labels_of(self, count: np.ndarray) -> np.ndarray:
        """Return bool (labels,): whether a leaf with these counts may predict each label."""
        if not len(self.problem.measures):
            return np.ones(self.problem.n_labels, bool)
        return ((self.counts.measures @ count)[:, None] >= self.problem.least).all(axis=0)

    def singles(self, path: Path, splits: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (count float64 (kinds, splits) of the rows below the path with outcome 1, total float64 (kinds,))."""
        if not path:
            found, total = np.diagonal(self.counts.pairs, axis1=1, axis2=2), self.counts.total
        else:
            pairs, above = self.counts.below(path[:-1])
            split, answer = path[-1]
            ones, every = pairs[:, split], np.diagonal(pairs, axis1=1, axis2=2)
            total = ones[:, split].astype(float) if answer else above - ones[:, split]
            found = ones if answer else every - ones
        return (found if splits is None else found[:, splits]).astype(float), total

    def stumps(self, path: Path, weights: Weights, splits: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """Return (alone, both float64 (splits,)): the best leaf below a path, and the two leaves below each split."""
        ones, total = self.singles(path, splits)
        both = sum(self.leaves(count, weights).min(axis=0) for count in (ones, total[:, None] - ones))
        if self.positioned:
            both[~self.may(path, splits)] = np.inf
        return self.leaf(total, weights)[0], both

    def tables(
        self, path: Path, weights: Weights, splits: np.ndarray | None = None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return leaves and stumps below a path.

        Returns
        -------
        alone : float
            The best leaf at its end.
        single : float64 (2, splits)
            The best leaf for outcome 0, or 1, of a split g.
        stump : float64 (2, splits, splits)
            The two best leaves for this outcome of g with the split h below it.
        """
        pairs, total = self.counts.below(path)
        if splits is not None:
            pairs = pairs[:, splits[:, None], splits]
        forbidden = self._forbidden(path, pairs, total, splits)
        alone = single = leaves = None
        for k in range(self.problem.n_labels):
            if k:
                here = _quarters(_combined(weights.label[k], pairs), float(weights.label[k] @ total))
                here = [here[0] + weights.leaf[k], here[1], here[2]]
                if weights.leaf[k]:
                    here[1], here[2] = here[1] + weights.leaf[k], here[2] + weights.leaf[k]
            else:
                T = pairs.shape[1]
                here = [weights.leaf[0], np.full((2, T), weights.leaf[0]), np.full((3, T, T), weights.leaf[0])]
            if not self.alike and forbidden[k] is not None:
                here = [np.where(bad, np.inf, value) for bad, value in zip(forbidden[k], here)]
            alone, single, leaves = (
                here
                if alone is None
                else (
                    min(alone, here[0]),
                    np.minimum(single, here[1], out=single),
                    np.minimum(leaves, here[2], out=leaves),
                )
            )
        if self.alike and forbidden[0] is not None:
            alone = np.inf if forbidden[0][0] else alone
            single[forbidden[0][1]] = np.inf
            leaves[forbidden[0][2]] = np.inf
        stump = np.empty((2, *leaves.shape[1:]))
        np.add(leaves[0], leaves[1], out=stump[1])
        np.add(leaves[1].T, leaves[2], out=stump[0])
        if self.positioned:
            self._position(path, splits, single, stump)
        return float(alone), single, stump

    def _position(self, path: Path, splits, single: np.ndarray, stump: np.ndarray) -> None:
        """Remove splits that are not allowed at their positions, in place."""
        every = np.arange(len(self.problem.column)) if splits is None else splits
        barred = ~self.may(path, every)
        single[:, barred] = np.inf
        stump[:, barred] = np.inf
        level = len(path) + 1
        if level < len(self.problem.allowed):
            under = self.problem.allowed[level][every]
            for split, _ in path if self.problem.below is not None else ():
                under = under & self.problem.below[split][every]
            stump[:, :, ~under] = np.inf
        if self.problem.below is not None:
            stump[:, ~self.problem.below[np.ix_(every, every)]] = np.inf

    # Values of subtrees.

    def least(self, path: Path, depth: int, weights: Weights, splits: np.ndarray) -> float:
        """Return the weighted cost of the best subtree of this depth below a path, over some splits, int (splits,)."""
        if depth == 0:
            return self.leaf(self.singles(path)[1], weights)[0]
        if depth == 1:
            alone, both = self.stumps(path, weights, splits)
        else:
            alone, sides = self.sides(path, depth - 1, weights, splits)
            both = sides.sum(axis=0)
        return float(min(alone, weights.branch + both.min(initial=np.inf)))

    def sides(self, path: Path, depth: int, weights: Weights, splits: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (the best leaf below a path, float64 (2, splits) the best subtrees of this depth, 1 or more, for
        outcome 0, or 1, of some splits); infinite for splits that are not allowed there."""
        if depth == 1:
            self.tick()
            alone, single, stump = self.tables(path, weights, splits)
            return alone, np.minimum(single, weights.branch + stump.min(axis=2, initial=np.inf))
        found = np.full((2, len(splits)), np.inf)
        for t in (0, 1):
            for g in np.flatnonzero(self.may(path, splits)).tolist():
                found[t, g] = self.least((*path, (int(splits[g]), t)), depth, weights, splits)
        return self.leaf(self.singles(path)[1], weights)[0], found

    def subtrees(self, path: Path, depth: int, weights: Weights, segments: Segments) -> np.ndarray:
        """Return float64 (subsets,): the weighted cost of the best subtree of this depth below a path, over each
        subset."""
        if depth == 0:
            return np.full(segments.size, self.leaf(self.singles(path)[1], weights)[0])
        if depth == 1:
            alone, both = self.stumps(path, weights)
            return np.minimum(alone, weights.branch + segments.least(both[segments.split]))
        if depth == 2:
            self.tick()
            alone, single, stump = self.tables(path, weights)
            if segments.all:
                best = np.minimum(single, weights.branch + stump.min(axis=2))
                return np.minimum(alone, weights.branch + (best[0] + best[1]).min(keepdims=True))
            best = np.minimum(single[:, :, None], weights.branch + np.minimum.reduceat(stump, self.starts, axis=2))
            place = segments.split[:, None], segments.columns
            pair = best[0][place].min(axis=1) + best[1][place].min(axis=1)
            return np.minimum(alone, weights.branch + segments.least(pair))
        found = np.full(segments.size, self.leaf(self.singles(path)[1], weights)[0])
        may = self.may(path)
        for g in np.unique(segments.split):
            if not may[g]:
                continue
            mine = np.flatnonzero(segments.subsets[:, self.problem.column[g]])
            part = segments if len(mine) == segments.size else Segments(segments.subsets[mine], self.problem.column)
            sides = [self.subtrees((*path, (int(g), t)), depth - 1, weights, part) for t in (0, 1)]
            found[mine] = np.minimum(found[mine], weights.branch + sides[0] + sides[1])
        return found

    def roots(self, split: int, weights: Weights, segments: Segments) -> np.ndarray:
        """Return float64 (subsets,): the weighted cost of the best tree with this split at the root, by subset."""
        return weights.base + sum(
            self.subtrees(((split, t),), self.problem.depth - 1, weights, segments) for t in (0, 1)
        )

    def bound(self, value, budget: int):
        """Return a lower bound on the cost of feasible trees, from the least weighted cost of all trees, float64 of any
        shape, and the budget at the same multipliers (`ConstrainedProblem.budget`)."""
        return np.ceil((value - budget) / self.scale)


def _combined(weight: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return Σ_b weight_b pairs_b, float64 (splits, splits)."""
    used = np.flatnonzero(weight)
    out = np.zeros(pairs.shape[1:])
    for b in used:
        out += weight[b] * pairs[b].astype(np.float64)
    return out


def _quarters(both: np.ndarray, total: float) -> list:
    """Return [all rows, (outcome 0, outcome 1), ((1, 1), (1, 0), (0, 0))] of sums over the rows with outcome 1 for two
    splits."""
    own = np.diagonal(both).astype(np.float64)
    leaves = np.empty((3, *both.shape))
    leaves[0] = both
    np.subtract(own[:, None], both, out=leaves[1])
    np.subtract((total - own)[:, None], leaves[1].T, out=leaves[2])
    return [total, np.stack([total - own, own]), leaves]
