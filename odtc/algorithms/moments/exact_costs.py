"""Exact costs of leaves, in whole numbers: squared and absolute errors of numbers as they were written.

Weights and numbers are decimals, so they are whole numbers of a power of ten. With whole weights w and numbers t around
one of them, a leaf costs Σ w t² - (Σ w t)² / Σ w or Σ w |t - median|, which are rationals. Nothing is rounded.
"""

from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from odtc.algorithms.moments import laws
from odtc.algorithms.weighted_quantiles import weighted_median
from odtc.base.whole_numbers import MAX_EXACT, MAX_INT64, whole_numbers
from odtc.errors import DataError

ROUND = 2.0**-52  # relative rounding error of two operations on doubles
MOST_BITS = 500, 500, 1000  # maximum bits of Σ w, Σ w t and Σ w t² in a search by doubles, which squares the first two


class Undecided(ArithmeticError):
    """Exact costs cannot be compared: there are too many, or their numbers are too long."""


class ExactLeaves(Protocol):
    """The exact costs of leaves, in units of `unit`, as numbers that can be added and compared."""

    unit: Fraction

    def leaf(self, rows: np.ndarray) -> Any:
        """Return the cost of a leaf of some rows, int64 (rows,)."""

    def least(self, rows: np.ndarray) -> Any:
        """Return a lower bound on the cost of all trees of some rows."""

    def parts(self, part: np.ndarray, n_parts: int) -> list[Fraction]:
        """Return the costs of leaves that contain the rows of one part each; `part` is int64 (rows,)."""
        found = [Fraction(0)] * n_parts
        for at, rows in rows_by_part(part):
            found[at] = self.leaf(rows) * self.unit
        return found


def rows_by_part(part: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each part that has rows, and its rows."""
    order = np.argsort(part, kind="stable")
    held, begin = np.unique(part[order], return_index=True)
    yield from zip(held.tolist(), np.split(order, begin[1:]))


class ExactCosts(ExactLeaves):
    """Exact costs of leaves with squared errors around their mean, from whole numbers.

    Parameters
    ----------
    numbers, weight : float64 (data rows,)
    row_of : int64 (data rows,), the row of the search that each row of the data belongs to

    Attributes
    ----------
    unit : Fraction, of a cost
    sums : whole numbers (rows,) each: Σ w, Σ w t and Σ w t² of each row, of numbers t around one of them
    """

    POWER = 2  # power of a number in a cost

    def __init__(self, numbers: np.ndarray, weight: np.ndarray, row_of: np.ndarray):
        own, of_weight = whole_numbers(weight)
        whole, of_number = whole_numbers(numbers)
        y = whole.tolist()
        middle = sorted(y)[len(y) // 2]
        n = int(row_of.max()) + 1
        w, s, q = [0] * n, [0] * n, [0] * n
        for row, mass, number in zip(row_of.tolist(), own.tolist(), y):
            apart = number - middle
            w[row] += mass
            s[row] += mass * apart
            q[row] += mass * apart * apart
        self.unit = of_weight * of_number**self.POWER
        self.sums = tuple(map(array_of, (w, s, q)))

    @cached_property
    def floor(self) -> list[Fraction]:
        """The cost of each row as a leaf of its own."""
        return [q - Fraction(s * s, w) for w, s, q in zip(*(part.tolist() for part in self.sums))]

    @cached_property
    def scale(self) -> int:
        """The power of two that divides `sums` in `moments`, so that doubles can represent their totals and squares."""
        bits = (sum(map(abs, part.tolist())).bit_length() for part in self.sums)
        return 1 << max(0, *(own - most for own, most in zip(bits, MOST_BITS)))

    @cached_property
    def moments(self) -> np.ndarray:
        """float64 (3, rows): `sums` in units of `scale`. Raises DataError if a weight cannot be a double with all
        digits."""
        found = np.stack([np.array([one / self.scale for one in part.tolist()]) for part in self.sums])
        if found[0].min() < np.finfo(float).tiny:
            raise DataError(
                "expected weights and numbers whose sums and squares doubles hold, got some that are too small or too "
                "large next to the others; leave out the rows that hold them"
            )
        return found

    @property
    def whole(self) -> bool:
        """True if all sums of the first two moments are exact in doubles."""
        w, s, _ = self.moments
        return bool(w.sum() < MAX_EXACT and np.abs(s).sum() < MAX_EXACT)

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Return float64 (rows,) twice: the mean of each row in two parts that add up to more than 100 bits."""
        found = [Fraction(s, w) for w, s in zip(*(part.tolist() for part in self.sums[:2]))]
        high = [float(mean) for mean in found]
        return np.array(high), np.array([float(mean - Fraction(one)) for mean, one in zip(found, high)])

    def leaf(self, rows: np.ndarray) -> Fraction:
        """Return the cost of a leaf in units of `unit`."""
        w, s, q = (int(part[rows].sum()) for part in self.sums)
        return q - Fraction(s * s, w) if w else Fraction(0)

    def near_leaf(self, weight: np.ndarray, apart: np.ndarray) -> float:
        """Return the cost of a leaf in doubles, of weights and numbers around one of them, float64 (rows,)."""
        apart = apart - weight @ apart / weight.sum()
        return float((weight * apart) @ apart)  # the square by itself may not be a double

    def least(self, rows: np.ndarray) -> Fraction:
        """Return the cost of the tree with a leaf for each row."""
        return sum((self.floor[row] for row in rows.tolist()), Fraction(0))


class ExactMedians(ExactCosts):
    """Exact costs of leaves with absolute errors around their median; equal rows have equal numbers."""

    POWER = 1

    def __init__(self, numbers: np.ndarray, weight: np.ndarray, row_of: np.ndarray):
        super().__init__(numbers, weight, row_of)
        w, s, _ = self.sums
        self.numbers = array_of([total // mass for total, mass in zip(s.tolist(), w.tolist())])
        if self.most >= MAX_INT64:  # sums of products need Python's whole numbers
            self.sums = tuple(part.astype(object) for part in self.sums)
            self.numbers = self.numbers.astype(object)

    def taken(self, order: np.ndarray) -> "ExactMedians":
        """Return the costs of the rows in another order."""
        found = copy(self)
        found.sums, found.numbers = tuple(part[order] for part in self.sums), self.numbers[order]
        found.__dict__.pop("moments", None)
        return found

    @property
    def most(self) -> int:
        """An upper bound on all sums of costs and on all weights."""
        apart = int(self.numbers.max()) - int(self.numbers.min())
        return int(self.sums[0].sum()) * max(1, apart)

    def leaf(self, rows: np.ndarray) -> Fraction:
        """Return the cost of a leaf in units of `unit`."""
        order = rows[np.argsort(self.numbers[rows], kind="stable")]
        weight, numbers = self.sums[0][order], self.numbers[order]
        below = weight.cumsum()
        middle = numbers[int((2 * below >= below[-1]).argmax())]
        return Fraction(int((weight * abs(numbers - middle)).sum()))

    def near_leaf(self, weight: np.ndarray, apart: np.ndarray) -> float:
        """Return the cost of a leaf in doubles, of weights and numbers around one of them, float64 (rows,)."""
        return float(weight @ np.abs(apart - weighted_median(apart, weight)))

    def least(self, rows: np.ndarray) -> Fraction:
        """Return 0: the rows of a leaf may have one number."""
        return Fraction(0)


def array_of(whole: list[int]) -> np.ndarray:
    """Return whole numbers as int64 if all their sums fit, otherwise as Python numbers."""
    if sum(map(abs, whole)) < MAX_INT64:
        return np.array(whole, np.int64)
    found = np.empty(len(whole), object)
    found[:] = whole
    return found


def rounding(law: int, moments: np.ndarray, exact_sums: bool, n_leaves: int) -> float:
    """Return a bound on the rounding error of the cost of any tree of this many leaves, by sums of doubles.

    With exact sums W and S, only S²/W and the sums over leaves and of Q are rounded. Otherwise an error of n ε Σ |s|
    in the sum of a part counts twice its mean, and one of n ε Σ w in its weight counts the square of its mean.

    Parameters
    ----------
    law : int, of odtc.algorithms.moments.laws
    moments : float64 (3, rows): W, S and Q around one number
    exact_sums : bool
    n_leaves : int
    """
    w, s, q = moments
    n, whole = len(w), float(q.sum())
    off = ROUND * (n + 4 * n_leaves + 16) * whole
    if exact_sums:
        return off
    each = ROUND * (n + 4)
    if law == laws.LIKELIHOOD:
        held = s > 0
        if not w[held].min(initial=np.inf):
            return np.inf
        logs = np.log(max(1.0, w.sum() / s[held].min())) + 1
        return off + each * float(s.sum()) * float(w.sum() / w[held].min() + logs)
    means, total, least = float(np.abs(s / w).max()), float(w.sum()), float(w.min())
    off += 4 * n_leaves * each * means * float(np.abs(s).sum())
    if (w != np.rint(w)).any() or total >= MAX_EXACT:
        off += 4 * each * whole * (total / least)
    return off
