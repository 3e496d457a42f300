"""Rows of another file in the codes of a tree: its features, its levels, its classes."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from odtc.base.text import did_you_mean, first_few, some
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cells import column_types
from odtc.data.cells.missing_marks import without_marks
from odtc.data.dataset import CATEGORICAL, NUMERIC, Feature, layout_of
from odtc.data.reading_spec import ReadingSpec, missing_texts, no_column
from odtc.errors import DataError


@value_class
class CodedRows:
    """Rows coded by a tree.

    Attributes
    ----------
    X : float64 (rows, features)
        As in Dataset; NaN in columns that the tree does not use.
    y : int32 (rows,) or None
        -1 if the label is missing or not a known class; None if there is no column of labels.
    first : int
        The number of the first row in its file, from 1.
    unknown : int
        Cells of numeric columns that contain no number and count as missing.
    labels : Series or None
        The labels as in the file.
    """

    X: np.ndarray
    y: np.ndarray | None
    first: int = 1
    unknown: int = 0
    labels: pl.Series | None = None


def expect_columns(found: Sequence[str], place: str, roles: dict[str, Sequence[str]]) -> None:
    """Raise DataError for a column of these roles, {role: names}, that is not among those found."""
    for name in (name for names in roles.values() for name in names):
        if any(other.startswith(f"{name}\0") for other in found):
            raise DataError(f"expected one column {name!r} in {place}, got several; rename all but one")
    for role, names in roles.items():
        if absent := [name for name in names if name not in found]:
            hint = did_you_mean(absent[0], found) if len(absent) == 1 else ""
            many = "s" if len(absent) > 1 else ""
            raise DataError(
                f"expected the {role} column{many} {some(absent)} in {place}, got no such column{many}{hint} among "
                f"{some(found)}; columns are found by name, in any order"
                + (f"; leave out comments ({option('comment', '#')})" if found and found[0].startswith("#") else "")
            )


def code_cells(
    frame: pl.DataFrame, place: str, features: Sequence[Feature], used: Sequence[int], first: int = 1, lenient=False
) -> tuple[np.ndarray, int]:
    """Return the cells of a frame in the codes of features.

    Parameters
    ----------
    frame : DataFrame
    place : str
        The file, quoted, for messages.
    features : sequence of Feature
    used : sequence of int
        The positions of the features that the tree uses.
    first : int
        The number of the first row.
    lenient : bool
        Whether a cell of a numeric column that contains no number counts as missing.

    Returns
    -------
    X : float64 (rows, features)
    unknown : int
        How many cells counted as missing.

    Raises
    ------
    DataError
        For a cell that is not a number, unless `lenient`.
    """
    frame = column_types.dates_as_numbers(frame, layout_of(features))
    X, unknown = np.full((frame.height, len(features)), np.nan), 0
    for j in used:
        feature = features[j]
        known = without_marks(frame[feature.name], feature.missing_marks, feature.decimal)
        cells = column_types.column_cells(known, place, missing_texts(feature.layout))
        if feature.kind != NUMERIC:
            X[:, j] = column_types.level_codes(cells.cast(pl.String), feature.levels, feature.kind)
            continue
        if lenient:
            known = column_types.finite_numbers(cells, feature.decimal)
            unknown += known.null_count() - cells.null_count()
            cells = known
        X[:, j] = column_types.numbers(cells, feature.name, place, _advice(feature, cells), first, feature.decimal)
    return X, unknown


def _advice(feature: Feature, cells: pl.Series) -> str:
    """Return the end of the message on a cell that is not a number."""
    is_name = feature.layout.get("header") is False and cells.dtype == pl.String and len(cells) > 1
    if is_name and column_types.finite_numbers(cells).is_null().arg_true().to_list() == [0]:
        skip = f"{option('skip_lines', 1)} {option('header', False)}"
        return f"it is the only one, so that it may be a name: leave out the line of names with {skip}, or correct it"
    return column_types.CORRECT


def code_labels(
    cells: pl.Series, classes: Sequence[str], place: str, missing: Sequence[str] = column_types.MISSING_CELLS
) -> tuple[np.ndarray, pl.Series]:
    """Return (codes, words) of a column of labels: int32 (rows,), -1 if missing or not a known class, and the cells as
    text."""
    words = column_types.column_cells(cells, place, missing).cast(pl.String)
    codes = column_types.level_codes(words, classes, CATEGORICAL)
    return np.nan_to_num(codes, nan=-1).astype(np.int32), words


def no_known_label(target: str, classes: Sequence[str], place: str, n_rows: int, first: str | None) -> DataError:
    """Return the error for a file without a label that the tree knows; `first` is the first label in it."""
    got = "only missing cells" if first is None else f"none of them in {n_rows} rows, the first {first!r}"
    return DataError(
        f"expected labels of the tree ({first_few(classes, 10)}) in column {target!r} of {place}, got {got}"
    )


def code_frames(frames, place: str, tree, require_labels: bool = False, lenient: bool = False) -> Iterator[CodedRows]:
    """Yield the rows of the frames of one file, frame by frame, in the codes of a tree.

    Parameters
    ----------
    frames : iterator of DataFrame
    place : str
        The file, quoted, for messages.
    tree : Tree
        The features that it uses, its classes and its target count.
    require_labels : bool
        Whether rows are of no use without labels.
    lenient : bool
        As in `code_cells`.

    Raises
    ------
    DataError
        For an absent column, a cell that is not a number, and labels of which the tree knows none.
    """
    used, first, known, example = sorted(tree.used), 1, False, None
    for frame in frames:
        if first == 1:
            expect_columns(
                frame.columns,
                place,
                {"feature": [tree.features[j].name for j in used], "label": [tree.target] if require_labels else []},
            )
        X, unknown = code_cells(frame, place, tree.features, used, first, lenient)
        y = words = None
        if tree.target in frame.columns:
            y, words = code_labels(frame[tree.target], tree.classes, place, missing_texts(layout_of(tree.features)))
            known = known or bool((y >= 0).any())
            example = example if example is not None else next(iter(words.drop_nulls().head(1)), None)
        yield CodedRows(X, y, first, unknown, words)
        first += frame.height
    if require_labels and not known:
        raise no_known_label(tree.target, tree.classes, place, first - 1, example)


def one_target(columns: Sequence[str], how: ReadingSpec, place: str) -> tuple[str, ...]:
    """Return the column that is named as the target, or the last one that is neither a weight nor set aside, as a
    tuple. Raises ChoiceError if it is not there."""
    others = [name for name in columns if name != how.weights and name not in how.auxiliary]
    target = how.target if how.target is not None else others[-1] if others else how.weights
    if target not in columns:
        raise no_column("target", target, columns, place)
    return (str(target),)
