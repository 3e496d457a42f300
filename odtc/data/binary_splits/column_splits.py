"""The splits on one column: its levels, sets of them, its levels in their order, thresholds between its numbers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.splits import Missing, Split, SplitList, Subset
from odtc.data.table.coded_columns import distinct
from odtc.errors import ChoiceError

BINS = (int, "at most this many intervals per numeric column, cut at quantiles (2 or more)")
_POWERS = np.array([float(10**k) for k in range(23)])  # all exact as doubles


def level_splits(dataset: Dataset, feature: int) -> list[tuple[Split, bool]]:
    """Return one split for each level, or distinct number, of a feature; one for two levels, none for a constant.

    A missing cell counts as one level more, with the split `Missing`.

    Parameters
    ----------
    dataset : Dataset
    feature : int
        Its position in `dataset.features`.

    Returns
    -------
    list of (Split, bool)
        As in `Encoding.splits`.
    """
    values, absent = known_values(distinct(dataset.X, feature)[0])
    found = [Subset(feature, (float(value),)) for value in values]
    found += [Missing(feature)] if absent else []
    if len(found) <= 2:
        found = found[1:]
    return [(split, True) for split in found]


def set_splits(dataset: Dataset, feature: int) -> list[tuple[Split, bool]]:
    """Return one split for each set of the levels of a feature, up to its complement: 2^(k-1) - 1 for k levels.

    The splits of `level_splits` are the first ones. A missing cell counts as one level more.

    Parameters
    ----------
    dataset : Dataset
    feature : int
        Its position in `dataset.features`.

    Returns
    -------
    list of (Split, bool)
        As in `Encoding.splits`.
    """
    known, absent = known_values(distinct(dataset.X, feature)[0])
    return with_sets(dataset, feature, _sets(known.tolist(), absent) if len(known) > 2 else ())


def _sets(known: list[float], absent: bool) -> Iterator[tuple[float, ...]]:
    """Return the sets of two levels and more. Missing cells are outside of each set, so if there are any, a set and the
    other levels are two splits."""
    most = len(known) - 1 if absent else len(known) // 2
    for size in range(2, most + 1):
        yield from combinations(known, size)


def with_sets(dataset: Dataset, feature: int, sets: Iterable[tuple[float, ...]]) -> list[tuple[Split, bool]]:
    """Return the splits of `level_splits`, and those on these sets of levels that separate the rows in another way than
    the splits before them."""
    found = level_splits(dataset, feature)
    values, absent = known_values(distinct(dataset.X, feature)[0])
    all_of = frozenset(values.tolist())
    met = {frozenset(split.values) for split, _ in found if isinstance(split, Subset)}
    for chosen in sets:
        one = frozenset(chosen)
        if one in met or (not absent and all_of - one in met) or one == all_of:
            continue
        met.add(one)
        found.append((Subset(feature, chosen), True))
    return found


def splits_by_kind(
    dataset: Dataset, bins: int | None, of_levels: Callable[[Dataset, int], list[tuple[Split, bool]]]
) -> SplitList:
    """Return the splits on all columns: thresholds of numbers, cuts of ordered levels, and `of_levels` of other
    columns, which is called with the data and the position of a feature."""

    def of_column(place: int) -> list[tuple[Split, bool]]:
        feature = dataset.features[place]
        if feature.kind == NUMERIC:
            return threshold_splits(dataset, place, bins)
        return (order_splits if feature.ordered else of_levels)(dataset, place)

    return SplitList.joined(of_column(place) for place in range(len(dataset.features)))


def order_splits(dataset: Dataset, feature: int) -> list[tuple[Split, bool]]:
    """Return one split for each cut of the ordered levels of a feature: whether a level is one of the first ones.

    A level that no row has is in no split; `Missing` is one more if cells are missing. Two levels have the split of
    `level_splits`, because their order does not matter.

    Parameters
    ----------
    dataset : Dataset
    feature : int
        Its position in `dataset.features`.

    Returns
    -------
    list of (Split, bool)
        As in `Encoding.splits`.
    """
    values, absent = known_values(distinct(dataset.X, feature)[0])
    if len(values) == 2 and not absent:
        return level_splits(dataset, feature)
    found: list[Split] = [Subset(feature, tuple(values[:many].tolist())) for many in range(1, len(values))]
    found += [Missing(feature)] if absent and len(values) else []
    return [(split, True) for split in found]


def threshold_splits(
    dataset: Dataset, feature: int, bins: int | None = None, radius: float = 0.0
) -> Sequence[tuple[Split, bool]]:
    """Return the thresholds between neighbouring distinct numbers of a feature, and `Missing` if needed.

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
    values, absent = known_values(found)
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
    found = SplitList.thresholds(feature, cuts)
    return SplitList.joined([found, [(Missing(feature), True)]]) if absent else found


def box_ends(values: np.ndarray, radius) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals [x - r, x + r] to 12 digits, but no less than doubles distinguish: 1.4 + 0.2 is
    1.5999999999999999 in doubles, and 1.6 to a reader.

    Parameters
    ----------
    values : float64 (…,), NaN if missing
    radius : float64, one or as many; 0 for a fixed number, infinite for any

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
    """Return a double in each gap between neighbours of these numbers, sorted, of which the lower one is an end and
    the upper one a beginning."""
    every = np.unique(np.concatenate([begins, ends]))
    return midpoints(every)[np.isin(every[:-1], ends) & np.isin(every[1:], begins)]


def _midpoints(values: np.ndarray) -> np.ndarray:
    """Return `midpoints`; for two numbers, as in columns of 0/1, the result is cached."""
    return np.array([_midpoint(*values.tolist())]) if len(values) == 2 else midpoints(values)


@lru_cache(maxsize=1 << 10)
def _midpoint(low: float, high: float) -> float:
    return float(midpoints(np.array([low, high]))[0])


def midpoints(values: np.ndarray) -> np.ndarray:
    """Return a double t with a <= t < b between each two neighbours a < b of sorted numbers: their mean, of 12 digits
    if that is still between them."""
    low, high = values[:-1], values[1:]
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    # The sum of two large numbers can overflow; the sum of their halves cannot.
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    middle = np.where((low <= middle) & (middle < high), middle, low)
    # Halfway between 2.8 and 2.9 is 2.8499999999999996 in doubles, and 2.85 for a reader.
    near = _rounded(middle)
    return np.where((low <= near) & (near < high), near, middle)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return float(f"{value:.12g}") of each number.

    Let v be scaled by 10^k to 12 digits before the point and d be the nearest whole number. d and 10^k are exact as
    doubles for k from 0 to 22, so d / 10^k is the double nearest to the decimal number. The product v · 10^k has an
    error below 1e-3, so d is correct unless the product is that near to a half: such numbers, and numbers of other
    sizes, are formatted and parsed.
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


def known_values(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return (distinct numbers, whether a cell is missing) of sorted distinct cells."""
    absent = len(values) > 0 and bool(np.isnan(values[-1]))
    return (values[:-1] if absent else values), absent
