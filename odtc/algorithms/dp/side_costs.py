"""Costs of the best trees of two levels on either side of each split, for the states of a program over few splits.

The sums over triples of splits determine them all (odtc.algorithms.thresholds.binary_triples). Losses are counted in
whole numbers: for two labels as the difference of their costs, for more as the savings of each compared with the most
expensive one.
"""

import numpy as np

from odtc.algorithms.dp.state_graph import Rows
from odtc.algorithms.thresholds.binary_triples import two_levels

TABLE = 2**27  # bytes of the sums over triples of splits at most
DIGITS = 6  # decimals of losses that are counted as whole numbers
MOST_WHOLE = 2**29  # sums of whole losses that int32 holds, and thrice as much
ROUNDING = 64 * float(np.finfo(float).eps)  # of the largest loss, that a sum of decimals is off by


class SideCosts:
    """Costs on either side of each split, of some of the rows at a time.

    Parameters
    ----------
    rows : Rows
        Leaves may have any number of rows.
    price : float
        Penalty of a branch node, in units of loss.

    Attributes
    ----------
    fits : bool
        Whether they can be counted: the splits are not many, and the losses have few digits.
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
        """Return float64 (2, splits): the costs for some rows, int (members,), first where a split is 0."""
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
