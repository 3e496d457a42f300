"""A lower bound of all trees by few cuts of each column: entries in the bin of a cut are not counted.

Every column is divided into bins of neighbouring ranks. A cut within a bin sends the bins before it left and those
behind it right; the entries of its own bin may go either way, so they are left out on both sides. Costs grow with the
entries, so with V_h(S) the least cost of a tree of height h on the entries S

    R_0(S) = leaf(S)
    R_h(S) = min(leaf(S), price + min over columns c, bins b of R_{h-1}(S before b) + R_{h-1}(S behind b))

is at most V_h(S): the first cut of the best tree is in a bin b, and its sides contain all entries before b and all
entries behind it. No cut divides a bin of one rank; cuts between two such bins are exact.

The last three levels are found together (odtc.algorithms.bins.three_levels): for N entries, C columns and B bins in
about C³ (N + B³) / 2 steps. The bins of one level after the other are halved while there is time, and the bound does
not fall: with as many bins as ranks it is the least cost itself.
"""

import time
from collections.abc import Callable

import numpy as np

from odtc.algorithms.bins.three_levels import three_levels
from odtc.algorithms.thresholds.ranks import RankedRows, rank_rows

LAST, FIRST = 8, 4  # initial number of bins of a column: on the last two levels, and on the levels above
MOST_BINS = 256  # maximum number of bins of a column
CELL = 4.0  # additions of an entry to a sum take about as long as one of these cells of a table
RATE = 5e-9  # CPU seconds of one such addition, about, until it is measured
# Share of the remaining time: before the first measurement, bounds that are expected to take less are skipped.
MEASURED = 0.1
QUICK = 0.3  # the same share after the first measurement
FREE = 2.0  # times the work of the first bins: finer bins take about as long up to this, because of the many entries
SLACK = 0.8  # share of the remaining time: bounds that are expected to take more are not begun


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    ranked = rank_rows(random.integers(0, 40, (200, 3)), np.eye(2)[random.integers(0, 2, 200)])
    BinBound(ranked, 3, lambda: None).raise_in(lambda: 0.1, 200)


class BinBound:
    """Lower bound on the trees of one height for all entries, which `raise_in` raises.

    Parameters
    ----------
    ranked : RankedRows
    height : int, 3 or more
    check : called between trees of height 3; raises to end the search

    Attributes
    ----------
    lower : int, a lower bound on the cost of all trees of the height
    parts : tuple of int (height - 1,), the number of bins of about equal cost that it used for each column: for the
        root, each level below it, and the last two levels together
    """

    def __init__(self, ranked: RankedRows, height: int, check: Callable[[], None]):
        self.ranked, self.height, self.check = ranked, height, check
        self.lower, self.parts = 0, ()
        self._label = ranked.saving.astype(np.int64)
        self._gain, self._most = np.abs(ranked.gain).astype(np.int64), ranked.most.astype(np.int64)
        self._mass = self._most  # by entry; the bins of a column have about equal sums of it
        self._labels = max(2, ranked.stride)
        self._whole = ranked.stride == 1 and bool((self._most == self._gain).all())
        self._levels: dict[int, Bins] = {}
        self._first = self._next = (FIRST,) * (height - 2) + (LAST,)
        self._turn, self._rate = 0, 0.0

    def raise_in(self, seconds: Callable[[], float], need: int) -> None:
        """Raise the bound while the next one is expected to be ready within the remaining seconds.

        Parameters
        ----------
        seconds : returns the remaining seconds
        need : int, the cost of a known tree: a higher bound is not needed
        """
        if not self.ranked.rank.size:
            return
        need, first = min(need, self._leaf(np.arange(self.ranked.n))), self._work(self._first)
        while self.lower < need and not self._is_exact(self.parts):
            left = seconds()
            rate, skipped = (self._rate, QUICK) if self._rate else (RATE, MEASURED)
            quick = max(skipped * left, FREE * rate * first)
            while rate * self._work(self._next) < quick and not self._is_exact(self._next):
                self._refine()  # quick bounds are too weak
            parts, work = self._next, self._work(self._next)
            if rate * work > SLACK * left:
                return
            began = time.monotonic()
            found = self._value(np.arange(self.ranked.n), parts, need)
            self._rate = (time.monotonic() - began) / work
            self.lower, self.parts = max(self.lower, found), parts
            self._refine()

    def _refine(self) -> None:
        """Set the next bins: halve the bins of one level, taking the levels in turn."""
        parts = list(self._next)
        for _ in parts:
            at, self._turn = self._turn % len(parts) - 1, self._turn + 1  # the last levels first
            if parts[at] < MOST_BINS and not self._bins(parts[at]).exact:
                parts[at] *= 2
                break
        self._next = tuple(parts)

    def _is_exact(self, parts) -> bool:
        """Return whether no bins can be halved."""
        return bool(parts) and all(self._bins(one).exact or one >= MOST_BINS for one in parts)

    def _bins(self, parts: int) -> "Bins":
        if parts not in self._levels:
            self._levels[parts] = Bins(self.ranked.rank, self._mass, parts)
        return self._levels[parts]

    def _work(self, parts) -> float:
        """Return about how many additions a bound with these bins takes."""
        trees = 1.0
        for one in parts[:-2]:
            trees *= 2 * self._bins(one).n_cuts.sum()
        columns = len(self.ranked.rank.T)
        entries = columns**3 / 2 * self.ranked.n / 2 ** (self.height - 3)
        cells = 2 * self._bins(parts[-2]).n_cuts.sum() * self._bins(parts[-1]).n_bins.sum() ** 2 / 2
        return trees * (entries + CELL * self._labels * cells)

    def _leaf(self, members) -> int:
        saved = np.bincount(self._label[members], self._gain[members], self._labels)
        return int(self._most[members].sum() - saved.max())

    def _value(self, members: np.ndarray, parts: tuple[int, ...], enough: int) -> int:
        """Return the bound R of some entries, with these bins for the remaining levels; `enough` if R is at
        least that."""
        self.check()
        price, bins = self.ranked.price, self._bins(parts[0])
        best = min(enough, self._leaf(members))
        if len(parts) == 2:
            last = self._bins(parts[1])
            below = last.code, last.n_bins, last.cuts, last.n_cuts
            rows = members, self._label, self._gain, self._most, self._labels, self._whole, price
            for column, code in enumerate(bins.code):
                if bins.n_cuts[column] and best > price:
                    self.check()
                    cuts = np.ascontiguousarray(bins.cuts[column, :, : bins.n_cuts[column]])
                    found = three_levels(code, int(bins.n_bins[column]), cuts, *below, *rows)
                    best = min(best, price + int(found))
            return best
        for column, cut in self._promising(bins, members):
            if best <= price:
                break
            code = bins.code[column, members]
            lo, hi = bins.cuts[column, :, cut]
            sides = [members[code < lo], members[code >= hi]]
            sides.sort(key=len)
            paid = price
            for side in sides:
                if paid < best:
                    paid += self._value(side, parts[1:], best - paid)
            best = min(best, paid)
        return best

    def _promising(self, bins: "Bins", members) -> list[tuple[int, int]]:
        """Return the cuts of all columns as (column, cut), by rising cost of their sides as two leaves: if a small cost
        is known early, the other cuts take less time."""
        found, place = [], []
        for c in range(len(bins.code)):
            m = bins.n_cuts[c]
            if not m:
                continue
            size = int(bins.n_bins[c])
            cells = bins.code[c, members].astype(np.int64)
            by_label = np.bincount(
                cells * self._labels + self._label[members], self._gain[members], size * self._labels
            )
            sums = np.concatenate([np.zeros((1, self._labels)), by_label.reshape(size, -1).cumsum(axis=0)])
            every = np.concatenate([[0.0], np.bincount(cells, self._most[members], size).cumsum()])
            lo, hi = bins.cuts[c, :, :m]
            one = every[lo] - sums[lo].max(axis=1)
            two = every[-1] - every[hi] - (sums[-1] - sums[hi]).max(axis=1)
            found.append(one + two)
            place += [(c, k) for k in range(m)]
        if not found:
            return []
        return [place[k] for k in np.argsort(np.concatenate(found), kind="stable").tolist()]


class Bins:
    """The columns in bins of about equal mass, and their cuts.

    Parameters
    ----------
    rank : uint32 (entries, columns)
    mass : (entries,), of which all bins have about equal sums, such as the maximum cost of an entry
    parts : int

    Attributes
    ----------
    code : uint16 (columns, entries), the bin of each entry
    n_bins : int64 (columns,)
    cuts : int64 (columns, 2, cuts), lo and hi: the bins before `lo` are left of a cut, those from `hi` on right
    n_cuts : int64 (columns,)
    exact : bool, whether each bin has one rank
    """

    def __init__(self, rank: np.ndarray, mass: np.ndarray, parts: int):
        code, ends_of, found = [], [], []
        for ranks in rank.T:
            ends = bin_ends(np.bincount(ranks, mass), parts)
            code.append(np.searchsorted(ends, ranks).astype(np.uint16))
            ends_of.append(ends)
            found.append(cuts_of(ends))
        self.code = np.ascontiguousarray(np.stack(code))
        self.n_bins = np.array([len(ends) for ends in ends_of], np.int64)
        self.n_cuts = np.array([cuts.shape[1] for cuts in found], np.int64)
        self.cuts = np.zeros((len(found), 2, max(1, self.n_cuts.max())), np.int64)
        for own, cuts in zip(self.cuts, found):
            own[:, : cuts.shape[1]] = cuts
        self.exact = all(len(ends) == ends[-1] + 1 for ends in ends_of)


def bin_ends(mass: np.ndarray, parts: int) -> np.ndarray:
    """Return the last rank of each bin, int64: ranks from 0 on in bins of about equal mass, where a rank with the mass
    of a bin or more is a bin of its own.

    Parameters
    ----------
    mass : (ranks,), of each rank
    parts : int
    """
    before = np.concatenate([[0.0], np.cumsum(mass)])
    share = before[-1] / parts or 1.0
    number = np.floor(before[:-1] / share + 1e-9)
    alone = mass >= share
    breaks = (np.diff(number) > 0) | alone[1:] | alone[:-1]
    return np.append(np.flatnonzero(breaks), len(mass) - 1).astype(np.int64)


def cuts_of(ends: np.ndarray) -> np.ndarray:
    """Return int64 (2, cuts), lo and hi of all cuts: one within each bin of several ranks, one between two bins of one
    rank each. (Any other cut between bins is one within its neighbour, which leaves out more.)"""
    one = np.diff(ends, prepend=-1) == 1
    lo = np.arange(len(ends))
    within, between = ~one, one & np.append([False], one[:-1])
    kept = within | between
    return np.stack([lo[kept], (lo + within)[kept]])
