"""Trees whose leaves predict a line in one column: the exact cost of a leaf, and the search for the best tree.

A leaf predicts a + b x of one column x, or a number (b = 0), and costs the least of

    Σ w (y - a - b x)² + ridge b² = (Syy - Sxy² / (Sxx + ridge)),    Sxy = Σ w x y - Σ w x Σ w y / Σ w, …

over its columns. A line of more rows fits some of them, so V(A) <= V(B) for rows A within B, and intervals of cuts
bound trees (odtc.algorithms.moments.search).

Weights, numbers and cells are whole numbers of their units, and so are their sums. W = Σ w times each S above is a
difference of products: it is found modulo 2^64 and, in doubles, nearly, which together are all of its digits. So a cost
in doubles is off by a few units in the last place of Syy, and the trees that are equal within that are compared as
Fractions. Numbers with so many digits that their sums do not fit are rounded for the search, which then proves nothing.
"""

from fractions import Fraction

import numpy as np

from odtc.algorithms.moments.exact_costs import array_of, rows_by_part
from odtc.algorithms.moments.search import NO_LIMITS, SearchByIntervals
from odtc.algorithms.moments.tree_limits import Place
from odtc.base.kernels import kernel
from odtc.base.whole_numbers import whole_numbers

SUM_BITS = 61  # of a sum of whole numbers in 64 bits, with their sign
PRODUCT_BITS = 110  # of two sums: doubles know it to 2^59, which decides between its values modulo 2^64
WEIGHT_BITS = 30  # of the sum of the weights, if they are rounded
ROUNDED = 2.0**-44  # of the squared error around one number: rounding of the costs of all leaves together
TWO_62, TWO_64 = 2.0**62, 2.0**64
DIGITS_PER_BIT = 0.301


def apart(a, b, c, d):
    """Return a b - c d of whole numbers in 64 bits, nearest in doubles."""
    rest = np.int64(np.uint64(a) * np.uint64(b) - np.uint64(c) * np.uint64(d))
    near = float(a) * float(b) - float(c) * float(d)
    if -TWO_62 < near < TWO_62:
        return float(rest)
    return TWO_64 * np.rint((near - float(rest)) / TWO_64) + float(rest)


def line_cost(sums, ridge):
    """Return the cost of a leaf: its sums w, w y, w y², and w x, w x², w x y of each column, and the ridges."""
    w, best = float(sums[0]), 0.0
    if w <= 0.0:
        return 0.0
    for j in range(len(ridge)):
        k = 3 + 3 * j
        spread = apart(sums[0], sums[k + 1], sums[k], sums[k])
        if spread > 0.0:
            both = apart(sums[0], sums[k + 2], sums[k], sums[1])
            best = max(best, both * both / (spread + ridge[j] * w))
    return max(0.0, (apart(sums[0], sums[2], sums[1], sums[1]) - best) / w)


@kernel
def leaf_cost(table, ridge, rows):
    """Return the cost of a leaf of some rows; `table` is int64 (all rows, sums)."""
    total = np.zeros(table.shape[1], np.int64)
    for row in rows:
        for k in range(table.shape[1]):
            total[k] += table[row, k]
    return line_cost(total, ridge)


@kernel
def cut_costs(code, size, table, ridge, count, rows, limits, only_best):
    """Return float64 (columns, cuts): the cost of the two leaves of each cut, infinite if it is no less than the second
    of the `limits`, or if a leaf has fewer rows than the first; with `only_best` also if another cut costs no more."""
    n, width, (least, most) = len(rows), table.shape[1], limits
    found = np.full((len(size), max(1, np.max(size) - 1)), np.inf)
    total, held = np.zeros(width, np.int64), 0.0
    for row in rows:
        held += count[row]
        for k in range(width):
            total[k] += table[row, k]
    order, left, right = np.empty(n, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    for g in range(len(size)):
        begin = np.zeros(size[g] + 1, np.int64)
        for i in range(n):
            begin[code[g, rows[i]] + 1] += 1
        for v in range(size[g]):
            begin[v + 1] += begin[v]
        place = begin.copy()
        for i in range(n):
            v = code[g, rows[i]]
            order[place[v]] = rows[i]
            place[v] += 1
        left[:] = 0
        below = 0.0
        for v in range(size[g] - 1):
            if begin[v] == begin[v + 1]:
                continue
            for at in range(begin[v], begin[v + 1]):
                below += count[order[at]]
                for k in range(width):
                    left[k] += table[order[at], k]
            if begin[v + 1] == n:
                break
            if below < least or held - below < least:
                continue
            cost = line_cost(left, ridge)
            if cost >= most:
                continue
            for k in range(width):
                right[k] = total[k] - left[k]
            cost += line_cost(right, ridge)
            if cost < most:
                found[g, v] = cost
                if only_best:
                    most = cost
    return found


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    X, ones = random.integers(0, 40, (200, 2)), np.ones(200)
    costs = ExactLines(random.integers(0, 99, 200) * ones, X.astype(float), Fraction(0), ones, np.arange(200))
    LineSearch(X, (*costs.for_search()[:2], ones)).solve(1)


class ExactLines:
    """The exact costs of leaves that predict lines (`odtc.algorithms.moments.exact_costs.ExactLeaves`).

    Parameters
    ----------
    numbers, weight : float64 (data rows,)
    X : float64 (data rows, columns), the columns that a line may be in
    ridge : Fraction
    row_of : int64 (data rows,), the row of the search that each row of the data belongs to
    names : the name of each column in a `line`; by default its position
    """

    def __init__(self, numbers, X, ridge: Fraction, weight: np.ndarray, row_of: np.ndarray, names=None):
        self.ridge, self._row_of, self._n = ridge, row_of, int(row_of.max()) + 1
        self._names = range(X.shape[1]) if names is None else names
        self._weight, self._y = _Whole(weight, False), _Whole(numbers)
        self._x = [_Whole(column) for column in X.T]
        self.unit = self._weight.unit * self._y.unit**2
        self.ridges = [ridge / (self._weight.unit * one.unit**2) for one in self._x]
        self.sums = self._sums(self._weight.whole, self._y.whole, [one.whole for one in self._x])

    def _sums(self, w: np.ndarray, y: np.ndarray, columns: list[np.ndarray]) -> list[np.ndarray]:
        """Return the sums of each row of the search, from whole numbers of each row of the data."""
        w, y = w.astype(object), y.astype(object)
        terms = [w, w * y, w * y * y]
        for x in columns:
            weighed = w * x.astype(object)
            terms += [weighed, weighed * x, weighed * y]
        found = []
        for term in terms:
            total = np.zeros(self._n, object)
            np.add.at(total, self._row_of, term)
            found.append(array_of(total.tolist()))
        return found

    def _lines(self, rows: np.ndarray) -> tuple[Fraction, int, Fraction, list[int]]:
        """Return the cost of a leaf, the column of its line (-1 for none), its slope, and the sums of the rows."""
        w, s, q, *rest = sums = [int(one[rows].sum()) for one in self.sums]
        gain, column, slope = Fraction(0), -1, Fraction(0)
        for j, ridge in enumerate(self.ridges):
            x, xx, xy = rest[3 * j : 3 * j + 3]
            spread, both = w * xx - x * x, w * xy - x * s
            if spread and (own := both * both / (spread + ridge * w)) > gain:
                gain, column, slope = Fraction(own), j, both / (spread + ridge * w)
        return (w * q - s * s - gain) / w if w else Fraction(0), column, Fraction(slope), sums

    def leaf(self, rows: np.ndarray) -> Fraction:
        """Return the cost of a leaf in units of `unit`."""
        return self._lines(rows)[0]

    def line(self, rows: np.ndarray) -> tuple[int, float, float] | None:
        """Return the name of the column, the slope and the intercept of the best line of some rows; None if no line
        costs less than a number."""
        _, column, slope, sums = self._lines(rows)
        if column < 0:
            return None
        x, y = self._x[column], self._y
        slope *= y.unit / x.unit
        middle = x.of(Fraction(sums[3 + 3 * column], sums[0]))
        return self._names[column], float(slope), float(y.of(Fraction(sums[1], sums[0])) - slope * middle)

    def parts(self, part: np.ndarray, n_parts: int) -> list[Fraction]:
        """Return the costs of leaves that contain the rows of one part each; `part` is int64 (rows,)."""
        found = [Fraction(0)] * n_parts
        for at, rows in rows_by_part(part):
            found[at] = self.leaf(rows) * self.unit
        return found

    def least(self, rows: np.ndarray) -> Fraction:
        """Return 0: the rows of a leaf may be on a line."""
        return Fraction(0)

    @property
    def digits(self) -> int:
        """How many digits numbers may have so that all of their sums fit the search, if weights are 1."""
        return max(1, int((SUM_BITS - len(self._row_of).bit_length()) / 2 * DIGITS_PER_BIT))

    def for_search(self) -> tuple[np.ndarray, np.ndarray, Fraction, bool]:
        """Return the table of sums, int64 (rows, sums), the ridges, float64 (columns,), the unit of costs, and whether
        all digits are there."""
        if _fits(self.sums):
            return np.stack(self.sums, axis=1), np.array(list(map(float, self.ridges))), self.unit, True
        weight, of_weight = _rounded(self._weight, WEIGHT_BITS - len(self._row_of).bit_length())
        most = max(1, (SUM_BITS - int(weight.sum()).bit_length()) // 2)
        numbers, *columns = (_rounded(one, most) for one in (self._y, *self._x))
        sums = self._sums(weight, numbers[0], [whole for whole, _ in columns])
        ridges = [float(self.ridge / (of_weight * unit**2)) for _, unit in columns]
        return np.stack(sums, axis=1), np.array(ridges), of_weight * numbers[1] ** 2, False


class _Whole:
    """Numbers as whole multiples of `unit` around one of them."""

    def __init__(self, values: np.ndarray, centred: bool = True):
        whole, self.unit = whole_numbers(values)
        whole = whole.astype(object)
        self.middle = sorted(whole.tolist())[len(whole) // 2] if centred else 0
        self.whole = whole - self.middle

    def of(self, whole: Fraction) -> Fraction:
        """Return the number of a whole number."""
        return (whole + self.middle) * self.unit


def _fits(sums: list[np.ndarray]) -> bool:
    """Return whether all totals and their products fit the search."""
    bits = [sum(map(abs, one.tolist())).bit_length() for one in sums]
    squares = [bits[2], *bits[4::3]]
    return max(bits) <= SUM_BITS and bits[0] + max(squares) <= PRODUCT_BITS


def _rounded(numbers: _Whole, bits: int) -> tuple[np.ndarray, Fraction]:
    """Return whole numbers of at most this many bits and their unit; positive ones stay at least 1."""
    shift = max(0, int(max(map(abs, numbers.whole.tolist()))).bit_length() - bits)
    whole = [(one + (1 << shift >> 1)) >> shift for one in numbers.whole.tolist()]
    if not numbers.middle and min(numbers.whole) > 0:
        whole = [max(1, one) for one in whole]
    return np.array(whole, np.int64), numbers.unit * (1 << shift)


class LineSearch(SearchByIntervals):
    """The search on some rows.

    Parameters
    ----------
    rank : integers (rows, columns)
    terms : the table and the ridges of `ExactLines.for_search`, and float64 (rows,): how many rows of the data each is
    price, least, check, told, limits
        As for MomentSearch.

    Attributes
    ----------
    is_whole : bool
        Whether the sums have all digits of the numbers.
    """

    def __init__(self, rank, terms, price=0.0, least=1, check=lambda: None, told=None, limits=NO_LIMITS):
        self.terms = self.table, self.ridge, count = terms
        told = told or (lambda *_: None)
        super().__init__(rank, self.table[:, 0].astype(float), count, price, least, check, told, limits)
        self.slack, self.most_room, self.is_whole = 0.0, None, True

    @property
    def around_mean(self) -> float:
        """The squared error of all rows around one number."""
        return float(leaf_cost(self.table[:, :3].copy(), np.zeros(0), np.arange(len(self.table))))

    def _of_any_rows(self, rank, moments, limits) -> "LineSearch":
        return LineSearch(rank, self.terms, self.price, 1, self.check, limits=limits)

    def over(self, code: np.ndarray, least: int) -> "LineSearch":
        return LineSearch(code.T, self.terms, self.price, least, self.check)

    def _leaf(self, rows: np.ndarray) -> float:
        return float(leaf_cost(self.table, self.ridge, rows))

    def _gain(self, rows: np.ndarray) -> float:
        return -self._leaf(rows)

    def _costs(self, rows: np.ndarray, columns: tuple[int, ...] | None, most: float, only_best: bool) -> np.ndarray:
        code, size = self._over(columns)
        return cut_costs(code, size, *self.terms, rows, (self.least, float(most)), only_best)

    def _depth_one(self, rows: np.ndarray, columns: tuple[int, ...] | None):
        leaf = self._leaf(rows)
        if not len(self._over(columns)[1]):
            return -leaf, -1, -1
        costs = self._costs(rows, columns, leaf - self.price, True)
        column, cut = np.unravel_index(int(costs.argmin()), costs.shape)
        best = float(costs[column, cut])
        found = (-best - self.price, column, cut) if best < np.inf else (-leaf, -1, -1)
        return self._named(found, columns)

    def _shallow_cuts(self, rows: np.ndarray, depth: int, place: Place, reach: float) -> list[tuple[int, int, float]]:
        """Return (column, cut, cost) of all trees of one level that cost no more than `reach`."""
        columns = self.limits.columns(place, len(self.size)).tolist()
        if not columns:
            return []
        most = float(np.nextafter(reach - self.price, np.inf))
        costs = self._costs(rows, tuple(columns), most, False)
        at, cut = np.nonzero(costs + self.price <= reach)
        return [(columns[one], int(two), float(costs[one, two]) + self.price) for one, two in zip(at, cut)]
