"""The same merging by the ranks of rows on scales of nested splits, such as thresholds, without a table."""

from collections.abc import Hashable, Iterator, Sequence
from functools import partial

import numpy as np

from odtc.algorithms.equal_rows import equal_rows
from odtc.base import phases
from odtc.base.value_class import value_class
from odtc.data.binary_splits.merged_splits import Look, Sums, merged_equals
from odtc.data.dataset import Dataset
from odtc.data.ranked_answers import RankedAnswers
from odtc.data.splits import SplitList, Threshold
from odtc.data.table.coded_columns import as_rows, distinct, narrowed

ROWS_AT_ONCE = 1 << 12  # rows whose ranks are laid out together


@value_class
class Scale:
    """The ranks of rows on a scale, by the different values of its column: row i has the rank table[code[i]]."""

    table: np.ndarray  # uint32 (values,)
    code: np.ndarray  # integers (rows,), one array for all scales of a column


def ranked(dataset: Dataset, asked: SplitList, scales: np.ndarray, of: Sequence[Hashable] | None, look: Look):
    """Return (X, row_of, first, kept, stands_for), as for the dense table, from the ranks of rows on scales."""
    by_scale = splits_by_scale(scales)
    lines, place = scales_of(dataset, asked, by_scale, look)
    row_of, first = equal_rows(_kinds_of_rows(dataset, lines, look))
    look()
    for mine in _by_code(lines):
        code = lines[mine[0]].code[first]
        for k in mine:
            lines[k] = Scale(lines[k].table, code)
    phases.begin("comparing the splits")
    kept, stands_for = _merged_nested(asked, lines, (scales, by_scale, place), of)
    # Without the removed splits, fewer splits of its scale are below a row.
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
    X = RankedAnswers((len(first), partial(ranks_on, used)), number[scales[kept]], new_place[kept])
    return X, row_of, first, kept, stands_for


def _kinds_of_rows(dataset: Dataset, lines: list[Scale], look: Look) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the codes of the classes, and of the values of each column, with a number above them: values of equal ranks
    on all scales are one kind."""
    yield dataset.y.astype(np.int64) + 1, len(dataset.classes) + 1
    for mine in _by_code(lines):
        look()
        kind, kinds = equal_rows((lines[k].table, int(lines[k].table.max(initial=0)) + 1) for k in mine)
        yield narrowed(kind, max(1, len(kinds)))[lines[mine[0]].code], len(kinds)


def splits_by_scale(scales: np.ndarray) -> list[np.ndarray]:
    """Return the splits of each scale, int32 or int64, in their order."""
    if (scales[1:] >= scales[:-1]).all():
        order = np.arange(len(scales), dtype=np.int32)
    else:
        order = np.argsort(scales, kind="stable")
    return np.split(order, np.cumsum(np.bincount(scales))[:-1])


def _by_code(lines: list[Scale]) -> list[list[int]]:
    """Return the scales of each column."""
    found: dict[int, list[int]] = {}
    for k, line in enumerate(lines):
        found.setdefault(id(line.code), []).append(k)
    return list(found.values())


def scales_of(
    dataset: Dataset, asked: SplitList, by_scale: list[np.ndarray], look: Look = lambda: None
) -> tuple[list[Scale], np.ndarray]:
    """Return (scales, place int32 (splits,)), as in RankedAnswers, of all rows of a data set.

    A column has fewer different values than there are rows, so splits are evaluated on these (see
    `answers_by_feature`).
    """
    lines, place, seen = [], np.zeros(len(asked), np.int32), {}
    for mine in phases.over(by_scale, "encoding columns"):
        look()
        split, ones_left = asked[int(mine[0])]
        mine_alone = split.features if len(split.features) == 1 else ()
        if mine_alone not in seen:
            if mine_alone:
                values, code = distinct(dataset.X, mine_alone[0])
                seen[mine_alone] = as_rows(values, dataset.X.shape[1]), code
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


def ranks_on(lines: list[Scale]) -> np.ndarray:
    """Return uint32 (rows, scales): the ranks of all rows, computed for a few rows at a time, which fit
    into a cache."""
    n_rows = len(lines[0].code)
    ranks = np.empty((n_rows, len(lines)), np.uint32)
    for begin in range(0, n_rows, ROWS_AT_ONCE):
        for k, line in enumerate(lines):
            ranks[begin : begin + ROWS_AT_ONCE, k] = line.table[line.code[begin : begin + ROWS_AT_ONCE]]
    return ranks


def _merged_nested(asked, lines: list[Scale], splits_of: tuple, of: Sequence[Hashable] | None):
    """Return (positions of the kept splits, the splits that each represents), as `merged_columns` of the dense table;
    `splits_of` are the scale of each split, the splits of each scale, and the position of each split."""
    scales, by_scale, place = splits_of
    n, T = len(lines[0].code), len(asked)
    found = Sums.of_rows(T, n)
    total = found.mixed.sum(dtype=np.uint64)
    for mine in _by_code(lines):
        code = lines[mine[0]].code
        of_value, rows = found.of_values(code, len(lines[mine[0]].table))
        for scale in mine:
            # Σ over the rows of each rank, and of less: rows of rank <= place have the result 0.
            splits, table = by_scale[scale], lines[scale].table
            at, size = place[splits], 1 + int(max(table.max(initial=0), place[splits].max(initial=0)))
            of_rank = np.zeros(size, np.uint64)
            np.add.at(of_rank, table, of_value)
            below = np.zeros(size, np.int64)
            np.add.at(below, table, rows)
            found.ones[splits] = n - below.cumsum()[at]
            found.sums[splits] = total - of_rank.cumsum(dtype=np.uint64)[at]
            found.flipped[splits] = table[code[0]] > at

    pairs: dict[tuple[int, int], _TwoScales | None] = {}

    def alike(j: int, k: int) -> bool:
        both, opposite = (int(scales[j]), int(scales[k])), bool(found.flipped[j] != found.flipped[k])
        one, other = lines[both[0]], lines[both[1]]
        if both not in pairs:  # most scales of wide tables are compared once
            pairs[both] = None
            right, same = (line.table[line.code] > place[at] for line, at in ((one, j), (other, k)))
            return np.array_equal(right, same ^ opposite)
        if (known := pairs[both]) is None:
            known = pairs[both] = _TwoScales(one, other)
        return known.alike(int(place[j]), int(place[k]), opposite)

    return merged_equals(asked, found, alike, of)


class _TwoScales:
    """Pairs of splits of two scales that separate the rows alike, each found in one step.

    With r and s the ranks of a row, all rows with r > p and no others have s > q if and only if max {s : r <= p} <= q
    < min {s : r > p}; they are the rows with s <= q if max {s : r > p} <= q < min {s : r <= p}.
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
        """Return whether the splits at these positions separate every row alike, or `opposite`."""
        at = min(place, self.many - 1)
        (left_least, left_most), (right_least, right_most) = (
            (side[0][at], side[1][at]) for side in (self.below, self.above)
        )
        if opposite:
            return bool(right_most <= other < left_least)
        return bool(left_most <= other < right_least)
