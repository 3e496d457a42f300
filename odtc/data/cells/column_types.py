"""Types of the columns of a data file: numbers or levels, and the codes of levels."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import time
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import polars as pl

from odtc.base.text import show_number
from odtc.base.whole_numbers import MAX_DIGITS, MAX_EXACT
from odtc.base.wording import option
from odtc.data.cells import written_numbers
from odtc.data.reading_spec import BOOLEAN, CATEGORICAL, DATES, MISSING_CELLS, NUMERIC, date_columns
from odtc.errors import DataError

# A number that is written like a code, such as 00123; as a level it differs from the number 123.
PADDED = re.compile(r"[+-]?0[0-9]")

CORRECT = "correct it"
MOSTLY = 20  # with this many times more numbers than words in a column, a note lists the words
DATE_FORMS, DATE_NUMBER = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y"), "%Y%m%d"
MIDNIGHT = time()
CLOCK = r"[T ]\d{1,2}:\d{2}.*$"  # behind a date
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d[\d.]*(,\d+)+(e[-+]?\d+)?\s*", re.IGNORECASE)


# Characters that polars' strip_chars removes, the white space of Unicode; Python's str.strip removes a few more.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
BLANKS += "\u2028\u2029\u202f\u205f\u3000"
POLARS_CELLS = 2**11  # cells; below this a loop is faster than polars, because every polars call takes 0.1 ms
LONG = re.compile("[eE]-[0-9]{3}")

FEW, REMEMBERED = 16, 4096  # results are cached for columns of at most this many cells, and for this many columns


def of_few_cells(function: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the results of a function of cells for columns of at most FEW cells, because a wide table repeats the same
    cells in thousands of columns. The other arguments of the function must be hashable."""
    known: dict[Any, Any] = {}

    @functools.wraps(function)
    def remembered(cells: pl.Series, *given: Any) -> Any:
        if len(cells) > FEW or cells.dtype.is_float():  # -0 and 0 would be one key
            return function(cells, *given)
        key = cells.dtype, given, tuple(cells.to_list())
        if key not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[key] = function(cells, *given)
        return known[key]

    return remembered


def words_of(cells: pl.Series, place: str, missing: Sequence[str] = MISSING_CELLS) -> list:
    """Return the different cells of a column, as `column_cells` returns them, in a list that must not be changed."""
    if cells.dtype != pl.String:
        return column_cells(cells, place, missing).to_list()
    stripped = [None if cell is None else cell.strip(BLANKS) for cell in cells.to_list()]
    return [None if cell in missing else cell for cell in stripped]


def column_cells(series: pl.Series, place: str, missing: Sequence[str] = MISSING_CELLS) -> pl.Series:
    """Return the column as text without blanks around it, as booleans, or as numbers; null for texts that are
    `missing`.

    Dates become text. Raises DataError for lists, structs and other types that hold no words.
    """
    dtype = series.dtype
    if dtype.is_float():
        return series.fill_nan(None)
    if dtype.is_integer() and not is_wide(dtype):
        return series
    if dtype == pl.Boolean:
        return series
    text = cells_as_text(series, place).str.strip_chars()
    return text.set(text.is_in(missing), None)


def has_days(series: pl.Series) -> bool:
    """Return whether a column has a type of dates, and no time of day."""
    dtype = series.dtype
    return dtype == pl.Date or (isinstance(dtype, pl.Datetime) and bool((series.dt.time() == MIDNIGHT).all()))


def dates_as_numbers(frame: pl.DataFrame, layout: Mapping[str, Any]) -> pl.DataFrame:
    """Return a frame with dates as numbers, such as 20190314, in the columns that the option `dates` names. Other cells
    of these columns stay."""
    named = {name: form for name, form in date_columns(layout.get(DATES)).items() if name in frame.columns}
    return frame.with_columns(date_numbers(frame[name], form) for name, form in named.items()) if named else frame


def numbers_of_dates(words: Sequence[str], form: str | None) -> list[str]:
    """Return texts in which dates are replaced by numbers; `form` is their format, None for the usual formats."""
    return date_numbers(pl.Series(words, dtype=pl.String), form).to_list()


def date_numbers(cells: pl.Series, form: str | None = None) -> pl.Series:
    """Return cells in which dates are replaced by numbers, such as 20190314; `form` is the format of dates in text,
    None for the usual formats."""
    if cells.dtype == pl.Date or isinstance(cells.dtype, pl.Datetime):
        return cells.dt.strftime(DATE_NUMBER).cast(pl.Int64)
    if cells.dtype != pl.String:
        return cells
    text = cells.str.strip_chars()
    text = text if form else text.str.replace(CLOCK, "")
    found = [text.str.to_date(one, strict=False) for one in ([form] if form else DATE_FORMS)]
    days = pl.select(pl.coalesce(found)).to_series()
    is_date = days.dt.year() > 999  # 14.3.19 needs a format
    return (
        pl.select(pl.when(is_date).then(days.dt.strftime(DATE_NUMBER)).otherwise(cells)).to_series().alias(cells.name)
    )


def cells_as_text(series: pl.Series, place: str) -> pl.Series:
    """Return the cells as text; raises DataError for lists, structs and other types that contain no words."""
    try:
        if not series.dtype.is_nested():  # polars writes structs as text
            return series.cast(pl.String)
    except pl.exceptions.PolarsError:  # bytes that are not text
        pass
    raise DataError(
        f"expected numbers, words, booleans or dates in column {series.name!r} of {place}, got the type "
        f"{series.dtype}; convert the column, or leave it out with {option('ignore')}"
    )


def missing_words(series: pl.Series) -> list[str]:
    """Return the texts of a column, except for the empty one, that `column_cells` takes for missing cells."""
    if not (series.dtype == pl.String or is_categories(series.dtype)):
        return []
    texts = series.cast(pl.String).unique().drop_nulls().str.strip_chars()
    return sorted(set(texts.filter(texts.is_in(MISSING_CELLS))) - {""})


def is_wide(dtype: pl.DataType) -> bool:
    """Return whether a polars type is a 128-bit integer. numpy has no such type, so these columns are read as text."""
    return str(dtype) in ("Int128", "UInt128")


def is_categories(dtype: pl.DataType) -> bool:
    """Return whether a type of polars declares categories."""
    return isinstance(dtype, (pl.Categorical, pl.Enum))


def kind_of(dtype: pl.DataType, column: pl.Series, categorical: bool, numeric: bool, decimal: str | None = None) -> str:
    """Return the kind of a column of `cells`, whose type in the file was `dtype`; options go first. `decimal` is as in
    `finite_numbers`."""
    if categorical:
        return CATEGORICAL
    if numeric:
        return NUMERIC
    # Category columns of parquet and nominal columns of ARFF are declared as categories by the file.
    return _kind(column, is_categories(dtype), decimal)


@of_few_cells
def _kind(column: pl.Series, declared: bool, decimal: str | None) -> str:
    if column.dtype != pl.String:
        return BOOLEAN if column.dtype == pl.Boolean else NUMERIC
    if _as_numbers(column, decimal).null_count() == column.null_count():
        return CATEGORICAL if declared else NUMERIC
    flags = all(cell is None or cell.lower() in ("false", "true") for cell in column.to_list())
    return BOOLEAN if flags else CATEGORICAL


def numbers(
    column: pl.Series, name: str, place: str, advice: str = CORRECT, first: int = 1, decimal: str | None = None
) -> np.ndarray:
    """Return float64 of shape (rows,), NaN if missing; raises DataError for a cell that is not a finite number.

    `advice` ends that message; `first` is the number of the first row; `decimal` as in `finite_numbers`.
    """
    values = _as_numbers(column, decimal)
    wrong = column.is_not_null() & ~values.is_finite().fill_null(False)
    if wrong.any():
        row = wrong.arg_max()
        if decimal is not None:
            advice = (
                f"the decimal sign of these numbers is {decimal!r} ({option('decimal')}); write the cell so, or "
                "correct it"
            )
        elif advice == CORRECT and DECIMAL_COMMA.fullmatch(str(column[row])):
            advice = "write decimals with a point, and no comma between thousands"
        raise DataError(
            f"expected a finite number in column {name!r} of {place}, got {_short(column[row])} in row "
            f"{row + first}; {advice}"
        )
    # Adding zero turns -0 into 0, so that both are the same value wherever bytes are compared.
    return values.to_numpy() + 0.0


def finite_numbers(column: pl.Series, decimal: str | None = None) -> pl.Series:
    """Return the cells of a column that are finite numbers, as Float64; null if missing or not a number. `decimal` is
    the decimal sign of numbers that people wrote (odtc.data.cells.written_numbers); None for numbers in the notation
    of programs."""
    values = _as_numbers(column, decimal)
    if np.isfinite(values.to_numpy()).sum() == len(values) - values.null_count():
        return values
    return values.set(~values.is_finite().fill_null(True), None)


@of_few_cells
def all_finite(column: pl.Series, decimal: str | None = None) -> np.ndarray | None:
    """Return float64 (rows,), NaN if missing, not to be changed; None if a cell is not a finite number."""
    found = finite_numbers(column, decimal)
    return None if found.null_count() > column.null_count() else found.to_numpy() + 0.0  # 0 of -0, as `numbers`


def padded_cell(cells: pl.Series) -> str | None:
    """Return the first cell that is written like a code, with zeros before its number (PADDED); None if
    there is none."""
    if cells.dtype != pl.String:
        return None
    if len(cells) < POLARS_CELLS:
        return next((cell for cell in cells.to_list() if cell is not None and PADDED.match(cell)), None)
    found = cells.filter(are_padded(cells))
    return found[0] if len(found) else None


def are_padded(cells: pl.Series) -> pl.Series:
    """Return which cells of text are written like codes (PADDED)."""
    return cells.str.contains(f"^(?:{PADDED.pattern})")


def are_long(cells: pl.Series) -> pl.Series:
    """Return which cells of text may be numbers that doubles do not distinguish from others."""
    return (cells.str.len_bytes() > MAX_DIGITS) | cells.str.contains(LONG.pattern)


def merged_cells(cells: pl.Series) -> tuple[str, str] | None:
    """Return two cells whose numbers differ but round to the same double, such as 0.12345678901234567 and …68; None if
    there are no such cells. Whole numbers from 2^53 on are handled by `expect_apart`."""
    if cells.dtype != pl.String:
        return None
    if len(cells) < POLARS_CELLS:
        words = [cell for cell in cells.to_list() if cell is not None]
        together = "\0".join(words)
        sizes = map(len, words if together.isascii() else map(str.encode, words))
        is_long = max(sizes, default=0) > MAX_DIGITS or LONG.search(together)
    else:
        is_long = are_long(cells).any()
    if not is_long:
        return None
    values = finite_numbers(cells)
    twice = cells.filter(values.is_duplicated() & values.is_not_null() & (values.abs() < MAX_EXACT))
    first: dict[float, tuple[Decimal, str]] = {}
    for cell, value in zip(twice.to_list(), finite_numbers(twice).to_list()):
        try:
            exact = Decimal(cell.strip())
        except InvalidOperation:
            continue
        other, text = first.setdefault(value + 0.0, (exact, cell))
        if other != exact:
            return text, cell
    return None


def plain_cells(cells: pl.Series, decimal: str | None) -> pl.Series:
    """Return the cells with numbers rewritten in the notation of programs; other cells stay."""
    if decimal is None or cells.dtype != pl.String:
        return cells
    return written_numbers.plain(cells, decimal).fill_null(cells)


def _as_numbers(column: pl.Series, decimal: str | None = None) -> pl.Series:
    text = column.cast(pl.String) if column.dtype == pl.Boolean else column
    if decimal is not None and text.dtype == pl.String:
        text = written_numbers.plain(text, decimal)
    return text.cast(pl.Float64, strict=False)


def expect_apart(cells, values: np.ndarray, where: str, rows: Iterable[int], advice: str | None = None) -> None:
    """Raise DataError if two different whole numbers are the same double in `values`, as neighbours from 2^53 on are,
    because no split could separate them.

    Parameters
    ----------
    cells : sequence (cells,), of numbers or of their texts
    values : float64 (cells,)
    where : str, the column in words
    rows : int (cells,), the rows of these cells, rising from 0
    advice : str or None
        The end of the message; by default, advice to declare the column categorical or to leave it out.
    """
    advice = advice or f"name the column in {option('categorical')}, or leave it out"
    first: dict[float, object] = {}
    for cell, value, row in zip(cells, values.tolist(), rows):
        exact = cell if isinstance(cell, int) else _whole(cell)
        if abs(value) >= MAX_EXACT and exact is not None and first.setdefault(value, exact) != exact:
            raise DataError(
                f"expected numbers that differ as doubles in {where}, got {first[value]} and, in row {row + 1}, "
                f"{exact}, beyond 2^53 = 9007199254740992; {advice}"
            )


def levels_of(text: pl.Series, as_written: bool = False) -> tuple[str, ...]:
    """Return the level names of a text column, sorted: as numbers if all are numbers, otherwise as text. Numbers that
    are written in several ways, such as 1 and 1.0, are one level unless `as_written`."""
    words = _different(text)
    values = numbers_of(words)
    if values is None:
        return tuple(sorted(words))
    if not as_written and max(map(abs, values), default=0) < MAX_EXACT and not any(map(PADDED.match, words)):
        return tuple(show_number(value) for value in sorted(set(values)))
    return tuple(word for _, word in sorted(zip(values, words)))


def level_codes(text: pl.Series, levels: tuple[str, ...], kind: str) -> np.ndarray:
    """Return the position of each cell in `levels`, float64 (rows,): NaN if the cell is missing, -1 for another level.

    A number is found however it is written (1.0 as 1) if all levels are numbers and only one of them is this number.
    """
    if kind == BOOLEAN:
        text = text.str.to_lowercase()
    place: dict[str | None, float] = {level: float(code) for code, level in enumerate(levels)}
    words = _different(text)
    found = {word: place[word] for word in words if word in place}
    values = numbers_of(levels) if len(found) < len(words) else None
    written = values and max(map(abs, values)) < MAX_EXACT and not any(map(PADDED.match, levels))
    if len(found) < len(words) and written:
        alike = Counter(values)
        of_value = {value: float(code) for code, value in enumerate(values) if alike[value] == 1}
        for word, value in zip(words, pl.Series(words).cast(pl.Float64, strict=False)):
            if word not in found and value in of_value and not PADDED.match(word):
                found[word] = of_value[value]
    if len(text) < POLARS_CELLS:
        return np.array([np.nan if word is None else found.get(word, -1.0) for word in text.to_list()], dtype=float)
    if not found:
        coded = np.full(len(text), -1.0)
    else:
        coded = text.replace_strict(found, default=-1.0, return_dtype=pl.Float64).to_numpy().copy()
    coded[text.is_null().to_numpy()] = np.nan
    return coded


def _different(text: pl.Series) -> list[str]:
    """Return the different words of a column."""
    return [
        word
        for word in dict.fromkeys((text if len(text) < POLARS_CELLS else text.unique()).to_list())
        if word is not None
    ]


def numbers_of(words) -> list[float] | None:
    """Return the words as finite numbers, or None if one of them is not."""
    values = pl.Series(words, dtype=pl.String).cast(pl.Float64, strict=False)
    return values.to_list() if np.isfinite(values.to_numpy()).all() else None


def values_of(words: Sequence[str]) -> list[float | None]:
    """Return the words as finite numbers, None for a word that is not a number."""
    return finite_numbers(pl.Series(words, dtype=pl.String)).to_list()


def are_numbers(words: Sequence[str], decimal: str | None = None) -> bool:
    """Return whether all texts are finite numbers; `decimal` as in `finite_numbers`."""
    return all_finite(pl.Series(words, dtype=pl.String), decimal) is not None


def words_among_numbers(levels: Sequence[str], decimal: str | None = None) -> list[str]:
    """Return the few texts that prevent a column from being numeric; an empty list unless the column has some texts and
    at least MOSTLY times as many numbers. `decimal` as in `finite_numbers`."""
    found = finite_numbers(pl.Series(levels, dtype=pl.String), decimal)
    words = pl.Series(levels, dtype=pl.String).filter(found.is_null()).to_list()
    return words if len(words) * (1 + MOSTLY) <= len(levels) else []


def _whole(text: str) -> int | None:
    """Return the whole number that a text represents exactly; None if there is no such number."""
    exact = Decimal(text) if isinstance(text, str) else Decimal(repr(text))
    return int(exact) if exact == exact.to_integral_value() else None


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
