"""The best tree of three levels over few cuts, counted from the data: a state of a certificate that names no others.

Compiled loops count sums over all sets of three cuts (odtc.verification.leaf_sums.every_tree); numpy counts those over
pairs of cuts on either side of each.
"""

import math

import numpy as np

from odtc.errors import CertificateError
from odtc.verification.lower_bound import Blocks
from odtc.verification.node_cuts import NodeCuts, Rows

LABELS = 3  # that compiled loops take at most
SETS = 5_000_000  # of three cuts
MOST = 3e8  # sums of sets of three cuts, for a certificate to leave one state to the check


def is_quick(n_labels: int, n_cuts: int, true: float) -> bool:
    """Return whether counting a state of three levels is faster than checking its sides one by one.

    Parameters
    ----------
    n_labels, n_cuts : int
    true : float, sets of three cuts for which a row has the rarer result three times, summed over the rows
    """
    return n_labels <= LABELS and math.comb(n_cuts, 3) <= SETS and true <= MOST


def least_cost(rows: Rows, members: np.ndarray, n_states: int) -> float:
    """Return the cost of the best tree of three levels whose root is a split, with any number of rows in a leaf;
    infinite if no cut separates the rows.

    Parameters
    ----------
    rows : Rows
    members : int64 (members,)
    n_states : int, how many states of this level are checked, for the choice of loops

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
    if loss.shape[1] <= LABELS and every_tree.repays(n_states * len(members) * float(len(parts)) ** 3):
        sides = every_tree.least_sides(np.ascontiguousarray(answers.T), loss, rows.price)
    if sides is None:
        sides = _least_sides(answers, loss, rows.price)
    return float((sides.reshape(-1, 2).sum(axis=1) + rows.price).min(initial=np.inf))


def _least_sides(answers: np.ndarray, loss: np.ndarray, price: float) -> np.ndarray:
    """Return float64 (splits, 2): the cost of the best tree of two levels on either side of each split (true and
    false), in any order; `answers` is bool (rows, splits)."""
    every = np.arange(len(answers))
    whole, total, found = _pairs(answers, loss, every), loss.sum(axis=0), []
    for own in answers.T:
        part = every[own if 2 * own.sum() <= len(own) else ~own]  # the sums of the others follow by subtraction
        pairs, here = _pairs(answers, loss, part), loss[part].sum(axis=0)
        found.append([_two_levels(pairs, here, price), _two_levels(whole - pairs, total - here, price)])
    return np.array(found)


def _pairs(answers, loss, part):
    """Return float64 (labels, splits, splits): the cost of a label on the rows for which two splits are true."""
    blocks, splits = Blocks(answers, part, np.dtype(float)), np.arange(answers.shape[1])
    return np.stack([blocks.pairs(splits, line[part]) for line in loss.T])


def _two_levels(pairs, total, price) -> float:
    """Return the least cost of a tree of two levels, from the sums over pairs of splits and over all rows,
    by labels."""
    one = np.diagonal(pairs, axis1=1, axis2=2)
    true = pairs.min(axis=0), (one[:, :, None] - pairs).min(axis=0)
    false = (
        (one[:, None] - pairs).min(axis=0),
        (total[:, None, None] - one[:, :, None] - one[:, None] + pairs).min(axis=0),
    )
    cost = 0.0
    for (left, right), leaf in ((true, one), (false, total[:, None] - one)):
        cost = cost + np.minimum(leaf.min(axis=0), (left + right).min(axis=1) + price)
    return float(min(total.min(), cost.min() + price))
