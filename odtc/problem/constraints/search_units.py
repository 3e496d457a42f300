"""Weights, costs and coefficients as whole numbers, for the searches that add them exactly."""

from fractions import Fraction
from math import floor, log2

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.base.whole_numbers import MAX_DIFFERENCE, product, whole_numbers
from odtc.data.encoding import Encoded

ADDED = 2.0**50  # maximum of a sum of all numbers: with multipliers of a few bits it is still exact
COARSE = 2.0**36  # maximum sum of rounded costs, because branch penalties and multipliers need digits, too
SMALLEST = 1e-200  # smallest sum of costs that float64 can represent after multiplication by all factors
MOST_DENOMINATOR = 10**6  # maximum common denominator of weights and costs that are not whole numbers
TOO_FINE = (
    "a certificate counts in whole numbers below 2^53; the weights, costs and lambda have too many digits for that"
)
LEAST_DENOMINATOR = 1000  # smallest allowed maximum denominator of a rounded penalty
ENOUGH = 10**8  # largest denominator of a rounded penalty, because multipliers need digits, too
ROUNDED = 2**24  # largest coefficient of a rounded sum


def whole(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return (int64 of the same shape, scale): the values times the least scale that makes them whole; if the decimals
    are too long for that, the nearest fractions with small denominators.

    Raises
    ------
    TooLarge
        If the scale or the whole numbers are too large to be exact.
    """
    found, unit = whole_numbers(values)
    found, scale = product(found, np.array([unit.numerator], object)), unit.denominator
    if scale <= MOST_DENOMINATOR or fits(found):
        return _held(found), scale
    raise TooLarge("weights or costs are not fractions of numbers up to a million; round them")


def whole_or_rounded(encoded: Encoded, rounded: bool) -> tuple[np.ndarray, Fraction, Fraction]:
    """Return (int64 (rows, classes), scale, off): costs times a scale, in whole numbers. Costs that differ too much in
    size are rounded, and with `rounded` all are; no tree then costs more than `off` more or less.

    Raises
    ------
    TooLarge
        If the costs are so small or so large that float64 does not hold their sum.
    """
    exact, unit = encoded.whole_loss
    # The scale is a whole number, so a penalty of branch nodes can be whole in it as well.
    whole = product(exact, np.array([unit.numerator], object))
    if fits(whole) and not rounded:
        return whole.astype(np.int64), Fraction(unit.denominator), Fraction(0)
    total = float(encoded.loss.max(axis=1, initial=0).sum())
    if not SMALLEST < total < 1 / SMALLEST:
        raise TooLarge("weights or costs are too small or too large; multiply or divide them")
    scale = Fraction(2) ** floor(log2(COARSE / total))
    return np.rint(encoded.loss * float(scale)).astype(np.int64), scale, Fraction(len(exact)) / scale


def fits(values: np.ndarray) -> bool:
    """Return whether a search adds whole numbers without rounding."""
    return sum(map(abs, values.ravel().tolist())) < ADDED if values.dtype == object else np.abs(values).sum() < ADDED


def _held(found: np.ndarray) -> np.ndarray:
    """Return whole numbers as int64 that are exact, as are their differences."""
    if np.abs(found).max(initial=0) >= MAX_DIFFERENCE:
        raise TooLarge("weights or costs are 2^52 or more in units of their last digits; divide or round them")
    return found.astype(np.int64)


def settled_price(exact: Fraction, most: int) -> Fraction:
    """Return the price λ itself, or a nearby fraction with which costs of trees can be added exactly.

    The fraction, the nearest one, is used if the costs (1 - λ) errors + λ nodes are too large with λ itself.

    Parameters
    ----------
    exact : Fraction, from 0, below 1
    most : int
        No tree has more errors and branch nodes together, in whole units.

    Raises
    ------
    TooLarge
        If no such fraction is near it.
    """
    most_denominator = MAX_DIFFERENCE // 4 // max(1, most)
    if exact.denominator <= most_denominator:
        return exact
    if most_denominator < LEAST_DENOMINATOR:
        raise TooLarge("weights and costs have too many digits to be added exactly; round them")
    return exact.limit_denominator(min(most_denominator, ENOUGH))


def rounded_down(coef: np.ndarray, upper: int) -> tuple[np.ndarray, int]:
    """Return (int64 of the same shape, bound): ⌊coef / q⌋ and ⌊upper / q⌋, with q so large that they are small. Σ coef
    ≤ upper gives Σ ⌊coef / q⌋ ≤ ⌊upper / q⌋, so a bound on the trees that satisfy the second holds for those that
    satisfy the first."""
    q = -(-int(np.abs(coef).max(initial=1)) // ROUNDED)
    return (coef // q).astype(np.int64), int(upper) // q
