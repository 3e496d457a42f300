"""A multinomial logistic regression as a tree of hyperplanes.

The regression predicts the class of the greatest score w_k·z + v_k, so that (w_b - w_a)·z = v_a - v_b parts the rows of
which a has the greater score from those of b. A node asks two of the classes that are predicted for its rows, those
whose hyperplane leaves least entropy of what is predicted; then one of the two is out on either side. So with K classes
no path is longer than K - 1, and a tree of that depth parts rows as the regression does.
"""

import warnings
from itertools import combinations

import numpy as np


def multinomial_tree(Z: np.ndarray, loss: np.ndarray, depth: int, C: float) -> tuple[np.ndarray, np.ndarray] | None:
    """The hyperplanes of a tree that predicts as a multinomial logistic regression does, if the depth is enough.

    Parameters
    ----------
    Z : ndarray of float64, (rows, columns)
        Scaled to about [0, 1], nothing far out.
    loss : ndarray of float64, (rows, classes)
        What predicting this class for this row costs; a row counts as much as its cheapest class saves beside its
        dearest.
    depth : int
    C : float
        The inverse of the squared penalty.

    Returns
    -------
    (ndarray of float64 (2^depth, columns), ndarray of float64 (2^depth,)) or None
        H and g: node t sends row z left iff H[t]·z <= g[t]; index 0 is unused, and a node of which all rows are
        predicted alike sends them left. None if fewer than three classes are the cheapest of some row.
    """
    from sklearn.linear_model import LogisticRegression

    label, weight = loss.argmin(axis=1), np.ptp(loss, axis=1) + 1e-12
    if len(np.unique(label)) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that has not converged is a candidate as any other
        model = LogisticRegression(C=C, max_iter=200, tol=1e-3).fit(Z, label, weight / weight.mean())
    scores = model.decision_function(Z)
    said = scores.argmax(axis=1)
    H, g = np.zeros((2**depth, Z.shape[1])), np.ones(2**depth)
    arriving = {1: np.arange(len(Z))}
    for t in range(1, 2**depth):
        rows = arriving[t]
        pairs = list(combinations(np.unique(said[rows]).tolist(), 2))
        right = np.zeros(len(rows), bool)
        if pairs:
            sides = [scores[rows, b] > scores[rows, a] for a, b in pairs]
            at = int(np.argmin([_entropy(said[rows], side) for side in sides]))
            (a, b), right = pairs[at], sides[at]
            H[t], g[t] = model.coef_[b] - model.coef_[a], model.intercept_[a] - model.intercept_[b]
        arriving[2 * t], arriving[2 * t + 1] = rows[~right], rows[right]
    return H, g


def _entropy(said: np.ndarray, right: np.ndarray) -> float:
    """Of the classes on each side, times its number of rows."""
    total = 0.0
    for side in (said[~right], said[right]):
        count = np.bincount(side)
        count = count[count > 0]
        total -= float((count * np.log(count / max(1, count.sum()))).sum())
    return total
