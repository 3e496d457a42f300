"""A file in parts, read apart and put together: what one process reads, to the last code."""

from concurrent.futures import Future

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.base import deadline
from odtc.data import reading
from odtc.data.cells.data_files import READERS
from odtc.data.table import column_coding, partitions
from odtc.errors import TimeLimitReached

WORDS = ["a", " b", "b", "", "NA", "1", "1.0", "007", "-0", "0", "2.5", "9007199254740993", "true", "é", "1e3"]


@st.composite
def tables(draw):
    n = draw(st.integers(2, 30))
    columns = {
        name: draw(st.lists(st.sampled_from(words), min_size=n, max_size=n))
        for name, words in (("x", WORDS), ("n", ["1", "2", "3.5", "", "-0", "7", "8"]), ("y", ["p", "q", "1"]))
    }
    return pl.DataFrame(columns)


def _same(one, other):
    assert [column.name for column in one] == [column.name for column in other]
    for a, b in zip(one, other):
        assert a.dtype == b.dtype and a.cells.equals(b.cells) and a.cells.dtype == b.cells.dtype
        assert (a.code.dtype, a.code.tolist()) == (b.code.dtype, b.code.tolist())
        assert (a.values is None) == (b.values is None)
        assert a.values is None or np.array_equal(a.values, b.values, equal_nan=True)
        assert (a.padded, a.beside, a.held.taken) == (b.padded, b.beside, b.held.taken)


def _in_parts(path, size, words, many=99):
    """What the workers of a cluster do, in this process."""
    reader, place = READERS.get(path.suffix[1:]), repr(str(path))
    runs = partitions.runs(reader.parts(path, size), many)
    parts = [partitions.coded(reader.NAME, path, run, place, words) for run in runs]
    cells = partitions.reduced(list(map(partitions.cells_of, parts)), lambda a, b: partitions.joined(a, b, words))
    return partitions.together(partitions.whole(cells), parts, place)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_parts_of_a_file_are_what_one_process_reads(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(column_coding, "MOST_WORDS", 4)
    monkeypatch.setattr(partitions, "MOST_WORDS", 4)
    path = tmp_path / f"t.{ending}"

    @given(
        table=tables(),
        size=st.integers(1, 200),
        line_end=st.sampled_from(["\n", "\r\n", "\n\n"]),
        many=st.integers(1, 5),
    )
    @settings(max_examples=12, deadline=None)
    def holds(table, size, line_end, many):
        if ending == "csv":
            path.write_bytes(table.write_csv(quote_style="never").replace("\n", line_end).encode())
        else:
            table.with_columns(pl.col("n").cast(pl.Float64, strict=False)).write_parquet(path)
        words = {"y"}
        try:
            parts = _in_parts(path, size, words, many)
        except column_coding.WordsNeeded as needed:
            words.add(needed.name)
            parts = _in_parts(path, size, words, many)
        try:
            whole = column_coding.code_columns(reading.frames_of(path), "t", words)
        except column_coding.WordsNeeded as needed:  # what comes first in the file decides whether it is asked for
            whole = column_coding.code_columns(reading.frames_of(path), "t", words | {needed.name})
        _same(parts, whole)

    holds()


@pytest.mark.parametrize(
    "text", ['x,y\n1,"a"\n2,b\n', "x,y\n1,a\n2\n3,b\n", "x,y\n1,a\n2,b,c\n", '"x",y\n1,a\n2,b\n', "x\r1\r2\r3\r"]
)
def test_a_quote_and_a_broken_row_are_left_to_one_process(text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    if READERS.get("csv").parts(path, 2):
        with pytest.raises(partitions.Unread):
            _in_parts(path, 2, {"y"})


def test_parts_are_dealt_out_in_runs_of_neighbours():
    assert partitions.runs(range(7), 3) == [range(0, 2), range(2, 4), range(4, 6), range(6, 7)]
    assert partitions.runs(range(3), 9) == [range(at, at + 1) for at in range(3)]
    assert max(map(len, partitions.runs(range(100), 1))) == partitions.LONGEST


def test_a_limit_ends_the_coding_of_a_wide_frame_between_two_columns(monkeypatch):
    """50,000 rows of 100 columns are one frame: nothing looked at the clock until all were coded."""
    frame = pl.DataFrame({name: ["1", "2"] for name in "abc"})
    with deadline.within(1e-9):
        assert len(column_coding.code_columns([frame], "'d.csv'")) == 3  # it has its PATIENCE
        monkeypatch.setattr(column_coding, "PATIENCE", 0.0)
        with pytest.raises(TimeLimitReached, match="after 0 of the 3 columns of its rows from 1 to 2"):
            column_coding.code_columns([frame], "'d.csv'")
    assert len(column_coding.code_columns([frame, frame], "'d.csv'")) == 3


def test_a_limit_ends_the_wait_for_a_cluster():
    done, never = Future(), Future()
    done.set_result(7)
    assert partitions.in_time(done, "'d.csv'") == 7
    with deadline.within(0.05):
        assert partitions.in_time(done, "'d.csv'") == 7
        with pytest.raises(TimeLimitReached, match="'d.csv' was read by the cluster"):
            partitions.in_time(never, "'d.csv'")
    failed = Future()
    failed.set_exception(TimeoutError("of a worker"))
    with deadline.within(60), pytest.raises(TimeoutError, match="of a worker"):
        partitions.in_time(failed, "'d.csv'")
