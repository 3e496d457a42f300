"""The Dataset of typed columns: which column has which role, which rows stay, with labels, weights and remarks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from odtc.base import phases
from odtc.base.text import count_of, some
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cells import column_types
from odtc.data.cells.data_files import check_names, reader_of
from odtc.data.cells.missing_marks import marks_of_texts
from odtc.data.cells.written_numbers import PARTED, UNPARTED
from odtc.data.cost_matrix import expect_weight_left, expect_weights
from odtc.data.dataset import BOOLEAN, NUMERIC, Dataset, Feature
from odtc.data.label_types import BOOL, FLOAT, INT, TEXT, label_type_of
from odtc.data.reading_spec import ReadingSpec, no_column
from odtc.data.table.coded_columns import table_of_columns
from odtc.data.table.column_coding import Column
from odtc.data.table.level_orders import in_order, orders_of_texts
from odtc.data.task import task_of
from odtc.errors import ChoiceError, DataError, OneValueError

FIRST_CELLS = 64  # of a column, which nearly always show that its points part no thousands
OF_LIBSVM = re.compile(r"[-+]?[\d.]+( +\d+:\S+)+( *#.*)?")  # a line of this format: label index:value …
NO_KNOWN_CELL = "expected a known cell in some feature column of {}, got only missing ones"


def checked_targets(names: Sequence[str], place: str, how: ReadingSpec) -> tuple[str, ...]:
    """Return the columns of the target, after checking that the names of columns are valid and that there is a feature
    among them."""
    check_names(names, place)
    targets = task_of(how).target_columns(names, how, place)
    _check_columns(names, place, targets, how)
    if not set(names) - {*targets, how.weights, *how.auxiliary}:
        advice = "name fewer auxiliary columns" if how.auxiliary or how.ignore else "add one"
        if len(names) == 1:
            signs = "commas, semicolons, tabs, | or white space"
            advice = f"add one, or separate the columns by {signs}, or name the sign ({option('separator')})"
            if OF_LIBSVM.fullmatch(names[0]):
                advice = (
                    "this is a file of svmlight (label index:value …), which scikit-learn's load_svmlight_file reads"
                )
        raise DataError(
            f"expected at least one feature column in addition to the target {some(targets)} in {place}, got none; "
            f"{advice}"
        )
    return targets


def _check_columns(names, place: str, targets, how: ReadingSpec) -> None:
    """Raise ChoiceError for a column named in an option that does not exist or does not fit."""
    for role, named in (
        ("weights", [how.weights] if how.weights else []),
        ("categorical", how.categorical),
        ("numeric", how.numeric),
        ("auxiliary", how.auxiliary),
        ("ordered", list(ordered_columns(how, names, place))),
    ):
        for name in named:
            if name not in names:
                raise no_column(role, name, names, place, names_in_text(name, names))
            if name in targets:
                raise ChoiceError(
                    f"expected another column for {option(role)}, got {name!r}, which is the target of {place}"
                )
            if role in ("categorical", "numeric", "auxiliary", "ordered") and name == how.weights:
                raise ChoiceError(
                    f"expected a feature column for {option(role)}, got {name!r}, which holds the weights"
                )
            if role == "numeric" and name in how.categorical:
                raise ChoiceError(
                    f"expected the column {name!r} in {option('categorical')} or in {option('numeric')}, got it in both"
                )
            if role == "ordered" and name in how.numeric:
                raise ChoiceError(
                    f"expected the column {name!r} in {option('ordered')} or in {option('numeric')}, got it in both"
                )


def names_in_text(name, names: Sequence[str]) -> str:
    """Return the end of a message on a text that lists several of these names; "" for any other text."""
    parts = [part.strip() for part in str(name).split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return f" as one name; in Python they are a list, {parts}"
    return ""


def ordered_columns(how: ReadingSpec, names: Sequence[str], place: str) -> dict[str, tuple[str, ...] | None]:
    """Return the columns whose levels have an order (odtc.data.table.level_orders)."""
    return orders_of_texts(how.ordered, names, place)


def dataset_of(table: list[Column], name: str, how: ReadingSpec, source: dict, remarks: list) -> Dataset:
    """Return the Dataset of columns; `table` is emptied, so that each column is in memory once. `remarks` are the
    first ones of `Dataset.left_out`."""
    place = repr(source["path"] or name)
    targets = checked_targets([column.name for column in table], place, how)
    columns = {column.name: column for column in table}
    table.clear()
    mark_text_labels([columns[n] for n in targets], source)
    how, empty = _without_empty(columns, targets, how, place)
    marks = marks_of_texts(how.missing_mark, list(columns), place)
    for n in empty:
        columns.pop(n)
    names = [n for n in columns if n not in (*targets, how.weights)]
    phases.begin("types of the columns")
    orders = ordered_columns(how, list(columns), place)
    kinds = {n: columns[n].kind(n in how.categorical or n in orders, n in how.numeric) for n in names}
    advice = f"correct it, or name the column in {option('categorical')}"
    numbers = {n: columns[n].numbers(advice) for n, kind in kinds.items() if kind == NUMERIC}
    padded = [(n, cell) for n in numbers if n not in how.numeric and (cell := columns[n].padded)]
    remarks = [*remarks, *_of_numbers(columns, numbers)]
    remarks += [(n, "empty", f"column {n!r} has no cell, and is left out") for n in empty]
    merged = [(n, *cells) for n in numbers if (cells := columns[n].merged)]
    rows = _rows_of(columns, names, targets, how, place)
    taken = [(n, text) for n in [*names, *targets] for text in sorted(columns[n].held.taken) if rows.some_left_out]
    asked = _labels_of(columns, targets, rows, taken, how, place)
    features, coded, layout = [], [], how.layout
    for n, kind in kinds.items():
        column = rows.kept(numbers.pop(n, columns.pop(n)))
        levels, column = _leveled(column, n, kind, orders, place)
        known = n in orders, how.decimal, marks.get(n, ()), column.has_missing
        features.append(Feature(n, kind, levels, *known, layout=layout))
        coded.append(column)
    if not any(column.has_number for column in coded):
        raise DataError(NO_KNOWN_CELL.format(place))
    n_kept = int(rows.keep.sum())
    parts = [[column for n, column in zip(kinds, coded) if (n in how.auxiliary) == out] for out in (False, True)]
    X, auxiliary_X = (table_of_columns(part, n_kept) for part in parts)
    found = Dataset(
        name=name,
        X=X,
        y=np.zeros(n_kept, np.int32),
        features=tuple(feature for feature in features if feature.name not in how.auxiliary),
        classes=(),
        weight=rows.kept_weight,
        target=targets[0],
        missing=how.missing,
        n_dropped=int((~rows.keep).sum()),
        n_unlabelled=int(rows.unlabelled.sum()),
        source=source | how.to_source(),
        auxiliary=tuple(feature for feature in features if feature.name in how.auxiliary),
        auxiliary_X=auxiliary_X,
        task=how.task,
        padded=tuple(padded),
        merged=tuple(merged),
        missing_words=tuple(taken),
        left_out=tuple(remarks),
    )
    task = task_of(how)
    labelled = task.labelled(found, asked, how, place)
    return replace(labelled, label_type=_label_type(labelled, asked[targets[0]])) if task.CLASSES else labelled


def _leveled(column: Column, name: str, kind: str, orders: dict, place: str) -> tuple[tuple[str, ...], Column]:
    """Return (the levels of a column in their order, the column coded by them); of numbers ((), the column)."""
    if kind == NUMERIC:
        return (), column
    levels = ("false", "true") if kind == BOOLEAN else column.levels
    order = orders.get(name)
    levels = levels if order is None else in_order(levels, order, name, place)
    return levels, column.level_codes(levels, kind)


def _without_empty(
    columns: dict[str, Column], targets: Sequence[str], how: ReadingSpec, place: str
) -> tuple[ReadingSpec, list[str]]:
    """Return (how columns are read, the columns without a cell): these are not read, because they would leave out all
    rows, unless an option names them or there are no others."""
    if how.missing != "drop":
        return how, []
    named = {*targets, how.weights, *how.categorical, *how.numeric, *how.auxiliary}
    named |= set(ordered_columns(how, list(columns), place))
    features = [name for name in columns if name not in named]
    empty = [name for name in features if columns[name].missing.all()]
    if len(empty) == len(features):
        return how, []
    return replace(how, ignore=(*how.ignore, *empty)), empty


@value_class
class _Rows:
    """The rows of a table: float64 (rows,) their weights, and bool (rows,), whether each is kept, and whether it has no
    label or no weight."""

    weight: np.ndarray
    keep: np.ndarray
    unlabelled: np.ndarray

    @property
    def some_left_out(self) -> bool:
        return not self.keep.all()

    def kept(self, cells: Any) -> Any:
        """Return the cells of the rows that are kept, of a column or of its numbers."""
        return cells.kept(self.keep) if self.some_left_out else cells

    @property
    def kept_weight(self) -> np.ndarray:
        return self.weight[self.keep] if self.some_left_out else self.weight


def _rows_of(columns: dict[str, Column], names: list[str], targets: list[str], how: ReadingSpec, place: str) -> _Rows:
    """Return which rows are kept, and their weights."""
    n_rows = len(columns[targets[0]].missing)
    weight = np.ones(n_rows)
    if how.weights:
        weight = expect_weights(columns[how.weights].numbers().cells(), how.weights, place)
    keep = _kept_rows(columns, names, targets, how.weights, how.missing, place)
    if how.weights:
        expect_weight_left(weight[keep], how.weights, place)
    weightless = weight == 0  # a weight is a number of rows, so these are rows without a weight
    unlabelled = rows_with_gaps(columns, [*targets, *([how.weights] if how.weights else [])]) | weightless
    return _Rows(weight, keep & ~weightless, unlabelled)


def _kept_rows(columns: dict, names, targets, weights, missing: str, place: str) -> np.ndarray:
    """Return which rows stay, bool of shape (rows,); raises DataError by policy, or if none stays."""
    needed = ([] if missing == "separate" else list(names)) + [*targets] + ([weights] if weights else [])
    incomplete = rows_with_gaps(columns, needed)
    if missing == "error" and incomplete.any():
        row = incomplete.argmax()
        cells = sum(int(columns[n].missing.sum()) for n in needed)
        first = next(n for n in needed if columns[n].missing[row])
        raise DataError(
            f"expected no missing cell in {place}, got {cells} in {count_of(incomplete.sum(), 'row', '')}, the first "
            f"in row {row + 1}, column {first!r}; fill them in, or choose {option('missing', 'drop', 'separate')}"
        )
    if not len(incomplete):
        raise DataError(f"expected rows of data in {place}, got none")
    if incomplete.all():
        if names and all(columns[n].missing.all() for n in names):  # no option keeps a row
            raise DataError(NO_KNOWN_CELL.format(place))
        lacks = [int(columns[n].missing.sum()) for n in needed]
        worst = needed[int(np.argmax(lacks))]
        keep = f"leave that column out with {option('ignore')}, or choose {option('missing', 'separate')}"
        advice = keep if worst in names else "name another column"
        raise DataError(
            f"expected a row without missing cells in {place}, got none among {count_of(len(incomplete), 'row', '')} "
            f"(column {worst!r} has {count_of(max(lacks), 'missing cell', '')}); {advice}"
        )
    return ~incomplete


def rows_with_gaps(columns: dict[str, Column], names) -> np.ndarray:
    """Return bool (rows,): which rows lack a cell in one of these columns."""
    found = columns[names[0]].missing
    for name in names[1:]:
        found |= columns[name].missing
    return found


def _labels_of(
    columns: dict[str, Column],
    targets: list[str],
    rows: _Rows,
    taken: Sequence[tuple[str, str]],
    how: ReadingSpec,
    place: str,
) -> dict[str, Column]:
    """Return the target columns of the rows that are kept.

    Raises DataError if the task cannot use them; the sentence names the cells that were `taken` for missing if the rows
    that were left out differ.
    """
    task, asked = task_of(how), {n: rows.kept(columns[n]) for n in targets}
    try:
        task.expect(asked, how, place)
    except OneValueError as problem:
        if not rows.some_left_out:
            raise
        labelled = {n: columns[n].kept(~rows.unlabelled) for n in targets}
        separable = how.missing == "drop" and _differs(task, labelled, how, place)
        raise DataError(_left_out_text(problem, taken, rows, separable, place)) from None
    return asked


def _differs(task, asked: dict[str, Column], how: ReadingSpec, place: str) -> bool:
    """Return whether the cells of the target have more than one value."""
    try:
        task.expect(asked, how, place)
    except OneValueError:
        return False
    except DataError:
        pass
    return True


def _left_out_text(
    problem: OneValueError, taken: Sequence[tuple[str, str]], rows: _Rows, separable: bool, place: str
) -> str:
    """Report that the rows that are not left out have one value of the target: why the others were left out, and how
    to keep them. Rows with another value can be kept with --missing separate if `separable`."""
    keep, weighted = rows.keep, not rows.weight.all()
    n, out = int(keep.sum()), int((~keep).sum())
    were, lack, those = ("was", "it has", "that row") if out == 1 else ("were", "they have", "those rows")
    why = f"{taken_text(taken)} was taken for missing" if taken else f"{lack} missing cells{' or weight 0' * weighted}"
    rest = f"the other {count_of(n, 'row', '')} of {place} all have" if n > 1 else f"the one other row of {place} has"
    advice = [f"keep {those} with {option('missing', 'separate')}"] if separable else []
    advice += [f"read such texts as values with {option('only_missing', '')}"] if taken else []
    advice += [f"leave out columns with many missing cells with {option('ignore')}"] if separable else []
    return (
        f"{out} of {count_of(len(keep), 'row', '')} {were} left out because {why}, and {rest} the {problem.value}; "
        f"{', or '.join(advice) or 'name another target'}"
    )


def taken_text(taken: Sequence[tuple[str, str]]) -> str:
    """Return the (column, text) that were taken for missing cells in words."""
    words = " and ".join(f"{text!r} in column {name!r}" for name, text in taken[:3])
    return f"{words} and others" if len(taken) > 3 else words


def mark_text_labels(targets: Sequence[Column], source: Mapping[str, Any]) -> None:
    """Mark columns of labels that are text in their source, and not only written as text in a file of text."""
    path = source.get("path")
    if path is None or not reader_of(Path(path)).TEXT:
        for column in targets:
            column.as_written = column.dtype == pl.String


def _label_type(rows: Dataset, target: Column) -> str:
    """Return the type of the labels: the type of the column, or, if a file contains text, the type of the numbers that
    it represents."""
    if target.dtype == pl.String:
        return TEXT if target.as_written else label_type_of(rows.classes)
    like = BOOL if target.dtype == pl.Boolean else INT if target.dtype.is_integer() else FLOAT
    return label_type_of(rows.classes, False, like) if like == BOOL or target.dtype.is_numeric() else TEXT


def _of_numbers(columns: dict[str, Column], names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return remarks on columns of numbers: separators of thousands, and percents."""
    found = [_of_thousands(n, columns[n]) for n in names if _may_part_thousands(columns[n])]
    return found + [percents for n in names if (percents := _of_percents(n, columns[n])) is not None]


def _may_part_thousands(column: Column) -> bool:
    """Return whether every point of a column of text is followed by exactly three digits, next to whole numbers with
    as many digits as fit before such a point: 1.219 next to 950, but not 0.125, and not 1.125 with only 1.250."""
    if column.decimal is not None or column.dtype != pl.String or column.values is not None:
        return False
    for part in (column.cells.head(FIRST_CELLS), column.cells):
        cells = part.str.strip_chars()
        parted = cells.str.contains(PARTED)
        if not (parted | cells.str.contains(UNPARTED)).all():
            return False
    return bool(parted.any() and cells.str.contains(r"^-?[1-9][0-9]{2}$").any())


def _of_thousands(name: str, column: Column) -> tuple[str, str, str]:
    cells = column.cells.str.strip_chars()
    parted = next(cell for cell in cells if "." in cell)
    plain = next(cell for cell in cells if "." not in cell and len(cell.lstrip("-")) == 3)
    words = (
        f"in column {name!r} every point is followed by exactly three digits ({parted} next to {plain}) and is read as "
        f"a decimal point; if it parts thousands, {option('decimal', ',')} reads {parted.replace('.', '')}"
    )
    return name, "thousands", words


def _of_percents(name: str, column: Column) -> tuple[str, str, str] | None:
    """Return a remark on a column of numbers of which some have a percent sign and others, except for zeros, none."""
    if column.decimal is None or column.dtype != pl.String or "%" not in column.beside:
        return None
    is_percent = column.cells.str.contains("%", literal=True)
    plain = column.cells.filter(~is_percent & (column_types.finite_numbers(column.cells, column.decimal) != 0))
    if not len(plain):
        return None
    percent = column.cells.filter(is_percent)[0]
    words = (
        f"column {name!r} has numbers with a percent sign and without one ({percent!r} and {plain[0]!r}), and the sign "
        "changes no number; if both mean shares, write them alike"
    )
    return name, "percent", words
