"""The linear model of squared hinge loss by liblinear, as LinearSVC of scikit-learn calls it, without its checks.
Trees of hyperplanes need thousands of models of some hundred rows, and liblinear itself takes only a third of the
time of LinearSVC.

    min_{h, g}  |(h, g)|₁  or  ½ |(h, g)|₂²,  +  C Σ_i w_i max(0, 1 - s_i (h·z_i - g))²,    s_i = 1 right, -1 left
"""

from collections.abc import Callable
from functools import cache

import numpy as np

SPARSE, DENSE = 5, 2  # liblinear's numbers of the two
CLOSE, EPSILON, BIAS = 1e-3, 0.1, 1.0  # only regressions use epsilon


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
    model = LinearSVC(C=C, penalty=penalty, dual=False, max_iter=steps, tol=CLOSE, random_state=seed)
    model.fit(Z, side, sample_weight=weight)
    return model.coef_[0].copy(), -float(model.intercept_[0])


@cache
def _direct() -> Callable:
    from sklearn.svm._liblinear import set_verbosity_wrap, train_wrap

    set_verbosity_wrap(0)
    even = np.ones(2)

    def call(Z, side, weight, C: float, sparse: bool, steps: int, seed: int) -> tuple[np.ndarray, float]:
        kind, draw = SPARSE if sparse else DENSE, np.random.RandomState(seed).randint(np.iinfo("i").max)
        found, _ = train_wrap(Z, side.astype(float), False, kind, CLOSE, BIAS, C, even, steps, draw, EPSILON, weight)
        return found[0, :-1].copy(), -float(BIAS * found[0, -1])

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
