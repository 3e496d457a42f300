"""Thresholds for numeric columns, cuts of ordered levels, and for the others one split per level or per set of levels.

A column of at most `levels` levels has every set of them, up to its complement: 2^(k-1) - 1 splits for k levels; a
column of more levels has one split per level. For k up to 3 these are the same splits.

A search without a model takes the largest `levels` up to 8 for which all sets add at most MOST_STEPS, or double the
steps. A search of depth D takes about n · log2 K · p of them: n rows, K classes (or numbers, one of which is a median),
and p sequences of D splits on a path. All thresholds of a numeric column count as one split. Below a split on a set,
about half of the levels of its column are left, which have the square root of the number of sets.
"""

from math import prod

import numpy as np

from odtc.base.text import some
from odtc.base.wording import option
from odtc.data.binary_splits.column_splits import BINS, level_splits, order_splits, set_splits, splits_by_kind
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.notes import reads_otherwise
from odtc.data.table.coded_columns import distinct
from odtc.errors import ChoiceError

NAME = "auto"
SUMMARY = "thresholds for numeric columns; levels of the others, and where the search stays quick all sets of them"
SINGLE = 3  # levels up to which a set or its complement is one level
MOST_LEVELS = 8  # of which all sets are taken: 127 splits
OPTIONS = {
    "levels": (int, f"columns of at most this many levels have all sets of them, {SINGLE} to {MOST_LEVELS}"),
    "bins": BINS,
}
MOST_STEPS = 200_000_000  # that sets may add to the search over single levels: about a second
GROWTH = 2  # times the steps over single levels, if these are more


def splits(dataset, levels=SINGLE, bins=None):
    """Return thresholds, cuts of ordered levels, and single levels or sets of the others, feature by feature.

    Raises ChoiceError for `levels` outside of 3 to 8.
    """
    if not SINGLE <= levels <= MOST_LEVELS:
        raise ChoiceError(
            f"expected levels of {SINGLE} to {MOST_LEVELS} in the encoding 'auto', got levels={levels}; "
            f"{option('encoding', f'subsets:levels={levels}')} takes sets of more"
        )

    def of_levels(dataset, place):
        return (set_splits if len(distinct(dataset.X, place)[0]) <= levels else level_splits)(dataset, place)

    return splits_by_kind(dataset, bins, of_levels)


def sized(dataset, depth, **options):
    """Return the options of a search of this depth: without `levels` the number that is affordable."""
    counts = _levels(dataset)
    if "levels" in options or max(counts.values(), default=0) <= SINGLE:
        return options
    cells = [len(f.levels) if f.kind != NUMERIC else dataset.n_rows for f in dataset.features]
    n_classes = max(2, len(dataset.classes))
    rows = min(dataset.n_rows, prod(cells) * n_classes)  # equal rows are one
    others = sum(len(order_splits(dataset, at)) if f.ordered else 1 for at, f in enumerate(dataset.features))

    def steps(levels: int) -> float:
        sets = [2 ** (k - 1) - 1 for k in counts.values() if SINGLE < k <= levels]
        single = sum(k for k in counts.values() if not SINGLE < k <= levels)
        return float(rows) * (n_classes.bit_length() - 1) * _paths(others - len(counts) + single, sets, depth)

    tried = {SINGLE, *(k for k in counts.values() if SINGLE < k <= MOST_LEVELS)}
    most = max(steps(SINGLE) + MOST_STEPS, GROWTH * steps(SINGLE))
    return options | {"levels": max(levels for levels in tried if steps(levels) <= most)}


def _paths(n_others: int, sets: list[int], depth: int) -> float:
    """Return the number of sequences of D splits, D = `depth`, as D! times the coefficient of x^D in the product of the
    exponential generating functions of the columns."""
    length = np.arange(depth + 1.0)
    with np.errstate(all="ignore"):
        factorial = np.cumprod(np.maximum(length, 1.0))
        found = n_others**length / factorial
        for m in sets:  # m, then m · √m, then m · √m · ∜m, …
            found = np.convolve(found, m ** (2 - 2 ** (1 - length)) / factorial)[: depth + 1]
        return float(found[depth] * factorial[depth])


def remark(dataset, levels=None, bins=None):
    """Return the columns whose sets of levels are left out, except for columns that look like numbers or dates,
    because another note explains how to read them."""
    many = [dataset.features[at] for at, k in _levels(dataset).items() if k > (levels or SINGLE)]
    left_out = [feature.name for feature in many if not reads_otherwise(feature.levels)]
    if not left_out:
        return ""
    return (
        f"each split on {some(left_out)} separates one level from the others; {option('encoding', 'subsets')} divides "
        "the levels into two sets"
    )


def _levels(dataset: Dataset) -> dict[int, int]:
    """Return the number of levels of each column of unordered ones, by its position; a missing cell counts as one."""
    return {
        at: len(distinct(dataset.X, at)[0])
        for at, feature in enumerate(dataset.features)
        if feature.kind != NUMERIC and not feature.ordered
    }
