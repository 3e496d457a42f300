"""The last levels of a certificate over thresholds: no tree of depth 2 costs less than a target on some rows.

The certificate has no entries for these levels: cuts are evaluated until their bounds close all others
(odtc.verification.node_cuts). The cost of the best tree with one split on either side of a cut is counted from the
data by the loops of certificates under constraints, because a least number of rows in a leaf is a constraint.
"""

from collections.abc import Callable

import numpy as np

from odtc.base.deadline import KERNEL_STEPS
from odtc.errors import CertificateError
from odtc.verification.node_cuts import NodeCuts, Rows


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
    while True:
        ours = cuts.carried(*own, 0.0, falls=False)
        left, right = map(np.maximum, cuts.carried(*free, 0.0), ours)
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
        for begin in range(0, len(places), step := max(1, KERNEL_STEPS // shape)):
            look()
            part = places[begin : begin + step]
            free[:, part] = _sides(cuts, loss, part, 0)
            own[:, part] = _sides(cuts, loss, part, rows.least)


def _middles(open_, column):
    """Return the middle position of each run of open positions of one column."""
    at = np.flatnonzero(open_)
    new = np.ones(len(at), bool)
    new[1:] = (np.diff(at) > 1) | (np.diff(column[at]) > 0)
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(at)) - 1
    return (at[begin] + at[end]) // 2


def _sides(cuts: NodeCuts, loss: np.ndarray, places: np.ndarray, least: int) -> np.ndarray:
    """Return the least cost of at most one split on the left and on the right of some positions, float64 (2, places),
    whose leaves have at least this many rows."""
    from odtc.verification.constrained.sweep_kernel import two_levels  # most fits have no least number of rows

    rows, n, n_columns = cuts.rows, len(loss), cuts.place.shape[1]
    value = np.concatenate([loss[:, 1:] - loss[:, :1], rows.count[cuts.members, None]], axis=1)
    at = (rows.begin[cuts.column] + cuts.rank)[places]
    found, labels, columns = np.full((2, rows.n_places), -np.inf), loss.shape[1], np.arange(n_columns)
    found[:, at] = np.inf
    first, all_ = np.isin(columns, cuts.column[places]), np.ones((n_columns, n_columns), bool)
    two_levels(
        rows.columns.rank[cuts.members],
        np.arange(n),
        value,
        np.zeros(labels),
        np.full((1, labels), float(least)),
        rows.price,
        columns,
        first,
        all_,
        all_[:1],
        columns[None],
        np.empty(1),
        found,
        rows.begin,
    )
    left = cuts.up_to(loss[:, 0])[places]  # costs of the first label; the others are relative to it
    return found[:, at] + np.stack([left, loss[:, 0].sum() - left])
