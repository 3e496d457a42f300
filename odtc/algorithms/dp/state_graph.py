"""States of the dynamic program for trees: the distinct sets of rows that remain after paths of splits.

A state of level j is the set of rows S that reaches a node after j splits. At a state a tree either stops, at the cost
of its best label, or has a split f and continues with S & f and S & ~f. Rows with equal outcomes for all splits are one
row here. (Martin, Rardin & Campbell 1990 for the polyhedron, see odtc.formulations.dpflow.network; the states are built
in odtc.algorithms.dp.state_expansion.)
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from odtc.algorithms.dp.itemset_sums import Signed
from odtc.algorithms.dp.lattice import Layer, inside_costs
from odtc.algorithms.moments import laws
from odtc.algorithms.moments.lines import line_costs
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_EXACT

LIMBS = 4  # numbers of 27 random bits in a hash: a sum over fewer than 2^26 rows is exact in float64
# Rounding error of a sum over rows, per row, relative to the sum over all rows.
ROUNDING = 8 * float(np.finfo(float).eps)
HALF = 0.5  # of a whole number: different sums of whole numbers differ by more


def least_difference(loss: np.ndarray, more: float = 0.0) -> float:
    """Return a number such that sums of losses which differ by less are equal.

    Parameters
    ----------
    loss : float64 (rows, labels), 0 or more
    more : float, a loss that was subtracted before

    Returns
    -------
    float
        Half a unit if the losses are whole numbers whose sums are exact in float64; otherwise the rounding error.
    """
    total = float(loss.sum()) + more
    if total < MAX_EXACT and np.array_equal(loss, np.rint(loss)):
        return HALF
    return ROUNDING * (len(loss) + 16) * total


@value_class
class Rows:
    """Distinct rows of splits. X is bool (rows, splits); `loss`, float64 (rows, classes), is the cost of predicting a
    class for all data rows that are equal to a row; `count` is the number of these data rows (1 or more). A split is
    not used if it leaves fewer than `least` data rows on either side."""

    X: np.ndarray
    loss: np.ndarray
    count: np.ndarray
    least: int = 1
    more: np.ndarray | None = None  # float64 (rows, columns): further values to sum over the rows of a state

    @classmethod
    def of(
        cls, X: np.ndarray, loss: np.ndarray, count: np.ndarray, least: int = 1, more: np.ndarray | None = None
    ) -> "Rows":
        _, first, kind = np.unique(np.packbits(X, axis=1), axis=0, return_index=True, return_inverse=True)
        kind = kind.reshape(-1)
        total, others = (
            None if table is None else np.stack([np.bincount(kind, column, len(first)) for column in table.T], axis=1)
            for table in (loss, more)
        )
        return cls(X[first], total, np.bincount(kind, count, len(first)), max(1, least), others)

    def leaf_costs(self, sums: np.ndarray) -> np.ndarray:
        """Return float64 (…,): the costs of leaves whose rows have these sums of losses, float64 (…, classes)."""
        return sums.min(axis=-1)

    def leaf_labels(self, sums: np.ndarray) -> np.ndarray:
        """Return int (…,): the labels of least cost."""
        return sums.argmin(axis=-1)

    @cached_property
    def floor(self) -> np.ndarray:
        """Return float64 (rows,): the unavoidable cost of a row."""
        return self.leaf_costs(self.loss)

    @cached_property
    def sums(self) -> np.ndarray:
        """Return the sums over the rows of a state, float64 (rows, columns): the loss per class, its largest, the
        floor, the data rows, the limbs of the hash, and `more`."""
        n = len(self.X)
        random = np.random.default_rng(2020).integers(0, 1 << 27, (n, LIMBS)).astype(float)
        worst = self.loss.max(axis=1)
        others = np.zeros((n, 0)) if self.more is None else self.more
        return np.column_stack([self.loss, worst, self.floor, self.count, random, others])

    @cached_property
    def signed(self) -> Signed:
        return Signed(self.X, self.sums)

    @cached_property
    def near(self) -> float:
        """Return the least difference of two sums of losses (`least_difference`)."""
        return least_difference(self.loss)


@value_class
class MomentRows(Rows):
    """Rows whose leaves cost a function of sums: the columns of `loss` are the sums W, S and Q of the LAW
    (odtc.algorithms.moments.laws). A sum over all rows of no more than a leaf of them costs is rounding (`near`)."""

    LAW: ClassVar[int]

    def leaf_costs(self, sums: np.ndarray) -> np.ndarray:
        costs = laws.leaf_costs(self.LAW, np.moveaxis(sums[..., :3], -1, 0))
        return np.maximum(costs, 0.0) if self.LAW == laws.SQUARE else costs

    def leaf_labels(self, sums: np.ndarray) -> np.ndarray:
        return np.zeros(sums.shape[:-1], np.int64)

    @cached_property
    def near(self) -> float:
        return ROUNDING * (len(self.X) + 16) * float(np.maximum(self.loss[:, 2], np.abs(self.floor)).sum())


class SquareRows(MomentRows):
    LAW = laws.SQUARE


class LikelihoodRows(MomentRows):
    LAW = laws.LIKELIHOOD


@value_class
class LineRows(MomentRows):
    """Rows whose leaves predict lines: the columns of `loss` are the sums of TABLE, as its costs are
    (odtc.algorithms.moments.lines). With a ridge, two leaves may cost more than one for the rows of both, so no cost of
    a row counts as unavoidable."""

    TABLE: ClassVar[Any]

    def leaf_costs(self, sums: np.ndarray) -> np.ndarray:
        table = np.ascontiguousarray(sums.reshape(-1, sums.shape[-1]))
        return float(self.TABLE.unit) * line_costs(table, self.TABLE.ridges).reshape(sums.shape[:-1])

    @cached_property
    def floor(self) -> np.ndarray:
        return np.zeros(len(self.X))

    @cached_property
    def near(self) -> float:
        return ROUNDING * (len(self.X) + 16) * float(self.TABLE.unit) * float(self.loss[:, 2].sum())


def line_rows(table) -> type[LineRows]:
    """Return the rows of a table of sums."""
    return type("LineRowsOfTable", (LineRows,), {"TABLE": table})


def moment_rows(law: int) -> type[MomentRows]:
    """Return the rows of a law."""
    return {one.LAW: one for one in (SquareRows, LikelihoodRows)}[law]


@dataclass(frozen=True, kw_only=True)
class Level(Layer):
    """The states of one level and their arcs, state by state and split by split.

    `cover` packs the rows of each state; `path` holds its splits as literals (split f: 2f if the
    rows have a 0, 2f + 1 if they have a 1). A side of an arc that stops at once has its cost in `cost`.
    """

    OF_STATES = ("cover", "path", "stop", "label", "floor")
    OF_ARCS = ("split", "cost")

    cover: np.ndarray  # uint8 (states, bytes)
    path: np.ndarray  # int32 (states, level)
    stop: np.ndarray  # float64 (states,): cost of the best label
    label: np.ndarray  # int32 (states,)
    floor: np.ndarray  # float64 (states,): lower bound on the cost of all trees
    cost: np.ndarray  # float64 (arcs,)

    def members(self, state: int, n_rows: int) -> np.ndarray:
        """Return the rows of a state, as indices."""
        return np.flatnonzero(np.unpackbits(self.cover[state], count=n_rows))


@value_class
class Graph:
    """All levels of the program for trees of a depth; the arcs of the last level may cost whole subtrees."""

    rows: Rows
    levels: tuple[Level, ...]
    price: float  # penalty of a branch node

    @property
    def n_arcs(self) -> int:
        return sum(len(level.state) for level in self.levels)

    @cached_property
    def values(self) -> tuple[np.ndarray, ...]:
        """Return for each level the least cost of a tree at each state."""
        stops = [level.stop for level in self.levels]
        return tuple(inside_costs(self.levels, stops, [level.cost for level in self.levels]))

    def best(self, j: int, state: int, arcs: slice) -> int | None:
        """Return the first of the arcs of a state that begins a best tree; None if it is best to stop."""
        level = self.levels[j]
        if level.stop[state] <= self.values[j][state]:
            return None
        below = self.values[j + 1] if j + 1 < len(self.levels) else None
        return int(level.worth(level.cost, below, arcs).argmin())

    def folded(self, n_levels: int) -> "Graph":
        """Return the same program with `n_levels` levels: the levels below become the costs of their best trees."""
        if n_levels >= len(self.levels):
            return self
        last = self.levels[n_levels - 1]
        worth = last.worth(last.cost, self.values[n_levels])
        ends = np.full_like(last.below, -1)
        return replace(self, levels=(*self.levels[: n_levels - 1], replace(last, cost=worth, below=ends)))
