"""The constrained search at depth 0 and 1, over any number of splits: one pass over all trees of a split and two
leaves.

    cost(f, a, b) = Σ over rows with outcome 0 for f of cost[a] + Σ over the others of cost[b] + the branch node,

and the same for every use and measure. For a block of splits, one matrix product of the costs and uses of the rows with
their outcomes gives all sums, so no multipliers and no lists are needed. If there are very many thresholds, one pass
over the ranks of the rows gives the sums of all splits of a scale (stump_pairs).
"""

import numpy as np

from odtc.algorithms.constrained.all_thresholds import CoarseSearch
from odtc.algorithms.constrained.constrained_problem import codes_of
from odtc.algorithms.constrained.constrained_search import Found
from odtc.algorithms.constrained.stump_pairs import MOST_CELLS, RankSums, leaf_vectors
from odtc.base.deadline import BLOCK_CELLS


class OneSplitSearch(CoarseSearch):
    """Search over trees of depth 0 or 1; the parameters are the same as for CoarseSearch, for a problem of such a
    depth."""

    def run(self) -> Found:
        """Try every tree once, or until the time is over."""
        problem = self.problem
        n = len(problem.X)
        uses = problem.uses.transpose(0, 2, 1).reshape(-1, n)
        lines = np.concatenate([problem.cost.T, uses, problem.measures]).astype(float)
        total = lines.sum(axis=1)[:, None]
        alone = leaf_vectors(problem, total)[:, :, 0]
        for k in np.flatnonzero((alone[1:] <= problem.bound[:, None]).all(axis=0)):
            self._offer({}, {1: k}, alone[0, k])
        inside = problem.subsets.any(axis=0)[problem.column]
        splits = np.flatnonzero(inside & problem.allowed[0]) if problem.depth else np.zeros(0, int)
        ranked = len(self.splits) * n <= MOST_CELLS < len(self.scale) * n
        every = self._ones(lines) if ranked and len(splits) else None
        step = max(1, BLOCK_CELLS // max(1, n if every is None else len(lines)))
        for first in range(0, len(splits), step):
            if self._tick():
                return self._found()
            here = splits[first : first + step]
            ones = lines @ problem.X[:, here] if every is None else every[:, here]
            if not self._all(here, leaf_vectors(problem, total - ones), leaf_vectors(problem, ones)):
                return self._found()
        self.bound = self.upper
        return self._found()

    def _ones(self, lines: np.ndarray) -> np.ndarray:
        """Return float64 (lines, splits): the sums of lines, float64 (lines, rows), over the rows with outcome 1, by
        ranks."""
        codes = np.ascontiguousarray([codes_of(self.problem.X, mine) for mine in self.splits], np.int32)
        sums = RankSums(self.problem, codes, self.splits)
        found = np.empty((len(lines), len(self.scale)))
        found[:, sums.flat] = sums.ones(np.arange(len(self.problem.X)), lines)
        return found

    def _all(self, splits: np.ndarray, zero: np.ndarray, one: np.ndarray) -> bool:
        """Offer the trees of these splits, with the vectors of their leaves, that cost less than the best, the cheapest
        first; return False if the time was over."""
        problem = self.problem
        most, found = np.append(self.upper - 1, problem.bound), []
        node = np.append(problem.branch_cost, problem.branch_uses)
        for a in range(problem.n_labels):
            for b in range(problem.n_labels):
                vector = zero[:, a] + one[:, b] + node[:, None]
                cost, fits = vector[0], np.flatnonzero((vector <= most[:, None]).all(axis=0))
                if problem.accepts is None and len(fits):
                    fits = fits[[int(cost[fits].argmin())]]
                found += [(int(cost[at]), int(at), a, b) for at in fits]
        for cost, at, a, b in sorted(found):
            if cost >= self.upper:
                break
            if problem.accepts is not None and self._tick():
                return False
            self._offer({1: splits[at]}, {2: a, 3: b}, cost)
        return True

    def _offer(self, asked: dict, predicted: dict, cost: float) -> None:
        split, label = (np.full(2 ** (self.problem.depth + 1), -1, np.int32) for _ in range(2))
        for heap, found in ((split, asked), (label, predicted)):
            heap[list(found)] = list(found.values())
        if cost < self.upper and (self.problem.accepts is None or self.problem.accepts(split, label)):
            self._take(split, label, int(cost))
