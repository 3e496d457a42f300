"""Exact comparison of the costs D - D log(D/H) of survival trees, of events D and hazards H that are rationals.

A cost is a sum of terms D log(H/D). Two costs are compared as decimals with more and more digits. They are equal if the
same terms are left, or if the products of (H/D)^D, which are rationals, are equal.
"""

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, reduce, total_ordering
from math import ceil, gcd, lcm, log2

import numpy as np

from odtc.algorithms.moments.exact_costs import Undecided, array_of, rows_by_part
from odtc.base.whole_numbers import whole_numbers

DIGITS = 50, 200  # decimal digits with which two costs are compared, first the smaller number
GUARD = 10  # extra digits for the rounding of a logarithm, or of a sum of logarithms
BITS_OF_DIGIT = 4  # more than log2(10)
MOST_BITS = 100_000  # maximum bits of hazards and of their products
WHOLE_BITS = 52  # maximum bits of sums of hazards in doubles


@total_ordering
class LogSum:
    """A rational plus a sum of D log(H/D), with one term for each quotient H/D.

    Parameters
    ----------
    rational : Fraction
    terms : Counter
        The sum of D for each quotient H/D, which is two whole numbers in lowest terms.
    """

    __slots__ = ("rational", "terms")

    def __init__(self, rational: Fraction, terms: Counter):
        self.rational, self.terms = rational, terms

    def __add__(self, other: "LogSum | Fraction | int") -> "LogSum":
        if not isinstance(other, LogSum):
            return LogSum(self.rational + other, self.terms)
        return LogSum(self.rational + other.rational, self.terms + other.terms)

    __radd__ = __add__

    def _sign(self, other: "LogSum") -> int:
        """Return the sign of this number minus another one. Raises Undecided."""
        terms = self.terms.copy()
        terms.subtract(other.terms)
        left = {term: count for term, count in terms.items() if count}
        rational = self.rational - other.rational
        if not left:
            return (rational > 0) - (rational < 0)
        for digits in DIGITS:
            context = Context(prec=digits + GUARD)
            parts = [context.multiply(Decimal(count), _log(*term, digits)) for term, count in left.items()]
            parts.append(context.divide(Decimal(rational.numerator), Decimal(rational.denominator)))
            apart, size = reduce(context.add, parts), sum(map(abs, [*parts, *left.values()]))
            if abs(apart) > size * len(parts) * Decimal(10) ** -digits:
                return 1 if apart > 0 else -1
        if rational == 0 and _has_equal_product(left):
            return 0
        raise Undecided

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogSum) and self._sign(other) == 0

    def __lt__(self, other: "LogSum") -> bool:
        return self._sign(other) < 0

    __hash__ = None  # type: ignore[assignment]


@lru_cache(maxsize=1 << 14)
def _log(above: int, below: int, digits: int) -> Decimal:
    """Return the logarithm of a quotient of at most MOST_BITS: the error is less than 10^-digits, also relative to the
    logarithm."""
    context = Context(prec=digits + GUARD)
    # The quotient is 2^shift times a whole number of enough bits: decimals of all digits of large numbers take long.
    shift = above.bit_length() - below.bit_length() - BITS_OF_DIGIT * (digits + GUARD)
    near = above // (below << shift) if shift > 0 else (above << -shift) // below
    return context.add(context.ln(Decimal(near)), context.multiply(Decimal(shift), context.ln(Decimal(2))))


def _has_equal_product(terms: dict) -> bool:
    """Return whether the product of quotients to the power of their counts is 1; False if the numbers are too long to
    decide."""
    common = gcd(*terms.values())
    powers = {Fraction(*term): count // common for term, count in terms.items()}
    bits = (abs(n) * (one.numerator.bit_length() + one.denominator.bit_length()) for one, n in powers.items())
    if sum(bits) > MOST_BITS:
        return False
    product = Fraction(1)
    for one, n in powers.items():
        product *= one**n
    return product == 1


class ExactLikelihood:
    """Exact costs D - D log(D/H) of leaves, from whole numbers.

    Hazards are whole numbers of a common unit. Raises Undecided if that takes too many bits, for example with
    thousands of rows.

    Parameters
    ----------
    time, event, weight : float64 (data rows,); event is bool
    row_of : int64 (data rows,), the row of the search that each row of the data belongs to

    Attributes
    ----------
    unit : Fraction, of a cost and a weight
    """

    def __init__(self, time: np.ndarray, event: np.ndarray, weight: np.ndarray, row_of: np.ndarray):
        whole, self.unit = whole_numbers(weight)
        own = whole.tolist()
        hazard, self.scale = _hazards(time, event, own)
        n = int(row_of.max()) + 1
        events, hazards = [0] * n, [0] * n
        for row, mass, died, one in zip(row_of.tolist(), own, event.tolist(), hazard):
            events[row] += mass if died else 0
            hazards[row] += mass * one
        self.events = array_of(events)
        self.hazards = np.empty(n, object)
        self.hazards[:] = hazards

    @cached_property
    def moments(self) -> np.ndarray:
        """float64 (3, rows): hazards, rounded down so that all their sums are exact in doubles, and events twice."""
        total = int(self.hazards.sum())
        bits = WHOLE_BITS - ceil(log2(max(1.0, float(Fraction(total, self.scale)))))
        above, below = 2 ** max(0, bits), self.scale * 2 ** max(0, -bits)
        hazard = np.array([float(one * above // below) for one in self.hazards.tolist()]) * 2.0**-bits
        events = np.array([float(one) for one in self.events.tolist()])
        return np.stack([hazard, events, events])

    @property
    def fits(self) -> bool:
        """True if no hazard of a row with an event is rounded to 0."""
        hazard, events, _ = self.moments
        return bool((hazard[events > 0] > 0).all())

    @property
    def off(self) -> float:
        """A bound on the error of the cost of a tree by these moments: the amount that rounding hazards to their unit
        can add to leaves with the least hazard of a row with an event, plus rounding errors of doubles."""
        hazard, events, _ = self.moments
        unit = 2.0 ** (ceil(log2(max(1.0, float(hazard.sum())))) - WHOLE_BITS)
        least = float(hazard[events > 0].min())
        if least <= unit:
            return np.inf
        rounds = 2.0**-50 * float(events.sum()) * (abs(np.log(least)) + np.log(float(events.sum()) + 1) + 2)
        return len(hazard) * unit * float(events.max()) / least + rounds * len(hazard)

    def leaf(self, rows: np.ndarray) -> LogSum:
        """Return the cost of a leaf, of hazards in units of 1 / `scale`, which moves all costs of trees by the same."""
        events, hazard = int(self.events[rows].sum()), int(self.hazards[rows].sum())
        if not events:
            return LogSum(Fraction(0), Counter())
        common = gcd(events, hazard)
        return LogSum(Fraction(events), Counter({(hazard // common, events // common): events}))

    def parts(self, part: np.ndarray, n_parts: int) -> list[Fraction]:
        """Return the costs of leaves that contain the rows of one part each, to DIGITS."""
        found, digits = [Fraction(0)] * n_parts, DIGITS[0]
        context, of_scale = Context(prec=2 * (digits + GUARD)), _log(self.scale, 1, digits)
        for at, rows in rows_by_part(part):
            events, hazard = int(self.events[rows].sum()), int(self.hazards[rows].sum())
            if events:
                log = context.subtract(_log(hazard, events, digits), of_scale)
                found[at] = Fraction(context.multiply(events, context.add(1, log))) * self.unit
        return found

    def least(self, rows: np.ndarray) -> LogSum:
        """Return the cost of the tree with a leaf for each row."""
        held = rows[self.events[rows] > 0]
        return sum((self.leaf(np.array([row])) for row in held.tolist()), LogSum(Fraction(0), Counter()))


def _hazards(time: np.ndarray, event: np.ndarray, weight: list[int]) -> tuple[list[int], int]:
    """Return the Nelson-Aalen hazard of each row as a whole number of a common unit, and the units of 1. The unit moves
    the costs of all trees by the same."""
    order = np.argsort(time, kind="stable").tolist()
    steps, at_risk, below, start = [], sum(weight), 1, 0  # by time: its rows, events and weight at risk
    while start < len(order):
        end = start
        while end < len(order) and time[order[end]] == time[order[start]]:
            end += 1
        tied = order[start:end]
        died = sum(weight[i] for i in tied if event[i])
        common = gcd(died, at_risk)
        steps.append((tied, died // common, at_risk // common))
        below = lcm(below, at_risk // common)
        if below.bit_length() > MOST_BITS:
            raise Undecided
        at_risk -= sum(weight[i] for i in tied)
        start = end
    found, hazard = [0] * len(order), 0
    for tied, died, risk in steps:
        hazard += died * (below // risk)
        for i in tied:
            found[i] = hazard
    return found, below
