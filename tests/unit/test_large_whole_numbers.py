"""Whole numbers in memory that doubles cannot distinguish are refused, as in a file."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.errors import DataError

LARGE = 2**53 + np.array([0, 1, 2, 3] * 5)
LABELS = np.array(["a", "b"])[LARGE % 2]
WORDS = r"expected numbers that differ as doubles in column .* of X, got 90071992547409\d\d and, in row \d, "
TABLES = {
    "pandas": pd.DataFrame({"x": LARGE, "z": 1}),
    "pandas, nullable": pd.DataFrame({"x": pd.array(LARGE.tolist(), dtype="Int64"), "z": 1}),
    "pandas, unsigned": pd.DataFrame({"x": LARGE.astype(np.uint64), "z": 1}),
    "pandas, objects": pd.DataFrame({"x": pd.Series(LARGE.tolist(), dtype=object), "z": 1}),
    "pandas, with text": pd.DataFrame({"x": LARGE, "z": "p"}),
    "polars": pl.DataFrame({"x": LARGE, "z": np.ones(20)}),
    "array": np.column_stack([LARGE, LARGE]),
}


@pytest.mark.parametrize("name", TABLES)
def test_whole_numbers_that_are_one_double_are_refused(name):
    for learn in (
        lambda: odtc.fit(TABLES[name], LABELS, depth=2),
        lambda: odtc.OptimalTreeClassifier(2).fit(TABLES[name], LABELS),
    ):
        with pytest.raises((DataError, ValueError), match=WORDS if name != "polars" else "differ as doubles"):
            learn()


@pytest.mark.parametrize("name", ["pandas", "array"])
def test_large_whole_numbers_that_doubles_tell_apart_are_taken(name):
    table = pd.DataFrame({"x": 2 * LARGE - 2**53}) if name == "pandas" else (2 * LARGE - 2**53)[:, None]
    assert odtc.fit(table, LABELS, depth=2).facts["objective"] == 0
    assert odtc.OptimalTreeClassifier(2).fit(table, LABELS).objective_ == 0
