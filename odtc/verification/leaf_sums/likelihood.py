"""Costs of the leaves of a survival tree, between two ends: D - D log(D/H), with D events and the hazard H.

Weights times `weight_scale` are whole, and costs are in these units. The Nelson-Aalen hazard of a row is a sum of
fractions events / at risk: each is rounded down, and up, to a multiple of 2^-HAZARD_BITS. w Λ is stored as a whole
number of units of 2^-bits that is at most w Λ, and greater than w Λ minus ROUNDED units. A logarithm is computed by
the decimal arithmetic of Python, which rounds correctly at DIGITS digits, with a tolerance of a unit of an earlier
digit in both directions.

Because D - D log(D/H) rises with H, the lesser end of H gives the lesser end of the cost.
"""

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from odtc.base.json_schema import TEXT
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.squares import whole
from odtc.verification.leaf_sums.two_levels import LIKELIHOOD

TASK = "survival"
SHAPE = {"claim": [TEXT]}
ROUNDS = True
SINGLE = True  # a single row with an event has a cost
HAZARD_BITS, ROUNDED, BITS = 128, 2, 60  # bits of a hazard, units of rounding, bits of a sum (see above)
DIGITS, SLACK = 40, Fraction(1, 10**36)
NEAR = 1e-10  # upper bound on the error of floats, relative to the weight of the events


class Likelihood:
    """The costs of leaves of some data, by `moments`, int64 (3, rows): w Λ in units of 2^-bits, w δ, and 1; `rounded`
    contains them in floats."""

    LAW, TOLD = LIKELIHOOD, 1

    def __init__(self, facts: dict, dataset: Dataset):
        scale = facts["weight_scale"]
        if not 0 < scale < 2**40:
            raise ValueError("its scale is not a whole number above 0")
        weight, is_whole = whole(dataset.weight, scale)
        if not is_whole or min(weight) <= 0:
            raise CertificateError("the weights of the data are not whole numbers at the scale of the certificate")
        w = np.array(weight, float)
        time, event = dataset.sums[:, 4], dataset.sums[:, 3] > 0
        if (dataset.sums[:, 0] != 1).any() or w.sum() >= 2.0**40:
            raise CertificateError("the rows of the data cannot be added up as whole numbers")
        w = w.astype(np.int64)
        self.bits, self.unit = BITS - int(w.sum()).bit_length(), scale
        hazard = _hazards(time, event, w)
        below = [int(weight) * low >> (HAZARD_BITS - self.bits) for weight, (low, _) in zip(w.tolist(), hazard)]
        above = [-(-int(weight) * high >> (HAZARD_BITS - self.bits)) for weight, (_, high) in zip(w.tolist(), hazard)]
        if max(b - a for a, b in zip(below, above)) > ROUNDED:
            raise CertificateError("the hazards of the data cannot be rounded as narrowly as a certificate needs")
        self.moments = np.stack([np.array(below, np.int64), w * event, np.ones(len(w), np.int64)])
        self.rounded = self.moments.astype(float)
        self.near, self.root_unit = NEAR * float(self.moments[1].sum()), 2.0**self.bits

    def low(self, sums) -> Fraction:
        """Return a lower bound on the cost of a leaf whose rows have these whole sums."""
        hazard, events, _ = map(int, sums)
        return self._cost(events, hazard) - events * SLACK

    def high(self, sums) -> Fraction:
        """Return an upper bound on the cost of a leaf whose rows have these whole sums."""
        hazard, events, rows = map(int, sums)
        return self._cost(events, hazard + ROUNDED * rows) + events * SLACK

    def ends(self, low: Fraction, high: Fraction, bound: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the ends of the cost of a tree and a bound of all trees unchanged."""
        return low, high, bound

    def _cost(self, events: int, hazard: int) -> Fraction:
        if not events:
            return Fraction(0)
        if not hazard:
            raise CertificateError("the hazard of a leaf with an event is too small to differ from 0")
        return events * (1 - _log(events << self.bits, hazard))

    def costs(self, h, d, n) -> np.ndarray:
        """Return the same for arrays, as floats."""
        held = (d > 0) & (h > 0)
        share = np.divide(d * 2.0**self.bits, h, out=np.ones_like(d), where=held)
        return np.where(held, d * (1 - np.log(share)), 0.0)


def _hazards(time: np.ndarray, event: np.ndarray, w: np.ndarray) -> list[tuple[int, int]]:
    """Return for each row the two ends of its Nelson-Aalen hazard, in units of 2^-HAZARD_BITS."""
    order = np.argsort(time, kind="stable").tolist()
    found, at_risk, low, high, start = [(0, 0)] * len(order), int(w.sum()), 0, 0, 0
    while start < len(order):
        end = start
        while end < len(order) and time[order[end]] == time[order[start]]:
            end += 1
        tied = order[start:end]
        died = sum(int(w[i]) for i in tied if event[i])
        low += (died << HAZARD_BITS) // at_risk
        high -= -(died << HAZARD_BITS) // at_risk
        for i in tied:
            found[i] = low, high
        at_risk -= sum(int(w[i]) for i in tied)
        start = end
    return found


@lru_cache(maxsize=1 << 16)
def _log(above: int, below: int) -> Fraction:
    """Return log(above / below) within SLACK."""
    context = Context(prec=DIGITS)
    return Fraction(context.ln(context.divide(Decimal(above), Decimal(below))))


MEASURE = Likelihood
