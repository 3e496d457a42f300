"""Groups have the same false positive rate: |P(ŷ = c | g, y ≠ c) - P(ŷ = c | h, y ≠ c)| ≤ δ, sums over the rows of
other classes than c.

w_ig is the weight of what row i stands for of group g, W_g the sum of these; each difference of two groups
is compared, in both orders. How a group is written: `group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and the
others, `COLUMN<=NUMBER`; the column may be one that is no feature (--aside).
"""

from odtc.problem.constraints.on_predictions import HINT, KNOWS, NEEDS, early, knows, mend, needs, rows, values
from odtc.problem.constraints.rates import answers, compared, read, value  # noqa: F401

NAME = "predictive_equality"
SUMMARY = "predictive_equality[group=G,positive=CLASS] <= D: groups have the same false positive rate, up to a share D"
OPS = ("<=",)
AMONG = (False,)  # rows of the other classes
