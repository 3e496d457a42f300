"""Greedy trees by Gini impurity on ordered columns (Breiman, Friedman, Olshen & Stone 1984, chapters 2 and 4).

A column contains ranks: whole numbers 0 .. size, and cut c sends the rows of rank <= c left. For a node with rows S,
class weights n_k(S) and n(S) = Σ_k n_k(S), the Gini impurity is i(S) = 1 - Σ_k (n_k(S) / n(S))². A cut into L and R
saves n(S) i(S) - n(L) i(L) - n(R) i(R), which is greatest if

    Σ_k n_k(L)² / n(L) + Σ_k n_k(R)² / n(R)                                          (the score of the cut)

is. Of equal scores the first column, and of it the lowest cut, is taken, so that equal data has equal trees.
"""

import heapq
from collections.abc import Callable
from dataclasses import field
from itertools import chain, count

import numpy as np

from odtc.base.value_class import value_class

PURE = 8 * float(np.finfo(float).eps)  # an impurity below this is rounding
ROWS_AT_ONCE = 2**16  # rows whose columns with one cut are added up at a time
EQUAL = 1e-12  # scores that differ by less, relative to the weight of the node, are equal


@value_class
class Table:
    """Rows to grow a tree on.

    Parameters
    ----------
    rank : integers (rows, columns)
        The rank of each row in each column.
    size : int64 (columns,)
        The number of cuts of each column; its ranks are 0 .. size.
    y : int64 (rows,)
        The class of each row.
    weight : float64 (rows,)
        The weight of a row in the impurity, above 0.
    copies : int64 (rows,)
        How many rows of the data each row represents, for the minimum size of a leaf.
    """

    rank: np.ndarray
    size: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    copies: np.ndarray
    many: np.ndarray = field(init=False)  # the columns with two cuts or more
    single: np.ndarray = field(init=False)  # the columns with one

    def __post_init__(self):
        object.__setattr__(self, "many", np.flatnonzero(self.size > 1))
        object.__setattr__(self, "single", np.flatnonzero(self.size == 1))


@value_class
class Cut:
    """The best cut of a node: `saved` is the impurity that it saves, by weight."""

    column: int
    place: int  # rows of rank <= place go left
    saved: float


def grow(
    table: Table,
    depth: int,
    least_rows: int = 1,
    most_leaves: int | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> dict[int, tuple[int, int]]:
    """Grow a greedy tree.

    Parameters
    ----------
    table : Table
    depth : int
        The maximum number of branch nodes above a leaf.
    least_rows : int
        The minimum number of rows of the data (by `copies`) in a leaf.
    most_leaves : int or None
        If a number, the node whose cut saves most is split first, until there are this many leaves.
    is_over : callable
        Called at each column; returns whether the time is over. Nodes whose cuts are not found by then are leaves.

    Returns
    -------
    dict
        (column, cut) of each branch node, by its number in heap order: the root is 1, the children of t are 2t, 2t + 1.
    """
    found, order, waiting = {}, count(), []

    def meet(node, rows):
        if node < 2**depth and not is_over():
            cut = best_cut(table, rows, least_rows, is_over)
            if cut is not None:
                key = 0.0 if most_leaves is None else -cut.saved
                heapq.heappush(waiting, (key, next(order), node, rows, cut))

    meet(1, np.arange(len(table.y)))
    while waiting and (most_leaves is None or len(found) < most_leaves - 1):
        _, _, node, rows, cut = heapq.heappop(waiting)
        found[node] = (cut.column, cut.place)
        left = table.rank[rows, cut.column] <= cut.place
        meet(2 * node, rows[left])
        meet(2 * node + 1, rows[~left])
    return found


def best_cut(
    table: Table, rows: np.ndarray, least_rows: int = 1, is_over: Callable[[], bool] = lambda: False
) -> Cut | None:
    """Return the cut of these rows that saves most impurity.

    Parameters
    ----------
    table : Table
    rows : int64 (rows of the node,)
    least_rows : int
        The minimum number of rows of the data on either side.
    is_over : callable
        Called at each column; returns whether the time is over.

    Returns
    -------
    Cut or None
        None if the node is pure, if no cut leaves enough rows on both sides, or if there was no time for all columns. A
        cut that saves nothing is returned, too.
    """
    classes, y = np.unique(table.y[rows], return_inverse=True)
    if len(classes) < 2:
        return None
    weights = np.zeros((len(rows), len(classes)))
    weights[np.arange(len(rows)), y] = table.weight[rows]
    total, copies = weights.sum(axis=0), table.copies[rows]
    whole = float(total.sum())
    alone = float((total**2).sum()) / whole
    if 1 - alone / whole <= PURE:
        return None
    best = None
    columns = chain(_single(table, rows, weights, copies), _many(table, rows, y, len(classes), copies))
    for column, place, left, n in columns:
        if is_over():
            return None
        fits = (n >= max(1, least_rows)) & (n <= copies.sum() - max(1, least_rows))
        if not fits.any():
            continue
        score = np.where(fits, _score(left, total), -np.inf)
        top = float(score.max())
        at = int(np.argmax(score >= top - EQUAL * whole))  # the first of equal ones
        if best is None or top > best[0] + EQUAL * whole or (top >= best[0] - EQUAL * whole and column[at] < best[1]):
            best = top, int(column[at]), int(place[at])
    return None if best is None else Cut(best[1], best[2], max(0.0, best[0] - alone))


def _score(left: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the score of cuts with the class weights `left` (cuts, classes) on their left side."""
    both = np.zeros(len(left))
    with np.errstate(divide="ignore", invalid="ignore"):
        for side in (left, total - left):
            both += np.einsum("ck,ck->c", side, side) / np.einsum("ck->c", side)
    both[np.isnan(both)] = -np.inf
    return both


def _single(table: Table, rows, weights, copies):
    """Yield (columns, cuts, class weights left, rows of the data left) of the columns with one cut, by one product."""
    if not len(table.single):
        return
    left, n = np.zeros((len(table.single), weights.shape[1])), np.zeros(len(table.single))
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        some = slice(begin, begin + ROWS_AT_ONCE)
        on_left = (table.rank[np.ix_(rows[some], table.single)] == 0).astype(np.float64)
        left += on_left.T @ weights[some]
        n += on_left.T @ copies[some]
    yield table.single, np.zeros(len(table.single), np.int64), left, n


def _many(table: Table, rows, y, n_classes: int, copies):
    """Yield the same for the columns with more cuts, one after the other, by counting per rank. A cut between two
    ranks that occur is midway between them, as a threshold is midway between two numbers."""
    for column in table.many:
        rank, size = table.rank[rows, column].astype(np.int64), int(table.size[column]) + 1
        code = rank * n_classes + y
        left = np.bincount(code, table.weight[rows], size * n_classes).reshape(size, n_classes)
        n = np.bincount(rank, copies, size)
        there = np.flatnonzero(n)
        if len(there) < 2:
            continue
        left, n = np.cumsum(left[there], axis=0)[:-1], np.cumsum(n[there])[:-1]
        place = (there[:-1] + there[1:]) // 2
        yield np.full(len(place), column), place, left, n
