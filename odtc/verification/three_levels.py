"""The best tree of three levels over few cuts, counted from the data: a state of a certificate that names no others.

Compiled loops count sums over all sets of three cuts (odtc.verification.leaf_sums.every_tree); of two levels, numpy
counts those over pairs of cuts by products of matrices. All sums are of whole numbers, so that they are exact in any
order.
"""

import math

import numpy as np

from odtc.base.threads import for_product
from odtc.errors import CertificateError
from odtc.verification.node_cuts import NodeCuts, Rows

LABELS = 3  # that compiled loops take at most
SETS = 5_000_000  # of three cuts
BLOCK = 1 << 22  # answers of rows that are numbers at once, because all would take as much memory as everything else
MOST = 3e8  # sums of sets of three cuts, for a certificate to leave one state to the check


def is_quick(n_labels: int, n_cuts: int, true: float) -> bool:
    """Return whether counting a state of three levels is faster than checking its sides one by one.

    Parameters
    ----------
    n_labels, n_cuts : int
    true : float, sets of three cuts for which a row has the rarer result three times, summed over the rows
    """
    return n_labels <= LABELS and math.comb(n_cuts, 3) <= SETS and true <= MOST


def least_cost(rows: Rows, members: np.ndarray) -> float:
    """Return the cost of the best tree of three levels whose root is a split, with any number of rows in a leaf;
    infinite if no cut separates the rows.

    Parameters
    ----------
    rows : Rows
    members : int64 (members,)

    Raises
    ------
    CertificateError
        If there are more cuts than a writer leaves to the check.
    """
    from odtc.verification.leaf_sums import every_tree  # most checks never need it

    cuts, loss = NodeCuts(rows, members), rows.loss[members]
    parts = np.flatnonzero(cuts.parts)
    if (n_sets := math.comb(len(parts), 3)) > SETS:  # no writer leaves so many, and their tables have no end
        raise CertificateError(
            f"it leaves {n_sets:,} sets of three of {len(parts):,} cuts to the check, which counts at most {SETS:,}"
        )
    answers = cuts.place[:, cuts.column[parts]] <= parts
    sides = None
    if loss.shape[1] <= LABELS:
        sides = every_tree.least_sides(np.ascontiguousarray(answers.T), loss, rows.price)
    if sides is None:  # of more labels, or of fewer than three cuts
        sides = _least_sides(answers, loss, rows.price)
    return float((sides.reshape(-1, 2).sum(axis=1) + rows.price).min(initial=np.inf))


def least_of_two(answers: np.ndarray, loss: np.ndarray, price: float) -> float:
    """Return the cost of the best tree of two levels whose root is a split, with any number of rows in a leaf;
    infinite if no split separates the rows.

    Parameters
    ----------
    answers : bool (rows, splits)
    loss : float64 (rows, labels), whole numbers
    price : float, of a branch node
    """
    held = np.count_nonzero(answers, axis=0)
    answers = answers[:, (held > 0) & (held < len(answers))]
    if not answers.shape[1]:
        return math.inf
    if loss.shape[1] != 2:
        return float(_of_roots(_pairs(answers, loss), loss.sum(axis=0), price).min())
    (pairs,) = _pairs(answers, (loss[:, 0] - loss[:, 1])[:, None])
    first, second = loss.sum(axis=0).tolist()
    return float(_of_two(pairs, loss.sum(axis=1) @ answers, first + second, first - second, price).min())


def _of_two(pairs: np.ndarray, both: np.ndarray, all_: float, gap: float, price: float) -> np.ndarray:
    """Return float64 (splits,): the least cost of a tree of two levels and two labels with each split at its root.

    Parameters
    ----------
    pairs : (splits, splits), the cost of the first label minus that of the second on the rows for which two splits are
        true
    both : float64 (splits,), the cost of both labels on the rows for which a split is true
    all_, gap : float, both on all rows
    price : float, of a branch node
    """
    one = np.diagonal(pairs).astype(float)
    true = _halves(both, one, pairs, price)
    false = _halves(all_ - both, gap - one, one.astype(pairs.dtype) - pairs, price)
    return true + false + price


def _halves(total: np.ndarray, gap: np.ndarray, pairs: np.ndarray, price: float) -> np.ndarray:
    """Return float64 (splits,): the least cost of one side of each split, with at most one more split.

    Parameters
    ----------
    total : float64 (splits,), the cost of both labels on this side
    gap : float64 (splits,), the cost of the first label minus that of the second
    pairs : (splits, splits), the same on the part of this side for which another split is true
    """
    # min(a, b) = (a + b - |a - b|) / 2, and |t| + |g - t| is the greater of |g| and |2t - g|, which is greatest at the
    # ends of t.
    most, least = pairs.max(axis=1).astype(float), pairs.min(axis=1).astype(float)
    parted = np.maximum(2 * most - gap, gap - 2 * least)
    return (total - np.maximum(np.abs(gap), parted - 2 * price)) / 2


def _least_sides(answers: np.ndarray, loss: np.ndarray, price: float) -> np.ndarray:
    """Return float64 (splits, 2): the cost of the best tree of two levels on either side of each split (true and
    false); `answers` is bool (rows, splits)."""
    sides = [[(answers[part], loss[part]) for part in (own, ~own)] for own in answers.T]
    return np.array(
        [[min(costs.sum(axis=0).min(), least_of_two(own, costs, price)) for own, costs in both] for both in sides]
    )


def _pairs(answers: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return (labels, splits, splits): the cost of a label on the rows for which two splits are true, in float32 if
    that counts all of these whole numbers exactly, because it multiplies twice as fast."""
    real = np.float32 if float(np.abs(loss).sum()) < 2**24 else np.float64
    found = np.zeros((loss.shape[1], answers.shape[1], answers.shape[1]), real)
    step = max(1, BLOCK // max(1, answers.shape[1]))
    for begin in range(0, len(answers), step):
        X = answers[begin : begin + step].astype(real)
        for table, costs in zip(found, loss[begin : begin + step].T.astype(real)):
            with for_product(X.size * X.shape[1]):
                table += (X * costs[:, None]).T @ X
    return found


def _of_roots(pairs, total, price) -> np.ndarray:
    """Return float64 (splits,): the least cost of a tree of two levels with each split at its root, from the sums over
    pairs of splits and over all rows, by labels."""
    total = total.astype(pairs.dtype)
    one = np.diagonal(pairs, axis1=1, axis2=2)
    true = pairs.min(axis=0), (one[:, :, None] - pairs).min(axis=0)
    false = (
        (one[:, None] - pairs).min(axis=0),
        (total[:, None, None] - one[:, :, None] - one[:, None] + pairs).min(axis=0),
    )
    cost = np.full(len(one[0]), float(price))
    for (left, right), leaf in ((true, one), (false, total[:, None] - one)):
        split = (left + right).min(axis=1, initial=np.inf).astype(float) + price
        cost += np.minimum(leaf.min(axis=0), split)
    return cost
