"""One column per level of every feature, whatever its type: x = a."""

from odtc.data.binary_tests.column_tests import level_tests

NAME = "onehot"
SUMMARY = "one column per level of every column, numbers too; one for two levels, none for a constant"
OPTIONS = {}


def tests(dataset):
    """Return (Subset or Missing, True) per level that occurs, feature by feature in level order."""
    return [test for feature in range(len(dataset.features)) for test in level_tests(dataset, feature)]
