"""`depth_two` of odtc.algorithms.moments.kernels in numpy, for a search that is over before the kernel is compiled.

Sums are added in the same order, so that the numbers are the same to the last digit (to the last but one where numpy
has its own logarithms).
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.moments.laws import gain, gains

CELLS = 1 << 16  # pairs of cuts that are processed together: their arrays stay in the cache
CUT, PAIR = 2e-5, 4e-8  # CPU seconds of a cut, and of a pair of cuts, about


def seconds_of(size: np.ndarray, n_rows: int) -> float:
    """Return about how many CPU seconds `depth_two` takes on this many rows, for columns with this many ranks."""
    many = np.minimum(size, n_rows).astype(float).sum()
    return CUT * many + PAIR * many**2 / 2


def depth_two(
    code: np.ndarray,
    size: np.ndarray,
    moments: np.ndarray,
    rows: np.ndarray,
    ends: tuple[float, float, np.ndarray],
    terms: tuple[float, int, float],
    check: Callable[[], None] = lambda: None,
) -> tuple[float, int, int]:
    """Return (gain, column, cut) of the root of the best tree of two levels, column -1 for a leaf. The arguments are
    the same as for `kernels.depth_two`, except for terms : (price, law, tiny), and check : called often; an
    exception that it raises ends the search."""
    (least, leaves, totals), (price, law, tiny) = ends, terms
    counted, own = least > 1.0, moments[:, rows]
    given, dense = zip(*(np.unique(line, return_inverse=True) for line in code[:, rows]))
    begin = np.cumsum([0, *map(len, given)])
    whole = np.concatenate(
        [[np.bincount(at, told, len(some)).cumsum() for told in own] for at, some in zip(dense, given)], axis=1
    )
    every = whole[:, begin[1] - 1]
    w, s, c = every.tolist()
    inner = counted, least, price, law, tiny
    one, two = gains(law, whole[1], whole[0], tiny), gains(law, s - whole[1], w - whole[0], tiny)
    left, right = one.copy(), two.copy()  # of one leaf on either side
    for f in range(len(size)):
        cuts = slice(begin[f], begin[f + 1] - 1)
        _same_column(whole[:, cuts], c, (left[cuts], right[cuts]), (one[cuts], two[cuts]), inner, check)
    entries = _entries(dense, begin)
    for f in range(len(size) - 1):
        if len(given[f]) > 1:
            _two_columns(f, (dense[f], entries, own), begin, (whole, every), (one, two), inner, check)
    is_cut = np.ones(begin[-1], bool)
    is_cut[begin[1:] - 1] = False
    total = one + two - price if leaves >= 4.0 else np.maximum(one + right, left + two) - price
    total[~is_cut | (whole[2] < least) | (c - whole[2] < least)] = -np.inf
    if totals.size:
        for f, ranks in enumerate(given):
            totals[f, ranks] = total[begin[f] : begin[f + 1]]
    best = int(total.argmax())
    if not total[best] > (alone := gain(law, s, w, tiny)):
        return alone, -1, -1
    f = int(np.searchsorted(begin, best, side="right")) - 1
    return float(total[best]), f, int(given[f][best - begin[f]])


def _same_column(below, c, alone, found, terms, check) -> None:
    """Update `found` for both splits on one column, by the gains of its cuts below the left and the right side."""
    counted, least, price, law, tiny = terms
    (left, right), (one, two), m = alone, found, below.shape[1]
    step = max(1, CELLS // max(1, m))
    for first in range(0, m - 1, step):
        check()
        i, j = slice(first, first + step), slice(first + 1, m)  # the left cuts, and those right of the first of them
        w, s, count = below[:, None, j] - below[:, i, None]
        middle = gains(law, s, w, tiny)
        middle[np.arange(first, m)[:step, None] >= np.arange(first + 1, m)] = -np.inf
        of_one, of_two = left[i, None] + middle - price, middle + right[j] - price
        if counted:
            few = count < least
            of_one[few | (below[2, i, None] < least)] = -np.inf
            of_two[few | (c - below[2, j] < least)] = -np.inf
        np.maximum(one[j], of_one.max(axis=0), out=one[j])
        np.maximum(two[i], of_two.max(axis=1), out=two[i])


def _entries(dense, begin):
    """Return (rows, ranks, few, first). rows, ranks: int64 (entries,), the ranks that each row is added to, by
    columns; for a column of two ranks or less only the rows of the rarer one. few: bool (columns,), these columns.
    first: bool (columns,), the ones of them whose rarer rank is the first."""
    many, n = np.diff(begin), len(dense[0])
    few = many <= 2
    first = np.array([few[g] and 2 * int(at.sum()) > n for g, at in enumerate(dense)])
    kept = [np.flatnonzero(at == (0 if first[g] else 1)) if few[g] else np.arange(n) for g, at in enumerate(dense)]
    ranks = [begin[g] + at[rows] for g, (at, rows) in enumerate(zip(dense, kept))]
    return np.concatenate(kept), np.concatenate(ranks), few, first


def _two_columns(f, of_rows, begin, sums_of_all, found, terms, check) -> None:
    """Update `found` for the splits on column f combined with the splits on all columns after it; `of_rows`: their
    ranks in f, the ranks that they are added to (`_entries`), and the numbers that they add."""
    counted, least, price, law, tiny = terms
    (dense, (rows, ranks, few, rare), own), (one, two), (whole, every) = of_rows, found, sums_of_all
    after, sums = int(begin[f + 1]), slice(0, 3 if counted else 2)
    from_here = int(np.searchsorted(ranks, after))
    rows, ranks = rows[from_here:], ranks[from_here:] - after
    own_rank = dense[rows]
    order = np.argsort(own_rank.astype(np.min_scalar_type(len(dense))), kind="stable")
    rows, ranks, ends = rows[order], ranks[order], np.bincount(own_rank, minlength=begin[f + 1] - begin[f]).cumsum()
    own, every, side = own[sums], every[sums, None, None], whole[sums, after:]
    wide = [slice(*(begin[g : g + 2] - after)) for g in range(f + 1, len(few)) if not few[g]]
    alone = begin[f + 1 : -1][few[f + 1 :]] - after  # the first rank of each of the others
    last_of = begin[f + 2 :][few[f + 1 :]] - after - 1
    common = alone[(last_of > alone) & ~rare[f + 1 :][few[f + 1 :]]]  # those whose rarer rank is the second
    added, at = np.zeros(side.shape), 0
    last = begin[f + 1] - 1
    step = max(1, CELLS // side.shape[1])
    for first in range(begin[f], last, step):
        check()
        to = min(first + step, last)
        within = np.empty((len(side), to - first, side.shape[1]))
        for i in range(first, to):
            until = int(ends[i - begin[f]])
            for sum_of, told in zip(added, own):
                np.add.at(sum_of, ranks[at:until], told[rows[at:until]])
            within[:, i - first], at = added, until
        for some in wide:
            np.cumsum(within[:, :, some], axis=2, out=within[:, :, some])
        low = whole[sums, first:to, None]
        within[:, :, common] = low - within[:, :, common + 1]
        within[:, :, last_of] = low
        beside, high = low - within, every - low
        second = side[:, None] - within
        none = high - second
        both_gain, first_gain = gains(law, within[1], within[0], tiny), gains(law, beside[1], beside[0], tiny)
        second_gain, none_gain = gains(law, second[1], second[0], tiny), gains(law, none[1], none[0], tiny)
        if counted:
            parts = (within, both_gain), (beside, first_gain), (second, second_gain), (none, none_gain)
            for part, gained in parts:
                gained[part[2] < least] = -np.inf
        np.maximum(one[first:to], (both_gain + first_gain - price).max(axis=1), out=one[first:to])
        np.maximum(two[first:to], (second_gain + none_gain - price).max(axis=1), out=two[first:to])
        np.maximum(one[after:], (both_gain + second_gain - price).max(axis=0), out=one[after:])
        np.maximum(two[after:], (first_gain + none_gain - price).max(axis=0), out=two[after:])
