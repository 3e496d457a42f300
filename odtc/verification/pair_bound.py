"""The last levels of a certificate over thresholds: no tree of depth 2 costs less than a target on some rows.

The certificate has no entries for these levels: cuts are evaluated until their bounds close all others
(odtc.verification.node_cuts). The cost of the best tree with one split on either side of a cut is counted from the
data: for the cuts of one column, one table of the costs of the rows left of each cut, by the positions of all columns.
"""

from collections.abc import Callable

import numpy as np

from odtc.errors import CertificateError
from odtc.verification.node_cuts import NodeCuts, Rows

CELLS = 2_000_000  # of a table that is stored at once


def best_stump(cuts: NodeCuts, loss: np.ndarray) -> float:
    """Return the least cost of a tree with one split, both of whose sides have enough rows; infinite if
    there is none."""
    left = np.stack([cuts.up_to(column) for column in loss.T], axis=1)
    cost = left.min(axis=1) + (loss.sum(axis=0) - left).min(axis=1) + cuts.rows.price
    return float(cost[cuts.parts].min(initial=np.inf))


def require_pair(rows: Rows, members: np.ndarray, target: float, look: Callable[[], None] = lambda: None) -> None:
    """Raise CertificateError if some tree of depth 2 costs less than the target.

    Parameters
    ----------
    rows : Rows
    members : int64 (members,)
    target : float, above the unavoidable cost
    look : called between tables of sums; raises to end the check
    """
    cuts = NodeCuts(rows, members)
    loss = rows.loss[members]
    least = target - rows.price
    shape = cuts.size
    free, own = np.zeros((2, shape)), np.zeros((2, shape))
    evaluated = np.zeros(shape, bool)
    strict = rows.least > 1
    while True:
        left, right = cuts.carried(*free, 0.0)
        if strict:
            ours = cuts.carried(*own, 0.0, falls=False)
            left, right = np.maximum(left, ours[0]), np.maximum(right, ours[1])
        open_ = cuts.parts & (left + right < least)
        if not open_.any():
            return
        if (open_ & evaluated).any():
            at = int(np.flatnonzero(open_ & evaluated)[0])
            raise CertificateError(
                f"a tree of two splits after each other costs {left[at] + right[at] + rows.price:.0f} there, above the "
                f"cost that no tree can avoid, the target is {target:.0f}"
            )
        places = _middles(open_, cuts.column)
        evaluated[places] = True
        for column in np.unique(cuts.column[places]):
            here = places[cuts.column[places] == column]
            for begin in range(0, len(here), step := max(1, CELLS // shape)):
                look()
                part = here[begin : begin + step]
                free[:, part], own[:, part] = _stumps(cuts, loss, part, strict)


def _middles(open_, column):
    """Return the middle position of each run of open positions of one column."""
    at = np.flatnonzero(open_)
    new = np.ones(len(at), bool)
    new[1:] = (np.diff(at) > 1) | (np.diff(column[at]) > 0)
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(at)) - 1
    return (at[begin] + at[end]) // 2


def _stumps(cuts, loss, places, strict):
    """Return, per position of one column, the least cost of one split or a label on its left and its right, float64
    (2, places); first without, then with enough rows in each leaf."""
    column = int(cuts.column[places[0]])
    line = np.searchsorted(places, cuts.place[:, column])  # the first of the places that has the row on its left
    index = (line[:, None] * cuts.size + cuts.place).reshape(-1)
    lines = len(places)

    def table(values):
        """Return (left of the position and of each cut, left of the position), for one value per row."""
        each = np.repeat(values, cuts.place.shape[1])
        sums = np.bincount(index, each, (lines + 1) * cuts.size).reshape(lines + 1, cuts.size)[:lines]
        np.cumsum(sums, axis=0, out=sums)
        whole = np.cumsum(np.bincount(line, values, lines + 1))[:lines]
        sums[:, cuts.first[1:]] -= whole[:, None]
        return np.cumsum(sums, axis=1, out=sums), whole

    pairs = None
    labels = None
    for k in range(loss.shape[1]):
        both, whole = table(loss[:, k])
        every, total = cuts.up_to(loss[:, k]), float(loss[:, k].sum())
        sides = both, whole[:, None] - both, every - both, (total - whole)[:, None] - (every - both)
        own = whole, total - whole
        pairs = list(sides) if pairs is None else [np.minimum(a, b) for a, b in zip(pairs, sides)]
        labels = list(own) if labels is None else [np.minimum(a, b) for a, b in zip(labels, own)]
    price = cuts.rows.price
    splits = pairs[0] + pairs[1] + price, pairs[2] + pairs[3] + price
    free = np.stack([np.minimum(label, split.min(axis=1)) for label, split in zip(labels, splits)])
    if not strict:
        return free, 0.0
    count, least = cuts.rows.count[cuts.members], cuts.rows.least
    both, whole = table(count)
    every, total = cuts.up_to(count), float(count.sum())
    counted = (both, whole[:, None] - both), (every - both, (total - whole)[:, None] - (every - both))
    bare = [np.where((one >= least) & (two >= least), split, np.inf) for (one, two), split in zip(counted, splits)]
    return free, np.stack([np.minimum(label, split.min(axis=1)) for label, split in zip(labels, bare)])
