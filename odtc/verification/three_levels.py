"""The best tree of three levels over few cuts, computed from the data: for states of a certificate without references.

Compiled loops count sums over all sets of three cuts (odtc.verification.leaf_sums.every_tree). All sums are of whole
numbers, so that they are exact in any order.
"""

import math

import numpy as np

from odtc.errors import CertificateError
from odtc.verification.node_cuts import NodeCuts, Rows

LABELS = 3  # maximum number of labels
SETS = 5_000_000  # maximum number of sets of three cuts, which must not exceed every_tree.MAX_SETS_OF_FOUR
MAX_SUMS = 3e8  # maximum number of sums over sets of three cuts, for which a certificate leaves a state to the check


def is_quick(n_labels: int, n_cuts: int, true: float) -> bool:
    """Return whether counting a state of three levels is faster than checking its sides one by one.

    Parameters
    ----------
    n_labels, n_cuts : int
    true : float, sets of three cuts for which a row has the rarer result three times, summed over the rows
    """
    return n_labels <= LABELS and math.comb(n_cuts, 3) <= SETS and true <= MAX_SUMS


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
        If there are more cuts or labels than a writer leaves to the check.
    """
    from odtc.verification.leaf_sums import every_tree  # most checks never need it

    cuts, loss = NodeCuts(rows, members), rows.loss[members]
    parts = np.flatnonzero(cuts.parts)
    n_sets, n_labels = math.comb(len(parts), 3), loss.shape[1]
    if n_sets > SETS or n_labels > LABELS:  # a valid certificate never has so many, and their tables would be too large
        raise CertificateError(
            f"it leaves {n_sets:,} sets of three of {len(parts):,} cuts to the check, which counts at most {SETS:,}, "
            f"and {n_labels} labels, of at most {LABELS}"
        )
    answers = np.zeros((max(3, len(parts)), len(members)), bool)  # at least three; extra ones have no rows
    answers[: len(parts)] = (cuts.place[:, cuts.column[parts]] <= parts).T
    sides = every_tree.least_sides(answers, loss, rows.price)[: len(parts)]
    return float((sides.sum(axis=1) + rows.price).min(initial=np.inf))
