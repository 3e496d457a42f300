"""The data from which a tree is learnt: a matrix of numbers, with the names of its columns, levels and classes."""

from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from odtc.base.json_schema import FLAG, TEXT, schema_of
from odtc.base.text import show_number
from odtc.base.value_class import frozen_class, value_class
from odtc.base.whole_numbers import narrowed, nearest_floats, whole_numbers
from odtc.data import label_types
from odtc.data.reading_spec import BOOLEAN as BOOLEAN
from odtc.data.reading_spec import CATEGORICAL as CATEGORICAL
from odtc.data.reading_spec import CLASSIFICATION, DATES, LAYOUT, SIGNS, ReadingSpec, date_columns
from odtc.data.reading_spec import NUMERIC as NUMERIC

# The shapes of the options of reading in the files of a run (odtc.base.json_schema), each stated if it was given: those
# of columns and cells, and those of the layout of the file.
GIVEN_SHAPE = {
    **dict.fromkeys(("categorical?", "numeric?", "ignore?", "ordered?", "missing_mark?"), [TEXT]),
    "decimal?": SIGNS,
}
LAYOUT_SHAPE = {f"{name}?": shape for name, shape in schema_of(ReadingSpec).items() if name in LAYOUT}


@value_class
class Codebook:
    """Display texts of columns, by name, and of values, by column (odtc.data.codebook)."""

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def to_json(self) -> dict:
        """Return the codebook as in trees and manifests."""
        return {"columns": dict(self.columns), "values": {name: dict(texts) for name, texts in self.values.items()}}


def codebook_shape(value: Any, place: str) -> dict:
    """Return the shape of a codebook in JSON (odtc.base.json_schema)."""
    texts = value if isinstance(value, dict) else {}
    columns, values = (part if isinstance(part := texts.get(key), dict) else {} for key in ("columns", "values"))
    inside = {name: dict.fromkeys(one, TEXT) if isinstance(one, dict) else {} for name, one in values.items()}
    return {"columns": dict.fromkeys(columns, TEXT), "values": inside}


@frozen_class
class Feature:
    """One column of the data file.

    `kind` is "numeric", "categorical" or "boolean"; `levels` are the category names, in code order (empty for a
    numeric column). `ordered` means that this order is meaningful, so that splits divide it in two; a finished tree
    does not depend on it. `decimal` is the decimal sign, if numbers of the file are as people write them
    (odtc.data.cells.written_numbers), and `missing_marks` are the texts that mean a missing cell of this column,
    so that other files are read in the same way. `has_missing` means that training rows with a missing cell were kept,
    so that splits state where these go. `layout` describes the form of the file by options
    (odtc.data.reading_spec.LAYOUT). `codebook` has the names for readers of all columns of the table, and
    `number_texts` the names of this column's numbers, if the column is shown by these names.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    ordered: bool = field(default=False, compare=False)
    decimal: str | None = field(default=None, compare=False)
    missing_marks: tuple[str, ...] = field(default=(), compare=False)
    has_missing: bool = field(default=False, compare=False)
    layout: Mapping[str, Any] = field(default_factory=dict, compare=False)
    codebook: Codebook | None = field(default=None, compare=False)
    number_texts: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def has_order(self) -> bool:
        """Return whether splits divide its cells into smaller and greater ones."""
        return self.kind == NUMERIC or self.ordered

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each level, which may be thousands."""
        return {level: code for code, level in reversed(list(enumerate(self.levels)))}

    @cached_property
    def is_date(self) -> bool:
        """Return whether its numbers are dates, such as 20190314."""
        return self.name in date_columns(self.layout.get(DATES))

    def show(self, value: float) -> str:
        """Return a cell of this column as a person wrote it: the level's name, or the number, or the date."""
        if self.kind == NUMERIC:
            shown = show_number(value)
            day = last_date(value) if self.is_date else ""
            return day if day.replace("-", "") == shown else self.number_texts.get(shown, shown)
        return self.levels[int(value)]

    def show_threshold(self, threshold: float) -> str:
        """Return a threshold for a person: the number, or the last date that is not above it."""
        return (last_date(threshold) if self.is_date else "") or show_number(threshold)

    def to_json(self) -> dict:
        """Return the feature as in manifests and trees."""
        facts = {"name": self.name, "kind": self.kind}
        if self.kind != NUMERIC:
            facts |= {"levels": list(self.levels)} | ({"ordered": True} if self.ordered else {})
        facts |= {"missing_marks": list(self.missing_marks)} if self.missing_marks else {}
        facts |= {"has_missing": True} if self.has_missing else {}
        facts |= {"layout": dict(self.layout)} if self.layout else {}
        return facts | ({} if self.decimal is None else {"decimal": self.decimal})

    @classmethod
    def from_json(cls, facts: dict) -> "Feature":
        """Return the feature of its JSON form."""
        levels = tuple(facts.get("levels", ()))
        marks = tuple(facts.get("missing_marks", ()))
        about = facts.get("ordered", False), facts.get("decimal"), marks, facts.get("has_missing", False)
        return cls(facts["name"], facts["kind"], levels, *about, facts.get("layout", {}))


def last_date(number: float) -> str:
    """Return the last date, such as 2019-04-30, whose number, such as 20190430, is at most `number`; "" if its year
    does not have four digits. A threshold between the numbers of two dates may not be a date, for example 20190466."""
    year, rest = divmod(int(number), 10_000) if 0 <= number < 1e8 else (0, 0)
    month, day = divmod(rest, 100)
    if month and not day:  # before the first day of a month
        month, day = month - 1, 31
    if not month:
        year, month, day = year - 1, 12, 31
    elif month > 12:
        month, day = 12, 31
    return f"{year}-{month:02}-{min(day, monthrange(year, month)[1]):02}" if 1000 <= year else ""


def decimal_of(features: Sequence[Feature]) -> str | None:
    """Return the decimal sign of the file with these columns; None if its numbers are in the notation of programs."""
    return next((feature.decimal for feature in features if feature.decimal is not None), None)


def layout_of(features: Sequence[Feature]) -> Mapping[str, Any]:
    """Return the layout of the file with these columns, as options of odtc.data.reading_spec.LAYOUT."""
    return next((feature.layout for feature in features if feature.layout), {})


def feature_shape(value, place: str) -> dict:
    """Return the shape of a feature in JSON (odtc.base.json_schema)."""
    levels = "levels?" if isinstance(value, dict) and value.get("kind") == NUMERIC else "levels"
    kinds, marks = (NUMERIC, CATEGORICAL, BOOLEAN), "missing_marks?"
    flags = dict.fromkeys(("ordered?", "has_missing?"), FLAG)
    return {
        "name": TEXT,
        "kind": kinds,
        levels: [TEXT],
        **flags,
        "decimal?": SIGNS,
        marks: [TEXT],
        "layout?": LAYOUT_SHAPE,
    }


@frozen_class
class Dataset:
    """Rows ready to be encoded; arrays are read-only.

    `X` is float64 of shape (rows, features): a number, or the code of a level (its position in `Feature.levels`); NaN
    is a missing cell, -1 a level that was not seen in training. `y` is int32 of shape (rows,), a position in `classes`,
    -1 if the label is not known. `weight` is float64 of shape (rows,), 1 without a weight column.

    Policy task: a row of the file may be several rows here, one for each action that it has a vote for
    (odtc.data.tasks.policy); `copies` is 1 for one of them, the best action, and 0 for the others.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    weight: np.ndarray
    target: str = "class"
    missing: str = "drop"  # the policy: drop, error or separate
    n_dropped: int = 0  # rows left out because of a missing cell
    n_unlabelled: int = 0  # of these, rows without a label or a weight, which are always left out
    n_skipped: int = 0  # lines of the file that are not rows, and were skipped (on_bad_line)
    source: dict = field(default_factory=dict)  # path, sha256, weight column: for the manifest
    # Columns without splits that constraints may name: float64 (rows, auxiliary), as in X.
    auxiliary: tuple[Feature, ...] = ()
    auxiliary_X: np.ndarray | None = None
    selected: "Selected | None" = None  # the origin of these rows, if they were selected from more
    held_out: Any = None  # polars.DataFrame: rows of the same table that were set aside before it was read
    task: str = CLASSIFICATION
    # float64 (rows, sums): the amounts that the task adds up over the rows of a leaf (odtc.data.task).
    sums: np.ndarray | None = None
    copies: np.ndarray | None = None  # int64 (rows,): the number of rows of the file that each represents; None for 1
    # (column, cell) of columns of numbers with a cell that is written like a code, such as 00123.
    padded: tuple[tuple[str, str], ...] = ()
    merged: tuple[tuple[str, str, str], ...] = ()  # (column, cell, cell) whose numbers differ and are one double
    # (column, built-in text) of texts that were taken for missing, if rows are dropped.
    missing_words: tuple[tuple[str, str], ...] = ()
    told: tuple[tuple[str, str], ...] = ()  # (column, sentence): remarks from reading the target
    # (column, kind, sentence): remarks on columns that were left out, and on marks of missing cells.
    left_out: tuple[tuple[str, str, str], ...] = ()
    label_type: str = label_types.TEXT  # of the classes (odtc.data.label_types)
    # The weights in whole numbers and their unit, if doubles may round them; for other rows it is ignored.
    exact_weight: tuple[np.ndarray, Fraction] | None = None

    def __post_init__(self):
        if self.auxiliary_X is None:
            object.__setattr__(self, "auxiliary_X", np.zeros((len(self.y), 0)))
        if self.sums is None:
            object.__setattr__(self, "sums", np.zeros((len(self.y), 0)))
        if self.copies is None:
            object.__setattr__(self, "copies", np.ones(len(self.y), np.int64))
        for array in (self.X, self.y, self.weight, self.auxiliary_X, self.sums, self.copies):
            array.setflags(write=False)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @cached_property
    def whole_weight(self) -> tuple[np.ndarray, Fraction]:
        """(whole numbers (rows,), unit): the exact weights, as they were written or derived."""
        if (exact := self.exact_weight) is not None and len(exact[0]) == self.n_rows:
            if (nearest_floats(*exact) == self.weight).all():
                return narrowed(exact[0]), exact[1]
        return whole_numbers(self.weight)

    @cached_property
    def places(self) -> dict[str, int]:
        """The column of X of each feature, by name."""
        return {feature.name: at for at, feature in enumerate(self.features)}

    @property
    def n_file_rows(self) -> int:
        """Rows of the file."""
        return int(self.copies.sum())

    def taken(self, rows: np.ndarray, **fields) -> "Dataset":
        """Return some of the rows.

        Parameters
        ----------
        rows : bool (rows,) or int (kept,)
        **fields
            New values of other fields of the data set.

        Returns
        -------
        Dataset
        """
        kept = {name: getattr(self, name)[rows] for name in ("X", "y", "weight", "auxiliary_X", "sums", "copies")}
        return replace(self, **(kept | fields))

    def where(self, held: np.ndarray) -> "Dataset":
        """Return the rows for which a condition holds.

        Parameters
        ----------
        held : bool (rows,)

        Returns
        -------
        Dataset
            The data set itself if it holds for all rows.
        """
        return self if held.all() else self.taken(held)

    def with_known_labels(self) -> "Dataset | None":
        """Return the rows whose label is a class of the training rows.

        Returns
        -------
        Dataset or None
            None if all labels are unknown or missing.
        """
        known = self.y >= 0
        return self.where(known) if known.any() else None


@value_class
class Selected:
    """Origin of a selected data set (odtc.workflow.row_selection.selection): the `whole` data set, the positions of
    the rows in it, int64 in rising order, and remarks on the selection."""

    whole: Dataset
    rows: np.ndarray
    facts: dict
