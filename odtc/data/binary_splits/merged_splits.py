"""Merging of rows with equal results for all splits, and of splits with equal results for all rows, by a table.

The table has a line for each split on a feature, and a column for each of its different values.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from odtc.algorithms.equal_rows import Looked, distinct_values, equal_rows, hashes
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.ranked_answers import MOST_CELLS
from odtc.data.table.coded_columns import as_rows, distinct, narrowed
from odtc.errors import DataError

RESULTS_AT_ONCE = 1 << 20  # results that are laid out together
KEYS_AT_ONCE = 1 << 12  # keys that are compared together
LOOKED = 64  # splits that are evaluated between two looks at the clock
Look = Callable[[], None]  # raises TimeLimitReached


def answers_by_feature(dataset: Dataset, asked, look: Look) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
    """Return (positions in `asked`, table, code) per feature: split k of the feature has the outcome table[k,
    code[row]].

    A feature has fewer distinct values than there are rows, so its splits are evaluated on these; splits on several
    features are evaluated on all rows.
    """
    places = {}
    for place, (split, _) in enumerate(asked):
        places.setdefault(split.features if len(split.features) == 1 else (), []).append(place)
    grouped = []
    for features, mine in places.items():
        look()
        if features:
            values, code = distinct(dataset.X, features[0])
            if len(values) * len(mine) > MOST_CELLS:  # known before the first of them is evaluated
                raise DataError(
                    f"expected fewer levels, got {len(mine):,} splits on {len(values):,} different values of the "
                    f"column {dataset.features[features[0]].name!r}; leave it out "
                    f"if it is an identifier ({option('ignore')})"
                )
            X = as_rows(values, dataset.X.shape[1])
        else:
            X, code = dataset.X, np.arange(dataset.n_rows)
        table = np.empty((len(mine), len(X)), dtype=bool)
        for line, place in enumerate(mine):
            if not line % LOOKED:
                look()
            split, ones_left = asked[place]
            table[line] = split.left(X) == ones_left
        grouped.append((mine, table, code))
    return grouped


def merged_rows(dataset: Dataset, by_feature, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """Return (row_of, first): the merged row of each data row, and the first data row of each."""

    def parts() -> Iterator[tuple[np.ndarray | Looked, int]]:
        yield dataset.y.astype(np.int64) + 1, len(dataset.classes) + 1
        for _, table, code in by_feature:
            look()
            # Values with equal results for all splits on the feature are one kind.
            lines = np.ascontiguousarray(np.packbits(table, axis=0).T)
            kinds, kind = np.unique(lines.view(f"V{lines.shape[1]}")[:, 0], return_inverse=True)
            yield Looked(narrowed(kind, max(1, len(kinds))), code), len(kinds)

    return equal_rows(parts())


@value_class
class Line:
    """The splits on a feature for merged rows: row i has the result table[k, code[i]] for the split at places[k]."""

    places: list[int]
    table: np.ndarray  # bool (splits, values)
    code: np.ndarray  # integers (rows,)


def table_of(lines: list[Line], kept: np.ndarray, look: Look) -> np.ndarray:
    """Return bool (rows, kept splits), computed for a few rows at a time, which fit into a cache."""
    n = len(lines[0].code) if lines else 0
    X, pieces = np.empty((n, len(kept)), bool), []
    for line in lines:
        places = np.array(line.places)
        mine = np.flatnonzero(np.isin(places, kept))
        if not len(mine):
            continue
        at = np.searchsorted(kept, places[mine])
        where = slice(at[0], at[-1] + 1) if at[-1] - at[0] + 1 == len(at) else at
        # The results of one value are stored together, unless each row has a value of its own.
        table = np.ascontiguousarray(line.table[mine].T) if line.table.shape[1] < n else line.table[mine]
        pieces.append((where, table, int(line.table.shape[1] >= n), line.code))
    step = max(1, RESULTS_AT_ONCE // max(1, len(kept)))
    for begin in range(0, n, step):
        look()
        block = X[begin : begin + step]
        for where, table, axis, code in pieces:
            found = np.take(table, code[begin : begin + step], axis=axis, mode="clip")
            block[:, where] = found.T if axis else found
    return X


def merged_columns(asked, lines: list[Line], of: Sequence[Hashable] | None):
    """Return (positions of the kept splits, the splits that each represents): the first of equal ones is kept,
    constant ones are left out. Splits `of` different columns are never equal (None: all belong to one column)."""
    T, n = len(asked), len(lines[0].code) if lines else 0
    found = Sums.of_rows(T, n)
    by_place: list[tuple[Line, int]] = [(None, 0)] * T  # type: ignore[list-item]
    for line in lines:
        of_value, rows = found.of_values(line.code, line.table.shape[1])
        for k, place in enumerate(line.places):
            ones = line.table[k]
            by_place[place] = line, k
            found.ones[place] = rows[ones].sum()
            found.sums[place] = of_value[ones].sum(dtype=np.uint64)
            found.flipped[place] = n > 0 and ones[line.code[0]]

    def answers(j: int) -> np.ndarray:
        line, k = by_place[j]
        return np.take(line.table[k] ^ found.flipped[j], line.code, mode="clip")

    return merged_equals(asked, found, lambda j, k: np.array_equal(answers(j), answers(k)), of)


@value_class
class Sums:
    """Sums of splits over n rows: how many rows have the outcome 1, mixed numbers of these rows, and whether the first
    row has it."""

    mixed: np.ndarray  # uint64 (rows,)
    ones: np.ndarray  # int64 (splits,)
    sums: np.ndarray  # uint64 (splits,)
    flipped: np.ndarray  # bool (splits,)

    @classmethod
    def of_rows(cls, splits: int, n: int) -> "Sums":
        return cls(
            hashes([np.arange(1, n + 1)]),
            np.zeros(splits, np.int64),
            np.zeros(splits, np.uint64),
            np.zeros(splits, bool),
        )

    def of_values(self, code: np.ndarray, n_values: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (sums uint64, rows int64) of each value, by the code of each row."""
        sums = np.zeros(n_values, np.uint64)
        np.add.at(sums, code, self.mixed)
        return sums, np.bincount(code, minlength=n_values)


def merged_equals(asked, found: Sums, alike: Callable[[int, int], bool], of: Sequence[Hashable] | None):
    """Return the result of `merged_columns`; `alike` decides whether two splits separate the rows alike.

    Columns are compared by a sum of mixed numbers over the rows with a 1, and columns with equal sums cell by cell.
    """
    key, flipped, n = found.sums, found.flipped, len(found.mixed)
    np.subtract(found.mixed.sum(dtype=np.uint64), key, out=key, where=flipped)
    usable = (found.ones > 0) & (found.ones < n)
    ordered = key[usable]
    ordered.sort()
    twice = distinct_values(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    groups, stands = {}, {}
    for j in _among(key, twice, usable):
        same = groups.setdefault((() if of is None else of[j], int(key[j])), [])
        keeper = next((k for k in same if alike(j, k)), None)
        if keeper is None:
            same.append(j)
        else:
            stands.setdefault(keeper, []).append((asked[j][0], bool(flipped[keeper] == flipped[j])))
            usable[j] = False
    kept = np.flatnonzero(usable)
    stands_for: list[tuple] = [()] * len(kept)
    for j, others in stands.items():
        stands_for[int(np.searchsorted(kept, j))] = tuple(others)
    return kept, tuple(stands_for)


def _among(keys: np.ndarray, some: np.ndarray, asked: np.ndarray) -> Iterator[int]:
    """Return the positions of the `asked` keys, bool (keys,), that are among some sorted keys: in rising order, a
    piece at a time."""
    for begin in range(0, len(keys) if len(some) else 0, KEYS_AT_ONCE):
        piece = keys[begin : begin + KEYS_AT_ONCE]
        found = some[np.searchsorted(some, piece).clip(max=len(some) - 1)] == piece
        yield from (begin + np.flatnonzero(found & asked[begin : begin + KEYS_AT_ONCE])).tolist()
