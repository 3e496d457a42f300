"""Trees whose leaves predict a line in one column: the exact cost of a leaf, and the search for the best tree.

A leaf predicts a + b x of one column x, or a number (b = 0), and costs the least of

    Σ w (y - a - b x)² + ridge b² = (Syy - Sxy² / (Sxx + ridge)),    Sxy = Σ w x y - Σ w x Σ w y / Σ w, …

over its columns. A line of more rows fits some of them, so V(A) <= V(B) for rows A within B, and intervals of cuts
bound trees (odtc.algorithms.moments.search).

Weights, numbers and cells are whole numbers of their units, and so are their sums. W = Σ w times each S above is a
difference of products. The search adds up sums in doubles, if these hold them exactly, or in pairs of doubles, and
takes the error of each product into account (Dekker 1971), so the difference keeps its digits. If a leaf has two
different cells of a column, W Sxx is at least the square of their distance times their weights, so its relative error
is bounded, and with it the error of the cost. Trees that are equal within that bound are compared as Fractions.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from odtc.algorithms.moments.exact_costs import ExactLeaves, array_of
from odtc.algorithms.moments.kernels import by_rank
from odtc.base.kernels import kernel
from odtc.base.whole_numbers import MAX_EXACT, whole_numbers

WHOLE_BITS = 53  # maximum bits of a whole number in a double
SCALED_BITS = 40  # of numbers in pairs of doubles: the products of their products are doubles, too
HALVES = 2.0**27 + 1  # splits a double in two halves, whose products are exact
ROUND_PAIR = 2.0**-103  # relative rounding error of a sum or product of pairs of doubles, with a margin
# Rounding error of the costs of all leaves together, relative to the squared error around one number.
ROUNDED = 2.0**-44
MOST_OFF = 2.0**-20  # maximum relative error of W Sxx for which costs are compared


def product(a, b):
    """Return a b and its rounding error (Dekker 1971)."""
    whole, one, two = a * b, HALVES * a, HALVES * b
    a1, b1 = one - (one - a), two - (two - b)
    a2, b2 = a - a1, b - b1
    return whole, ((a1 * b1 - whole) + a1 * b2 + a2 * b1) + a2 * b2


def add(total, terms, sign, width):
    """Add or subtract sums, of `width` doubles, or as many pairs with all second halves at the end."""
    if len(total) == width:
        for k in range(width):
            total[k] += sign * terms[k]
        return
    for k in range(width):
        one, two = total[k], sign * terms[k]
        whole = one + two
        back = whole - one
        rest = (one - (whole - back)) + (two - back) + (total[width + k] + sign * terms[width + k])
        total[k] = whole + rest
        total[width + k] = rest - (total[k] - whole)


def apart(sums, width, a, b, c, d):
    """Return the product of the sums a and b less that of c and d."""
    if len(sums) == width:  # of whole numbers
        one, two = sums[a] * sums[b], sums[c] * sums[d]
        if abs(one) < MAX_EXACT and abs(two) < MAX_EXACT:
            return one - two
    (one, error), (two, off) = product(sums[a], sums[b]), product(sums[c], sums[d])
    if len(sums) > width:
        error += sums[a] * sums[width + b] + sums[width + a] * sums[b]
        off += sums[c] * sums[width + d] + sums[width + c] * sums[d]
    whole = one - two
    back = whole - one
    return whole + (((one - (whole - back)) + (-two - back)) + (error - off))


def line_cost(sums, ridge):
    """Return the cost of a leaf: its sums w, w y, w y², and w x, w x², w x y of each column; `ridge` is the penalty of
    each column and the W Sxx that is 0."""
    w, best, width = sums[0], 0.0, 3 + 3 * ridge.shape[1]
    if w <= 0.0:
        return 0.0
    for j in range(ridge.shape[1]):
        k = 3 + 3 * j
        spread = apart(sums, width, 0, k + 1, k, k)
        if spread > ridge[1, j]:
            both = apart(sums, width, 0, k + 2, k, 1)
            best = max(best, both * both / (spread + ridge[0, j] * w))
    return max(0.0, (apart(sums, width, 0, 2, 1, 1) - best) / w)


@kernel
def leaf_cost(table, ridge, rows):
    """Return the cost of a leaf of some rows; `table` is float64 (all rows, sums)."""
    total = np.zeros(table.shape[1])
    for row in rows:
        add(total, table[row], 1.0, 3 + 3 * ridge.shape[1])
    return line_cost(total, ridge)


@kernel
def line_costs(sums, ridge):
    """Return float64 (leaves,): the costs of leaves with these sums, float64 (leaves, sums)."""
    found = np.empty(len(sums))
    for i in range(len(sums)):
        found[i] = line_cost(sums[i], ridge)
    return found


@kernel
def best_cut(code, size, table, ridge, count, rows, limits, found):
    """Return what `best_cut` of odtc.algorithms.moments.search.CutCosts returns, for leaves with a line; `table` and
    `ridge` are the sums and the penalties of a Table."""
    n, width, listed, (least, most) = len(rows), 3 + 3 * ridge.shape[1], len(found) > 0, limits
    best, column, cut = np.inf, -1, -1
    total, held = np.zeros(table.shape[1]), 0.0
    for row in rows:
        held += count[row]
        add(total, table[row], 1.0, width)
    left, right = np.empty(len(total)), np.empty(len(total))
    for g in range(len(size)):
        order, begin = by_rank(code[g][rows], size[g])
        left[:] = 0
        below = 0.0
        for v in range(size[g] - 1):
            if begin[v] == begin[v + 1]:
                continue
            for at in range(begin[v], begin[v + 1]):
                row = rows[order[at]]
                below += count[row]
                add(left, table[row], 1.0, width)
            if begin[v + 1] == n:
                break
            if below < least or held - below < least:
                continue
            cost = line_cost(left, ridge)
            if cost >= most:
                continue
            right[:] = total
            add(right, left, -1.0, width)
            cost += line_cost(right, ridge)
            if cost < most:
                if listed:
                    found[g, v] = cost
                else:
                    best, column, cut = cost, g, v
                    most = cost
    return best, column, cut


class ExactLines(ExactLeaves):
    """The exact costs of leaves that predict lines.

    Parameters
    ----------
    numbers, weight : float64 (data rows,)
    X : float64 (data rows, columns), the columns that a line may be in
    ridge : Fraction
    row_of : int64 (data rows,), the row of the search that each row of the data belongs to
    names : the name of each column in a `line`; by default its position

    Attributes
    ----------
    cells : float64 (columns + 2, data rows), the numbers, the weights and the columns
    """

    def __init__(self, numbers, X, ridge: Fraction, weight: np.ndarray, row_of: np.ndarray, names=None):
        self.ridge, self.row_of, self._n = ridge, row_of, int(row_of.max()) + 1
        self.names = range(X.shape[1]) if names is None else names
        self.cells = np.vstack([numbers, weight, X.T])
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
            np.add.at(total, self.row_of, term)
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
        return self.names[column], float(slope), float(y.of(Fraction(sums[1], sums[0])) - slope * middle)

    def least(self, rows: np.ndarray) -> Fraction:
        """Return 0: the rows of a leaf may be on a line."""
        return Fraction(0)

    def for_search(self) -> "Table":
        """Return the Table of sums for a search."""
        bits = max(sum(map(abs, one.tolist())).bit_length() for one in self.sums)
        pairs = bits > WHOLE_BITS
        y, *columns = (max(0, one.bits - SCALED_BITS) if pairs else 0 for one in (self._y, *self._x))
        shifts = [0, y, 2 * y, *(shift for x in columns for shift in (x, 2 * x, x + y))]
        first = [np.array([_divided(one, shift) for one in part.tolist()]) for part, shift in zip(self.sums, shifts)]
        table = np.stack(first, axis=1)
        if pairs:
            rests = [_rests(*one) for one in zip(self.sums, first, shifts)]
            table = np.concatenate([table, np.stack(rests, axis=1)], axis=1)
        off = (4 * len(self.row_of) + 20 if pairs else 1) * ROUND_PAIR
        w, s, q, *rest = (sum(map(abs, one.tolist())) for one in self.sums)
        least = self._weight.least**2
        products = [w * square for square in rest[1::3]]
        share = max((off * _nearest(Fraction(one, least * x.gap**2)) for one, x in zip(products, self._x)), default=0.0)
        zeros = [_divided(one, 2 * shift) * 2 * off for one, shift in zip(products, columns)]
        ridges = [_nearest(ridge / 4**shift) for ridge, shift in zip(self.ridges, columns)]
        total = sum(self.sums[1].tolist())
        around = _divided(q, 2 * y) - float(Fraction(total * total, w * 4**y))
        slack = ROUNDED * around + 8 * share * _divided(q, 2 * y)
        return Table(table, np.array([ridges, zeros]), self.unit * 4**y, slack if share < MOST_OFF else np.inf)


class Table(NamedTuple):
    """The sums of the rows of a search.

    Attributes
    ----------
    sums : float64 (rows, sums or 2 sums)
    ridges : float64 (2, columns), the penalties and the W Sxx that are 0
    unit : Fraction, of costs
    off : float, a bound on the error of the cost of a leaf; infinite if there is none
    """

    sums: np.ndarray
    ridges: np.ndarray
    unit: Fraction
    off: float


def _divided(whole: int, shift: int) -> float:
    """Return a whole number divided by a power of two, nearest in doubles."""
    return whole / (1 << shift)


def _nearest(number: Fraction) -> float:
    """Return the nearest double; infinity for a number beyond all."""
    try:
        return float(number)
    except OverflowError:
        return np.inf


def _rests(whole: np.ndarray, first: np.ndarray, shift: int) -> np.ndarray:
    """Return float64 (rows,): the exact quotients of whole numbers minus the doubles of `_divided`."""
    exact = (one - Fraction(near) * (1 << shift) for one, near in zip(whole.tolist(), first.tolist()))
    return np.array([float(one / (1 << shift)) for one in exact])


class _Whole:
    """Numbers as whole multiples of `unit` around one of them, with the `least` of them, the least `gap` between two
    that differ, and their `bits`."""

    def __init__(self, values: np.ndarray, centred: bool = True):
        whole, self.unit = whole_numbers(values)
        whole = whole.astype(object)
        each = sorted(set(whole.tolist()))
        self.least, self.gap = each[0], min((b - a for a, b in zip(each, each[1:])), default=1)
        self.middle = sorted(whole.tolist())[len(whole) // 2] if centred else 0
        self.whole = whole - self.middle
        self.bits = max(map(abs, self.whole.tolist())).bit_length()

    def of(self, whole: Fraction) -> Fraction:
        """Return the number of a whole number."""
        return (whole + self.middle) * self.unit


class LineCosts:
    """The costs of leaves with a line (odtc.algorithms.moments.search.CutCosts).

    Parameters
    ----------
    table : Table
    count : float64 (rows,), how many rows of the data each row represents
    """

    relative = 0.0

    def __init__(self, table: Table, count: np.ndarray):
        self.terms = table.sums, table.ridges, count

    def leaf(self, rows: np.ndarray) -> float:
        return float(leaf_cost(*self.terms[:2], rows))

    def best_cut(self, code, size, rows, limits, found) -> tuple[float, int, int]:
        return best_cut(code, size, *self.terms, rows, limits, found)
