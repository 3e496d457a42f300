"""Cells that many columns share are coded once: each column has the right codes, and errors name the right column."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.cells import column_types
from odtc.data.reading import read
from odtc.errors import DataError

WORDS = ["0", "1", "-0", "1.0", " 1", "true", "False", "NA", "", "x", "inf", "1e400", "9007199254740993"]


@settings(max_examples=12)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=6))
def test_what_is_remembered_is_what_is_found(columns):
    for words in [*columns, *reversed(columns)]:
        cells = column_types.column_cells(pl.Series("c", words), "t")
        assert column_types.words_of(pl.Series("c", words), "t") == cells.to_list()
        finite = column_types.finite_numbers(cells)
        found = column_types.all_finite(cells)
        assert (found is None) == (finite.null_count() > cells.null_count())
        assert found is None or np.array_equal(found, column_types.numbers(cells, "c", "t"), equal_nan=True)
        for dtype in (pl.String(), pl.Categorical()):
            alone = column_types._kind.__wrapped__(cells, dtype == pl.Categorical(), None)
            assert column_types.kind_of(dtype, cells, False, False) == alone


@settings(max_examples=60)
@given(
    st.lists(
        st.text(st.sampled_from("0 1e-9.NA?\x85\xa0\x1c\u2003\u3000\ufeff\u200b\u180eé\n"), max_size=6), max_size=8
    )
)
def test_words_are_cleaned_as_polars_cleans_them(words):
    cells = pl.Series("c", [*words, None], dtype=pl.String)
    assert column_types.words_of(cells, "t") == column_types.column_cells(cells, "t").to_list()


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([*WORDS, None, "007", "-01", "0.12345678901234567", "0.12345678901234568", "é" * 8, "1e-300"])
    )
)
def test_few_cells_and_many_are_looked_at_alike(words):
    """A loop is quicker on few cells, polars on many: both say the same."""
    cells = pl.Series("c", words, dtype=pl.String)
    levels = column_types.levels_of(cells)
    few = [f(cells) for f in (column_types.padded_cell, column_types.merged_cells)]
    few_codes = [column_types.level_codes(cells, of, "categorical") for of in (levels, ("0", "1"), ("x",))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_types, "POLARS_CELLS", 0)
        assert [f(cells) for f in (column_types.padded_cell, column_types.merged_cells)] == few
        assert column_types.levels_of(cells) == levels
        for of, codes in zip((levels, ("0", "1"), ("x",)), few_codes):
            assert np.array_equal(column_types.level_codes(cells, of, "categorical"), codes, equal_nan=True)


def test_what_is_given_beside_the_cells_is_no_cell():
    """No cell and the decimal sign None was remembered as one missing cell, "," before "1" as two cells."""
    assert column_types.all_finite(pl.Series("c", [], dtype=pl.String), None).shape == (0,)
    assert np.array_equal(column_types.all_finite(pl.Series("c", [None], dtype=pl.String)), [np.nan], equal_nan=True)
    assert column_types.all_finite(pl.Series("c", ["1"]), ",").tolist() == [1]
    assert column_types.all_finite(pl.Series("c", [",", "1"])) is None


def test_a_mistake_names_its_own_column(tmp_path):
    for column in "bc":
        (tmp_path / "t.csv").write_text(f"a,{column},y\n0,0,p\n1,inf,q\n")
        with pytest.raises(DataError, match=f"finite number in column '{column}' of .* row 2"):
            read(tmp_path / "t.csv")


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float64, pl.Boolean])
def test_equal_cells_of_other_types_are_told_apart(dtype):
    cells = pl.Series("c", [0, 1]).cast(dtype)
    assert column_types.words_of(cells, "t") == cells.to_list()
    assert [type(cell) for cell in column_types.words_of(cells, "t")] == [type(cell) for cell in cells.to_list()]


@pytest.mark.parametrize(
    "reading",
    [
        {"task": "regression"},
        {"task": "median"},
        {"task": "regression", "leaf": "linear"},
        {"task": "policy", "actions": ("t", "y")},
        {"task": "survival", "time": "t", "event": "y"},
    ],
    ids=lambda reading: "-".join(map(str, reading.values())),
)
def test_a_word_in_place_of_a_number_does_not_matter_in_a_row_that_is_left_out(reading, tmp_path):
    """It was a TypeError: no row that is left has the word, and the column was none of numbers."""
    lines = [f"{row % 3},{1 + row % 4},{row % 2}" for row in range(9)]
    word = ",1,n/k" if reading["task"] in ("regression", "median") else ",n/k,n/k"
    (tmp_path / "whole.csv").write_text("\n".join(["a,t,y", *lines]) + "\n")
    (tmp_path / "part.csv").write_text("\n".join(["a,t,y", *lines[:4], word, *lines[4:]]) + "\n")
    whole, part = (odtc.fit(tmp_path / name, depth=1, reading=reading) for name in ("whole.csv", "part.csv"))
    assert part.facts["n_rows_dropped"] == 1 and part.proved
    assert part.facts["objective"] == whole.facts["objective"] and part.tree.root == whole.tree.root
