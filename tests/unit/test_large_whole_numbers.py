"""Large whole numbers: those that doubles cannot distinguish are refused, in memory as in a file."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.errors import DataError
from odtc.evaluation.predicting import predict_file

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


def test_large_whole_labels_and_levels_are_written_as_in_the_data(tmp_path):
    """The doubles from 10^15 on print as 1000000000000000.0."""
    rows = [(10**15 + at % 3, "pq"[at % 2], 4 * 10**15 + at % 2) for at in range(12)]
    text = "\n".join(["code,w,y", *(",".join(map(str, row)) for row in rows)])
    (tmp_path / "t.csv").write_text(text)
    fit = odtc.fit(tmp_path / "t.csv", depth=1, categorical=["code"])
    assert fit.tree.classes == ("4000000000000000", "4000000000000001")
    assert fit.tree.features[0].levels == tuple(str(10**15 + at) for at in range(3))
    assert set(predict_file(fit.tree, tmp_path / "t.csv", keep=True).predictions) == set(fit.tree.classes)
    namespace: dict = {}
    exec(odtc.export(fit, "python"), namespace)
    assert namespace["predict"]({"code": "1000000000000001", "w": "q"}) == 4 * 10**15 + 1
