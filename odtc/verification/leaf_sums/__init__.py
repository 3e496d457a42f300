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

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import NOT_WHOLE, TEXT, WHOLE, explain_error, validate
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError, OdtcError, TimeLimitReached
from odtc.verification.certificate import Proof, left_of
from odtc.verification.claim import SHAPE as CLAIM_SHAPE
from odtc.verification.claim import claim_of, expect
from odtc.verification.leaf_sums import likelihood, squares
from odtc.verification.leaf_sums.two_levels import kernel
from odtc.verification.threshold_columns import count_left_out, cut_groups, rank_columns

DEEPEST = 8
OFF = 0.01  # of what rounded sums of a check may be off by: what those of one tree are
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
    except (CertificateError, TimeLimitReached):
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
    floor = found.floor(every)
    tried = facts["tried"] if depth > 2 or facts["tried"] else 0
    bound = floor + Fraction(found.least(every, depth, tried, low - floor))
    said, exact = [f"lambda {float(price / unit):.10g}"] if price else [], low == high
    if not exact:
        ends = _less(low / unit), -_less(-high / unit)
        said.append(f"the tree costs {ends[0]:.17g} to {ends[1]:.17g}")
    objective = float(high / unit) if exact else ends[1]
    below = max(0.0, min(_less(bound / unit), float(np.nextafter(objective, -np.inf))))
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
        OFF * measure.near / float(unit),
    )


@dataclass(frozen=True)
class LeafSumsProof(Proof):
    """A proof whose numbers are rounded outwards, unless they are `exact`: the tree costs no more than `objective`, and
    no tree costs less than `bound`. The cost of a tree by sums in floats may be `off` by so much."""

    exact: bool
    off: float

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
    """Bounds of all trees on some rows.

    Most are rounded numbers less what rounding may add; the few that decide are counted again in whole numbers.

    Parameters
    ----------
    rank : int64 (rows, columns)
    measure : what leaves cost
    price : Fraction, of a branch node
    single : whether rows that no other is like cost something alone
    """

    def __init__(self, rank: np.ndarray, measure, price: Fraction, single: bool):
        self.rank, self.measure, self.moments, self.price, self.n_states = rank, measure, measure.moments, price, 1
        self.near = 2 * measure.near  # of rounded numbers: what they and a few sums of them are off by, and more
        self.slack = 64 * self.near  # no bound of rounded numbers misses the exact one by more
        self.floors = self._floors(single)
        self.some_floor, self.compiled = bool(self.floors.any()), None
        dense = np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in rank.T], axis=1)
        groups = cut_groups(dense, np.argsort(dense, axis=0, kind="stable").T)
        twice = np.bincount(np.abs(np.concatenate(groups))) > 1
        # By column the cuts that separate the rows as one of another column does: {rank: number of the group}.
        self.alike: list[dict[int, int]] = []
        self._known: dict[tuple[int, bytes], float] = {}  # what `best` found in rounded numbers
        for column, group in zip(rank.T, groups):
            own, values = np.abs(group), np.unique(column)
            self.alike.append({int(values[at]): int(own[at]) for at in np.flatnonzero(twice[own] & (own > 0))})

    def _floors(self, single: bool) -> np.ndarray:
        """int64 (rows,): what rows that no column tells apart cost at least, on the first of each, in units of
        2^-`shift` and rounded down: the sums are exact, and no tree avoids them."""
        _, first, kind = np.unique(self.rank, axis=0, return_index=True, return_inverse=True)
        kind = kind.reshape(-1)
        sums = np.zeros((3, len(first)), np.int64)
        for k in range(3):
            np.add.at(sums[k], kind, self.moments[k])
        told = np.flatnonzero(np.bincount(kind) > (0 if single else 1))
        exact = {k: self.measure.low(sums[:, k]) for k in told.tolist()}
        most = sum((max(cost, Fraction(0)) for cost in exact.values()), Fraction(0))
        self.shift = 61 - int(most).bit_length()
        found = np.zeros(len(self.rank), np.int64)
        for k, cost in exact.items():
            found[first[k]] = math.floor(cost * Fraction(2) ** self.shift) if cost > 0 else 0
        return found

    def floor(self, rows: np.ndarray, exact: bool = True) -> Fraction | float:
        """What rows that no test tells apart cost at least."""
        units = int(self.floors[rows].sum()) if self.some_floor else 0
        return Fraction(units) / 2**self.shift if exact else units / 2**self.shift

    def least(self, rows: np.ndarray, depth: int, tried, need: Fraction, exact: bool = True) -> Fraction | float:
        """No tree of this depth on these rows costs less than this, and what they cost at least (`floor`).

        Parameters
        ----------
        rows : int64 (rows,)
        depth : int
        tried : list or 0, as the certificate has it
        need : Fraction, what the bound should reach
        exact : whether a bound that misses it by no more than rounding is counted in whole numbers
        """
        deadline.check()
        self.n_states += not exact
        if not len(rows):
            raise ValueError("it bounds a state without rows")
        if tried == 0:
            if depth > 2:
                return 0.0
            floor = self.floor(rows, exact)
            return (self.best(rows, depth, need + floor) if exact else self._rounded(rows, depth)) - floor
        by_column: dict[int, dict] = {}
        for column, cut, *below in tried:
            cut = self._stands_for(rows, column, cut)
            if column in by_column and cut in by_column[column]:
                raise ValueError("it tries a cut twice")
            by_column.setdefault(column, {})[cut] = _Sides(self, rows, column, cut, below, depth)
        found = self._leaf(rows, exact) - self.floor(rows, exact)
        alike: dict[int, Fraction | float] = {}
        price = self.price if exact else float(self.price)
        for column in range(self.rank.shape[1]):
            ranks = np.unique(self.rank[rows, column])
            cuts = by_column.pop(column, {})
            if len(ranks) > 1:
                wanted = need - self.price if exact else None
                bound = self._column(column, ranks, cuts, wanted, alike)
                found = found if bound is None else min(found, price + bound)
        if by_column:
            raise ValueError("it tries cuts of columns that it has not")
        return min([found, *(price + cost for cost in alike.values())])

    def _stands_for(self, rows: np.ndarray, column: int, cut: int) -> int:
        """The rank of these rows whose cut separates them as `cut` does; raises ValueError if it leaves one side
        without rows."""
        rank = self.rank[rows, column]
        left = rank[rank <= cut]
        if not 0 < len(left) < len(rank):
            raise ValueError("it tries a cut that separates no rows")
        return int(left.max())

    def _column(self, column: int, ranks: np.ndarray, cuts: dict, need: Fraction | None, alike: dict):
        """The least that a cut of a column costs, without its branch node: a tried cut by its sides, those between two
        tried ones by the left side of the lower and the right side of the upper one. Cuts that separate all rows as one
        of another column does have the best bound of all these, in `alike`. None if all cuts are such."""
        places, ranks, last = sorted(cuts), ranks[:-1], int(ranks[-1])
        above = np.searchsorted(places, ranks)  # the first tried cut that is not below
        tried = np.append(places, -1)[above] == ranks
        sides, zero = [cuts[place] for place in places], 0.0
        one = [zero, *accumulate((side.found[0] for side in sides), max)]  # of the left sides of the first tried cuts
        two = [*accumulate((side.found[1] for side in reversed(sides)), max)][::-1] + [zero]

        def of(low: int, high: int) -> Fraction | float:
            """The left side of tried cut `low` and the right side of tried cut `high`."""
            left, right = one[low + 1], two[high]
            if need is not None and need - self.slack <= left + right < need:
                left, right = Fraction(left), Fraction(right)
                for side in reversed(sides[: low + 1]):
                    if left + right < need and side.found[0] >= left - self.slack:
                        left = max(left, side.again(0, need - right))
                for side in sides[high:]:
                    if left + right < need and side.found[1] >= right - self.slack:
                        right = max(right, side.again(1, need - left))
            return left + right

        below = above - ~tried
        shared = self.alike[column]
        for cut, group in shared.items():
            at = int(np.searchsorted(ranks, cut, side="right")) - 1  # the rank that stands for it on these rows
            if 0 <= at and cut < last:
                alike[group] = max(alike.get(group, zero), of(int(below[at]), int(above[at])))
        if shared:
            own = ~np.isin(ranks, list(shared))
            below, above = below[own], above[own]
        pairs = sorted(set(zip(below.tolist(), above.tolist())))
        return min((of(*pair) for pair in pairs), default=None)

    def _leaf(self, rows: np.ndarray, exact: bool = True) -> Fraction | float:
        sums = self.moments[:, rows].sum(axis=1)
        if exact:
            return self.measure.low(sums)
        return float(self.measure.costs(*sums.astype(float)[:, None])[0]) - self.near

    def best(self, rows: np.ndarray, depth: int, need: Fraction | None = None) -> Fraction:
        """No more than what the best tree of one or two levels costs, and just that if it is less than `need`."""
        leaf, cheap = self._leaf(rows), self._rounded(rows, depth)
        if need is not None and not need - self.slack <= cheap < need:
            return min(leaf, Fraction(cheap))
        columns, cuts, costs = self._roots(rows, depth)
        found = [leaf]
        for at in np.flatnonzero(costs <= costs.min(initial=np.inf) + self.near).tolist():
            left = self.rank[rows, columns[at]] <= cuts[at]
            parts = rows[left], rows[~left]
            below = (self._leaf(part) if depth == 1 else self.best(part, 1) for part in parts)
            found.append(self.price + sum(below, Fraction(0)))
        return min(found)

    def _rounded(self, rows: np.ndarray, depth: int) -> float:
        """No more than the same, of rounded numbers."""
        inside = np.zeros(len(self.rank), bool)
        inside[rows] = True
        key = depth, np.packbits(inside).tobytes()
        if key not in self._known:
            costs = self._roots(rows, depth)[2]
            self._known[key] = min(self._leaf(rows, False), float(costs.min(initial=np.inf)) - self.near)
        return self._known[key]

    def _roots(self, rows: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(column, cut, cost as a float) of each cut of these rows, with the best tree of depth - 1 on either side."""
        measure = self.measure
        if depth == 2 and self.compiled is None:
            self.compiled = kernel(float(len(rows) * self.rank.shape[1]) ** 2)
        if depth == 2 and self.compiled is not None:
            return self.compiled(self.rank, self.moments, rows, measure.LAW, measure.root_unit, float(self.price))
        found = [self._root_costs(rows, column, depth) for column in range(self.rank.shape[1])]
        columns = np.repeat(np.arange(len(found)), [len(cuts) for cuts, _ in found])
        return columns, *(np.concatenate(part) for part in zip(*found))

    def _root_costs(self, rows: np.ndarray, column: int, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """The cuts of one column, and what they cost, in numpy."""
        deadline.check()
        ranks, at = np.unique(self.rank[rows, column], return_inverse=True)
        if len(ranks) < 2:
            return ranks[:0], np.zeros(0)
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
        return ranks[:-1], price + left + right


class _Sides:
    """What the two sides of a tried cut cost at least: rounded at first, and again if that decides."""

    def __init__(self, bound: LeafSumsBound, rows: np.ndarray, column: int, cut: int, below: list, depth: int):
        left = bound.rank[rows, column] <= cut
        self.parts, self.below, self.bound, self.depth = (rows[left], rows[~left]), below, bound, depth - 1
        if len(below) != 2:
            raise ValueError("a cut that it tries has not two sides")
        self.found = [self._least(side, Fraction(0), False) for side in (0, 1)]
        self.needs: list[Fraction | None] = [None, None]  # what a bound in whole numbers was asked for

    def _least(self, side: int, need: Fraction, exact: bool) -> Fraction | float:
        if self.below[side] is None:
            return 0.0
        return self.bound.least(self.parts[side], self.depth, self.below[side], need, exact)

    def again(self, side: int, need: Fraction) -> Fraction:
        """The same in whole numbers, if it does not reach what it needs to."""
        last = self.needs[side]
        if self.found[side] < need and (last is None or last < need):
            self.needs[side] = need
            self.found[side] = max(self.found[side], self._least(side, need, True))
        return Fraction(self.found[side])
