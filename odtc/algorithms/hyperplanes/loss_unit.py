"""The unit of losses and weights in a search, chosen so that numbers that count as equal differ by a part of the cost
of a row.

It is a power of two, so sums of numbers in this unit agree with the sums of the numbers themselves to the last bit.
"""

import math

import numpy as np


def unit_of(numbers: np.ndarray) -> float:
    """Return the power of two for which the largest of some numbers is between 1 and 2 units.

    Parameters
    ----------
    numbers : ndarray of float64
        All 0 or more.

    Returns
    -------
    float
        1 if none is above 0.
    """
    most = float(np.max(numbers, initial=0.0))
    return 2.0 ** (math.frexp(most)[1] - 1) if most > 0 else 1.0
