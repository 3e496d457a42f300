"""Thresholds for numeric columns, cuts of ordered levels, and for the others one split per level or per set of levels.

A column of at most `levels` levels has every set of them, up to its complement: 2^(k-1) - 1 splits for k levels; a
column of more levels has one split per level. For k up to 3 these are the same splits.

A search of depth D takes about n · s^D · log2 K steps: n rows, K classes (or numbers of which a median is one), and s
scales, which are the numeric columns, each with all of its thresholds, and each other split. A search without a model
takes the largest `levels` up to 8 for which all sets add at most MOST_STEPS of them, or at most double their number.
"""

from math import prod

from odtc.base.text import some
from odtc.base.wording import option
from odtc.data.binary_splits.column_splits import BINS, level_splits, order_splits, set_splits, threshold_splits
from odtc.data.coded_columns import distinct
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.splits import SplitList
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
    return SplitList.joined(_of_column(dataset, place, levels, bins) for place in range(len(dataset.features)))


def sized(dataset, depth, **options):
    """Return the options of a search of this depth: without `levels` the number that is affordable."""
    counts = _levels(dataset)
    if "levels" in options or max(counts.values(), default=0) <= SINGLE:
        return options
    cells = [len(f.levels) if f.kind != NUMERIC else dataset.n_rows for f in dataset.features]
    n_classes = max(2, len(dataset.classes))
    rows = min(dataset.n_rows, prod(cells) * n_classes)  # equal rows are one
    scales = [len(order_splits(dataset, at)) if f.ordered else 1 for at, f in enumerate(dataset.features)]

    def steps(levels: int) -> int:
        n_scales = sum(scales) + sum(_n_splits(k, levels) - 1 for k in counts.values())
        return rows * n_scales**depth * (n_classes.bit_length() - 1)

    single = steps(SINGLE)
    tried = {SINGLE, *(k for k in counts.values() if SINGLE < k <= MOST_LEVELS)}
    able = [levels for levels in tried if steps(levels) <= max(single + MOST_STEPS, GROWTH * single)]
    return options | {"levels": max(able)}


def _n_splits(n: int, levels: int) -> int:
    """Return the number of splits on a column of n levels, if columns of at most `levels` have all sets."""
    return 2 ** (n - 1) - 1 if n <= levels else n


def remark(dataset, levels=None, bins=None):
    """Return the columns whose sets of levels a search leaves out."""
    left_out = [dataset.features[at].name for at, k in _levels(dataset).items() if levels and k > max(levels, SINGLE)]
    if not left_out:
        return ""
    return f"splits on {some(left_out)} take one level each; {option('encoding', 'subsets')} takes sets of levels"


def _levels(dataset: Dataset) -> dict[int, int]:
    """Return the number of levels of each column of unordered ones, by its position; a missing cell counts as one."""
    return {
        at: len(distinct(dataset.X, at)[0])
        for at, feature in enumerate(dataset.features)
        if feature.kind != NUMERIC and not feature.ordered
    }


def _of_column(dataset: Dataset, place: int, levels: int, bins: int | None):
    feature = dataset.features[place]
    if feature.kind == NUMERIC:
        return threshold_splits(dataset, place, bins)
    if feature.ordered:
        return order_splits(dataset, place)
    return (set_splits if len(distinct(dataset.X, place)[0]) <= levels else level_splits)(dataset, place)
