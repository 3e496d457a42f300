"""Groups have the same false positive rate: |P(ŷ = c | g, y ≠ c) - P(ŷ = c | h, y ≠ c)| ≤ δ, sums over the rows of
other classes than c.

w_ig is the weight of the rows of group g that encoded row i represents, W_g the sum of these. Each difference of two
groups is compared in both orders. Groups are written `group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and all
others, or `COLUMN<=NUMBER`; the column may be an auxiliary one (--auxiliary).
"""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_groups
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, rows, values
from odtc.problem.constraints.rates import answers, compared, proportions, read, value

NAME = "predictive_equality"
SUMMARY = "predictive_equality[group=G,positive=CLASS] <= D: groups have the same false positive rate, up to a share D"
OPS = ("<=",)
SUBJECT = Subject.PREDICTIONS
AMONG = (False,)  # rows of the other classes


def tries(encoded: Encoded) -> list[str]:
    return tried_groups(encoded, NAME)


reference = rate_reference
