"""The problem of a constrained search: rows, splits, integer costs, and constraints grouped by how a search applies
them.

A tree sends every row to a leaf by splits with outcomes 0 and 1, and a leaf predicts a label. Constraints are of four
types:

    local on single leaves (their rows) and single splits (the levels, or the splits above, at which they are allowed)
    additive      Σ over leaves and branch nodes of their uses  ≤  bound: rates, fairness, numbers of nodes
    subset        all columns that a tree splits on are contained in one of several given subsets of the columns
    other         a function that checks the remaining constraints on a finished tree

All numbers are integers stored in float64, which is exact below 2^53.
"""

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from odtc.algorithms.thresholds.ranks import merge_rows
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_DIFFERENCE

FINEST = 26  # fractional bits of a multiplier in the finest scale
COARSEST = 0  # fractional bits of a multiplier in the coarsest scale
MOST_CELLS = 2**26  # maximum number of outcomes (rows times splits) that are stored as one table
COMPARED = 2**22  # maximum number of pairs of sets that are compared at once
BOX = 60.0  # limit of a multiplier: the largest use of one row costs at most this many times the largest row cost


class TooLarge(Exception):
    """The numbers, or the lists, are too large for the search; the message states which."""


@value_class
class Below:
    """Pairs of splits that are allowed below each other, if there are too many splits for a table of all pairs.

    Attributes
    ----------
    once, under : bool (bars, splits)
        No split of under[i] is allowed below a split of once[i].
    """

    once: np.ndarray
    under: np.ndarray

    def __getitem__(self, at: Any) -> np.ndarray:
        """Return bool: whether the second split is allowed below the first, as a table of the pairs would: for one or
        some splits and every other one, or for pairs of broadcast arrays."""
        if isinstance(at, tuple):
            barred: np.ndarray = (self.once[:, at[0]] & self.under[:, at[1]]).any(axis=0)
        else:
            barred = np.tensordot(self.once[:, at].T.astype(np.uint8), self.under.astype(np.uint8), 1) > 0
        return ~barred

    def __and__(self, other: "Below") -> "Below":
        return Below(np.concatenate([self.once, other.once]), np.concatenate([self.under, other.under]))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Below)
            and np.array_equal(self.once, other.once)
            and np.array_equal(self.under, other.under)
        )

    __hash__ = None  # type: ignore[assignment]


@value_class
class ConstrainedProblem:
    """Rows and splits, the costs and uses of leaves and branch nodes, and the limits.

    Parameters
    ----------
    X : bool (rows, splits)
        Outcomes of the splits. No column is constant. Instead of an array it may be an object with the same indexing
        and its own methods for counting ones (`ones_of`, `codes_of`, `part_of`), so that the full table need not be
        stored.
    cost : int64 (rows, labels)
        The cost of predicting this label for this row; at least 0.
    depth : int
        The maximum depth of a tree, 0 or more.
    uses : int64 (constraints, rows, labels)
        The amount of each additive constraint that a row uses if this label is predicted for it.
    bound : int64 (constraints,)
        The sum of the uses of a tree is at most this.
    branch_cost : int
        The cost of a branch node.
    branch_uses : int64 (constraints,)
    leaf_uses : int64 (constraints, labels)
        The amount that a leaf of this label uses in addition to its rows.
    measures : int64 (conditions, rows)
    least : float64 (conditions, labels)
        A leaf that predicts label l has rows whose measures sum to least[:, l] or more; -inf for no condition.
    column : int (splits,)
        The number of the column of each split, from 0; only `subsets` uses it.
    allowed : bool (depth, splits)
        Whether a split is allowed at this level; the root is level 0. Splits that separate no rows are not counted.
    below : bool (splits, splits), Below or None
        below[f, g]: g is allowed somewhere below f.
    subsets : bool (subsets, columns)
        One of these contains the columns of a tree.
    most_splits : int or None
        The maximum number of different splits. `accepts` refuses other trees, too; searches may ignore this limit.
    accepts : Callable[[split, label], bool]
        The remaining constraints on a tree; arrays int32 (2^(depth + 1),) on a heap, root 1, -1 for no split or label.
    """

    X: np.ndarray
    cost: np.ndarray
    depth: int
    uses: np.ndarray | None = None
    bound: np.ndarray | None = None
    branch_cost: int = 0
    branch_uses: np.ndarray | None = None
    leaf_uses: np.ndarray | None = None
    measures: np.ndarray | None = None
    least: np.ndarray | None = None
    column: np.ndarray | None = None
    allowed: np.ndarray | None = None
    below: np.ndarray | Below | None = None
    subsets: np.ndarray | None = None
    most_splits: int | None = None
    accepts: Callable[[np.ndarray, np.ndarray], bool] | None = field(default=None, compare=False)

    def __post_init__(self):
        (n, T), K = self.X.shape, self.cost.shape[1]
        R = 0 if self.bound is None else len(self.bound)
        L = 0 if self.measures is None else len(self.measures)
        defaults = {
            "uses": np.zeros((R, n, K), np.int64),
            "bound": np.zeros(0, np.int64),
            "branch_uses": np.zeros(R, np.int64),
            "leaf_uses": np.zeros((R, K), np.int64),
            "measures": np.zeros((0, n), np.int64),
            "least": np.full((L, K), -np.inf),
            "column": np.zeros(T, int),
            "allowed": np.ones((self.depth, T), bool),
        }
        for name, value in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        counted = (self.measures == 1).all(axis=1) & (self.least >= 1).all(axis=1)
        if (self.allowed[2:] & ~self.allowed[1:-1]).any() and not counted.any():  # once, also if made of such a problem
            # Otherwise a split that separates no rows would push another split down to a level at which it is allowed.
            object.__setattr__(self, "measures", np.concatenate([self.measures, np.ones((1, n), np.int64)]))
            object.__setattr__(self, "least", np.concatenate([self.least, np.ones((1, K))]))
        if self.subsets is None:
            object.__setattr__(self, "subsets", np.ones((1, int(self.column.max(initial=0)) + 1), bool))

    @property
    def n_labels(self) -> int:
        return self.cost.shape[1]

    @property
    def n_constraints(self) -> int:
        return len(self.bound)

    @cached_property
    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """(factor int64 (rows, kinds), kinds int64 (kinds, columns)): their product is the table of the costs by
        label, the uses by constraint and label, and the measures of each row."""
        uses = self.uses.transpose(1, 0, 2).reshape(len(self.X), -1)
        return _kinds(np.concatenate([self.cost, uses, self.measures.T], axis=1).astype(np.int64))

    @property
    def most_cost(self) -> int:
        """An upper bound on the cost of all trees."""
        return int(self.cost.max(axis=1, initial=0).sum()) + self.branch_cost * (2**self.depth - 1)

    def budget(self, multipliers: np.ndarray) -> int:
        """Return Σ_r m_r bound_r: the weighted cost of a feasible tree exceeds its own cost by at most this."""
        return sum(m * b for m, b in zip(multipliers.tolist(), self.bound.tolist()))


def with_splits(problem: ConstrainedProblem, **changed: Any) -> ConstrainedProblem:
    """Return the problem of the same rows, costs and sums with changes of splits or of the depth; the kinds of rows
    are computed once for all of these."""
    found = replace(problem, **changed)
    if found.measures is problem.measures:
        vars(found)["kinds"] = problem.kinds
    return found


def of_depth(problem: ConstrainedProblem, depth: int) -> ConstrainedProblem:
    """Return the problem of the trees of at most this depth."""
    accepts = problem.accepts
    return with_splits(
        problem,
        depth=depth,
        allowed=problem.allowed[:depth],
        accepts=None if accepts is None else lambda *tree: accepts(*padded(*tree, problem.depth)),
    )


def padded(split: np.ndarray, label: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the splits and the labels of a tree of less depth on the heap of this depth, int32."""
    fill = np.full(2 ** (depth + 1) - len(split), -1, np.int32)
    return np.concatenate([split, fill]).astype(np.int32), np.concatenate([label, fill]).astype(np.int32)


def largest_sets(sets: np.ndarray) -> np.ndarray:
    """Return the different sets, bool (sets, columns), without those that are parts of others."""
    sets = np.unique(sets, axis=0)
    size, part = sets.sum(axis=1), np.zeros(len(sets), bool)
    for few in np.unique(size)[:-1].tolist():  # a set of the largest size is no part of another one
        larger = sets[size > few].T.astype(np.float32)
        for at in np.array_split(
            np.flatnonzero(size == few), 1 + np.count_nonzero(size == few) * len(sets) // COMPARED
        ):
            part[at] = (sets[at].astype(np.float32) @ larger == few).any(axis=1)
    return sets[~part]


def only(problem: ConstrainedProblem, splits: np.ndarray, roots=None) -> ConstrainedProblem:
    """Return the problem with only these splits, and only these roots."""
    allowed = problem.allowed[:, splits].copy()
    if roots is not None:
        allowed[0] &= np.isin(splits, roots)
    columns, column = np.unique(problem.column[splits], return_inverse=True)
    accepts = problem.accepts
    return with_splits(
        problem,
        X=problem.X[:, splits],
        column=column.reshape(-1),
        subsets=largest_sets(problem.subsets[:, columns]),
        allowed=allowed,
        below=None if problem.below is None else problem.below[np.ix_(splits, splits)],
        accepts=None if accepts is None else lambda split, label: accepts(named(split, splits), label),
    )


def ones_of(X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Return int64 (splits,): how many rows, of all or of some, bool (rows,), have outcome 1 for each split."""
    own = getattr(X, "ones", None)
    if own is not None:
        return own(rows)
    return (X if rows is None else X[rows]).sum(axis=0)


def codes_of(X: np.ndarray, splits: np.ndarray) -> np.ndarray:
    """Return int (rows,): for how many of some splits, int (splits,), each row has outcome 1."""
    own = getattr(X, "codes", None)
    return X[:, splits].sum(axis=1) if own is None else own(splits)


def part_of(X: np.ndarray, rows: np.ndarray, splits: np.ndarray) -> np.ndarray:
    """Return bool (rows, splits): the outcomes of some rows, bool (all rows,), for some splits, int (splits,); not as a
    table if that would be large."""
    own = getattr(X, "part", None)
    if own is None or int(rows.sum()) * len(splits) <= MOST_CELLS:
        return X[np.ix_(rows, splits)]
    return own(rows, splits)


def fixed_point(problem: ConstrainedProblem) -> tuple[int, np.ndarray]:
    """Return the representation of multipliers: `scale`, a power of two, and the largest of each, int64
    (constraints,), in that scale.

    With μ = m / scale the weighted cost of a row, scale · cost + Σ_r m_r uses_r, is whole; the scale is as fine as
    possible such that the sum over all rows is still exact in float64.

    Raises
    ------
    TooLarge
        If costs or uses are so large that no scale is fine enough.
    """
    nodes = 2**problem.depth
    largest = np.abs(problem.uses).max(axis=(1, 2), initial=0) if problem.n_constraints else np.zeros(0)
    largest = np.maximum(
        1,
        np.maximum(largest, np.maximum(np.abs(problem.branch_uses), np.abs(problem.leaf_uses).max(axis=1, initial=0))),
    )
    unit = max(1, int(problem.cost.max(initial=0)), problem.branch_cost)
    sums = np.abs(problem.uses).max(axis=2).sum(axis=1) + nodes * (
        np.abs(problem.branch_uses) + np.abs(problem.leaf_uses).max(axis=1, initial=0)
    )
    sums = sums + np.abs(problem.bound)
    for bits in range(FINEST, COARSEST - 1, -1):
        most = np.maximum(1, np.floor(BOX * unit * 2.0**bits / largest))
        # The gap is twice the most: between two labels, and between a tree and its bound.
        if 2 * (2.0**bits * max(1, problem.most_cost) + float((most * sums).sum())) < MAX_DIFFERENCE:
            return 2**bits, most.astype(np.int64)
    raise TooLarge(
        "costs and uses are too large for whole numbers below 2^52; round weights, costs and the penalty lambda to "
        "fewer digits"
    )


def in_fixed_point(multipliers: np.ndarray, scale: int, largest: np.ndarray | None) -> np.ndarray:
    """Return the nearest multipliers that `fixed_point` can represent, int64 (constraints,), in its scale. The given
    `multipliers`, float64 (constraints,), are the costs of one use; None for `largest` means no upper limit."""
    return np.clip(np.rint(multipliers * scale), 0, largest).astype(np.int64)


def named(split: np.ndarray, splits: np.ndarray) -> np.ndarray:
    """Return a heap of splits, int (nodes,), with each split replaced by the entry at its position in `splits`: the
    numbers of the whole problem, if `splits` are some of its splits."""
    if not len(splits):  # a single leaf
        return split.astype(np.int32)
    return np.where(split >= 0, splits[np.maximum(split, 0)], -1).astype(np.int32)


def leaves_of(problem: ConstrainedProblem, split: np.ndarray) -> np.ndarray:
    """Return int64 (rows,): the position on the heap where each row ends."""
    node = np.ones(len(problem.X), int)
    for _ in range(problem.depth):
        asked = split[node]
        node = np.where(asked >= 0, 2 * node + problem.X[np.arange(len(node)), np.maximum(asked, 0)], node)
    return node


def cost_of(problem: ConstrainedProblem, split: np.ndarray, label: np.ndarray) -> int:
    """Return the cost of a tree, by sending every row down."""
    node = leaves_of(problem, split)
    return int(problem.cost[np.arange(len(node)), label[node]].sum()) + problem.branch_cost * int((split >= 0).sum())


def uses_of(
    problem: ConstrainedProblem, split: np.ndarray, label: np.ndarray, node: np.ndarray | None = None
) -> np.ndarray:
    """Return int64 (constraints,): the amount of each constraint that a tree uses, by sending every row down; `node`
    are the leaves of the rows, if they are known (leaves_of)."""
    node = leaves_of(problem, split) if node is None else node
    rows = problem.uses[:, np.arange(len(node)), label[node]].sum(axis=1)
    leaves = problem.leaf_uses[:, label[np.unique(node)]].sum(axis=1)
    return rows + leaves + problem.branch_uses * int((split >= 0).sum())


def keeps(problem: ConstrainedProblem, split: np.ndarray, label: np.ndarray) -> bool:
    """Return whether a tree is feasible, by sending every row down."""
    if not placed(problem, split):
        return False
    node = leaves_of(problem, split)
    places = np.unique(node)
    held = np.array([problem.measures[:, node == place].sum(axis=1) for place in places])
    return bool(
        (uses_of(problem, split, label, node) <= problem.bound).all()
        and (held >= problem.least[:, label[places]].T).all()
        and (problem.accepts is None or problem.accepts(split, label))
    )


def placed(problem: ConstrainedProblem, split: np.ndarray) -> bool:
    """Return whether the splits of a tree are allowed at their positions, whatever its leaves predict."""
    asking = np.flatnonzero(split >= 0)
    columns = np.isin(np.arange(problem.subsets.shape[1]), problem.column[split[asking]])
    return bool(
        (problem.subsets | ~columns).all(axis=1).any()
        and all(problem.allowed[int(t).bit_length() - 1, split[t]] for t in asking)
        and (
            problem.below is None
            or all(problem.below[split[t >> up], split[t]] for t in asking.tolist() for up in range(1, t.bit_length()))
        )
    )


def _kinds(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (factor int64 (rows, kinds), kinds int64 (kinds, columns)): the table is their product."""
    divisor = np.maximum(1, np.gcd.reduce(table, axis=1)) if len(table) else np.ones(0, np.int64)
    of, first = merge_rows(_ranked(table // divisor[:, None]))
    kinds = table[first] // divisor[first, None]
    number: dict[bytes, int] = {}  # the number of each distinct column
    where = np.array([number.setdefault(column.tobytes(), len(number)) for column in table.T], int)
    columns = table[:, np.unique(where, return_index=True)[1]]
    used = columns.any(axis=0)
    if len(kinds) <= max(1, used.sum()):  # one kind of all zeros, if nothing is used
        factor = np.zeros((len(table), len(kinds)), np.int64)
        factor[np.arange(len(table)), of] = divisor
        return factor, kinds
    place = np.cumsum(used) - 1
    unit = np.eye(int(used.sum()), dtype=np.int64)
    return columns[:, used], np.where(used[where][None, :], unit[:, np.where(used[where], place[where], 0)], 0)


def _ranked(table: np.ndarray) -> np.ndarray:
    """Return int64, of the shape of the table: its columns by their ranks, so that equal numbers are equal ranks from
    0."""
    ranks = np.zeros(table.shape, np.int64)
    for j, column in enumerate(table.T):
        ranks[:, j] = np.unique(column, return_inverse=True)[1]
    return ranks
