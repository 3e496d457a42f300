"""Reads Parquet files, every column in its own type."""

import io
from collections.abc import Iterator

import polars as pl

from odtc.base.system import STDERR
from odtc.data.cells.readers.parquet_headers import expect_counts
from odtc.errors import DataError

NAME = "parquet"
SUFFIXES = (".parquet", ".pq")
FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
GROUP = 2**18  # rows of a row group, as polars writes them: a slice of some of them decodes the others, too
MAX_GROUP_BYTES = 2**28  # bytes, of 8 a cell, of row groups that are decoded at once to give several frames
SUMMARY = "Apache Parquet, with its own column types; category columns are categorical"


def batches(path, size: int) -> Iterator[pl.DataFrame]:
    """Yield the frames of `read`, each with as many rows as take about `size` bytes if a cell takes 8.

    Whole row groups are decoded at once, or a frame where a group is too large.
    """
    try:
        expect_counts(path)
        table = pl.scan_parquet(path, glob=False)
        with STDERR.away():
            n_rows = table.select(pl.len()).collect().item()
            cell = 8 * max(1, len(table.collect_schema()))
    except FAULTS as problem:
        raise _broken(path, problem) from None
    of_frame = max(1, size // cell)
    together = max(GROUP, of_frame - of_frame % GROUP) if max(GROUP, of_frame) * cell <= MAX_GROUP_BYTES else of_frame
    for begin in range(0, max(n_rows, 1), together):
        try:
            with STDERR.away():
                decoded = pl.scan_parquet(path, glob=False).slice(begin, together).collect()
        except FAULTS as problem:
            raise _broken(path, problem) from None
        yield from decoded.iter_slices(of_frame) if decoded.height else [decoded]


def read(path) -> pl.DataFrame:
    """Return the columns in their native types; raises DataError if the file is not whole Parquet."""
    try:
        expect_counts(path)
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
    """Return the table as a whole file."""
    stream = io.BytesIO()
    table.write_parquet(stream)
    return stream.getvalue()
