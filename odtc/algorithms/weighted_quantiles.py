"""Quantiles of numbers with weights, always one of the numbers: the lower one of two,

the least y_k of y_1 <= … <= y_n with Σ_{i <= k} w_i >= share · Σ_i w_i
"""

import numpy as np

ROUNDING = 1e-12  # of all weight, that sums of weights may be off


def places_of(weight: np.ndarray, shares: float | np.ndarray) -> np.ndarray:
    """Return the positions of quantiles.

    Parameters
    ----------
    weight : float64 (rows,)
        Of numbers in rising order; above 0 in all.
    shares : float or float64 array
        0.5 is the median.

    Returns
    -------
    int64, of the shape of `shares`
    """
    below = np.cumsum(weight)
    return np.searchsorted(below, np.asarray(shares) * below[-1] * (1 - ROUNDING)).clip(max=len(weight) - 1)


def weighted_median(y: np.ndarray, weight: np.ndarray) -> float:
    """Return the lower median of numbers in any order.

    Parameters
    ----------
    y, weight : float64 (rows,)

    Returns
    -------
    float
    """
    order = np.argsort(y, kind="stable")
    return float(y[order][places_of(weight[order], 0.5)])
