"""The best stumps below many thresholds at once, counted by prefix sums over sorted values.

Rows are ranks on scales (odtc.data.threshold_scales): threshold c of a scale sends the rows of rank <= c left, L_c,
and the others right, R_c. For thresholds c of one node and g of its child all four sets of rows

    L_c & L_g,  L_c - L_g,  R_c & L_g,  R_c - L_g

have losses that follow from those of L_c & L_g, which are one table: the losses of single rows, put at their positions
between the thresholds c and between the g, and summed along both. So all stumps below q thresholds cost q times as
many operations as there are thresholds, however many rows there are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odtc.algorithms.dp.state_graph import least_difference

CELLS = 500_000  # of a table held at once: it stays in the cache
ENTRIES = 4_000_000  # that are put into it at once: one for each row, scale of the thresholds and scale
SHORT = 2.0**30  # whole losses of less than this in all are counted in int32


@dataclass(frozen=True)
class Ranked:
    """Distinct rows on scales: `rank` int64 (rows, scales); `loss` float64 (rows, classes), what predicting
    a class costs above `least`, float64 (rows,), which no tree can avoid; `price` of a branch node."""

    rank: np.ndarray
    loss: np.ndarray
    least: np.ndarray
    price: float

    @classmethod
    def of(cls, rank: np.ndarray, loss: np.ndarray, price: float = 0.0) -> "Ranked":
        """Merges rows of equal ranks (rows, scales); `loss` is float64 (rows, labels)."""
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
        """Sums of losses that differ by less are one."""
        return least_difference(self.loss, self.floor)

    @cached_property
    def real(self) -> type:
        """The type that sums of losses are held in."""
        return np.int32 if not (self.loss % 1).any() and self.loss.sum() < SHORT else np.float64


class Part:
    """Some of the rows, with their ranks counted anew.

    Its places 0 .. size - 1 run through the values that occur, scale by scale: place q of scale
    scale[q] is the threshold that leaves the rows of a value up to that of q, original[q], on the left.
    The last place of each scale, last[scale], leaves all of them there, so that it parts nothing.
    """

    def __init__(self, ranked: Ranked, members: np.ndarray):
        self.ranked, self.members = ranked, members
        rank = ranked.rank[members]
        p = rank.shape[1]
        wide = int(ranked.rank.max(initial=0)) + 1
        at = rank + np.arange(p) * wide
        seen = np.zeros(p * wide, bool)
        seen[at] = True
        self.row = (np.cumsum(seen) - 1)[at]  # int64 (rows, scales): the first place that leaves the row left
        self.scale, self.original = np.divmod(np.flatnonzero(seen), wide)
        self.size = len(self.scale)
        self.first = np.searchsorted(self.scale, np.arange(p))
        self.last = np.append(self.first[1:], self.size) - 1
        self.parting = np.ones(self.size, bool)
        self.parting[self.last] = False
        self.loss = ranked.loss[members]
        self.total = self.loss.sum(axis=0)

    @property
    def leaf(self) -> float:
        """The cost of the best label."""
        return float(self.total.min())

    def places(self, scale: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """int64: the places of these values, which occur."""
        wide = int(self.original.max()) + 1
        return np.searchsorted(self.scale * wide + self.original, scale * wide + rank)

    @cached_property
    def moved(self) -> np.ndarray:
        """Return float64 (places,): the largest cost of the rows left of each place, together."""
        return self.up_to(self.ranked.most[self.members])

    def up_to(self, values: np.ndarray) -> np.ndarray:
        """float64 (places,): the sum of a value per row over the rows left of each place."""
        sums = np.bincount(self.row.reshape(-1), np.repeat(values, len(self.first)), self.size)
        sums[self.first[1:]] -= values.sum()
        return np.cumsum(sums)

    def sides(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows left and right of a place."""
        left = self.row[:, self.scale[place]] <= place
        return self.members[left], self.members[~left]

    def stump(self) -> tuple[float, int]:
        """The least cost of a tree with one split and the place it asks; -1 if one label costs no more."""
        left = np.stack([self.up_to(column) for column in self.loss.T], axis=1)
        cost = left.min(axis=1) + (self.total - left).min(axis=1) + self.ranked.price
        best = int(np.where(self.parting, cost, np.inf).argmin())
        worth = self.parting[best] and cost[best] < self.leaf - self.ranked.near
        return (float(cost[best]), best) if worth else (self.leaf, -1)

    def stumps(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float64 (places,) twice: the least cost of one split or none left, and right, of each of these
        thresholds, which ascend."""
        step, most = max(1, CELLS // self.size), max(1, ENTRIES // max(1, self.row.size))
        number = np.cumsum(np.diff(self.scale[places], prepend=-1) > 0) - 1  # of the scale among those asked
        found, begin = [], 0
        while begin < len(places):
            end = min(begin + step, int(np.searchsorted(number, number[begin] + most)))
            found.append(self._stumps(places[begin:end]))
            begin = end
        return np.concatenate([left for left, _ in found]), np.concatenate([right for _, right in found])

    def _stumps(self, places):
        """By a table of one line per threshold, and per scale one more, for the rows right of all of them."""
        scales, many = np.unique(self.scale[places], return_counts=True)
        more = np.arange(len(scales))
        line = np.searchsorted(places, self.row[:, scales]) + more
        index = (line[:, :, None] * self.size + self.row[:, None, :]).reshape(-1)
        lines = len(places) + len(scales)
        joined = np.delete(np.arange(lines), np.append(0, np.cumsum(many)[:-1] + more[1:])).tolist()
        wanted = np.ones(lines, bool)
        wanted[np.cumsum(many) + more] = False
        each, whole, price = len(scales) * len(self.first), self.last[0], self.ranked.price

        def table(values):
            """The sums over the rows left of a threshold (line) and left of a place (column)."""
            cells = np.bincount(index, np.repeat(values, each), lines * self.size).reshape(lines, self.size)
            cells = cells.astype(self.ranked.real, copy=False)
            for at in joined:  # np.cumsum takes several times as long
                cells[at] += cells[at - 1]
            cells = cells[wanted]
            cells[:, self.first[1:]] -= cells[:, : whole + 1].sum(axis=1, keepdims=True)
            return np.cumsum(cells, axis=1, dtype=cells.dtype, out=cells)

        if len(self.total) == 2:
            values, gaps = self.loss.sum(axis=1), self.loss[:, 0] - self.loss[:, 1]
            cells, every, total = table(gaps), self.up_to(gaps), self.up_to(values)[places]
            gap = cells[:, whole].astype(float)
            left = _halves(cells, gap, total, price)
            np.subtract(every.astype(cells.dtype), cells, out=cells)
            return left, _halves(cells, every[whole] - gap, values.sum() - total, price)
        best = alone = None
        for values in self.loss.T:
            cells = table(values)
            every, own = self.up_to(values).astype(cells.dtype), cells[:, whole, None].copy()
            rest = every - cells
            sides = cells, own - cells, rest, (every[whole] - own) - rest
            labels = own[:, 0], every[whole] - own[:, 0]
            best = sides if best is None else [np.minimum(a, b) for a, b in zip(best, sides)]
            alone = labels if alone is None else [np.minimum(a, b) for a, b in zip(alone, labels)]
        split = (best[0] + best[1]).min(axis=1), (best[2] + best[3]).min(axis=1)
        return tuple(np.minimum(label, cost.astype(float) + price) for label, cost in zip(alone, split))


def _halves(cells, gap, total, price):
    """Per line the least cost of one split or none if there are two classes: min(a, b) = (a + b - |a - b|) / 2
    on both sides of it. `cells` holds a - b of one side, `gap` of both together, `total` a + b of both."""
    high, low = cells.max(axis=1).astype(float), cells.min(axis=1).astype(float)
    return (total - np.maximum(np.abs(gap), np.maximum(2 * high - gap, gap - 2 * low) - 2 * price)) / 2
