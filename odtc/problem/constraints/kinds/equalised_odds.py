"""Groups have the same recall and the same false positive rate: equal_opportunity and predictive_equality together,
each within δ.

w_ig is the weight of the rows of group g that encoded row i represents, W_g the sum of these. Each difference of two
groups is compared in both orders. Groups are written `group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and all
others, or `COLUMN<=NUMBER`; the column may be an auxiliary one (--auxiliary).
"""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import rate_reference, tried_groups
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, rows, values
from odtc.problem.constraints.rates import answers, compared, proportions, read, value

NAME = "equalised_odds"
SUMMARY = (
    "equalised_odds[group=G,positive=CLASS] <= D: groups have the same recall and the same false positive "
    "rate, each up to a share D"
)
OPS = ("<=",)
SUBJECT = Subject.PREDICTIONS
AMONG = (True, False)  # rows of the positive class, and of the others


def tries(encoded: Encoded) -> list[str]:
    return tried_groups(encoded, NAME)


reference = rate_reference
