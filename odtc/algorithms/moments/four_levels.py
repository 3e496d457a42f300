"""The best tree of four levels over few cuts, from the sums of all sets of up to four of them.

Each cut is a split of the rows, true or false for each row. Any four splits divide the rows into sixteen parts, whose
sums follow from the sums of the rows for which all splits of a set are true: the rows for which d is false are the
remaining ones. Two parts that differ only in one split are the leaves of this split, so

    V1(abc) = max_d G(abc and d) + G(abc and not d)      V2(ab) = max_c V1(ab and c) + V1(ab and not c)

each minus the penalty of a branch node, or G for one leaf if this is more; likewise for the levels above. A part is
computed once for all trees that contain it, whatever the order of their splits: p splits have 16 · p(p-1)(p-2)(p-3)/24
parts, which are all possible leaves.

A split is true on the side with fewer rows, so that few sets are true for a row. Plain loops, compiled by numba.
"""

import math
from collections.abc import Callable

import numpy as np

from odtc.algorithms.moments import laws
from odtc.algorithms.moments.laws import gain
from odtc.base.deadline import KERNEL_STEPS
from odtc.base.kernels import kernel

PLAIN_WORK = 600  # rows times cuts; fewer are searched without compiled code
MOST_SETS = 5_000_000  # maximum number of sets of four splits, whose sums are stored at once
MOST_SUMS = 5e8  # maximum number of sets of four splits that are true for a row, over all rows


@kernel
def add_sets(ones, begin, span, moments, sets):
    """Add the rows from `span`[0] to before `span`[1] to the sums of all sets of splits that are true.

    Parameters
    ----------
    ones, begin : int64, the splits that are true for each row, by rising number, and where those of a row begin
    span : two integers
    moments : float64 (2, rows): W and S
    sets : float64 (2, sets) of one, two, three and four splits; a set a > b > c > d has the position
        a(a-1)(a-2)(a-3)/24 + b(b-1)(b-2)/6 + c(c-1)/2 + d
    """
    alone, pairs, triples, fours = sets
    for i in range(span[0], span[1]):
        w, s = moments[0, i], moments[1, i]
        for ka in range(begin[i], begin[i + 1]):
            a = ones[ka]
            alone[0, a] += w
            alone[1, a] += s
            two, three = a * (a - 1) // 2, a * (a - 1) * (a - 2) // 6
            four = three * (a - 3) // 4
            for kb in range(begin[i], ka):
                b = ones[kb]
                pairs[0, two + b] += w
                pairs[1, two + b] += s
                to_pair, to_triple = b * (b - 1) // 2, b * (b - 1) * (b - 2) // 6
                for kc in range(begin[i], kb):
                    c = ones[kc]
                    at, last = three + to_pair + c, four + to_triple + c * (c - 1) // 2
                    triples[0, at] += w
                    triples[1, at] += s
                    for kd in range(begin[i], kc):
                        fours[0, last + ones[kd]] += w
                        fours[1, last + ones[kd]] += s


def fill_parts(sets, every, tests, part):
    """Write the sums of the eight parts that three splits a > b > c make into `part`, float64 (2, 8): the part 4·x +
    2·y + z has the rows for which a, b and c have the outcomes x, y and z (1 if true)."""
    alone, pairs, triples, _ = sets
    a, b, c = tests
    ab, ac, bc = a * (a - 1) // 2 + b, a * (a - 1) // 2 + c, b * (b - 1) // 2 + c
    abc = a * (a - 1) * (a - 2) // 6 + b * (b - 1) // 2 + c
    for k in range(2):
        part[k, 7] = triples[k, abc]
        part[k, 6], part[k, 5] = pairs[k, ab] - part[k, 7], pairs[k, ac] - part[k, 7]
        part[k, 3] = pairs[k, bc] - part[k, 7]
        part[k, 4] = alone[k, a] - pairs[k, ab] - part[k, 5]
        part[k, 2] = alone[k, b] - pairs[k, ab] - part[k, 3]
        part[k, 1] = alone[k, c] - pairs[k, ac] - part[k, 3]
        part[k, 0] = every[k] - alone[k, a] - part[k, 3] - part[k, 2] - part[k, 1]


def part_gains(work, n, terms, gained):
    """Write the gains of both outcomes of the first n splits on each part into `gained`, float64 (2, 8, splits); `work`
    and `terms` are as in `split_fourths`."""
    law, tiny = terms
    for side in range(2):
        for j in range(8):
            w, s, g = work[side, 0, j], work[side, 1, j], gained[side, j]
            if law == 0:
                for d in range(n):
                    g[d] = np.true_divide(s[d] * s[d], w[d]) if w[d] > tiny else 0.0
            else:
                for d in range(n):
                    g[d] = s[d] * math.log(s[d] / w[d]) if s[d] > tiny else 0.0


@kernel
def split_fourths(sets, every, first, terms, best, work):
    """Update `best` for the splits b, c, d < `first` = a. `best` is float64 (8, triples): by 4·x + 2·y + z, the
    outcomes of the splits of a triple (1 if true), the largest gain so far of splitting that part by a fourth
    split.

    Parameters
    ----------
    sets : as in `add_sets`
    every : (W, S) of all rows
    first : int, a
    terms : (law, tiny) of odtc.algorithms.moments.laws
    best : float64 (8, triples)
    work : float64 (2, 2, 8, splits): for both outcomes of d, by the part of a, b and c, sums that are overwritten
    """
    alone, pairs, triples, fours = sets
    a = first
    ab0, abc0 = a * (a - 1) // 2, a * (a - 1) * (a - 2) // 6
    abcd0 = abc0 * (a - 3) // 4
    part, gained = np.empty((2, 8)), np.empty((2, 8, work.shape[3]))
    for b in range(a):
        _ab, b2, b3 = ab0 + b, b * (b - 1) // 2, b * (b - 1) * (b - 2) // 6
        for c in range(b):
            c2 = c * (c - 1) // 2
            _ac, _bc, abc = ab0 + c, b2 + c, abc0 + b2 + c
            abd, acd, bcd, abcd = abc0 + b2, abc0 + c2, b3 + c2, abcd0 + b3 + c2
            fill_parts(sets, every, (a, b, c), part)
            for k in range(2):
                true, false = work[1, k], work[0, k]
                for d in range(c):
                    x7 = fours[k, abcd + d]
                    x6, x5, x3 = triples[k, abd + d] - x7, triples[k, acd + d] - x7, triples[k, bcd + d] - x7
                    x4 = pairs[k, ab0 + d] - triples[k, abd + d] - x5
                    x2 = pairs[k, b2 + d] - triples[k, abd + d] - x3
                    x1 = pairs[k, c2 + d] - triples[k, acd + d] - x3
                    x0 = alone[k, d] - pairs[k, ab0 + d] - x3 - x2 - x1
                    true[0, d], true[1, d], true[2, d], true[3, d] = x0, x1, x2, x3
                    true[4, d], true[5, d], true[6, d], true[7, d] = x4, x5, x6, x7
                for j in range(8):
                    for d in range(c):
                        false[j, d] = part[k, j] - true[j, d]
            part_gains(work, c, terms, gained)
            for j in range(8):
                most = best[j, abc]
                for d in range(c):
                    most = max(most, gained[0, j, d] + gained[1, j, d])
                best[j, abc] = most
            for side in range(2):
                g = gained[side]
                for x in range(2):
                    for y in range(2):
                        to = 4 * x + 2 * y + side
                        for d in range(c):  # split by c, by b and by a
                            best[to, abd + d] = max(best[to, abd + d], g[4 * x + 2 * y, d] + g[4 * x + 2 * y + 1, d])
                            best[to, acd + d] = max(best[to, acd + d], g[4 * x + y, d] + g[4 * x + 2 + y, d])
                            best[to, bcd + d] = max(best[to, bcd + d], g[2 * x + y, d] + g[4 + 2 * x + y, d])


@kernel
def join_levels(sets, every, terms, best):
    """Return the gains of trees in the parts of the rows that splits make: of two levels, float64 (splits, 2, splits,
    2), by two splits a > b and whether they are true; of three levels, float64 (splits, 2), by one.

    Parameters
    ----------
    sets, every : as in `split_fourths`
    terms : (law, tiny, price)
    best : as filled by `split_fourths`; it becomes the gains of trees of one level
    """
    law, tiny, price = terms
    p, part, at = sets[0].shape[1], np.empty((2, 8)), 0
    two = np.full((p, 2, p, 2), -np.inf)
    three = np.full((p, 2), -np.inf)
    for a in range(p):
        for b in range(a):
            for c in range(b):
                fill_parts(sets, every, (a, b, c), part)
                for j in range(8):
                    best[j, at] = max(gain(law, part[1, j], part[0, j], tiny), best[j, at] - price)
                for x in range(2):
                    for y in range(2):
                        to = 4 * x + 2 * y
                        two[a, x, b, y] = max(two[a, x, b, y], best[to, at] + best[to + 1, at])
                        to = 4 * x + y
                        two[a, x, c, y] = max(two[a, x, c, y], best[to, at] + best[to + 2, at])
                        to = 2 * x + y
                        two[b, x, c, y] = max(two[b, x, c, y], best[to, at] + best[to + 4, at])
                at += 1
    for a in range(p):
        for b in range(a):
            ab = a * (a - 1) // 2 + b
            for k in range(2):
                x = sets[1][k, ab]
                part[k, 3], part[k, 2], part[k, 1] = x, sets[0][k, a] - x, sets[0][k, b] - x
                part[k, 0] = every[k] - sets[0][k, a] - part[k, 1]
            for x in range(2):
                for y in range(2):
                    alone = gain(law, part[1, 2 * x + y], part[0, 2 * x + y], tiny)
                    two[a, x, b, y] = max(alone, two[a, x, b, y] - price)
            for x in range(2):
                three[a, x] = max(three[a, x], two[a, x, b, 0] + two[a, x, b, 1])
                three[b, x] = max(three[b, x], two[a, 0, b, x] + two[a, 1, b, x])
    for a in range(p):
        for x in range(2):
            w, s = sets[0][0, a], sets[0][1, a]
            if x == 0:
                w, s = every[0] - w, every[1] - s
            three[a, x] = max(gain(law, s, w, tiny), three[a, x] - price)
    return two, three


def repays(n_rows: int, size: np.ndarray) -> bool:
    """Return whether columns of this many ranks have few enough cuts, and too many for plain loops to try soon."""
    p = int((size - 1).sum())
    return 4 <= p and math.comb(p, 4) <= MOST_SETS and n_rows * p >= PLAIN_WORK


class FourLevels:
    """Search for the best tree of four levels on all rows.

    Parameters
    ----------
    code : int32 (columns, rows), ranks; a cut c sends ranks of at most c to the left
    moments : float64 (at least 2, rows): W and S
    terms : (law, tiny, price)
    check : called often; an exception that it raises ends the search

    Attributes
    ----------
    gain : float, of the best tree; None if so many sets of splits are true for rows that other searches are faster
    """

    def __init__(self, code: np.ndarray, moments: np.ndarray, terms: tuple, check: Callable[[], None]):
        self.cuts = [(g, c) for g, line in enumerate(code) for c in np.unique(line)[:-1].tolist()]
        left = np.stack([code[g] <= c for g, c in self.cuts])
        self.turned = 2 * left.sum(axis=1) > left.shape[1]  # the split is true on the right side
        self.true = left != self.turned[:, None]
        self.moments, self.terms, self.check = np.ascontiguousarray(moments[:2]), terms, check
        self.gain: float | None = None
        many = self.true.sum(axis=0).astype(float)
        if len(self.cuts) >= 4 and (many**4).sum() / 24 <= MOST_SUMS:
            self._sum(many)
            self._join()

    def _sum(self, many: np.ndarray) -> None:
        """Compute the sums of all sets of up to four splits; `many` is how many splits are true for each row."""
        p, n = self.true.shape
        self.every = self.moments.sum(axis=1)
        self.sets = tuple(np.zeros((2, math.comb(p, k))) for k in (1, 2, 3, 4))
        begin = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
        ones, work = np.nonzero(self.true.T)[1], np.cumsum(many**4 / 24 + 1)
        at = 0
        while at < n:
            self.check()
            to = max(at + 1, int(np.searchsorted(work, (work[at - 1] if at else 0.0) + KERNEL_STEPS)))
            add_sets(ones, begin, np.array([at, min(to, n)]), self.moments, self.sets)
            at = to

    def _join(self) -> None:
        """Compute the gains of trees in all parts of the rows."""
        p, (law, tiny, price) = len(self.cuts), self.terms
        self.one = np.full((8, math.comb(p, 3)), -np.inf)
        work = np.empty((2, 2, 8, p))
        for a in range(p):
            self.check()
            split_fourths(self.sets, self.every, a, (law, tiny), self.one, work)
        self.two, self.three = join_levels(self.sets, self.every, self.terms, self.one)
        self.gain = float(self.three.sum(axis=1).max()) - price

    def tree(self, near: float, last: object) -> tuple | None:
        """Return the best tree, nested (column, cut, left, right), None for a leaf, and `last` in place of a tree of
        one level. Of trees that are equally good up to `near`, return one with fewer leaves."""
        return self._below([], np.ones(self.true.shape[1], bool), near, last)

    def _below(self, path: list[tuple[int, int]], rows: np.ndarray, near: float, last: object) -> tuple | None:
        """Return the best tree, in the same form, for the rows for which the splits of a path have the outcomes of the
        path."""
        if len(path) == 3:
            return last
        gains = np.array([self._gain([*path, (t, 0)]) + self._gain([*path, (t, 1)]) for t in range(len(self.cuts))])
        law, tiny, price = self.terms
        w, s = self.moments[:, rows].sum(axis=1)
        test = int(gains.argmax())
        if gains[test] - price <= laws.gain(law, s, w, tiny) + near:
            return None
        below = []
        for true in (0, 1):
            own = rows & (self.true[test] == true)
            if not own.any():  # a split with no rows on one side: the other side has all rows
                return self._below([*path, (test, 1 - true)], rows, near, last)
            below.append(self._below([*path, (test, true)], own, near, last))
        return (*self.cuts[test], *(below if self.turned[test] else below[::-1]))

    def _gain(self, path: list[tuple[int, int]]) -> float:
        """Return the gain of the best tree of the remaining levels on the rows for which the splits of a path have its
        outcomes."""
        if len({test for test, _ in path}) < len(path):
            return -np.inf
        told = sorted(path, reverse=True)
        if len(told) == 1:
            return self.three[told[0]]
        if len(told) == 2:
            return self.two[*told[0], *told[1]]
        (a, x), (b, y), (c, z) = told
        return self.one[4 * x + 2 * y + z, math.comb(a, 3) + math.comb(b, 2) + c]
