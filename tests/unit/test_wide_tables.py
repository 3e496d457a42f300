"""Tables of few rows and many columns: many columns read at a time are the columns that are read one by one."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.base import deadline
from odtc.data.cells import data_files
from odtc.data.notes import notes_on
from odtc.data.reading import read
from odtc.data.table import column_coding, number_columns
from odtc.errors import OdtcError, TimeLimitReached

NUMBERS = ["1", "2", "3.5", " -0", "1.0", "0.5", "1e3"]
CELLS = {  # kinds of columns
    "numbers": NUMBERS,
    "missing": [*NUMBERS, "", "NA", " ? "],
    "codes": ["007", "12", "7"],
    "digits": ["0.12345678901234567", "0.12345678901234568", "0.5", "0.50000000000000000"],
    "thousands": ["1.219", "950", "-2.500", "12"],
    "beyond doubles": ["9007199254740993", "1", "2"],
    "words": ["1", "2", "x", "X"],
    "flags": ["true", "False"],
    "not finite": ["inf", "1e400", "1"],
}


@st.composite
def tables(draw):
    rows = draw(st.integers(2, 6))
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=6))
    columns = {
        f"c{at}": draw(st.lists(st.sampled_from(CELLS[kind]), min_size=rows, max_size=rows))
        for at, kind in enumerate(kinds)
    }
    return pl.DataFrame(columns | {"y": ["p", "q", *draw(st.lists(st.sampled_from("pq"), min_size=rows - 2))][:rows]})


def _facts(path, **how):
    """Return everything that a table is read as, or the error."""
    try:
        found = read(path, **how)
    except OdtcError as problem:
        return type(problem), str(problem)
    arrays = [np.asarray(found.X).tolist(), found.y.tolist(), found.weight.tolist()]
    rest = replace(found, X=np.zeros((0, 0)), y=found.y[:0], weight=found.weight[:0])
    marked = [(one.name, one.has_missing) for one in found.features]
    told = rest.features, rest.padded, rest.merged, rest.missing_words, rest.left_out, rest.n_dropped
    return repr(arrays), marked, told, [note.text for note in notes_on(found)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_many_columns_at_a_time_are_read_as_one_by_one(ending, tmp_path):
    path = tmp_path / f"t.{ending}"

    @given(tables(), st.sampled_from(["drop", "separate"]), st.integers(1, 40))
    @settings(max_examples=150, deadline=None)
    def holds(table, missing, together):
        if ending == "csv":
            path.write_text(table.write_csv(quote_style="never"))
        else:
            types = (pl.Int64, pl.Float32, pl.Float64, pl.Categorical)
            casts = [table[name].cast(types[at % 4], strict=False) for at, name in enumerate(table.columns[:-1])]
            table.with_columns(casts).write_parquet(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(number_columns, "CELLS_AT_ONCE", together)
            patch.setattr(column_coding, "WIDE", 10**9)
            apart = _facts(path, missing=missing)
            patch.setattr(column_coding, "WIDE", 1)
            assert _facts(path, missing=missing) == apart

    holds()


def test_frames_of_few_rows_are_joined(monkeypatch):
    frames = [pl.DataFrame({"a": [at], "b": [at]}) for at in range(7)]
    monkeypatch.setattr(data_files, "LEAST_ROWS", 3)
    assert [frame.height for frame in data_files.in_time_of(iter(frames), "t")] == [1] * 7
    monkeypatch.setattr(data_files, "WIDE", 2)
    joined = list(data_files.in_time_of(iter(frames), "t"))
    assert [frame.height for frame in joined] == [3, 3, 1]
    assert pl.concat(joined).equals(pl.concat(frames))
    monkeypatch.setattr(data_files, "MOST_CELLS", 4)
    assert [frame.height for frame in data_files.in_time_of(iter(frames), "t")] == [2, 2, 2, 1]


def test_a_limit_ends_the_coding_of_a_wide_frame_between_two_columns(monkeypatch):
    """50,000 rows of 100 columns are one frame: nothing looked at the clock until all were coded."""
    frame = pl.DataFrame({name: ["1", "2"] for name in "abc"})
    with deadline.within(1e-9):
        assert len(column_coding.code_columns([frame], "'d.csv'")) == 3  # it has its PATIENCE
        monkeypatch.setattr(column_coding, "PATIENCE", 0.0)
        with pytest.raises(TimeLimitReached, match="after 0 of the 3 columns of its rows from 1 to 2"):
            column_coding.code_columns([frame], "'d.csv'")
    assert len(column_coding.code_columns([frame, frame], "'d.csv'")) == 3
