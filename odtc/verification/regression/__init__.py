"""The check of a certificate of a regression tree, in exact rationals.

    {"schema": "odtc.certificate/regression", "data": {...}, "classes": ["mean"], "columns": [...], "depth": D,
     "number_scale": Y, "weight_scale": W, "price": "p/q", "claim": "p/q", "tree": {...}, "tried": [...], "of": {...}}

Numbers times Y and weights times W are whole. A leaf costs Σ w y² - (Σ w y)² / Σ w and a branch node `price`, in these
units, and the tree costs `claim`, counted row by row. Columns are those of a certificate over thresholds.

What rows cost that no column tells apart is taken off first: no tree avoids it. `tried` lists cuts of the rows of a
state, for trees of three levels or more: [column, cut, left, right]. A side is null (nothing is said of it), 0 (it is
bounded by the best tree of two levels or less, which the checker finds), or such a list of its own. As one answer for
more rows costs no less, a cut between two tried cuts a < b costs at least what the left side of a and the right side of
b do. So the checker finds, from the tried cuts alone, a bound of all trees; the tree is the best one if that is its
cost.
"""

from fractions import Fraction

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import NOT_WHOLE, TEXT, WHOLE, explain_error, validate
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError, OdtcError
from odtc.verification.certificate import Proof, left_of
from odtc.verification.claim import SHAPE as CLAIM_SHAPE
from odtc.verification.claim import claim_of, expect
from odtc.verification.threshold_columns import count_left_out, rank_columns

SCHEMA = "odtc.certificate/regression"
NEAR = 1e-12  # of the squares of all rows: what floats are off by, and more; what is nearer is compared in rationals
DEEPEST = 8
SHAPE = {
    "depth": WHOLE,
    "number_scale": WHOLE,
    "weight_scale": WHOLE,
    "price": TEXT,
    "claim": TEXT,
    "tree": {},
    "of": CLAIM_SHAPE,
}


def check_regression(facts: dict, dataset: Dataset) -> Proof:
    """The proof that a certificate is, of these rows.

    Parameters
    ----------
    facts : dict
        The certificate.
    dataset : Dataset

    Returns
    -------
    Proof

    Raises
    ------
    CertificateError
        If it proves nothing of this data.
    """
    try:
        validate(facts, SHAPE)
        return _check(facts, dataset)
    except CertificateError:
        raise
    except (*NOT_WHOLE, OdtcError, ArithmeticError, RecursionError) as problem:
        raise CertificateError(f"the certificate is not whole: {explain_error(problem)}") from None


def _check(facts: dict, dataset: Dataset) -> Proof:
    if dataset.task != "regression":
        raise CertificateError(f"the certificate is of a regression, the data was read for {dataset.task}")
    depth, price, claim = facts["depth"], Fraction(facts["price"]), Fraction(facts["claim"])
    if not 1 <= depth <= DEEPEST or price < 0:
        raise ValueError(f"its depth is {depth}, its price {price}")
    moments = whole_moments(dataset, facts["number_scale"], facts["weight_scale"])
    ranks = rank_columns(facts["columns"], dataset, left_of)
    absent = count_left_out(dataset, ranks)
    terms = claim_of(dataset, depth, int(ranks.size.sum()), not absent[1])
    expect(facts["of"], terms)
    cost = _tree_cost(facts["tree"]["root"], dataset, moments, np.arange(dataset.n_rows), depth, price)
    unit = facts["weight_scale"] * facts["number_scale"] ** 2
    unit += price  # 1 / (1 - λ) units, as the price is λ / (1 - λ) of them: objectives are (1 - λ) times the cost
    if cost != claim:
        raise CertificateError(
            f"the tree of the certificate costs {float(cost / unit):.10g} on the data, the certificate claims "
            f"{float(claim / unit):.10g}"
        )
    found = RegressionBound(ranks.rank, moments, price)
    every = np.arange(dataset.n_rows)
    bound = min(found.floor(every) + found.least(every, depth, facts["tried"] or 0), claim)
    said = f"lambda {float(price / unit):.10g}" if price else ""
    objective = float(claim / unit)
    below = min(float(bound / unit), float(np.nextafter(objective, -1)))
    return Proof(
        objective,
        depth,
        int(ranks.size.sum()),
        dataset.n_rows,
        found.n_states,
        said,
        absent[0],
        absent[1],
        terms,
        objective if bound == claim else below,
    )


def whole_moments(dataset: Dataset, number_scale: int, weight_scale: int) -> np.ndarray:
    """int64 (3, rows): w, w y and w y² in whole units. Raises CertificateError if they are no whole numbers there."""
    if not (0 < number_scale < 2**40 and 0 < weight_scale < 2**40):
        raise ValueError("its scales are no whole numbers above 0")
    weight, y = dataset.weight * weight_scale, dataset.sums[:, 2] / dataset.sums[:, 1] * number_scale
    w, t = np.rint(weight), np.rint(y)
    if max(np.abs(weight - w).max(), np.abs(y - t).max()) > 1e-4 or (w <= 0).any():
        raise CertificateError("the numbers of the data are no whole numbers at the scales of the certificate")
    if (w * t * t).sum() >= 2.0**62 or np.abs(w * t).sum() >= 2.0**53:
        raise CertificateError("the numbers of the data are too large to be added as whole numbers")
    w, t = w.astype(np.int64), t.astype(np.int64)
    return np.stack([w, w * t, w * t * t])


def leaf_cost(sums) -> Fraction:
    """Σ w y² - (Σ w y)² / Σ w of whole sums."""
    w, s, q = map(int, sums)
    return q - Fraction(s * s, w) if w else Fraction(0)


def _tree_cost(node, dataset: Dataset, moments: np.ndarray, rows: np.ndarray, left: int, price: Fraction) -> Fraction:
    if "split" not in node:
        told = [*node["counts"], *node["rows"], *node["sums"]]
        held = dataset.sums[rows].sum(axis=0)
        found = [held[1], held[0], *held]
        if len(told) != len(found) or not np.allclose(told, found, rtol=1e-9, atol=1e-9 * np.abs(dataset.sums).max()):
            raise CertificateError("a leaf of the tree of the certificate tells other sums than its rows have")
        return leaf_cost(moments[:, rows].sum(axis=1))
    if not left:
        raise CertificateError("the tree of the certificate is deeper than it says")
    goes = left_of(node["split"], dataset)[rows]
    sides = (node["left"], rows[goes]), (node["right"], rows[~goes])
    return price + sum(_tree_cost(below, dataset, moments, part, left - 1, price) for below, part in sides)


class RegressionBound:
    """Bounds of all trees on some rows, of whole moments int64 (3, rows) and ranks int (rows, columns)."""

    def __init__(self, rank: np.ndarray, moments: np.ndarray, price: Fraction):
        self.rank, self.moments, self.price, self.n_states = rank, moments, price, 0
        self.near = NEAR * float(moments[2].sum())
        _, kind = np.unique(rank, axis=0, return_inverse=True)
        self.kind = kind.reshape(-1)
        sums = np.zeros((3, int(self.kind.max()) + 1), np.int64)
        for k in range(3):
            np.add.at(sums[k], self.kind, moments[k])
        several = np.flatnonzero(np.bincount(self.kind) > 1)
        self.floors = {k: leaf_cost(sums[:, k]) for k in several.tolist()}  # of rows that no column tells apart

    def least(self, rows: np.ndarray, depth: int, tried) -> Fraction:
        """No tree of this depth on these rows costs less than this, and what they cost at least (`floor`)."""
        deadline.check()
        self.n_states += 1
        if not len(rows):
            raise ValueError("it bounds a state without rows")
        if depth > 2 and tried == 0:
            return Fraction(0)
        leaf, floor = leaf_cost(self.moments[:, rows].sum(axis=1)), self.floor(rows)
        if depth <= 2:
            return min(leaf, self.best(rows, depth)) - floor
        by_column: dict[int, dict] = {}
        for column, cut, *sides in tried:
            if column in by_column and cut in by_column[column]:
                raise ValueError("it tries a cut twice")
            by_column.setdefault(column, {})[cut] = self._sides(rows, column, cut, sides, depth)
        found = leaf - floor
        for column in range(self.rank.shape[1]):
            ranks = np.unique(self.rank[rows, column])
            cuts = by_column.pop(column, {})
            if len(ranks) > 1:
                found = min(found, self.price + self._column(ranks[:-1].tolist(), cuts))
        if by_column:
            raise ValueError("it tries cuts of columns that it has not")
        return found

    def _sides(self, rows, column, cut, sides, depth) -> list[Fraction]:
        left = self.rank[rows, column] <= cut
        parts = rows[left], rows[~left]
        return [
            Fraction(0) if below is None else self.least(part, depth - 1, below)
            for part, below in zip(parts, sides, strict=True)
        ]

    def _column(self, ranks: list[int], cuts: dict[int, list[Fraction]]) -> Fraction:
        """The least that a cut of a column costs, without its branch node: a tried cut by its sides, those between two
        tried ones by the left side of the lower and the right side of the upper one."""
        places = sorted(cuts)
        if any(place not in ranks for place in places):
            raise ValueError("it tries a cut that separates no rows in another way")
        left, right = [cuts[place][0] for place in places], [cuts[place][1] for place in places]
        for i in range(1, len(places)):
            left[i] = max(left[i], left[i - 1])
            right[-1 - i] = max(right[-1 - i], right[-i])
        found = [a + b for a, b in zip(left, right)]
        ends = [-np.inf, *places, np.inf]
        for i, (low, high) in enumerate(zip(ends[:-1], ends[1:])):
            if any(low < rank < high for rank in ranks):
                found.append((left[i - 1] if i else 0) + (right[i] if i < len(right) else 0))
        return Fraction(min(found))

    def floor(self, rows: np.ndarray) -> Fraction:
        """What rows that no test tells apart cost at least."""
        found = [self.floors[k] for k in np.unique(self.kind[rows]).tolist() if k in self.floors]
        return sum(found, Fraction(0))

    def best(self, rows: np.ndarray, depth: int) -> Fraction:
        """What the best tree of one or two levels costs, with a test at its root; the leaf if there is none."""
        leaf = leaf_cost(self.moments[:, rows].sum(axis=1))
        if depth < 1:
            return leaf
        costs, cuts = [], []
        for column in range(self.rank.shape[1]):
            for cut, cost in self._root_costs(rows, column, depth):
                costs.append(cost)
                cuts.append((column, cut))
        if not costs:
            return leaf
        near = [at for at, cost in enumerate(costs) if cost <= min(costs) + self.near]
        found = []
        for at in near:
            left = self.rank[rows, cuts[at][0]] <= cuts[at][1]
            parts = rows[left], rows[~left]
            if depth == 1:
                found.append(self.price + sum(leaf_cost(self.moments[:, part].sum(axis=1)) for part in parts))
            else:
                below = (min(leaf_cost(self.moments[:, part].sum(axis=1)), self.best(part, 1)) for part in parts)
                found.append(self.price + sum(below))
        return min(found)

    def _root_costs(self, rows: np.ndarray, column: int, depth: int):
        """(cut, cost as a float) of each cut of a column, with the best tree of depth - 1 on either side."""
        ranks, at = np.unique(self.rank[rows, column], return_inverse=True)
        if len(ranks) < 2:
            return []
        w, s, q = (np.bincount(at, self.moments[k, rows].astype(float), len(ranks)).cumsum() for k in range(3))
        left, right = _costs(w[:-1], s[:-1], q[:-1]), _costs(w[-1] - w[:-1], s[-1] - s[:-1], q[-1] - q[:-1])
        price = float(self.price)
        for other in range(self.rank.shape[1]) if depth == 2 else ():
            own, place = np.unique(self.rank[rows, other], return_inverse=True)
            if len(own) < 2:
                continue
            table = np.zeros((3, len(ranks), len(own)))
            for k in range(3):
                np.add.at(table[k], (at, place), self.moments[k, rows].astype(float))
            below = table.cumsum(axis=1).cumsum(axis=2)
            whole = below[:, -1:, :]
            for side, sums in ((left, below[:, :-1]), (right, whole - below[:, :-1])):
                one, two = sums[:, :, :-1], sums[:, :, -1:] - sums[:, :, :-1]
                np.minimum(side, price + (_costs(*one) + _costs(*two)).min(axis=1), out=side)
        return zip(ranks[:-1].tolist(), (price + left + right).tolist())


def _costs(w, s, q) -> np.ndarray:
    return q - np.divide(s * s, w, out=np.zeros_like(s), where=w > 0)
