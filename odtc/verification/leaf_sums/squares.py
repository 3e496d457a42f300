"""What leaves of a regression cost, in exact rationals: Σ w y² - (Σ w y)² / Σ w, of whole numbers and weights.

Numbers times `number_scale` and weights times `weight_scale` are whole; costs are in these units.
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
SINGLE = False  # whether a row that no other is like costs something alone


class Squares:
    """The costs of leaves of some data, by `moments`, int64 (3, rows): w, w y and w y²."""

    def __init__(self, facts: dict, dataset: Dataset):
        scale, number = facts["weight_scale"], facts["number_scale"]
        if not (0 < number < 2**40 and 0 < scale < 2**40):
            raise ValueError("its scales are no whole numbers above 0")
        weight, y = dataset.weight * scale, dataset.sums[:, 2] / dataset.sums[:, 1] * number
        w, t = np.rint(weight), np.rint(y)
        if max(np.abs(weight - w).max(), np.abs(y - t).max()) > 1e-4 or (w <= 0).any():
            raise CertificateError("the numbers of the data are no whole numbers at the scales of the certificate")
        if (w * t * t).sum() >= 2.0**62 or np.abs(w * t).sum() >= 2.0**53:
            raise CertificateError("the numbers of the data are too large to be added as whole numbers")
        w, t = w.astype(np.int64), t.astype(np.int64)
        self.moments, self.unit = np.stack([w, w * t, w * t * t]), scale * number**2
        self.near = NEAR * float(self.moments[2].sum())

    def low(self, sums) -> Fraction:
        """What a leaf costs whose rows have these whole sums."""
        w, s, q = map(int, sums)
        return q - Fraction(s * s, w) if w else Fraction(0)

    LAW, root_unit = SQUARE, 1.0
    high = low

    def costs(self, w, s, q) -> np.ndarray:
        """The same of arrays, as floats."""
        return q - np.divide(s * s, w, out=np.zeros_like(s), where=w > 0)


MEASURE = Squares
