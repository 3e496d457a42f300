"""Reading of a data file, a data frame or arrays as a Dataset, with the remarks on lines that were skipped.

A reader module (`odtc/data/cells/readers`) yields frames of cells, the same for all file formats; these become coded
columns (odtc.data.table.column_coding), and the columns a Dataset (odtc.data.reading_columns). Row numbers in
messages count the rows of data from 1, without the header.
"""

import codecs
import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from odtc.base.spec_fields import takes_fields
from odtc.base.system import open_file
from odtc.base.text import count_of, did_you_mean, first_few
from odtc.base.wording import option
from odtc.data.cells import column_types
from odtc.data.cells.data_files import (
    AGAIN,
    BATCH,
    INSTANCE_WEIGHT,
    book_and_sheet,
    check_names,
    data_name,
    frames_of,
    in_time_of,
    load,
    opened_by,
    reader_of,
)
from odtc.data.cells.missing_marks import marks_of_texts, unmet
from odtc.data.cells.text_pieces import first_in_utf8
from odtc.data.cells.text_records import skipped_text
from odtc.data.codebook import read_codebook, with_labels
from odtc.data.dataset import CATEGORICAL, Dataset
from odtc.data.reading_columns import checked_targets, dataset_of, names_in_text, ordered_columns
from odtc.data.reading_spec import (
    CLASSIFICATION,
    DATES,
    POLICIES,
    ReadingSpec,
    date_columns,
    dates_of_columns,
    no_column,
)
from odtc.data.table.column_coding import WordsNeeded, code_columns, named_columns
from odtc.data.table.level_orders import order_text
from odtc.data.task import task_of
from odtc.errors import ChoiceError, DataError

BAD_LINE, SHEET = "bad line", "sheet"  # kinds of remarks: on lines that were skipped, and on the sheets of a workbook
# The fields of a reading that name columns which are read, so that none of them may be ignored.
USES = (
    *("target", "weights", "categorical", "numeric", "ordered", "auxiliary"),
    *("actions", "treatment", "outcome", "propensity", "time", "event"),
)
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
    """Read a data set as a specification describes; other arguments and exceptions as in `read`."""
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
            f"no cell of {'the columns that are read' if column is None else f'column {column!r}'} is {mark!r}, which "
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
    targets = checked_targets(read_ones, place, how)
    how = _with_typed_dates(first, targets, how, place)
    words = {*targets, *how.categorical, *ordered_columns(how, read_ones, place)}
    marks, met = marks_of_texts(how.missing_mark, read_ones, place), dict[str, set[str]]()
    while True:
        try:
            read_frames = (
                named_columns(column_types.dates_as_numbers(frame, how.layout), read_ones, marks, how.decimal, met)
                for frame in chain([first], frames)
            )
            columns = code_columns(read_frames, place, words, how.decimal, how.missing_texts)
            return dataset_of(columns, name, how, source, _of_marks(how, read_ones, met))
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


def unlike_recorded(path: Path, sha256: str | None, of: str) -> str:
    """Return why a file is not the data file of a record, as a clause.

    Parameters
    ----------
    path : Path
        Its place (odtc.data.cells.data_files.recorded_data).
    sha256 : str or None
        The recorded digest; None to accept any file.
    of : str
        What the record is of, for example "the run".

    Returns
    -------
    str
        "" if it is that file.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    if not path.exists():
        return f"the data file {str(path)!r} is not there; name it with --data"
    if sha256 is not None and fingerprint(path) != sha256:
        return f"the data file {str(path)!r} is not the one of {of}: its SHA-256 is another"
    return ""


def fingerprint(path) -> str:
    """Return the SHA-256 of a data file; raises DataError if it cannot be read."""
    try:
        with open_file(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as problem:
        raise DataError(f"expected a data file, cannot read {str(path)!r}: {problem.strerror}") from None


def from_frame(frame: pl.DataFrame, name, how: ReadingSpec | None = None, source=None) -> Dataset:
    """Return the Dataset of a polars frame.

    Parameters
    ----------
    frame : DataFrame
    name : str
        Name of the data set.
    how : ReadingSpec or None
        The options of reading; None for the default ones.
    source : dict or None
        `path` and `sha256` of the file of the frame.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError, ChoiceError
        If the rows cannot be used, or an option does not fit them.
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
    of_others = {how.weights, *how.numeric, *how.ignore, *ordered_columns(how, names, "the data frame")}
    of_others |= set(task_of(how).target_columns(names, how, "the data frame"))
    return replace(how, ordered=(*how.ordered, *(text for name, text in orders.items() if name not in of_others)))


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
                raise no_column(role, name, names, place, names_in_text(name, names))
    return [name for name in names if name.partition(AGAIN)[0] not in how.ignore]


def _with_typed_dates(frame: pl.DataFrame, targets: Sequence[str], how: ReadingSpec, place: str) -> ReadingSpec:
    """Return how a table is read whose columns may have a type of dates: those without a time of day are read as if
    `dates` named them, because each date would be a category otherwise."""
    with_role = {*targets, how.weights, *how.categorical, *ordered_columns(how, frame.columns, place), *how.ignore}
    with_role |= {*date_columns(how.dates)}
    found = [name for name in frame.columns if name not in with_role and column_types.has_days(frame[name])]
    return replace(how, dates=dates_of_columns(how.dates, found)) if found else how


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


def _check_policy(missing: str) -> None:
    if missing not in POLICIES:
        hint = did_you_mean(str(missing), POLICIES)
        raise ChoiceError(f"unknown policy for missing cells {missing!r}{hint}; known: {', '.join(POLICIES)}")
