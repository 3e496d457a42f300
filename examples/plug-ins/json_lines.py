"""Reads JSON lines: one object a row, null for a missing cell."""

import json
from pathlib import Path

import polars as pl

from odtc.extend import DataError

TYPE = "reader"
NAME = "json_lines"
SUMMARY = "JSON lines, an object a row"
SUFFIXES = (".jsonl",)


def read(path) -> pl.DataFrame:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, RecursionError) as problem:
        raise DataError(f"expected JSON lines in {str(path)!r}: {' '.join(str(problem).split())}") from None
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"expected an object on each line of {str(path)!r}")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    try:
        return pl.DataFrame({name: _column(cells) for name, cells in columns.items()})
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as problem:
        raise DataError(
            f"expected numbers, texts and null in {str(path)!r}: {' '.join(str(problem).split())}"
        ) from None


def _column(cells: list) -> pl.Series:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in known):
        return pl.Series([None if cell is None else float(cell) for cell in cells], dtype=pl.Float64)
    texts = [cell if cell is None or isinstance(cell, str) else json.dumps(cell) for cell in cells]
    return pl.Series(texts, dtype=pl.String)


def sample(table: pl.DataFrame) -> bytes:
    """A file of a table, for the laws."""
    return "".join(json.dumps(row) + "\n" for row in table.iter_rows(named=True)).encode()
