"""Reads a sheet of an Excel workbook by polars and fastexcel, every column in its own type."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from odtc.base.system import STDERR
from odtc.base.text import some
from odtc.base.wording import option
from odtc.data.file_text.data_files import book_and_sheet
from odtc.data.reading import check_names
from odtc.errors import ChoiceError, DataError

NAME = "excel"
SUFFIXES = (".xlsx", ".xlsm")
OPTIONS = ("header", "skip_lines", "sheet")
SUMMARY = "a sheet of an Excel workbook, by fastexcel (pip install fastexcel)"


def read(path, header: bool = True, skip_lines: int = 0, sheet: str | None = None) -> pl.DataFrame:
    """Return the columns in their types; a column of several types is text. FILE.xlsx#SHEET names a sheet, too.

    Raises DataError without fastexcel, for a file that is not a workbook, and for a sheet that it does not have.
    """
    path, named = book_and_sheet(path)
    book, sheet = _workbook(path), named if named is not None else sheet
    names = book.sheet_names
    if sheet is not None and sheet not in names:
        raise ChoiceError(
            f"expected {option('sheet')} to name a sheet of {str(path)!r}, got {sheet!r}; it has {', '.join(names)}"
        )
    try:
        with STDERR.away():
            frame = book.load_sheet(
                sheet if sheet is not None else names[0],
                header_row=0 if header else None,
                skip_rows=skip_lines or None,
                schema_sample_rows=None,
            ).to_polars()
    except Exception as problem:
        raise _broken(path, problem) from None
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame
    if not header:
        return frame.rename({name: f"c{at}" for at, name in enumerate(frame.columns, 1)})
    check_names(frame.columns, repr(str(path)))
    return frame


def guesses(path) -> Iterator[dict]:
    """Yield each sheet."""
    yield from ({"sheet": name} for name in _workbook(book_and_sheet(path)[0]).sheet_names)


def _workbook(path: Path):
    try:
        import fastexcel
    except ImportError:
        raise DataError(
            f"expected the package fastexcel, which reads {str(path)!r}; install it by `pip install fastexcel`, or "
            "save the sheet as CSV"
        ) from None
    try:
        with STDERR.away():
            return fastexcel.read_excel(str(path))
    except Exception as problem:  # fastexcel has a class of errors for each kind of damage
        raise _broken(path, problem) from None


def _broken(path, problem: Exception) -> DataError:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if "[Content_Types].xml" not in names:
            return DataError(
                f"expected a table in {str(path)!r}, got a zip archive of {some(names)}; unpack it first, for example "
                "with `unzip`, and name the file in it"
            )
    reason = " ".join(str(problem).split())[:200]
    return DataError(
        f"expected an Excel workbook in {str(path)!r}, got a file that cannot be read as one ({reason}); save it "
        "again, or save the sheet as CSV"
    )
