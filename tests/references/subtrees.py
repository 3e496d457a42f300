"""The best subtrees of depth 2 over ordered splits in plain numpy: the same as threshold_kernel, for all cuts at once.

Below the cuts k of one scale, a table has the sums of the rows with codes up to v on each other scale. With s such a
sum and T the sum over all rows of a stump, its leaves cost

    min(l0, s + l1) + min(l0, T - s + l1) = min(2 l0, T + 2 l1, l0 + l1 + s, l0 + l1 + T - s),

so of all splits of a scale only the least and the greatest s matter. Sums are whole numbers below 2^52, which may be
added in any order, so the results are the same as with the compiled loops.
"""

import numpy as np

CELLS = 2**17  # sums that are stored at once


def subtrees(codes, rows, delta, copies, shape, leaf, column, start, member, columns, out, where):
    """Write the same as odtc.algorithms.constrained.sweeps.threshold_kernel.subtrees, for the same arguments."""
    least, price = shape
    places = _Places(codes[:, rows])
    own, held = delta[rows], copies[rows].astype(float)
    every, copied = own.sum(), held.sum()
    out[:] = min(leaf[0], every + leaf[1]) if copied >= least else np.inf
    where[:] = -1
    first, size = places.first, np.diff(places.first)
    below = np.flatnonzero(size > 1)
    sums, counts = places.upto(own), places.upto(held)
    for a in below:
        left, left_copies = (one[first[a] : first[a + 1] - 1] for one in (sums, counts))
        fits = (left_copies >= least) & (copied - left_copies >= least)
        if not fits.any():
            continue
        mine = member[start[column[a]] : start[column[a] + 1]]
        inside = columns[mine]
        wide = max(1, CELLS // max(first[-1], inside.size))
        carried = np.zeros(first[-1]), np.zeros(first[-1])
        for begin in range(0, size[a] - 1, wide):
            cuts = slice(begin, min(begin + wide, size[a] - 1))
            zero = places.table(a, cuts, own, carried[0])
            may = [None, None]
            if least > 0.0:
                zero_counts = places.table(a, cuts, held, carried[1])
                may[0] = places.within(zero_counts, left_copies[cuts], least, below)
                may[1] = places.within(counts - zero_counts, copied - left_copies[cuts], least, below)
            value = price
            for side, part, total in ((0, zero, left[cuts]), (1, sums - zero, every - left[cuts])):
                best = np.empty((len(start) - 1, len(total)))
                best[:] = np.minimum(leaf[0], total + leaf[1])
                stumps = price + _stumps(*places.ends(part, may[side], below), total, leaf)
                for b, stump in zip(below, stumps):
                    np.minimum(best[column[b]], stump, out=best[column[b]])
                value = value + best[inside].min(axis=1)
            value[:, ~fits[cuts]] = np.inf
            cut = value.argmin(axis=1)
            value = value[np.arange(len(mine)), cut]
            less = value < out[mine]
            out[mine[less]] = value[less]
            where[mine[less], 0], where[mine[less], 1] = a, places.given[a][begin + cut[less]]


class _Places:
    """The codes of rows, int (scales, rows), as positions without gaps: one for each code that occurs, scale after
    scale."""

    def __init__(self, codes):
        self.given = [np.flatnonzero(np.bincount(line)) for line in codes]  # the codes of each scale
        self.first = np.append(0, np.cumsum([len(line) for line in self.given]))  # where the codes of each scale begin
        own = [np.searchsorted(there, line) for there, line in zip(self.given, codes)]
        self.code = np.array(own, np.int64).reshape(codes.shape)
        self.place = self.code + self.first[:-1, None]
        self.scale = np.repeat(np.arange(len(codes)), np.diff(self.first))

    def upto(self, term):
        """Return float64 (positions,): the sum over the rows with codes up to each code of its scale."""
        sums = np.bincount(self.place.ravel(), np.tile(term, len(self.place)), self.first[-1])
        for begin, end in zip(self.first, self.first[1:]):
            np.cumsum(sums[begin:end], out=sums[begin:end])
        return sums

    def table(self, a, cuts, term, carried):
        """Return float64 (cuts, positions): `upto` of only the rows that have codes up to each of some cuts of scale
        a. `carried` is the result for the cut before these, and is replaced by the result for the last."""
        among = np.flatnonzero((self.code[a] >= cuts.start) & (self.code[a] < cuts.stop))
        row, n = self.code[a, among] - cuts.start, cuts.stop - cuts.start
        cell = row * len(carried) + self.place[:, among]
        sums = np.bincount(cell.ravel(), np.tile(term[among], len(cell)), n * len(carried)).reshape(n, -1)
        # Each scale begins again at 0: the total of the scale before is subtracted.
        sums[:, self.first[1:-1]] -= np.bincount(row, term[among], n)[:, None]
        np.cumsum(sums, axis=1, out=sums)
        sums[0] += carried
        for before, here in zip(sums, sums[1:]):
            here += before
        carried[:] = sums[-1]
        return sums

    def within(self, counts, held, least, below):
        """Return int (cuts, 2 scales), positions in a table, row after row: for each scale the first split that leaves
        enough rows on either side, and the one behind the last."""
        n, width = counts.shape
        step = held.max() + 1.0
        base = (np.arange(n)[:, None] * len(self.code) + below) * step
        flat = (counts + self.scale * step + np.arange(n)[:, None] * (len(self.code) * step)).ravel()
        found = np.empty((n, len(below), 2), np.int64)
        found[..., 0] = np.searchsorted(flat, base + least)
        found[..., 1] = np.searchsorted(flat, base + (held[:, None] - least), side="right")
        begin = np.arange(n)[:, None] * width
        return np.clip(found, (begin + self.first[below])[..., None], (begin + self.first[below + 1] - 1)[..., None])

    def ends(self, sums, may, below):
        """Return (float64 (scales, cuts), the same): the least and the greatest sum of a split of each scale; infinite
        if none is allowed."""
        if may is None:
            pairs = np.stack([self.first[below], self.first[below + 1] - 1], axis=1).ravel()
            low, high = (of.reduceat(sums, pairs, axis=1)[:, ::2].T for of in (np.minimum, np.maximum))
            return low, high
        shape, none = may.shape[:2], (may[..., 0] >= may[..., 1]).T
        low, high = (of.reduceat(sums.ravel(), may.ravel())[::2].reshape(shape).T for of in (np.minimum, np.maximum))
        return np.where(none, np.inf, low), np.where(none, -np.inf, high)


def _stumps(low, high, total, leaf):
    """Return float64 (scales, cuts): the cost of the two leaves of the best stump."""
    apart = np.minimum(low, total - high) + (leaf[0] + leaf[1])
    alike = np.minimum(2.0 * leaf[0], total + 2.0 * leaf[1])
    return np.where(np.isfinite(low), np.minimum(apart, alike), np.inf)
