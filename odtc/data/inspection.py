"""Inspection of a data file: the type of each column, the splits of an encoding on it, and unusual values."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from odtc.base.text import count_of, in_list, in_notebook, one_line, show_figure, show_number, some, table_text
from odtc.base.wording import option
from odtc.data.codebook import codebook_of
from odtc.data.dataset import NUMERIC, Codebook, Dataset, Feature
from odtc.data.encoding import ENCODINGS, encode, sized_scheme
from odtc.data.frames import table_of_arrays
from odtc.data.notes import Note, notes_on
from odtc.data.reading import read_as
from odtc.data.reading_spec import ReadingSpec
from odtc.data.splits import Splits
from odtc.data.table.coded_columns import distinct
from odtc.data.task import TASKS
from odtc.data.tasks import regression
from odtc.errors import NotClassesError, OdtcError

WIDEST = 10**6  # letters of a name: each of them is shown
WIDTH = 44  # letters of a column's values; twice as many with texts of a codebook


@dataclass(frozen=True)
class Column:
    """One column as it was read: `distinct` values or levels, `missing` cells, the `splits` of the encoding on only
    this column (None if the data cannot be encoded), its `values` in words, and its `text` in the codebook."""

    name: str
    role: str  # feature, target, auxiliary
    kind: str
    distinct: int
    missing: int
    splits: int | None
    values: str
    text: str | None = None


@dataclass(frozen=True, repr=False)
class Inspection:
    """Results of `odtc inspect`."""

    name: str
    n_rows: int
    n_rows_incomplete: int
    columns: tuple[Column, ...]
    encoding: str  # with the options that a search of this depth takes, if they depend on it
    depth: int | None
    n_candidate_splits: int | None
    refusal: str  # why the data cannot be encoded, "" if it can
    notes: tuple[Note, ...]
    weights: dict | None = None  # the column that weighs the rows, its numbers and their sum

    def to_json(self) -> dict:
        """Return all of it as one object of JSON."""
        return {
            "data": self.name,
            "n_rows": self.n_rows,
            "n_rows_incomplete": self.n_rows_incomplete,
            "weights": self.weights,
            "columns": [vars(column) for column in self.columns],
            "encoding": self.encoding,
            "depth": self.depth,
            "n_candidate_splits": self.n_candidate_splits,
            "refusal": self.refusal or None,
            "notes": [note.to_json() for note in self.notes],
        }

    def __repr__(self) -> str:
        return f"<Inspection of {self.name}: {count_of(self.n_rows, 'row')}, {count_of(len(self.notes), 'note', '')}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def to_text(self) -> str:
        """Return the table of columns, then the remarks, one a line."""
        head = ("column", "type", "distinct", "missing", "splits", "values")
        lines = [head] + [
            (
                column.name if column.text is None else f"{column.name} ({column.text})",
                column.kind if column.role == "feature" else f"{column.role}, {column.kind}",
                f"{column.distinct:,}",
                f"{column.missing:,}",
                "-" if column.splits is None else f"{column.splits:,}",
                column.values,
            )
            for column in self.columns
        ]
        table = table_text(lines, "llrrr", WIDEST)
        said = f"{self.name}: {count_of(self.n_rows, 'row')}"
        if self.n_rows_incomplete:
            missing = "with missing cells" if self.weights is None else "with missing cells or weight 0"
            said += f", {self.n_rows_incomplete:,} of them {missing}"
        if (weights := self.weights) is not None:
            said += f", weighed by {weights['column']!r} ({weights['values']}; {show_figure(weights['sum'])} in all)"
        takes = "" if self.depth is None else f" for a search of depth {self.depth}"
        splits = self.refusal
        if not splits:
            count = count_of(self.n_candidate_splits, "different split")
            splits = f"{option('encoding', self.encoding)}{takes}: {count} of all columns"
        return "\n".join(
            [one_line(said), "", table, ""] + list(map(one_line, [splits, *(f"note: {n.text}" for n in self.notes)]))
        )


def inspect(data, y=None, *, encoding: str = "auto", depth: int = 2, **reading) -> Inspection:
    """Report how odtc reads each column of a table, with remarks on unusual ones, as `odtc inspect` does.

    Parameters
    ----------
    data : path, data frame, or array (rows, columns)
    y : array (rows,), text or None
        The labels of `data`; a text is the column of a data frame that contains them. None if `data` contains them.
    encoding : str
        The encoding whose splits are counted.
    depth : int
        The depth of the search: the encoding "auto" takes sets of levels where they keep it quick.
    **reading
        Keywords of `odtc.read`: `target`, `ignore`, `missing`, ….

    Returns
    -------
    Inspection
        `print` shows it; `notes`, `columns`, `to_json()`.

    Raises
    ------
    DataError, ChoiceError
        If the data cannot be read, or an option does not fit it.

    Examples
    --------
    >>> import odtc
    >>> print(odtc.inspect("examples/iris/iris.csv"))  # doctest: +ELLIPSIS
    iris: 150 rows
    ...
    """
    if isinstance(y, str):
        reading["target"] = y
    elif y is not None:
        data, reading["target"] = table_of_arrays(data, y)
    return inspect_data(data, ReadingSpec.of(**reading), encoding, depth)


def inspect_data(
    data: str | Path, reading: ReadingSpec | None = None, encoding: str = "auto", depth: int = 2
) -> Inspection:
    """Read a data file and describe its content.

    Parameters
    ----------
    data : path or data frame
        As in `odtc.read`.
    reading : ReadingSpec or None
        How it is read. Rows with missing cells are inspected whatever its `missing` is; the number of splits is counted
        on the rows that it keeps.
    encoding : str
        The encoding whose splits are counted.
    depth : int
        The depth of the search.

    Returns
    -------
    Inspection

    Raises
    ------
    DataError, ChoiceError
        If the file cannot be read, or an option does not fit it. A table that can be read, but not encoded, is shown
        with the reason, and a target of numbers that are not classes as numbers, with a remark.
    """
    whole, reading, numbers = _whole(data, reading or ReadingSpec())
    if not whole.copies.all():  # of a policy a row of the file may be several rows
        whole = whole.taken(whole.copies > 0)
    gaps, left_out = _gaps(whole.X, whole.n_rows), whole.left_out
    asked: Counter | None
    n_candidate_splits: int | None
    try:
        lacks_cells = gaps.any() or whole.n_unlabelled or _gaps(whole.auxiliary_X, whole.n_rows).any()
        kept = read_as(data, reading) if lacks_cells and reading.missing != "separate" else whole
        names, left_out = [feature.name for feature in kept.features], kept.left_out
        if len(names) < len(whole.features):  # columns without a cell leave out no rows
            gaps = _gaps(whole.X, whole.n_rows, [feature.name in names for feature in whole.features])
        scheme = sized_scheme(kept, encoding, depth)
        asked, n_candidate_splits = _splits_per_column(kept, scheme)
        refusal = ""
    except OdtcError as problem:
        asked, n_candidate_splits, refusal, scheme = None, None, str(problem), encoding
    notes = numbers + notes_on(replace(whole, left_out=left_out))
    if asked is not None and encoding == "auto":  # others leave out columns for reasons of their own
        notes += _notes_on_splits(kept, scheme, asked, notes)
    incomplete = int(gaps.sum()) + whole.n_unlabelled
    return Inspection(
        whole.name,
        whole.n_rows + whole.n_unlabelled,
        incomplete,
        _columns(whole, asked),
        scheme,
        None if scheme == encoding else depth,
        n_candidate_splits,
        refusal,
        tuple(notes),
        _weights(whole, reading.weights),
    )


def _notes_on_splits(dataset: Dataset, scheme: str, asked: Counter, notes: list[Note]) -> list[Note]:
    """Return the remarks on the splits of the encoding `auto`, in addition to remarks on the data."""
    module, options = ENCODINGS.parse(scheme)
    text = module.remark(dataset, **options)
    known = {note.column for note in notes if note.kind in ("constant", "equal")}
    return ([Note("", "single levels", text)] if text else []) + _unasked(dataset, asked, known)


def _splits_per_column(dataset: Dataset, scheme: str) -> tuple[Counter, int]:
    """Return the number of splits of an encoding on each column by itself, by its name, and on all columns."""
    encoded, names = encode(dataset, scheme), [feature.name for feature in dataset.features]
    splits = Splits.of(encoded.splits)
    found = Counter(names[split.features[0]] for split in splits.others.values() if len(split.features) == 1)
    found.update(dict(zip(names, splits.per_threshold(len(names)).tolist())))
    return found, encoded.n_candidate_splits


def _columns(dataset: Dataset, n_splits: Counter | None) -> tuple[Column, ...]:
    """Return the features, with their numbers of splits if these are known, the auxiliary columns and the target."""
    found = [
        _column(feature, dataset.X, at, "feature", None if n_splits is None else n_splits[feature.name])
        for at, feature in enumerate(dataset.features)
    ]
    found += [
        _column(feature, dataset.auxiliary_X, at, "auxiliary", None) for at, feature in enumerate(dataset.auxiliary)
    ]
    return (*found, _target(dataset))


def _weights(dataset: Dataset, name: str | None) -> dict | None:
    """Return the remark on the column with the weights of the rows; None if there is none."""
    if name is None:
        return None
    column = _column(Feature(name, NUMERIC), dataset.weight[:, None], 0, "weight", None)
    return {"column": name, "values": column.values, "sum": float(dataset.weight.sum())}


def _whole(data, reading: ReadingSpec) -> tuple[Dataset, ReadingSpec, list[Note]]:
    """Return (all rows, how they were read, a remark on the target if its numbers are not classes: they are numbers
    then)."""
    try:
        return read_as(data, replace(reading, missing="separate")), reading, []
    except NotClassesError as problem:
        sign = f" and {option('decimal', problem.decimal)}" if problem.decimal != reading.decimal else ""
        reading = replace(reading, task=regression.NAME, decimal=problem.decimal)
        whole = read_as(data, replace(reading, missing="separate"))
        text = (
            f"the target {whole.target!r} has {problem.numbers:,} different numbers in "
            f"{count_of(problem.rows, 'row')}, which are not classes; predict the number "
            f"({option('task', 'regression')}{sign}), as here, name another column with {option('target')}, or make "
            "classes of it"
        )
        return whole, reading, [Note(whole.target, "numbers as classes", text)]


def _unasked(kept: Dataset, asked: Counter, told: set[str]) -> list[Note]:
    """Return one remark on the columns without splits although their cells differ, except for the columns in `told`,
    which have a remark already."""
    names = [
        feature.name
        for at, feature in enumerate(kept.features)
        if not asked[feature.name] and feature.name not in told and len(distinct(kept.X, at)[0]) > 1
    ]
    if not names:
        return []
    if len(names) == 1:
        column, said = names[0], f"column {names[0]!r} has no split of its own, since each of its splits"
    else:
        column, said = "", f"the columns {some(names)} have no split of their own, since each of their splits"
    return [Note(column, "no split", f"{said} parts the rows as one of another column does")]


def _gaps(table, n_rows: int, counts: Sequence[bool] | None = None) -> np.ndarray:
    """Return bool (rows,): the rows with a missing cell in the columns that count (by default, all); column by column,
    because a large table is not dense."""
    found = np.zeros(n_rows, bool)
    for at in range(table.shape[1]) if counts is None else np.flatnonzero(counts).tolist():
        found |= np.isnan(table[:, at])
    return found


def _column(feature: Feature, table, at: int, role: str, splits: int | None) -> Column:
    """Return the contents of a column of a table: its different values and how many rows have each."""
    known, code = distinct(table, at)
    counts = np.bincount(code, minlength=len(known))
    missing = int(counts[np.isnan(known)].sum())
    known, counts = known[~np.isnan(known)], counts[: len(known) - int(missing > 0)]
    if not len(known):
        values = "only missing cells"
    elif feature.kind == NUMERIC:
        n_below = counts.cumsum()
        low, high = (
            known[np.searchsorted(n_below, half, "right")] for half in ((n_below[-1] - 1) // 2, n_below[-1] // 2)
        )
        first, last, median = known[0], known[-1], low + (high - low) / 2
        if feature.is_date:  # the mean of the numbers of two dates may not be a date
            values = f"{feature.show(first)} to {feature.show(last)}, median {feature.show_threshold(median)}"
        else:
            values = f"{show_number(first)} to {show_number(last)}, median {_short(median)}"
    else:
        values = _listed(feature.name, [feature.levels[int(at)] for at in known], counts.tolist(), feature.codebook)
    text = None if feature.codebook is None else feature.codebook.columns.get(feature.name)
    return Column(feature.name, role, feature.kind, len(known), missing, splits, values, text)


def _target(dataset: Dataset) -> Column:
    task, codebook = TASKS.get(dataset.task), codebook_of(dataset.features) or Codebook()
    text = codebook.columns.get(dataset.target)
    if (numbers := task.numbers(dataset.sums)) is not None:
        told = replace(_column(Feature(dataset.target, NUMERIC), numbers[:, None], 0, "target", None), kind="numbers")
        return replace(told, missing=dataset.n_unlabelled, text=text)
    if task.MOMENTS:
        kind, distinct, values = dataset.task, dataset.n_rows, task.ANSWER
    else:
        counts = np.bincount(dataset.y, minlength=len(dataset.classes)).tolist()
        values = _listed(dataset.target, dataset.classes, counts, codebook)
        kind, distinct = "classes" if task.CLASSES else "best action", len(dataset.classes)
    return Column(dataset.target, "target", kind, distinct, dataset.n_unlabelled, None, values, text)


def _listed(column: str, values: Sequence[str], counts: Sequence[int], codebook: Codebook | None) -> str:
    """Return the most frequent values with their rows, as many as fit on a line; options name a value, and its text in
    the codebook follows."""
    texts = {} if codebook is None else codebook.values.get(column, {})
    shown, width = "", WIDTH * (2 if texts else 1)
    for at in np.argsort(np.negative(counts), kind="stable"):
        word = f"{values[at]} = {texts[values[at]]}" if values[at] in texts else in_list(values[at])
        word = f"{word if len(word) <= width // 2 else word[: width // 2 - 1] + '…'} ({counts[at]:,})"
        if shown and len(shown) + len(word) + 2 > width:
            return f"{shown}, …"
        shown += (", " if shown else "") + word
    return shown


def _short(number: float) -> str:
    """Return a number with six digits, and all digits before its point."""
    return f"{number:.6g}" if abs(number) < 10**6 else show_number(float(round(number)))
