"""Classification: a leaf predicts the class with the least loss on its rows."""

from dataclasses import replace

import numpy as np

from odtc.base.text import all_rows
from odtc.base.wording import option
from odtc.data.cells import column_types, written_numbers
from odtc.data.dataset import CATEGORICAL, Dataset
from odtc.errors import NotClassesError, OneValueError

NAME = "classification"
SUMMARY = "a leaf predicts a class; the cost of a row is the cost of its misclassification"
CLASSES = True


def labelled(rows: Dataset, cells, how, place: str) -> Dataset:
    """Return the rows with the codes of their classes."""
    labels = cells[rows.target]
    classes = labels.levels
    return replace(rows, y=labels.level_codes(classes, CATEGORICAL).cells().astype(np.int32), classes=classes)


def expect(cells, how, place: str) -> None:
    """Raise OneValueError for one class, and NotClassesError for numbers of which most are different."""
    ((target, labels),) = cells.items()
    classes, n_rows = labels.levels, len(labels.missing)
    if len(classes) < 2:
        raise OneValueError(
            f"expected at least two classes in the target {target!r} of {place}, got only {classes[0]!r} in "
            f"{all_rows(n_rows)}; name another target",
            f"class {classes[0]!r}",
        )
    if n_rows < 20 or 2 * len(classes) <= n_rows:
        return
    decimal = how.decimal
    if not (are_numbers := column_types.are_numbers(classes, decimal)) and decimal is None:
        decimal = next(iter(written_numbers.signs_of(classes)), None)
    if are_numbers or decimal:
        sign = f" and {option('decimal', decimal)}" if decimal != how.decimal else ""
        raise NotClassesError(
            f"expected a target with few classes in {place}, got {len(classes)} different numbers in {n_rows} rows of "
            f"{target!r}, which looks like a regression target; predict the number ({option('task', 'regression')}"
            f"{sign}), name another with {option('target')}, or make classes of it",
            n_rows,
            len(classes),
            decimal,
        )
