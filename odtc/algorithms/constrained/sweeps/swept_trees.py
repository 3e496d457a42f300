"""The cheapest trees of depth 3 over the columns of one subset, for any root and multipliers, by sweeps over the rows.

The counts of pairs of splits (count_tensors) give the same, but take T^2 sums for each side with T thresholds. A sweep
(threshold_kernel) takes as many steps as rows times codes; the stumps below the two splits that it returns are one
scan of the codes each.
"""

import numpy as np

from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.lagrangian_pass import Weights
from odtc.algorithms.constrained.sweeps.root_sweep import RootSweep
from odtc.algorithms.constrained.sweeps.threshold_sides import ThresholdSides, weighed
from odtc.algorithms.constrained.trace_tree import Structure


class SweptTrees:
    """The trees of a search with one subset of columns.

    Parameters
    ----------
    search : ConstrainedSearch
        Of a problem that all_thresholds `takes`, except for its roots, with one subset.
    codes : int32 (scales, rows)
        For how many splits of each scale a row has outcome 1.
    splits : list of int (splits of the scale,)
        The splits of each scale, as numbers of the search's sorted splits.
    """

    def __init__(self, search: ConstrainedSearch, codes: np.ndarray, splits: list[np.ndarray]):
        self.search, self.codes, self.splits = search, codes, splits
        self.cell = {int(split): (j, f) for j, mine in enumerate(splits) for f, split in enumerate(mine)}
        self._last: tuple[bytes, ThresholdSides, np.ndarray] | None = None

    def values(self, multipliers: np.ndarray, roots: list[int], enough: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the least weighted cost of a tree with each root, in units of 1 / scale, or a lower bound.

        Parameters
        ----------
        multipliers : int64 (constraints,)
        roots : list of int
        enough : float
            A root is not evaluated if its bound is known to be as high as this, unless it may be the cheapest.

        Returns
        -------
        value : float64 (roots,)
            The least weighted cost of a tree with this root, or a bound on it.
        exact : bool (roots,)
            Whether it is exact and not only a bound; it is for the cheapest root.
        """
        sides, dearest = self._sides(multipliers)
        value, exact = np.full(len(roots), np.inf), np.zeros(len(roots), bool)
        place, cells = {}, [[] for _ in self.splits]
        for at, root in enumerate(roots):
            j, f = self.cell[root]
            place[j, f] = at
            cells[j].append(f)
        sweep = RootSweep(sides, self.codes, dearest, [np.sort(np.array(mine, int)) for mine in cells])
        cheapest = np.inf
        while sweep.least < max(enough, cheapest):
            self.search.tick()
            j, f, _, found = sweep.step()
            at = place[j, f]
            value[at], exact[at] = found[0], True
            cheapest = min(cheapest, value[at])
        for j, left, bound in sweep.rest():
            value[[place[j, f] for f in left.tolist()]] = bound
        return value, exact

    def trace(self, root: int, weights: Weights) -> tuple[Structure | None, float]:
        """Return (the cheapest tree with this root, its weighted cost), or (None, inf), like trace_tree.trace."""
        sides, _ = self._sides(weights.multipliers)
        j, f = self.cell[root]
        value = float(sides.apart(j, f, f, np.zeros(1, int))[0])
        if np.isinf(value):
            return None, np.inf
        held = {}
        split = np.full(2 ** (self.search.problem.depth + 1), -1, np.int32)
        split[1] = root
        for answer in (0, 1):
            rows = np.flatnonzero((self.codes[j] > f) == bool(answer))
            scale, cut = sides.best_split(j, f, answer)
            if scale < 0:
                held[2 + answer] = rows
                continue
            split[2 + answer] = self.splits[scale][cut]
            ones = self.codes[scale, rows] > cut
            for below, part in enumerate((rows[~ones], rows[ones])):
                node = 2 * (2 + answer) + below
                scale_below, cut_below = sides.best_stump(part)
                if scale_below < 0:
                    held[node] = part
                    continue
                split[node] = self.splits[scale_below][cut_below]
                ones_below = self.codes[scale_below, part] > cut_below
                held[2 * node], held[2 * node + 1] = part[~ones_below], part[ones_below]
        places = tuple(sorted(held))
        factor = self.search.counts.factor
        counts = np.array([factor[held[place]].sum(axis=0) for place in places], float)
        return Structure(split, places, counts), value

    def _sides(self, multipliers: np.ndarray) -> tuple[ThresholdSides, np.ndarray]:
        """Return (the sides at some multipliers, float64 (rows,) the greatest weighted cost of a label)."""
        key = multipliers.tobytes()
        if self._last is None or self._last[0] != key:
            problem = self.search.problem
            weight, price = weighed(problem, self.search.scale, multipliers)
            sides = ThresholdSides(problem, self.codes, self.splits, weight, multipliers, price)
            self._last = key, sides, weight.max(axis=1)
        return self._last[1:]
