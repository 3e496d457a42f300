"""Weights, prices and coefficients as whole numbers, for the searches that add them exactly."""

from fractions import Fraction
from math import lcm

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge

WHOLE = 2.0**52  # whole numbers below are exact, and so are their differences
MOST_DENOMINATOR = 10**6  # of weights and prices that are no whole numbers
TOO_FINE = (
    "a certificate counts in whole numbers below 2^53; the weights, costs and lambda have too many digits for that"
)
LEAST_DENOMINATOR = 1000  # of a price that is rounded
ENOUGH = 10**8  # the largest of one: multipliers need room, too
ROUNDED = 2**24  # the largest coefficient of a sum that is rounded


def whole(values: np.ndarray) -> tuple[np.ndarray, int]:
    """(int64 of the same shape, scale): the values times the least scale that makes them whole.

    Raises
    ------
    TooLarge
        If there is no such scale of a moderate size, or the whole numbers are too large to be exact.
    """
    found = np.rint(values)
    if (found == values).all():  # most are
        return _held(found), 1
    parts = [Fraction(value).limit_denominator(MOST_DENOMINATOR) for value in np.unique(values).tolist()]
    scale = lcm(*(part.denominator for part in parts))
    if scale <= MOST_DENOMINATOR:
        found = np.rint(values * scale)
        if (np.abs(found - values * scale) <= 1e-9 * np.maximum(1, np.abs(found))).all():
            return _held(found), scale
    raise TooLarge("weights or prices are no fractions of numbers up to a million; round them")


def _held(found: np.ndarray) -> np.ndarray:
    """int64: whole numbers that are exact, and so are their differences."""
    if np.abs(found).max(initial=0) >= WHOLE:
        raise TooLarge("weights or prices are 2^52 or more in units of their last digits; divide or round them")
    return found.astype(np.int64)


def settled_price(exact: Fraction, most: int) -> Fraction:
    """The price λ itself; or, if costs (1 - λ) errors + λ nodes of trees are then too large to be added
    exactly, the nearest fraction of which they are not.

    Parameters
    ----------
    exact : Fraction, from 0, below 1
    most : int
        No tree has more errors and branch nodes together, in whole units.

    Raises
    ------
    TooLarge
        If there is no such fraction near it.
    """
    most_denominator = int(WHOLE / 4) // max(1, most)
    if exact.denominator <= most_denominator:
        return exact
    if most_denominator < LEAST_DENOMINATOR:
        raise TooLarge("weights and prices have too many digits to be added exactly; round them")
    return exact.limit_denominator(min(most_denominator, ENOUGH))


def rounded_down(coef: np.ndarray) -> tuple[np.ndarray, float]:
    """(int64 of the same shape, scale): ⌊coef · scale⌋. Whatever keeps Σ coef ≤ b keeps Σ ⌊coef · scale⌋ ≤ b · scale,
    so a bound on the trees that keep the second holds for those that keep the first."""
    scale = ROUNDED / max(float(np.abs(coef).max(initial=0)), 1e-300)
    return np.floor(coef * scale).astype(np.int64), scale
