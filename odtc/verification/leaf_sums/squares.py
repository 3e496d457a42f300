"""What leaves of a regression cost, in exact rationals: Σ w y² - (Σ w y)² / Σ w, of whole numbers and weights.

Numbers times `number_scale` and weights times `weight_scale` are whole; costs are in these units. What a leaf costs
does not change if all numbers move by the same, so that they are counted from one in their middle, t = y - m. The whole
number Σ w t² is held in two parts, Σ w t² = low + 2^LOW high.
"""

from fractions import Fraction

import numpy as np

from odtc.base.json_schema import TEXT, WHOLE
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.two_levels import SQUARE

SCHEMA, TASK = "odtc.certificate/regression", "regression"
SHAPE = {"number_scale": WHOLE, "weight_scale": WHOLE, "claim": TEXT}
ROUNDS = False  # whether a cost is known between two ends
NEAR = 1e-12  # of the squares of all rows: what floats are off by, and more; what is nearer is compared in rationals
EXACT = 2.0**53  # floats below hold whole numbers exactly
SINGLE = False  # whether a row that no other is like costs something alone


LOW = 36  # bits of the lower part of a square; of at most 2^26 rows they can be added up


class Squares:
    """The costs of leaves of some data, by `moments`, int64 (4, rows): w, w t and the two parts of w t²; `rounded`
    holds w, w t and w t² in floats, `told_parts` the last two."""

    def __init__(self, facts: dict, dataset: Dataset):
        scale, number = facts["weight_scale"], facts["number_scale"]
        if not (0 < number < 2**40 and 0 < scale < 2**40):
            raise ValueError("its scales are no whole numbers above 0")
        weight, y = dataset.weight * scale, dataset.sums[:, 2] / dataset.sums[:, 1] * number
        w, t = np.rint(weight), np.rint(y)
        if max(np.abs(weight - w).max(), np.abs(y - t).max()) > 1e-4 or (w <= 0).any():
            raise CertificateError("the numbers of the data are no whole numbers at the scales of the certificate")
        if np.abs(t).max() >= EXACT:
            raise CertificateError("the numbers of the data have too many digits to be whole numbers at these scales")
        t -= np.sort(t)[len(t) // 2]
        if (w * t * t).sum() >= 2.0 ** (LOW + 61) or np.abs(w * t).sum() >= 2.0**61 or w.sum() >= EXACT:
            raise CertificateError("the numbers of the data are too large to be added as whole numbers")
        if len(w) >= 2 ** (62 - LOW):
            raise CertificateError("the rows of the data are too many to be added as whole numbers")
        w, t = w.astype(np.int64), t.astype(np.int64)
        squares = [one * two * two for one, two in zip(w.tolist(), t.tolist())]
        parts = [np.array([square >> LOW for square in squares]), np.array([square % 2**LOW for square in squares])]
        self.moments, self.unit = np.stack([w, w * t, parts[1], parts[0]]), scale * number**2
        self.rounded = np.stack([w, w * t, np.array(squares, float)]).astype(float)
        self.told_parts = self.moments[2:]
        self.near = NEAR * float(self.rounded[2].sum())

    def low(self, sums) -> Fraction:
        """What a leaf costs whose rows have these whole sums."""
        w, s, low, high = map(int, sums)
        q = low + (high << LOW)
        return q - Fraction(s * s, w) if w else Fraction(0)

    LAW, TOLD, root_unit = SQUARE, 2, 1.0
    high = low

    def costs(self, w, s, q) -> np.ndarray:
        """The same of arrays, as floats."""
        return q - np.divide(s * s, w, out=np.zeros_like(s), where=w > 0)


MEASURE = Squares
