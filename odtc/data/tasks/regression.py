"""Regression: a leaf predicts the mean of its rows, which has the least squared error.

With w and y the weight and the number of a row, and m the median of all rows, a leaf costs

    Σ w (y - m)² - (Σ w (y - m))² / Σ w

so a state of the dynamic program carries n, Σ w, Σ w y, Σ w (y - m), Σ w (y - m)²: sums around the median lose no
digits to the size of the numbers. The last sum is Σ y, which for a single row is its number as it was read; w y / w is
not always that number. One prediction for all rows is no better than one for each part of them. So V(A) <= V(B) for
rows A within B, and V(A) + V(B) <= V(A ∪ B) for disjoint sets of rows. Bounds by the weight of rows are not valid.
"""

from dataclasses import replace

import numpy as np

from odtc.algorithms.moments import laws
from odtc.algorithms.moments.exact_costs import ExactCosts
from odtc.algorithms.weighted_quantiles import weighted_median
from odtc.base.text import all_rows, show_figure
from odtc.data.dataset import Dataset
from odtc.errors import DataError, OneValueError

NAME = "regression"
SUMMARY = "a leaf predicts the mean of a number; the cost of a row is its squared error"
HEADLINE, HEADLINE_WORDS = "mean_squared_error", "squared error"
SQUARES = MOMENTS = True
NUMBERS = True
LOSS = "square"
LABEL = "mean"  # the one class of its leaves
CONFIDENCE = 0.95  # of the interval of a leaf's mean
ROUNDED = 2.0**-52  # a part of Σ w (y - m)² that sums of doubles do not distinguish from 0


def expect(cells, how, place: str) -> None:
    """Raise OneValueError for one number in all rows."""
    ((target, column),) = cells.items()
    y = column.numbers().cells()
    if (y == y[0]).all():
        raise OneValueError(
            f"expected numbers that differ in column {target!r} of {place}, got {y[0]:.10g} in {all_rows(len(y))}",
            f"number {y[0]:.10g}",
        )


def labelled(rows: Dataset, cells, how, place: str) -> Dataset:
    """Return the rows with their numbers as sums."""
    return measured(rows, cells[rows.target].numbers().cells(), f"column {rows.target!r} of {place}")


def measured(rows: Dataset, y: np.ndarray, place: str) -> Dataset:
    """Return the data set of rows with numbers to predict.

    Parameters
    ----------
    rows : Dataset
        Features and weights.
    y : float64 (rows,)
    place : str
        Where the numbers come from, for messages.
    """
    weight = rows.weight
    with np.errstate(over="ignore", invalid="ignore"):
        sums = sums_of(y, weight)
        one = float(leaf_costs(sums.sum(axis=0)))
        square = float(sums[:, 3].sum() ** 2)
    if not np.isfinite(sums).all() or not np.isfinite([*sums.sum(axis=0), square]).all():
        raise DataError(f"expected numbers whose squares can be added up in {place}; scale them down")
    if (y == y[0]).all():
        raise DataError(f"expected numbers that differ in {place}, got {y[0]:.10g} in {all_rows(len(y))}")
    if one == 0 and np.ptp(y[weight > 0]) > 0:
        raise DataError(f"expected numbers whose squares are not zero as doubles in {place}; scale them up")
    return replace(rows, classes=(LABEL,), sums=sums).where(weight > 0)


def sums_of(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return float64 (rows, 6): 1, w, w y and, around the median m of all rows, w (y - m), w (y - m)²; and y."""
    apart = y - weighted_median(y, weight)
    return np.column_stack([np.ones(len(y)), weight, weight * y, weight * apart, weight * apart**2, y])


def moments(sums: np.ndarray) -> np.ndarray:
    """Return Σ w and, around the median of all rows, Σ w (y - m) and Σ w (y - m)², of sums float64 (…, 6)."""
    return np.stack([sums[..., 1], sums[..., 3], sums[..., 4]])


def leaf_costs(sums: np.ndarray) -> np.ndarray:
    """Return the squared error of leaves with these sums, float64 (…, 6)."""
    return np.maximum(laws.leaf_costs(laws.SQUARE, moments(sums)), 0.0)


def part_costs(sums: np.ndarray, part: np.ndarray, n_parts: int, own: np.ndarray | None = None) -> np.ndarray:
    """Return the squared error of each part around its own mean.

    It is the sum of the errors of encoded rows around their own means and the errors of these means around the mean of
    the part. No digits are lost to rows of other parts; nor to the size of the numbers, if the errors around the own
    means are given, or each encoded row is one row of the data.
    """
    n, w, _, s, q, _ = sums.T
    own = np.where(n > 1, np.maximum(q - s * s / w, 0.0), 0.0) if own is None else own
    held, y, mean = np.bincount(part, w, n_parts), s / w, np.zeros(n_parts)
    for _ in range(2):  # the second time only the rounding of the first is left
        mean += np.divide(np.bincount(part, w * (y - mean[part]), n_parts), held, out=np.zeros(n_parts), where=held > 0)
    apart = y - mean[part]
    apart[np.abs(apart) <= 4 * ROUNDED * np.abs(y)] = 0.0  # w y / w may not be y: rows of one number cost nothing
    return np.bincount(part, own + w * apart**2, n_parts)


def exact(dataset: Dataset, row_of: np.ndarray) -> ExactCosts:
    """Return the squared errors of leaves as rationals."""
    return ExactCosts(numbers(dataset.sums), dataset.weight, row_of)


def answer(sums) -> float:
    """Return the mean of a leaf; of a single row the number as it was read."""
    return float(sums[-1] if sums[0] == 1 else sums[2] / sums[1])


def keeping(answer: float, sums: np.ndarray) -> tuple[float, ...]:
    """Return sums whose mean is the prediction and whose squared error is the error of the rows around it; without
    rows, only the prediction."""
    weight = sums[:, 1]
    held, missed = float(weight.sum()), float((weight * (numbers(sums) - answer) ** 2).sum())
    if not len(sums):
        return 0.0, 1.0, answer, 0.0, 0.0, 0.0
    return float(len(sums)), held, held * answer, 0.0, missed, len(sums) * answer


def leaf_words(sums, classes, curve=(), goal="") -> str:
    """Return the standard deviation of the rows of the leaf, and an interval of its mean."""
    from scipy.special import stdtrit

    n, variance = sums[0], float(leaf_costs(np.array(sums))) / sums[1]
    if n < 2 or variance <= n * ROUNDED * sums[4] / sums[1]:
        return "sd 0"
    deviation = float(np.sqrt(variance * n / (n - 1)))
    if not deviation:  # equal numbers give no error of their mean
        return "sd 0"
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * deviation / np.sqrt(n)
    low, high = (show_figure(answer(sums) + step, 6) for step in (-half, half))
    return f"sd {show_figure(deviation)}, mean {low} to {high} ({100 * CONFIDENCE:.0f} %)"


def numbers(sums: np.ndarray) -> np.ndarray:
    """Return float64 (rows,): the number of each row as it was read, or the mean of rows that were put together."""
    return np.where(sums[:, 0] == 1, sums[:, -1], sums[:, 2] / sums[:, 1])


def figures(sums: np.ndarray, answers: np.ndarray, classes) -> dict:
    """Return mean squared and absolute error, and the share of the variance that is explained."""
    weight, y = sums[:, 1], numbers(sums)
    total, mean = weight.sum(), float((weight * y).sum() / weight.sum())
    squared, spread = float((weight * (y - answers) ** 2).sum()), float((weight * (y - mean) ** 2).sum())
    return {
        "n_rows": len(sums),
        "squared_error": squared,
        "mean_squared_error": float(squared / total),
        "mean_absolute_error": float((weight * np.abs(y - answers)).sum() / total),
        "r2": 1 - squared / spread if spread > 0 else None,
    }


def loss_again(sums: np.ndarray, answers: np.ndarray) -> float:
    """Return Σ w (y - answer)²."""
    return float((sums[:, 1] * (numbers(sums) - answers) ** 2).sum())


def figure_lines(facts) -> list[str]:
    """Return one line."""
    r2 = "" if facts["r2"] is None else f", R² {facts['r2']:.4f}"
    return [
        f"squared error {facts['squared_error']:.10g}, {facts['mean_squared_error']:.6g} a row of {facts['n_rows']}; "
        f"absolute {facts['mean_absolute_error']:.6g} a row{r2}"
    ]


def target_words(sums, classes, goal="") -> str:
    """Return the number of a row."""
    return f"{sums[-1] / sums[0]:.10g}"
