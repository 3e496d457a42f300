"""Median regression: a leaf predicts the median of its rows, which has the least absolute error.

With w and y the weight and the number of a row, a prediction v costs Σ w |y - v|, which is least for a weighted
median, and that is the number of some row. So a leaf predicts one of the numbers of the training rows, v_1 < … <
v_K, and the task is equivalent to K classes with the cost |v_k - v_c| for predicting v_c for a row of v_k: every
formulation, search, bound and certificate that supports costs by the predicted class can be used. Of two medians the
lower one is predicted. A row carries n, w, w y and y as sums, because w y / w is not always y.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtc.algorithms.moments.exact_costs import ExactMedians
from odtc.algorithms.weighted_quantiles import places_of, weighted_median
from odtc.base.text import all_rows, show_number
from odtc.base.whole_numbers import nearest_floats, whole_numbers
from odtc.base.wording import option
from odtc.data.cost_matrix import MOST_COST
from odtc.data.dataset import Dataset
from odtc.data.tasks import regression
from odtc.errors import DataError

NAME = "median"
SUMMARY = "a leaf predicts the median of a number; the cost of a row is its absolute error"
HEADLINE, HEADLINE_WORDS = "mean_absolute_error", "absolute error"
NUMBERS = True
LOSS = "square"
MAX_COSTS = 2e7  # costs of pairs of numbers, or of rows and numbers, that are stored


def labelled(rows: Dataset, cells, how, place: str) -> Dataset:
    """Return the rows with their numbers as classes."""
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

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        For numbers that do not differ, that are too large to be added up, or of which too many differ.
    """
    kept = as_classes(rows, y)
    n, values = kept.n_rows, values_of(kept.classes)
    if len(values) == 1:
        raise DataError(f"expected numbers that differ in {place}, got {values[0]:.10g} in {all_rows(n)} of weight")
    if len(values) * max(len(values), n) > MAX_COSTS:
        raise DataError(
            f"expected fewer different numbers for {option('task', 'median')} in {place}, got {len(values):,} in {n:,} "
            f"rows; round them, or use {option('task', 'regression')}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(kept.weight.sum()) * (values[-1] - values[0])
        if not spread < MOST_COST or not np.isfinite(kept.sums.sum(axis=0)).all():
            raise DataError(f"expected numbers whose differences can be added up in {place}; scale them down")
    return kept


def as_classes(rows: Dataset, y: np.ndarray) -> Dataset:
    """Return the rows of weight with their numbers, float64 (rows,), as classes."""
    held = rows.weight > 0
    kept = rows.where(held)
    y = y[held] + 0.0
    values, code = np.unique(y, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = sums_of(y, kept.weight)
    return replace(kept, y=code.astype(np.int32), classes=tuple(map(show_number, values)), sums=sums)


def with_answers(rows: Dataset, answers) -> Dataset:
    """Return the rows with these numbers among the classes, in addition to the numbers of the rows."""
    own = values_of(rows.classes)
    values = np.unique(np.append(own, answers) + 0.0)
    code = np.searchsorted(values, own)[rows.y].astype(np.int32)
    return replace(rows, y=code, classes=tuple(map(show_number, values)))


def sums_of(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return float64 (rows, 4): 1, w, w y and y of each row."""
    return np.column_stack([np.ones(len(y)), weight, weight * y, y])


def moments(sums: np.ndarray) -> np.ndarray:
    """Return float64 (3, rows): w, w (y - m) and w (y - m)² around the mean m of all rows."""
    weight = sums[:, 1]
    apart = numbers(sums) - sums[:, 2].sum() / weight.sum()
    return np.stack([weight, weight * apart, weight * apart**2])


def values_of(classes) -> np.ndarray:
    """Return the numbers that classes represent, float64 (classes,)."""
    return np.array([float(name) for name in classes])


def exact(dataset: Dataset, row_of: np.ndarray) -> ExactMedians:
    """Return the absolute errors of leaves in whole numbers."""
    return ExactMedians(numbers(dataset.sums), dataset.weight, row_of)


def class_costs(classes) -> tuple[np.ndarray, Fraction]:
    """Return whole numbers (classes, classes) and their unit: |v_k - v_c|."""
    whole, unit = whole_numbers(values_of(classes))
    return np.abs(whole[:, None] - whole), unit


def losses(counts: np.ndarray, classes) -> np.ndarray:
    """Return float64 (classes,): Σ_k counts_k |v_k - v_c|, of the weight of each number."""
    return counts @ nearest_floats(*class_costs(classes))


def scored_rows(rows: Dataset, trained: Dataset) -> Dataset:
    """Return the rows with the numbers of the training rows as classes; -1 for another number."""
    own, values = values_of(rows.classes)[rows.y], values_of(trained.classes)
    place = np.searchsorted(values, own).clip(max=len(values) - 1)
    return replace(rows, y=np.where(values[place] == own, place, -1).astype(np.int32), classes=trained.classes)


def curve(sums: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return (share, number) of the quartiles and the ends of the rows of a leaf."""
    weight, y = sums[:, 1], numbers(sums)
    order = np.argsort(y, kind="stable")
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    found = y[order][places_of(weight[order], shares)]
    return tuple(zip(shares.tolist(), (float(f"{one:.15g}") for one in found)))


def leaf_words(sums, classes, curve=(), goal="") -> str:
    """Describe the range of half of the rows, and of all of them."""
    if not curve:
        return ""
    at = dict(curve)
    return f"half of them {at[0.25]:.6g} to {at[0.75]:.6g}, all {at[0.0]:.6g} to {at[1.0]:.6g}"


def figures(sums: np.ndarray, answers: np.ndarray, classes) -> dict:
    """Return mean absolute and squared error, and the part of the absolute error around one median that is
    explained."""
    weight, y = sums[:, 1], numbers(sums)
    error = float((weight * np.abs(y - answers)).sum())
    spread = float((weight * np.abs(y - weighted_median(y, weight))).sum())
    of_squares = regression.figures(sums, answers, classes)
    return {
        "n_rows": len(sums),
        "absolute_error": error,
        "mean_absolute_error": of_squares["mean_absolute_error"],
        "mean_squared_error": of_squares["mean_squared_error"],
        "d2": 1 - error / spread if spread > 0 else None,
    }


def loss_again(sums: np.ndarray, answers: np.ndarray) -> float:
    """Return Σ w |y - answer|."""
    return float((sums[:, 1] * np.abs(numbers(sums) - answers)).sum())


def figure_lines(facts) -> list[str]:
    """Return one line."""
    d2 = "" if facts["d2"] is None else f", D² {facts['d2']:.4f}"
    return [
        f"absolute error {facts['absolute_error']:.10g}, {facts['mean_absolute_error']:.6g} a row of "
        f"{facts['n_rows']}; squared {facts['mean_squared_error']:.6g} a row{d2}"
    ]


target_words, numbers, expect = regression.target_words, regression.numbers, regression.expect
