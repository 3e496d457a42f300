"""One column per level of every feature, whatever its type: x = a."""

from odtc.data.binary_splits.column_splits import level_splits

NAME = "onehot"
SUMMARY = "one column per level of every column, numbers too; one for two levels, none for a constant"
OPTIONS = {}


def splits(dataset):
    """Return (Subset or Missing, True) per level that occurs, feature by feature in level order."""
    return [split for feature in range(len(dataset.features)) for split in level_splits(dataset, feature)]
