"""Costs of the best trees of two levels on either side of each split, for a program over few splits, by a
kernel.

The sums over triples of splits determine them all (odtc.algorithms.thresholds.binary_triples). Losses are counted in
whole numbers: for two labels as the difference of their costs, for more as the savings of each compared with the most
expensive one.
"""

import numpy as np

from odtc.algorithms.dp.itemset_sums import MOST_WHOLE, decimal_scale
from odtc.algorithms.dp.state_graph import Rows
from odtc.algorithms.thresholds.binary_triples import two_levels

FEW = 40  # splits, below which counting them in numpy takes a moment
TABLE = 2**27  # bytes of the sums over triples of splits at most


def side_costs(rows: Rows, price: float) -> np.ndarray | None:
    """Return the cost of the best tree of two levels or less on either side of each split.

    Parameters
    ----------
    rows : Rows
        Leaves may have any number of rows.
    price : float
        Penalty of a branch node, in units of loss.

    Returns
    -------
    float64 (2, splits), first of the rows for which a split of `rows.signed` is 0; None if numpy is to count them,
    because the splits are few or very many, or losses have too many digits.
    """
    X, (n, labels) = rows.signed.X, rows.loss.shape
    splits, stride = X.shape[1], 1 if labels == 2 else labels
    if labels < 2 or splits < FEW or 4 * stride * splits**3 > TABLE:
        return None
    scale = decimal_scale(rows.loss)
    loss, toll = rows.loss * scale, (1 + (stride == 1)) * price * scale
    whole = np.rint(loss)
    if (scale == 1 and not np.array_equal(whole, loss)) or toll != int(toll) or whole.sum() + toll >= MOST_WHOLE:
        return None
    if stride == 1:
        worst, label, gain = whole.sum(axis=1), np.zeros(n, np.int32), whole[:, 0] - whole[:, 1]
    else:
        worst = whole.max(axis=1)
        label, gain = np.tile(np.arange(stride, dtype=np.int32), n), (worst[:, None] - whole).ravel()
        X = np.repeat(X, stride, axis=0)
    entry, column = np.nonzero(X)
    first = np.searchsorted(entry, np.arange(len(X) + 1))
    saved = two_levels(first, column.astype(np.int32), label, gain.astype(np.int32), stride, int(toll), splits)
    held = worst @ rows.signed.X
    most = np.stack([worst.sum() - held, held])
    return (most - saved) / (scale * (2 if stride == 1 else 1))
