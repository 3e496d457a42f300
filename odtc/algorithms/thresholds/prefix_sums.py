"""Rows on scales of thresholds, and the best stumps below many thresholds.

Rows are ranks on scales (odtc.data.threshold_scales): threshold c of a scale sends the rows of rank <= c left, L_c,
and the others right, R_c. For a threshold g of a child, the losses of L_c & L_g are prefix sums over the values of the
scale of g, and the losses of L_c - L_g are the rest; the same is true below R_c.
"""

from functools import cached_property

import numpy as np

from odtc.algorithms.dp.state_graph import least_difference
from odtc.base.kernels import kernel
from odtc.base.value_class import value_class


@value_class
class Ranked:
    """Distinct rows on scales of thresholds.

    `rank` is int64 (rows, scales). `loss`, float64 (rows, classes), is the cost of predicting a class above `least`,
    float64 (rows,), the cost that no tree can avoid. `price` is the penalty of a branch node.
    """

    rank: np.ndarray
    loss: np.ndarray
    least: np.ndarray
    price: float

    @classmethod
    def of(cls, rank: np.ndarray, loss: np.ndarray, price: float = 0.0) -> "Ranked":
        """Return the distinct rows of `rank` (rows, scales); `loss` is float64 (rows, labels)."""
        rank, kind = np.unique(rank, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        loss = np.stack([np.bincount(kind, column, len(rank)) for column in loss.T], axis=1)
        least = loss.min(axis=1)
        return cls(rank, loss - least[:, None], least, price)

    @cached_property
    def floor(self) -> float:
        """Return the unavoidable cost."""
        return float(self.least.sum())

    @cached_property
    def most(self) -> np.ndarray:
        """Return float64 (rows,): the largest cost of a row."""
        return self.loss.max(axis=1)

    @cached_property
    def near(self) -> float:
        """Return the tolerance: sums of losses that differ by less are equal."""
        return least_difference(self.loss, self.floor)


class Part:
    """Some of the rows, with ranks of their own.

    The places 0 .. size - 1 number the values that occur, scale by scale: place q of scale scale[q] is the threshold
    that sends the rows with values up to original[q] left. The last place of each scale, last[scale], sends all rows
    left, so it separates none.
    """

    def __init__(self, ranked: Ranked, members: np.ndarray):
        self.ranked, self.members = ranked, members
        rank = ranked.rank[members]
        p = rank.shape[1]
        wide = int(ranked.rank.max(initial=0)) + 1
        at = rank + np.arange(p) * wide
        seen = np.zeros(p * wide, bool)
        seen[at] = True
        # Int64 (rows, scales): the first place of each scale that sends the row left.
        self.row = (np.cumsum(seen) - 1)[at]
        self.scale, self.original = np.divmod(np.flatnonzero(seen), wide)
        self.size = len(self.scale)
        self.first = np.searchsorted(self.scale, np.arange(p))
        self.last = np.append(self.first[1:], self.size) - 1
        self.parting = np.ones(self.size, bool)
        self.parting[self.last] = False

    def places(self, scale: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """Return int64: the places of these values, which must occur."""
        wide = int(self.original.max()) + 1
        return np.searchsorted(self.scale * wide + self.original, scale * wide + rank)

    @cached_property
    def moved(self) -> np.ndarray:
        """Return float64 (places,): the largest cost of the rows left of each place, together."""
        return self.up_to(self.ranked.most[self.members])

    def up_to(self, values: np.ndarray) -> np.ndarray:
        """Return float64 (places,): the sum of a value per row over the rows left of each place."""
        sums = np.bincount(self.row.reshape(-1), np.repeat(values, len(self.first)), self.size)
        sums[self.first[1:]] -= values.sum()
        return np.cumsum(sums)

    def sides(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows left and right of a place."""
        left = self.row[:, self.scale[place]] <= place
        return self.members[left], self.members[~left]

    def stumps(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return float64 (places,) twice: the least cost of a tree with at most one split, on the left and on the right
        side of each of these thresholds."""
        first = np.append(self.first, self.size)
        loss = np.ascontiguousarray(self.ranked.loss[self.members], float)
        return stump_costs(self.row, self.scale, first, loss, places, float(self.ranked.price))


@kernel
def stump_costs(row, scale, first, loss, places, price):
    """Return float64 (2, places): the least cost of a tree with one split at most, left and right of each threshold.

    Parameters
    ----------
    row : int64 (rows, scales), the first place of each scale that leaves a row left
    scale : int64 (all places,)
    first : int64 (scales + 1,), the first place of each scale
    loss : float64 (rows, labels)
    places : int64 (places,), the thresholds
    price : float, the penalty of a branch node
    """
    (n, n_scales), K = row.shape, loss.shape[1]
    found = np.empty((2, len(places)))
    table, total, left = np.empty((2, len(scale), K)), np.empty((2, K)), np.empty(K)
    for i in range(len(places)):
        table[:], total[:] = 0.0, 0.0
        for e in range(n):
            side = 0 if row[e, scale[places[i]]] <= places[i] else 1
            for k in range(K):
                total[side, k] += loss[e, k]
                for g in range(n_scales):
                    table[side, row[e, g], k] += loss[e, k]
        for side in range(2):
            least = total[side].min()
            for g in range(n_scales):
                left[:] = 0.0
                for q in range(first[g], first[g + 1]):
                    one = two = np.inf
                    for k in range(K):
                        left[k] += table[side, q, k]
                        one, two = min(one, left[k]), min(two, total[side, k] - left[k])
                    least = min(least, one + two + price)
            found[side, i] = least
    return found


def compile_now() -> None:
    """Call the loops on little data."""
    ranked = Ranked.of(np.arange(6).reshape(3, 2) % 3, np.eye(3))
    Part(ranked, np.arange(3)).stumps(np.arange(2))
