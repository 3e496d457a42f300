"""Costs of leaves that are functions of three sums W, S and Q over their rows: Q - G(S, W), where G is convex.

    square       G = S²/W          squared error: W = Σ w, S = Σ w y, Q = Σ w y²
    likelihood   G = S log(S/W)    events of a constant relative risk: W = Σ w Λ, S = Q = Σ w δ

G is the greatest of its tangents, so the cost of a leaf is the minimum, over one number θ, of a sum of costs of its
rows. Hence no tree on rows A and B costs less than the best tree on A and the best one on B together, and each row
costs at least as much as in a leaf of its own.
"""

import math

import numpy as np

SQUARE, LIKELIHOOD = 0, 1
LAWS = {"square": SQUARE, "likelihood": LIKELIHOOD}
NOTHING = 0.5  # share of the least number that a row adds: a smaller sum has no row, only rounding


def gain(law, s, w, tiny):
    """Return G(s, w), 0 if the sums have no row (`smallest`); for numbers, used by compiled loops."""
    if law == 0:
        return s * s / w if w > tiny else 0.0
    return s * math.log(s / w) if s > tiny and w > 0.0 else 0.0


def gains(law: int, s: np.ndarray, w: np.ndarray, tiny: float = 0.0) -> np.ndarray:
    """Return the same for arrays."""
    if law == SQUARE:
        return np.divide(s * s, w, out=np.zeros_like(s), where=w > tiny)
    held = (s > tiny) & (w > 0)  # subtraction may leave nothing of a small hazard
    share = np.divide(s, w, out=np.ones_like(s), where=held)
    return s * np.log(share)


def leaf_costs(law: int, moments: np.ndarray) -> np.ndarray:
    """Return float64 (…,): the costs of leaves with the moments float64 (3, …): W, S and Q."""
    w, s, q = moments
    return q - gains(law, s, w)


def smallest(law: int, moments: np.ndarray) -> float:
    """Return half of the least positive number that a row adds to the divisor of `gain`, or to the sum whose logarithm
    it takes."""
    told = moments[0 if law == SQUARE else 1]
    held = told[told > 0]
    return NOTHING * float(held.min()) if held.size else 0.0
