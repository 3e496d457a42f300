"""A table read frame by frame as codes: the data set and the distinct rows of the table in memory."""

import csv
import io
import string

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.equal_rows import equal_rows
from odtc.data import reading
from odtc.data.encoding import encode
from odtc.data.reading import from_frame, read
from odtc.data.table import coded_columns, column_coding
from odtc.data.table.coded_columns import CodedColumn, CodedColumns, distinct, table_of_columns
from odtc.errors import DataError, OdtcError

CELLS = st.one_of(
    st.sampled_from(["", "?", "NA", " 7 ", "00123", "123", "1.0", "1", "-0", "0", "true", "9007199254740993", "1e300"]),
    st.integers(-3, 3).map(str),
    st.floats(-1e3, 1e3, width=32).map(str),
    st.text(string.ascii_letters + " ,;\"'\n\ré", min_size=1, max_size=4),
)


@st.composite
def tables(draw):
    """Columns of numbers, words and both, with a target of three labels at the end."""
    n = draw(st.integers(2, 40))
    pools = [draw(st.lists(CELLS, min_size=1, max_size=6)) for _ in range(draw(st.integers(1, 3)))]
    numbers = draw(st.lists(st.integers(-50, 50).map(lambda k: str(k / 4)), min_size=n, max_size=n))
    columns = [numbers] + [draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n)) for pool in pools]
    columns.append(draw(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=n, max_size=n)))
    return [[f"x{j}" for j in range(len(columns))], *map(list, zip(*columns))]


def written(path, rows, end, delimiter, mark):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, delimiter=delimiter).writerows(rows)
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.getvalue().encode())
    return path


def result(path, missing):
    try:
        return read(path, missing=missing)
    except OdtcError as problem:
        return str(problem)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(",;"), st.booleans(), st.data())
def test_small_frames_and_codes_give_the_data_set_of_the_whole_table(rows, end, delimiter, mark, draw):
    """Pieces of a few bytes, columns without words from 3 words on, and no dense table."""
    import tempfile
    from pathlib import Path

    missing = draw.draw(st.sampled_from(["drop", "separate", "error"]))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = written(Path(folder) / "t.csv", rows, end, delimiter, mark)
        whole = result(path, missing)
        size = draw.draw(st.integers(1, 200))
        pieces = reading.frames_of
        patch.setattr(reading, "frames_of", lambda path, most, layout=None: pieces(path, size))
        patch.setattr(column_coding, "MOST_WORDS", 3)
        patch.setattr(coded_columns, "MOST_DENSE", 0)
        patch.setattr(coded_columns, "ROWS_AT_ONCE", draw.draw(st.sampled_from([1, 3, 2**16])))
        coded = result(path, missing)
    if isinstance(whole, str):
        assert coded == whole
        return
    assert isinstance(coded.X, CodedColumns) and isinstance(whole.X, np.ndarray)
    assert (coded.features, coded.classes, coded.source) == (whole.features, whole.classes, whole.source)
    assert (coded.n_dropped, coded.n_unlabelled) == (whole.n_dropped, whole.n_unlabelled)
    for name in ("X", "y", "weight"):
        np.testing.assert_array_equal(np.asarray(getattr(coded, name)), getattr(whole, name))
    same_encoding(coded, whole, "auto")
    same_encoding(coded, whole, "auto:bins=3")


def same_encoding(one, other, scheme):
    try:
        wanted = encode(other, scheme)
    except DataError as problem:
        with pytest.raises(DataError) as found:
            encode(one, scheme)
        assert str(found.value) == str(problem)
        return
    found = encode(one, scheme)
    assert found.splits == wanted.splits and found.stands_for == wanted.stands_for
    for name in ("X", "y", "weight", "copies", "row_of"):
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.sampled_from([0.5, np.nan, 7.0])), min_size=1, max_size=30), st.data())
def test_it_is_indexed_as_the_array_is(rows, draw):
    dense = np.array(rows, float)
    columns = []
    for cells in dense.T:
        values, code = np.unique(cells, return_inverse=True)
        shuffled = draw.draw(st.permutations(range(len(values) + 1)))  # any order, and a value without a row
        table = np.append(values, 99.0)[np.array(shuffled)]
        columns.append(CodedColumn(table, np.argsort(shuffled)[code]))
    columns[0] = CodedColumn(dense[:, 0].copy())  # held as numbers
    coded = CodedColumns(columns)
    at = np.array(draw.draw(st.lists(st.integers(0, len(dense) - 1), max_size=5)), int)
    mask = np.zeros(len(dense), bool)
    mask[at] = True
    for key in (0, -1, slice(1, None), at, mask, (slice(None), 1), (at, 1), (mask, 0), (0, 1), (at, slice(0, 1))):
        np.testing.assert_array_equal(coded[key], dense[key])
    for key in (
        (slice(None), [1, 0]),
        (slice(None), np.array([True, False])),
        (at[:2], np.array([1, 0])[: len(at[:2])]),
    ):
        np.testing.assert_array_equal(coded[key], dense[key])
    np.testing.assert_array_equal(np.isnan(coded), np.isnan(dense))
    assert coded.shape == dense.shape and len(coded) == len(dense)
    for j in range(2):
        for found, wanted in zip(distinct(coded, j), np.unique(dense[:, j], return_inverse=True)):
            np.testing.assert_array_equal(found, wanted)


def test_many_numbers_are_held_as_numbers_until_a_word_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(column_coding, "MOST_WORDS", 10)
    rows = "".join(f"{k},00{k % 5},{'ab'[k % 2]}\n" for k in range(400))
    path = tmp_path / "t.csv"
    path.write_text("x,z,y\n" + rows)
    pieces = reading.frames_of
    read_again = []
    monkeypatch.setattr(
        reading, "frames_of", lambda path, most, layout=None: read_again.append(path) or pieces(path, 500)
    )
    are_numbers, dataset_of = [], reading.dataset_of

    def recorded(columns, *rest):
        are_numbers.extend(column.values is not None for column in columns)
        return dataset_of(columns, *rest)

    monkeypatch.setattr(reading, "dataset_of", recorded)
    read(path)
    assert are_numbers == [True, False, False] and len(read_again) == 1
    path.write_text("x,z,y\n" + rows + "many,001,a\n")
    data = read(path)
    assert data.features[0].kind == "categorical" and len(data.features[0].levels) == 401 and len(read_again) == 3
    path.write_text("x,z,y\n" + rows + "9007199254740993,1,a\n9007199254740992,1,b\n")
    with pytest.raises(DataError, match=r"got 9007199254740993 and, in row 402, 9007199254740992, beyond 2\^53"):
        read(path)


@pytest.mark.parametrize("least", [0, 2**13])
def test_parquet_in_row_groups_is_the_same_as_its_table(tmp_path, monkeypatch, least):
    random = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "i": random.integers(-5, 5, 300),
            "f": np.where(random.random(300) < 0.1, np.nan, random.integers(0, 40, 300) / 8),
            "s": pl.Series([["a", " a", None, "?", "b"][k] for k in random.integers(0, 5, 300)]),
            "c": pl.Series([["1", "2"][k] for k in random.integers(0, 2, 300)]).cast(pl.Categorical),
            "b": random.random(300) < 0.5,
            "y": random.integers(0, 3, 300),
        }
    )
    table.write_parquet(tmp_path / "t.parquet", row_group_size=50)
    whole = from_frame(table, "t", reading.ReadingSpec(missing="separate"))
    pieces = reading.frames_of
    monkeypatch.setattr(reading, "frames_of", lambda path, most, layout=None: pieces(path, 1000))
    monkeypatch.setattr(column_coding, "MOST_WORDS", 12)
    monkeypatch.setattr(column_coding, "LEAST_CELLS", least)
    data = read(tmp_path / "t.parquet", missing="separate")
    assert data.features == whole.features and data.classes == whole.classes
    np.testing.assert_array_equal(data.X, whole.X)
    np.testing.assert_array_equal(data.y, whole.y)


def test_a_large_table_is_coded_in_a_byte_a_cell():
    code = np.arange(coded_columns.MOST_DENSE + 1) % 200
    table = table_of_columns([CodedColumn(np.arange(200.0), code)], len(code))
    assert isinstance(table, CodedColumns) and table.columns[0].code.dtype == np.uint8
    assert table.columns[0].code.nbytes == len(code)


def test_rows_that_all_differ_need_no_further_columns():
    """Two columns that overflow together, and a third that nobody may look at."""
    n, many = 5, 2**40
    codes = np.arange(n) * 7 % many

    def parts():
        yield codes, many
        yield codes[::-1].copy(), many
        raise AssertionError("a column more was asked for")

    kind, first = equal_rows(parts())
    assert kind.tolist() == first.tolist() == list(range(n))


@pytest.mark.parametrize(
    "cells",
    [[], [1], [0, 0], [1, 0, 1], [0, 1, 2], [np.inf, -1, np.inf], [0, np.nan], [np.nan, 1, 0], [-0.0, 0.0, 1.0]],
    ids=str,
)
def test_two_values_are_told_as_by_a_sort(cells):
    column = np.array(cells, float)
    values, code = distinct(column[:, None], 0)
    expected, places = np.unique(column, return_inverse=True)
    assert np.array_equal(values, expected, equal_nan=True) and code.tolist() == places.tolist()
    assert (coded_columns.two_values(column) is None) == (len(expected) != 2 or bool(np.isnan(column).any()))


def test_a_tree_lays_out_the_columns_that_it_asks(monkeypatch):
    """A table of bytes may be ten times as large as numbers, and rows of one node were laid out with all columns."""
    from odtc.data.dataset import NUMERIC, Dataset, Feature
    from odtc.data.splits import Oblique, Term, Threshold
    from odtc.trees.tree import Branch, Leaf, Tree
    from odtc.workflow.results import lines as remarks

    asked = {"a": [1.0, 2.0, np.nan, 4.0], "b": [0.0, 5.0, 1.0, 5.0]}
    dense = np.column_stack([asked["a"], [9.0] * 4, asked["b"], [8.0] * 4])
    features = tuple(Feature(name, NUMERIC) for name in ("a", "c", "b", "d"))
    root = Branch(
        Threshold(0, 2.5),
        Branch(Oblique((Term(0, 1.0), Term(2, 1.0)), 3.0), Leaf(0, rows=(1, 0)), Leaf(1, rows=(0, 1))),
        Leaf(1, rows=(0, 2)),
    )
    columns = [CodedColumn(*np.unique(cells, return_inverse=True)) for cells in dense.T]
    data = Dataset("t", CodedColumns(columns), np.array([0, 1, 1, 1]), features, ("n", "p"), np.ones(4), "y")
    cells_of = CodedColumn.cells

    def cells(column, rows=slice(None)):
        assert column not in (columns[1], columns[3]), "a column that no split uses was laid out"
        return cells_of(column, rows)

    monkeypatch.setattr(CodedColumn, "cells", cells)
    tree = Tree(root, features, data.classes, "y", "separate")
    assert tree.apply(data.X).tolist() == tree.apply(dense).tolist() == [0, 1, 2, 2]
    fit = type("Fit", (), {"problem": type("P", (), {"encoded": type("E", (), {"dataset": data})}), "tree": tree})
    assert remarks.unmeasured_text(fit).endswith(": 'a' (1 row)")
    with pytest.raises(DataError, match="row 3 has no value for 'a'"):
        Tree(root, features, data.classes, "y", "drop").apply(data.X)


@pytest.mark.parametrize("first", [[], [" 7 ", "7"], ["?"]], ids=["different", "equal", "missing"])
def test_many_cells_are_numbered_as_few_cells_are(first):
    many = [*first, *(f"{k / 8}" for k in range(3000))]
    frames = [pl.DataFrame({"x": cells}) for cells in (many, [" 0.125", "1.5 ", "NA", "0.0", "new", None], many[::-1])]
    (column,) = column_coding.code_columns(frames, "t", {"x"})
    cells = [cell.strip() if cell and cell.strip() not in ("?", "NA") else None for one in frames for cell in one["x"]]
    assert [None, *column.cells] == [None, *dict.fromkeys(cell for cell in cells if cell is not None)]
    assert [[None, *column.cells][code] for code in column.code.tolist()] == cells
    assert column.held.taken == {cell for cell in ("?", "NA") if cell in [*first, "NA"]}
