"""Linear models that separate two sides of rows. A tree of hyperplanes needs thousands of them, each of some hundred
rows.

`fit_logistic` is logistic regression with a squared penalty, by Newton steps, exact within rounding. With side_i in
{0, 1}, the margin m_i = h·z_i - g and p_i = 1 / (1 + exp(-m_i)) the loss and its derivatives are

    f(h, g)  =  ½ |h|²  +  C Σ_i w_i (log(1 + exp(m_i)) - side_i m_i)
    ∇f       =  (h + C Σ_i w_i (p_i - side_i) z_i,   -C Σ_i w_i (p_i - side_i))
    ∇²f      =  diag(1, …, 1, 0)  +  C Σ_i w_i p_i (1 - p_i) (z_i, -1)(z_i, -1)ᵀ

A step that does not lower f enough is halved. With more columns than rows, h is in the span of the rows, so the
problem is solved there: Zᵀ = Q R, h = Q b, |h| = |b|, Z h = Rᵀ b.

`fit_hinge` is the model of squared hinge loss by liblinear, as LinearSVC of scikit-learn calls it, without its checks,
which take two thirds of the time of LinearSVC:

    min_{h, g}  |(h, g)|₁  or  ½ |(h, g)|₂²,  +  C Σ_i w_i max(0, 1 - s_i (h·z_i - g))²,    s_i = 1 right, -1 left
"""

from collections.abc import Callable
from functools import cache

import numpy as np

STEPS, HALVINGS = 50, 30  # of Newton's method, and of the length of one of its steps
ENOUGH = 1e-4  # of the decrease that the slope promises
CLOSE = 1e-6  # as a share of f: a step that promises no more is the last, as each squares the error of the one before
LEAST = 1e-10  # curvature of the bound, at least, as a share of C Σ w: with all rows far on their side it vanishes
SPARSE, DENSE = 5, 2  # liblinear's numbers of the two
LINEAR_SVC = {"tol": 1e-3, "intercept_scaling": 1.0}  # the defaults of LinearSVC
EPSILON = 0.1  # an argument of liblinear that only regressions use


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
    point = np.zeros(d + 1)

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
        slope, step = _newton_step(A, side, pull, point, margin)
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


def _newton_step(A: np.ndarray, side: np.ndarray, pull: np.ndarray, point: np.ndarray, margin: np.ndarray):
    """Return ∇f and the step -(∇²f)⁻¹ ∇f at a point (h, g), float64 (columns + 1,); A has the rows (z_i, -1), `pull`
    is C w_i, and margin = A (h, g)."""
    d = A.shape[1] - 1
    p = 0.5 * (1.0 + np.tanh(0.5 * margin))
    slope = (pull * (p - side)) @ A
    slope[:d] += point[:d]
    root = np.sqrt(pull * p * (1.0 - p))[:, None] * A
    curve = root.T @ root
    curve[np.arange(d), np.arange(d)] += 1.0
    curve[d, d] += LEAST * pull.sum()
    return slope, np.linalg.solve(curve, -slope)


def fit_hinge(
    Z: np.ndarray, side: np.ndarray, weight: np.ndarray, C: float, *, sparse: bool, steps: int, seed: int = 0
) -> tuple[np.ndarray, float]:
    """Return the hyperplane h·z = g of least loss, identical to the bit with LinearSVC's.

    Parameters
    ----------
    Z : ndarray of float64, (rows, columns)
    side : ndarray of bool, (rows,)
        Both values occur.
    weight : ndarray of float64, (rows,)
    C : float
        Above 0.
    sparse : bool
        Whether the penalty is |h|₁.
    steps : int
        Maximum number of iterations.
    seed : int
        Of the order in which liblinear takes columns and rows.

    Returns
    -------
    (ndarray of float64 (columns,), float)
        h and g.
    """
    call = _direct() if _is_alike() else _by_scikit_learn
    return call(np.ascontiguousarray(Z, float), side, np.ascontiguousarray(weight, float), C, sparse, steps, seed)


def _by_scikit_learn(Z, side, weight, C: float, sparse: bool, steps: int, seed: int) -> tuple[np.ndarray, float]:
    from sklearn.svm import LinearSVC

    penalty = "l1" if sparse else "l2"
    model = LinearSVC(C=C, penalty=penalty, dual=False, max_iter=steps, random_state=seed, **LINEAR_SVC)
    model.fit(Z, side, sample_weight=weight)
    return model.coef_[0].copy(), -float(model.intercept_[0])


@cache
def _direct() -> Callable:
    from sklearn.svm._liblinear import set_verbosity_wrap, train_wrap

    set_verbosity_wrap(0)
    even, (close, bias) = np.ones(2), LINEAR_SVC.values()

    def call(Z, side, weight, C: float, sparse: bool, steps: int, seed: int) -> tuple[np.ndarray, float]:
        kind, draw = SPARSE if sparse else DENSE, np.random.RandomState(seed).randint(np.iinfo("i").max)
        found, _ = train_wrap(Z, side.astype(float), False, kind, close, bias, C, even, steps, draw, EPSILON, weight)
        return found[0, :-1].copy(), -float(bias * found[0, -1])

    return call


@cache
def _is_alike() -> bool:
    """Return whether this scikit-learn allows this call of liblinear, with the same result: the function that is
    called is not public."""
    rng = np.random.default_rng(0)
    Z, weight = rng.normal(size=(12, 3)), rng.random(12)
    side = Z[:, 0] + Z[:, 1] > 0
    try:
        for sparse in (True, False):
            one, other = (call(Z, side, weight, 1.0, sparse, 100, 1) for call in (_direct(), _by_scikit_learn))
            if not np.array_equal(one[0], other[0]) or one[1] != other[1]:
                return False
    except (ImportError, AttributeError, TypeError, ValueError):
        return False
    return True
