"""Costs of the leaves of a regression with linear leaves, in exact rationals, and lower bounds on them in doubles.

A leaf costs the least of Σ w (y - a - b x)² + ridge b² over the numeric columns x without missing cells, or with b = 0:

    (W Syy - (W Sxy)² / (W Sxx + ridge W)) / W,    W Sxy = W Σ w x y - Σ w x Σ w y, …

Numbers, weights and cells are whole at the scales of the certificate ("number_scale", "weight_scale", and "scale" for
each of "lines"), and are counted from one in their middle. Each sum is stored in `parts` of PART bits and is exact. A
cost is a difference of products, which doubles would round too much. So a product is a pair of doubles (Dekker 1971),
whose error is at most ROUND of it, and each cost is lowered by all errors. W Sxx is 0, or at least the square of the
least distance of two different cells. Nothing of the search is used.

More rows cost no less, but with a ridge two leaves may cost more than one for the rows of both. So no cost is
subtracted for rows that no column separates.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from odtc.base.json_schema import TEXT, WHOLE
from odtc.base.kernels import kernel
from odtc.data.dataset import NUMERIC, Dataset
from odtc.errors import CertificateError
from odtc.verification.leaf_sums.squares import NEAR, whole

TASK = "linear"
SHAPE = {
    "number_scale": WHOLE,
    "lines": [{"feature": TEXT, "scale": WHOLE}],
    "claim": TEXT,
}
ROUNDS = SINGLE = False
LARGEST_SCALE = 10**40  # of the numbers of the data: their sums still have few parts
PART, MOST_ROWS, MOST_PARTS = 36, 2**26, 10  # bits of a part, rows whose parts can be added, parts of a sum
STATED = Fraction(1, 10**9)  # extra cost of the line of a leaf, relative to the squared error around one number
DOUBLE = Fraction(1, 2**52)  # relative: more than the rounding of a slope or an intercept
ROUND = 2.0**-96  # relative: more than the error of a product of pairs of doubles
OFF = 2.0**-50  # relative: more than the error of a difference of products of doubles
TIGHT = 2.0**-44  # error of a gain, relative to W Syy, above which it is computed by pairs of doubles
UP = 1 + 2.0**-48  # factor above the rounding error of the operations on a cost in doubles
HALVES = 2.0**27 + 1  # factor that splits a double into two halves, whose products are exact


def as_pair(parts):
    """Return a sum as the double nearest to it, nearly, and the rest; its parts are int64 (parts,)."""
    above, below, carried = 0.0, 0.0, np.empty_like(parts)
    carry = np.int64(0)
    for k in range(len(parts) - 1):
        carried[k] = (parts[k] + carry) & ((1 << PART) - 1)
        carry = (parts[k] + carry) >> PART
    carried[-1] = parts[-1] + carry
    for k in range(len(parts) - 1, -1, -1):
        one, two = above * 2.0**PART, float(carried[k])
        rest = below * 2.0**PART + float(carried[k] - np.int64(two))
        whole = one + two
        back = whole - one
        rest += (one - (whole - back)) + (two - back)
        above = whole + rest
        below = rest - (above - whole)
    return above, below


def times(one, two):
    """Return the product of two pairs of doubles as such a pair, nearly."""
    (a, rest), (b, other) = one, two
    whole, left, right = a * b, HALVES * a, HALVES * b
    a1, b1 = left - (left - a), right - (right - b)
    a2, b2 = a - a1, b - b1
    off = ((a1 * b1 - whole) + a1 * b2 + a2 * b1) + a2 * b2
    return whole, off + (a * other + rest * b)


def apart(a, b, c, d):
    """Return a b - c d of pairs of doubles, and a bound on its error."""
    (one, rest), (two, other) = times(a, b), times(c, d)
    whole = one - two
    back = whole - one
    found = whole + (((one - (whole - back)) + (-two - back)) + (rest - other))
    return found, ROUND * (abs(one) + abs(two)) + (UP - 1) * abs(found)


def most_gain(sums, j, terms):
    """Return an upper bound on W times the gain of a line in column j, from products in doubles, and how much less it
    may be; the sums have one part each."""
    w, y, x = float(sums[0, 0]), float(sums[1, 0]), float(sums[3 + 3 * j, 0])
    xx, xy = w * float(sums[4 + 3 * j, 0]), w * float(sums[5 + 3 * j, 0])
    spread, both = xx - x * x, abs(xy - x * y)
    of_spread, of_both = OFF * (xx + x * x), OFF * (abs(xy) + abs(x * y))
    if spread + of_spread < terms[1, j]:
        return 0.0, 0.0
    most, few, ridge = both + of_both, max(0.0, both - of_both), terms[0, j] * w
    found = UP * most * most / (max(spread - of_spread, terms[1, j]) + ridge / UP)
    return found, found - few * few / (UP * (spread + of_spread + UP * UP * ridge))


def least_cost(sums, terms):
    """Return a lower bound on the cost of a leaf.

    Parameters
    ----------
    sums : int64 (3 + 3 columns, parts): w, w y, w y², and of each column w x, w x², w x y
    terms : float64 (2, columns): no more than the ridge of each column, and than its W Sxx that is not 0
    """
    w, y, yy = as_pair(sums[0]), as_pair(sums[1]), as_pair(sums[2])
    if w[0] <= 0.0:
        return 0.0
    around, off = apart(w, yy, y, y)
    best = 0.0
    for j in range(terms.shape[1]):
        if len(sums[0]) == 1:
            most, open_by = most_gain(sums, j, terms)
            if most <= best or open_by <= TIGHT * around:
                best = max(best, most)
                continue
        x = as_pair(sums[3 + 3 * j])
        spread, of_spread = apart(w, as_pair(sums[4 + 3 * j]), x, x)
        if spread + of_spread < terms[1, j]:
            continue
        both, of_both = apart(w, as_pair(sums[5 + 3 * j]), x, y)
        most = abs(both) + of_both
        best = max(best, most * most / (max(spread - of_spread, terms[1, j]) + terms[0, j] * w[0] / UP))
    return max(0.0, (around - off - best * UP) / w[0] - (UP - 1) * around / w[0])


@kernel
def leaf_bound(parts, rows, terms):
    """Return a lower bound on the cost of a leaf of some rows; `parts` is int64 (all rows, sums, parts)."""
    total = np.zeros((parts.shape[1], parts.shape[2]), np.int64)
    for row in rows:
        total += parts[row]
    return least_cost(total, terms)


@kernel
def stump_bounds(rank, parts, rows, terms, least):
    """Return (column, cut, lower bound on the cost of the two leaves) of each cut with `least` rows on either side; a
    bound above the least one may be of one leaf only.

    Parameters
    ----------
    rank : int64 (all rows, columns)
    parts : int64 (all rows, sums, parts)
    rows : int64 (rows,)
    terms : as in `least_cost`
    least : int
    """
    n, p = len(rows), rank.shape[1]
    most = n * p
    columns, cuts, costs, many = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most), 0
    lowest = np.inf
    total = np.zeros((parts.shape[1], parts.shape[2]), np.int64)
    for row in rows:
        total += parts[row]
    left = np.empty_like(total)
    for g in range(p):
        own = np.empty(n, np.int64)
        for i in range(n):
            own[i] = rank[rows[i], g]
        order = np.argsort(own)
        left[:] = 0
        for at in range(n - 1):
            left += parts[rows[order[at]]]
            cut = own[order[at]]
            if own[order[at + 1]] == cut or at + 1 < least or n - at - 1 < least:
                continue
            columns[many], cuts[many] = g, cut
            cost = least_cost(left, terms)
            if cost < lowest:  # else the right side cannot make it the least
                cost += least_cost(total - left, terms)
                lowest = min(lowest, cost)
            costs[many] = cost
            many += 1
    return columns[:many], cuts[:many], costs[:many]


class Lines:
    """The costs of leaves of some data, by `moments`, int64 (sums and their parts, rows)."""

    LAW = None  # a cost is no function of two sums

    def __init__(self, facts: dict, dataset: Dataset):
        listed, names = facts["lines"], line_features(dataset)
        if [one["feature"] for one in listed] != [dataset.features[at].name for at in names]:
            raise CertificateError(
                "the columns of the lines of the certificate are not the numeric columns of the data"
            )
        weight_scale, number_scale = facts["weight_scale"], facts["number_scale"]
        self._features = {one["feature"]: j for j, one in enumerate(listed)}
        self._scales = [number_scale, *(one["scale"] for one in listed)]
        w, is_whole = whole(dataset.weight, self._expect_scale(weight_scale))
        columns = [dataset.sums[:, -1], *(dataset.X[:, at] for at in names)]
        if not (is_whole and min(w) > 0 and np.isfinite(columns).all()):
            raise CertificateError(
                "the weights or the cells of the data are not the numbers that the certificate needs"
            )
        counted = [whole(column, self._expect_scale(scale)) for column, scale in zip(columns, self._scales)]
        if not all(exact for _, exact in counted):
            raise CertificateError("the numbers of the data are not whole numbers at the scales of the certificate")
        self._largest = [max(map(abs, values)) for values, _ in counted[1:]]
        self.middles = [sorted(values)[len(values) // 2] for values, _ in counted]
        y, *xs = ([one - middle for one in values] for (values, _), middle in zip(counted, self.middles))
        self.unit = weight_scale * number_scale**2
        ridge = Fraction(repr(float(dataset.source.get("ridge", 0.0)))) * weight_scale
        self._ridges = [ridge * one["scale"] ** 2 for one in listed]
        self._sums_of(w, y, xs)
        gaps = [min((b - a for a, b in zip(each, each[1:])), default=1) for each in map(sorted, map(set, xs))]
        down = [[float(one) / UP for one in values] for values in (self._ridges, [gap * gap for gap in gaps])]
        self._terms = np.array(down).reshape(2, len(xs))
        self.near = NEAR * float(sum(weight * one * one for weight, one in zip(w, y)))

    @staticmethod
    def _expect_scale(scale: int) -> int:
        if not 0 < scale <= LARGEST_SCALE:
            raise CertificateError("the numbers of the data have too many digits to be added as whole numbers")
        return scale

    def _sums_of(self, w: list[int], y: list[int], xs: list[list[int]]) -> None:
        """Divide the sums of each row into parts."""
        every = [w, [a * b for a, b in zip(w, y)], [a * b * b for a, b in zip(w, y)]]
        for x in xs:
            every += [[a * b for a, b in zip(w, x)], [a * b * b for a, b in zip(w, x)]]
            every.append([a * b * c for a, b, c in zip(w, x, y)])
        bits = max(sum(map(abs, terms)).bit_length() for terms in every)
        self._parts = max(1, -(-(bits - 60) // PART) + 1)
        if self._parts > MOST_PARTS or len(w) >= MOST_ROWS:
            raise CertificateError("the numbers of the data are too large to be added as whole numbers")
        last = PART * (self._parts - 1)
        cut = [
            [[one >> PART * k & (1 << PART) - 1 for one in terms] for k in range(self._parts - 1)] for terms in every
        ]
        parts = [[*below, [one >> last for one in terms]] for below, terms in zip(cut, every)]
        self._table = np.ascontiguousarray(np.array(parts, np.int64).transpose(2, 0, 1))
        self.moments = np.ascontiguousarray(self._table.reshape(len(w), -1).T)

    def _whole_sums(self, sums) -> list[int]:
        """Return whole sums from the sums of their parts."""
        sums = np.asarray(sums).reshape(-1, self._parts).tolist()
        return [sum(part << PART * k for k, part in enumerate(parts)) for parts in sums]

    def low(self, sums) -> Fraction:
        """Return the cost of a leaf whose rows have these whole sums."""
        w, y, yy, *rest = self._whole_sums(sums)
        gain = Fraction(0)
        for j, ridge in enumerate(self._ridges):
            x, xx, xy = rest[3 * j : 3 * j + 3]
            if spread := w * xx - x * x:
                gain = max(gain, Fraction(w * xy - x * y) ** 2 / (spread + ridge * w))
        return (w * yy - y * y - gain) / w if w else Fraction(0)

    high = low

    def ends(self, low: Fraction, high: Fraction, bound: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """Return the ends of the cost of a tree and a bound of all trees unchanged."""
        return low, high, bound

    def leaf(self, rows: np.ndarray) -> float:
        """Return a lower bound on the cost of a leaf of some rows."""
        return float(leaf_bound(self._table, rows, self._terms))

    def stumps(self, rank: np.ndarray, rows: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (column, cut, lower bound on the cost of the two leaves) of each cut of some rows."""
        columns, cuts, costs = stump_bounds(rank, self._table, rows, self._terms, max(1, least))
        return columns, cuts, costs

    def expect_line(self, line: dict | None, rows: np.ndarray) -> None:
        """Raise CertificateError if the line that a leaf predicts is not the best one of its rows, but for rounding."""
        w, y, yy, *rest = self._whole_sums(self.moments[:, rows].sum(axis=1))
        slope = move = step = Fraction(0)
        ridge, x, xx, xy = Fraction(0), 0, 0, 0
        if line is not None:
            if (j := self._features.get(line["feature"], -1)) < 0:
                raise CertificateError("a leaf of the tree of the certificate predicts a line in no numeric column")
            number, scale = self._scales[0], self._scales[1 + j]
            ridge, (x, xx, xy) = self._ridges[j], rest[3 * j : 3 * j + 3]
            slope = Fraction(line["slope"]) * number / scale
            move = Fraction(line["intercept"]) * number - self.middles[0] + slope * self.middles[1 + j]
            step = DOUBLE * (abs(Fraction(line["intercept"])) * number + abs(slope) * self._largest[j])
        else:
            move = Fraction(y, w)
        # Σ w (y - move - slope x)² + ridge slope², of counted numbers
        paid = yy - 2 * (move * y + slope * xy) + move * move * w + 2 * move * slope * x + slope * slope * (xx + ridge)
        rounded = w * step * step + ridge * (DOUBLE * slope) ** 2
        if paid - self.low(self.moments[:, rows].sum(axis=1)) > STATED * (yy - Fraction(y * y, w)) + rounded:
            raise CertificateError(
                "a leaf of the tree of the certificate predicts another line than the best of its rows"
            )


def line_features(dataset: Dataset) -> list[int]:
    """Return the positions of the columns that lines may be in: numeric, no dates, without missing cells."""
    found = enumerate(dataset.features)
    return [at for at, one in found if one.kind == NUMERIC and not one.is_date and not np.isnan(dataset.X[:, at]).any()]


def scales_of(dataset: Dataset) -> dict:
    """Return the scales of a certificate at which all decimals are whole."""
    lines = [{"feature": dataset.features[at].name, "scale": _scale(dataset.X[:, at])} for at in line_features(dataset)]
    return {"number_scale": _scale(dataset.sums[:, -1]), "weight_scale": _scale(dataset.weight), "lines": lines}


def _scale(numbers: np.ndarray) -> int:
    """Return the least power of ten at which decimals are whole."""
    places = [Decimal(repr(one)).normalize().as_tuple().exponent for one in np.unique(numbers).tolist()]
    return 10 ** max(0, *(-int(one) for one in places))


MEASURE = Lines
