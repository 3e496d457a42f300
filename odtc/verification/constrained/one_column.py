"""All trees over nested splits of one column: each divides the ranks of the column into intervals.

Splits are nested if the rows can be ordered so that each split cuts the order in two. The rows between two neighbouring
splits form a cell. A tree of depth D has at most 2^D leaves with rows, and each leaf is an interval of cells. Two
neighbouring intervals with the same label are merged into one, which costs and uses no more. So for each tree there is
a walk over the cells that is at least as good: at each cell the current leaf continues, or a leaf with another label
begins.

A walk is dropped as soon as its cost, a sum or its weighted cost at multipliers (multiplier_bound), plus a lower bound
on the rest, is too large. Among walks with the same number of leaves, the same last label and equal uses, only the
cheapest is kept. If there is only one sum, walks that use more and cost as much as another one are dropped, too. All
this is valid if no condition is on single splits or nodes, leaves that grow stay allowed, and no node or leaf has a
negative use (`nested_sets`).
"""

from itertools import pairwise

import numpy as np

from odtc.base import deadline
from odtc.errors import CertificateError
from odtc.verification.constrained.multiplier_bound import Problem, Weighted

FROM_DEPTH = 4  # minimum depth; smaller trees are bounded root by root
DEEPEST = 8  # maximum depth of a tree
MOST_WALKS = 2_000_000  # maximum number of walks at one cell
MOST_HELD = 50_000_000  # maximum size of the table `to_come`


def nested_sets(problem: Problem) -> dict[int, np.ndarray]:
    """Return {the number of a set of columns: int (rows,), the cell of each row} for the sets whose trees are walks."""
    plain = problem.most_splits is None and not problem.together and not len(problem.follows) and problem.boxes is None
    grows = (problem.measures >= 0).all() and min(problem.branch_uses, default=0) >= 0 <= problem.leaf_uses.min(
        initial=0
    )
    deep = FROM_DEPTH <= problem.depth <= DEEPEST and problem.most_columns != 0
    if not (deep and plain and grows and problem.price >= 0):
        return {}
    found = {}
    for number, columns in enumerate(problem.column_sets):
        splits = np.flatnonzero(problem.column == columns[0])
        if (
            (columns == columns[0]).all()
            and problem.levels[:, splits].all()
            and problem.below[np.ix_(splits, splits)].all()
        ):
            deadline.check()
            cells = cells_of(problem.X[:, splits])
            if cells is not None:
                found[number] = cells
    return found


def cells_of(X: np.ndarray) -> np.ndarray | None:
    """Return int (rows,): the cells of rows with these results, bool (rows, splits), from 0 without gaps; None if the
    splits are not nested."""
    ones = X.sum(axis=0)
    smaller = np.minimum(ones, len(X) - ones)
    parting = np.flatnonzero(smaller)
    if not len(parting):
        return np.zeros(len(X), int)
    least = parting[smaller[parting].argmin()]
    first = int((X[:, least] == (2 * ones[least] <= len(X))).argmax())  # a row of the smallest side is at one end
    beside = X[:, parting] == X[first, parting]  # the same side as that row
    order = np.argsort(beside.sum(axis=0), kind="stable")
    if any((beside[:, a] & ~beside[:, b]).any() for a, b in pairwise(order.tolist())):
        return None
    return np.unique((~beside).sum(axis=1), return_inverse=True)[1].reshape(-1)


def holds_one(weighted: Weighted, cells: np.ndarray, claim: int) -> bool:
    """Return whether a tree over the cells may satisfy everything and cost less than a claim.

    Parameters
    ----------
    weighted : Weighted
    cells : int (rows,)
        As returned by `nested_sets`.
    claim : int

    Raises
    ------
    CertificateError
        If there are more walks than can be checked.
    """
    walks = _Walks(weighted, cells, claim)
    return walks.least() <= walks.limit[-1] and walks.one_ends()


class _Walks:
    """The walks over the cells of one column, by lines: the cost, each sum, and both weighed by the multipliers."""

    def __init__(self, weighted: Weighted, cells: np.ndarray, claim: int):
        problem = weighted.problem
        n_cells, sums = int(cells.max(initial=-1)) + 1, len(problem.bound)
        members = np.zeros((n_cells, problem.members.shape[1]))
        np.add.at(members, cells, problem.members)
        lines = np.concatenate([problem.cost[None], problem.uses]).astype(float)
        weight = np.array([weighted.scale, *weighted.multipliers], float)
        own = np.tensordot(members, lines, (1, 1))  # (cells, 1 + sums, labels)
        leaf = np.concatenate([np.zeros((1, own.shape[2])), problem.leaf_uses.astype(float)])
        node = np.array([problem.price, *problem.branch_uses], float)
        before = np.concatenate([np.zeros((1, *own.shape[1:])), own.cumsum(axis=0)])
        self.end = _ends(members @ problem.measures.T, problem.least)
        known = np.minimum(self.end, n_cells)[:, None, :]
        begun = np.take_along_axis(before, known, axis=0) - before[:-1] + leaf
        # Line by line with the weighted one at the end: of a cell, of a leaf that begins, and of a branch node.
        self.own, self.begun, self.before = (_with_weighted(part, weight) for part in (own, begun, before))
        self.node = np.append(node, node @ weight)
        self.limit = np.array([claim - 1, *problem.bound, weighted.limit(claim)], float)
        self.n_cells, self.n_labels, self.n_plain = n_cells, own.shape[2], 1 + sums
        self.most_leaves = min(2**problem.depth, n_cells)
        if self.most_leaves * n_cells * len(self.limit) * self.n_labels > MOST_HELD:
            raise CertificateError("the splits of a column are too many for trees of this depth to be checked")
        self.to_come = self._to_come()

    def _to_come(self) -> np.ndarray:
        """Return float64 (leaves, cells + 2, lines, labels): the least remaining sums at a cell in a leaf of a label
        that may end there, with at most this many more leaves; infinite after the last cell."""
        n, labels = self.n_cells, np.arange(self.n_labels)
        rest = self.before[-1] - self.before  # the leaf goes on to the end
        found = np.full((self.most_leaves, n + 2, *rest.shape[1:]), np.inf)
        found[0, : n + 1] = rest
        for more in range(1, self.most_leaves):
            deadline.check()
            behind = found[more - 1][self.end, :, labels]  # (cells, labels, lines)
            another = self.begun + behind.transpose(0, 2, 1) + self.node[:, None]
            here = np.full_like(another, np.inf)  # the best of the other labels
            for k in range(self.n_labels):
                for other in np.flatnonzero(labels != k):
                    np.minimum(here[:, :, k], another[:, :, other], out=here[:, :, k])
            here += self.before[:-1]
            best = np.minimum.accumulate(here[::-1], axis=0)[::-1] - self.before[:-1]
            found[more, : n + 1] = rest
            np.minimum(best, rest[:-1], out=found[more, :n])
        return found

    def least(self) -> float:
        """Return the least weight of a walk; infinite if no leaf is allowed."""
        ends = self.end[0] if self.n_cells else np.zeros(self.n_labels, int)
        begun = self.begun[0, -1] if self.n_cells else np.zeros(self.n_labels)
        return float(min(begun[k] + self.to_come[-1, ends[k], -1, k] for k in range(self.n_labels)))

    def one_ends(self) -> bool:
        """Return whether a walk reaches the end with no line above its limit."""
        n, K, lines = self.n_cells, self.n_labels, len(self.limit)
        leaves, label, vector = np.ones(0, int), np.zeros(0, int), np.zeros((0, lines))
        begun: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = [[] for _ in range(n + 1)]
        for cell in range(n + 1):
            deadline.check()
            parts = [(leaves, label, vector), *begun[cell]]
            begun[cell] = []
            leaves, label, vector = (np.concatenate([part[at] for part in parts]) for at in range(3))
            least = vector + self.to_come[self.most_leaves - leaves, cell, :, label]
            some = np.flatnonzero((least <= self.limit).all(axis=1))
            some = some[_cheapest(leaves[some] * K + label[some], vector[some, : self.n_plain])]
            leaves, label, vector = leaves[some], label[some], vector[some]
            if len(some) > MOST_WALKS:
                raise CertificateError("the walks over the splits of a column are too many to be checked")
            if cell == n:
                break
            for k, end in enumerate(self.end[cell].tolist()):
                if end > n:
                    continue
                if cell:
                    others = np.flatnonzero((label != k) & (leaves < self.most_leaves))
                    grown, number = vector[others] + self.begun[cell, :, k] + self.node, leaves[others] + 1
                else:
                    grown, number = self.begun[0, :, k][None], np.ones(1, int)
                fits = (grown + self.to_come[self.most_leaves - number, end, :, k] <= self.limit).all(axis=1)
                begun[end].append((number[fits], np.full(int(fits.sum()), k), grown[fits]))
            vector = vector + self.own[cell][:, label].T
        return bool(len(vector))


def _with_weighted(lines: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return lines (cells, 1 + sums, labels) with their weighted sum added at the end."""
    return np.concatenate([lines, np.tensordot(lines, weight, (1, 0))[:, None]], axis=1)


def _ends(held: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return int (cells, labels): the cell after which a leaf that begins at a cell may first end; cells + 1 if there
    is none.

    Parameters
    ----------
    held : float64 (cells, conditions), none below 0
    least : float64 (conditions, labels)
    """
    n = len(held)
    end = np.repeat(np.arange(1, n + 1)[:, None], least.shape[1], axis=1)
    for mine, bounds in zip(held.T, least):
        upto = np.append(0.0, mine.cumsum())
        for k, bound in enumerate(bounds.tolist()):
            if bound > -np.inf:  # the first place whose sum is enough above that before the leaf
                end[:, k] = np.maximum(end[:, k], np.searchsorted(upto, upto[:-1] + bound, side="left"))
    return end


def _cheapest(group: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the positions of the cheapest vectors of each group with equal uses of every sum; with one sum, without
    those that use more than another and cost as much. A vector is (cost, uses)."""
    if not len(vector):
        return np.zeros(0, int)
    order = np.lexsort((*vector.T, group))  # by group, by uses, then by cost
    key = np.concatenate([group[:, None], vector[:, 1:]], axis=1)[order]
    order = order[np.append(True, (np.diff(key, axis=0) != 0).any(axis=1))]
    if vector.shape[1] != 2:
        return order
    kept = []
    for mine in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        cost = vector[mine, 0]
        kept.append(mine[cost < np.append(np.inf, np.minimum.accumulate(cost)[:-1])])
    return np.concatenate(kept)
