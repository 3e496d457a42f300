"""Logistic regression with a squared penalty, by Newton steps: exact within rounding, and quick for the thousands of
small problems that a tree of hyperplanes has.

With side_i in {0, 1}, the margin m_i = h·z_i - g and p_i = 1 / (1 + exp(-m_i)) the loss and its derivatives are

    f(h, g)  =  ½ |h|²  +  C Σ_i w_i (log(1 + exp(m_i)) - side_i m_i)
    ∇f       =  (h + C Σ_i w_i (p_i - side_i) z_i,   -C Σ_i w_i (p_i - side_i))
    ∇²f      =  diag(1, …, 1, 0)  +  C Σ_i w_i p_i (1 - p_i) (z_i, -1)(z_i, -1)ᵀ

A step that does not lower f enough is halved. With more columns than rows, h is in the span of the rows, so the
problem is solved there: Zᵀ = Q R, h = Q b, |h| = |b|, Z h = Rᵀ b.
"""

import numpy as np

STEPS, HALVINGS = 50, 30  # of Newton's method, and of the length of one of its steps
ENOUGH = 1e-4  # of the decrease that the slope promises
CLOSE = 1e-6  # as a share of f: a step that promises no more is the last, as each squares the error of the one before
LEAST = 1e-10  # curvature of the bound, at least, as a share of C Σ w: with all rows far on their side it vanishes


def fit_logistic(
    Z: np.ndarray, side: np.ndarray, weight: np.ndarray, C: float, start: tuple[np.ndarray, float] | None = None
) -> tuple[np.ndarray, float]:
    """Return the hyperplane h·z = g of least f; `start`, if given, is the one to begin with.

    Parameters
    ----------
    Z : ndarray of float64, (rows, columns)
    side : ndarray of bool, (rows,)
        Both values occur.
    weight : ndarray of float64, (rows,)
    C : float
        Above 0.
    start : (ndarray of float64 (columns,), float), optional

    Returns
    -------
    (ndarray of float64 (columns,), float)
        h and g.
    """
    n, d = Z.shape
    if d > n:
        Q, R = np.linalg.qr(Z.T)
        h, g = fit_logistic(R.T, side, weight, C, None if start is None else (Q.T @ start[0], start[1]))
        return Q @ h, g
    A = np.empty((n, d + 1))
    A[:, :d], A[:, d] = Z, -1.0
    pull = C * weight
    point, least = np.zeros(d + 1), LEAST * pull.sum()

    def value(point, margin) -> float:
        return 0.5 * float(point[:d] @ point[:d]) + float(pull @ (np.logaddexp(0.0, margin) - side * margin))

    margin = np.zeros(n)
    found = value(point, margin)
    if start is not None:
        other = np.append(start[0], start[1])
        along = A @ other
        if (begun := value(other, along)) < found:
            point, margin, found = other, along, begun
    for _ in range(STEPS):
        p = 0.5 * (1.0 + np.tanh(0.5 * margin))
        slope = (pull * (p - side)) @ A
        slope[:d] += point[:d]
        root = np.sqrt(pull * p * (1.0 - p))[:, None] * A
        curve = root.T @ root
        curve[np.arange(d), np.arange(d)] += 1.0
        curve[d, d] += least
        step = np.linalg.solve(curve, -slope)
        promise = -float(slope @ step)
        along, size = A @ step, 1.0
        for _ in range(HALVINGS):
            new = point + size * step
            reached = value(new, margin + size * along)
            if reached <= found - ENOUGH * size * promise:
                break
            size /= 2
        else:
            break
        point, margin, found = new, A @ new, reached
        if promise <= CLOSE * found:
            break
    return point[:d].copy(), float(point[d])
