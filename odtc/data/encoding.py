"""Turns a Dataset into 0/1 columns, each the answer to one split, and merges what is the same.

What an encoding module defines is said by the protocol `Encoding`.
"""

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Protocol

import numpy as np

from odtc.algorithms.equal_rows import equal_rows, hashes
from odtc.algorithms.thresholds.ranks import merge_rows
from odtc.base import deadline, phases
from odtc.base.contract import Contract
from odtc.base.memory import require_memory
from odtc.base.registry import Registry
from odtc.data.coded_columns import distinct, narrowed
from odtc.data.cost_matrix import unit_cost
from odtc.data.dataset import CATEGORICAL, Dataset, Feature
from odtc.data.ranked_answers import MOST_CELLS, RankedAnswers, require_cells
from odtc.data.reading_spec import CLASSIFICATION
from odtc.data.splits import Missing, Split, Splits, Subset, TestList, Threshold
from odtc.errors import ChoiceError, DataError, TimeLimitReached


class Encoding(Protocol):
    """What an encoding defines: the tests that trees may use."""

    NAME: str
    SUMMARY: str
    OPTIONS: dict  # name -> (type, help), of `--encoding NAME:KEY=VALUE`

    @abstractmethod
    def tests(self, dataset: Dataset, **options) -> Sequence[tuple[Split, bool]]:
        """The tests as (split, ones_left): the column is 1 on the left side of the split if `ones_left`, as for the
        levels of one-hot columns, else 1 on its right side, as for thresholds."""
        ...


ENCODINGS = Registry(
    "encoding",
    "odtc.data.encodings",
    ("auto", "onehot", "thresholds", "sampled", "oblique"),
    Contract(always=(Encoding,)),
    "odtc.encodings",
)
BINS = (int, "at most this many intervals per numeric column, cut at quantiles (2 or more)")
_POWERS = np.array([float(10**k) for k in range(23)])  # all exact as doubles
MANY = 8  # tests per scale, on average, from which on ranks are held instead of a column for each test
MOST_OF_LEVELS = 40_000_000  # answers to the tests of a column of words that nearly each row has its own of
BETWEEN_ENDS = ("auto", "thresholds")  # encodings of thresholds between all numbers
TOGETHER = 1 << 20  # answers that are laid out together
BLOCK = 1 << 12  # rows whose ranks are laid out together
PATIENCE = 2.0  # seconds that it has also after a limit, as without it there is no tree
LOOKED = 64  # tests that are asked between two looks at the clock
Look = Callable[[], None]  # raises TimeLimitReached
FEWER = "take fewer rows, or put rare classes together"
LARGE = 2_000_000  # cells of a dense table, from which on it is not made unless it is needed


@dataclass(frozen=True)
class Encoded:
    """Binary rows and columns without duplicates; arrays are read-only.

    Column j of `X` answers `tests[j]`; no column is constant, and no two are identical or
    complementary. Data rows of one label that answer all tests alike are one row here: row i
    is `copies[i]` data rows, of `weight[i]` together, in the order they first appear.
    """

    name: str
    X: np.ndarray  # bool, (rows, tests), C order; or RankedAnswers, which is made dense if it has to be
    y: np.ndarray  # int32, (rows,)
    weight: np.ndarray  # float64, (rows,): summed
    copies: np.ndarray  # int64, (rows,)
    row_of: np.ndarray  # int64, (data rows,): the merged row of each data row
    tests: Sequence[Split]
    ones_left: np.ndarray  # bool, (tests,): the column is 1 if the split goes left
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    target: str
    missing: str
    # Per kept test the tests merged away: True for an identical column, False for its complement.
    stands_for: tuple[tuple[tuple[Split, bool], ...], ...]
    scheme: str
    dataset: Dataset | None = None
    by_column: bool = False  # as of `encode`
    radius: tuple[float, ...] = ()  # as of `encode`
    # float64, (classes, classes): the price, per unit of weight, of predicting column for row (odtc.data.cost_matrix);
    # None for 1 off the diagonal. Weights, counts and accuracy are apart from it.
    cost: np.ndarray | None = None
    # float64, (rows, features): the cells of each row if there is no dataset (a manifest), see `values`.
    cells: np.ndarray | None = None
    groups: tuple = ()  # of rows of the data, that constraints speak of (odtc.problem.constraints.groups)
    task: str = CLASSIFICATION
    sums: np.ndarray | None = None  # float64 (rows, sums): what the task adds up (odtc.data.task)
    goal: str = ""  # of a policy without a dataset (a manifest): whether an action costs minus what it brings ("max")
    # What was worked out of these rows (`derived`); never carried to other rows.
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.cost is None:
            object.__setattr__(self, "cost", unit_cost(len(self.classes)))
        if self.sums is None:
            object.__setattr__(self, "sums", np.zeros((self.n_rows, 0)))
        for array in (self.X, self.y, self.weight, self.copies, self.row_of, self.ones_left, self.cost, self.sums):
            array.setflags(write=False)

    def derived(self, key: Hashable, make: Callable[[], Any], is_whole: Callable[[], bool] = lambda: True) -> Any:
        """The value of `make()`, worked out once for these rows and this key, such as the tree of a heuristic. One that
        is not whole then, as a limit has cut it, is not kept."""
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
        """float64 (rows, features): the cells of each row, as of Dataset.X; None if rows of data that are one
        row here differ in them, or nothing is known of them."""
        if self.dataset is None:
            return self.cells
        found = self.dataset.X[self._first_rows]
        alike = np.array_equal(found[self.row_of], self.dataset.X, equal_nan=True)
        found.setflags(write=False)
        return found if alike else None

    @property
    def n_tests(self) -> int:
        return self.X.shape[1]

    @cached_property
    def loss(self) -> np.ndarray:
        """float64 (rows, classes): what it costs to predict this class for this row. It looks at no clock: what checks
        the tree in hand asks for it after a limit, too. Raises ModelError if it is larger than the memory."""
        shape = len(self.y), len(self.cost)
        require_memory(
            8.0 * shape[0] * shape[1], f"what each of {shape[1]:,} classes costs on {shape[0]:,} rows", FEWER
        )
        costs: np.ndarray = self.cost[self.y]
        costs *= self.weight[:, None]
        return costs

    @cached_property
    def class_price(self) -> np.ndarray | None:
        """float64 (classes,): what a unit of weight costs that is predicted wrong, whatever it is predicted
        as; None if that depends on the class predicted."""
        off = ~np.eye(len(self.cost), dtype=bool)
        highest, lowest = self.cost.max(axis=1), self.cost.min(axis=1, where=off, initial=np.inf)
        return highest if np.minimum(lowest, highest).tolist() == highest.tolist() else None

    @property
    def price(self) -> np.ndarray | None:
        """float64 (rows,): what an error on this row costs; None as of `class_price`."""
        return None if self.class_price is None else self.weight * self.class_price[self.y]

    def cheapest(self, rows: np.ndarray) -> int:
        """The class that costs least for all of these rows together; of equals the first."""
        of_class = np.bincount(self.y[rows], self.weight[rows], len(self.classes))
        return int((of_class @ self.cost).argmin())

    def find(self, split: Split) -> tuple[int, bool] | None:
        """(test, left_is_zero) of the test that parts the data rows as this split does, else None.

        `left_is_zero` is True if the column is 0 on the split's left side, False if it is
        1 there. Raises DataError for an Encoded without its dataset.
        """
        left = self.left(split)
        if left is not None and self.by_column:  # a test of its own columns, before one of others
            # Of thresholds that part the rows alike, but boxes around them otherwise, the one that is meant.
            places = self._of_features.get(split.features, ())
            for place in sorted(places, key=lambda place: self.tests[place] != split) if self.radius else places:
                if (same := np.array_equal(left, self.X[:, place])) or np.array_equal(left, ~self.X[:, place]):
                    return place, not same
        place = None if left is None else self.place(left)
        return None if place is None else (place[0], not place[1])

    def left(self, split: Split) -> np.ndarray | None:
        """bool (rows,): who goes left, None if the split parts data rows that are one row here.
        Raises DataError for an Encoded without its dataset."""
        if self.dataset is None:
            raise DataError(f"expected the data of {self.name!r} to look up a split, got an encoding without data")
        left = split.left(self.dataset.X)
        merged = left[self._first_rows]
        return merged if np.array_equal(left, merged[self.row_of]) else None

    def place(self, column: np.ndarray) -> tuple[int, bool] | None:
        """(test, same): the test that answers this column (bool (rows,)), or its complement if `same`
        is False; None if no test does."""
        if isinstance(self.X, RankedAnswers):
            place = self.X.find(column)
        else:
            place = self._places.get(np.packbits(column ^ column[0]).tobytes())
        return None if place is None else (place, bool(self.X[0, place] == column[0]))

    @cached_property
    def alike(self) -> np.ndarray:
        """int64 (rows,): the same number for rows that answer all tests alike, from 0."""
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
        for place, test in enumerate(self.tests):
            found.setdefault(test.features, []).append(place)
        return found

    @cached_property
    def _places(self) -> dict[bytes, int]:
        """The test by its column, packed, and flipped so that it begins with a 0."""
        packed = np.packbits((self.X ^ self.X[0]).T, axis=1)
        return {column.tobytes(): place for place, column in enumerate(packed)}


def encode(dataset: Dataset, scheme: str = "auto", by_column: bool = False, radius: Sequence[float] = ()) -> Encoded:
    """Turns the columns of a data set into tests.

    Parameters
    ----------
    dataset : Dataset
    scheme : str
        "NAME" or "NAME:KEY=VALUE,KEY=VALUE", of `odtc list encodings`.
    by_column : bool
        Of tests that part the rows alike one is kept of each column, for constraints that speak of columns and for
        rows whose cells may be moved; else one of all.
    radius : sequence of float (features,), or empty
        How far the numbers of each column may be moved either way: of the encodings `auto` and `thresholds`, thresholds
        lie between the ends of these intervals then (`threshold_tests`), of which several part the rows alike.

    Returns
    -------
    Encoded

    Raises
    ------
    ChoiceError
        If the encoding or an option is unknown.
    DataError
        If no test separates two rows, or the encoding does not fit a column.
    TimeLimitReached
        If the deadline has passed (odtc.base.deadline), and it took PATIENCE.
    """
    began, (module, options) = time.monotonic(), ENCODINGS.parse(scheme)

    def look() -> None:
        if deadline.has_waited(began, PATIENCE):
            raise TimeLimitReached(
                f"{deadline.what_ends()} came while the tests of {dataset.name!r} were made, so there is no tree; "
                "allow more time (--time-limit), or take fewer rows or columns"
            )

    phases.begin("encoding")
    asked = TestList.of(module.tests(dataset, **options))
    look()
    radius = tuple(float(r) if 0 < r < np.inf else 0.0 for r in radius)
    if not any(radius) or module.NAME not in BETWEEN_ENDS:
        radius = ()
    else:
        moved = _of_moved(dataset, asked, radius, options.get("bins"))
        # Boxes that leave no threshold between their ends: those between the numbers are as good as any.
        asked = moved if len(moved) else asked
    scales = asked.scales
    of: Sequence[Hashable] | None = asked.splits.features if by_column else None
    if radius:
        of = [
            place if any(radius[f] for f in split.features) else split.features
            for place, (split, _) in enumerate(asked)
        ]
    if not radius and len(asked) >= MANY * (int(scales.max(initial=0)) + 1) and len(asked) * dataset.n_rows >= LARGE:
        X, row_of, first, kept, stands_for = _ranked(dataset, asked, scales, of, look)
        return _encoded(dataset, (scheme, by_column, radius), asked, X, row_of, first, kept, stands_for)
    _expect_levels(dataset, asked)
    by_feature = _by_feature(dataset, asked, look)
    row_of, first = _merged_rows(dataset, by_feature, look)
    require_cells(len(first), len(asked))
    lines = [Line(mine, table, code[first]) for mine, table, code in by_feature]
    kept, stands_for = _merged_columns(asked, lines, of)
    return _encoded(
        dataset, (scheme, by_column, radius), asked, _answers(lines, kept, look), row_of, first, kept, stands_for
    )


def _of_moved(dataset: Dataset, asked: TestList, radius: tuple[float, ...], bins: int | None) -> TestList:
    """The tests, with those thresholds of the columns whose numbers may be moved that lie between the ends of boxes."""
    parts = []
    for place in range(len(dataset.features)):
        own = [test for test in asked if test[0].features == (place,)]
        parts.append(threshold_tests(dataset, place, bins, radius[place]) if radius[place] else own)
    return TestList.joined(parts)


def _expect_levels(dataset: Dataset, asked: TestList) -> None:
    """Raises DataError for a column of words of which nearly each row has one of its own, if the answers to its tests
    are more than a search holds: it takes some 110 bytes for each."""
    large = [
        at
        for at, feature in enumerate(dataset.features)
        if feature.kind == CATEGORICAL and dataset.n_rows < 2 * len(feature.levels)
        if len(feature.levels) * dataset.n_rows > MOST_OF_LEVELS
    ]
    if not large:
        return
    from odtc.data.column_types import words_among_numbers  # with polars, without which an estimator is imported

    tests = Counter(split.features for split, _ in asked)
    for at in large:
        if tests[(at,)] * dataset.n_rows > MOST_OF_LEVELS:
            feature = dataset.features[at]
            words = words_among_numbers(feature.levels, feature.decimal)
            shown = f"; all but {len(words):,} are numbers (not {words[0]!r})" if words else ""
            advice = "write these cells as empty ones or as numbers" if words else "put them into groups"
            raise DataError(
                f"expected fewer levels, got {len(feature.levels):,} of the column {feature.name!r} in "
                f"{dataset.n_rows:,} rows{shown}: each level is a test; {advice}, or leave the column out (--ignore)"
            )


def of_each_column(encoded: Encoded) -> Encoded | None:
    """The same rows with the tests of each column by themselves: of tests of two columns that part the rows alike both.

    Parameters
    ----------
    encoded : Encoded

    Returns
    -------
    Encoded
        Itself if no such tests were merged; None if they were, and the data is not there.
    """
    merged = [(encoded.tests[at].features, others) for at, others in enumerate(encoded.stands_for) if others]
    if encoded.by_column or all(one.features == features for features, others in merged for one, _ in others):
        return encoded
    if encoded.dataset is None:
        return None
    found = encode(encoded.dataset, encoded.scheme, True, encoded.radius)
    if not (np.array_equal(found.row_of, encoded.row_of) and np.array_equal(found.weight, encoded.weight)):
        return None
    return replace(found, cost=encoded.cost, groups=encoded.groups)


def answers_of(encoded: Encoded, dataset: Dataset) -> np.ndarray | RankedAnswers:
    """bool (data rows, tests): what each row of a data set, by itself, answers to the tests of an encoding; held as the
    encoding holds its own."""
    asked = TestList(Splits.of(encoded.tests), encoded.ones_left)
    if isinstance(encoded.X, RankedAnswers):
        scales = asked.scales
        lines, place = _scales(dataset, asked, _by_scale(scales))
        return RankedAnswers(_ranks(lines), scales, place)
    return np.stack([test.left(dataset.X) == ones_left for test, ones_left in asked], axis=1)


def _encoded(dataset, how, asked, X, row_of, first, kept, stands_for) -> Encoded:
    scheme, by_column, radius = how
    if not len(kept):
        raise DataError(
            f"expected a test that tells two rows of {dataset.name!r} apart, got none from the encoding {scheme!r}: "
            "every feature column is constant; give another file or encoding"
        )
    return Encoded(
        name=dataset.name,
        X=X,
        y=dataset.y[first],
        weight=np.bincount(row_of, dataset.weight, len(first)),
        copies=np.bincount(row_of, dataset.copies, len(first)).astype(np.int64),
        row_of=row_of,
        tests=asked.splits.taken(kept),
        ones_left=asked.ones_left[kept],
        features=dataset.features,
        classes=dataset.classes,
        target=dataset.target,
        missing=dataset.missing,
        stands_for=stands_for,
        scheme=scheme,
        by_column=by_column,
        radius=radius,
        dataset=dataset,
        task=dataset.task,
        sums=sums_over(row_of, dataset.sums, len(first)),
    )


def sums_over(place: np.ndarray, sums: np.ndarray, n: int) -> np.ndarray:
    """float64 (n, sums): the sums over the rows of each place; `place` int (rows,), `sums` float64 (rows, sums)."""
    found = np.zeros((n, sums.shape[1]))
    for j, column in enumerate(sums.T):
        found[:, j] = np.bincount(place, column, n)
    return found


def level_tests(dataset: Dataset, feature: int) -> list[tuple[Split, bool]]:
    """One test for each level, or distinct number, of a feature; one for two levels, none for a constant.

    A missing cell counts as one level more, with the test `Missing`.

    Parameters
    ----------
    dataset : Dataset
    feature : int
        Its place in `dataset.features`.

    Returns
    -------
    list of (Split, bool)
        As of `Encoding.tests`.
    """
    values, absent = _known(distinct(dataset.X, feature)[0])
    found = [Subset(feature, (float(value),)) for value in values]
    found += [Missing(feature)] if absent else []
    if len(found) <= 2:
        found = found[1:]
    return [(split, True) for split in found]


def order_tests(dataset: Dataset, feature: int) -> list[tuple[Split, bool]]:
    """One test for each cut of the levels of a feature in their order: whether a level is one of the first ones.

    A level that no row has is in no test; `Missing` is one more if cells are missing. Two levels have the test of
    `level_tests`: their order tells nothing.

    Parameters
    ----------
    dataset : Dataset
    feature : int
        Its place in `dataset.features`.

    Returns
    -------
    list of (Split, bool)
        As of `Encoding.tests`.
    """
    values, absent = _known(distinct(dataset.X, feature)[0])
    if len(values) == 2 and not absent:
        return level_tests(dataset, feature)
    found: list[Split] = [Subset(feature, tuple(values[:many].tolist())) for many in range(1, len(values))]
    found += [Missing(feature)] if absent and len(values) else []
    return [(split, True) for split in found]


def threshold_tests(
    dataset: Dataset, feature: int, bins: int | None = None, radius: float = 0.0
) -> Sequence[tuple[Split, bool]]:
    """The thresholds between neighbouring distinct numbers of a feature, and `Missing` if needed.

    With `bins`, of all thresholds the nearest to each of the bins - 1 quantiles of the rows.

    With a `radius` r, by which numbers may be moved either way, thresholds lie between the ends of the intervals
    [x - r, x + r]: above one that ends and below the next one that begins. An interval with the threshold in it has
    points on both sides. Where another end comes between, a threshold beyond it has fewer such intervals, and no
    others, so no tree needs that one.
    Raises ChoiceError for bins below 2.
    """
    if bins is not None and bins < 2:
        raise ChoiceError(f"expected bins of 2 or more, got bins={bins}")
    found, code = distinct(dataset.X, feature)
    values, absent = _known(found)
    cuts = _between(*box_ends(values, radius)) if radius else _midpoints(values)
    if bins is not None and len(cuts) >= bins:
        counts = np.cumsum(np.bincount(code, minlength=len(found))[: len(values)])  # rows of a number or a lower one
        wanted = np.arange(1, bins) * (counts[-1] / bins)
        below = np.append(0, counts)[np.searchsorted(values, cuts, side="right")]
        after = np.searchsorted(below, wanted).clip(1, len(below) - 1)
        nearer = wanted - below[after - 1] <= below[after] - wanted
        is_kept = np.zeros(len(cuts), bool)
        is_kept[after - nearer] = True
        cuts = cuts[is_kept]
    found = TestList.thresholds(feature, cuts)
    return TestList.joined([found, [(Missing(feature), True)]]) if absent else found


def box_ends(values: np.ndarray, radius) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals [x - r, x + r], not less than doubles tell, and to 12 digits: 1.4 + 0.2 is
    1.5999999999999999 in doubles, and 1.6 to a reader.

    Parameters
    ----------
    values : float64 (…,), NaN if missing
    radius : float64, one or as many; 0 for a number that stays, infinite for any

    Returns
    -------
    low, high : float64 (…,)
    """
    low, high = values - radius, values + radius
    told = np.isfinite(low) & (radius > 0)
    for end, wider in ((low, np.minimum), (high, np.maximum)):
        at = told & (end != 0)
        end[at] = wider(end[at], _rounded(end[at]))
    return low, high


def _between(begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """A double of each gap between neighbours of these numbers, sorted, of which the lower one is an end and the upper
    one a beginning."""
    every = np.unique(np.concatenate([begins, ends]))
    return midpoints(every)[np.isin(every[:-1], ends) & np.isin(every[1:], begins)]


def _midpoints(values: np.ndarray) -> np.ndarray:
    """`midpoints`; of two numbers, as columns of 0/1 have, it is remembered."""
    return np.array([_midpoint(*values.tolist())]) if len(values) == 2 else midpoints(values)


@lru_cache(maxsize=1 << 10)
def _midpoint(low: float, high: float) -> float:
    return float(midpoints(np.array([low, high]))[0])


def midpoints(values: np.ndarray) -> np.ndarray:
    """A double t with a <= t < b between each two neighbours a < b of sorted numbers: their mean, of 12 digits if
    that is still between them."""
    low, high = values[:-1], values[1:]
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    # The sum of two large numbers can overflow; the sum of their halves cannot.
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    middle = np.where((low <= middle) & (middle < high), middle, low)
    # Halfway between 2.8 and 2.9 lies 2.8499999999999996 in doubles, and 2.85 to a reader.
    near = _rounded(middle)
    return np.where((low <= near) & (near < high), near, middle)


def _rounded(values: np.ndarray) -> np.ndarray:
    """float(f"{value:.12g}") of each number.

    Let v be scaled by 10^k to 12 digits before the point and d be the whole number next to it. d and 10^k are exact as
    doubles for k from 0 to 22, so d / 10^k is the double nearest to the decimal number. The product v · 10^k is wrong
    by less than 1e-3, so d is the right one unless the product is that near to a half: such numbers, and those of other
    sizes, are written and read.
    """
    with np.errstate(all="ignore"):
        digits = 11 - np.floor(np.log10(np.abs(values)))
        simple = (digits >= 0) & (digits <= 22)
        power = _POWERS[np.where(simple, digits, 0).astype(int)]
        scaled = values * power
        whole = np.rint(scaled)
        # A logarithm that is off by one leaves 11 or 13 digits.
        simple &= (np.abs(whole) >= 1e11) & (np.abs(whole) < 1e12) & (np.abs(np.abs(scaled - whole) - 0.5) > 1e-2)
        near = whole / power
    for place in np.flatnonzero(~simple).tolist():
        near[place] = float(f"{values[place]:.12g}")
    return near


def _known(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """(distinct numbers, whether a cell is missing) of sorted distinct cells."""
    absent = len(values) > 0 and bool(np.isnan(values[-1]))
    return (values[:-1] if absent else values), absent


def _by_feature(dataset: Dataset, asked, look: Look) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
    """(places in `asked`, table, code) per feature: test k of the feature answers table[k, code[row]].

    A feature has fewer distinct values than there are rows, so its tests are asked of these; tests that
    weigh several features are asked of all rows.
    """
    places = {}
    for place, (split, _) in enumerate(asked):
        places.setdefault(split.features if len(split.features) == 1 else (), []).append(place)
    grouped = []
    for features, mine in places.items():
        look()
        if features:
            values, code = distinct(dataset.X, features[0])
            if len(values) * len(mine) > MOST_CELLS:  # known before the first of them is asked
                raise DataError(
                    f"expected fewer levels, got {len(mine):,} tests on {len(values):,} different values of the column "
                    f"{dataset.features[features[0]].name!r}; leave it out "
                    "if it is an identifier (--ignore)"
                )
            # Every column is a view of the same values: a split looks only at its own feature.
            X = np.broadcast_to(values[:, None], (len(values), dataset.X.shape[1]))
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


def _merged_rows(dataset: Dataset, by_feature, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """(row_of, first): the merged row of each data row, and the first data row of each."""
    parts = [(dataset.y.astype(np.int64) + 1, len(dataset.classes) + 1)]
    for _, table, code in by_feature:
        look()
        # Values that answer all tests of the feature alike are one kind.
        lines = np.ascontiguousarray(np.packbits(table, axis=0).T)
        kinds, kind = np.unique(lines.view(f"V{lines.shape[1]}")[:, 0], return_inverse=True)
        parts.append((narrowed(kind, max(1, len(kinds)))[code], len(kinds)))
    return equal_rows(parts)


@dataclass(frozen=True)
class Line:
    """The tests of a feature on merged rows: row i answers table[k, code[i]] to the test at places[k]."""

    places: list[int]
    table: np.ndarray  # bool (tests, values)
    code: np.ndarray  # integers (rows,)


def _answers(lines: list[Line], kept: np.ndarray, look: Look) -> np.ndarray:
    """bool (rows, kept tests), laid out some rows at a time, which fit into a cache."""
    n = len(lines[0].code) if lines else 0
    X, pieces = np.empty((n, len(kept)), bool), []
    for line in lines:
        places = np.array(line.places)
        mine = np.flatnonzero(np.isin(places, kept))
        if not len(mine):
            continue
        at = np.searchsorted(kept, places[mine])
        where = slice(at[0], at[-1] + 1) if at[-1] - at[0] + 1 == len(at) else at
        # The answers of one value stand together, unless each row has a value of its own.
        table = np.ascontiguousarray(line.table[mine].T) if line.table.shape[1] < n else line.table[mine]
        pieces.append((where, table, int(line.table.shape[1] >= n), line.code))
    step = max(1, TOGETHER // max(1, len(kept)))
    for begin in range(0, n, step):
        look()
        block = X[begin : begin + step]
        for where, table, axis, code in pieces:
            found = np.take(table, code[begin : begin + step], axis=axis, mode="clip")
            block[:, where] = found.T if axis else found
    return X


def _merged_columns(asked, lines: list[Line], of: Sequence[Hashable] | None):
    """(places of the kept tests, what each stands for), the first of equals kept, constants left out; tests `of`
    different columns are never equal (None: all are of one)."""
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

    return _merged_equals(asked, found, lambda j, k: np.array_equal(answers(j), answers(k)), of)


@dataclass(frozen=True)
class Sums:
    """What tests add up over n rows: how many rows answer 1, mixed numbers of these rows, and whether the first row
    answers 1."""

    mixed: np.ndarray  # uint64 (rows,)
    ones: np.ndarray  # int64 (tests,)
    sums: np.ndarray  # uint64 (tests,)
    flipped: np.ndarray  # bool (tests,)

    @classmethod
    def of_rows(cls, tests: int, n: int) -> "Sums":
        return cls(
            hashes([np.arange(1, n + 1)]), np.zeros(tests, np.int64), np.zeros(tests, np.uint64), np.zeros(tests, bool)
        )

    def of_values(self, code: np.ndarray, n_values: int) -> tuple[np.ndarray, np.ndarray]:
        """(sums uint64, rows int64) of each value, by the code of each row."""
        sums = np.zeros(n_values, np.uint64)
        np.add.at(sums, code, self.mixed)
        return sums, np.bincount(code, minlength=n_values)


@dataclass(frozen=True)
class Scale:
    """The ranks of rows on a scale, by the different values of its column: row i has the rank table[code[i]]."""

    table: np.ndarray  # uint32 (values,)
    code: np.ndarray  # integers (rows,), one array for all scales of a column


def _ranked(dataset: Dataset, asked: TestList, scales: np.ndarray, of: Sequence[Hashable] | None, look: Look):
    """(X, row_of, first, kept, stands_for), as of the dense table, by the ranks of rows on scales."""
    by_scale = _by_scale(scales)
    lines, place = _scales(dataset, asked, by_scale, look)
    parts = [(dataset.y.astype(np.int64) + 1, len(dataset.classes) + 1)]
    for mine in _by_code(lines):
        look()
        # Values of equal ranks on all scales are one kind.
        kind, kinds = equal_rows((lines[k].table, int(lines[k].table.max(initial=0)) + 1) for k in mine)
        parts.append((narrowed(kind, max(1, len(kinds)))[lines[mine[0]].code], len(kinds)))
    row_of, first = equal_rows(parts)
    look()
    for mine in _by_code(lines):
        code = lines[mine[0]].code[first]
        for k in mine:
            lines[k] = Scale(lines[k].table, code)
    phases.begin("comparing the tests")
    kept, stands_for = _merged_nested(asked, lines, (scales, by_scale, place), of)
    # Without the tests that went, a row lies above fewer of its scale.
    used: list[Scale] = []
    number = np.full(len(lines), -1)
    new_place = np.zeros(len(asked), np.int32)
    is_kept = np.zeros(len(asked), bool)
    is_kept[kept] = True
    for scale, mine in enumerate(by_scale):
        if not is_kept[mine].any():
            continue
        by_cut = mine[np.argsort(place[mine], kind="stable")]
        below = np.append(0, np.cumsum(is_kept[by_cut]))
        new_place[by_cut] = below[:-1]
        number[scale] = len(used)
        used.append(Scale(below[lines[scale].table].astype(np.uint32), lines[scale].code))
    if not len(kept):
        return None, row_of, first, kept, stands_for
    X = RankedAnswers((len(first), partial(_ranks, used)), number[scales[kept]], new_place[kept])
    return X, row_of, first, kept, stands_for


def _by_scale(scales: np.ndarray) -> list[np.ndarray]:
    """The tests of each scale, int32 or int64, in their order."""
    if (scales[1:] >= scales[:-1]).all():
        order = np.arange(len(scales), dtype=np.int32)
    else:
        order = np.argsort(scales, kind="stable")
    return np.split(order, np.cumsum(np.bincount(scales))[:-1])


def _by_code(lines: list[Scale]) -> list[list[int]]:
    """The scales of each column."""
    found: dict[int, list[int]] = {}
    for k, line in enumerate(lines):
        found.setdefault(id(line.code), []).append(k)
    return list(found.values())


def _scales(
    dataset: Dataset, asked: TestList, by_scale: list[np.ndarray], look: Look = lambda: None
) -> tuple[list[Scale], np.ndarray]:
    """(scales, place int32 (tests,)), as of RankedAnswers, of all rows of a data set.

    A column has fewer different values than there are rows, so tests are asked of these (see `_by_feature`).
    """
    lines, place, seen = [], np.zeros(len(asked), np.int32), {}
    for mine in phases.over(by_scale, "encoding columns"):
        look()
        split, ones_left = asked[int(mine[0])]
        mine_alone = split.features if len(split.features) == 1 else ()
        if mine_alone not in seen:
            if mine_alone:
                values, code = distinct(dataset.X, mine_alone[0])
                seen[mine_alone] = np.broadcast_to(values[:, None], (len(values), dataset.X.shape[1])), code
            else:
                seen[()] = dataset.X, np.arange(dataset.n_rows)
        X, code = seen[mine_alone]
        if isinstance(split, Threshold) and not ones_left:
            cuts = asked.splits.cut[mine]
            by_cut = np.argsort(cuts, kind="stable")
            place[mine[by_cut]] = np.arange(len(cuts))
            # A missing number sorts behind all others: it goes right at every threshold.
            table = np.searchsorted(cuts[by_cut], X[:, split.feature], side="left")
        else:
            table = split.left(X) == ones_left
        lines.append(Scale(table.astype(np.uint32), code))
    return lines, place


def _ranks(lines: list[Scale]) -> np.ndarray:
    """uint32 (rows, scales): the ranks of all rows, laid out some rows at a time, which fit into a cache."""
    n_rows = len(lines[0].code)
    ranks = np.empty((n_rows, len(lines)), np.uint32)
    for begin in range(0, n_rows, BLOCK):
        for k, line in enumerate(lines):
            ranks[begin : begin + BLOCK, k] = line.table[line.code[begin : begin + BLOCK]]
    return ranks


def _merged_nested(asked, lines: list[Scale], tests_of: tuple, of: Sequence[Hashable] | None):
    """(places of the kept tests, what each stands for), as `_merged_columns` of the dense table; `tests_of` are the
    scale of each test, the tests of each scale, and the place of each test."""
    scales, by_scale, place = tests_of
    n, T = len(lines[0].code), len(asked)
    found = Sums.of_rows(T, n)
    total = found.mixed.sum(dtype=np.uint64)
    for mine in _by_code(lines):
        code = lines[mine[0]].code
        of_value, rows = found.of_values(code, len(lines[mine[0]].table))
        for scale in mine:
            # Σ over the rows of each rank, and of less: those of rank <= place answer 0.
            tests, table = by_scale[scale], lines[scale].table
            at, size = place[tests], 1 + int(max(table.max(initial=0), place[tests].max(initial=0)))
            of_rank = np.zeros(size, np.uint64)
            np.add.at(of_rank, table, of_value)
            below = np.zeros(size, np.int64)
            np.add.at(below, table, rows)
            found.ones[tests] = n - below.cumsum()[at]
            found.sums[tests] = total - of_rank.cumsum(dtype=np.uint64)[at]
            found.flipped[tests] = table[code[0]] > at

    pairs: dict[tuple[int, int], _TwoScales] = {}

    def alike(j: int, k: int) -> bool:
        both = int(scales[j]), int(scales[k])
        if both not in pairs:
            pairs[both] = _TwoScales(lines[both[0]], lines[both[1]])
        return pairs[both].alike(int(place[j]), int(place[k]), bool(found.flipped[j] != found.flipped[k]))

    return _merged_equals(asked, found, alike, of)


class _TwoScales:
    """Which tests of one scale part the rows as a test of another one does, each in one look.

    With r and s the ranks of a row, all rows with r > p and no others have s > q if and only if
    max {s : r <= p} <= q < min {s : r > p}; they are the rows with s <= q if max {s : r > p} <= q < min {s : r <= p}.
    """

    def __init__(self, one: Scale, other: Scale):
        ranks = one.table[one.code].astype(np.int64)
        others = other.table[other.code].astype(np.int64)
        many, above = int(ranks.max(initial=0)) + 2, int(others.max(initial=0)) + 1
        self.many = many
        least, most = np.full(many, above), np.full(many, -1)
        np.minimum.at(least, ranks, others)
        np.maximum.at(most, ranks, others)
        self.below = np.minimum.accumulate(least), np.maximum.accumulate(most)
        self.above = (
            np.append(np.minimum.accumulate(least[::-1])[::-1][1:], above),
            np.append(np.maximum.accumulate(most[::-1])[::-1][1:], -1),
        )

    def alike(self, place: int, other: int, opposite: bool) -> bool:
        """Whether the tests at these places answer alike, or `opposite`, on every row."""
        at = min(place, self.many - 1)
        (left_least, left_most), (right_least, right_most) = (
            (side[0][at], side[1][at]) for side in (self.below, self.above)
        )
        if opposite:
            return bool(right_most <= other < left_least)
        return bool(left_most <= other < right_least)


def _merged_equals(asked, found: Sums, alike: Callable[[int, int], bool], of: Sequence[Hashable] | None):
    """As `_merged_columns`: `alike` tells of two tests whether they part the rows alike.

    Columns are compared by a sum of mixed numbers over the rows with a 1, and those of equal sums themselves.
    """
    key, flipped, n = found.sums, found.flipped, len(found.mixed)
    np.subtract(found.mixed.sum(dtype=np.uint64), key, out=key, where=flipped)
    usable = (found.ones > 0) & (found.ones < n)
    ordered = key[usable]
    ordered.sort()
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
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
    """The places of the `asked` keys, bool (keys,), that are among some, sorted: in rising order, a piece at a time."""
    for begin in range(0, len(keys) if len(some) else 0, BLOCK):
        piece = keys[begin : begin + BLOCK]
        found = some[np.searchsorted(some, piece).clip(max=len(some) - 1)] == piece
        yield from (begin + np.flatnonzero(found & asked[begin : begin + BLOCK])).tolist()


def gains_of(encoded: Encoded, worth: np.ndarray | None = None) -> np.ndarray:
    """float64 (rows, classes), 0 or more: what predicting the class saves of the row's highest loss, so its
    weight for its own class and else 0 if every error costs 1. With `worth` (rows,) that for its own class."""
    if worth is None:
        return encoded.loss.max(axis=1, keepdims=True) - encoded.loss
    gain = np.zeros((encoded.n_rows, len(encoded.classes)))
    gain[np.arange(encoded.n_rows), encoded.y] = worth
    return gain
