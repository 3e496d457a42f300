"""Reads Parquet files, every column in its own type."""

import polars as pl

from odtc.errors import DataError

NAME = "parquet"
SUFFIXES = (".parquet", ".pq")
SUMMARY = "Apache Parquet, with its own column types; category columns are categorical"


def read(path) -> pl.DataFrame:
    """The columns in their native types; raises DataError if the file is not whole Parquet."""
    try:
        # An open file instead of a path: polars would take "*" and "[" in a path for a pattern.
        with open(path, "rb") as stream:
            return pl.read_parquet(stream)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as problem:
        reason = str(problem).partition("\n")[0]
        raise DataError(
            f"expected a whole Parquet file in {str(path)!r}, got bytes that cannot be read as one ({reason}); "
            "write the file again"
        ) from None
