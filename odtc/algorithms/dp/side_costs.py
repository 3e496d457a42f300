"""Costs of the best trees of two levels on either side of each split, for the states of a program over few splits.

They follow from the sums over triples of splits (odtc.algorithms.thresholds.binary_triples). Losses are whole
numbers: with two labels the difference of their costs, with more labels the saving of each label compared with the
most expensive one.
"""

import numpy as np

from odtc.algorithms.dp.state_graph import Rows
from odtc.algorithms.thresholds.binary_triples import TABLE, two_levels

DIGITS = 6  # maximum decimal places of losses that are counted as whole numbers
MOST_WHOLE = 2**29  # maximum sum of whole losses; int32 can represent three times as much
ROUNDING = 64 * float(np.finfo(float).eps)  # rounding error of a sum of decimals, relative to the largest loss


class SideCosts:
    """Costs on either side of each split, for subsets of the rows.

    Parameters
    ----------
    rows : Rows
        Leaves may have any number of rows.
    price : float
        Penalty of a branch node, in units of loss.

    Attributes
    ----------
    fits : bool
        Whether the costs can be computed: there are not too many splits, and the losses have few decimal places.
    """

    def __init__(self, rows: Rows, price: float):
        self.n_splits, labels = rows.X.shape[1], rows.loss.shape[1]
        self.stride = 1 if labels == 2 else labels
        self.scale = decimal_scale(rows.loss)
        loss, toll = rows.loss * self.scale, (1 + (self.stride == 1)) * price * self.scale
        whole = np.rint(loss)
        small = labels > 1 and 4 * self.stride * self.n_splits**3 <= TABLE and whole.sum() + toll < MOST_WHOLE
        self.fits = small and toll == int(toll) and (self.scale > 1 or np.array_equal(whole, loss))
        if not self.fits:
            return
        self.flip, self.X, self.toll = rows.signed.flip, rows.signed.X, int(toll)
        self.worst = whole.sum(axis=1) if self.stride == 1 else whole.max(axis=1)
        gain = whole[:, :1] - whole[:, 1:] if self.stride == 1 else self.worst[:, None] - whole
        entry, column = np.nonzero(np.repeat(self.X, self.stride, axis=0))
        first = np.searchsorted(entry, np.arange(gain.size + 1))
        label = np.tile(np.arange(self.stride, dtype=np.int32), len(gain))
        self._entries = first, column.astype(np.int32), label, gain.ravel().astype(np.int32)

    def of(self, members: np.ndarray) -> np.ndarray:
        """Return float64 (2, splits): the costs for some rows, int (members,); first for the side where a
        split is 0."""
        entries = (members[:, None] * self.stride + np.arange(self.stride)).ravel().astype(np.int32)
        saved = two_levels(entries, *self._entries, self.stride, self.toll, self.n_splits)
        worst = self.worst[members]
        held = worst @ self.X[members]
        costs = (np.stack([worst.sum() - held, held]) - saved) / (self.scale * (2 if self.stride == 1 else 1))
        return np.where(self.flip, costs[::-1], costs)


def decimal_scale(loss: np.ndarray) -> int:
    """Return the least power of ten that makes all losses whole except for rounding, if integers can represent their
    sums; else 1."""
    for digits in range(DIGITS + 1):
        scaled = loss * 10**digits
        if np.abs(scaled).sum() >= MOST_WHOLE:
            break
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) <= ROUNDING * np.abs(scaled).max(initial=0.0):
            return 10**digits
    return 1
