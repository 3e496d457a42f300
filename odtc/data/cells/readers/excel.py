"""Reads a sheet of an Excel workbook by polars and fastexcel, every column in its own type."""

import logging
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from odtc.base.system import STDERR
from odtc.base.text import some
from odtc.base.wording import option
from odtc.data.cells.data_files import AGAIN, book_and_sheet, check_names
from odtc.errors import ChoiceError, DataError

NAME = "excel"
SUFFIXES = (".xlsx", ".xlsm")
OPTIONS = ("header", "skip_lines", "sheet")
NUMBERED = re.compile(r"(.*)_\d+", re.DOTALL)
MAX_ROWS_ABOVE = 20  # rows of a title above the names of the columns that are tried
SUMMARY = "a sheet of an Excel workbook, by fastexcel (pip install fastexcel)"


def read(path, header: bool = True, skip_lines: int = 0, sheet: str | None = None) -> pl.DataFrame:
    """Return the columns in their types; a column of several types is text. FILE.xlsx#SHEET names a sheet, too.

    Raises DataError without fastexcel, for a file that is not a workbook, and for a sheet that it does not have.
    """
    path, named = book_and_sheet(path)
    frame = _table(path, named if named is not None else sheet, header, skip_lines)
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame
    if not header:
        return frame.rename({name: f"c{at}" for at, name in enumerate(frame.columns, 1)})
    unnamed = _unnamed(frame)
    empty = [at for at in unnamed if at and frame.to_series(at).null_count() == frame.height]
    held = [at for at in unnamed if at and at not in empty]
    if 2 * len(held) > frame.width - len(empty):
        raise DataError(
            f"expected the names of the {frame.width - len(empty)} columns in the first row of {str(path)!r}, got "
            f"{frame.width - len(unnamed)}, as in a title; leave out the rows above the names "
            f"({option('skip_lines', _rows_of_title(path, named or sheet, skip_lines, frame.width - len(empty)))})"
        )
    if held:
        raise DataError(
            f"expected a name for every column with cells in {str(path)!r}, got none for column {held[0] + 1}; name "
            f"it, remove the column, or read a sheet without names with {option('header', False)}"
        )
    twice = _twice(path, named or sheet, skip_lines, frame.columns)
    without = [frame.columns[at] for at in empty]
    frame = frame.rename(({frame.columns[0]: ""} if 0 in unnamed else {}) | twice)  # "": the names of the rows
    frame = frame.drop(without)
    check_names(frame.columns, repr(str(path)))
    return frame


def nameless(path, header: bool = True, skip_lines: int = 0, sheet: str | None = None) -> list[int]:
    """Return the numbers of the columns that have neither a name nor a cell."""
    path, named = book_and_sheet(path)
    return [at + 1 for at in _unnamed(_table(path, named or sheet, header, skip_lines)) if at] if header else []


def _table(path: Path, sheet: str | None, header: bool, skip_lines: int) -> pl.DataFrame:
    """Return the cells of a sheet as fastexcel reads them."""
    book = _workbook(path)
    names = book.sheet_names
    if sheet is not None and sheet not in names:
        raise ChoiceError(
            f"expected {option('sheet')} to name a sheet of {str(path)!r}, got {sheet!r}; it has {', '.join(names)}"
        )
    try:
        with STDERR.away():
            return book.load_sheet(
                sheet if sheet is not None else names[0],
                header_row=skip_lines if header else None,
                skip_rows=None if header else skip_lines or None,
                schema_sample_rows=None,
            ).to_polars()
    except Exception as problem:
        raise _broken(path, problem) from None


def _unnamed(frame: pl.DataFrame) -> list[int]:
    """Return the places of the columns without a name."""
    return [at for at, name in enumerate(frame.columns) if name == f"__UNNAMED__{at}"]


def _twice(path: Path, sheet: str | None, above: int, names: list[str]) -> dict[str, str]:
    """Return, for columns that fastexcel calls x_1 because an earlier one is x, too, the names that the CSV reader
    gives them."""
    if not any((found := NUMBERED.fullmatch(name)) and found[1] in names for name in names):
        return {}
    own = _table(path, sheet, False, above).row(0)
    again = [at for at, cell in enumerate(own) if cell is not None and cell in own[:at]]
    return {names[at]: f"{own[at]}{AGAIN}{at + 1}" for at in again}


def _rows_of_title(path: Path, sheet: str | None, above: int, width: int) -> int:
    """Return how many rows are above the first one with this number of cells, which is not one of the first ones; else
    one row more than these."""
    rows = _table(path, sheet, False, 0).head(above + MAX_ROWS_ABOVE).rows()
    full = (at for at, row in enumerate(rows) if at > above and len(row) - row.count(None) >= width)
    return next(full, above + 1)


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
            logging.getLogger("fastexcel").setLevel(logging.ERROR)  # a column without cells is not remarkable
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
