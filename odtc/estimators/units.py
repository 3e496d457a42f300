"""Numbers far from 1 in units that are powers of two: costs are then distinguishable, and nothing is rounded."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from odtc.base.text import show_number
from odtc.base.whole_numbers import as_written
from odtc.base.wording import in_keywords
from odtc.data.task import TASKS
from odtc.data.tasks import median, survival
from odtc.errors import DataError
from odtc.trees.tree import Leaf, Tree

IN_SOLVERS = 2.0**-6, 2.0**40  # spreads of numbers that a model contains as they are; solvers lose larger costs
IN_SEARCHES = 0.0, math.inf  # the compiler's own searches count in whole numbers of any size
MOST_PRICE = 2.0**10  # costs that a branch node may be worth: (1-λ) of a greater λ has lost its digits
DIGITS = 1e-12  # of a spread: smaller errors of quotients are taken for the rounding of the numbers themselves
WIDEST = 960  # of the exponent of a unit of costs, which doubles hold with the sums of many rows


class Units(NamedTuple):
    """The divisor of numbers for a search, and the value of 1 of its objective in the objective of the user."""

    number: float = 1.0
    cost: float = 1.0


ONE = Units()
# Keywords that are other words than the fields of a specification (odtc.base.wording)
KEYWORDS = {"depth": "max_depth", "start": "start", "categorical": "categorical_features", "weights": "sample_weight"}


def units_for(unit: float, power: int = 1, price: float = 0.0) -> Units:
    """Return the units of numbers whose costs are their `power`, where a branch node has the penalty `price`, in costs
    of the user.

    With u the unit of costs and p the penalty, λ = p / (1 + p) for the user and p/u / (1 + p/u) for the search, so

        (1-λ) cost + λ branch nodes = (cost + p branch nodes) / (1 + p) = (u + p) / (1 + p) · objective of the search.
    """
    return Units(unit, (unit**power + price) / (1 + price)) if unit != 1 else ONE


def unit_of(spread: float, power: int = 1, price: float = 0.0, within: tuple[float, float] = IN_SOLVERS) -> float:
    """Return the unit of numbers whose greatest difference is `spread`, and whose costs are their `power`: 1 unless
    that is not within two limits, or beyond the costs that doubles represent, or a branch node's `price` in these
    costs is large."""
    if not 0 < spread < math.inf:
        return 1.0
    exponent = 0 if within[0] <= spread <= within[1] else math.floor(math.log2(spread))
    if math.ldexp(MOST_PRICE, exponent * power) < price < math.inf:
        exponent = math.ceil((math.log2(price) - math.log2(MOST_PRICE)) / power)
    return 2.0**exponent if abs(exponent) * power <= WIDEST else 1.0


def divided(numbers: np.ndarray, unit: float, spread: float) -> tuple[np.ndarray, float]:
    """Return numbers in a unit, and that unit; or the numbers themselves and 1, if the quotients are not the same
    numbers, as far as differences below DIGITS of their `spread` count: far from 0 a quotient has too few decimals."""
    if unit == 1:
        return numbers, 1.0
    quotients = numbers / unit
    return (numbers, 1.0) if _error(numbers, quotients, unit) > spread * DIGITS else (quotients, unit)


def _error(numbers: np.ndarray, quotients: np.ndarray, unit: float) -> float:
    """Return the largest difference between numbers, as they are written, and their quotients times the unit."""
    exact = Fraction(unit)
    pairs = set(zip(numbers.ravel().tolist(), quotients.ravel().tolist()))
    return float(max(abs(as_written(quotient) * exact - as_written(number)) for number, quotient in pairs))


def rounding_of_quotients(
    numbers: np.ndarray, quotients: np.ndarray, unit: float, weight: float, cost: float, power: int = 1
) -> float:
    """Return the largest relative error of a cost because its numbers are rounded in another unit.

    If each number is off by e at most, a difference of two is off by 2e. For rows of weight W, a cost C of differences
    is then off by 2 e W, and one of squares by 4 e √(W C) + 4 e² W. A cost of 0 is exact, because equal quotients are
    of equal numbers.

    Parameters
    ----------
    numbers, quotients : float64
    unit : float
    weight : float
    cost : float
        In the units of the numbers.
    power : int
        1 for differences, 2 for squares.
    """
    if unit == 1 or not cost:
        return 0.0
    error = _error(numbers, quotients, unit)
    off = 2 * error * weight if power == 1 else 4 * error * math.sqrt(weight * cost) + 4 * error**2 * weight
    return off / cost


def in_unit(tree: Tree, unit: float) -> Tree:
    """Return a tree whose numbers (for survival its weights) are multiples of `unit`, with the numbers themselves."""
    if unit == 1:
        return tree

    of_weights = tree.task == survival.NAME  # the unit is for weights, not for times and shares of a curve
    squares = TASKS.get(tree.task).SQUARES
    weighed = squares or tree.task == median.NAME  # counts of a policy are what its votes save

    def of(leaf: Leaf) -> Leaf:
        powers = [0, 0, *[1] * (len(leaf.sums) - 2)]
        if squares:
            powers[-2] = 2  # a square
        if of_weights:
            powers = [0, *[1] * (len(leaf.sums) - 2), 0]
        return replace(
            leaf,
            line=leaf.line and leaf.line.times(unit),
            counts=tuple(count * (1 if weighed else unit) for count in leaf.counts),
            sums=tuple(total * unit**power for total, power in zip(leaf.sums, powers)),
            curve=leaf.curve if of_weights else tuple((share, number * unit) for share, number in leaf.curve),
        )

    numbers = tree.task == median.NAME
    classes = tuple(show_number(float(name) * unit) for name in tree.classes) if numbers else tree.classes
    return replace(tree.with_leaves(of), classes=classes)


@contextmanager
def in_doubles() -> Iterator[None]:
    """Decorate a `fit`, so that errors use its own keywords. Raises DataError for numbers whose sum, square or
    quotient is beyond the range of doubles."""
    try:
        with in_keywords(KEYWORDS):
            yield
    except OverflowError:
        raise DataError(
            "expected targets, costs and weights whose sums and squares doubles hold, of a size from about 1e-150 to "
            "1e150, got some that are smaller or larger; scale them"
        ) from None
