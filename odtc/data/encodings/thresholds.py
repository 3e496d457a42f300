"""One column per threshold of every feature, all of them numeric: x > t."""

from odtc.base.wording import option
from odtc.data.binary_splits.column_splits import BINS, threshold_splits
from odtc.data.dataset import NUMERIC
from odtc.data.splits import SplitList
from odtc.errors import DataError

NAME = "thresholds"
SUMMARY = "one column per threshold between neighbouring numbers; every column must be numeric"
OPTIONS = {"bins": BINS}


def splits(dataset, bins=None):
    """Return (Threshold, False) in rising order, feature by feature; (Missing, True) if cells are missing.

    Raises DataError for a column that is not numeric.
    """
    for feature in dataset.features:
        if feature.kind != NUMERIC:
            raise DataError(
                f"expected numeric columns only for {option('encoding', 'thresholds')}, got the {feature.kind} column "
                f"{feature.name!r} in {dataset.name!r}; use {option('encoding', 'auto')}, or "
                f"{option('numeric', [feature.name])} if it holds numbers"
            )
    return SplitList.joined(threshold_splits(dataset, feature, bins) for feature in range(len(dataset.features)))
