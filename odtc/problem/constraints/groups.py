"""Groups of the rows of data, by a column of the data file that does not have to be a feature.

    COLUMN                    each level (or number) that occurs is a group
    COLUMN:LEVEL|LEVEL        the rows that have one of these levels (or numbers), and all others
    COLUMN<=NUMBER            the rows up to this number, and those above it

The encoding may merge rows of data of several groups, so each encoded row has a weight for each group; the manifest,
which contains no data, has these weights, too. A missing cell (--missing separate) is a group of its own.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from odtc.base.text import did_you_mean, first_few, in_list
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import narrowed, nearest_floats, sums_of_whole, whole_numbers
from odtc.base.wording import option
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError

MAX_GROUPS = 50  # maximum number of groups; more are probably a mistake, because every pair of groups is compared
MAX_LISTED_LEVELS = 20  # maximum number of levels of a column that a message lists


@value_class
class Groups:
    """`weight` is float64 (rows, groups): the weight of the rows of data of this group in each encoded row; `summed`
    is the same as (whole numbers, unit), not rounded, if the data was available."""

    text: str
    names: tuple[str, ...]
    weight: np.ndarray
    summed: tuple[np.ndarray, Fraction] | None = None

    def __post_init__(self) -> None:
        self.weight.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Groups)
            and (self.text, self.names) == (other.text, other.names)
            and np.array_equal(self.weight, other.weight)
        )

    @cached_property
    def whole(self) -> np.ndarray:
        """Whole numbers (rows, groups): the weights in a common unit."""
        return narrowed(whole_numbers(self.weight)[0]) if self.summed is None else self.summed[0]


def groups(encoded: Encoded, text: str) -> Groups:
    """Return the groups of this text; raises ChoiceError for a column, a level or a number that the data does not
    have, and for fewer than two groups."""
    for known in encoded.groups:
        if known.text == text:
            return known
    dataset = encoded.dataset
    if dataset is None:
        raise ChoiceError(
            f"expected groups that the manifest knows "
            f"({', '.join(known.text for known in encoded.groups) or 'none'}), got {text!r}"
        )
    of, names = members(dataset, text)
    each, unit = dataset.whole_weight
    whole = sums_of_whole(encoded.row_of * len(names) + of, each, encoded.n_rows * len(names)).reshape(-1, len(names))
    heavy = whole.any(axis=0)
    if heavy.sum() < 2:
        raise ChoiceError(
            f"expected two groups of rows or more, got group={text} with {', '.join(np.array(names)[heavy]) or 'none'}"
        )
    kept = narrowed(whole[:, heavy]), unit
    return Groups(text, tuple(np.array(names)[heavy].tolist()), nearest_floats(*kept), kept)


def carrying(encoded: Encoded, texts: Iterable[str]) -> Encoded:
    """Return the encoding with the groups of these texts, so that later steps need no data file."""
    found = {text: groups(encoded, text) for text in texts}
    return replace(encoded, groups=tuple(found.values())) if found else encoded


def example_of(encoded: Encoded) -> str:
    """Return groups of this data, as a user may write them: the column with the fewest levels, or a number
    cut in two."""
    dataset, least = encoded.dataset, (np.inf, "COLUMN")
    if dataset is None:
        return encoded.groups[0].text if encoded.groups else "COLUMN"
    for features, table in ((dataset.auxiliary, dataset.auxiliary_X), (dataset.features, dataset.X)):
        for feature, cells in zip(features, table.T):
            values = np.unique(cells[~np.isnan(cells)])
            if 2 <= len(values) < least[0]:
                few = len(values) <= MAX_GROUPS or feature.kind != NUMERIC
                least = len(values), feature.name if few else f"{feature.name}<={values[len(values) // 2]:g}"
    return least[1]


def rarest(encoded: Encoded) -> str:
    """Return the class of the least weight, which is the most frequent subject of constraints."""
    weight = np.bincount(encoded.y, encoded.weight, len(encoded.classes))
    return encoded.classes[int(np.where(weight > 0, weight, np.inf).argmin())]


def regrouped(encoded: Encoded, texts: Iterable[str]) -> Encoded:
    """Return the encoding with the groups of these texts counted again, after its rows have changed."""
    return carrying(replace(encoded, groups=()), texts)


def members(dataset: Dataset, text: str) -> tuple[np.ndarray, list[str]]:
    """Return (group int (data rows,), names) of the groups of a text; raises the exceptions of `groups`."""
    columns = {
        feature.name: (feature, X)
        for features, cells in ((dataset.features, dataset.X), (dataset.auxiliary, dataset.auxiliary_X))
        for feature, X in zip(features, cells.T)
    }
    if text in columns:
        feature, cells = columns[text]
        values, of = np.unique(cells, return_inverse=True)
        if len(values) > MAX_GROUPS:
            numbers = feature.kind == NUMERIC
            raise ChoiceError(
                f"expected a column of at most {MAX_GROUPS} groups, got group={text} with {len(values)} different "
                f"{'numbers' if numbers else 'levels'}; take {f'{text}<=NUMBER, or ' * numbers}{text}:A|B for some of "
                "them against the others"
            )
        return of.ravel(), ["missing" if np.isnan(value) else feature.show(value) for value in values]
    for sign in ("<=", ":"):
        name, found, rest = text.rpartition(sign) if sign == "<=" else text.partition(sign)
        while name not in columns and sign in rest:  # a column's name may hold the sign itself
            more, _, rest = rest.partition(sign)
            name = f"{name}{sign}{more}"
        if found and name in columns:
            return (_above if sign == "<=" else _chosen)(*columns[name], rest)
    name = text.partition("<=")[0].partition(":")[0]
    if name in dataset.source.get("ignore", ()):
        raise ChoiceError(
            f"expected group=COLUMN, COLUMN:LEVEL|LEVEL or COLUMN<=NUMBER, got {text!r}, a column that "
            f"{option('ignore')} leaves out; name it in {option('auxiliary')} instead, so that constraints can use it "
            "but no split does"
        )
    raise ChoiceError(
        f"expected group=COLUMN, COLUMN:LEVEL|LEVEL or COLUMN<=NUMBER, got {text!r}: the data has no column "
        f"{name!r}{did_you_mean(name, columns)}; it has {', '.join(map(repr, columns))} (columns that are not features "
        f"are named in {option('auxiliary')})"
    )


def _above(feature: Feature, cells: np.ndarray, text: str) -> tuple[np.ndarray, list[str]]:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if feature.kind != NUMERIC or np.isnan(number):
        raise ChoiceError(
            f"expected COLUMN<=NUMBER with a column of numbers, got {feature.name}<={text}; {feature.name!r} is "
            f"{feature.kind}"
        )
    return np.where(np.isnan(cells), 2, cells > number).astype(int), [
        f"{feature.name}<={text}",
        f"{feature.name}>{text}",
        "missing",
    ]


def _chosen(feature: Feature, cells: np.ndarray, text: str) -> tuple[np.ndarray, list[str]]:
    known = {feature.show(value): value for value in np.unique(cells[~np.isnan(cells)])}
    levels = [level.strip() for level in text.split("|")] if text not in known else [text]
    for level in levels:
        if level not in known:
            raise ChoiceError(
                f"expected levels of the column {feature.name!r}, got {level!r}{did_you_mean(level, known)}; known: "
                f"{first_few([*map(in_list, known)], MAX_LISTED_LEVELS)}"
            )
    inside = np.isin(cells, [known[level] for level in levels])
    return np.where(np.isnan(cells), 2, ~inside).astype(int), ["|".join(levels), "the others", "missing"]
