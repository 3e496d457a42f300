"""A state whose tried cuts have sides of two levels or of one, bounded at once, as plain loops that numba compiles.

The bound of each side is the one that odtc.verification.leaf_sums finds in rounded numbers, one side at a time, and
the bound of the state follows from these in the same way. Sums are whole numbers. Nothing of the search is used.
"""

from typing import NamedTuple

import numpy as np

from odtc.base import deadline
from odtc.base.kernels import kernel
from odtc.verification.leaf_sums.two_levels import part_gain, root_costs

PART = 36  # bits of the lower part of the cost of a row before any gain
KEPT, MOST_KEPT = 1 << 14, 1 << 22  # sides that are remembered, and 64-bit words of their rows
AT_ONCE = 2e7  # sums and pairs of cuts between two looks at the clock


def best_gain(rank, moments, rows, laws, price, leaves):
    """Return the gain of the best tree of two levels or less on some rows; the arguments are those of `root_costs`."""
    w = s = 0
    for i in range(len(rows)):
        w += moments[0, rows[i]]
        s += moments[1, rows[i]]
    found, costs = part_gain(laws[0], laws[1], w, s), root_costs(rank, moments, rows, 0.0, laws, price, 1, leaves)[2]
    for cost in costs:
        found = max(found, -cost)
    return found


@kernel
def side_costs(table, rows, tried, span, terms, memo, found):
    """Fill `found`, float64 (cuts, 2), for the cuts from `span`[0] to before `span`[1]: lower bounds on the costs of
    the sides beyond their floors, or 0 for a side without a bound. Returns False if a cut leaves a side without
    rows.

    Parameters
    ----------
    table : (rank, moments, told, floors): rank and moments as in `root_costs`; told, int64 (2, all rows), the two parts
        of the cost of rows before any gain; floors, int64 (all rows,)
    rows : int64 (rows,)
    tried : int64 (cuts, 4): column, cut, and for either side 1 if it is to be bounded, otherwise 0
    terms : (law, unit, price, off, floor_unit, leaves): the first three and the last as in `root_costs`, the largest
        rounding error, and the unit of floors
    memo : (uint64 (places, words), float64 (places,), int64 (1,)): the rows of sides, their costs or nan, how many
    """
    rank, moments, told, floors = table
    law, unit, price, off, floor_unit, leaves = terms
    keys, values, used = memo
    places, words = keys.shape
    part, key = np.empty(len(rows), np.int64), np.empty(words, np.uint64)
    for t in range(span[0], span[1]):
        column, cut = tried[t, 0], tried[t, 1]
        for turn in range(2):
            many, low, high, floor = 0, 0, 0, 0
            key[:] = 0
            for i in range(len(rows)):
                row = rows[i]
                if (rank[row, column] <= cut) == (turn == 0):
                    part[many] = row
                    many += 1
                    key[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
            if many == 0:
                return False
            found[t, turn] = 0.0
            if tried[t, 2 + turn] == 0:
                continue
            at = place_of(key, keys, values)
            if np.isnan(values[at]):
                for i in range(many):
                    low += told[0, part[i]]
                    high += told[1, part[i]]
                    floor += floors[part[i]]
                gain = best_gain(rank, moments, part[:many], (law, unit), price, leaves)
                if used[0] > places // 2:
                    values[:] = np.nan
                    used[0] = 0
                    at = place_of(key, keys, values)
                keys[at] = key
                values[at] = float(low) + float(high) * 2.0**PART - gain - off - float(floor) * floor_unit
                used[0] += 1
            found[t, turn] = values[at]
    return True


def place_of(key, keys, values):
    """Return the position of a key in a table of keys, or the empty one where it belongs."""
    mixed = np.uint64(0)
    for word in key:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    at = np.int64(mixed % np.uint64(len(values)))
    while not np.isnan(values[at]):
        same = True
        for k in range(len(key)):
            same = same and keys[at, k] == key[k]
        if same:
            return at
        at = at + 1 if at + 1 < len(values) else 0
    return at


@kernel
def least_of_cuts(rank, rows, tried, found, shared):
    """Return the least cost of a cut among those that `tried` and `found` bound, without its branch node; infinite if
    there is no cut, nan if a cut is tried twice. Cuts that separate all rows in the same way have the best bound
    among them.

    Parameters
    ----------
    rank, rows, tried, found : as in `side_costs`
    shared : int64 (3, cuts that are alike): column, cut and group, by rising column
    """
    widest, groups = 0, 0
    for i in range(len(rows)):
        for g in range(rank.shape[1]):
            widest = max(widest, rank[rows[i], g])
    for k in range(shared.shape[1]):
        groups = max(groups, shared[2, k])
    alike = np.full(groups + 1, -1.0)
    before, behind = np.empty(widest + 2), np.empty(widest + 2)
    held, own = np.empty(widest + 1, np.bool_), np.empty(widest + 1, np.bool_)
    order, at, to = np.argsort(tried[:, 0]), 0, 0
    least = np.inf
    for g in range(rank.shape[1]):
        held[:], before[:], behind[:] = False, -1.0, -1.0
        for i in range(len(rows)):
            held[rank[rows[i], g]] = True
        last = widest
        while not held[last]:
            last -= 1
        while at < len(order) and tried[order[at], 0] == g:
            cut = min(tried[order[at], 1], widest)
            while not held[cut]:  # the equivalent rank on these rows
                cut -= 1
            if before[cut] >= 0:
                return np.nan
            before[cut], behind[cut] = max(0.0, found[order[at], 0]), max(0.0, found[order[at], 1])
            at += 1
        # A cut costs at least the left side of a tried one that is not higher plus the right side of one not lower.
        for v in range(widest + 1):
            before[v] = max(before[v], before[v - 1] if v else 0.0)
        for v in range(widest, -1, -1):
            behind[v] = max(behind[v], behind[v + 1] if v < widest else 0.0)
        own[:] = held
        while to < shared.shape[1] and shared[0, to] == g:
            cut, group = shared[1, to], shared[2, to]
            to += 1
            if cut > widest:
                continue
            own[cut] = False
            while cut >= 0 and not held[cut]:
                cut -= 1
            if 0 <= cut < last:
                alike[group] = max(alike[group], before[cut] + behind[cut])
        for v in range(last):
            if own[v]:
                least = min(least, before[v] + behind[v])
    for group in range(groups + 1):
        if alike[group] >= 0:
            least = min(least, alike[group])
    return least


class TriedCuts:
    """Bounds of the states of some data of which the tried cuts have sides of two levels or of one.

    Parameters
    ----------
    rank : int64 (rows, columns)
    measure : what leaves cost
    floors : (int64 (rows,), float), and their unit
    price : float, of a branch node
    off : float, what rounded costs are off by at most
    shared : int64 (3, cuts), of `least_of_cuts`
    """

    def __init__(self, rank: np.ndarray, measure, floors: tuple, price: float, off: float, shared: np.ndarray):
        moments = np.ascontiguousarray(measure.moments[:2])
        self.table = np.ascontiguousarray(rank), moments, measure.told_parts, floors[0]
        self.terms, self.shared = (measure.LAW, measure.root_unit, price, off, floors[1]), shared
        self.cuts = float(sum(len(np.unique(column)) for column in rank.T))
        words = -(-len(rank) // 64)
        places = max(64, min(KEPT, MOST_KEPT // words))
        self.memos = [  # for sides of one level and of two
            (np.zeros((places, words), np.uint64), np.full(places, np.nan), np.zeros(1, np.int64)) for _ in range(2)
        ]

    def bound(self, rows: np.ndarray, tried: list, levels: int = 2, least_too: bool = True) -> "Sides | None":
        """Return the bounds that the tried cuts give, as rounded numbers, for sides of this many levels; None if an
        entry is not such a cut, so that other code reports the error. The least cost of a cut is only computed with
        `least_too`."""
        listed = as_array(tried, self.table[0].shape[1])
        if listed is None or not len(rows):
            return None
        found, wide = np.zeros((len(listed), 2)), float(self.table[0].shape[1])
        each = len(rows) * wide if levels == 1 else len(rows) * wide**2 + min(self.cuts, len(rows) * wide) ** 2
        step = max(1, int(AT_ONCE / each))
        for begin in range(0, len(listed), step):
            deadline.check()
            span = begin, min(begin + step, len(listed))
            terms = (*self.terms, 2 if levels == 1 else 0)
            if not side_costs(self.table, rows, listed, span, terms, self.memos[levels - 1], found):
                return None
        least = float(least_of_cuts(self.table[0], rows, listed, found, self.shared)) if least_too else 0.0
        return None if np.isnan(least) else Sides(found.tolist(), least, int(listed[:, 2:].sum()))


class Sides(NamedTuple):
    """Lower bounds on the costs of the left and the right side of each tried cut, a lower bound on the cost of any cut
    of the state without its branch node, and the number of bounded sides."""

    found: list
    least: float
    bounded: int


def as_array(tried: list, n_columns: int) -> np.ndarray | None:
    """Return int64 (cuts, 4) for `side_costs`, None if an entry is not a cut with two sides that are bounded or not."""
    rows = []
    for entry in tried:
        if type(entry) is not list or len(entry) != 4:
            return None
        column, cut, one, two = entry
        if type(column) is not int or type(cut) is not int or not (0 <= column < n_columns and abs(cut) < 2**31):
            return None
        if (one is not None and (type(one) is not int or one)) or (two is not None and (type(two) is not int or two)):
            return None
        rows.append((column, cut, one is not None, two is not None))
    return np.array(rows, np.int64).reshape(-1, 4)
