"""Read rows to predict, score or test, coded by the features, levels and classes of a tree."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from odtc.base.text import count_of, did_you_mean, first_few, in_list, some
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cells import column_types
from odtc.data.cells.data_files import data_name, fitting_layout, load
from odtc.data.cells.missing_marks import marks_of_texts, without_marks
from odtc.data.cost_matrix import expect_weight_left, expect_weights
from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature, decimal_of, layout_of
from odtc.data.reading_columns import mark_text_labels, rows_with_gaps
from odtc.data.reading_spec import ReadingSpec, missing_texts
from odtc.data.table.column_coding import code_columns, named_columns
from odtc.data.task import task_of
from odtc.errors import ChoiceError, DataError


@value_class
class CodedRows:
    """Rows coded by a tree.

    Attributes
    ----------
    X : float64 (rows, features)
        As in Dataset; NaN in columns that the tree does not use.
    y : int32 (rows,) or None
        -1 if the label is missing or not a known class; None without a column of labels.
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


def read_rows(
    path, features, classes, target, require_labels=False, weights=None, used=None, weights_may_lack=False
) -> Dataset:
    """Read rows to predict or score, coded by the features and classes of a tree; no row is left out.

    Parameters
    ----------
    path : path or DataFrame
        Its columns are found by name; others are ignored.
    features : sequence of Feature
    classes : sequence of str
    target : str
    require_labels : bool
        Whether rows are of no use without labels.
    weights : str or None
        The column of weights.
    used : iterable of int or None
        The positions of the features that the tree uses; other columns may be absent. None for all.
    weights_may_lack : bool
        Whether the column of weights may be absent; rows then weigh 1.

    Returns
    -------
    Dataset
        In `X` a missing cell is NaN and an unknown level -1, and columns that are not used are NaN; `y` is -1 if the
        label is absent, missing or not a known class.

    Raises
    ------
    DataError
        For an absent column, text in a numeric column, a missing weight, and labels of which none is known if they are
        required.
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
        The positions of the features that the tree uses; other columns may be absent.

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
    """Return float64 (rows,): the numbers of a column of a file, NaN for a missing cell; None if the column is missing
    or contains words. The file is read with the options of these features."""
    try:
        like = Feature(column, NUMERIC, decimal=decimal_of(features), layout=layout_of(features))
        return read_rows(path, (like,), (), "").X[:, 0]
    except DataError:
        return None


def read_scored_rows(path, trained: Dataset, numbered: bool = False) -> Dataset:
    """Read rows of another file with their target, coded by the features of a data set whose task is not
    classification.

    Rows without a target or a weight are left out. If `numbered`, the only auxiliary column is the position of each row
    in the file, from 0. Raises DataError as `read_rows` does, and for actions that the training data does not have.
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
    mark_text_labels(coded, trained.source if path is None else {"path": path})
    keep = ~rows_with_gaps(columns, needed)
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


def _opened(path, features: Sequence[Feature], used: Iterable[int]) -> tuple[pl.DataFrame, str, str, str | None]:
    """Open a file with these features, or test rows in memory; return (frame, its name in messages, its name, its path
    or None)."""
    if isinstance(path, pl.DataFrame):
        return path, "the rows to test on", "held out", None
    path = Path(path)
    layout = fitting_layout(path, layout_of(features), [features[at].name for at in used])
    return load(path, layout=layout), repr(str(path)), data_name(path), str(path)


def expect_columns(found: Sequence[str], place: str, roles: dict[str, Sequence[str]]) -> None:
    """Raise DataError if a column of these roles, {role: names}, is not among the columns found."""
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
        The number of cells that count as missing.

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
        f"expected labels of the tree ({first_few([*map(in_list, classes)], 10)}) in column {target!r} of {place}, "
        f"got {got}"
    )


def code_frames(frames, place: str, tree, require_labels: bool = False, lenient: bool = False) -> Iterator[CodedRows]:
    """Yield the rows of the frames of one file, frame by frame, in the codes of a tree.

    Parameters
    ----------
    frames : iterator of DataFrame
    place : str
        The file, quoted, for messages.
    tree : Tree
        Only the features that it uses, its classes and its target matter.
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
