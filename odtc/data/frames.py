"""Code rows in memory (arrays, and data frames of pandas or polars) in the same way as the rows of a data file.

An array of numbers contains numbers. In an array of objects, and in a data frame, each column is read like the same
cells in a file (odtc.data.cells.column_types): text is a category unless all of it is numbers, a categorical dtype is a
category, booleans stay booleans, and columns of a date type are read like `dates` of a file. None, NaN, NA and the
words for them are missing cells.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, time
from numbers import Integral
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from odtc.base.whole_numbers import MAX_EXACT
from odtc.data import label_types
from odtc.data.cells import column_types
from odtc.data.dataset import BOOLEAN, CATEGORICAL, NUMERIC, Feature
from odtc.data.reading_spec import DATES, dates_of_columns
from odtc.errors import DataError

PLACE = "X"  # the name of the rows in messages
SHIFTED = "take a constant from them, give them as text if they are names, or leave the column out"


def is_mixed(X) -> bool:
    """Return whether some column may contain other values than numbers of numpy, so that each is checked separately."""
    if isinstance(X, pl.DataFrame):
        return not all(dtype.is_numeric() and not column_types.is_wide(dtype) for dtype in X.dtypes)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return not all(getattr(dtype, "kind", "O") in "iuf" for dtype in X.dtypes)
    return hasattr(X, "dtype") and getattr(X.dtype, "kind", "") in "OUSTb" and getattr(X, "ndim", 0) == 2


def expect_names(X) -> None:
    """Raise DataError for a data frame without columns or with repeated names, and for anything that is not a table."""
    if isinstance(X, pl.LazyFrame):
        raise DataError("expected a table in memory, got a LazyFrame of polars; give X.collect()")
    if isinstance(X, pl.Series) or (hasattr(X, "iloc") and getattr(X, "ndim", 2) == 1):
        raise DataError("expected a table, got a single column (a Series); give a data frame, as frame[['NAME']]")
    if not hasattr(X, "columns") or not hasattr(X, "shape"):
        return
    names = [str(name) for name in X.columns]
    if not names:
        raise DataError(f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"expected different column names, got {twice!r} twice; rename one")


def series_of(X) -> list[pl.Series]:
    """Return the columns of a table as polars series, with the declared types.

    Raises TypeError for a cell that is not a number, text, boolean or date.
    """
    if isinstance(X, pl.DataFrame):
        return X.get_columns()
    if hasattr(X, "iloc"):
        return [
            _of_cells(
                X.iloc[:, j].to_numpy(dtype=object),
                str(X.dtypes.iloc[j]) == "category",
                f"column {str(X.columns[j])!r} of {PLACE}",
            )
            for j in range(X.shape[1])
        ]
    cells = np.asarray(X, dtype=object)
    return [_of_cells(cells[:, j], False, f"column {j} of {PLACE}") for j in range(cells.shape[1])]


def table_of(X) -> pl.DataFrame:
    """Return a data frame of pandas or polars as a polars data frame. Raises DataError for repeated column names."""
    expect_names(X)
    return pl.DataFrame([cells.alias(str(name)) for name, cells in zip(X.columns, series_of(X))])


def row_of(features: Iterable[Feature]) -> pl.DataFrame:
    """Return one row with columns of these names and kinds: 0, or empty text."""
    return pl.DataFrame({one.name: [0.0 if one.kind == NUMERIC else ""] for one in features})


def table_of_arrays(X, y) -> tuple[pl.DataFrame, str]:
    """Return (rows with their labels as the last column, the name of this column). Raises DataError."""
    if not hasattr(X, "columns"):
        X = np.asarray(X)
        if X.ndim != 2:
            raise DataError(f"expected an array (rows, columns), got one of shape {X.shape}")
        expect_apart(X)
        # Cells of an array of objects are examined one by one; numbers need no examination.
        columns = series_of(X) if is_mixed(X) else [pl.Series(X[:, j].astype(float)) for j in range(X.shape[1])]
        table = pl.DataFrame([cells.alias(f"x{j}") for j, cells in enumerate(columns)])
    else:
        table = table_of(X)
    own = [getattr(y, "name", None), *getattr(y, "columns", ())]  # the name of a series, or of the column of a frame
    target = str(next((name for name in own if name is not None and str(name)), "class"))
    while target in table.columns:
        target += "_"
    labels = np.asarray(label_types.in_numpy(y), dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) != len(table):
        raise DataError(f"expected a label for each of {len(table)} rows, got an array of shape {labels.shape}")
    return table.with_columns(_of_cells(labels, False, "y").alias(target)), target


def with_weights(frame: pl.DataFrame, weights) -> tuple[pl.DataFrame, str]:
    """Return (the rows with their weights as an additional column, the name of this column). Raises DataError."""
    try:
        given = np.asarray(label_types.in_numpy(weights))
        numbers = np.zeros(0) if given.dtype.kind in "mM" else given.astype(float)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != (len(frame),):
        raise DataError(
            f"expected weights as the name of a column, or as a number for each of {len(frame)} rows, got "
            f"{weights!r:.60}"
        )
    name = "weight"
    while name in frame.columns:
        name += "_"
    return frame.with_columns(pl.Series(name, numbers)), name


def write_parquet(rows: list[dict], types: dict[str, type], stream: BinaryIO) -> None:
    """Write rows as Parquet, with the given type for each column even if all its cells are missing.

    Parameters
    ----------
    rows : list of dict
    types : dict of str to type
        The columns in their order: str, int, float or bool.
    stream : binary stream
    """
    whole = io.BytesIO()  # polars would turn an OSError of our stream into an error of its own
    pl.DataFrame(rows, schema=types).write_parquet(whole)
    stream.write(whole.getbuffer())


def orders_of(X) -> dict[int, list[str]]:
    """Return by position the categories, in their order, of the columns of pandas that declare an order."""
    if isinstance(X, pl.DataFrame) or not hasattr(X, "dtypes"):
        return {}
    declared = [(j, dtype) for j, dtype in enumerate(X.dtypes) if str(dtype) == "category" and dtype.ordered]
    return {
        j: [_text(cell, f"the categories of column {j} of {PLACE}") for cell in dtype.categories]
        for j, dtype in declared
    }


def learn_features(
    series: list[pl.Series], names: list[str], categorical: set[int], orders: dict[int, list[str]] | None = None
) -> tuple[np.ndarray, tuple[Feature, ...]]:
    """Return (X, features): float64 (rows, columns) coded like `Dataset.X`, and the kinds and levels of these columns.
    The columns at the positions `categorical` are always categories; `orders` is from `orders_of`. Raises DataError."""
    X, features = np.empty((len(series[0]), len(series))), []
    dates = {j for j, cells in enumerate(series) if j not in categorical and column_types.has_days(cells)}
    layout = {DATES: dates_of_columns(None, [names[j] for j in sorted(dates)])} if dates else {}
    for j, (name, cells) in enumerate(zip(names, series)):
        cells = column_types.date_numbers(cells) if j in dates else cells
        known = column_types.column_cells(cells.alias(name), PLACE)
        kind = column_types.kind_of(cells.dtype, known, j in categorical, False)
        if kind == NUMERIC:
            features.append(Feature(name, NUMERIC, layout=layout))
        else:
            levels = ("false", "true") if kind == BOOLEAN else column_types.levels_of(known.cast(pl.String))
            ordered = kind != BOOLEAN and orders is not None and j in orders
            levels = _in_order(levels, orders[j]) if ordered else levels
            features.append(Feature(name, kind, levels, ordered, layout=layout))
        X[:, j] = _coded(known, features[-1])
        features[-1] = replace(features[-1], has_missing=bool(np.isnan(X[:, j]).any()))
    return X, tuple(features)


def _in_order(levels: tuple[str, ...], order: list[str]) -> tuple[str, ...]:
    """Return the levels in the order of categories, each of which is one of these."""
    codes = column_types.level_codes(pl.Series(order, dtype=pl.String), levels, CATEGORICAL)
    return tuple(dict.fromkeys(levels[int(code)] for code in codes if code >= 0))


def encode_cells(series: list[pl.Series], features: tuple[Feature, ...]) -> np.ndarray:
    """Return float64 (rows, columns), coded by existing features: -1 for an unseen level. Raises DataError."""
    X = np.empty((len(series[0]), len(series)))
    for j, (feature, cells) in enumerate(zip(features, series)):
        cells = column_types.date_numbers(cells) if feature.is_date else cells
        X[:, j] = _coded(column_types.column_cells(cells.alias(feature.name), PLACE), feature)
    return X


def _coded(known: pl.Series, feature: Feature) -> np.ndarray:
    if feature.kind == NUMERIC:
        return column_types.numbers(known, feature.name, PLACE)
    return column_types.level_codes(known.cast(pl.String), feature.levels, feature.kind)


def _of_cells(values: np.ndarray, declared: bool, place: str) -> pl.Series:
    """Return the cells as text if some cell is text, as booleans or dates if all cells are, and otherwise as numbers,
    which are integers if all are whole. `declared` means that the column is declared categorical."""
    known = [None if _is_missing(value) else value for value in values]
    there = [value for value in known if value is not None]
    if declared or any(isinstance(value, str) or _is_span(value) for value in there):
        text = pl.Series([None if value is None else _text(value, place) for value in known], dtype=pl.String)
        return text.cast(pl.Categorical) if declared else text
    if there and all(isinstance(value, (bool, np.bool_)) for value in there):
        return pl.Series([None if value is None else bool(value) for value in known], dtype=pl.Boolean)
    if there and all(map(_is_day, there)):
        return pl.Series([None if value is None else date(value.year, value.month, value.day) for value in known])
    if any(hasattr(value, "isoformat") for value in there):
        return pl.Series([None if value is None else str(value) for value in known], dtype=pl.String)
    numbers = pl.Series([None if value is None else _number(value, place) for value in known], dtype=pl.Float64)
    whole = [row for row, value in enumerate(known) if isinstance(value, Integral) and abs(value) >= MAX_EXACT]
    _expect_apart(known, numbers.gather(whole).to_numpy(), whole, place)
    is_whole = there and not whole and all(isinstance(value, Integral) for value in there)
    return numbers.cast(pl.Int64) if is_whole else numbers


def _is_day(value) -> bool:
    """Return whether a cell is a date without a time of day."""
    return isinstance(value, date) and (not isinstance(value, datetime) or value.time() == time())


def expect_apart(X) -> None:
    """Raise DataError if two whole numbers of a column are the same double, as neighbours from 2^53 on are.

    Parameters
    ----------
    X : array or data frame (rows, columns)
        Of numbers.
    """
    for name, cells, values in _whole_columns(X):
        rows = np.flatnonzero(np.abs(values) >= MAX_EXACT)
        _expect_apart(cells, values[rows], rows.tolist(), f"column {name} of {PLACE}")


def _expect_apart(cells, values: np.ndarray, rows: list[int], where: str) -> None:
    """Check some rows of a column in the same way as a file (column_types.expect_apart)."""
    column_types.expect_apart([int(cells[row]) for row in rows], values, where, rows, SHIFTED)


def _whole_columns(X) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield (name, cells, float64 (rows,): the cells as doubles) of each column with an integer type."""
    if isinstance(X, pl.DataFrame):
        for cells in X.get_columns():
            if cells.dtype.is_integer():
                yield repr(cells.name), cells, cells.cast(pl.Float64).to_numpy()
    elif hasattr(X, "iloc"):
        for j, kind in enumerate(X.dtypes):
            if getattr(kind, "kind", "O") in "iu":
                cells = X.iloc[:, j]
                yield repr(str(X.columns[j])), cells.array, cells.to_numpy(dtype=float, na_value=np.nan)
    else:
        array = np.asarray(X)
        for j in range(array.shape[1] if array.ndim == 2 and array.dtype.kind in "iu" else 0):
            yield str(j), array[:, j], array[:, j].astype(float)


def _number(value, place: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _strange(value, place) from None


def _text(value, place: str) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    known = isinstance(value, (str, int, float, np.number)) or hasattr(value, "isoformat") or _is_span(value)
    if not known:
        raise _strange(value, place)
    return str(value)


def _strange(value, place: str) -> TypeError:
    return TypeError(f"argument must be a string or a number in every cell of {place}, not {type(value).__name__!r}")


def _is_span(value) -> bool:
    """Return whether a cell is an interval of pandas, as `pandas.cut` makes them, or a period, as `to_period` does."""
    return type(value).__name__ in ("Interval", "Period")


def _is_missing(value) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))
