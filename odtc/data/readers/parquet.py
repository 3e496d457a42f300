"""Reads Parquet files, every column in its own type."""

import io
from collections.abc import Iterator

import polars as pl

from odtc.base.system import STDERR
from odtc.errors import DataError

NAME = "parquet"
SUFFIXES = (".parquet", ".pq")
FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
GROUP = 2**18  # rows of a row group, as polars writes them: a slice of some of them decodes the others, too
SUMMARY = "Apache Parquet, with its own column types; category columns are categorical"


def batches(path, size: int) -> Iterator[pl.DataFrame]:
    """The frames of `read`, of so many rows that they take about `size` bytes each if a cell takes 8, or whole row
    groups."""
    for begin_and_rows in parts(path, size):
        yield from part(path, begin_and_rows)


def parts(path, size: int) -> list[tuple[int, int]]:
    """(first row, rows) of each frame of `batches`, one at least."""
    try:
        table = pl.scan_parquet(path, glob=False)
        with STDERR.away():
            n_rows = table.select(pl.len()).collect().item()
            rows = _rows_of_frame(max(1, size // (8 * max(1, len(table.collect_schema())))))
    except FAULTS as problem:
        raise _broken(path, problem) from None
    return [(begin, rows) for begin in range(0, max(n_rows, 1), rows)]


def _rows_of_frame(rows: int) -> int:
    """About so many rows, that a frame begins and ends with a row group."""
    if rows >= GROUP:
        return rows - rows % GROUP
    return GROUP if 4 * rows >= GROUP else rows


def part(path, part: tuple[int, int]) -> Iterator[pl.DataFrame]:
    """The frame of one of `parts`."""
    try:
        with STDERR.away():
            frame = pl.scan_parquet(path, glob=False).slice(*part).collect()
    except FAULTS as problem:
        raise _broken(path, problem) from None
    yield frame


def read(path) -> pl.DataFrame:
    """The columns in their native types; raises DataError if the file is not whole Parquet."""
    try:
        # An open file instead of a path: polars would take "*" and "[" in a path for a pattern.
        with open(path, "rb") as stream, STDERR.away():
            return pl.read_parquet(stream)
    except FAULTS as problem:
        raise _broken(path, problem) from None


def _broken(path, problem) -> DataError:
    reason = str(problem).partition("\n")[0]
    return DataError(
        f"expected a whole Parquet file in {str(path)!r}, got bytes that cannot be read as one ({reason}); "
        "write the file again"
    )


def sample(table: pl.DataFrame) -> bytes:
    """The table as a whole file."""
    stream = io.BytesIO()
    table.write_parquet(stream)
    return stream.getvalue()
