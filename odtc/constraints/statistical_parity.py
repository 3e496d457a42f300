"""Groups are predicted positive alike: |P(ŷ = c | g) - P(ŷ = c | h)| ≤ δ, with P(ŷ = c | g) = Σ_i w_ig [row i is predicted c] / W_g.

w_ig is the weight of what row i stands for of group g, W_g the sum of these; each difference of two groups
is compared, in both orders. How a group is written: `group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and the
others, `COLUMN<=NUMBER`; the column may be one that is no feature (--aside).
"""

import numpy as np

from odtc.answered import HINT, KNOWS, NEEDS, early, knows, mend, needs, rows, values  # noqa: F401
from odtc.constraint import Constraint
from odtc.heap import HeapTree
from odtc.rate import apart, compared, gap, reads  # noqa: F401

NAME = "statistical_parity"
SUMMARY = "statistical_parity[group=G,positive=CLASS] <= D: groups are predicted positive alike, up to a share D"
OPS = ("<=",)
AMONG = (None,)  # all rows


def read(encoded, given: Constraint) -> Constraint:
    return reads(encoded, given, *AMONG)


def value(encoded, given: Constraint, heap: HeapTree) -> float:
    return gap(encoded, given, heap, *AMONG)


def answers(encoded, given: Constraint) -> list[tuple[np.ndarray, float]]:
    return apart(encoded, given, *AMONG)
