"""Thresholds for numeric columns, one column per level for the others, per cut of the order of levels that have one."""

from odtc.data.binary_tests.column_tests import BINS, level_tests, order_tests, threshold_tests
from odtc.data.dataset import NUMERIC
from odtc.data.splits import TestList

NAME = "auto"
SUMMARY = "thresholds for numeric columns, one-hot for the others"
OPTIONS = {"bins": BINS}


def tests(dataset, bins=None):
    """Return the splits of `thresholds` or of `onehot`, by the type of each feature."""
    return TestList.joined(
        threshold_tests(dataset, place, bins)
        if feature.kind == NUMERIC
        else (order_tests if feature.ordered else level_tests)(dataset, place)
        for place, feature in enumerate(dataset.features)
    )
