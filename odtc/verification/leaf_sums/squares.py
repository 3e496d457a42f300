"""Costs of the leaves of a regression, in exact rationals: Σ w y² - (Σ w y)² / Σ w, of whole numbers and weights.

Numbers times `number_scale` and weights times `weight_scale` are whole; costs are in these units. The cost of a leaf
does not change if all numbers move by the same amount, so they are counted from one in their middle, t = y - m. The
whole number Σ w t² is stored in two parts, Σ w t² = low + 2^LOW high.

Numbers of more digits are counted in 2^-`number_bits` instead, rounded down: t = floor(2^bits y). This rounds each
number by half a unit at most, around one number for all, so the square root of the cost of a tree is off by at most E
= sqrt(Σ w / 4), whatever its leaves. If the tree costs C by these numbers, its branch nodes included, it costs between
C - 2 E sqrt(C) + E² (0 if C < E²) and C + 2 E sqrt(C) + E², so claim and bound are widened (`ends`). If no number had
to be rounded, E = 0. A number is the decimal that prints as its double (`whole`).
"""

import math
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from odtc.base.json_schema import TEXT, WHOLE
from odtc.base.whole_numbers import MAX_EXACT
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.two_levels import SQUARE

TASK = "regression"
SHAPE = {"number_scale?": WHOLE, "number_bits?": WHOLE, "claim": TEXT}
MOST_BITS = 1000  # maximum number of bits of a scale that is a power of two
MOST_DIGITS = 700  # maximum number of digits of a double times a power of two of MOST_BITS bits
ROUNDS = False  # whether a cost is only known to be between two ends
NEAR = 1e-12  # more than the error of a few sums of doubles, relative to the squares of all rows
SINGLE = False  # whether a row that differs from all others may cost something as a leaf


LOW = 36  # bits of the lower part of a square; of at most 2^26 rows they can be added up


class Squares:
    """The costs of leaves of some data, by `moments`, int64 (4, rows): w, w t and the two parts of w t²; `rounded`
    holds w, w t and w t² in floats."""

    def __init__(self, facts: dict, dataset: Dataset):
        scale, number, bits = facts["weight_scale"], facts.get("number_scale"), facts.get("number_bits")
        of_two = number is None and bits is not None and 0 <= bits <= MOST_BITS
        of_ten = bits is None and number is not None and 0 < number < 2**40
        if not ((of_two or of_ten) and 0 < scale < 2**40):
            raise ValueError("its scales are not whole numbers above 0")
        number = 2**bits if number is None else number
        (weight, is_whole), (own, exact) = whole(dataset.weight, scale), whole(dataset.sums[:, -1], number)
        self.rounds = not exact and bits is not None
        if not is_whole or min(weight) <= 0 or not (exact or self.rounds):
            raise CertificateError("the numbers of the data are not whole numbers at the scales of the certificate")
        middle = sorted(own)[len(own) // 2]
        w, t = np.array(weight, float), np.array([one - middle for one in own], float)
        if (w * t * t).sum() >= 2.0 ** (LOW + 61) or np.abs(w * t).sum() >= 2.0**61 or w.sum() >= MAX_EXACT:
            raise CertificateError("the numbers of the data are too large to be added as whole numbers")
        if len(w) >= 2 ** (62 - LOW):
            raise CertificateError("the rows of the data are too many to be added as whole numbers")
        w, t = w.astype(np.int64), t.astype(np.int64)
        squares = [one * two * two for one, two in zip(w.tolist(), t.tolist())]
        parts = [np.array([square >> LOW for square in squares]), np.array([square % 2**LOW for square in squares])]
        self.moments, self.unit = np.stack([w, w * t, parts[1], parts[0]]), scale * number**2
        self.rounded = np.stack([w, w * t, np.array(squares, float)]).astype(float)
        self.near = NEAR * float(self.rounded[2].sum())

    def low(self, sums) -> Fraction:
        """Return the cost of a leaf whose rows have these whole sums."""
        w, s, low, high = map(int, sums)
        q = low + (high << LOW)
        return q - Fraction(s * s, w) if w else Fraction(0)

    def ends(self, low: Fraction, high: Fraction, bound: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the ends of the cost of a tree and a bound of all trees, from those computed with the counted
        numbers."""
        if not self.rounds:
            return low, high, bound
        weight = Fraction(int(self.moments[0].sum()))

        def least(cost: Fraction) -> Fraction:
            return (
                max(Fraction(0), cost - _root_above(weight * cost) + weight / 4) if 4 * cost > weight else Fraction(0)
            )

        return least(low), high + _root_above(weight * high) + weight / 4, least(bound)

    LAW, TOLD, root_unit = SQUARE, 2, 1.0
    high = low

    def costs(self, w, s, q) -> np.ndarray:
        """Return the same for arrays, as floats."""
        return q - np.divide(s * s, w, out=np.zeros_like(s), where=w > 0)


def whole(values: np.ndarray, scale: int) -> tuple[list[int], bool]:
    """Return decimals times a scale as whole numbers, rounded down, and whether they are whole numbers.

    Parameters
    ----------
    values : float64 (numbers,), of which each is the decimal that prints as this double
    scale : int
    """
    found, exact = [], True
    with localcontext(Context(prec=MOST_DIGITS, rounding=ROUND_FLOOR)):
        for value in values.tolist():
            share = Decimal(repr(value)) * scale
            below = share.to_integral_value()
            exact = exact and below == share
            found.append(int(below))
    return found, exact


def _root_above(square: Fraction) -> Fraction:
    """Return a number that is at least the square root, and at most 2^-32 more."""
    return Fraction(math.isqrt(math.floor(square * 2**64)) + 1, 2**32)


MEASURE = Squares
