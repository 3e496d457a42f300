"""Sets of levels of the columns that are not numbers: x in {a, c}.

A column of at most `levels` levels has every set of them, up to its complement: 2^(k-1) - 1 splits for k levels. The
best tree over these splits is the best one over all sets.

A column of more levels has its single levels, and the sets of its first levels in an order by outcome: the share of a
class, the mean of a number, or the rate of events. With two classes, and for squared errors and likelihoods, one of
these sets is the best single split of all rows (Breiman et al. 1984, section 4.2.2; Fisher 1958). With more classes, of
medians, below other splits, and in a column of more than 101 levels, the best set may be another one.

A missing cell counts as one level more, in its place in the order.

The splits of `auto` are among them, so the best tree is never worse than the best one over `auto`.
"""

from collections.abc import Iterator

import numpy as np

from odtc.base.text import some
from odtc.base.wording import option
from odtc.data.binary_splits.column_splits import BINS, known_values, set_splits, splits_by_kind, with_sets
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.table.coded_columns import distinct
from odtc.data.task import TASKS
from odtc.errors import ChoiceError

NAME = "subsets"
SUMMARY = "sets of levels of the columns that are not numbers, thresholds for numeric columns (subsets:levels=8)"
OPTIONS = {
    "levels": (int, "columns of at most this many levels have all sets of them, 2 to 14 (default 8)"),
    "bins": BINS,
}
MOST_LEVELS = 14  # of which all sets are taken: 8,191 splits
MOST_CUTS = 100  # sets of first levels for each order of a column; each needs memory for all of its levels


def splits(dataset, levels=8, bins=None):
    """Return thresholds, cuts of ordered levels, and sets of other levels, feature by feature.

    Raises ChoiceError for `levels` outside of 2 to 14.
    """
    if not 2 <= levels <= MOST_LEVELS:
        raise ChoiceError(f"expected levels of 2 to {MOST_LEVELS} in the encoding 'subsets', got levels={levels}")

    def of_levels(dataset, place):
        values, code = distinct(dataset.X, place)
        if len(values) <= levels:
            return set_splits(dataset, place)
        known, _ = known_values(values)
        return with_sets(dataset, place, _first_sets(known, code, _outcomes(dataset, code, len(values))))

    return splits_by_kind(dataset, bins, of_levels)


def remark(dataset, levels=8, bins=None):
    """Return which columns have too many levels for all of their sets."""
    sizes = {
        feature.name: len(distinct(dataset.X, at)[0])
        for at, feature in enumerate(dataset.features)
        if feature.kind != NUMERIC and not feature.ordered
    }
    many = [name for name, size in sizes.items() if size > levels]
    if not many:
        return ""
    cut = [name for name in many if sizes[name] - 1 > MOST_CUTS]
    return (
        f"columns of more than {levels} levels have their single levels and the sets that an order by outcome divides, "
        f"not all sets: {some(many)}"
        + (f" ({MOST_CUTS} sets for each order of {some(cut)})" if cut else "")
        + f"; {option('encoding', f'subsets:levels={MOST_LEVELS}')} takes all sets of up to {MOST_LEVELS} levels"
    )


def _first_sets(known: np.ndarray, code: np.ndarray, outcomes: np.ndarray) -> Iterator[tuple[float, ...]]:
    """Return the sets of the first levels in each order by outcome. A missing cell, which has the last code, is one of
    these levels; because it is outside of each set, the levels after a cut are taken if it is before the cut."""
    n = len(known)
    rows = np.bincount(code)
    for outcome in outcomes:
        order = np.argsort(outcome, kind="stable")
        cuts = np.arange(1, len(order))
        if len(cuts) > MOST_CUTS:  # those nearest to as many equal parts of the rows
            wanted = np.arange(1, MOST_CUTS + 1) * rows.sum() / (MOST_CUTS + 1)
            cuts = np.unique(np.searchsorted(np.cumsum(rows[order]), wanted) + 1).clip(1, len(order) - 1)
        for cut in cuts.tolist():
            first = order[cut:] if n in order[:cut] else order[:cut]
            yield tuple(sorted(known[first].tolist()))


def _outcomes(dataset: Dataset, code: np.ndarray, n: int) -> np.ndarray:
    """Return float64 (orders, n): the outcome of the rows of each level, by which levels are ordered."""
    task = TASKS.get(dataset.task)
    if task.MOMENTS:
        weight, total, _ = task.moments(dataset.sums)
        parts = np.bincount(code, total, n)[None], np.bincount(code, weight, n)
    elif (numbers := task.numbers(dataset.sums)) is not None:
        parts = np.bincount(code, dataset.weight * numbers, n)[None], np.bincount(code, dataset.weight, n)
    else:
        n_classes = len(dataset.classes)
        counts = np.bincount(code * n_classes + dataset.y, dataset.weight, n * n_classes).reshape(n, n_classes)
        some = slice(1, 2) if n_classes == 2 else slice(None)
        parts = counts.T[some], counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(parts[0] / parts[1])
