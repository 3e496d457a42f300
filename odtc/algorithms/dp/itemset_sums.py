"""Sums over the rows of all signed itemsets, from products over positive ones.

A signed itemset fixes the outcomes of some splits: {+a, -b} is the set of rows with outcome 1 for a and 0 for b.
Itemsets of one size are numbered in lexicographic order of their splits, and by one bit per split, from the first on,
for its sign. Sums over rows need products only for itemsets whose signs are all +. The others follow by subtraction, on
whole tables at once:

    P(S & -f) = P(S) - P(S & +f)

Columns are flipped so that 1 is the rarer outcome, because then the products are small.
"""

from math import comb

import numpy as np

from odtc.base import deadline

MOST_BYTES = 2**30  # maximum bytes of the tables stored at once; beyond it the sums come from products state by state


class Itemsets:
    """The itemsets of `size` splits out of `n_splits`, in lexicographic order."""

    def __init__(self, n_splits: int, size: int):
        self.size = size
        self.items = np.zeros((1, 0), np.int64)  # (itemsets, size)
        self.first = []  # for each prefix length: where the extensions of each prefix begin
        for _ in range(size):
            last = self.items[:, -1] if self.items.shape[1] else np.full(1, -1)
            more = n_splits - 1 - last
            begin = np.concatenate([[0], np.cumsum(more)])
            parent = np.repeat(np.arange(len(last)), more)
            follow = np.arange(begin[-1]) - begin[parent] + last[parent] + 1
            self.items = np.column_stack([self.items[parent], follow])
            self.first.append(begin)

    def rank(self, splits: np.ndarray) -> np.ndarray:
        """Return the numbers of these itemsets; `splits` (…, size) ascending."""
        number, before = np.zeros(splits.shape[:-1], np.int64), -1
        for place in range(self.size):
            number = self.first[place][number] + splits[..., place] - before - 1
            before = splits[..., place]
        return number


def table_fits(n_splits: int, size: int, bytes_each: int) -> bool:
    """Return whether a table of all signed itemsets of this size may be stored."""
    return comb(n_splits, size) * 2**size * bytes_each <= MOST_BYTES


class Signed:
    """Sums of each column of `sums` (float64 (rows, columns)) over the rows of signed itemsets of X (bool (rows,
    splits)), up to any requested size."""

    def __init__(self, X: np.ndarray, sums: np.ndarray):
        self.flip = X.mean(axis=0) > 0.5
        self.X, self.sums = X ^ self.flip, sums
        self.columns = np.asfortranarray(self.X)
        self._tables, self._itemsets = {0: sums.sum(axis=0).reshape(1, 1, -1)}, {}

    def itemsets(self, size: int) -> Itemsets:
        if size not in self._itemsets:
            self._itemsets[size] = Itemsets(self.X.shape[1], size)
        return self._itemsets[size]

    def number(self, literals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (signs, rank) of itemsets that are given by literals (…, size) of different splits in any order: 2f if
        the unflipped column is 0, 2f + 1 if it is 1."""
        flipped = np.sort(literals ^ self.flip[literals >> 1], axis=-1)
        bits = (flipped & 1) << np.arange(literals.shape[-1])
        return bits.sum(axis=-1), self.itemsets(literals.shape[-1]).rank(flipped >> 1)

    def table(self, size: int) -> np.ndarray:
        """Return float64 (2^size, itemsets, columns)."""
        if size not in self._tables:
            smaller, sets = self.table(size - 1), self.itemsets(size)
            found = np.empty((2**size, len(sets.items), self.sums.shape[1]))
            self._positive(size, found[-1])
            subset = [self.itemsets(size - 1).rank(np.delete(sets.items, place, axis=1)) for place in range(size)]
            for signs in range(2**size - 2, -1, -1):
                deadline.check()
                place = next(p for p in range(size) if not signs >> p & 1)
                without = signs >> place + 1 << place | signs & (1 << place) - 1
                found[signs] = smaller[without, subset[place]] - found[signs | 1 << place]
            self._tables[size] = found
        return self._tables[size]

    def _positive(self, size: int, out: np.ndarray) -> None:
        prefixes, begin = self.itemsets(size - 1).items, self.itemsets(size).first[-1]
        for at, prefix in enumerate(prefixes.tolist()):
            after = prefix[-1] + 1 if prefix else 0
            if after < self.X.shape[1]:
                rows = self.rows(prefix)
                out[begin[at] : begin[at + 1]] = deadline.product(self.X[rows, after:], self.sums[rows], float)

    def rows(self, splits) -> np.ndarray:
        """Return the rows that have a 1 (of the flipped columns) at all these splits."""
        held = np.ones(len(self.X), bool)
        for split in splits:
            held &= self.columns[:, split]
        return np.flatnonzero(held)
