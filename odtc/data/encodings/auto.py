"""Thresholds for numeric columns, one column per level for the others, per cut of the order of levels that have one."""

from odtc.data.binary_splits.column_splits import BINS, level_splits, order_splits, threshold_splits
from odtc.data.dataset import NUMERIC
from odtc.data.splits import SplitList

NAME = "auto"
SUMMARY = "thresholds for numeric columns, one-hot for the others"
OPTIONS = {"bins": BINS}


def splits(dataset, bins=None):
    """Return the splits of `thresholds` or of `onehot`, by the type of each feature."""
    return SplitList.joined(
        threshold_splits(dataset, place, bins)
        if feature.kind == NUMERIC
        else (order_splits if feature.ordered else level_splits)(dataset, place)
        for place, feature in enumerate(dataset.features)
    )
