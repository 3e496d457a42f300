"""The computation of sweep_kernel in numpy, for many splits of a chain at once.

Below the splits of one chain, a table contains the sums of the rows on side 0 of each of them with codes up to j on
another chain. With s_k the sum of label k over the rows of side 0 and T_l the sum of label l over all rows, a stump
with leaves of the labels k and l costs beside_k + beside_l + T_l + (s_k - s_l): over the splits of a chain only the
last term varies.
"""

import numpy as np

CELLS = 2**16  # sums that are stored at once


def two_levels(codes, rows, value, beside, least, price, column, first, second, member, sets, out, each, begin):
    """Write the same results as odtc.verification.constrained.sweep_kernel.two_levels, from the same arguments."""
    sums = _Sums(codes[rows], value[rows])
    every = sums.own.sum(axis=0)
    out[:] = _leaf(every, beside, least)
    if not len(rows):  # no chain has two codes
        return
    total = sums.upto(np.zeros(len(rows), int), 1)[:, 0]
    size = np.diff(sums.start)
    for a in np.flatnonzero(first & (size > 1)):
        below = np.flatnonzero(second[a] & (size > 1))
        wide = max(1, CELLS // max(sums.start[-1], sets.size))
        before = np.zeros_like(total)
        for cut in range(0, size[a] - 1, wide):
            end = min(cut + wide, size[a] - 1)
            among = np.flatnonzero((sums.code[:, a] >= cut) & (sums.code[:, a] < end))
            zero = sums.upto(sums.code[among, a] - cut, end - cut, among)
            zero[:, 0] += before
            np.cumsum(zero, axis=1, out=zero)
            before = zero[:, -1].copy()
            best = np.empty((2, member.shape[1], end - cut))
            for answer, part in enumerate((zero, total[:, None] - zero)):
                whole = part[:, :, sums.start[1] - 1]
                best[answer] = _leaf(whole, beside, least)
                if len(below):
                    stumps = price + _stumps(part, whole, beside, least, sums.start, below)
                    np.minimum.at(best[answer], column[below], stumps)
            least_of = best[:, sets].min(axis=2)
            mine = np.flatnonzero(member[:, column[a]])
            out[mine] = np.minimum(out[mine], price + least_of.sum(axis=0)[mine].min(axis=1))
            if each.shape[1] and member[0, column[a]]:
                given = sums.given[a]
                splits = np.arange(given[cut], given[end])  # those of one position separate the rows in the same way
                each[:, begin[a] + splits] = least_of[:, 0, np.searchsorted(given, splits, side="right") - 1 - cut]


class _Sums:
    """Rows as places: of each chain the codes that are there, chain behind chain.

    Parameters
    ----------
    codes : int (rows, chains)
    own : float64 (rows, terms)
    """

    def __init__(self, codes: np.ndarray, own: np.ndarray):
        self.own = own
        self.given = [np.unique(line) for line in codes.T]
        self.start = np.append(0, np.cumsum([len(line) for line in self.given]))
        ranks = [np.searchsorted(there, line) for there, line in zip(self.given, codes.T)]
        self.code = np.array(ranks, np.int64).reshape(codes.T.shape).T

    def upto(self, line: np.ndarray, n: int, among: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return float64 (terms, n, places): the sums of the rows `among` with each of n numbers, `line`, int (rows,),
        and with codes up to that of a position in its chain."""
        own, width = self.own[among], self.start[-1]
        cell = (line[:, None] * width + self.code[among] + self.start[:-1]).T.ravel()
        found = np.empty((own.shape[1], n, width))
        for term, numbers in zip(found, own.T):
            term[:] = np.bincount(cell, np.tile(numbers, len(self.given)), n * width).reshape(n, width)
            # The sum of the previous chain is subtracted where the next one begins.
            term[:, self.start[1:-1]] -= np.bincount(line, numbers, n)[:, None]
        return np.cumsum(found, axis=2, out=found)


def _leaf(sums: np.ndarray, beside: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the least cost of a leaf with these sums (terms, ...), above its rows with label 0."""
    best = np.full(sums.shape[1:], np.inf)
    for k in range(len(beside)):
        cost = beside[k] + (sums[k - 1] if k else 0.0)
        best = np.minimum(best, np.where(_may(sums, least[:, k], len(beside)), cost, np.inf))
    return best


def _may(sums: np.ndarray, least: np.ndarray, labels: int) -> np.ndarray | bool:
    """Return whether leaves of these sums may have a label of these conditions."""
    may: np.ndarray | bool = True
    for number, enough in enumerate(least):
        may = may & (sums[labels - 1 + number] >= enough)
    return may


def _stumps(part, whole, beside, least, start, below) -> np.ndarray:
    """Return float64 (chains below, splits above): the cost of the two leaves of the best split of a chain, infinite
    without one; `part` (terms, splits above, places) and `whole` (terms, splits above) are the sums of side 0 and of
    all rows."""
    labels, best = len(beside), np.full((len(below), whole.shape[1]), np.inf)
    pairs = np.stack([start[below], start[below + 1] - 1], axis=1).ravel()
    other = whole[:, :, None] - part if len(least) else part
    zero = [_may(part, least[:, k], labels) for k in range(labels)]
    one = [_may(other, least[:, k], labels) for k in range(labels)]
    for k in range(labels):
        for l in range(labels):
            term = (part[k - 1] if k else 0.0) - (part[l - 1] if l else 0.0)
            if len(least):
                term = np.where(zero[k] & one[l], term, np.inf)
            fixed = beside[k] + beside[l] + (whole[l - 1] if l else 0.0)
            if np.ndim(term):
                term = np.minimum.reduceat(term, pairs, axis=1)[:, ::2].T
            best = np.minimum(best, fixed + term)
    return best
