"""Reads JSON lines: an object of texts, numbers, truth values and nulls on each line, every column in its own type."""

import io
import json
from collections.abc import Iterator

import numpy as np
import polars as pl

from odtc.base.whole_numbers import MAX_EXACT
from odtc.data.cells.data_files import check_names
from odtc.data.cells.text_pieces import text_pieces
from odtc.errors import DataError

NAME = "json_lines"
SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
OPTIONS = ("text_encoding",)
SUMMARY = "JSON lines, an object of plain values on each line (.jsonl, .ndjson), also .gz"
PIECE = 1 << 20  # bytes of text that are read at once


def read(path, text_encoding: str | None = None) -> pl.DataFrame:
    """Return the columns of all objects in the order in which their names appear first; an absent value is missing.

    Raises DataError for a line that is not such an object.
    """
    columns: dict[str, list] = {}
    rows = 0
    for number, line in enumerate(_lines(path, text_encoding), 1):
        if not line.strip():
            continue
        for name, value in _row(path, number, line).items():
            found = columns.setdefault(name, [])
            found += [None] * (rows - len(found))
            found.append(value)
        rows += 1
    if not columns:
        raise DataError(f"expected objects with values in {str(path)!r}, got none")
    check_names(columns, repr(str(path)))
    return pl.DataFrame([_column(name, values, rows) for name, values in columns.items()])


def _lines(path, text_encoding: str | None) -> Iterator[str]:
    left = ""
    for piece in text_pieces(path, PIECE, text_encoding):
        *lines, left = io.StringIO(left + piece.decode(), newline="\n")
        yield from lines
    yield left


def _row(path, number: int, line: str) -> dict:
    """Return the values of the object of a line."""

    def refuse(found: str) -> DataError:
        return DataError(
            f"expected an object of texts, numbers, true, false and null in line {number} of {str(path)!r}, got "
            f"{found}; correct the line, or save the table as CSV"
        )

    def of_pairs(pairs):
        row = dict(pairs)
        if len(row) < len(pairs):
            raise refuse("one name twice")
        return row

    try:
        row = json.loads(line, object_pairs_hook=of_pairs)
    except (ValueError, RecursionError) as problem:
        raise refuse(f"text that is not JSON ({str(problem)[:80]})") from None
    if not isinstance(row, dict):
        raise refuse(f"{type(row).__name__} {line.strip()[:40]!r}")
    if nested := next((name for name, value in row.items() if isinstance(value, (dict, list))), None):
        raise refuse(f"a list or an object as {nested!r}")
    return {name.strip(): value for name, value in row.items()}


def _column(name: str, values: list, rows: int) -> pl.Series:
    """Return a column of truth values, whole numbers or numbers if all its values are, else of text."""
    values = values + [None] * (rows - len(values))
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(value is None or abs(value) <= np.iinfo(np.int64).max for value in values):
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds <= {int, float} and float in kinds and all(type(v) is not int or abs(v) < MAX_EXACT for v in values):
        return pl.Series(name, values, dtype=pl.Float64)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def sample(table: pl.DataFrame) -> bytes:
    """Return the table with an object on each line."""
    return table.write_ndjson().encode()
