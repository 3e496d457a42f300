"""Ranked columns and reduced weights: the data of a search over all thresholds.

Every column of numbers is replaced by dense ranks: a threshold of column f is a rank r, and the rows of rank <= r go
left. A binary split is a column of two ranks. A missing number has the highest rank of its column, because it goes
right at every threshold; the last threshold then splits on whether the number is missing.

Costs are counted above the unavoidable cost, in whole multiples of one unit. Rows of equal ranks move together, so
only their total cost matters: with two labels the difference of the two costs, with more labels one entry for each
label that costs less than the worst one.

    cost of a leaf on rows S = Σ_{e in S} most[e] - max_k Σ_{e in S, label[e] = k} gain[e]                    (labels)
    cost of a leaf on rows S = min(Σ positive gains, Σ |negative gains|)                                 (two labels)
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha1
from itertools import chain
from math import gcd, lcm

import numpy as np

from odtc.algorithms.equal_rows import equal_rows
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_EXACT

MAX_UNITS_OF_ONE = 2**40  # maximum units of one loss, if all weights are whole multiples of a unit
MAX_UNITS_OF_ALL = 2**46  # units of all losses together, otherwise
MAX_INT32_SUM = 2**29  # sums below this are stored in int32
NONE = 1 << 59  # a cost above that of any tree; the NEVER of the kernels is above it
DECIMAL = 1e-13  # rounding error of sums of decimals, relative to the largest
TALL_TABLE = 100_000  # above this number of rows or cells, the deadline is checked between two columns
LEAST, TABLE = 2**12, 2**24  # minimum and maximum of entries times cuts, for sums over pairs of cuts
CUTS = 300  # maximum number of cuts of all columns, for sums over triples of cuts
TALL = 6  # times entries, columns and cuts: additions to such sums that take as long as a search in column order


@value_class
class RankedRows:
    """Rows of the search: entries of equal ranks in all columns always go the same way.

    Attributes
    ----------
    rank : uint32 (entries, columns)
    label : int32 (entries,), the label that the gain is for; all 0 with two labels
    gain : int32 or int64 (entries,), the saving by the label; with two labels, cost of label 0 minus cost of label 1
    most : int64 (entries,), the greatest possible cost of the entry
    count : int64 (entries,), rows of the data
    stride : labels, 1 if the gains are differences of two labels
    price : int, of a branch node
    least : int, rows of the data that each leaf must have
    floor : float, the cost that no tree can avoid
    unit : float, a cost c of the search is floor + unit * c in units of loss
    columns : int64 (columns,), the given column that each column is
    alias : int64 (given columns,), the column that a given one is equal to or mirrors, -1 if it is constant
    kind : int64 (given rows,), the merged row of each given row
    row : int64 (entries,), the merged row of each entry
    by_splits : bool, whether a search counts sums over pairs of splits, one for each cut, instead of going
        through the entries in the order of each column
    scale : int, units of the search for each unit of cost; a branch node costs one such unit more (`counting`). 1 if
        branch nodes are not counted
    """

    rank: np.ndarray
    label: np.ndarray
    gain: np.ndarray
    most: np.ndarray
    count: np.ndarray
    stride: int
    price: int
    least: int
    floor: float
    unit: float
    columns: np.ndarray
    alias: np.ndarray
    kind: np.ndarray
    row: np.ndarray
    by_splits: bool
    scale: int = 1

    @property
    def n(self) -> int:
        """Return the number of entries."""
        return len(self.most)

    @property
    def saving(self) -> np.ndarray:
        """Return int32 (entries,): the label that costs less than the worst label by |gain| on each entry."""
        return self.label if self.stride > 1 else (self.gain > 0).astype(np.int32)

    @property
    def has_copies(self) -> bool:
        """Return whether a given column is left out because it is equal to another one, or mirrors it."""
        return int((self.alias >= 0).sum()) > len(self.columns)

    @property
    def binary(self) -> bool:
        """Return whether every column has two ranks."""
        return bool(self.rank.max(initial=0) <= 1)

    @cached_property
    def order(self) -> np.ndarray:
        """Return uint32 (columns, entries): entries by rising rank, as entry << 1 | 1 for the last entry of a rank,
        else entry << 1."""
        order = np.empty(self.rank.shape[::-1], np.uint32)
        small = self.rank.max(initial=0) < 2**16  # numpy sorts 16 bits by counting
        for f, line in enumerate(order):
            _look(self.n)
            column = self.rank[:, f].astype(np.uint16) if small else self.rank[:, f]
            by_rank = np.argsort(column, kind="stable")
            line[:] = by_rank << 1
            line[:-1] |= np.diff(column[by_rank].astype(np.int64)) > 0
            line[-1:] |= 1
        return order

    def counting(self, scale: int) -> "RankedRows":
        """Return the same rows with `scale` units of the search for each unit of cost, and a branch node costs 1 more:
        of two trees of equal cost, the tree with fewer branch nodes is then cheaper. A tree must have fewer than
        `scale` branch nodes."""
        most, price = self.most * scale, self.price * scale + 1
        gain = (self.gain.astype(np.int64) * scale).astype(_whole_type(most, price))
        other = replace(self, gain=gain, most=most, price=price, unit=self.unit / scale, scale=scale)
        if "order" in vars(self):  # it takes long to compute, and the ranks are the same
            vars(other)["order"] = self.order
        return other

    def lifted(self, height: int, lower: int) -> int:
        """Return the least cost of the search that a tree of this height can have, if it costs at least `lower`: the
        rest by the scale is its branch nodes, fewer than 2^height."""
        whole, rest = divmod(lower, self.scale)
        return lower if rest < 1 << height else (whole + 1) * self.scale

    def wanted(self, height: int, need: int) -> int:
        """Return the least bound that proves as much as `need` for a tree of this height."""
        whole, rest = divmod(need, self.scale)
        return need if rest <= 1 << height else whole * self.scale + (1 << height)

    @cached_property
    def least_loss(self) -> int:
        """Return the least loss that an entry has under a label that is not its best one."""
        return int(np.abs(self.gain[self.gain != 0].astype(np.int64)).min(initial=2**40))

    def goal(self, best: int) -> int:
        """Return the bound to prove first if the best tree costs `best`: this cost, or this cost without the branch
        nodes if the tree loses few entries. Its branch nodes then count about as much as these entries, so a bound that
        includes them is much harder to prove."""
        return best // self.scale * self.scale if best < self.scale * self.least_loss else best

    def cost(self, value: int) -> float:
        """Return a cost of the search in units of loss, without the branch nodes that are counted."""
        return self.floor + self.unit * (value // self.scale * self.scale)


def rank_columns(X: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the dense ranks of columns of numbers; missing numbers (NaN) come last.

    Parameters
    ----------
    X : float (rows, columns)

    Returns
    -------
    rank : uint32 (rows, columns)
    values : per column the distinct numbers in rising order, float64, without NaN
    """
    rank, values = np.empty(X.shape, np.uint32), []
    for f in range(X.shape[1]):
        distinct, rank[:, f] = np.unique(X[:, f], return_inverse=True)
        values.append(distinct[:-1] if len(distinct) and np.isnan(distinct[-1]) else distinct)
    return rank, values


def rank_rows(
    rank: np.ndarray,
    loss: np.ndarray,
    count: np.ndarray | None = None,
    price: float = 0.0,
    least: int = 1,
    keep: bool = False,
    apart: Sequence | None = None,
    dense: bool = False,
) -> RankedRows:
    """Return the data of a search: columns without copies, rows of equal ranks as one, losses as whole numbers.

    Parameters
    ----------
    rank : int (rows, columns), dense or not
    loss : float (rows, labels), the cost of predicting a label for a row
    count : int (rows,), rows of the data that each row represents; None for 1
    price : float, of a branch node, in units of loss
    least : int, rows of the data that each leaf must have
    keep : bool, whether to keep rows that cost the same under every label, because they count as rows that a split
        separates
    apart : sequence (columns,), the owner of each column: copies with another owner stay; None for one owner of all
    dense : bool, whether the ranks are known to be dense, of two or more in each column; copies of columns then stay

    Returns
    -------
    RankedRows

    Raises
    ------
    TimeLimitReached
        Between two parts of much work, if the deadline has passed.
    """
    count = np.ones(len(rank), np.int64) if count is None else count
    every = np.arange(rank.shape[1])
    columns, alias, ranks = (every, every, rank) if dense else _distinct_columns(rank, apart)
    kind, first = merge_rows(ranks)
    whole, price, unit, floor = _whole_losses(kind, loss, len(first), price)
    rows = np.bincount(kind, count, len(first)).astype(np.int64)
    (entry, label, gain, most, rows), stride = _entries(whole, rows, keep or least > 1)
    whole_type = _whole_type(most, price)
    _look(len(entry))
    ranks = np.ascontiguousarray(ranks[first[entry]], np.uint32)
    return RankedRows(
        ranks,
        label,
        gain.astype(whole_type),
        most,
        rows,
        stride,
        price,
        max(1, least),
        floor,
        unit,
        columns,
        alias,
        kind,
        entry,
        _pays_by_splits(ranks, stride, whole_type is np.int32 and least <= 1),
    )


def _look(n: int) -> None:
    """Raise TimeLimitReached if the deadline has passed; called between two columns or tables of more than TALL_TABLE
    cells."""
    if n > TALL_TABLE:
        deadline.check()


def _whole_losses(kind: np.ndarray, loss, many: int, price: float) -> tuple[np.ndarray, int, float, float]:
    """Return (whole losses, int64 (kinds, labels), of which the least of each kind is 0; the price as a whole number;
    the unit of both; the cost that no tree can avoid, which was taken off)."""
    loss = _summed(kind, np.asarray(loss, float), many)
    least = loss.min(axis=1, keepdims=True)
    floor = float(least.sum())
    loss -= least
    _look(loss.size)
    whole, price, unit = _in_units(loss, price)
    _look(loss.size)
    return whole, price, unit, floor


def _summed(kind: np.ndarray, loss: np.ndarray, many: int) -> np.ndarray:
    """Return float64 (kinds, labels): the sums of the losses of the rows of each kind."""
    summed = np.empty((many, loss.shape[1]))
    for label, column in enumerate(loss.T):
        _look(loss.size)
        summed[:, label] = np.bincount(kind, column, many)
    return summed


def _whole_type(most: np.ndarray, price: int) -> type:
    """Return the shortest integer type for the sums of a search whose entries have these maximum costs."""
    return np.int32 if int(most.sum()) + price < MAX_INT32_SUM else np.int64


def _pays_by_splits(rank: np.ndarray, stride: int, small: bool) -> bool:
    """Return whether sums over pairs of the cuts of all columns, and over triples of them, are less work than a search
    in the order of each column: binary columns, and if `small` (short integers, leaves of any number of rows) columns
    of few ranks each."""
    cuts = rank.max(axis=0, initial=0).astype(np.int64)
    n, splits = len(rank), int(cuts.sum())
    if cuts.max(initial=0) <= 1:
        return True
    if not small or splits > CUTS or not LEAST <= n * splits <= TABLE:
        return False
    ones = 0.0  # mean number of splits for which an entry has the rarer outcome
    for column, last in zip(rank.T, cuts.tolist()):
        _look(n)
        right = 1 - np.bincount(column, minlength=last + 1)[:-1].cumsum() / n
        ones += float(np.minimum(right, 1 - right).sum())
    return n * ones**3 / 6 + 2 * stride * splits**3 < TALL * n * len(cuts) * splits


def merge_rows(rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows as kinds, numbered in the order in which they first appear.

    Parameters
    ----------
    rank : int (rows, columns)

    Returns
    -------
    kind : int64 (rows,)
    first : int64 (kinds,), the first row of each kind
    """
    return equal_rows(chain([(np.zeros(len(rank), np.int64), 1)], _codes(rank)))


def _codes(rank):
    """Yield (column, a number above its ranks) for each column, with a check of the deadline between two."""
    for column in rank.T:
        _look(len(rank))
        yield column, int(column.max(initial=0)) + 1


def _distinct_columns(rank, apart):
    """Return (given columns that are kept, the position among these that stands for each given column, dense ranks of
    the kept columns (rows, kept) in the smallest type that fits)."""
    alias, kept, dense, seen = np.full(rank.shape[1], -1), [], [], {}
    for f, column in enumerate(rank.T):
        _look(len(rank))
        present = np.zeros(int(column.max(initial=0)) + 1, bool)
        present[column] = True
        if present.sum() < 2:
            continue
        number = np.cumsum(present) - 1
        ranks = number.astype(np.min_scalar_type(int(number[-1])))[column]
        # Columns with equal digests are compared cell by cell, because two different columns may have the same digest.
        places = [
            at
            for one in (ranks, number[-1].astype(ranks.dtype) - ranks)
            for at in seen.get(sha1(one.data, usedforsecurity=False).digest(), ())
            if apart is None or apart[kept[at]] == apart[f]
            if np.array_equal(dense[at], one)
        ]
        if not places:
            seen.setdefault(sha1(ranks.data, usedforsecurity=False).digest(), []).append(len(kept))
            places.append(len(kept))
            kept.append(f)
            dense.append(ranks)
        alias[f] = places[0]
    return np.array(kept, np.int64), alias, np.stack(dense, axis=1) if dense else np.zeros((len(rank), 0), np.uint8)


def _in_units(loss, price):
    """Return (losses, price, unit) as whole numbers of the greatest unit of which all are multiples; of a fixed small
    unit if the greatest one would be smaller still."""
    if (
        price == round(price)
        and float(loss.max(axis=1).sum()) + price < MAX_EXACT
        and np.array_equal(loss, np.rint(loss))
    ):
        whole = loss.astype(np.int64)
        unit = gcd(int(np.gcd.reduce(whole, axis=None)), round(price)) or 1
        return whole // unit, round(price) // unit, float(unit)
    digits = decimal_places(loss)
    values = [
        Fraction(value) if digits is None else Fraction(round(value * 10**digits), 10**digits)
        for value in np.unique(loss[loss > 0])[:10_000].tolist()
    ]
    values += [Fraction(price).limit_denominator(10**9)] if price > 0 else []
    if values and len(np.unique(loss)) <= 10_000:
        below = lcm(*(value.denominator for value in values))
        unit = Fraction(gcd(*(int(value * below) for value in values)), below)
        if float(max(values) / unit) < MAX_UNITS_OF_ONE and float(loss.sum()) / float(unit) < MAX_UNITS_OF_ALL:
            return (
                np.rint(loss / float(unit)).astype(np.int64),
                round(values[-1] / unit) if price > 0 else 0,
                float(unit),
            )
    unit = max(float(loss.max(axis=1).sum()), price) / MAX_UNITS_OF_ALL or 1.0
    return np.rint(loss / unit).astype(np.int64), round(price / unit), unit


def decimal_places(values: np.ndarray) -> int | None:
    """Return the fewest decimal places with which the numbers can be written, up to the rounding of their sums; None if
    they are whole multiples of a power of two, or have more than nine decimal places."""
    largest = float(np.abs(values).max(initial=0.0))
    binary = values * 2.0**20
    if np.array_equal(binary, np.rint(binary)):
        return None
    for digits in range(1, 10):
        _look(values.size)
        scaled = values * 10.0**digits
        if (np.abs(scaled - np.rint(scaled)) <= DECIMAL * largest * 10.0**digits).all():
            return digits
    return None


def _entries(whole: np.ndarray, rows: np.ndarray, keep: bool) -> tuple[tuple[np.ndarray, ...], int]:
    """Return ((row, label, gain, most, count) of the entries of rows, entries of a row at most); `keep` is as for
    `rank_rows`."""
    if whole.shape[1] == 2:
        return _entries_of_two_labels(whole, rows, keep), 1
    return _entries_of_labels(whole, rows, keep), whole.shape[1]


def _entries_of_two_labels(whole, rows, keep):
    """Return the entries of rows with two labels: one for each row, whose gain is negative if the second label costs
    more."""
    gain = whole[:, 0] - whole[:, 1]
    kept = np.arange(len(gain)) if keep else np.flatnonzero(gain)
    gain = gain[kept]
    return kept, np.zeros(len(kept), np.int32), gain, np.abs(gain), rows[kept]


def _entries_of_labels(whole, rows, keep):
    """Return the entries of rows with any number of labels: one for each label that costs less than the worst label."""
    most = whole.max(axis=1)
    gain = most[:, None] - whole
    needed = gain > 0
    if keep:
        needed[most == 0, 0] = True  # rows without a cost still count
    entry, label = np.nonzero(needed)
    head = np.ones(len(entry), bool)  # only the first entry of a row has its maximum cost and its count
    head[1:] = np.diff(entry) > 0
    at = np.where(head, 1, 0)
    return entry, label.astype(np.int32), gain[entry, label], most[entry] * at, rows[entry] * at
