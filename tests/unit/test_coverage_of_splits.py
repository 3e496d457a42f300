"""How many splits of the data a proof's tests leave out, against writing all sides of all splits down."""

import numpy as np
import polars as pl
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.data.reading import from_frame
from odtc.data.reading_spec import ReadingSpec
from odtc.data.table import coded_columns
from odtc.verification.coverage import count_left_out, words
from odtc.verification.threshold_columns import answered, left_of
from tests.threshold_problems import of_splits

NAMES = ("number", "level", "two", "ordered")


def drawn(seed: int) -> Dataset:
    """Numbers, levels, two levels and levels in an order, at random with missing cells that are asked for."""
    rng = np.random.default_rng(seed)
    n, separate = int(rng.integers(3, 12)), bool(seed % 2)
    X = np.stack([rng.integers(0, most, n) for most in (4, 3, 2, 4)], axis=1).astype(float)
    if separate:
        X[rng.random(X.shape) < 0.3] = np.nan
    few, more = ("a", "b"), ("a", "b", "c", "d")
    features = (
        Feature("number", "numeric"),
        Feature("level", "categorical", more[:3]),
        Feature("two", "categorical", few),
        Feature("ordered", "categorical", more, ordered=True),
    )
    missing = "separate" if separate else "drop"
    y = np.arange(n, dtype=np.int32) % 2
    return Dataset("d", X, y, features, ("p", "q"), np.ones(n), missing=missing)


def sides(dataset: Dataset, at: int) -> list:
    """Each split of a feature as its two sets of rows. Of one level and missing cells there are two in words, "it is
    this level" and "it is missing", that part the rows alike."""
    cells, feature = dataset.X[:, at], dataset.features[at]
    known = sorted(set(cells[~np.isnan(cells)].tolist()))
    if feature.has_order:
        masks = [cells <= value for value in known[:-1]]
    else:
        masks = [cells == value for value in known]
    if dataset.missing == "separate" and np.isnan(cells).any():
        masks.append(np.isnan(cells))
    elif len(masks) == 2 and not feature.has_order:
        del masks[1]  # it says what the first one says
    return [frozenset([mask.tobytes(), (~mask).tobytes()]) for mask in masks if 0 < mask.sum() < len(mask)]


@pytest.mark.parametrize("by_feature", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_is_what_no_test_parts_the_rows_as(seed, by_feature):
    rng, dataset = np.random.default_rng(seed), drawn(seed)
    every = [(name, split) for at, name in enumerate(NAMES) for split in sorted(sides(dataset, at), key=sorted)]
    asked = [one for one in every if rng.random() < 0.6] or every[:1]
    if not asked:
        return
    columns = [np.frombuffer(sorted(split)[int(rng.integers(2))], bool) for _, split in asked]
    columns.append(np.arange(dataset.n_rows) % 3 == 1)  # of no split, unless by chance
    of = [*(name for name, _ in asked), NAMES[int(rng.integers(4))]]
    told = {(name if by_feature else "", column.tobytes()) for name, column in zip(of, columns)}
    told |= {(name, (~np.frombuffer(column, bool)).tobytes()) for name, column in told}
    lacking = {}
    for at, name in enumerate(NAMES):
        own = sides(dataset, at)
        out = sum((name if by_feature else "", next(iter(split))) not in told for split in own)
        if out:
            lacking[name] = out, len(own)
    found = count_left_out(dataset, of_splits(np.array(columns)), of=of if by_feature else None)
    assert found == (sum(len(sides(dataset, at)) for at in range(4)), lacking)


def test_the_three_features_with_most_left_out_are_named_in_that_order():
    said = words(40, {"a": (1, 9), "b": (4, 9), "c": (3, 9), "d": (2, 9)})
    assert "10 of the 40" in said and "(b: 4 of 9, c: 3 of 9, d: 2 of 9, …)" in said
    assert "(b: 4 of 9, c: 3 of 9, d: 2 of 9)" in words(40, {"d": (2, 9), "c": (3, 9), "b": (4, 9)})
    assert words(40, {}).startswith("these include all 40 thresholds")


@pytest.mark.parametrize("most", [0, coded_columns.MOST_DENSE])
def test_a_test_is_asked_of_the_values_where_cells_are_coded(most, monkeypatch):
    """Numbers, levels and missing cells: the rows that go left are those of the table written out."""
    monkeypatch.setattr(coded_columns, "MOST_DENSE", most)
    a, c = pl.Series([0.5, None, 2.0, 0.5, 3.0, 2.0]), pl.Series(["u", "v", None, "w", "u", "v"])
    frame = pl.DataFrame({"a": a, "c": c, "y": list("pqpqpp")})
    data = from_frame(frame, "d", ReadingSpec(missing="separate"))
    assert isinstance(data.X, np.ndarray) == bool(most)
    asked = {
        ("threshold", "a", 1.0): a <= 1.0,
        ("missing", "a", None): a.is_null(),
        ("subset", "c", ("v",)): c == "v",
        ("subset", "c", ("u", "w")): c.is_in(["u", "w"]),
        ("subset", "c", ("z",)): c == "z",
    }
    for (kind, name, value), left in asked.items():
        test = {"kind": kind, "feature": name, "threshold": value, "values": value}
        assert left_of(test, data).tolist() == left.fill_null(False).to_list()


@pytest.mark.parametrize("codes", [None, np.array([0, 1, 1, 0], np.uint8)])
def test_a_question_is_asked_of_columns_with_codes_and_without(codes):
    cells = np.array([0.5, 2.0, np.nan, 1.0] if codes is None else [0.5, 2.0])
    own, other = coded_columns.CodedColumn(cells, codes), coded_columns.CodedColumn(np.arange(4.0))
    asked = []

    def ask(values):
        asked.append(len(values))
        return values <= 1.0

    table = coded_columns.CodedColumns([other, own])
    assert answered(table, 1, ask).tolist() == [True, False, False, True]
    assert asked == [4 if codes is None else 2]  # once a value
    assert answered(np.asarray(table), 1, ask).tolist() == [True, False, False, True]


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_column_without_a_value_has_no_split(kind):
    X = np.column_stack([np.full(6, np.nan), np.arange(6.0) % 2])
    features = (
        Feature("none", kind, () if kind == "numeric" else ("a", "b")),
        Feature("two", "categorical", ("a", "b")),
    )
    dataset = Dataset("d", X, np.arange(6, dtype=np.int32) % 2, features, ("p", "q"), np.ones(6), missing="separate")
    assert count_left_out(dataset, of_splits(np.array([X[:, 1] == 0]))) == (1, {})
