"""Encodings: every column is its split on the raw rows, weights are kept, and nothing is there twice."""

import pickle
import re
import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.base import memory
from odtc.data import encoding
from odtc.data.binary_splits.column_splits import _rounded, midpoints
from odtc.data.dataset import BOOLEAN, CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.encoding import ENCODINGS, encode
from odtc.data.ranked_answers import RankedAnswers
from odtc.data.reading import from_frame, read
from odtc.data.reading_spec import ReadingSpec
from odtc.data.splits import Missing, Subset, Threshold
from odtc.errors import ChoiceError, DataError, ModelError

LEVELS = ("a", "b", "c")


def made(columns, y=None, weight=None, kinds=None, missing="drop"):
    """A small Dataset from columns of numbers."""
    X = np.array(columns, dtype=float).T.reshape(-1, len(columns))
    kinds = kinds or [NUMERIC] * len(columns)
    features = tuple(Feature(f"x{j}", kind, () if kind == NUMERIC else LEVELS) for j, kind in enumerate(kinds))
    y = np.zeros(len(X), dtype=np.int32) if y is None else np.array(y, dtype=np.int32)
    weight = np.ones(len(X)) if weight is None else np.array(weight, dtype=float)
    return Dataset("made", X, y, features, ("p", "q", "r"), weight, missing=missing)


@st.composite
def datasets(draw, kinds=(NUMERIC, CATEGORICAL)):
    rows = draw(st.integers(2, 12))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    codes = st.sampled_from([0.0, 1.0, 2.0, np.nan])
    numbers = st.sampled_from([-1.5, 0.0, 0.1, 2.0, 1e308, np.nan]) | st.floats(allow_infinity=False)
    columns = [draw(st.lists(numbers if kind == NUMERIC else codes, min_size=rows, max_size=rows)) for kind in chosen]
    y = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    weight = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=rows, max_size=rows))
    return made(columns, y, weight, chosen, "separate")


SCHEMES = st.sampled_from(["auto", "onehot", "auto:bins=2", "auto:bins=3", "subsets", "subsets:levels=2"])


def encoded_or_none(dataset, scheme):
    try:
        return encode(dataset, scheme)
    except DataError as problem:
        assert "constant" in str(problem)
        return None


@given(datasets(), SCHEMES)
def test_every_column_is_its_split_on_the_data_rows(dataset, scheme):
    encoded = encoded_or_none(dataset, scheme)
    if encoded is None:
        return
    for j, (split, ones_left) in enumerate(zip(encoded.splits, encoded.ones_left)):
        np.testing.assert_array_equal(encoded.X[encoded.row_of, j], split.left(dataset.X) == ones_left)
    np.testing.assert_array_equal(encoded.y[encoded.row_of], dataset.y)


@given(datasets(), SCHEMES)
def test_rows_and_weights_are_kept_and_no_row_is_there_twice(dataset, scheme):
    encoded = encoded_or_none(dataset, scheme)
    if encoded is None:
        return
    np.testing.assert_array_equal(encoded.copies, np.bincount(encoded.row_of))
    np.testing.assert_allclose(encoded.weight, np.bincount(encoded.row_of, dataset.weight))
    assert len(np.unique(np.column_stack([encoded.X, encoded.y]), axis=0)) == encoded.n_rows
    # The merged rows stand in the order in which they first appear.
    first = np.unique(encoded.row_of, return_index=True)[1]
    assert (np.diff(first) > 0).all()


@given(datasets(), SCHEMES)
def test_kept_and_merged_columns_are_all_that_were_asked(dataset, scheme):
    module, options = ENCODINGS.parse(scheme)
    asked = module.splits(dataset, **options)
    encoded = encoded_or_none(dataset, scheme)
    lefts = [split.left(dataset.X) for split, _ in asked]
    constant = sum(left.all() or not left.any() for left in lefts)
    if encoded is None:
        assert constant == len(asked)
        return
    assert encoded.n_candidate_splits + sum(map(len, encoded.stands_for)) + constant == len(asked)
    ones_left = dict(asked)
    for j, merged in enumerate(encoded.stands_for):
        column = encoded.X[encoded.row_of, j]
        assert column.any() and not column.all()
        for split, identical in merged:
            other = split.left(dataset.X) == ones_left[split]
            np.testing.assert_array_equal(other if identical else ~other, column)
    columns = {tuple(column) for column in encoded.X.T} | {tuple(~column) for column in encoded.X.T}
    assert len(columns) == 2 * encoded.n_candidate_splits


@given(datasets(), SCHEMES, st.data())
def test_find_gives_the_test_of_the_same_partition(dataset, scheme, data):
    encoded = encoded_or_none(dataset, scheme)
    if encoded is None:
        return
    feature = data.draw(st.integers(0, dataset.X.shape[1] - 1))
    value = data.draw(st.sampled_from(list(dataset.X[:, feature])))
    threshold = data.draw(st.floats(-3, 3)) if np.isnan(value) else value
    values = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, value]), max_size=3).map(tuple))
    for split in (Threshold(feature, threshold), Subset(feature, values), Missing(feature), *encoded.splits):
        left = split.left(dataset.X)
        same = [
            (j, bool((encoded.X[encoded.row_of, j] == ~left).all()))
            for j in range(encoded.n_candidate_splits)
            if (encoded.X[encoded.row_of, j] == left).all() or (encoded.X[encoded.row_of, j] == ~left).all()
        ]
        assert encoded.find(split) == (same[0] if same else None)


@given(datasets(), SCHEMES)
def test_asked_tests_are_found(dataset, scheme):
    encoded = encoded_or_none(dataset, scheme)
    for j in range(encoded.n_candidate_splits if encoded else 0):
        assert encoded.find(encoded.splits[j]) == (j, not encoded.ones_left[j])
        for split, _ in encoded.stands_for[j]:
            assert encoded.find(split)[0] == j


def test_find_needs_the_data():
    encoded = encode(made([[1, 2]], [0, 1]))
    bare = replace(encoded, dataset=None)
    with pytest.raises(DataError, match="without data"):
        bare.find(Threshold(0, 1.5))
    assert encoded.find(Subset(0, (2.0,))) == (0, False)
    assert encoded.find(Threshold(0, 7.0)) is None


def test_arrays_are_read_only_and_typed():
    encoded = encode(made([[1, 2, 2]], [0, 1, 1], [1, 2, 3]))
    for array, dtype in (
        (encoded.X, bool),
        (encoded.y, np.int32),
        (encoded.weight, float),
        (encoded.copies, np.int64),
        (encoded.row_of, np.int64),
        (encoded.ones_left, bool),
    ):
        assert array.dtype == dtype and not array.flags.writeable
    assert encoded.X.shape == (encoded.n_rows, encoded.n_candidate_splits) == (2, 1)
    np.testing.assert_array_equal(encoded.weight, [1, 5])


def test_onehot_levels():
    nan = np.nan
    dataset = made(
        [[0, 1, 2, 0], [0, 2, 2, 2], [5, 5, 5, 5], [0, 1, nan, 0], [1, nan, 1, 1]],
        kinds=[CATEGORICAL, BOOLEAN, NUMERIC, CATEGORICAL, NUMERIC],
        missing="separate",
    )
    splits = [split for split, ones_left in ENCODINGS.get("onehot").splits(dataset) if ones_left]
    assert splits == [
        *(Subset(0, (float(v),)) for v in range(3)),
        Subset(1, (2.0,)),  # level 1 does not occur: two levels, one test, of the second
        Subset(3, (0.0,)),
        Subset(3, (1.0,)),
        Missing(3),
        Missing(4),  # one level and the missing cells are two levels
    ]


def test_thresholds_are_midpoints():
    dataset = made([[3, 1, 2, 1], [7, 7, 7, 7], [1, np.nan, 2, 2]], missing="separate")
    assert ENCODINGS.get("thresholds").splits(dataset) == [
        (Threshold(0, 1.5), False),
        (Threshold(0, 2.5), False),
        (Threshold(2, 1.5), False),
        (Missing(2), True),
    ]
    encoded = encode(dataset, "thresholds")
    np.testing.assert_array_equal(encoded.X[encoded.row_of, 0], dataset.X[:, 0] > 1.5)


@given(st.sets(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
def test_a_midpoint_parts_its_neighbours(numbers):
    values = np.array(sorted(numbers))
    cuts = midpoints(values)
    assert np.isfinite(cuts).all() and (values[:-1] <= cuts).all() and (cuts < values[1:]).all()


def test_midpoints_at_the_edges_of_doubles():
    one = np.nextafter(1.0, 2.0)
    np.testing.assert_array_equal(midpoints(np.array([1.0, one])), [1.0])
    np.testing.assert_array_equal(midpoints(np.array([2.8, 2.9, 3.0])), [2.85, 2.95])
    np.testing.assert_array_equal(midpoints(np.array([1e308, 1.5e308])), [1.25e308])
    np.testing.assert_array_equal(midpoints(np.array([-5e-324, 0.0, 5e-324])), [-5e-324, 0.0])


@given(st.integers(-(10**6), 10**6), st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_numbers_that_differ_past_the_twelfth_digit_are_kept_apart(whole, steps):
    """A threshold is told in twelve digits only if it still stands between its neighbours."""
    values = np.unique(whole + 1e-13 * max(1, abs(whole)) * np.cumsum(steps))
    cuts = midpoints(values)
    assert (values[:-1] <= cuts).all() and (cuts < values[1:]).all()
    column = values[:, None]
    dataset = Dataset(
        "d",
        column,
        np.arange(len(values), dtype=np.int32) % 2,
        (Feature("f", "numeric"),),
        ("n", "p"),
        np.ones(len(values)),
    )
    if len(values) > 1:
        encoded = encode(dataset, "thresholds")
        assert (encoded.n_rows, encoded.n_candidate_splits) == (len(values), len(values) - 1)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.integers(2, 8))
def test_bins_choose_few_of_all_thresholds(values, bins):
    dataset = made([values])
    module = ENCODINGS.get("thresholds")
    every, some = module.splits(dataset), module.splits(dataset, bins=bins)
    assert set(some) <= set(every) and some == sorted(some, key=lambda test: test[0].threshold)
    assert min(1, len(every)) <= len(some) <= bins - 1


def test_bins_cut_at_quantiles():
    dataset = made([range(100), [0] + [1] * 99])
    module = ENCODINGS.get("auto")
    cuts = [split for split, _ in module.splits(dataset, bins=4)]
    assert cuts == [Threshold(0, 24.5), Threshold(0, 49.5), Threshold(0, 74.5), Threshold(1, 0.5)]


def test_thresholds_refuse_words():
    with pytest.raises(DataError, match='encoding="auto", or numeric=."x1"'):
        encode(made([[1, 2], [0, 1]], kinds=[NUMERIC, CATEGORICAL]), "thresholds")


def test_scheme_texts():
    assert ENCODINGS.parse("thresholds:bins=8") == (ENCODINGS.get("thresholds"), {"bins": 8})
    assert ENCODINGS.parse("auto : bins = 3 ") == (ENCODINGS.get("auto"), {"bins": 3})
    assert ENCODINGS.parse("onehot") == (ENCODINGS.get("onehot"), {})


@pytest.mark.parametrize(
    "scheme, words",
    {
        "onehott": "did you mean 'onehot'",
        "auto:bin=3": "did you mean 'bins'",
        "onehot:bins=3": "it has none",
        "auto:": "got nothing; leave the sign out",
        "auto:bins": "got ''",
        "auto:bins=x": "type int",
        "auto:bins=2.5": "'2.5'",
        "auto:bins=1": "bins of 2 or more",
        "thresholds:bins=-4": "bins=-4",
    }.items(),
)
def test_wrong_schemes(scheme, words):
    with pytest.raises(ChoiceError, match=re.escape(words)):
        encode(made([[1, 2]]), scheme)


@pytest.mark.parametrize("scheme", ["auto", "onehot", "thresholds", "sampled"])
def test_no_usable_column(scheme):
    with pytest.raises(DataError, match="constant"):
        encode(made([[1, 1], [2, 2]], [0, 1]), scheme)


def test_more_cells_than_a_model_can_have(monkeypatch):
    monkeypatch.setattr("odtc.data.ranked_answers.MOST_CELLS", 10)
    with pytest.raises(DataError, match="auto:bins=16"):
        encode(made([range(9)]))


def test_many_features_do_not_overflow_the_row_numbers():
    # With four values each, 90 features make numbers of 180 bits; here only the first tells rows apart.
    X = np.tile([[0], [1], [2], [3], [1]], 90)
    X[:, 1:] = [[0], [1], [2], [3], [0]]
    X = np.vstack([X, [[3, *[0] * 89]], X])
    encoded = encode(made(list(X.T)), "onehot")
    np.testing.assert_array_equal(encoded.row_of, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4])


PUBLISHED = re.compile(r"^\|[^|]*\| (\S+)\.csv \| \d+/(\d+) .*FlowOCT \*_enc\.csv: (\d+) binary columns", re.MULTILINE)


def test_onehot_makes_the_published_columns(shared_data):
    """The counts of the FlowOCT repository's *_enc.csv files, before equal columns are merged."""
    published = PUBLISHED.findall((shared_data / "INDEX.md").read_text())
    assert len(published) >= 10
    for name, rows, columns in published:
        dataset = read(shared_data / f"{name}.csv")
        tests = ENCODINGS.get("onehot").splits(dataset)
        assert (dataset.n_rows, len(tests)) == (int(rows), int(columns)), name
        encoded = encode(dataset, "onehot")
        assert encoded.n_candidate_splits + sum(map(len, encoded.stands_for)) == len(tests), name
        assert encoded.copies.sum() == dataset.n_rows


def test_monks_1_keeps_all_of_its_columns(shared_data):
    encoded = encode(read(shared_data / "monks-1.csv"), "onehot")
    assert (encoded.n_rows, encoded.n_candidate_splits) == (124, 15)


def test_skin_thresholds(shared_data):
    encoded = encode(read(shared_data / "skin-segmentation.csv.gz"), "thresholds")
    assert (encoded.n_rows, encoded.n_candidate_splits, encoded.copies.sum()) == (51444, 765, 245057)


@given(dataset=datasets(), seed=st.integers(0, 3))
def test_sampled_thresholds_are_some_of_all_and_hold_those_of_cart(dataset, seed):
    from sklearn.tree import DecisionTreeClassifier

    sampled = ENCODINGS.get("sampled")
    found = sampled.splits(dataset, depth=2, samples=3, seed=seed)
    assert found == sampled.splits(dataset, depth=2, samples=3, seed=seed)
    every = ENCODINGS.get("auto").splits(dataset)
    assert [test for test in every if test in found] == found
    used = dataset.weight > 0
    if not used.any() or any(feature.kind != NUMERIC for feature in dataset.features) or np.isnan(dataset.X).any():
        return
    # Its thresholds are ranks between those of two rows; CART on the numbers parts the rows as some test does.
    ranks = np.column_stack([np.unique(column, return_inverse=True)[1] for column in dataset.X.T])
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        ranks[used], dataset.y[used], sample_weight=dataset.weight[used]
    )
    for column, threshold in zip(model.tree_.feature, model.tree_.threshold):
        if column >= 0:
            left = ranks[:, column] <= threshold
            assert any((split.left(dataset.X) == left).all() for split, _ in found if split.feature == column)


@pytest.mark.parametrize(
    "rows, said",
    [
        (1, r"got 100,000 of the column 'code' in 100,000 rows.*or leave the column out \(`ignore`\)"),
        (2, r"100,000 different values of the column 'code'; leave it out"),
    ],
)
def test_a_column_of_very_many_levels_is_refused_before_its_table_is_made(rows, said):
    """A hundred thousand levels were ten thousand million cells, in 8 GB and more than a minute."""
    n = 100_000
    X, y = np.tile(np.arange(n, dtype=float), rows)[:, None], (np.arange(rows * n) % 2).astype(np.int32)
    code = Feature("code", "categorical", tuple(f"L{level}" for level in range(n)))
    dataset = Dataset("drawn", X, y, (code,), ("0", "1"), np.ones(len(y)), "y")
    with pytest.raises(DataError, match=said):
        encode(dataset)


@given(
    st.lists(st.one_of(st.floats(), st.integers(-(10**13), 10**13).map(lambda n: n / 2**9)), min_size=1, max_size=40)
)
def test_numbers_of_twelve_digits_are_those_of_their_text(numbers):
    written = [float(f"{number:.12g}") for number in numbers]
    np.testing.assert_array_equal(_rounded(np.array(numbers)), np.array(written))


def test_halves_of_the_twelfth_digit_are_rounded_as_in_their_text():
    halves = np.concatenate([[n + 0.5, (n + 0.5) / 8, (n + 0.5) / 1000] for n in range(10**11, 10**11 + 50)])
    np.testing.assert_array_equal(_rounded(halves), np.array([float(f"{half:.12g}") for half in halves.tolist()]))


def test_what_is_worked_out_of_rows_is_not_carried_to_other_rows():
    encoded = encode(read("examples/monks/monks-1.csv"))
    assert encoded.derived("a", lambda: 1) == 1 == encoded.derived("a", lambda: 2)
    assert replace(encoded, weight=2 * encoded.weight).derived("a", lambda: 2) == 2


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), dense=st.booleans())
def test_ranks_of_values_encode_as_the_dense_table(seed, dense):
    """Numbers with ties and gaps, levels, rows and columns that come twice: by ranks, and by a column for each test."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    numbers = rng.integers(0, int(rng.integers(2, 30)), (n, 3)) / 4
    ordered_alike = -numbers[:, 0], 3 * numbers[:, 0], np.floor(numbers[:, 0] / 2), numbers[:, 2]
    numbers[:, 2] = ordered_alike[seed % 4]
    cells = {f"n{j}": [None if rng.random() < 0.1 else value for value in numbers[:, j].tolist()] for j in range(3)}
    cells["w"] = [f"l{k}" for k in rng.integers(0, 5, n)]
    frame = pl.DataFrame(cells | {"y": [0, 1, *rng.integers(0, 2, n - 2).tolist()]})
    with pytest.MonkeyPatch.context() as patch:
        if not dense:
            patch.setattr("odtc.data.table.coded_columns.MOST_DENSE", 0)
        dataset = from_frame(frame, "frame", ReadingSpec(missing="separate"))
        found = []
        for many in (10**9, 0):
            patch.setattr(encoding, "RANKED_SPLITS", many)
            patch.setattr(encoding, "MIN_RANKED_CELLS", 0)
            try:
                found.append(encode(dataset, "auto", by_column=seed % 5 == 0))
            except DataError as problem:
                found.append(str(problem))
    plain, ranked = found
    if isinstance(plain, str):
        assert plain == ranked
        return
    assert isinstance(ranked.X, RankedAnswers) and isinstance(plain.X, np.ndarray)
    assert ranked.X.shape == plain.X.shape and (np.asarray(pickle.loads(pickle.dumps(ranked.X))) == plain.X).all()
    assert (np.asarray(ranked.X) == plain.X).all() and ranked.stands_for == plain.stands_for
    assert [str(test) for test in ranked.splits] == [str(test) for test in plain.splits]
    for name in ("y", "copies", "weight", "row_of"):
        assert (getattr(ranked, name) == getattr(plain, name)).all()


def test_a_column_of_names_of_rows_is_refused_before_its_tests_are_asked(monkeypatch):
    """And not the column of numbers beside it, which is none."""
    monkeypatch.setattr(encoding, "MOST_OF_LEVELS", 900)
    n = 40
    frame = {
        "num": [at / 8 for at in range(n)],
        "name": [*map(str, range(n - 1)), "foo"],
        "y": [at % 2 for at in range(n)],
    }
    with pytest.raises(
        DataError, match="got 40 of the column 'name' in 40 rows; all but 1 are numbers .not 'foo'.*`ignore`"
    ):
        encode(from_frame(pl.DataFrame(frame), "frame"))
    frame["name"] = [f"row {at}" for at in range(n)]
    with pytest.raises(
        DataError, match="got 40 of the column 'name' in 40 rows: each level is a split; put them into groups"
    ):
        encode(from_frame(pl.DataFrame(frame), "frame"))
    frame["name"] = [f"level {at % 20}" for at in range(n)]
    assert encode(from_frame(pl.DataFrame(frame), "frame")).n_candidate_splits == n - 1 + 20


def of_many_classes(n_rows: int = 2000, n_classes: int = 400):
    """An encoding of rows of many classes with weights."""
    cells = np.arange(n_rows) % 7.0
    labels, classes = np.arange(n_rows, dtype=np.int32) % n_classes, tuple(map(str, range(n_classes)))
    weight = 1.0 + np.arange(n_rows) % 3
    return encode(Dataset("d", cells[:, None], labels, (Feature("a", NUMERIC),), classes, weight, "y"))


def test_what_each_class_costs_on_each_row_is_one_table():
    """It was two for a moment: 720 MB of 30,000 rows of 1,500 classes."""
    encoded = of_many_classes()
    tracemalloc.start()
    loss = encoded.loss
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loss.nbytes <= peak < 1.5 * loss.nbytes
    for row in (0, 1, 57, len(loss) - 1):
        wanted = np.full(400, encoded.weight[row])
        wanted[encoded.y[row]] = 0.0
        assert (loss[row] == wanted).all()


def test_costs_of_classes_that_are_larger_than_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    with pytest.raises(ModelError, match="the costs of 400 classes on 2,000 rows would take about .* GiB"):
        of_many_classes().loss  # noqa: B018


@pytest.mark.parametrize(
    ("text", "meant"), [("bins=4", "auto:bins=4"), (" bins = 4", "auto:bins = 4"), ("size=3", "NAME:size=3")]
)
def test_options_without_the_name_of_an_encoding_say_where_it_stands(text, meant):
    with pytest.raises(ChoiceError) as said:
        ENCODINGS.parse(text)
    assert f"before its options, as {meant}, got" in str(said.value)
