"""Parquet files whose headers were changed: refused in a sentence, never the end of the process."""

import io
import mmap
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.data.cells.readers import parquet_headers
from odtc.errors import DataError

WORDS = ["red", "blue", None, "a, b"]
# Reads the file with each byte in turn set to some values; ends by a signal if one of them ends polars.
READS_ALL = """
import pathlib, sys
import odtc
import polars as pl
# Versions of polars before 2 panic at words that are no UTF-8, and read columns of other lengths.
told = (odtc.OdtcError,)
if int(pl.__version__.split(".")[0]) < 2:
    told = (Exception, pl.exceptions.PanicException)
path = pathlib.Path(sys.argv[1])
data, taken = path.read_bytes(), 0
for at in range(int(sys.argv[2])):
    for value in (0x69, 0xFF):
        path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
        try:
            odtc.read(path)
            taken += 1
        except told:
            pass
print(taken)
"""


def written(table: pl.DataFrame, **words) -> bytes:
    stream = io.BytesIO()
    table.write_parquet(stream, **words)
    return stream.getvalue()


def test_a_byte_that_is_changed_before_the_footer_never_ends_the_process(tmp_path):
    """Found by fuzzing: a page of -53 values had polars ask for 2^61 bytes, which ends a process at once."""
    data = written(pl.DataFrame({"colour": WORDS, "size": [1.0, 2.5, None, 4.0], "label": ["a", "b", "a", "b"]}))
    (tmp_path / "d.parquet").write_bytes(data)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    words = [sys.executable, "-c", READS_ALL, str(tmp_path / "d.parquet"), str(footer)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert 0 < int(done.stdout) < 2 * footer  # bytes of statistics change nothing that is read


def test_a_field_that_says_to_be_of_another_kind_is_refused(tmp_path):
    """Found by fuzzing: polars reads the number of values of such a page all the same."""
    data = written(pl.DataFrame({"colour": WORDS, "y": ["a", "b"] * 2}))
    at = _count_of_first_data_page(data)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for place, word in ((at - 1, "the header of a page"), (footer, "its footer")):
        assert data[place] == 0x15  # a number
        for kind in (0x18, 0x1B, 0x1F):
            (tmp_path / "d.parquet").write_bytes(data[:place] + bytes([kind]) + data[place + 1 :])
            with pytest.raises(DataError, match=f"a whole Parquet file.*{word} is damaged"):
                odtc.read(tmp_path / "d.parquet")


@pytest.mark.parametrize("count", [-1, -53, 5, 2**31 - 1])
@pytest.mark.parametrize("name", ["colour", "size"])
def test_a_page_of_more_values_than_its_column_is_refused(tmp_path, name, count):
    data = written(pl.DataFrame({name: WORDS if name == "colour" else [1.0, 2.5, None, 4.0], "y": ["a", "b"] * 2}))
    at = _count_of_first_data_page(data)
    value = 2 * count if count >= 0 else -2 * count - 1
    coded = b""
    while True:
        coded += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            break
    (tmp_path / "d.parquet").write_bytes(data[:at] + coded + data[at + 1 :])
    with pytest.raises(ValueError, match=f"a column of 4 values says {count}$"):
        parquet_headers.expect_counts(tmp_path / "d.parquet")
    if count == -53:
        with pytest.raises(DataError, match="a page of a column of 4 values says -53"):
            odtc.read(tmp_path / "d.parquet")


def _count_of_first_data_page(data: bytes) -> int:
    """The place of the number of values, of one byte, in the header of the first data page."""
    at = 4
    while True:
        page, behind = parquet_headers.struct(data, at)
        if parquet_headers.DATA_PAGE in page:
            # Only in that struct does a number of 4 values stand as the first field, right behind its head.
            return data.index(b"\x15\x08", at, behind) + 1
        at = behind + page[parquet_headers.PACKED]


@given(
    st.integers(1, 60),
    st.sampled_from(["zstd", "snappy", "gzip", "uncompressed"]),
    st.sampled_from([None, 3, 20]),
    st.sampled_from([None, 40]),
    st.randoms(use_true_random=False),
)
def test_pages_of_whole_files_add_up(n, compression, group, page, random):
    """All headers are walked to the end of each column, and no file that polars writes is refused."""
    table = pl.DataFrame(
        {
            "number": [random.choice([None, random.random()]) for _ in range(n)],
            "word": [random.choice([None, "u", "v", "w" * 30]) for _ in range(n)],
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
            "list": [[1, 2][: random.randrange(3)] for _ in range(n)],
        }
    )
    data = written(table, compression=compression, row_group_size=group, data_page_size=page)
    footer, _ = parquet_headers.struct(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    for group in footer[parquet_headers.ROW_GROUPS]:
        for chunk in (column[parquet_headers.META_DATA] for column in group[parquet_headers.COLUMNS]):
            begin = at = parquet_headers._begin(chunk)
            values = 0
            while at < begin + chunk[parquet_headers.BYTES]:
                header, behind = parquet_headers.struct(data, at)
                values += header.get(parquet_headers.DATA_PAGE, {}).get(1, 0)
                at = behind + header[parquet_headers.PACKED]
            assert at == begin + chunk[parquet_headers.BYTES] and values == chunk[parquet_headers.VALUES]
    with mmap.mmap(-1, len(data)) as memory:
        memory[:] = data
        parquet_headers._expect_counts(memory)


@pytest.mark.parametrize("kind", [0x19, 0x17, 0x18, 0x1C], ids=["lists", "doubles", "texts", "structs"])
def test_lists_without_an_end_are_refused(tmp_path, kind):
    """Found by fuzzing: lists in lists, as deep as the file is long. So are as many doubles as 2^62."""
    footer = b"\x19" + (bytes([kind]) * 5000 if kind == 0x19 else bytes([0xF0 | kind & 15]) + b"\xff" * 8 + b"\x3f")
    (tmp_path / "d.parquet").write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DataError, match="a whole Parquet file.*its footer is damaged"):
        odtc.read(tmp_path / "d.parquet")


def test_bytes_that_are_no_headers_are_told_by_one_exception():
    random = np.random.default_rng(1)
    data = written(pl.DataFrame({"a": [1.0, 2.0], "y": ["p", "q"]}))
    for _ in range(3000):
        changed = bytearray(data)
        for at in random.integers(0, len(data), random.integers(1, 4)):
            changed[at] = random.integers(256)
        with mmap.mmap(-1, len(changed)) as memory:
            memory[:] = bytes(changed)
            try:
                parquet_headers._expect_counts(memory)
            except ValueError as problem:
                assert str(problem).endswith("damaged") or "values says" in str(problem)
