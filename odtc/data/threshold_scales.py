"""Ordered features of a model (thresholds of one numeric feature, or parallel hyperplanes, in rising order), and
weights in whole units.

The columns of such thresholds are nested: a row has a 1 for the first `rank` of them and a 0 for the others, so its
rank contains the same information as all its columns. Any other split (a level, a missing cell) is a separate scale
with one cut. Scales are derived from the encoded columns, without the data file.
"""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.encoding import Encoded
from odtc.data.ranked_answers import RankedAnswers
from odtc.data.splits import Oblique, Threshold

MOST_NESTED = 10**9  # rows · splits²: beyond this, nested splits are not searched for
MOST = 10**6  # units: a solver with a tolerance of 1e-6 can distinguish this many


@value_class
class Scales:
    """Scales of the splits. Split j is cut place[j], counted from 0, of scale[j]; `scale` and `place` are int32 or
    int64 of shape (splits,)."""

    scale: np.ndarray
    place: np.ndarray
    size: np.ndarray  # int64 (scales,): the number of cuts
    rank: np.ndarray  # int32 or int64 (rows, scales): how many cuts of the scale are below the row

    @property
    def n(self) -> int:
        return len(self.size)

    @cached_property
    def dense(self) -> bool:
        """Return whether every scale has a row of each rank, so that no two of its cuts separate the rows alike."""
        each = zip(self.rank.T, self.size.tolist())
        return all(len(ones := np.bincount(rank)) == size + 1 and bool(ones.all()) for rank, size in each)

    def split(self, scale, place) -> np.ndarray:
        """Return the split that is this cut of this scale; arrays broadcast."""
        at = (np.cumsum(self.size) - self.size)[scale] + place
        return at if self._in_order else self._order[at]

    @cached_property
    def _in_order(self) -> bool:
        """Return whether the splits of a scale follow one another by position, and the scales by number."""
        steps = np.diff(self.scale)
        return bool(((steps > 0) | ((steps == 0) & (np.diff(self.place) > 0))).all())

    @cached_property
    def _order(self) -> np.ndarray:
        return np.lexsort((self.place, self.scale))

    @classmethod
    def of(cls, encoded: Encoded) -> "Scales":
        if isinstance(X := encoded.X, RankedAnswers):
            return cls(X.scale, X.place, np.bincount(X.scale), X.rank.view(np.int32))
        members: dict = {}
        for j, (split, ones_left) in enumerate(zip(encoded.splits, encoded.ones_left)):
            ordered = isinstance(split, Threshold | Oblique) and not ones_left
            members.setdefault(("scale", split.scale) if ordered else ("split", j), []).append(j)
        scale, place = np.empty(encoded.n_candidate_splits, np.int64), np.empty(encoded.n_candidate_splits, np.int64)
        for number, splits in enumerate(members.values()):
            if len(splits) > 1:
                splits.sort(key=lambda j: encoded.splits[j].cut)
            scale[splits], place[splits] = number, np.arange(len(splits))
        rank = np.empty((encoded.n_rows, len(members)), np.int32)
        for number, splits in enumerate(members.values()):
            rank[:, number] = _sum(encoded.X, np.array(splits))
        return cls(scale, place, np.bincount(scale), rank)

    @classmethod
    def single(cls, encoded: Encoded) -> "Scales":
        """Return each split as a scale of its own."""
        every = np.arange(encoded.n_candidate_splits)
        rank = np.asarray(encoded.X).astype(np.int32)
        return cls(every, np.zeros_like(every), np.ones(encoded.n_candidate_splits, np.int64), rank)

    def nested(self) -> "Scales":
        """Return the same splits in fewer scales: scales of one cut whose columns are nested are merged into as few
        scales as possible, because facts on the thresholds of a column are valid for any nested columns."""
        single = np.flatnonzero(self.size == 1)
        n, ones = len(self.rank), self.rank[:, single] > 0
        if len(single) < 2 or len(single) ** 2 * n > MOST_NESTED:
            return self
        chains = _chains(ones)
        if len(chains) == len(single):
            return self
        split_of = self._order[np.cumsum(self.size) - self.size]  # the first split of each scale
        kept = np.flatnonzero(self.size > 1)
        scale, place = np.empty_like(self.scale), self.place.copy()
        for number, old in enumerate(kept.tolist()):
            scale[self.scale == old] = number
        for number, chain in enumerate(chains, len(kept)):
            splits = split_of[single[chain]]
            scale[splits], place[splits] = number, np.arange(len(chain))
        ranks = [ones[:, chain].sum(axis=1) for chain in chains]
        return Scales(scale, place, np.bincount(scale), np.column_stack([self.rank[:, kept], *ranks]))


def _chains(ones: np.ndarray) -> list[list[int]]:
    """Return the columns of bool (rows, columns) in the fewest chains, each from the most ones to the fewest, in which
    the ones of a column are a subset of the ones of the previous column.

    The fewest chains of a partial order are its elements minus the largest matching of elements to ones below them
    (Dilworth's theorem by König's). If the greedy choice, which appends each column to the nearest chain, gives as few
    chains, it is used instead, because it keeps the thresholds of a column together.
    """
    from scipy.sparse import csr_array  # not needed for most data, and slow to import
    from scipy.sparse.csgraph import maximum_bipartite_matching

    packed, count = np.packbits(ones.T, axis=1), ones.sum(axis=0)
    order = np.argsort(-count, kind="stable")
    within = np.zeros((len(order), len(order)), bool)  # (before, after) in `order`
    chains: list[list[int]] = []
    for at, j in enumerate(order.tolist()):
        before = order[:at]
        within[:at, at] = ~(packed[j] & ~packed[before]).any(axis=1)
        ends = np.array([chain[-1] for chain in chains], np.int64)
        above = np.flatnonzero(~(packed[j] & ~packed[ends]).any(axis=1)) if len(ends) else ends
        if len(above):
            chains[above[count[ends[above]].argmin()]].append(j)
        else:
            chains.append([j])
    after = maximum_bipartite_matching(csr_array(within), perm_type="column")
    if len(order) - np.count_nonzero(after >= 0) == len(chains):
        return chains
    firsts = np.setdiff1d(np.arange(len(order)), after)
    chains = []
    for at in firsts.tolist():
        chain = [at]
        while (at := int(after[at])) >= 0:
            chain.append(at)
        chains.append(order[chain].tolist())
    return chains


def _sum(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return int64 (rows,): the number of these columns in which the row has a 1. Adjacent columns are not copied."""
    if (np.diff(columns) == 1).all():
        return np.count_nonzero(X[:, columns[0] : columns[-1] + 1], axis=1)
    return X[:, columns].sum(axis=1)


def whole_weights(weight: np.ndarray, total: float | None = None) -> tuple[np.ndarray, float, bool]:
    """Return (weight / unit, unit, True), where `unit` is the largest number of which each weight, and so each sum of
    weights, is a whole multiple; (weight, 1.0, False) if `total` (by default their sum) is more than MOST units."""
    parts = [Fraction(w) for w in np.unique(weight[weight > 0]).tolist()]
    denominator = max((part.denominator for part in parts), default=1)  # all are powers of 2
    unit = Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator)
    whole = 0 < (weight.sum() if total is None else total) <= MOST * unit
    return (weight / float(unit), float(unit), True) if whole else (weight, 1.0, False)


def whole_costs(encoded: Encoded) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Return (weights in whole units, the cost of one unit of weight in units of loss, the unit of loss, whether every
    loss is a whole multiple of it)."""
    weight, grain, _ = whole_weights(encoded.weight)
    _, unit, whole = whole_weights(encoded.loss, encoded.loss.max(axis=1).sum())
    return weight, encoded.cost * (grain / unit), unit, whole
