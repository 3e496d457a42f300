"""Human names of columns, levels and classes: `--labels codebook.csv`, with the columns column, value and text.

A line without a value names a column; one with a value names a level of it, or a class if the column is the target.
Names are for readers only: a tree, its predictions and the columns of data files stay as they are. `Tree.shown` is the
tree in these words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from odtc.base.text import did_you_mean, show_number, some
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import NUMERIC, Codebook, Dataset, Feature
from odtc.errors import DataError

HEADER = ("column", "value", "text")
KIND = "labels"  # of a remark (Dataset.left_out)


class Labelled(Protocol):
    """An object with classes: a data set or a tree."""

    @property
    def target(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...]: ...


@value_class
class _Line:
    column: str
    value: str
    text: str


def read_codebook(path: str | Path) -> Codebook:
    """Return the codebook of a table with the columns column, value and text.

    Parameters
    ----------
    path : path
        A data file of any format that odtc reads.

    Returns
    -------
    Codebook

    Raises
    ------
    DataError
        If the columns are others, or two lines give one thing different names.
    """
    from odtc.data.cells.data_files import load  # it loads polars, and a tree is imported without

    table = load(Path(path), layout={"only_missing": ""})
    names = {name.strip().lower(): name for name in table.columns}
    if not set(HEADER) <= set(names):
        raise DataError(
            f"{option('labels')}: expected a table with the columns column, value and text, for example the line "
            f"'status,1,overdrawn', got the columns {some(table.columns)} in {str(path)!r}"
        )
    lines = [_Line(*map(_text, row)) for row in table.select([names[one] for one in HEADER]).iter_rows()]
    return _codebook([one for one in lines if one.column and one.text], str(path))


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return show_number(cell) if isinstance(cell, float) else str(cell).strip()


def _codebook(lines: Iterable[_Line], where: str) -> Codebook:
    columns: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for line in lines:
        known = values.setdefault(line.column, {}) if line.value else columns
        key = line.value or line.column
        if known.setdefault(key, line.text) != line.text:
            of = f"the value {line.value!r} of " if line.value else ""
            raise DataError(
                f"{option('labels')}: expected one text for {of}column {line.column!r}, got {known[key]!r} and "
                f"{line.text!r} in {where!r}; keep one of these lines"
            )
    return Codebook(columns, {column: known for column, known in values.items() if known})


def with_labels(rows: Dataset, codebook: Codebook | None) -> Dataset:
    """Return the data set whose columns, levels and classes have these names for readers.

    Parameters
    ----------
    rows : Dataset
    codebook : Codebook or None

    Returns
    -------
    Dataset
        With a remark on names in the codebook that the data do not have.

    Raises
    ------
    DataError
        If it names no column of the data.
    """
    if codebook is None:
        return rows
    known = (*rows.features, *rows.auxiliary)
    left = {*rows.source.get("ignore", ()), rows.source.get("weights")}
    remarks = [(name, KIND, text) for name, text in strangers(codebook, known, rows) if name not in left]
    features, auxiliary = (labelled(part, codebook) for part in (rows.features, rows.auxiliary))
    return replace(rows, features=features, auxiliary=auxiliary, left_out=(*rows.left_out, *remarks))


def labelled(features: Sequence[Feature], codebook: Codebook) -> tuple[Feature, ...]:
    """Return the columns of a table with this codebook."""
    return tuple(replace(one, codebook=codebook) for one in features)


def strangers(codebook: Codebook, features: Sequence[Feature], of: Labelled) -> list[tuple[str, str]]:
    """Return (column, sentence) for the names in a codebook that a table or a tree does not have.

    Parameters
    ----------
    codebook : Codebook
    features : sequence of Feature
        All columns except for the target.
    of : Dataset or Tree
        Has the target and its classes.

    Raises
    ------
    DataError
        If the codebook names no column.
    """
    levels = {one.name: one.levels for one in features} | {of.target: of.classes}
    named, known = dict.fromkeys([*codebook.columns, *codebook.values]), {*levels, *of.classes}
    strange = [name for name in named if name not in known]
    if len(strange) == len(named):
        raise DataError(
            f"{option('labels')}: expected names of columns such as {some(list(levels))}, got {some(list(named))}; "
            "write the names of the data into the column 'column'"
        )
    found = [
        (name, f"the codebook names a column {name!r}, which the data do not have{did_you_mean(name, levels)}")
        for name in strange
    ]
    for name, texts in codebook.values.items():
        if (have := levels.get(name)) and not set(texts) & set(have):
            words = (
                f"no value of column {name!r} in the codebook, {some(list(texts))}, is one of the data, {some(have)}"
            )
            found.append((name, words))
    return found


def codebook_of(features: Sequence[Feature]) -> Codebook | None:
    """Return the codebook of the table that these are columns of; None without one."""
    return next((feature.codebook for feature in features if feature.codebook is not None), None)


def shown_features(features: Sequence[Feature], codebook: Codebook) -> tuple[Feature, ...]:
    """Return the columns with their names for readers, which are different from each other."""
    names = _apart([codebook.columns.get(one.name, one.name) for one in features], [one.name for one in features])
    return tuple(_shown(feature, name, codebook) for feature, name in zip(features, names))


def _shown(feature: Feature, name: str, codebook: Codebook) -> Feature:
    texts = codebook.values.get(feature.name, {})
    if feature.kind == NUMERIC:
        return replace(feature, name=name, number_texts=texts, codebook=None)
    return replace(feature, name=name, levels=shown_values(feature.name, feature.levels, codebook), codebook=None)


def shown_values(column: str, values: Sequence[str], codebook: Codebook, columns: bool = False) -> tuple[str, ...]:
    """Return the levels of a column, or the classes of a target, with their names for readers, different from each
    other; with `columns` a value may be the name of a column, as actions of a policy are."""
    texts = {**(codebook.columns if columns else {}), **codebook.values.get(column, {})}
    return _apart([texts.get(value, value) for value in values], values)


def _apart(texts: Sequence[str], originals: Sequence[str]) -> tuple[str, ...]:
    """Return the texts, with the original added to each text that occurs twice."""
    twice = {text for text in texts if list(texts).count(text) > 1}
    return tuple(f"{text} ({name})" if text in twice else text for text, name in zip(texts, originals))
