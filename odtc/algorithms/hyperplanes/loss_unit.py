"""The unit in which losses and weights are searched, so that what counts as equal is a part of what a row costs.

It is a power of two: sums of numbers in this unit are those of the numbers themselves, to the last bit.
"""

import math

import numpy as np


def unit_of(numbers: np.ndarray) -> float:
    """The power of two with the largest of some numbers between 1 and 2 units.

    Parameters
    ----------
    numbers : ndarray of float64
        Of 0 or more.

    Returns
    -------
    float
        1 if none is above 0.
    """
    most = float(np.max(numbers, initial=0.0))
    return 2.0 ** (math.frexp(most)[1] - 1) if most > 0 else 1.0
