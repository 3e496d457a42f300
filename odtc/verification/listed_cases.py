"""All trees of one case that could cost less than a claim, listed at multipliers (odtc.verification.multiplier_bound).

All subtrees that could be one side of such a tree are listed, and all pairs looked at; of subtrees that use the same of
every sum only the cheapest is kept, which loses no tree. Weighted costs may be negative, so a side is cut off only by
what the other side costs at least.
"""

import numpy as np

from odtc.errors import CertificateError
from odtc.verification.multiplier_bound import Problem, Weighted

MOST_PAIRS = 3_000_000_000
BLOCK = 4_000_000


def excluded(problem: Problem, scale: int, root: int, columns: np.ndarray, multipliers: list[int], claim: int) -> bool:
    """Whether no tree of a case satisfies everything and costs less than the claim."""
    return not Lists(Weighted(problem, scale, multipliers), root, columns, claim).hold_one()


class Lists:
    """All trees of one case that could cost less than a claim.

    Parameters
    ----------
    weighted : Weighted
    root : int
    columns : int (k,)
    claim : int
    """

    def __init__(self, weighted: Weighted, root: int, columns: np.ndarray, claim: int):
        self.weighted, self.problem, self.root, self.claim = weighted, weighted.problem, root, claim
        self.tests = np.flatnonzero(np.isin(self.problem.column, columns))

    def hold_one(self) -> bool:
        """Whether a tree of the case keeps everything and costs less than the claim."""
        problem, weighted = self.problem, self.weighted
        one = problem.X[:, self.root]
        rows = [np.flatnonzero(~one), np.flatnonzero(one)]
        least = [self._least(side, problem.depth - 1) for side in rows]
        limit = weighted.limit(self.claim) - weighted.node
        if not least[0] + least[1] <= limit:
            return False
        lists = [self._trees(rows[t], problem.depth - 1, limit - least[1 - t])[1] for t in (0, 1)]
        most = np.append(self.claim - 1 - problem.price, np.array(problem.bound) - np.array(problem.branch_uses, int))
        return _some_pair(lists[0], lists[1], most.astype(float))

    def _least(self, rows: np.ndarray, depth: int) -> float:
        """The least weighted cost of a subtree on some rows."""
        count, weighted = self.problem.count(rows), self.weighted
        alone = weighted.leaf(count)
        if depth == 1:
            alone = min(alone, weighted.node + float(weighted.stumps(self._ones(rows), count).min()))
        elif depth == 2:
            single, stump = weighted.below(self.problem.pairs(rows, self.tests), count)
            below = np.minimum(single, weighted.node + stump.min(axis=2))
            alone = min(alone, weighted.node + float(below.sum(axis=0).min()))
        return alone

    def _ones(self, rows: np.ndarray) -> np.ndarray:
        return self.problem.X[np.ix_(rows, self.tests)].T.astype(float) @ self.problem.members[rows]

    def _trees(self, rows: np.ndarray, depth: int, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """(weighted cost (trees,), cost and uses (trees, 1 + sums)) of the subtrees up to a weighted cost."""
        found = [self._leaf(rows, limit)]
        below = None
        if depth == 2:
            single, stump = self.weighted.below(self.problem.pairs(rows, self.tests), self.problem.count(rows))
            below = np.minimum(single, self.weighted.node + stump.min(axis=2))
        elif depth == 1:
            stumps = self.weighted.stumps(self._ones(rows), self.problem.count(rows))
            worth = self.weighted.node + stumps <= limit
        for place, test in enumerate(self.tests.tolist() if depth else ()):
            room = limit - self.weighted.node
            if below is not None and not below[0, place] + below[1, place] <= room:
                continue
            if below is None and not worth[place]:
                continue
            one = self.problem.X[rows, test]
            sides = (rows[~one], rows[one])
            least = [below[t, place] if below is not None else self._least(sides[t], 0) for t in (0, 1)]
            zero, ones = (self._trees(sides[t], depth - 1, room - least[1 - t]) for t in (0, 1))
            found.append(self._above(zero, ones, room))
        weight, vector = (np.concatenate([part[at] for part in found]) for at in (0, 1))
        return _cheapest(weight, vector)

    def _leaf(self, rows: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
        count = self.problem.count(rows)
        vector = np.vstack([count @ self.problem.cost, np.tensordot(count, self.problem.uses, (0, 1))]).T
        weight = count @ self.weighted.kind
        fits = (weight <= limit) & (count.sum() >= self.problem.least_rows)
        return weight[fits], vector[fits]

    def _above(self, zero, one, room: float) -> tuple[np.ndarray, np.ndarray]:
        """The subtrees of a branch node above two lists."""
        order = np.argsort(one[0], kind="stable")
        ends = np.searchsorted(one[0][order], room - zero[0], side="right")
        if ends.sum() > MOST_PAIRS // 100:
            raise CertificateError("the lists of subtrees of a case are too long to be checked")
        i = np.repeat(np.arange(len(zero[0])), ends)
        j = order[np.arange(len(i)) - np.repeat(np.cumsum(ends) - ends, ends)]
        own = np.append(self.problem.price, self.problem.branch_uses).astype(float)
        return _cheapest(zero[0][i] + one[0][j] + self.weighted.node, zero[1][i] + one[1][j] + own)


def _cheapest(weight: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of entries that use the same of every sum the cheapest."""
    if not len(weight):
        return weight, vector
    order = np.lexsort(vector.T)  # by uses, then by cost
    use = vector[order][:, 1:]
    first = np.append(True, (np.diff(use, axis=0) != 0).any(axis=1)) if use.shape[1] else np.arange(len(order)) == 0
    return weight[order[first]], vector[order[first]]


def _some_pair(zero: np.ndarray, one: np.ndarray, most: np.ndarray) -> bool:
    """Whether the sum of an entry of each list is nowhere above `most`."""
    if len(zero) and len(one):
        zero = zero[(zero <= most - one.min(axis=0)).all(axis=1)]
    if len(zero) and len(one):
        one = one[(one <= most - zero.min(axis=0)).all(axis=1)]
    if not (len(zero) and len(one)):
        return False
    if float(len(zero)) * len(one) > MOST_PAIRS:
        raise CertificateError("the lists of subtrees of a case are too long to be checked")
    one = one[np.argsort(one[:, 0], kind="stable")]
    step = max(1, BLOCK // len(one))
    for first in range(0, len(zero), step):
        here = zero[first : first + step]
        end = int(np.searchsorted(one[:, 0], most[0] - here[:, 0].min(), side="right"))
        fits = here[:, None, 0] + one[None, :end, 0] <= most[0]
        for r in range(1, len(most)):
            fits &= here[:, None, r] + one[None, :end, r] <= most[r]
        if fits.any():
            return True
    return False
