"""Reads comma, semicolon and tab separated text, plain or gzipped, every cell as text."""

import csv
import io
import re

import numpy as np
import polars as pl

from odtc.data.reading import check_names, read_text
from odtc.errors import DataError

NAME = "csv"
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tab", ".tab.gz")
SUMMARY = "comma, semicolon (.csv) or tab (.tsv, .tab) separated text with a header, also .gz"


def read(path) -> pl.DataFrame:
    """All columns as pl.String, an empty cell as null; blank lines are skipped.

    Raises DataError for text that is not UTF-8, a blank or repeated column name, a row of
    another width than the header, and quotes that do not close.
    """
    text = read_text(path).lstrip("\r\n")
    delimiter = _delimiter(path, text)
    if '"' in text:  # a quoted cell may hold line ends of any kind, which are its own
        return _read_quoted(path, text, delimiter)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _read_plain(path, text, delimiter)


def _delimiter(path, text: str) -> str:
    """A tab by suffix; in .csv a semicolon (or a tab) if the header has one and no comma."""
    if re.search(r"\.(tsv|tab)(\.gz)?$", str(path).lower()):
        return "\t"
    header = re.split("[\r\n]", re.sub(r'"[^"]*"', "", text[: 1 << 16]), maxsplit=1)[0]
    return next((sign for sign in ",;\t" if sign in header), ",")


def _read_plain(path, text: str, delimiter: str) -> pl.DataFrame:
    """Text without a quote: a line is a row, so widths are counted on bytes and polars parses."""
    if "\n\n" in text:
        text = re.sub("\n\n+", "\n", text)
    if not text.endswith("\n"):
        text += "\n"
    names = _names(path, text.partition("\n")[0].split(delimiter))
    data = text.encode()
    signs = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(signs == ord("\n"))
    # polars fills short rows with nulls without a word, so the widths are checked before it reads.
    widths = np.diff(np.searchsorted(np.flatnonzero(signs == ord(delimiter)), ends), prepend=0) + 1
    wrong = np.flatnonzero(widths != len(names))
    if wrong.size:
        raise _ragged(path, wrong[0], len(names), widths[wrong[0]])
    if len(widths) == 1:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return pl.read_csv(
        io.BytesIO(data),
        has_header=False,
        skip_rows=1,
        new_columns=names,
        separator=delimiter,
        quote_char=None,
        infer_schema=False,
    )


def _read_quoted(path, text: str, delimiter: str) -> pl.DataFrame:
    """Text with quotes, where a cell may hold delimiters and line ends: a record is a row."""
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            if not row:
                continue
            if rows and len(row) != len(rows[0]):
                raise _ragged(path, len(rows), len(rows[0]), len(row))
            rows.append(row)
    except csv.Error as problem:
        raise DataError(
            f"expected quoted cells that open and close with '\"' in {str(path)!r}, but row {len(rows)} "
            f"does not ({problem}); double the quotes inside a cell"
        ) from None
    names = _names(path, rows[0])
    columns = list(zip(*rows[1:])) or [()] * len(names)
    frame = pl.DataFrame([pl.Series(n, c, dtype=pl.String) for n, c in zip(names, columns)])
    return frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())


def _names(path, header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    check_names(names, repr(str(path)))
    return names


def _ragged(path, row: int, expected: int, got: int) -> DataError:
    return DataError(
        f"expected {expected} cells in every row of {str(path)!r}, as in its header, got {got} in row {row} "
        "(counted below the header); complete the row, or quote cells that hold the delimiter"
    )
