"""Regression with linear leaves: a leaf predicts a line in one numeric column, or a number.

The column of each leaf is the one whose line has the least squared error, plus --ridge times the square of its slope
(odtc.algorithms.moments.lines). All numeric columns without missing cells are considered, except for dates. A leaf
stores the same sums as in regression, and predicts its mean for rows with a missing cell in the column of its line.
"""

from fractions import Fraction

import numpy as np

from odtc.algorithms.moments.lines import ExactLines
from odtc.base.text import show_figure
from odtc.base.wording import option
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.reading_spec import LINEAR
from odtc.data.tasks import regression
from odtc.errors import DataError

LARGEST = 1e150  # number in a column of lines: its square is a double, and slopes of such numbers are

NAME = LINEAR
SUMMARY = "a leaf predicts a line in one numeric column; the cost of a row is its squared error"
HEADLINE, HEADLINE_WORDS = regression.HEADLINE, regression.HEADLINE_WORDS
LABEL, LOSS = regression.LABEL, regression.LOSS
MOMENTS = NUMBERS = SQUARES = LINES = True
FIELDS = "leaf", "ridge"
VARIANT_OF = regression.NAME

labelled, measured, sums_of, moments = regression.labelled, regression.measured, regression.sums_of, regression.moments
expect = regression.expect
leaf_costs, part_costs = regression.leaf_costs, regression.part_costs
answer, numbers = regression.answer, regression.numbers
figures, figure_lines, loss_again = regression.figures, regression.figure_lines, regression.loss_again
target_words = regression.target_words


def exact(dataset: Dataset, row_of: np.ndarray) -> ExactLines:
    """Return the squared errors of leaves, with the penalty of their slopes, as rationals."""
    places = [
        at
        for at, feature in enumerate(dataset.features)
        if feature.kind == NUMERIC and not feature.is_date and not np.isnan(dataset.X[:, at]).any()
    ]
    ridge = Fraction(repr(float(dataset.source.get("ridge", 0.0))))
    X = np.stack([dataset.X[:, at] for at in places] or [np.zeros(dataset.n_rows)], axis=1)
    _expect_doubles(X, [dataset.features[at].name for at in places])
    return ExactLines(numbers(dataset.sums), X, ridge, dataset.weight, row_of, places)


def _expect_doubles(X: np.ndarray, names: list[str]) -> None:
    """Raise DataError for columns whose lines may have a slope, or a square of a cell, that is not a double."""
    if not np.isfinite(X).all():
        raise DataError("expected finite numbers in the columns of linear leaves; leave out the rows with others")
    for name, column in zip(names, X.T):
        cells = np.unique(column)
        if np.abs(cells).max() >= LARGEST or np.diff(cells).min(initial=1.0) <= 1 / LARGEST:
            raise DataError(
                f"expected numbers below {LARGEST:g}, more than {1 / LARGEST:g} apart, in column {name!r} for linear "
                f"leaves, got {cells[0]:g} to {cells[-1]:g}; correct the cells, multiply them, or leave the column out "
                f"({option('ignore', name)})"
            )


def leaf_words(sums, classes, curve=(), goal="") -> str:
    """Return the mean and the standard deviation of the rows of the leaf."""
    n, variance = sums[0], float(leaf_costs(np.array(sums))) / sums[1]
    deviation = float(np.sqrt(variance * n / (n - 1))) if n > 1 else 0.0
    return f"mean {show_figure(regression.answer(sums), 6)}, sd {show_figure(deviation)}"


def penalty(source, slopes: np.ndarray) -> float:
    """Return the penalty of the slopes of leaves, float64 (leaves,)."""
    ridge = float(source.get("ridge", 0.0))
    return float(ridge * (slopes**2).sum()) if ridge else 0.0  # squares of slopes may be beyond doubles
