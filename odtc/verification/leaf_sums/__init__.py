"""The check of a certificate of a tree whose leaves cost a function of sums over their rows: regression, survival.

    {"schema": "odtc.certificate/regression", "data": {...}, "classes": ["mean"], "columns": [...], "depth": D,
     "number_scale": Y, "weight_scale": W, "price": "p/q", "claim": "p/q", "tree": {...}, "tried": [...], "of": {...}}

Costs are in whole units (odtc.verification.leaf_sums.squares, likelihood), a branch node costs `price` of them. The
tree costs `claim`, or of survival between two ends, ["p/q", "p/q"]; it is counted row by row. Columns are
those of a certificate over thresholds.

What rows cost that no column tells apart is taken off first: no tree avoids it. `tried` lists cuts of the rows of a
state, for trees of three levels or more: [column, cut, left, right]. A side is null (nothing is said of it), 0 (it is
bounded by the best tree of two levels or less, which the checker finds), or such a list of its own. As one answer for
more rows costs no less, a cut between two tried cuts a < b costs at least what the left side of a and the right side of
b do. So the checker finds, from the tried cuts alone, a bound of all trees; the tree is the best one if no tree costs
less than the lesser end of its cost. All that is rounded is rounded so that the bound holds.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import NOT_WHOLE, TEXT, WHOLE, explain_error, validate
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError, OdtcError
from odtc.verification.certificate import Proof, left_of
from odtc.verification.claim import SHAPE as CLAIM_SHAPE
from odtc.verification.claim import claim_of, expect
from odtc.verification.leaf_sums import likelihood, squares
from odtc.verification.threshold_columns import count_left_out, rank_columns

DEEPEST = 8
WIDTH = 1e-10  # of the ends of a cost that is rounded: trees nearer than that are not told apart
SHAPE = {"depth": WHOLE, "price": TEXT, "tree": {}, "of": CLAIM_SHAPE}
MEASURES = {one.SCHEMA: one for one in (squares, likelihood)}


def measure_of(task: str):
    """The module that knows what the leaves of a task cost."""
    return next(one for one in MEASURES.values() if one.TASK == task)


def check_leaf_sums(facts: dict, dataset: Dataset) -> Proof:
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
        validate(facts, SHAPE | MEASURES[facts["schema"]].SHAPE)
        return _check(facts, dataset)
    except CertificateError:
        raise
    except (*NOT_WHOLE, OdtcError, ArithmeticError, RecursionError) as problem:
        raise CertificateError(f"the certificate is not whole: {explain_error(problem)}") from None


def _check(facts: dict, dataset: Dataset) -> Proof:
    law = MEASURES[facts["schema"]]
    if dataset.task != law.TASK:
        raise CertificateError(f"the certificate is of a {law.TASK}, the data was read for {dataset.task}")
    ends = facts["claim"] if law.ROUNDS else [facts["claim"]] * 2
    depth, price, claim = facts["depth"], Fraction(facts["price"]), [Fraction(end) for end in ends]
    if not 1 <= depth <= DEEPEST or price < 0 or len(claim) != 2:
        raise ValueError(f"its depth is {depth}, its price {price}, its claim has {len(claim)} ends")
    measure = law.MEASURE(facts, dataset)
    ranks = rank_columns(facts["columns"], dataset, left_of)
    absent = count_left_out(dataset, ranks)
    terms = claim_of(dataset, depth, int(ranks.size.sum()), not absent[1])
    expect(facts["of"], terms)
    every = np.arange(dataset.n_rows)
    low, high = (_tree_cost(facts["tree"]["root"], dataset, measure, every, depth, price, end) for end in (0, 1))
    # Objectives are (1 - λ) times the cost, and the price is λ / (1 - λ) units.
    unit = measure.unit + price
    if claim[0] > low or claim[1] < high:
        raise CertificateError(
            f"the tree of the certificate costs {float(low / unit):.17g} to {float(high / unit):.17g} on the data, the "
            f"certificate claims {float(claim[0] / unit):.17g} to {float(claim[1] / unit):.17g}"
        )
    found = LeafSumsBound(ranks.rank, measure, price, law.SINGLE)
    bound = found.floor(every) + found.least(every, depth, facts["tried"] or 0)
    said, exact = [f"lambda {float(price / unit):.10g}"] if price else [], low == high
    if not exact:
        ends = _less(low / unit), -_less(-high / unit)
        said.append(f"the tree costs {ends[0]:.17g} to {ends[1]:.17g}")
    objective = float(high / unit) if exact else ends[1]
    below = min(_less(bound / unit), float(np.nextafter(objective, -np.inf)))
    return LeafSumsProof(
        objective,
        depth,
        int(ranks.size.sum()),
        dataset.n_rows,
        found.n_states,
        "; ".join(said),
        absent[0],
        absent[1],
        terms,
        objective if exact and bound >= low else below,
        exact,
    )


@dataclass(frozen=True)
class LeafSumsProof(Proof):
    """A proof whose numbers are rounded outwards, unless they are `exact`: the tree costs no more than `objective`, and
    no tree costs less than `bound`."""

    exact: bool

    @property
    def optimal(self) -> bool:
        return self.bound == self.objective or (
            not self.exact and self.bound >= self.objective - WIDTH * max(1.0, abs(self.objective))
        )


def _less(number: Fraction) -> float:
    """A float that is no more."""
    return float(np.nextafter(float(number), -np.inf))


def _tree_cost(node, dataset: Dataset, measure, rows: np.ndarray, left: int, price: Fraction, end: int) -> Fraction:
    """The lesser (0) or greater (1) end of what a tree costs."""
    if "split" not in node:
        told = [*node["counts"], *node["rows"], *node["sums"]]
        held = dataset.sums[rows].sum(axis=0)
        found = [held[1], held[0], *held]
        if len(told) != len(found) or not np.allclose(told, found, rtol=1e-9, atol=1e-9 * np.abs(dataset.sums).max()):
            raise CertificateError("a leaf of the tree of the certificate tells other sums than its rows have")
        return (measure.low, measure.high)[end](measure.moments[:, rows].sum(axis=1))
    if not left:
        raise CertificateError("the tree of the certificate is deeper than it says")
    goes = left_of(node["split"], dataset)[rows]
    sides = (node["left"], rows[goes]), (node["right"], rows[~goes])
    return price + sum(_tree_cost(below, dataset, measure, part, left - 1, price, end) for below, part in sides)


class LeafSumsBound:
    """Bounds of all trees on some rows, of ranks int (rows, columns) and what leaves cost (`measure`); `single` if rows
    that no other is like cost something alone."""

    def __init__(self, rank: np.ndarray, measure, price: Fraction, single: bool):
        self.rank, self.measure, self.moments, self.price, self.n_states = rank, measure, measure.moments, price, 0
        self.near = measure.near
        _, kind = np.unique(rank, axis=0, return_inverse=True)
        self.kind = kind.reshape(-1)
        sums = np.zeros((3, int(self.kind.max()) + 1), np.int64)
        for k in range(3):
            np.add.at(sums[k], self.kind, self.moments[k])
        told = np.flatnonzero(np.bincount(self.kind) > (0 if single else 1))
        self.floors = {k: measure.low(sums[:, k]) for k in told.tolist()}  # of rows that no column tells apart

    def least(self, rows: np.ndarray, depth: int, tried) -> Fraction:
        """No tree of this depth on these rows costs less than this, and what they cost at least (`floor`)."""
        deadline.check()
        self.n_states += 1
        if not len(rows):
            raise ValueError("it bounds a state without rows")
        if depth > 2 and tried == 0:
            return Fraction(0)
        leaf, floor = self._leaf(rows), self.floor(rows)
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

    def _leaf(self, rows: np.ndarray) -> Fraction:
        return self.measure.low(self.moments[:, rows].sum(axis=1))

    def floor(self, rows: np.ndarray) -> Fraction:
        """What rows that no test tells apart cost at least."""
        found = [self.floors[k] for k in np.unique(self.kind[rows]).tolist() if k in self.floors]
        return sum(found, Fraction(0))

    def best(self, rows: np.ndarray, depth: int) -> Fraction:
        """What the best tree of one or two levels costs, with a test at its root; the leaf if there is none."""
        leaf = self._leaf(rows)
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
                found.append(self.price + sum(self._leaf(part) for part in parts))
            else:
                below = (min(self._leaf(part), self.best(part, 1)) for part in parts)
                found.append(self.price + sum(below))
        return min(found)

    def _root_costs(self, rows: np.ndarray, column: int, depth: int):
        """(cut, cost as a float) of each cut of a column, with the best tree of depth - 1 on either side."""
        ranks, at = np.unique(self.rank[rows, column], return_inverse=True)
        if len(ranks) < 2:
            return []
        costs = self.measure.costs
        w, s, q = (np.bincount(at, self.moments[k, rows].astype(float), len(ranks)).cumsum() for k in range(3))
        left, right = costs(w[:-1], s[:-1], q[:-1]), costs(w[-1] - w[:-1], s[-1] - s[:-1], q[-1] - q[:-1])
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
                np.minimum(side, price + (costs(*one) + costs(*two)).min(axis=1), out=side)
        return zip(ranks[:-1].tolist(), (price + left + right).tolist())
