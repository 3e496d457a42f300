"""Encode a Dataset as 0/1 columns, each the outcome of one split, and merge equal columns and rows.

The protocol `Encoding` defines the parts of an encoding module.
"""

import inspect
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from odtc.algorithms.thresholds.ranks import merge_rows
from odtc.base import deadline, phases
from odtc.base.memory import require_memory
from odtc.base.registry import Contract, Registry
from odtc.base.text import count_of
from odtc.base.value_class import frozen_class
from odtc.base.whole_numbers import MAX_EXACT, narrowed, product, summed_weights, whole_losses
from odtc.base.wording import option
from odtc.data import label_types
from odtc.data.binary_splits import merged_splits
from odtc.data.binary_splits.column_splits import threshold_splits
from odtc.data.cost_matrix import unit_cost
from odtc.data.dataset import CATEGORICAL, Dataset, Feature
from odtc.data.ranked_answers import RankedAnswers, require_cells, rows_of
from odtc.data.reading_spec import CLASSIFICATION
from odtc.data.splits import Missing, Split, SplitList, Splits, Threshold
from odtc.errors import ChoiceError, DataError, OdtcError, TimeLimitReached

if TYPE_CHECKING:
    from odtc.algorithms.moments.lines import ExactLines


class Encoding(Protocol):
    """Parts that an encoding defines: the splits that trees may use."""

    NAME: str
    SUMMARY: str
    OPTIONS: dict  # name -> (type, help), of `--encoding NAME:KEY=VALUE`

    @abstractmethod
    def splits(self, dataset: Dataset, **options) -> Sequence[tuple[Split, bool]]:
        """Return the splits as (split, ones_left): the column is 1 on the left side of the split if `ones_left`, as
        for the levels of one-hot columns, otherwise 1 on its right side, as for thresholds."""
        ...

    def remark(self, dataset: Dataset, **options) -> str:
        """Return a sentence on the splits of this data that are left out although the name of the encoding promises
        them; "" if none are."""
        return ""

    def sized(self, dataset: Dataset, depth: int, **options) -> dict:
        """Return the options that depend on the work of a search of this depth, for example `levels=8`."""
        return options


def _unfit(module) -> str:
    """Return why the OPTIONS of an encoding are invalid, as a part of a sentence; "" if they are valid."""
    taken = inspect.signature(module.splits).parameters
    anything = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    for name, value in module.OPTIONS.items():
        if not (isinstance(value, tuple) and len(value) == 2 and callable(value[0]) and isinstance(value[1], str)):
            return f"expected OPTIONS as NAME: (type, sentence of help), got {name!r}: {value!r}"
        if name not in taken and not anything:
            return f"expected splits to take its option {name!r}, got splits{inspect.signature(module.splits)}"
    return ""


ENCODINGS = Registry(
    "encoding",
    "odtc.data.encodings",
    ("auto", "onehot", "thresholds", "subsets", "sampled", "oblique"),
    Contract(always=(Encoding,), unfit=_unfit),
    "odtc.encodings",
)
RANKED_SPLITS = 8  # splits per scale, on average, from which on ranks are stored instead of a column for each split
MOST_OF_LEVELS = 40_000_000  # results (rows · splits) of a text column with a different word in nearly every row
BETWEEN_ENDS = ("auto", "subsets", "thresholds")  # encodings of thresholds between all numbers
PATIENCE = 2.0  # seconds that encoding may take even after a limit, because without it there is no tree
FEWER = "take fewer rows, or put rare classes together"
MIN_RANKED_CELLS = 2_000_000  # cells; a larger dense table is made only if it is needed


@frozen_class
class Encoded:
    """Binary rows and columns without duplicates; arrays are read-only.

    Column j of `X` has the results of `splits[j]`; no column is constant, and no two are identical or complementary.
    Data rows of one label with equal results for all splits are one row here, unless `merge` is False: row i represents
    `copies[i]` data rows, of `weight[i]` together, in the order in which they first appear.
    """

    name: str
    X: np.ndarray  # bool, (rows, splits), C order; or RankedAnswers, which is expanded only if necessary
    y: np.ndarray  # int32, (rows,)
    weight: np.ndarray  # float64, (rows,): summed
    copies: np.ndarray  # int64, (rows,)
    row_of: np.ndarray  # int64, (data rows,): the merged row of each data row
    splits: Sequence[Split]
    ones_left: np.ndarray  # bool, (splits,): the column is 1 if the split goes left
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    target: str
    missing: str
    # Per kept split the splits merged into it: True for an identical column, False for its complement.
    stands_for: tuple[tuple[tuple[Split, bool], ...], ...]
    scheme: str
    dataset: Dataset | None = None
    by_column: bool = False  # as of `encode`
    radius: tuple[float, ...] = ()  # as of `encode`
    merge: bool = True  # as of `encode`
    # float64, (classes, classes): cell (i, j) is the cost, per unit of weight, of predicting class j for class i
    # (odtc.data.cost_matrix); None for 1 off the diagonal. It does not change weights, counts or accuracy.
    cost: np.ndarray | None = None
    whole_cost: tuple[np.ndarray, Fraction] | None = None  # the exact costs as whole numbers of a unit
    # The exact weights of a manifest as whole numbers of a unit, if they are sums of decimals that doubles round.
    exact_weight: tuple[np.ndarray, Fraction] | None = None
    # float64, (rows, features): the cells of each row if there is no dataset (a manifest); see `values`.
    cells: np.ndarray | None = None
    groups: tuple = ()  # groups of data rows to which constraints refer (odtc.problem.constraints.groups)
    task: str = CLASSIFICATION
    sums: np.ndarray | None = None  # float64 (rows, sums): the amounts that the task adds up (odtc.data.task)
    label_type: str = label_types.TEXT  # of the classes (odtc.data.label_types)
    lines: "ExactLines | None" = None  # the costs of linear leaves without a dataset (a manifest)
    goal: str = ""  # of a policy without a dataset (a manifest): "max" if costs are minus the values of actions
    # Objects computed from these rows (`derived`); never carried to other rows.
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.cost is None:
            object.__setattr__(self, "cost", unit_cost(len(self.classes)))
        if self.sums is None:
            object.__setattr__(self, "sums", np.zeros((self.n_rows, 0)))
        for array in (self.X, self.y, self.weight, self.copies, self.row_of, self.ones_left, self.cost, self.sums):
            array.setflags(write=False)

    def derived(self, key: Hashable, make: Callable[[], Any], is_whole: Callable[[], bool] = lambda: True) -> Any:
        """Return the value of `make()`, computed once for these rows and this key, such as the tree of a heuristic. An
        incomplete value, cut off by a limit, is not kept."""
        if key in self._derived:
            return self._derived[key]
        value = make()
        if is_whole():
            self._derived[key] = value
        return value

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @cached_property
    def values(self) -> np.ndarray | None:
        """float64 (rows, features): the cells of each row, as in Dataset.X; None if data rows with different cells
        were merged into one row, or if the cells are not known."""
        if self.dataset is None:
            return self.cells
        found = self.dataset.X[self._first_rows]
        alike = np.array_equal(found[self.row_of], self.dataset.X, equal_nan=True)
        found.setflags(write=False)
        return found if alike else None

    @property
    def n_candidate_splits(self) -> int:
        return self.X.shape[1]

    @property
    def of_leaf(self) -> bool:
        """Whether no split separates two rows: the only one is a placeholder (`encode`)."""
        return self.n_candidate_splits == 1 and not np.asarray(self.X).any()

    @cached_property
    def loss(self) -> np.ndarray:
        """Return float64 (rows, classes): the cost of predicting this class for this row.

        It ignores the deadline, because the checks of a found tree need it after a limit, too. Raises ModelError if it
        is larger than the memory.
        """
        shape = len(self.y), len(self.cost)
        require_memory(
            8.0 * shape[0] * shape[1],
            f"the costs of {count_of(shape[1], 'class')} on {count_of(shape[0], 'row')}",
            FEWER,
        )
        costs: np.ndarray = self.cost[self.y]
        costs *= self.weight[:, None]
        return costs

    @cached_property
    def whole_weight(self) -> np.ndarray:
        """Whole numbers (rows,): the exact sums of the weights, which are decimals in the data, in a common unit."""
        return narrowed(whole_losses(self).weight)

    @cached_property
    def whole_loss(self) -> tuple[np.ndarray, Fraction]:
        """(whole numbers (rows, classes), unit): the exact values of `loss`."""
        exact = whole_losses(self)
        return product(exact.cost[self.y], self.whole_weight[:, None]), exact.unit

    @cached_property
    def class_cost(self) -> np.ndarray | None:
        """Return float64 (classes,): the cost per unit of misclassified weight of each class; None if it depends on the
        predicted class."""
        off = ~np.eye(len(self.cost), dtype=bool)
        highest, lowest = self.cost.max(axis=1), self.cost.min(axis=1, where=off, initial=np.inf)
        return highest if np.minimum(lowest, highest).tolist() == highest.tolist() else None

    @property
    def price(self) -> np.ndarray | None:
        """Return float64 (rows,): the cost of an error on this row; None as in `class_cost`."""
        return None if self.class_cost is None else self.weight * self.class_cost[self.y]

    def cheapest(self, rows: np.ndarray) -> int:
        """Return the class that costs least for all of these rows together; in a tie, the first one."""
        of_class = np.bincount(self.y[rows], self.weight[rows], len(self.classes))
        costs = of_class @ self.cost
        rounding = 4 * (len(rows) + len(costs)) * np.finfo(float).eps
        if np.count_nonzero(costs <= costs.min() * (1 + rounding)) < 2:
            return int(costs.argmin())
        return whole_losses(self).cheapest(rows)

    def find(self, split: Split) -> tuple[int, bool] | None:
        """Return (split, left_is_zero) of the split of the encoding that separates the data rows in the same way as the
        given one, otherwise None.

        `left_is_zero` is True if the column is 0 on the split's left side, False if it is
        1 there. Raises DataError for an Encoded without its dataset.
        """
        left = self.left(split)
        if left is not None and self.by_column:  # a split on its own columns, before one on others
            # Of thresholds that separate the rows in the same way, but not the boxes around them, the intended one.
            places = self._of_features.get(split.features, ())
            for place in sorted(places, key=lambda place: self.splits[place] != split):
                if (same := np.array_equal(left, self.X[:, place])) or np.array_equal(left, ~self.X[:, place]):
                    return place, not same
        place = None if left is None else self.place(left)
        return None if place is None else (place[0], not place[1])

    def left(self, split: Split) -> np.ndarray | None:
        """Return bool (rows,): the rows that go left; None if the split separates data rows that were merged into one.
        Raises DataError for an Encoded without its dataset."""
        if self.dataset is None:
            raise DataError(f"expected the data of {self.name!r} to look up a split, got an encoding without data")
        left = split.left(self.dataset.X)
        merged = left[self._first_rows]
        return merged if np.array_equal(left, merged[self.row_of]) else None

    def place(self, column: np.ndarray) -> tuple[int, bool] | None:
        """Return (split, same) of the split with this column of results, bool (rows,), or with its complement if `same`
        is False; otherwise None."""
        if isinstance(self.X, RankedAnswers):
            place = self.X.find(column)
        else:
            place = self._places.get(np.packbits(column ^ column[0]).tobytes())
        return None if place is None else (place, bool(self.X[0, place] == column[0]))

    @cached_property
    def alike(self) -> np.ndarray:
        """int64 (rows,): the same number for rows with equal results for all splits, from 0."""
        if isinstance(self.X, RankedAnswers):
            return merge_rows(self.X.rank)[0]
        packed = np.ascontiguousarray(np.packbits(self.X, axis=1))
        return np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_inverse=True)[1]

    @cached_property
    def _first_rows(self) -> np.ndarray:
        return np.unique(self.row_of, return_index=True)[1]

    @cached_property
    def _of_features(self) -> dict[tuple[int, ...], list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        for place, split in enumerate(self.splits):
            found.setdefault(split.features, []).append(place)
        return found

    @cached_property
    def _places(self) -> dict[bytes, int]:
        """Positions of the splits by their packed columns; a column that begins with a 1 is complemented first."""
        packed = np.packbits((self.X ^ self.X[0]).T, axis=1)
        return {column.tobytes(): place for place, column in enumerate(packed)}


def sized_scheme(dataset: Dataset, scheme: str, depth: int) -> str:
    """Return an encoding with the options that it takes for a search of this depth: "auto" as "auto:levels=8"."""
    module, given = ENCODINGS.parse(scheme)
    options = module.sized(dataset, depth, **given)
    if options == given:
        return scheme
    return f"{module.NAME}:{','.join(f'{key}={value}' for key, value in options.items())}"


def encode(
    dataset: Dataset,
    scheme: str = "auto",
    by_column: bool = False,
    radius: Sequence[float] = (),
    merge: bool = True,
    of_leaf: bool = False,
) -> Encoded:
    """Turn the columns of a data set into splits.

    Parameters
    ----------
    dataset : Dataset
    scheme : str
        "NAME" or "NAME:KEY=VALUE,KEY=VALUE", of `odtc list encodings`.
    by_column : bool
        Among splits that separate the rows in the same way, one is kept for each column, for constraints on columns and
        for rows whose cells may be moved; otherwise only one.
    radius : sequence of float (features,), or empty
        How far the numbers of each column may be moved either way: in the encodings `auto` and `thresholds`, thresholds
        are then between the ends of these intervals (`threshold_splits`), and several may separate the rows alike.
    merge : bool
        Merge data rows of one label with equal results for all splits into one weighted row. False keeps one row
        for each data row, as the models of the papers are printed.
    of_leaf : bool
        The trees are single leaves. If no split separates two rows, "is missing" on the first column is the only split,
        a placeholder that sends all rows right.

    Returns
    -------
    Encoded

    Raises
    ------
    ChoiceError
        If the encoding or an option is unknown.
    DataError
        If no split separates two rows (without `of_leaf`), or the encoding does not fit a column.
    TimeLimitReached
        If the deadline has passed (odtc.base.deadline), and it took PATIENCE.
    """
    look, (module, options) = _look_at_limit(dataset), ENCODINGS.parse(scheme)
    phases.begin("encoding")
    asked = _splits_of(module, dataset, options)
    look()
    radius = tuple(float(r) if 0 < r < np.inf else 0.0 for r in radius)
    of: Sequence[Hashable] | None = asked.splits.features if by_column else None
    if not any(radius) or module.NAME not in BETWEEN_ENDS:
        radius = ()
    else:
        moved = _of_moved(dataset, asked, radius, options.get("bins"))
        # The boxes leave no threshold between their ends: thresholds between the numbers are as good as any.
        asked = moved if len(moved) else asked
        of = [at if any(radius[f] for f in split.features) else split.features for at, (split, _) in enumerate(asked)]
    X, row_of, first, kept, stands_for = _merged(dataset, asked, of, look, by_ranks=not radius)
    if of_leaf and not len(kept):
        asked, kept, stands_for = SplitList.of([(Missing(0), True)]), np.zeros(1, int), ((),)
        X = np.zeros((len(first), 1), bool)
    return _encoded(dataset, (scheme, by_column, radius, merge), asked, X, row_of, first, kept, stands_for)


def _splits_of(module, dataset: Dataset, options: dict) -> SplitList:
    """Return the splits of an encoding. Raises ChoiceError if a plug-in returns anything else."""
    found = module.splits(dataset, **options)
    if module.name not in ENCODINGS.module_names:
        expected = f"the encoding {module.name!r}: expected splits(dataset) to return a list of (split, ones_left)"
        try:
            found = list(found)
        except TypeError:
            raise ChoiceError(f"{expected}, got {found!r}") from None
        for pair in found:
            if why := _no_split(dataset, pair):
                raise ChoiceError(f"{expected}, got {pair!r}{why}")
    return SplitList.of(found)


def _no_split(dataset: Dataset, pair) -> str:
    """Return why a value is not a (split, ones_left) of these columns, as the end of a sentence; "" if it is one."""
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], Split):
        return ", which is not such a pair"
    split, many = pair[0], len(dataset.features)
    if not all(isinstance(at, (int, np.integer)) and 0 <= at < many for at in split.features):
        return f", whose columns are not positions from 0 to {many - 1}"
    if isinstance(split, Threshold):
        if not (isinstance(split.threshold, (int, float, np.number)) and np.isfinite(split.threshold)):
            return ", whose threshold is not a finite number"
    return ""


def _look_at_limit(dataset: Dataset) -> Callable[[], None]:
    """Return a function that raises TimeLimitReached if the deadline has passed, and encoding took PATIENCE."""
    began = time.monotonic()

    def look() -> None:
        if deadline.has_waited(began, PATIENCE):
            raise TimeLimitReached(
                f"{deadline.what_ends()} came while the splits of {dataset.name!r} were made, so no tree was found; "
                f"allow more time ({option('time_limit')}), or take fewer rows or columns"
            )

    return look


def _merged(
    dataset: Dataset, asked: SplitList, of: Sequence[Hashable] | None, look: Callable[[], None], by_ranks: bool
):
    """Return (X, row_of, first, kept, stands_for): the table of splits with equal rows and columns merged. With
    `by_ranks` a large table is merged by the ranks of its numbers."""
    scales, n = asked.scales, len(asked)
    if by_ranks and n >= RANKED_SPLITS * (int(scales.max(initial=0)) + 1) and n * dataset.n_rows >= MIN_RANKED_CELLS:
        from odtc.data.binary_splits import merged_scales  # for large tables

        return merged_scales.ranked(dataset, asked, scales, of, look)
    _expect_levels(dataset, asked)
    by_feature = merged_splits.answers_by_feature(dataset, asked, look)
    row_of, first = merged_splits.merged_rows(dataset, by_feature, look)
    require_cells(len(first), len(asked))
    lines = [merged_splits.Line(mine, table, code[first]) for mine, table, code in by_feature]
    kept, stands_for = merged_splits.merged_columns(asked, lines, of)
    return merged_splits.table_of(lines, kept, look), row_of, first, kept, stands_for


def _of_moved(dataset: Dataset, asked: SplitList, radius: tuple[float, ...], bins: int | None) -> SplitList:
    """Return the splits; columns whose numbers may be moved have thresholds between the ends of the boxes."""
    parts = []
    for place in range(len(dataset.features)):
        own = [split for split in asked if split[0].features == (place,)]
        parts.append(threshold_splits(dataset, place, bins, radius[place]) if radius[place] else own)
    return SplitList.joined(parts)


def _expect_levels(dataset: Dataset, asked: SplitList) -> None:
    """Raise DataError for a text column with a different word in nearly every row, if it has more split results than a
    search can store: a search takes some 110 bytes for each."""
    large = [
        at
        for at, feature in enumerate(dataset.features)
        if feature.kind == CATEGORICAL and dataset.n_rows < 2 * len(feature.levels)
        if len(feature.levels) * dataset.n_rows > MOST_OF_LEVELS
    ]
    if not large:
        return
    from odtc.data.cells.column_types import words_among_numbers  # with polars, without which an estimator is imported

    splits = Counter(split.features for split, _ in asked)
    for at in large:
        if splits[(at,)] * dataset.n_rows > MOST_OF_LEVELS:
            feature = dataset.features[at]
            words = words_among_numbers(feature.levels, feature.decimal)
            shown = f"; all but {len(words):,} are numbers (not {words[0]!r})" if words else ""
            advice = "write these cells as empty ones or as numbers" if words else "put them into groups"
            raise DataError(
                f"expected fewer levels, got {len(feature.levels):,} of the column {feature.name!r} in "
                f"{count_of(dataset.n_rows, 'row')}{shown}: each level is a split; {advice}, or leave the column out "
                f"({option('ignore')})"
            )


def of_each_column(encoded: Encoded) -> Encoded | None:
    """Return the same rows with all splits of each column: if splits on two columns separate the rows in the same way,
    both are kept.

    Parameters
    ----------
    encoded : Encoded

    Returns
    -------
    Encoded
        Itself if no such splits were merged; None if some were merged and the data is not available.
    """
    merged = [(encoded.splits[at].features, others) for at, others in enumerate(encoded.stands_for) if others]
    if encoded.by_column or all(one.features == features for features, others in merged for one, _ in others):
        return encoded
    if encoded.dataset is None:
        return None
    found = encode(encoded.dataset, encoded.scheme, True, encoded.radius, encoded.merge, encoded.of_leaf)
    if not (np.array_equal(found.row_of, encoded.row_of) and np.array_equal(found.weight, encoded.weight)):
        return None
    return replace(found, cost=encoded.cost, whole_cost=encoded.whole_cost, groups=encoded.groups)


def with_rows(encoded: Encoded, dataset: Dataset | None) -> Encoded:
    """Return an encoding of a manifest together with the rows of its data file, whose numbers are not rounded.

    Parameters
    ----------
    encoded : Encoded
    dataset : Dataset or None
        The data file, read again.

    Returns
    -------
    Encoded
        Itself if it has rows of data, if another encoding is derived from these, or if doubles represent its numbers.
    """
    if encoded.dataset is not None or dataset is None or dataset.selected is not None:
        return encoded
    if not encoded.sums.size and encoded.weight.sum() < MAX_EXACT and not np.modf(encoded.weight)[0].any():
        return encoded
    try:
        again = encode(dataset, encoded.scheme, encoded.by_column, encoded.radius, encoded.merge, encoded.of_leaf)
    except OdtcError:
        return encoded
    same = encoded.splits == again.splits and all(
        np.array_equal(getattr(encoded, part), getattr(again, part)) for part in ("X", "y", "weight", "copies", "sums")
    )
    return replace(encoded, dataset=dataset, row_of=again.row_of) if same else encoded


def answers_of(encoded: Encoded, dataset: Dataset) -> np.ndarray | RankedAnswers:
    """Return bool (data rows, splits): the outcome of each split for each row of a data set, stored as the encoding
    stores its own."""
    asked = SplitList(Splits.of(encoded.splits), encoded.ones_left)
    if isinstance(encoded.X, RankedAnswers):
        from odtc.data.binary_splits import merged_scales

        scales = asked.scales
        lines, place = merged_scales.scales_of(dataset, asked, merged_scales.splits_by_scale(scales))
        return RankedAnswers(merged_scales.ranks_on(lines), scales, place)
    return np.stack([split.left(dataset.X) == ones_left for split, ones_left in asked], axis=1)


def _encoded(dataset, how, asked, X, row_of, first, kept, stands_for) -> Encoded:
    scheme, _, _, merge = how
    if not len(kept):
        differs = any(np.unique(column[~np.isnan(column)]).size > 1 for column in dataset.X.T)
        why = (
            f"; use another encoding, such as {option('encoding', 'auto')}"
            if differs
            else ": every feature column is constant; add a column whose values differ"
        )
        raise DataError(
            f"expected a split that separates two rows of {dataset.name!r}, got none from the encoding {scheme!r}"
            f"{why}, or use {option('depth', 0)} for a single leaf"
        )
    if not merge:
        X, row_of, first = rows_of(X, row_of), np.arange(dataset.n_rows), np.arange(dataset.n_rows)
    return _of_rows(dataset, how, asked, X, row_of, first, kept, stands_for)


def without_splits(dataset: Dataset, scheme: str) -> Encoded:
    """Return an encoding without candidate splits that has each row of the data set unchanged."""
    n, no_split = dataset.n_rows, np.zeros(0, int)
    X, every = np.zeros((n, 0), bool), np.arange(n)
    return _of_rows(dataset, (scheme, False, (), True), SplitList.of([]), X, every, every, no_split, ())


def _of_rows(dataset, how, asked, X, row_of, first, kept, stands_for) -> Encoded:
    scheme, by_column, radius, merge = how
    return Encoded(
        name=dataset.name,
        X=X,
        y=dataset.y[first],
        weight=summed_weights(row_of, dataset.weight, len(first)),
        copies=np.bincount(row_of, dataset.copies, len(first)).astype(np.int64),
        row_of=row_of,
        splits=asked.splits.taken(kept),
        ones_left=asked.ones_left[kept],
        features=dataset.features,
        classes=dataset.classes,
        target=dataset.target,
        missing=dataset.missing,
        stands_for=stands_for,
        scheme=scheme,
        by_column=by_column,
        radius=radius,
        merge=merge,
        dataset=dataset,
        task=dataset.task,
        label_type=dataset.label_type,
        sums=sums_over(row_of, dataset.sums, len(first)),
    )


def sums_over(place: np.ndarray, sums: np.ndarray, n: int) -> np.ndarray:
    """Return float64 (n, sums): the sums over the rows of each position; `place` int (rows,), `sums` float64 (rows,
    sums)."""
    found = np.zeros((n, sums.shape[1]))
    for j, column in enumerate(sums.T):
        found[:, j] = np.bincount(place, column, n)
    return found


def gains_of(encoded: Encoded, worth: np.ndarray | None = None) -> np.ndarray:
    """Return float64 (rows, classes), 0 or more: the loss saved by predicting this class, compared with the highest
    loss of the row. If every error costs 1, this is the row's weight for its own class, and otherwise 0. With `worth`,
    float64 (rows,), it is `worth` for the row's own class."""
    if worth is None:
        return encoded.loss.max(axis=1, keepdims=True) - encoded.loss
    gain = np.zeros((encoded.n_rows, len(encoded.classes)))
    gain[np.arange(encoded.n_rows), encoded.y] = worth
    return gain
