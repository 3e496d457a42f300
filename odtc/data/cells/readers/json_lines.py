"""Reads JSON: objects of texts, numbers, truth values and nulls, one on each line or all in a list, as
`pandas.to_json(orient="records")` writes them. Every column has its own type."""

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from odtc.base.whole_numbers import MAX_EXACT
from odtc.data.cells.data_files import check_names, is_list_of_objects
from odtc.data.cells.text_pieces import read_text, text_pieces
from odtc.errors import DataError

NAME = "json_lines"
SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
OPTIONS = ("text_encoding",)
SUMMARY = "JSON, an object of plain values on each line (.jsonl, .ndjson) or in a list (.json), also .gz"
PIECE_BYTES = 1 << 20  # bytes of text that are read at once


def read(path, text_encoding: str | None = None) -> pl.DataFrame:
    """Return the columns of all objects in the order in which their names appear first; an absent value is missing.

    Raises DataError for a value that is not such an object.
    """
    columns: dict[str, list] = {}
    rows = 0
    for row in _rows(path, text_encoding):
        for name, value in row.items():
            found = columns.setdefault(name, [])
            found += [None] * (rows - len(found))
            found.append(value)
        rows += 1
    if not columns:
        raise DataError(f"expected objects with values in {str(path)!r}, got none")
    check_names(columns, repr(str(path)))
    return pl.DataFrame([_column(name, values, rows) for name, values in columns.items()])


def _rows(path, text_encoding: str | None) -> Iterator[dict]:
    """Yield the values of each object."""
    if is_list_of_objects(path):
        values = _parsed(path, "the list", read_text(path, text_encoding))
        yield from (_row(path, f"object {number}", value) for number, value in enumerate(values, 1))
        return
    for number, line in enumerate(_lines(path, text_encoding), 1):
        if line.strip():
            yield _row(path, f"line {number}", _parsed(path, f"line {number}", line))


def _lines(path, text_encoding: str | None) -> Iterator[str]:
    left = ""
    for piece in text_pieces(path, PIECE_BYTES, text_encoding):
        *lines, left = io.StringIO(left + piece.decode(), newline="\n")
        yield from lines
    yield left


def _parsed(path, place: str, text: str) -> Any:
    """Return the value of a text in JSON."""

    def of_pairs(pairs):
        row = dict(pairs)
        if len(row) < len(pairs):
            raise _refusal(path, place, "one name twice")
        return row

    try:
        return json.loads(text, object_pairs_hook=of_pairs)
    except DataError:  # of one name twice
        raise
    except (ValueError, RecursionError) as problem:
        raise _refusal(path, place, f"text that is not JSON ({str(problem)[:80]})") from None


def _row(path, place: str, value: Any) -> dict:
    """Return an object of plain values with its names stripped."""
    if not isinstance(value, dict):
        raise _refusal(path, place, f"{type(value).__name__} {json.dumps(value)[:40]!r}")
    if nested := next((name for name, cell in value.items() if isinstance(cell, (dict, list))), None):
        raise _refusal(path, place, f"a list or an object as {nested!r}")
    return {name.strip(): cell for name, cell in value.items()}


def _refusal(path, place: str, found: str) -> DataError:
    return DataError(
        f"expected an object of texts, numbers, true, false and null in {place} of {str(path)!r}, got {found}; "
        "correct it, or save the table as CSV"
    )


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
