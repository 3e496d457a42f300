"""Sums over the rows of all signed itemsets, from products over positive ones.

A signed itemset says of some splits which answer the rows give: {+a, -b} are the rows with a 1 at a
and a 0 at b. Itemsets of one size are numbered in lexicographic order of their splits, and by a bit
per split, from the first on, that says its sign. Whatever is additive over rows needs products only
for itemsets whose signs are all +; the others follow by subtraction, P(S & -f) = P(S) - P(S & +f), on whole
tables at once. With columns flipped so that 1 is the rarer answer, the products are small.

`best_stumps` is the heart of the dynamic program: at every signed itemset and for every split, the
cost of the best split below on either side, from the sums on all pairs of splits.
"""

from functools import cached_property
from math import comb

import numpy as np

from odtc.base import deadline

MOST_BYTES = 2**30  # of the tables held at once; beyond it the sums come from products state by state
BLOCK = 700_000  # bytes of a table that stays in the cache
PIECE = 20_000_000  # numbers of one product that is held at once
SMALL = 2_000_000  # numbers of one product, below which a loop over prefixes costs more than it saves
DIGITS = 6  # decimals of losses that are counted as whole numbers
MOST_WHOLE = 2**29  # sums of whole losses that int32 holds, and thrice as much
ROUNDING = 64 * float(np.finfo(float).eps)  # of the largest loss, that a sum of decimals is off by


class Itemsets:
    """The itemsets of `size` splits out of `n_splits`, in lexicographic order."""

    def __init__(self, n_splits: int, size: int):
        self.n_splits, self.size = n_splits, size
        self.items = np.zeros((1, 0), np.int64)  # (itemsets, size)
        self.first = []  # per prefix length, where the extensions of each prefix begin
        for _ in range(size):
            last = self.items[:, -1] if self.items.shape[1] else np.full(1, -1)
            more = n_splits - 1 - last
            begin = np.concatenate([[0], np.cumsum(more)])
            parent = np.repeat(np.arange(len(last)), more)
            follow = np.arange(begin[-1]) - begin[parent] + last[parent] + 1
            self.items = np.column_stack([self.items[parent], follow])
            self.first.append(begin)

    def rank(self, splits: np.ndarray) -> np.ndarray:
        """The numbers of these itemsets; `splits` (…, size) ascending."""
        number, before = np.zeros(splits.shape[:-1], np.int64), -1
        for place in range(self.size):
            number = self.first[place][number] + splits[..., place] - before - 1
            before = splits[..., place]
        return number


def table_fits(n_splits: int, size: int, bytes_each: int) -> bool:
    """Return whether a table of all signed itemsets of this size may be stored."""
    return comb(n_splits, size) * 2**size * bytes_each <= MOST_BYTES


class Signed:
    """Sums over the rows of signed itemsets of X (bool (rows, splits)) of each column of `sums` (float64 (rows,
    columns)), up to any requested size."""

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
        """(signs, rank) of itemsets given by literals (…, size), 2f if the unflipped column is 0, 2f + 1
        if it is 1, in any order, of different splits."""
        flipped = np.sort(literals ^ self.flip[literals >> 1], axis=-1)
        bits = (flipped & 1) << np.arange(literals.shape[-1])
        return bits.sum(axis=-1), self.itemsets(literals.shape[-1]).rank(flipped >> 1)

    def table(self, size: int) -> np.ndarray:
        """float64 (2^size, itemsets, columns)."""
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
        """The rows that have a 1 (of the flipped columns) at all these splits."""
        held = np.ones(len(self.X), bool)
        for split in splits:
            held &= self.columns[:, split]
        return np.flatnonzero(held)


def decimal_scale(loss: np.ndarray) -> int:
    """Return the least power of ten that makes all losses whole except for rounding, if integers can represent their
    sums; else 1."""
    for digits in range(DIGITS + 1):
        scaled = loss * 10**digits
        if np.abs(scaled).sum() >= MOST_WHOLE:
            break
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) <= ROUNDING * np.abs(scaled).max(initial=0.0):
            return 10**digits
    return 1


class Stumps:
    """Sums of the loss over the four sides of every pair of splits below each signed itemset, made into
    the cost of the best split, or none, on either side of each split.

    Of two classes only the difference d = loss_0 - loss_1 matters, as min(a, b) = (a + b - |a - b|) / 2;
    of more, every class has a table. Whole numbers, and decimals times a power of ten, are held in the shortest type
    that is exact. The first columns of `signed` are the loss, then its largest over the classes of each row.
    """

    def __init__(self, signed: Signed, loss: np.ndarray, price: float):
        self.scale = decimal_scale(loss)
        if self.scale > 1:
            loss, price = np.rint(loss * self.scale), price * self.scale
        self.signed, self.price, self.loss = signed, float(price), loss
        self.two = loss.shape[1] == 2
        # What a class gains over the worst one, row by row; of two classes, their difference.
        self.worth = loss[:, :1] - loss[:, 1:] if self.two else loss.max(axis=1, keepdims=True) - loss
        total = float(np.abs(self.worth).sum())
        whole = np.array_equal(loss, np.rint(loss))
        self.dtype = np.dtype(
            np.int16 if whole and total < 10_000 else np.int32 if whole and total < MOST_WHOLE else np.float64
        )
        self.real = np.float32 if whole and total < 2**24 else np.float64
        self.F, self.K = signed.X.shape[1], self.worth.shape[1]

    @staticmethod
    def room(n_splits: int, n_classes: int, size: int) -> bool:
        """Return whether `best` of this size has room for its tables; sizes 0 to 3 are counted here."""
        pair = 4 * n_splits**2 * (n_classes if n_classes > 2 else 1)
        held = (0, 0, 1, 2)  # itemsets of this many splits have tables that stay
        return (
            size <= min(3, n_splits - 1)
            and (not size or table_fits(n_splits, size, 8 * n_splits))
            and table_fits(n_splits, held[size], pair)
        )

    @cached_property
    def _X(self):
        return self.signed.X.astype(self.real)

    def _pairs(self, rows=None, within=None) -> np.ndarray:
        """Σ worth_k over the rows that have g and f: (g, k, f); `within` (rows, itemsets) holds the rows of
        itemsets, which are one axis more."""
        X, worth = self._X, self.worth.astype(self.real, copy=False)
        if rows is not None:
            X, worth = X[rows], worth[rows]
        right = worth[:, :, None] * X[:, None, :]
        if within is not None:
            right = right[..., None] * within[:, None, None, :]
        product = deadline.product(X, right.reshape(len(X), int(np.prod(right.shape[1:]))), self.real)
        if self.dtype.kind == "i":
            product = np.rint(product, out=product).astype(self.dtype)
        return product.reshape(self.F, *right.shape[1:])

    def best(self, size: int, pick) -> None:
        """Call pick(first, cost) for blocks of itemsets of this size: cost float64 (splits, 2^size, block), the least
        cost of a tree of two levels below whose first split is each of these."""
        whole = self._pairs()[..., None]
        if size == 0:
            pick(0, self._cost(whole[..., None, :], 0, slice(0, 1)))
            return
        if size == 1:
            for begin, _, plus in self._parts(1):
                make = lambda part: np.stack([whole - plus[..., part], plus[..., part]], axis=-2)  # noqa: B023, E731
                self._blocks(1, begin, plus.shape[-1], make, pick)
            return
        # Signed tables of one split, (g, k, f, splits), - before +: those of -a follow from all rows.
        plus = np.concatenate([positive for _, _, positive in self._parts(1)], axis=-1)
        one = whole - plus, plus
        pairs = self._signed_pairs(one) if size == 3 else None
        for begin, items, positive in self._parts(size):
            if size == 2:
                a, b = items
                make = lambda part: _two(one, _cut(a, part), _cut(b, part), positive[..., part])  # noqa: B023, E731
            else:
                ranks = [self._ranks(items, places) for places in ((0, 1), (0, 2), (1, 2))]
                make = lambda part: _three(pairs, *(_cut(rank, part) for rank in ranks), positive[..., part])  # noqa: B023
            self._blocks(size, begin, positive.shape[-1], make, pick)

    def _parts(self, size: int):
        """(first, items, tables) over the positive itemsets of a size: all at once if they are few, else
        those of one prefix together, in pieces. `items` says the splits, one per place: an array, or if it is the
        same
        for the whole part, one of length one."""
        signed, F, X = self.signed, self.F, self._X
        sets = signed.itemsets(size)
        if len(X) * F * self.K * len(sets.items) <= SMALL:
            columns = sets.items.T
            yield 0, list(columns), self._pairs(None, np.prod([X[:, column] for column in columns], axis=0))
            return
        for at, prefix in enumerate(signed.itemsets(size - 1).items.tolist()):
            begin, end = sets.first[-1][at : at + 2].tolist()
            rows, every = signed.rows(prefix), np.arange(F - (end - begin), F)
            step = max(1, PIECE // (max(F, len(rows)) * F * self.K))
            for first in range(0, end - begin, step):
                extra = every[first : first + step]
                yield (
                    begin + first,
                    [*(np.array([split]) for split in prefix), extra],
                    self._pairs(rows, X[rows[:, None], extra]),
                )

    def _signed_pairs(self, one):
        """The four signed tables of all pairs of splits, signs as in Itemsets: (g, k, f, pairs) each."""
        parts = [_two(one, a, b, positive) for _, (a, b), positive in self._parts(2)]
        table = np.concatenate(parts, axis=-1)  # (g, k, f, signs, pairs)
        return [np.ascontiguousarray(table[..., signs, :]) for signs in range(4)]

    def _ranks(self, items, places) -> np.ndarray:
        """The numbers of the pairs of splits at these places of itemsets."""
        return self.signed.itemsets(2).rank(np.stack(np.broadcast_arrays(*(items[place] for place in places)), axis=-1))

    def _blocks(self, size, begin, count, make, pick) -> None:
        """In blocks of itemsets that stay in the cache."""
        each = self.F**2 * self.K * self.dtype.itemsize << size
        step = max(1, BLOCK // each)
        for at in range(0, count, step):
            deadline.check()
            part = slice(at, min(at + step, count))
            pick(begin + at, self._cost(make(part), size, slice(begin + part.start, begin + part.stop)))

    def _cost(self, D, size, which) -> np.ndarray:
        """D (g, k, f, signs, itemsets) to the cost of each first split f, (f, signs, itemsets)."""
        sums, F = self.signed.table(size)[:, which, : self.loss.shape[1] + 1], self.F
        if self.scale > 1:
            sums = np.rint(sums * self.scale)
        loss, worst = sums[..., :-1], sums[..., -1]
        diagonal = D[np.arange(F), :, np.arange(F)]  # (f, k, signs, itemsets): the rows that have f
        E = diagonal[:, :, None] - D  # those that have g but not f
        if self.two:
            # |d_g| + |d - d_g| = max(|d|, |2 d_g - d|), so the extremes over g suffice.
            d1 = diagonal[:, 0].astype(np.int32 if self.dtype.kind == "i" else float)
            d = (loss[..., 0] - loss[..., 1]).astype(d1.dtype)
            sides = []
            for table, own in ((D, d1), (E, d - d1)):
                most, fewest = table[:, 0].max(axis=0), table[:, 0].min(axis=0)
                stump = np.maximum(2 * most - own, own - 2 * fewest)
                sides.append(np.maximum(np.abs(own), stump - 2 * self.price))
            return (self.price + (loss.sum(axis=-1) - sides[0] - sides[1]) / 2) / self.scale
        gain = (worst - np.moveaxis(loss, -1, 0)).astype(self.dtype)  # (k, signs, itemsets)
        ones = diagonal.transpose(1, 0, 2, 3)  # (k, f, signs, itemsets)
        sides = []
        for table, own in ((D, ones), (E, gain[:, None] - ones)):
            stump = (table.max(axis=1) + (own - table).max(axis=1)).max(axis=0)
            sides.append(np.maximum(own.max(axis=0), stump - self.price))
        return (self.price + worst - sides[0] - sides[1]) / self.scale


def _cut(labels: np.ndarray, part: slice):
    """A part of an index array: as a slice if it runs on by one, which numpy reads without a copy."""
    labels = labels if len(labels) == 1 else labels[part]
    return slice(labels[0], labels[-1] + 1) if (labels[1:] - labels[:-1] == 1).all() else labels


def _two(one, a, b, positive):
    """The tables of {±a, ±b}, (g, k, f, 4, itemsets), from those of one split; a and b index splits."""
    minus, plus = one
    mp = plus[..., b] - positive
    pm = plus[..., a] - positive
    return np.stack([minus[..., a] - mp, pm, mp, positive], axis=-2)


def _three(pairs, ab, ac, bc, positive):
    """The tables of {±a, ±b, ±c}, (g, k, f, 8, itemsets), from those of pairs, which ab, ac, bc index."""
    out = np.empty((*positive.shape[:-1], 8, positive.shape[-1]), positive.dtype)
    out[..., 7, :] = positive
    np.subtract(pairs[3][..., ab], positive, out=out[..., 3, :])  # + + -
    np.subtract(pairs[3][..., ac], positive, out=out[..., 5, :])  # + - +
    np.subtract(pairs[3][..., bc], positive, out=out[..., 6, :])  # - + +
    np.subtract(pairs[1][..., ab], out[..., 5, :], out=out[..., 1, :])  # + - -
    np.subtract(pairs[2][..., ab], out[..., 6, :], out=out[..., 2, :])  # - + -
    np.subtract(pairs[2][..., bc], out[..., 5, :], out=out[..., 4, :])  # - - +
    np.subtract(pairs[0][..., ab], out[..., 4, :], out=out[..., 0, :])  # - - -
    return out
