"""Represent decimals as whole multiples of a unit, and count the losses of rows in such units without rounding.

A weight, a cost or a penalty is the decimal number that was written, not the nearest double:

    w_i = u n_i,  c_kl = v m_kl  with n, m whole   →   loss of a tree = u v Σ_i n_i m[y_i, l_i], a whole multiple of u v
"""

from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, ulp
from typing import Any

import numpy as np

from odtc.base.value_class import value_class

Encoded = Any  # odtc.data.encoding.Encoded, which is not imported because the checker of certificates needs no encoding

MAX_DENOMINATOR = 10**6  # largest denominator of a quotient, such as 1/3 or a weight of balanced classes
MAX_CHANCE = 1e-3  # probability that a double is near a quotient by chance: about denominator² times its ulp
MAX_DIGITS = 15  # significant digits of decimals that doubles always distinguish
MAX_EXACT = 2**53  # sums of whole numbers below it are exact in float64
MAX_DIFFERENCE = 2**52  # whole numbers below it, and their sums and differences, are exact in float64
MAX_FLOAT32 = 2**24  # whole numbers below it are exact in float32
MAX_INT64 = 2**62  # whole numbers below it, and the sum of two of them, fit into int64
MAX_VALUES = 20_000  # with more different numbers, quotients are not recognised: each is the decimal that it prints as
SAME_WEIGHT = 1e-12  # relative difference between sums of the same numbers in different orders
MAX_TABLE = 4096  # pairs of classes up to which losses are counted in a table


def as_written(value: float) -> Fraction:
    """Return the number that a double stands for: a decimal of at most 15 digits, a simple quotient, or otherwise the
    shortest decimal that rounds to it.

    Parameters
    ----------
    value : float

    Returns
    -------
    Fraction
    """
    text = repr(float(value))
    digits = text.split("e")[0].replace(".", "").lstrip("-0")
    if len(digits.rstrip("0")) > MAX_DIGITS:
        largest = int(min(MAX_DENOMINATOR, (MAX_CHANCE / ulp(value)) ** 0.5))
        if largest and float(near := Fraction(value).limit_denominator(largest)) == value:
            return near
    return Fraction(text)


def whole_numbers(values: np.ndarray) -> tuple[np.ndarray, Fraction]:
    """Return numbers as whole multiples of the greatest unit that they have in common.

    Parameters
    ----------
    values : float64, of any shape, finite

    Returns
    -------
    whole : int64 of the same shape, or objects (int) if they are beyond it
    unit : Fraction
        Number i is `whole[i] * unit` exactly; 1 if all are 0.
    """
    values = np.asarray(values, float)
    largest = float(np.abs(values).max(initial=0.0))
    for digits in range(MAX_DIGITS + 1):
        scale = 10.0**digits
        if largest * scale >= (MAX_EXACT if not digits else 10.0**MAX_DIGITS):
            break
        scaled = np.rint(values * scale)
        if np.array_equal(scaled / scale, values):
            whole = scaled.astype(np.int64)
            common = int(np.gcd.reduce(whole, axis=None)) or int(scale)
            return whole // common, Fraction(common, int(scale))
    distinct, place = np.unique(values, return_inverse=True)
    read = as_written if len(distinct) <= MAX_VALUES else lambda value: Fraction(Decimal(repr(value)))
    exact = [read(value) for value in distinct.tolist()]
    below = lcm(*(value.denominator for value in exact))
    numbers = [value.numerator * (below // value.denominator) for value in exact]
    common = gcd(*numbers)
    fits = max(map(abs, numbers)) // common < MAX_INT64
    whole = np.array([number // common for number in numbers], np.int64 if fits else object)
    return whole[place].reshape(values.shape), Fraction(common, below)


def common_unit(numbers: list[Fraction]) -> Fraction:
    """Return the greatest number of which all given numbers are whole multiples; 0 if all are 0."""
    below = lcm(*(number.denominator for number in numbers))
    return Fraction(gcd(*(int(number * below) for number in numbers)), below)


def sums_of_whole(place: np.ndarray, whole: np.ndarray, n: int) -> np.ndarray:
    """Return the sums of whole numbers over the rows with the same `place`.

    Parameters
    ----------
    place : int (rows,)
    whole : int64 or objects (rows,)
    n : int

    Returns
    -------
    int64 (n,), or objects (int) if they are beyond it
    """
    most = int(whole.max(initial=0)) * len(whole)
    if most < MAX_EXACT:
        return np.bincount(place, whole.astype(float), n).astype(np.int64)
    sums = np.zeros(n, np.int64 if most < MAX_INT64 else object)
    np.add.at(sums, place, whole if most < MAX_INT64 else whole.astype(object))
    return sums


class WholeLosses:
    """The losses of encoded rows in whole numbers, counted from the weights of the data rows.

    Attributes
    ----------
    unit : Fraction
        Every loss is a whole multiple of it.
    weight : int64 or objects (rows,)
    cost : list of list of int
        `cost[k][c]` is the cost of predicting class c for class k.
    """

    def __init__(self, encoded: Encoded):
        weight, of_weight = exact_weights(encoded)
        cost, of_cost = encoded.whole_cost or whole_numbers(encoded.cost)
        self.unit, self.weight, self.cost = of_weight * of_cost, weight, cost
        self._y = encoded.y

    def of(self, predicted: np.ndarray) -> int:
        """Return the loss of predictions, int (rows,), as a multiple of the unit."""
        K = len(self.cost)
        code = self._y.astype(np.int64) * K + predicted
        pairs, place = np.arange(K * K), code
        if K * K > MAX_TABLE:
            pairs, place = np.unique(code, return_inverse=True)
        sums = sums_of_whole(place, self.weight, len(pairs))
        costs = self.cost.ravel()[pairs]
        return sum(int(sums[at]) * int(costs[at]) for at in np.flatnonzero((sums != 0) & (costs != 0)).tolist())

    def cheapest(self, rows: np.ndarray) -> int:
        """Return the label that costs least on some rows; in a tie, the first one."""
        sums = sums_of_whole(self._y[rows], self.weight[rows], len(self.cost)).astype(object)
        held = np.flatnonzero(sums)
        costs = sums[held] @ self.cost[held].astype(object)
        return int(costs.argmin()) if len(held) else 0

    @cached_property
    def most(self) -> int:
        """The largest total cost of all rows, as a multiple of the unit."""
        dearest = self.cost.max(axis=1)
        held = sums_of_whole(self._y, self.weight, len(dearest))
        return sum(int(n) * int(cost) for n, cost in zip(held, dearest))


def whole_losses(encoded: Encoded) -> WholeLosses:
    """Return the losses of encoded rows in whole numbers, for a task in which the loss is a sum over rows."""
    found: WholeLosses = encoded.derived("whole losses", lambda: WholeLosses(encoded))
    return found


def exact_weights(encoded: Encoded) -> tuple[np.ndarray, Fraction]:
    """Return the weights of encoded rows, sums of decimals of the data, as (whole numbers, unit)."""
    dataset = encoded.dataset
    if dataset is not None and dataset.n_rows == len(encoded.row_of):
        summed = np.bincount(encoded.row_of, dataset.weight, encoded.n_rows)
        if np.allclose(summed, encoded.weight, rtol=SAME_WEIGHT, atol=0):
            whole, unit = dataset.whole_weight
            return sums_of_whole(encoded.row_of, whole, encoded.n_rows), unit
    return encoded.exact_weight or rounded_weights(encoded.weight)


def rounded_weights(weight: np.ndarray) -> tuple[np.ndarray, Fraction]:
    """Return weights, rounded to 15 digits, as (whole numbers, unit), because sums of decimals have rounding errors in
    the last digit."""
    distinct, place = np.unique(weight, return_inverse=True)
    whole, unit = whole_numbers(np.array([float(f"{value:.{MAX_DIGITS}g}") for value in distinct.tolist()]))
    return whole[place], unit


POWERS_OF_TEN = 10**22  # the largest power of ten that float64 represents exactly


def next_fraction(value: Fraction, most: int) -> Fraction:
    """Return the least fraction that is at least `value` and has a denominator of at most `most`. If the nearest such
    fraction is less than `value`, it is the next one in the Farey sequence."""
    near = value.limit_denominator(most)
    if near >= value:
        return near
    p, q = near.numerator, near.denominator
    first = -pow(p, -1, q) % q  # r q - p s = 1 for the next fraction r / s, with s as large as may be
    s = first + q * ((most - first) // q)
    return Fraction((p * s + 1) // q, s)


def narrowed(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as int64 if sums of them cannot overflow, otherwise as Python's whole numbers."""
    if values.dtype == object:
        return values.astype(np.int64) if sum(map(abs, values.ravel().tolist())) < MAX_INT64 else values
    return values if float(np.abs(values.astype(float)).sum()) < MAX_INT64 / 2 else values.astype(object)


def product(one: np.ndarray, other: np.ndarray | int) -> np.ndarray:
    """Return the elementwise product of whole numbers, exact for any size."""
    other = np.asarray(other)
    largest = [int(np.abs(part).max(initial=0)) for part in (one, other)]
    if largest[0] * largest[1] * max(one.size, other.size) < MAX_INT64 / 2 and max(largest) < MAX_INT64:
        return one.astype(np.int64) * other.astype(np.int64)
    return narrowed(one.astype(object) * other.astype(object))


def nearest_floats(values: np.ndarray, unit: Fraction) -> np.ndarray:
    """Return the floats nearest to whole multiples of a unit."""
    large = int(np.abs(values).max(initial=0)) * unit.numerator >= MAX_EXACT
    if not large and unit.denominator <= POWERS_OF_TEN:  # both are exact, so that the division rounds once
        return (values * unit.numerator).astype(float) / float(unit.denominator)
    each = [value * unit.numerator / unit.denominator for value in values.ravel().tolist()]
    return np.array(each, float).reshape(values.shape)


def summed_weights(place: np.ndarray, weight: np.ndarray, size: int) -> np.ndarray:
    """Return float64 (size,): the sums of the decimals with the same `place`, rounded only once."""
    found = np.bincount(place, weight, size)
    many = (np.bincount(place, minlength=size) > 1)[place]
    if many.any() and not ((weight == np.rint(weight)).all() and found.sum() < MAX_EXACT):
        whole, unit = whole_numbers(weight[many])
        single, of = np.unique(place[many], return_inverse=True)
        found[single] = nearest_floats(sums_of_whole(of, whole, len(single)), unit)
    return found


@value_class
class ExactParts:
    """Exact costs as whole numbers, each stored in two parts: `parts * high + rest` with `rest < parts`.

    Attributes
    ----------
    high, rest : int64 or objects (rows, labels), the costs of predicting a label on a row
    parts : int
    price : int, the cost of a branch node, not divided
    """

    high: np.ndarray
    rest: np.ndarray
    parts: int
    price: int

    @classmethod
    def of(cls, exact: np.ndarray, parts: int, price: int) -> "ExactParts":
        """Divide exact costs, objects (rows, labels)."""
        rest = exact % parts
        return cls((exact // parts).astype(np.int64), narrowed(rest) if parts < MAX_INT64 else rest, parts, price)

    def of_kinds(self, kind: np.ndarray, rows: np.ndarray) -> "ExactParts":
        """Return the costs of the merged rows `rows`; `kind` is the merged row of each given row."""
        many = int(kind.max(initial=-1)) + 1
        high, rest = (
            np.stack([sums_of_whole(kind, label, many) for label in cost.T], axis=1)[rows].astype(cost.dtype)
            for cost in self._both
        )
        return ExactParts(high, rest, self.parts, self.price)

    @property
    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        return self.high, self.rest

    def leaf(self, rows: np.ndarray) -> int:
        """Return the cost of some rows as one leaf."""
        high, rest = (cost[rows].sum(axis=0).tolist() for cost in self._both)
        return min(self.parts * int(one) + int(other) for one, other in zip(high, rest))

    def carried(self, high: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of both parts, carried so that the rest is less than `parts` again."""
        return high + rest // self.parts, rest % self.parts

    def least(self, high: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least cost in each line of sums of both parts (sums, labels)."""
        high, rest = self.carried(high, rest)
        above = high.min(axis=1)
        beyond = np.where(high == above[:, None], rest, self.parts)
        return above, beyond.min(axis=1)
