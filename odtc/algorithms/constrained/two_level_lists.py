"""Lists of all subtrees of depth 2 below a path whose weighted cost is at most a limit, for all root splits at once.

For each split g and each outcome t there is a list of the leaves and stumps on that side, with all their labels. Its
limit is the total limit minus the cost of g and the least cost of the other side. Then the two lists of each g are
paired.
"""

from collections.abc import Callable, Iterator

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.algorithms.constrained.lagrangian_pass import Pass, Path, Weights
from odtc.algorithms.constrained.subtree_options import Options, join_codes, kept
from odtc.base.deadline import BLOCK_CELLS
from odtc.base.value_class import value_class

MOST_ROOTS = 500  # maximum number of splits in one block, so that costs with an offset for each list stay exact


@value_class
class Splits:
    """The splits below a path.

    Attributes
    ----------
    path : Path
    roots : int (roots,)
        The splits at its end.
    inner : int (splits,)
        The splits that are allowed below these, without regard to limits on pairs of a split and one below it.
    """

    path: Path
    roots: np.ndarray
    inner: np.ndarray


def two_levels(
    tables: Pass,
    weights: Weights,
    splits: Splits,
    limits: np.ndarray,
    limit: float,
    most: int,
    tick: Callable[[], None],
) -> list[Options]:
    """Return the subtrees of at most depth 2 below a path that have a split at their root.

    Parameters
    ----------
    tables : Pass
    weights : Weights
    splits : Splits
    limits : float64 (2, roots)
        The maximum weighted cost of the subtree for each outcome of a root.
    limit : float
        The maximum weighted cost of a whole subtree.
    most : int
        The maximum number of pairs that are tried.
    tick : Callable[[], None]
        Raises when the time is over.

    Raises
    ------
    TooLarge
        If there are more pairs.
    """
    problem, found, looked, roots, inner = tables.problem, [], 0, splits.roots, splits.inner
    # Two labels of a stump differ, unless nodes or leaves have negative uses.
    distinct = (problem.branch_uses >= 0).all() and (problem.leaf_uses >= 0).all()
    pairs, total = tables.counts.below(splits.path)
    own = np.diagonal(pairs, axis1=1, axis2=2).astype(float)
    step = min(MOST_ROOTS, max(1, BLOCK_CELLS // max(1, 4 * len(inner) * problem.n_labels**2)))
    for first in range(0, len(roots), step):
        tick()
        block = roots[first : first + step]
        lists = _Lists(tables, weights, block, inner, limits[:, first : first + step].T)
        lists.add_leaves(np.stack([total[:, None] - own[:, block], own[:, block]], axis=2))
        lists.add_stumps(_counts_by_outcomes(pairs, total, block, inner), distinct)
        for i, j, root in lists.pairs(limit - weights.branch, most - looked):
            tick()
            looked += len(i)
            vector = lists.vector[i] + lists.vector[j]
            vector[:, 0] += problem.branch_cost
            vector[:, 1:] += problem.branch_uses
            weight = lists.weight[i] + lists.weight[j] + weights.branch
            if problem.accepts is None:  # thinned before the codes are written
                some = kept(vector)
                i, j, root, weight, vector = i[some], j[some], root[some], weight[some], vector[some]
            found.append(Options(weight, vector, join_codes(block[root], lists.code[i], lists.code[j])))
    return found


def _counts_by_outcomes(pairs: np.ndarray, total: np.ndarray, roots: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return float64 (kinds, roots, outcomes, outcomes of inner, inner): rows of each kind with these outcomes for a
    root and an inner split, from the rows with outcome 1 for two splits (`pairs`) and all rows (`total`)."""
    both = pairs[:, roots[:, None], inner].astype(float)
    own = np.diagonal(pairs, axis1=1, axis2=2).astype(float)
    counts = np.empty((*both.shape[:2], 2, 2, len(inner)))
    counts[:, :, 1, 1] = both
    counts[:, :, 1, 0] = own[:, roots, None] - both
    counts[:, :, 0, 1] = own[:, None, inner] - both
    counts[:, :, 0, 0] = (total[:, None] - own[:, roots])[:, :, None] - counts[:, :, 0, 1]
    return counts


class _Lists:
    """Leaves and stumps for both outcomes of some splits, in one array; list 2 g + t belongs to outcome t of g."""

    def __init__(self, tables: Pass, weights: Weights, roots: np.ndarray, inner: np.ndarray, limits: np.ndarray):
        self.tables, self.problem, self.weights = tables, tables.problem, weights
        self.roots, self.inner, self.limits = roots, inner, limits
        self._parts = []

    def _vector(self, counts: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Return float64 (leaves, 1 + constraints): cost and uses of leaves with counts (kinds, leaves) and these
        labels."""
        of = self.tables.counts
        cost = (of.cost[:, label] * counts).sum(axis=0)
        uses = (of.uses[:, :, label] * counts).sum(axis=1) + self.problem.leaf_uses[:, label]
        return np.concatenate([cost[None], uses]).T

    def add_leaves(self, counts: np.ndarray) -> None:
        """Add leaves in place of stumps; counts (kinds, roots, outcomes)."""
        weight = self.tables.leaves(counts, self.weights)
        k, g, t = np.nonzero(weight <= self.limits)
        code = np.repeat((-1 - k)[:, None], 3, axis=1)
        self._parts.append((2 * g + t, weight[k, g, t], self._vector(counts[:, g, t], k), code))

    def add_stumps(self, counts: np.ndarray, distinct: bool) -> None:
        """Add stumps with two labels; counts (kinds, roots, outcomes, outcomes of inner, inner)."""
        weight, problem = self.tables.leaves(counts, self.weights), self.problem
        zero, one = (weight[:, :, :, s].transpose(1, 2, 0, 3) for s in (0, 1))  # (roots, outcomes, labels, inner)
        sums = zero[:, :, :, None] + one[:, :, None] + self.weights.branch
        if distinct:
            label = np.arange(problem.n_labels)
            sums[:, :, label, label] = np.inf
        if problem.below is not None:
            barred = ~problem.below[np.ix_(self.roots, self.inner)]
            sums = np.where(barred[:, None, None, None], np.inf, sums)
        hit = sums <= self.limits[:, :, None, None, None]
        g, t, a, b, h = np.nonzero(hit)
        vector = self._vector(counts[:, g, t, 0, h], a) + self._vector(counts[:, g, t, 1, h], b)
        vector[:, 0] += problem.branch_cost
        vector[:, 1:] += problem.branch_uses
        self._parts.append((2 * g + t, sums[hit], vector, np.stack([self.inner[h], -1 - a, -1 - b], axis=1)))

    def pairs(self, room: float, most: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (position of an option of outcome 0, position of one of outcome 1, their root), by parts: all whose
        weighted costs sum to at most `room`."""
        of, self.weight, self.vector, code = (np.concatenate(part) for part in zip(*self._parts))
        self.code = code.astype(np.int32)
        if self.problem.accepts is None:
            of = self._take(kept(self.vector, of), of)
        of = self._take(np.lexsort((self.weight, of)), of)
        start = np.searchsorted(of, np.arange(2 * len(self.roots) + 1))
        zeros = np.flatnonzero(of % 2 == 0)
        ends = np.zeros(len(zeros), np.int64)
        at = np.searchsorted(zeros, start[0::2])
        for g in range(len(self.roots)):
            mine = slice(at[g], at[g + 1])
            one = self.weight[start[2 * g + 1] : start[2 * g + 2]]
            ends[mine] = np.searchsorted(one, room - self.weight[zeros[mine]], side="right")
        if ends.sum() > most:
            raise TooLarge(f"a list of subtrees would have more than {most:,} entries")
        begin = start[of[zeros] + 1]
        for here in np.split(np.arange(len(zeros)), np.flatnonzero(np.diff(np.cumsum(ends) // BLOCK_CELLS)) + 1):
            n = ends[here]
            if n.sum():
                i = np.repeat(zeros[here], n)
                j = np.arange(len(i)) - np.repeat(np.cumsum(n) - n, n) + np.repeat(begin[here], n)
                yield i, j, of[i] // 2

    def _take(self, places: np.ndarray, of: np.ndarray) -> np.ndarray:
        self.weight, self.vector, self.code = self.weight[places], self.vector[places], self.code[places]
        return of[places]
