"""Conversion of a data file into a Dataset: types, levels, classes, weights and missing cells.

The protocol `Reader` defines the parts of a reader module; all decisions about the cells are made here, once for all
file formats. Row numbers in messages count the rows of data from 1, without the header.
"""

import codecs
import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from odtc.base import phases
from odtc.base.spec_fields import takes_fields
from odtc.base.system import open_file
from odtc.base.text import count_of, did_you_mean, first_few, some
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cells import column_types
from odtc.data.cells.data_files import (
    AGAIN,
    BATCH,
    INSTANCE_WEIGHT,
    book_and_sheet,
    check_names,
    data_name,
    fitting_layout,
    frames_of,
    in_time_of,
    load,
    opened_by,
    reader_of,
)
from odtc.data.cells.missing_marks import marks_of_texts, unmet
from odtc.data.cells.text_pieces import first_in_utf8
from odtc.data.cells.text_records import skipped_text
from odtc.data.cells.written_numbers import PARTED, UNPARTED
from odtc.data.codebook import read_codebook, with_labels
from odtc.data.cost_matrix import expect_weight_left, expect_weights
from odtc.data.dataset import BOOLEAN, CATEGORICAL, NUMERIC, Dataset, Feature, decimal_of, layout_of
from odtc.data.label_types import BOOL, FLOAT, INT, TEXT, label_type_of
from odtc.data.reading_rows import code_cells, code_labels, expect_columns, no_known_label
from odtc.data.reading_spec import (
    CLASSIFICATION,
    DATES,
    POLICIES,
    ReadingSpec,
    date_columns,
    dates_of_columns,
    missing_texts,
    no_column,
)
from odtc.data.table.coded_columns import table_of_columns
from odtc.data.table.column_coding import Column, WordsNeeded, code_columns, named_columns
from odtc.data.table.level_orders import in_order, order_text, orders_of_texts
from odtc.data.task import task_of
from odtc.errors import ChoiceError, DataError, OneValueError

BAD_LINE, SHEET = "bad line", "sheet"  # kinds of remarks: on lines that were skipped, and on the sheets of a workbook
FIRST_CELLS = 64  # of a column, which nearly always show that its points part no thousands
# The fields of a reading that name columns which are read, so that none of them may be ignored.
USES = (
    *("target", "weights", "categorical", "numeric", "ordered", "auxiliary"),
    *("actions", "treatment", "outcome", "propensity", "time", "event"),
)
OF_LIBSVM = re.compile(r"[-+]?[\d.]+( +\d+:\S+)+( *#.*)?")  # a line of this format: label index:value …
NO_KNOWN_CELL = "expected a known cell in some feature column of {}, got only missing ones"
SPLIT_SEED = 20  # it determines which rows are set aside: the same in all versions


@takes_fields(ReadingSpec)
def read(path, target=None, *, name: str | None = None, **reading) -> Dataset:
    """Read a data set from a file or a data frame.

    Parameters
    ----------
    path : path, pandas.DataFrame or polars.DataFrame
        A data file, whose suffix determines its format (`odtc list readers`), or a data frame.
    {fields}
    name : str or None
        Name of the data set; None is the stem of the file, or "data".

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the data cannot be used.
    ChoiceError
        If an option is unknown.
    TimeLimitReached
        If the deadline passes (odtc.base.deadline) before a large file is read.

    Examples
    --------
    >>> import odtc
    >>> rows = odtc.read("examples/iris/iris.csv")
    >>> rows.X.shape, rows.classes
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    return read_as(path, ReadingSpec.of(target=target, **reading), name)


def read_as(path, how: ReadingSpec, name: str | None = None) -> Dataset:
    """Read a data set as a specification describes; the other arguments and the exceptions are those of `read`."""
    codebook = None if how.labels is None else read_codebook(how.labels)
    return with_labels(_read_as(path, how, name), codebook)


def _read_as(path, how: ReadingSpec, name: str | None) -> Dataset:
    _check_policy(how.missing)
    how = _with_marks(how)
    if hasattr(path, "columns") and hasattr(path, "shape"):
        from odtc.data.frames import table_of, with_weights  # a file needs no conversion

        table = table_of(path)
        if not isinstance(how.weights, str | None):
            table, weights = with_weights(table, how.weights)
            how = replace(how, weights=weights)
        return from_frame(table, name or "data", _with_declared(path, how))
    if not isinstance(how.weights, str | None):
        raise DataError(f"expected {option('weights')} to name a column of the file, got {how.weights!r:.60}")
    try:
        path = Path(path)
    except TypeError:
        raise DataError(f"expected the path of a data file or a data frame, got {type(path).__name__}") from None
    book, sheet = book_and_sheet(path)
    if sheet is not None:
        raise ChoiceError(
            f"expected the sheet of {str(book)!r} in {option('sheet', sheet)}, got {str(path)!r}; FILE#SHEET is for "
            f"further files, such as {option('test')}"
        )
    opened_by(path, how.layout, strict=True)
    n_skipped, on_lines = notes_on_lines(path, how.layout)
    try:
        found = _read_file(path, how, name)
    except (DataError, ChoiceError) as problem:
        problem.args = ("; ".join([str(problem), *(text for _, kind, text in on_lines if kind == SHEET)]),)
        raise
    return replace(found, left_out=(*on_lines, *found.left_out), n_skipped=n_skipped)


def _read_file(path: Path, how: ReadingSpec, name: str | None) -> Dataset:
    name = name or data_name(path)
    if how.hold_out:  # the rows that are set aside are kept as they are in the file
        frame = load(path, True, how.layout)
        return from_frame(frame, name, how, {"path": str(path), "sha256": fingerprint(path)})
    tables = lambda: in_time_of(frames_of(path, BATCH, how.layout), repr(str(path)))  # noqa: E731
    found = _of_frames(tables, name, how, {"path": str(path), "sha256": None})
    return replace(found, source=found.source | {"sha256": fingerprint(path)})


def _with_marks(how: ReadingSpec) -> ReadingSpec:
    """Return the specification whose marks of missing cells include the texts of `only_missing`."""
    return replace(how, missing_mark=tuple(dict.fromkeys([*how.missing_mark, *how.only_missing_marks])))


def notes_on_lines(path: Path, layout: Mapping[str, Any]) -> tuple[int, list[tuple[str, str, str]]]:
    """Return the number of lines of a file that were skipped, with the remarks on them and on columns that have neither
    a name nor a cell."""
    reader, options = opened_by(path, layout)
    found = []
    has_sheets = "sheet" in reader.OPTIONS and "sheet" not in options and book_and_sheet(path)[1] is None
    names = [guess["sheet"] for guess in reader.guesses(path) if "sheet" in guess] if has_sheets else []
    if len(names) > 1:
        others = ", ".join(map(repr, names[1:]))
        words = f"the first of {len(names)} sheets is read, {names[0]!r}; {option('sheet')} names another one: {others}"
        found.append(("", SHEET, words))
    name = options.get("text_encoding")
    if name and codecs.lookup(name).name != "utf-8" and (word := first_in_utf8(path)) is not None:
        other = word.encode().decode(name, errors="replace")
        words = f"the file is in UTF-8, as which it has {word[:40]!r} where {option('text_encoding', name)} reads"
        found.append(("", "encoding", f"{words} {other[:40]!r}; leave the option out"))
    if bad := reader.skipped(path, **options) if options else []:
        which = f"line {bad[0]}" if len(bad) == 1 else f"the first is line {bad[0]}"
        found.append(("", BAD_LINE, f"{skipped_text(len(bad))} ({which}), because of {option('on_bad_line', 'skip')}"))
    if numbers := reader.nameless(path, **options):
        many = "s" if len(numbers) > 1 else ""
        told = first_few(list(map(str, numbers)), 5)
        have, are = ("have", "are") if many else ("has", "is")
        found.append(("", "empty", f"column{many} {told} {have} no name and no cells, and {are} left out"))
    return len(bad), found


def is_same_table(path, layout: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
    """Return True if a file that is read with a layout is the table that `source` (Dataset.source) names."""
    book, sheet = book_and_sheet(path)
    same_sheet = (layout.get("sheet") if sheet is None else sheet) == source.get("sheet")
    return same_sheet and source.get("sha256") == fingerprint(book)


def _of_marks(how: ReadingSpec, names: Sequence[str], met: dict[str, set[str]]) -> list[tuple[str, str, str]]:
    """Return remarks on marks of missing cells that no cell has."""
    return [
        (
            "",
            "missing mark",
            f"no cell of {'the file' if column is None else f'column {column!r}'} is {mark!r}, which "
            f"{option('missing_mark')} names",
        )
        for column, mark in unmet(how.missing_mark, names, met, how.decimal)
    ]


def _of_frames(tables: Callable[[], Iterator[pl.DataFrame]], name: str, how: ReadingSpec, source: dict) -> Dataset:
    """Return the Dataset of a table that comes in frames; each call of `tables` returns them from the first one on."""
    frames, place = tables(), repr(source["path"] or name)
    first = next(frames)
    how = _without_index(first.columns, place, how, source["path"])
    read_ones = _read_ones(first.columns, place, how)
    targets = _checked_columns(read_ones, place, how)
    how = _with_typed_dates(first, targets, how, place)
    words = {*targets, *how.categorical, *_ordered(how, read_ones, place)}
    marks, met = marks_of_texts(how.missing_mark, read_ones, place), dict[str, set[str]]()
    while True:
        try:
            read_frames = (
                named_columns(column_types.dates_as_numbers(frame, how.layout), read_ones, marks, how.decimal, met)
                for frame in chain([first], frames)
            )
            columns = code_columns(read_frames, place, words, how.decimal, how.missing_texts)
            return _dataset_of(columns, name, how, source, _of_marks(how, read_ones, met))
        except WordsNeeded as needed:  # once a column at most
            words.add(needed.name)
            frames = tables()
            first = next(frames)


def read_arrays(X, y, name: str = "data", missing: str = "drop", **reading) -> Dataset:
    """Read rows in memory with separate labels.

    Parameters
    ----------
    X : array (rows, columns), or data frame of pandas or polars
        Columns of an array are called x0, x1, …
    y : array or series (rows,), or a data frame of one column
        Rows whose label is missing are left out, with a warning.
    name : str
        Name of the data set.
    missing : {"drop", "error", "separate"}
        As in `read`.
    **reading
        Its other keywords, except for `target`. `weights` may also be numbers >= 0, one for each row.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError, ChoiceError
        If the data cannot be used, or an option does not fit it.
    """
    from odtc.data.frames import table_of_arrays, with_weights

    frame, target = table_of_arrays(X, y)
    if without := frame[target].null_count():
        warnings.warn(
            f"{without} of {count_of(frame.height, 'row', '')} have no label: they are left out", stacklevel=2
        )
    if not isinstance(reading.get("weights"), str | None):
        frame, reading["weights"] = with_weights(frame, reading["weights"])
    how = _with_marks(ReadingSpec.of(target=target, missing=missing, **reading))
    return from_frame(frame, name, _with_declared(X, how, target) if hasattr(X, "columns") else how)


def fingerprint(path) -> str:
    """Return the SHA-256 of a data file; raises DataError if it cannot be read."""
    try:
        with open_file(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as problem:
        raise DataError(f"expected a data file, cannot read {str(path)!r}: {problem.strerror}") from None


def from_frame(frame: pl.DataFrame, name, how: ReadingSpec | None = None, source=None) -> Dataset:
    """Return the Dataset of a polars frame.

    Of `how`, `categorical` and `numeric` name columns whose type is not to be guessed; `weights` names a
    column of numbers >= 0, which is then not a feature; `auxiliary` names columns that are not features either, but
    that constraints may refer to. `missing` is "drop" (rows with a missing
    cell are left out and counted), "error", or "separate" (a missing feature stays, as NaN; a
    row without target or weight is still left out). `source` contains path and sha256 of a file.
    """
    how = how or ReadingSpec()
    if how.hold_out:
        return _without_some(frame, name, how, source)
    _check_policy(how.missing)
    return _of_frames(lambda: iter([frame]), name, how, source or {"path": None, "sha256": None})


def _with_declared(X, how: ReadingSpec, *beside: str) -> ReadingSpec:
    """Return how a data frame is read whose pandas columns may declare an order; `beside` are the names of additional
    columns."""
    from odtc.data.frames import orders_of

    names = [*(str(name) for name in X.columns), *beside]
    orders = {names[at]: order_text(names[at], order) for at, order in orders_of(X).items()}
    if not orders:
        return how
    of_others = {how.weights, *how.numeric, *how.ignore, *_ordered(how, names, "the data frame")}
    of_others |= set(task_of(how).target_columns(names, how, "the data frame"))
    return replace(how, ordered=(*how.ordered, *(text for name, text in orders.items() if name not in of_others)))


def _ordered(how: ReadingSpec, names: Sequence[str], place: str) -> dict[str, tuple[str, ...] | None]:
    """Return the columns whose levels have an order (odtc.data.table.level_orders)."""
    return orders_of_texts(how.ordered, names, place)


def _without_index(names: Sequence[str], place: str, how: ReadingSpec, path: str | Path | None) -> ReadingSpec:
    """Return how columns of these names are read: a first column without a name is the index of the rows and is not
    read, and the instance weights of an ARFF file are weights of rows."""
    plain = [name.partition(AGAIN)[0] for name in names]
    if how.target is not None and how.target not in names and (at := _place_of(how.target, len(names))) is not None:
        how = replace(how, target=names[at])
    check_names([name if base in how.ignore else base for name, base in zip(names, plain)], place)
    if names and not names[0].strip() and names[0] not in how.ignore:
        how = replace(how, ignore=(*how.ignore, names[0]))
    if how.weights is None and path is not None and INSTANCE_WEIGHT in {*names} - {*how.ignore}:
        how = replace(how, weights=INSTANCE_WEIGHT) if reader_of(Path(path)).NAME == "arff" else how
    return how


def _place_of(target: str, n_columns: int) -> int | None:
    """Return the place from 0 of a column that is named by its number from 1, or as first or last; None otherwise."""
    places = {"first": 0, "last": n_columns - 1} | {str(at + 1): at for at in range(n_columns)}
    return places.get(str(target).strip())


def _read_ones(names: Sequence[str], place: str, how: ReadingSpec) -> list[str]:
    """Return the columns that are not ignored; raises ChoiceError for an ignored one that is not there or
    has a part."""
    for role in USES:
        named = getattr(how, role) or ()
        for text in [named] if isinstance(named, str) else named:
            name = text if text in names else text.partition("=")[0]  # status=dead, size=S<M<L
            if name in how.ignore:
                raise ChoiceError(
                    f"expected another column for {option('ignore')}, got {name!r}, which {option(role)} names, too"
                )
    for role, named in (("ignore", how.ignore), (DATES, date_columns(how.dates))):
        for name in named:
            if name not in names:
                raise no_column(role, name, names, place, _meant(name, names))
    return [name for name in names if name.partition(AGAIN)[0] not in how.ignore]


def _checked_columns(names: Sequence[str], place: str, how: ReadingSpec) -> tuple[str, ...]:
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


def _dataset_of(table: list[Column], name: str, how: ReadingSpec, source: dict, remarks: list) -> Dataset:
    """Return the Dataset of columns; `table` is emptied, so that each column is in memory once. `remarks` are the
    first ones of `Dataset.left_out`."""
    place = repr(source["path"] or name)
    targets = _checked_columns([column.name for column in table], place, how)
    columns = {column.name: column for column in table}
    table.clear()
    _keep_labels([columns[n] for n in targets], source)
    how, empty = _without_empty(columns, targets, how, place)
    marks = marks_of_texts(how.missing_mark, list(columns), place)
    for n in empty:
        columns.pop(n)
    names = [n for n in columns if n not in (*targets, how.weights)]
    phases.begin("types of the columns")
    orders = _ordered(how, list(columns), place)
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


def _of_numbers(columns: dict[str, Column], names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return remarks on columns of numbers: separators of thousands, and percents."""
    found = [_of_thousands(n, columns[n]) for n in names if _may_part_thousands(columns[n])]
    return found + [percents for n in names if (percents := _of_percents(n, columns[n])) is not None]


def _leveled(column: Column, name: str, kind: str, orders: dict, place: str) -> tuple[tuple[str, ...], Column]:
    """Return (the levels of a column in their order, the column coded by them); of numbers ((), the column)."""
    if kind == NUMERIC:
        return (), column
    levels = ("false", "true") if kind == BOOLEAN else column.levels
    order = orders.get(name)
    levels = levels if order is None else in_order(levels, order, name, place)
    return levels, column.level_codes(levels, kind)


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
    # A leaf of numbers says nothing of rows of weight 0, so these are rows without a weight.
    weightless = (weight == 0) & task_of(how).NUMBERS
    unlabelled = _incomplete(columns, [*targets, *([how.weights] if how.weights else [])]) | weightless
    return _Rows(weight, keep & ~weightless, unlabelled)


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
        raise DataError(_left_out_text(problem, taken, rows.keep, separable, place)) from None
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
    problem: OneValueError, taken: Sequence[tuple[str, str]], keep: np.ndarray, separable: bool, place: str
) -> str:
    """Report that the rows that are not left out have one value of the target: why the others were left out, and how
    to keep them. Rows with another value can be kept with --missing separate if `separable`."""
    n, out = int(keep.sum()), int((~keep).sum())
    were, lack, those = ("was", "it has", "that row") if out == 1 else ("were", "they have", "those rows")
    why = f"{taken_text(taken)} was taken for missing" if taken else f"{lack} missing cells"
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


def _keep_labels(targets: Sequence[Column], source: Mapping[str, Any]) -> None:
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


def _with_typed_dates(frame: pl.DataFrame, targets: Sequence[str], how: ReadingSpec, place: str) -> ReadingSpec:
    """Return how a table is read whose columns may have a type of dates: those without a time of day are read as if
    `dates` named them, because each date would be a category otherwise."""
    with_role = {*targets, how.weights, *how.categorical, *_ordered(how, frame.columns, place), *how.ignore}
    with_role |= {*date_columns(how.dates)}
    found = [name for name in frame.columns if name not in with_role and column_types.has_days(frame[name])]
    return replace(how, dates=dates_of_columns(how.dates, found)) if found else how


def _without_empty(
    columns: dict[str, Column], targets: Sequence[str], how: ReadingSpec, place: str
) -> tuple[ReadingSpec, list[str]]:
    """Return (how columns are read, the columns without a cell): these are not read, because they would leave out all
    rows, unless an option names them or there are no others."""
    if how.missing != "drop":
        return how, []
    named = {*targets, how.weights, *how.categorical, *how.numeric, *how.auxiliary}
    named |= set(_ordered(how, list(columns), place))
    features = [name for name in columns if name not in named]
    empty = [name for name in features if columns[name].missing.all()]
    if len(empty) == len(features):
        return how, []
    return replace(how, ignore=(*how.ignore, *empty)), empty


def _without_some(frame: pl.DataFrame, name, how: ReadingSpec, source) -> Dataset:
    """Return the Dataset of a frame without the rows that are set aside. It contains nothing about these, except that
    a column with a word in them is not numeric."""
    whole = from_frame(frame, name, replace(how, hold_out=0.0), source)  # an error is reported with its row in the file
    worded = [one.name for one in (*whole.features, *whole.auxiliary) if one.kind == CATEGORICAL]
    kept, held_out = set_aside(frame, how.hold_out)
    if not kept.height or not held_out.height:
        raise DataError(
            f"expected rows to train on and rows to set aside of {frame.height} in "
            f"{(source or {}).get('path') or name!r}, got {kept.height} and {held_out.height}; choose another "
            f"{option('hold_out')}"
        )
    listed = list(dict.fromkeys([*how.categorical, *worded]))
    target = whole.target if how.task == CLASSIFICATION else how.target
    try:
        left = from_frame(kept, name, replace(how, hold_out=0.0, categorical=listed, target=target), source)
    except DataError as problem:
        raise DataError(
            f"{problem}; {held_out.height} of {count_of(frame.height, 'row', '')} are set aside by "
            f"{option('hold_out', how.hold_out)}: set fewer aside"
        ) from None
    told = {"categorical": list(how.categorical), "numeric": list(how.numeric), "hold_out": how.hold_out}
    also = [one for one in left.left_out if one[1] == "empty"]  # but in rows that are set aside
    left_out = tuple(dict.fromkeys([*whole.left_out, *also]))
    return replace(left, source=left.source | told, held_out=held_out, left_out=left_out)


def set_aside(frame: pl.DataFrame, share: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (rows that stay, rows that are set aside), each in the order of the frame: a uniform choice that is the
    same for tables of the same length."""
    order = np.random.default_rng(SPLIT_SEED).permutation(frame.height)
    out = np.zeros(frame.height, bool)
    out[order[: round(share * frame.height)]] = True
    return frame.filter(pl.Series(~out)), frame.filter(pl.Series(out))


def read_rows(
    path, features, classes, target, require_labels=False, weights=None, used=None, weights_may_lack=False
) -> Dataset:
    """Read rows to predict or score, from a file or a data frame, coded by the features and classes of a tree; none is
    left out.

    Columns are found by name, others ignored. `used` are the positions of the features that the tree uses (None: all);
    the others need not be there, and are NaN. In `X` a missing cell is NaN and an unseen level -1; `y` is -1 if the
    label is absent, missing or not a known class. Raises DataError for an absent feature column (or target, with
    `require_labels`) and for text in a numeric column. If the column of weights `weights_may_lack`, rows weigh 1
    without it.
    """
    used = range(len(features)) if used is None else sorted(used)
    frame, place, name, path = _opened(path, features, used)
    weights = None if weights_may_lack and weights not in frame.columns else weights
    roles = {"feature": [features[j].name for j in used], "label": [target] if require_labels else []}
    expect_columns(frame.columns, place, roles | {"weight": [weights] if weights else []})
    X, _ = code_cells(frame, place, features, used)
    y = np.full(frame.height, -1, dtype=np.int32)
    if target in frame.columns:
        y, words = code_labels(frame[target], classes, place, missing_texts(layout_of(features)))
        if require_labels and (y < 0).all():
            raise no_known_label(target, classes, place, frame.height, next(iter(words.drop_nulls().head(1)), None))
    weight = np.ones(frame.height)
    if weights:
        cells = column_types.column_cells(frame[weights], place)
        found = column_types.numbers(cells, weights, place, decimal=decimal_of(features))
        weight = expect_weights(found, weights, place)
        if np.isnan(weight).any():
            raise DataError(
                f"expected a weight in every row of {place}, got none in row {np.isnan(weight).argmax() + 1}, "
                f"column {weights!r}; fill it in, or leave out the row"
            )
    source = {"path": path, "weights": weights}
    return Dataset(name, X, y, tuple(features), tuple(classes), weight, target, missing="separate", source=source)


def rows_of(data, features: Sequence[Feature], used: Sequence[int]) -> np.ndarray:
    """Return rows coded by the features of a tree.

    Parameters
    ----------
    data : path, data frame of pandas or polars, or array (rows, columns)
        The columns of an array are the features; otherwise they are found by name.
    features : sequence of Feature
    used : sequence of int
        The positions of the features that the tree uses; the others need not be there.

    Returns
    -------
    float64 (rows, features)

    Raises
    ------
    DataError
        For an absent column and a cell that is not a number.
    """
    if hasattr(data, "columns") and hasattr(data, "shape"):
        from odtc.data.frames import table_of

        frame, place = table_of(data), "the data frame"
    elif isinstance(data, (str, Path)):
        frame, place, *_ = _opened(data, features, sorted(used))
    else:
        cells = np.asarray(data)
        if cells.ndim != 2 or cells.shape[1] != len(features):
            raise DataError(
                f"expected rows of the {count_of(len(features), 'column', '')} of the tree, got an array of "
                f"{cells.shape}"
            )
        from odtc.data.frames import series_of

        names = [feature.name for feature in features]
        whole = pl.DataFrame(dict(zip(names, series_of(cells))))
        frame, place = whole, "the array"
    expect_columns(frame.columns, place, {"feature": [features[j].name for j in sorted(used)]})
    return code_cells(frame, place, features, sorted(used))[0]


def read_numbers(path, column: str, features: Sequence[Feature] = ()) -> np.ndarray | None:
    """Return float64 (rows,): the numbers of a column of a file, NaN in a missing cell; None if it has no such column,
    or one that contains words. The file is read with the options of these features."""
    try:
        like = Feature(column, NUMERIC, decimal=decimal_of(features), layout=layout_of(features))
        return read_rows(path, (like,), (), "").X[:, 0]
    except DataError:
        return None


def _opened(path, features: Sequence[Feature], used: Iterable[int]) -> tuple[pl.DataFrame, str, str, str | None]:
    """Return (frame, its name in messages, its name, its path or None) of a file with these features, or of rows in
    memory to test on."""
    if isinstance(path, pl.DataFrame):
        return path, "the rows to test on", "held out", None
    path = Path(path)
    layout = fitting_layout(path, layout_of(features), [features[at].name for at in used])
    return load(path, layout=layout), repr(str(path)), data_name(path), str(path)


def read_scored_rows(path, trained: Dataset, numbered: bool = False) -> Dataset:
    """Read rows of another file with their target, coded by the features of a data set whose task is not
    classification.

    Rows without a target or a weight are left out; if `numbered`, the one auxiliary column is the position of each row
    in the file, from 0. Raises DataError as `read_rows`, and for other actions.
    """
    frame, place, name, path = _opened(path, trained.features, range(len(trained.features)))
    features = trained.features
    how = ReadingSpec.from_manifest({"target": trained.target, "missing": trained.missing} | trained.source)
    task = task_of(how)
    try:
        targets = task.target_columns(frame.columns, how, place)
    except ChoiceError as problem:
        raise DataError(str(problem)) from None
    needed = [*targets, *([how.weights] if how.weights else [])]
    expect_columns(frame.columns, place, {"feature": [one.name for one in features], "weight": needed[len(targets) :]})
    marks = marks_of_texts(how.missing_mark, [*(one.name for one in features), *needed], place)
    marked = named_columns(frame, needed, marks, how.decimal)
    coded = code_columns([marked], place, needed, how.decimal, how.missing_texts)
    columns = {column.name: column for column in coded}
    _keep_labels(coded, trained.source if path is None else {"path": path})
    keep = ~_incomplete(columns, needed)
    if not keep.any():
        raise DataError(
            f"expected a row of {place} with a target, got missing cells in all {count_of(frame.height, 'row', '')}"
        )
    X, _ = code_cells(frame, place, features, range(len(features)))
    weight = np.ones(frame.height)
    if how.weights:
        weight = expect_weights(columns[how.weights].numbers().cells(), how.weights, place)
        expect_weight_left(weight[keep], how.weights, place)
    rows = Dataset(
        name=name,
        X=X[keep],
        y=np.zeros(int(keep.sum()), np.int32),
        features=features,
        classes=(),
        weight=weight[keep],
        target=trained.target,
        missing="separate",
        n_dropped=int((~keep).sum()),
        source={"path": path, "weights": how.weights},
        task=trained.task,
        auxiliary=(Feature("place", NUMERIC),) if numbered else (),
        auxiliary_X=np.flatnonzero(keep)[:, None].astype(float) if numbered else None,
    )
    found = task.labelled(rows, {n: columns[n].kept(keep) for n in targets}, how, place)
    if found.classes != trained.classes and not task.NUMBERS:
        raise DataError(
            f"expected the actions {', '.join(trained.classes)} in {place}, got {', '.join(found.classes)}; a policy "
            "is judged on rows of its own actions"
        )
    return task.scored_rows(found, trained)


def _check_policy(missing: str) -> None:
    if missing not in POLICIES:
        hint = did_you_mean(str(missing), POLICIES)
        raise ChoiceError(f"unknown policy for missing cells {missing!r}{hint}; known: {', '.join(POLICIES)}")


def _meant(name, names: Sequence[str]) -> str:
    """Return the end of a message on a text that lists several of these names; "" for any other text."""
    parts = [part.strip() for part in str(name).split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return f" as one name; in Python they are a list, {parts}"
    return ""


def _check_columns(names, place: str, targets, how: ReadingSpec) -> None:
    """Raise ChoiceError for a column named in an option that does not exist or does not fit."""
    for role, named in (
        ("weights", [how.weights] if how.weights else []),
        ("categorical", how.categorical),
        ("numeric", how.numeric),
        ("auxiliary", how.auxiliary),
        ("ordered", list(_ordered(how, names, place))),
    ):
        for name in named:
            if name not in names:
                raise no_column(role, name, names, place, _meant(name, names))
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


def _kept_rows(columns: dict, names, targets, weights, missing: str, place: str) -> np.ndarray:
    """Return which rows stay, bool of shape (rows,); raises DataError by policy, or if none stays."""
    needed = ([] if missing == "separate" else list(names)) + [*targets] + ([weights] if weights else [])
    incomplete = _incomplete(columns, needed)
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


def _incomplete(columns: dict[str, Column], names) -> np.ndarray:
    """Return bool (rows,): which rows lack a cell in one of these columns."""
    found = columns[names[0]].missing
    for name in names[1:]:
        found |= columns[name].missing
    return found
