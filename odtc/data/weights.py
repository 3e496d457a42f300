"""Checks of the weights of rows, and of other numbers that are added up."""

import math

import numpy as np

from odtc.base.text import show_number
from odtc.base.wording import option
from odtc.data.cost_matrix import MOST_COST
from odtc.errors import DataError


def expect_weights(values: np.ndarray, name: str, place: str) -> np.ndarray:
    """Return the weights, float64 of shape (rows,), NaN if missing; raises DataError below 0, if all are 0, and if
    they add up to too much."""
    if (values < 0).any():
        row = (values < 0).argmax()
        raise DataError(
            f"expected weights of 0 or more in column {name!r} of {place}, got {show_number(values[row])} in row "
            f"{row + 1}; correct it"
        )
    if not (values > 0).any():
        raise DataError(f"expected a weight above 0 in column {name!r} of {place}, got none; name another column")
    expect_addable(values, "weights", f"column {name!r} of {place}")
    return values


def expect_weight_left(values: np.ndarray, name: str, place: str) -> None:
    """Raise DataError if the remaining rows have no weight; `values` are their weights, float64 (rows,)."""
    if not (values > 0).any():
        raise DataError(
            f"expected a weight above 0 in column {name!r} of {place} in a row without missing cells, got none; fill "
            f"them in, choose {option('missing', 'separate')}, or name another column"
        )


def expect_addable(numbers: np.ndarray, what: str, place: str) -> None:
    """Raise DataError if numbers of 0 or more add up to a sum whose square is too large for a double.

    Parameters
    ----------
    numbers : float64 (numbers,)
        NaN counts as 0.
    what, place : str
        A description of the numbers, and where they come from.
    """
    most = float(np.nanmax(numbers, initial=0.0))
    if most < MOST_COST / max(1, len(numbers)):
        return
    total = float(np.nansum(numbers / most))
    if most >= MOST_COST or total * most >= MOST_COST:
        size = math.log10(most) + math.log10(total)
        raise DataError(
            f"expected {what} that add up to less than {MOST_COST:g} in {place}, got about 1e{size:.0f}: doubles have "
            f"to hold the squares of sums; multiply all by {10.0 ** -math.ceil(math.log10(most)):g}, say"
        )


def lost_weights(weight: np.ndarray) -> str:
    """Return a remark on weights so small compared with their sum that sums in doubles lose them; "" if there are
    none.

    Parameters
    ----------
    weight : float64 (rows,)

    Returns
    -------
    str
    """
    some, total = weight[weight > 0], float(weight.sum())
    lost = some[some < total * len(some) * 2.0**-53]
    if not len(lost):
        return ""
    return (
        f"rounding loses {len(lost):,} of {len(some):,} weights, the least {lost.min():g}, because the sum of all "
        f"is {total:g}: printed figures and the sums of a solver leave them out, although a proof of odtc counts them; "
        "use weights of similar size if these rows matter"
    )
