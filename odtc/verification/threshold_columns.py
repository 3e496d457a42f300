"""The splits of a certificate over thresholds: columns of nested splits, as ranks of the rows of the data.

A column is all thresholds between neighbouring numbers of a feature, some of them, one split of another kind, or splits
of any kind whose right sides are nested ("nested"; the left side of a turned one counts). Cut k of a column sends the
rows of rank <= k left. So no table of splits and rows is needed.
"""

import math
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Dataset
from odtc.errors import CertificateError


@value_class
class ColumnRanks:
    """Columns of splits on the rows of a data set.

    Attributes
    ----------
    rank : int32 or int8 (rows, columns), each column in one piece
    size : int64 (columns,), the cuts of each column
    complete : names of the features of which all thresholds between neighbouring numbers are among the cuts
    """

    rank: np.ndarray
    size: np.ndarray
    complete: frozenset[str]


def rank_columns(
    columns: list[dict], dataset: Dataset, left: Callable, check: Callable[[], None] = lambda: None
) -> ColumnRanks:
    """Return the ranks of all rows in the columns of a certificate.

    Parameters
    ----------
    columns : list of dict, as in the certificate
    dataset : Dataset
    left : called as left(split, dataset), the rows that a split sends left, bool (rows,)
    check : called for each column; may raise to end it

    Returns
    -------
    ColumnRanks

    Raises
    ------
    CertificateError, ValueError
        For a column that the data does not have, or that is not valid.
    """
    ranks, sizes, complete = [], [], set()
    for column in columns:
        check()
        if column["kind"] == "nested":
            ranks.append(_nested_rank(column, dataset, left))
            sizes.append(len(column["splits"]))
            continue
        if column["kind"] != "threshold":
            ranks.append(~left(column, dataset))
            sizes.append(1)
            continue
        cells = cells_of(column["feature"], dataset)
        cuts = column.get("thresholds")
        if cuts is None:
            cuts = distinct_numbers(cells[~np.isnan(cells)])[:-1]
            complete.add(column["feature"])
        elif not all(map(math.isfinite, cuts)) or any(a >= b for a, b in pairwise(cuts)):
            raise ValueError("its thresholds are not finite numbers in rising order")
        ranks.append(np.searchsorted(np.asarray(cuts, float), cells, side="left"))  # a missing number comes last
        sizes.append(len(cuts))
    if not ranks:
        raise ValueError("it has no columns of splits")
    rank = np.empty((len(ranks), dataset.n_rows), np.int8 if max(sizes) <= np.iinfo(np.int8).max else np.int32)
    for column, of_rows in zip(rank, ranks):
        column[:] = of_rows
    return ColumnRanks(rank.T, np.array(sizes, np.int64), frozenset(complete))


def features_of(columns: list[dict]) -> list[str]:
    """Return the feature of each column of a certificate; raises ValueError for a column of splits on several."""
    found = [{split["feature"] for split in column.get("splits", (column,))} for column in columns]
    if any(len(names) != 1 for names in found):
        raise ValueError("a column has splits on several features, which its constraints distinguish")
    return [name for names in found for name in names]


def _nested_rank(column: dict, dataset: Dataset, left: Callable) -> np.ndarray:
    """Return how many splits of a column send each row right; raises ValueError if their right sides are not nested."""
    rank, before = np.zeros(dataset.n_rows, np.int64), np.ones(dataset.n_rows, bool)
    for split, turned in zip(column["splits"], column["turned"], strict=True):
        right = left(split, dataset) == bool(turned)
        if (right & ~before).any():
            raise ValueError("a column has splits that are not nested")
        rank, before = rank + right, right
    return rank


def cells_of(name: str, dataset: Dataset) -> np.ndarray:
    """Return the cells of the feature of this name, float64 (rows,). Raises CertificateError if there is none."""
    return dataset.X[:, _place(name, dataset)]


def _place(name: str, dataset) -> int:
    if (at := dataset.places.get(name)) is None:
        raise CertificateError(f"the certificate splits on the column {name!r}, which the data does not have")
    return at


def answered(X, column: int, ask: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the result of a function for each cell of a column, bool (rows,).

    It is called once per value for a table that has a code for each cell (odtc.data.table.coded_columns). That module
    is not imported here, because a checker uses nothing of the compiler.

    Parameters
    ----------
    X : float64 (rows, columns), or CodedColumns
    column : int
    ask : called with float64 (cells,); returns bool (cells,)
    """
    held = X.columns[column] if hasattr(X, "columns") else None
    if held is None or held.code is None:
        return ask(X[:, column])
    return ask(held.values)[held.code]


def left_of(split, dataset) -> np.ndarray:
    """Return the rows that a split sends left, bool (rows,)."""
    feature = dataset.features[at := _place(split["feature"], dataset)]
    if split["kind"] == "threshold":
        if not math.isfinite(threshold := float(split["threshold"])):
            raise ValueError("a threshold is not a finite number")
        return answered(dataset.X, at, lambda cells: cells <= threshold)
    if split["kind"] == "missing":
        return answered(dataset.X, at, np.isnan)
    if split["kind"] != "subset":
        raise ValueError(f"a split has an unknown kind: {split['kind']!r}")
    values = [float(value) if feature.kind == NUMERIC else feature.codes.get(value, -2) for value in split["values"]]
    if len(values) == 1:
        return answered(dataset.X, at, lambda cells: cells == values[0])
    return answered(dataset.X, at, lambda cells: np.isin(cells, values))


def distinct_numbers(column: np.ndarray) -> np.ndarray:
    """Return the distinct numbers of a column in rising order; numpy.unique takes ten times as long for whole numbers.
    Most columns of ranks are one split, and need no sorting."""
    if column.dtype.kind == "i" and len(column) and column.max() - column.min() <= 1:
        column = np.array([column.min(), column.max()])
    ordered = np.sort(column)
    begins = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return ordered[begins]


@value_class
class DistinctColumns:
    """Columns without copies, on rows that differ in some of them.

    Attributes
    ----------
    rank : int32 (rows, columns), dense
    order : int32 (columns, rows), rows by rising rank
    place : int64 (given columns,), the column that a given one is, -1 if it is constant
    mirrored : bool (given columns,), whether its sides are changed about
    values : per given column the ranks that occur, in rising order
    copy : bool (ranks of all columns, one column behind the other), whether the cut at this rank separates the rows as
        a cut of an earlier column does
    """

    rank: np.ndarray
    order: np.ndarray
    place: np.ndarray
    mirrored: np.ndarray
    values: list[np.ndarray]
    copy: np.ndarray

    def cut(self, column: int, k: int) -> tuple[int, int, bool]:
        """Return (column, cut, whether the sides are exchanged) for cut k of a given column.

        Raises ValueError if it leaves one side without rows.
        """
        values = self.values[column]
        at = int(np.searchsorted(values, k, side="right")) - 1
        if not 0 <= at < len(values) - 1:
            raise ValueError("it evaluates a split that separates no rows")
        mirrored = bool(self.mirrored[column])
        return int(self.place[column]), len(values) - 2 - at if mirrored else at, mirrored


def distinct_columns(rank: np.ndarray, check: Callable[[], None] = lambda: None) -> DistinctColumns:
    """Leave out constant columns, and those that separate the rows in the same way as another one.

    Parameters
    ----------
    rank : int (rows, columns)
    check : called for each column; may raise to end it

    Returns
    -------
    DistinctColumns
    """
    dense, place, mirrored, values, seen = [], [], [], [], {}
    for column in rank.T:
        check()
        own, ranks = dense_ranks(column)
        values.append(own)
        if len(own) < 2:
            place.append(-1)
            mirrored.append(False)
            continue
        turned = (len(own) - 1 - ranks).astype(np.int32)
        key, other = sha256(ranks).digest(), sha256(turned).digest()  # not the columns, which are in `dense`
        at = seen.get(key)
        mirrored.append(at is None and other in seen)
        at = seen.get(other) if mirrored[-1] else at
        if at is None:
            at = seen[key] = len(dense)
            dense.append(ranks)
        place.append(at)
    table = np.stack(dense).T if dense else np.zeros((len(rank), 0), np.int32)
    del dense
    order = np.empty(table.shape[::-1], np.int32)
    for line, column in zip(order, table.T):
        check()
        line[:] = _order(column)
    copy = np.concatenate([own < 0 for own in cut_groups(table)]) if len(order) else np.zeros(0, bool)
    return DistinctColumns(np.ascontiguousarray(table), order, np.array(place), np.array(mirrored, bool), values, copy)


def dense_ranks(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks that occur, in rising order, and int32 (rows,): the position of each row's rank among them."""
    held = np.zeros(int(column.max(initial=0)) + 1, bool)
    held[column] = True
    return np.flatnonzero(held), (held.cumsum(dtype=np.int32) - np.int32(1))[column]


def _order(ranks: np.ndarray) -> np.ndarray:
    """Return rows by rising rank; numpy sorts 16 bits by counting."""
    return np.argsort(ranks.astype(np.uint16) if ranks.max(initial=0) < 2**16 else ranks, kind="stable")


def row_tokens(n: int) -> np.ndarray:
    """Return uint64 (n,): a pseudorandom number for each row (splitmix64; numpy.random takes 0.02 s to load)."""
    token = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        token = (token ^ (token >> np.uint64(shift))) * np.uint64(factor)
    return token ^ (token >> np.uint64(31))


def cut_groups(table: np.ndarray) -> list[np.ndarray]:
    """Return which cuts of different columns separate the rows in the same way: found by sums of random numbers, and
    compared.

    Parameters
    ----------
    table : int (rows, columns), dense ranks

    Returns
    -------
    list of int64 (ranks,), one for each column: a k > 0 of its own for the first cut that separates the rows in one
    way, and -k for the cuts of later columns that do so, too; 0 for the last rank, which is not a cut.
    """
    n = len(table)
    token = (row_tokens(n) >> np.uint64(11 + n.bit_length())).astype(float)  # whole numbers, with sums below 2^53
    total, keys, groups, seen, begin = token.sum(), [], [], {}, 0
    for column in table.T:
        sums = np.bincount(column, token)[:-1].cumsum()
        keys.append(np.minimum(sums, total - sums))
        groups.append(np.append(begin + 1 + np.arange(len(sums)), np.zeros(int(n > 0), np.int64)))
        begin += len(sums)
    if not begin:
        return groups
    _, number, often = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    shared = np.split(often[number.reshape(-1)] > 1, np.cumsum([len(own) for own in keys])[:-1])
    for column, (found, own) in enumerate(zip(groups, keys)):
        new = []
        for cut in np.flatnonzero(shared[column]).tolist():
            left, key = None, float(own[cut])
            for other, at, group in seen.get(key, ()):
                left = table[:, column] <= cut if left is None else left
                side = table[:, other] <= at
                if (side == left).all() or (side != left).all():
                    found[cut] = -group
            if found[cut] > 0:
                new.append((key, (column, cut, int(found[cut]))))
        for key, split in new:
            seen.setdefault(key, []).append(split)
    return groups
