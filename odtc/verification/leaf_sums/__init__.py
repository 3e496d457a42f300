"""The check of a certificate of a tree whose leaves cost a function of sums over their rows: regression, survival.

    {"schema": "odtc.certificate/regression", "data": {...}, "classes": ["mean"], "columns": [...], "depth": D,
     "number_scale": Y, "weight_scale": W, "price": "p/q", "claim": "p/q", "tree": {...}, "tried": [...], "of": {...}}

Numbers of many digits have "number_bits" instead of "number_scale" (odtc.verification.leaf_sums.squares).

Costs are in whole units (odtc.verification.leaf_sums.squares, likelihood), a branch node costs `price` of them. The
tree costs `claim`, or of survival between two ends, ["p/q", "p/q"]; it is counted row by row. Columns are
those of a certificate over thresholds.

What rows cost that no column tells apart is taken off first: no tree avoids it. `tried` lists cuts of the rows of a
state, for trees of three levels or more: [column, cut, left, right]. A side is null (nothing is said of it), 0 (it is
bounded by the best tree of two levels or less, which the checker finds), or such a list of its own. As one answer for
more rows costs no less, a cut between two tried cuts a < b costs at least what the left side of a and the right side of
b do. So the checker finds, from the tried cuts alone, a bound of all trees; the tree is the best one if no tree costs
less than the lesser end of its cost. All that is rounded is rounded so that the bound holds.

If cuts are few, `tried` may be "all": all cuts are tried, of trees of three or four levels without limits.

`least` and `leaves` limit the trees: rows of the data in each leaf, and leaves of a tree. A tried cut then states the
leaves of its left side, [column, cut, leaves, left, right], and the cuts of a column are bounded for each such number.
If leaves must have rows, the best tree of fewer rows may cost more; so a tried cut has two sides more, of trees whose
leaves may have any rows, and these bound the cuts beside it.

`tests` and `together` limit all tests of a tree (odtc.verification.leaf_sums.whole_trees); then all trees are tried.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import NOT_WHOLE, TEXT, WHOLE, explain_error, validate
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError, OdtcError, TimeLimitReached
from odtc.verification.certificate import Proof, left_of
from odtc.verification.claim import OF_TREE, claim_of, expect, expect_tree
from odtc.verification.claim import SHAPE as CLAIM_SHAPE
from odtc.verification.leaf_sums import every_tree, likelihood, squares, tried_cuts, tried_stumps, two_levels
from odtc.verification.leaf_sums.tried_cuts import Sides, TriedCuts
from odtc.verification.leaf_sums.whole_trees import WholeTrees
from odtc.verification.threshold_columns import count_left_out, cut_groups, rank_columns

DEEPEST = 8
ALL = "all"  # of a state of which all cuts are tried
OFF = 0.01  # of what rounded sums of a check may be off by: what those of one tree are
SMALL = 10_000  # sums of ranks that are told in one table, at any number of rows
CELLS = 1 << 16  # pairs of cuts that are looked at together: their arrays stay near the processor
COLUMNS, PAIR = 2e-4, 5e-8  # CPU seconds of a pair of columns in numpy, and of a pair of cuts, about
WIDTH = 1e-10  # of the ends of a cost that is rounded: trees nearer than that are not told apart
NEAR_END = WIDTH / 4  # of the lesser end: a bound as near is not counted again
WHOLE_SUMS = 1e-12  # of the events: what costs by sums of whole numbers are off by, and more
SHAPE = {
    "classes": [TEXT],
    "depth": WHOLE,
    "price": TEXT,
    "tree": OF_TREE,
    "of": CLAIM_SHAPE,
    "least?": WHOLE,
    "leaves?": WHOLE,
    "tests?": WHOLE,
    "together?": [[TEXT]],
}
MEASURES = {one.SCHEMA: one for one in (squares, likelihood)}


def measured_tasks() -> tuple[str, ...]:
    """The tasks whose leaves a certificate counts; a task of another package has none of its own."""
    return tuple(one.TASK for one in MEASURES.values())


def measure_of(task: str):
    """The module that knows what the leaves of a task cost."""
    return next(one for one in MEASURES.values() if one.TASK == task)


class Limit(NamedTuple):
    """What trees must keep: rows of the data in each leaf, and leaves at most, 0 of any number."""

    rows: int = 1
    leaves: int = 0

    @property
    def words(self) -> list[str]:
        """The same as constraints are written."""
        rows = [f"leaf_rows >= {self.rows}"] if self.rows > 1 else []
        return rows + ([f"leaves <= {self.leaves}"] if self.leaves else [])

    def at(self, depth: int) -> "tuple[Limit, int]":
        """The limit and the depth of trees of a depth: no limit on leaves that it tells, no depth that they do not
        reach."""
        if not self.leaves:
            return self, depth
        depth = min(depth, self.leaves - 1)
        return (Limit(self.rows) if self.leaves >= 2**depth else self), depth

    def shares(self, depth: int) -> list[int]:
        """The leaves that the left side of a root may have, [0] of any number."""
        if not self.leaves:
            return [0]
        most = 2 ** (depth - 1)
        return list(range(max(1, self.leaves - most), min(most, self.leaves - 1) + 1))

    def of_sides(self, share: int) -> "tuple[Limit, Limit]":
        """The limits of the sides of a root of which the left one has so many leaves."""
        return Limit(self.rows, share), Limit(self.rows, self.leaves - share if share else 0)


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


def stated_leaf_sums(facts: dict, dataset: Dataset) -> Proof:
    """What a certificate says, its bounds unchecked: for who was stopped before their check had ended."""
    return _check(facts, dataset, bounds=False)


def _check(facts: dict, dataset: Dataset, bounds: bool = True) -> Proof:
    law = MEASURES[facts["schema"]]
    if dataset.task != law.TASK:
        raise CertificateError(f"the certificate is of a {law.TASK}, the data was read for {dataset.task}")
    if facts["classes"] != list(dataset.classes):
        raise CertificateError(
            f"the certificate is of the classes {facts['classes']}, the leaves of a {law.TASK} are of "
            f"{list(dataset.classes)}"
        )
    ends = facts["claim"] if law.ROUNDS else [facts["claim"]] * 2
    depth, price, claim = facts["depth"], Fraction(facts["price"]), [Fraction(end) for end in ends]
    if not 1 <= depth <= DEEPEST or price < 0 or len(claim) != 2:
        raise ValueError(f"its depth is {depth}, its price {price}, its claim has {len(claim)} ends")
    limit, whole = Limit(facts.get("least", 1), facts.get("leaves", 0)), WholeTrees.of(facts)
    if limit.rows < 1 or limit.leaves < 0:
        raise ValueError(f"its leaves have {limit.rows} rows, its trees {limit.leaves} leaves")
    measure = law.MEASURE(facts, dataset)
    ranks = rank_columns(facts["columns"], dataset, left_of, deadline.check)
    absent = count_left_out(dataset, ranks, deadline.check, whole.features(facts["columns"]))
    terms = claim_of(dataset, depth, int(ranks.size.sum()), not absent[1], limit.words + whole.words)
    expect(facts, terms)
    expect_tree(facts["tree"], dataset)
    every = np.arange(dataset.n_rows)
    leaves: list[int] = []
    low, high = (
        _tree_cost(facts["tree"]["root"], dataset, (measure, price, end), every, depth, leaves) for end in (0, 1)
    )
    if min(leaves) < limit.rows or 0 < limit.leaves < len(leaves) // 2:
        raise CertificateError(
            f"the tree of the certificate has {len(leaves) // 2} leaves of {min(leaves)} rows and more, which does not "
            f"satisfy {' and '.join(limit.words)}"
        )
    whole.expect_kept(_splits(facts["tree"]["root"]))
    # Objectives are (1 - λ) times the cost, and the price is λ / (1 - λ) units.
    unit = measure.unit + price
    if claim != [low, high]:
        raise CertificateError(
            f"the tree of the certificate costs {float(low / unit):.17g} to {float(high / unit):.17g} on the data, the "
            f"certificate claims {float(claim[0] / unit):.17g} to {float(claim[1] / unit):.17g}"
        )
    found = LeafSumsBound(np.ascontiguousarray(ranks.rank, np.int64), measure, price, law.SINGLE)
    if not bounds:
        bound = low
    elif not whole.nothing:
        bound = whole.least(found, facts["columns"], depth, limit, low)
    else:
        bound = found.by_loops(every, depth, limit) if law.ROUNDS and facts["tried"] == ALL else -math.inf
    if bounds and whole.nothing and bound < low - NEAR_END * abs(low):
        floor = found.floor(every)
        tried = facts["tried"] if limit.at(depth)[1] > 2 or facts["tried"] else 0
        bound = floor + Fraction(found.least(every, depth, tried, low - floor, limit))
    low, high, bound = measure.ends(low, high, bound)
    said, exact = [f"lambda {float(price / unit):.10g}"] if price else [], low == high
    if not exact:
        ends = _less(low / unit), -_less(-high / unit)
        said.append(f"the tree costs {ends[0]:.17g} to {ends[1]:.17g}")
    objective = float(high / unit) if exact else ends[1]
    below = min(_less(bound / unit) if bound else 0.0, float(np.nextafter(objective, -np.inf)))
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
        (OFF * measure.near + measure.in_doubles(float(high))) / float(unit),
        min(1.0, float(measure.high(measure.moments.sum(axis=1)) / unit)),
    )


@dataclass(frozen=True)
class LeafSumsProof(Proof):
    """A proof whose numbers are rounded outwards, unless they are `exact`: the tree costs no more than `objective`, and
    no tree costs less than `bound`. The cost of a tree by sums in floats may be `off` by so much; rounding is a part of
    the `unit`, 1 or what one leaf costs if that is less."""

    exact: bool
    off: float
    unit: float

    @property
    def optimal(self) -> bool:
        return self.bound == self.objective or (
            not self.exact and self.bound >= self.objective - WIDTH * max(self.unit, abs(self.objective))
        )


def _less(number: Fraction) -> float:
    """A float that is no more."""
    return float(np.nextafter(float(number), -np.inf))


def _tree_cost(node, dataset: Dataset, how: tuple, rows: np.ndarray, left: int, leaves: list[int]) -> Fraction:
    """The lesser (0) or greater (1) end of what a tree costs, of how = (measure, price, end); `leaves` gets the rows of
    each leaf."""
    measure, price, end = how
    if "split" not in node:
        if node.get("curve") or node["label"] not in dataset.classes:
            raise CertificateError("a leaf of the tree of the certificate tells a label or a curve that no check is of")
        told = [*node["counts"], *node["rows"], *node["sums"]]
        sums = dataset.sums[rows].sum(axis=0), np.abs(dataset.sums).max(axis=0)
        found, off = (np.array([part[1], part[0], *part]) for part in sums)
        if len(told) != len(found) or not np.allclose(told, found, rtol=1e-9, atol=1e-9 * off):
            raise CertificateError("a leaf of the tree of the certificate tells other sums than its rows have")
        leaves.append(len(rows))
        return (measure.low, measure.high)[end](measure.moments[:, rows].sum(axis=1))
    if not left:
        raise CertificateError("the tree of the certificate is deeper than it says")
    goes = left_of(node["split"], dataset)[rows]
    sides = (node["left"], rows[goes]), (node["right"], rows[~goes])
    return price + sum(_tree_cost(below, dataset, how, part, left - 1, leaves) for below, part in sides)


def _splits(node: dict) -> list[dict]:
    """The splits of a tree."""
    return [node["split"], *_splits(node["left"]), *_splits(node["right"])] if "split" in node else []


NO_LIMIT = Limit()


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
        self.widest = int(rank.max()) + 1
        self.near = 2 * measure.near  # of rounded numbers: what they and a few sums of them are off by, and more
        self.slack = 64 * self.near  # no bound of rounded numbers misses the exact one by more
        self._single = single
        dense = np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in rank.T], axis=1)
        self.cuts = dense.max(axis=0)  # of each column
        groups = cut_groups(dense, np.argsort(dense, axis=0, kind="stable").T)
        twice = np.bincount(np.abs(np.concatenate(groups))) > 1
        # By column the cuts that separate the rows as one of another column does: {rank: number of the group}, less
        # than 0 if the left side of the one is the right side of the other.
        self.alike: list[dict[int, int]] = []
        self._at_once: TriedCuts | None = None
        self._known: dict[tuple[int, Limit, bytes], float] = {}  # what `best` found in rounded numbers
        for column, group in zip(rank.T, groups):
            own, values = np.abs(group), np.unique(column)
            # The first row tells on which side of the one the left side of the other lies.
            signed = np.where(column[0] <= values, own, -own)
            self.alike.append({int(values[at]): int(signed[at]) for at in np.flatnonzero(twice[own] & (own > 0))})

    @cached_property
    def some_floor(self) -> bool:
        """Whether there are rows that no column tells apart and that cost something."""
        return bool(self.floors.any())

    @cached_property
    def floors(self) -> np.ndarray:
        """int64 (rows,): what rows that no column tells apart cost at least, on the first of each, in units of
        1/`parts`: no tree avoids them. Some are less than 0. All are whole numbers of parts; if they are too large for
        that, they are rounded down to parts of a power of two."""
        _, first, kind = np.unique(self.rank, axis=0, return_index=True, return_inverse=True)
        kind = kind.reshape(-1)
        sums = np.zeros((len(self.moments), len(first)), np.int64)
        for own, told in zip(sums, self.moments):
            np.add.at(own, kind, told)
        told = np.flatnonzero(np.bincount(kind) > (0 if self._single else 1))
        exact = {k: self.measure.low(sums[:, k]) for k in told.tolist()}
        most = sum(map(abs, exact.values()), Fraction(0))
        largest = Fraction(2) ** (61 - int(most).bit_length())
        self.parts = Fraction(1)
        for cost in exact.values():
            self.parts = min(largest, Fraction(math.lcm(self.parts.numerator, cost.denominator)))
            if self.parts == largest:
                break
        found = np.zeros(len(self.rank), np.int64)
        for k, cost in exact.items():
            found[first[k]] = math.floor(cost * self.parts)
        return found

    def floor(self, rows: np.ndarray, exact: bool = True) -> Fraction | float:
        """What rows that no test tells apart cost at least."""
        units = int(self.floors[rows].sum()) if self.some_floor else 0
        return units / self.parts if exact else units / float(self.parts)

    def least(
        self, rows: np.ndarray, depth: int, tried, need: Fraction, limit: Limit = NO_LIMIT, exact: bool = True
    ) -> Fraction | float:
        """No tree of this depth on these rows within a limit costs less than this, and what they cost at least
        (`floor`).

        Parameters
        ----------
        rows : int64 (rows,)
        depth : int
        tried : list or 0, as the certificate has it
        need : Fraction, what the bound should reach
        limit : Limit
        exact : whether a bound that misses it by no more than rounding is counted in whole numbers
        """
        deadline.check()
        limit, depth = limit.at(depth)
        self.n_states += not exact
        if not len(rows):
            raise ValueError("it bounds a state without rows")
        if tried == 0 or not depth:
            if depth > 2:
                return 0.0
            floor = self.floor(rows, exact)
            if exact:
                return self.best(rows, depth, need + floor, limit) - floor
            return self._rounded(rows, depth, limit) - floor
        if tried == ALL:
            tried = self._all_cuts(rows, depth, limit)
            sides = self._all_sides(rows, tried, depth - 1)
        else:
            sides = self._sides(rows, depth, tried, limit, exact)
        if sides is not None and not exact:
            self.n_states += sides.bounded
            leaf = self._leaf(rows, False) - self.floor(rows, False)
            return min(leaf, float(self.price) + sides.least)
        by_column: dict[tuple[int, int], dict[int, _Cut]] = {}
        for number, (column, cut, *below) in enumerate(tried):
            share, *below = below if limit.leaves else (0, *below)
            cut = self._stands_for(rows, column, cut)
            cuts = by_column.setdefault((column, share), {})
            if cut in cuts:
                raise ValueError("it tries a cut twice")
            known = (None, None) if sides is None else sides.found[number]
            cuts[cut] = self._cut(rows, column, cut, below, depth - 1, limit.of_sides(share), known)
        found = self._leaf(rows, exact) - self.floor(rows, exact)
        alike: dict[tuple[int, int], Fraction | float] = {}
        price = self.price if exact else float(self.price)
        for column in range(self.rank.shape[1]):
            ranks, count = np.unique(self.rank[rows, column], return_counts=True)
            below = np.cumsum(count)[:-1]
            fits = (below >= limit.rows) & (len(rows) - below >= limit.rows)
            for share in limit.shares(depth):
                cuts = by_column.pop((column, share), {})
                if fits.any():
                    wanted = need - self.price if exact else None
                    bound = self._column(column, ranks, fits, cuts, wanted, (alike, share, limit.leaves))
                    found = found if bound is None else min(found, price + bound)
        if by_column:
            raise ValueError("it tries cuts of columns that it has not")
        return min([found, *(price + cost for cost in alike.values())])

    def _all_cuts(self, rows: np.ndarray, depth: int, limit: Limit) -> list:
        """All cuts of a state, as a certificate has them."""
        if depth not in (3, 4) or limit != NO_LIMIT:
            raise ValueError(f"it tries all cuts of trees of {depth} levels under a limit, not of three or four levels")
        below = [ALL, ALL] if depth == 4 else [0, 0]
        own = (np.unique(self.rank[rows, column])[:-1].tolist() for column in range(self.rank.shape[1]))
        return [[column, cut, *below] for column, cuts in enumerate(own) for cut in cuts]

    def by_loops(self, rows: np.ndarray, depth: int, limit: Limit) -> Fraction | float:
        """No tree of this depth on these rows costs less, of all cuts and of sums of whole numbers, which compiled
        loops add exactly: only what a leaf costs is rounded. -inf if there are no such loops."""
        tried = self._all_cuts(rows, depth, limit)
        gains = self._side_gains(rows, tried, depth - 1)
        if gains is None:
            return -np.inf
        self.n_states += gains[1].size
        told = float(self.moments[self.measure.TOLD, rows].sum())
        split = told - float(gains[1].sum(axis=1).max()) + float(self.price)
        return Fraction(min(split, self._leaf(rows, False)) - WHOLE_SUMS * (told + float(self.price)))

    def _side_gains(self, rows: np.ndarray, tried: list, levels: int) -> tuple[np.ndarray, np.ndarray] | None:
        """(bool (cuts, rows), the left side of each cut; float64 (cuts, 2), what the best tree of two or three levels
        gains on its left and its right side); None if there are no compiled loops for all cuts at once."""
        ahead = len(tried) ** (levels - 1) * 2 * self._seconds(len(rows))
        if not tried or every_tree.COMPILED.loops(ahead) is None:
            every_tree.COMPILED.spend(ahead)
            return None
        left = np.stack([self.rank[rows, column] <= cut for column, cut, *_ in tried])
        alike = left != left[:, :1]  # which side is the left one tells no tests apart
        first, kind = np.unique(np.packbits(alike, axis=1), axis=0, return_index=True, return_inverse=True)[1:]
        laws = self.measure.LAW, self.measure.root_unit
        gains = every_tree.side_gains(alike[first], self.moments[:2, rows], laws, float(self.price), levels)
        if gains is None:
            return None
        gains = gains[kind.reshape(-1)]
        return left, np.where(left[:, :1], gains, gains[:, ::-1])

    def _all_sides(self, rows: np.ndarray, tried: list, levels: int) -> Sides | None:
        """The sides of two or three levels of all cuts at once, None if they are found one by one."""
        gained = self._side_gains(rows, tried, levels)
        if gained is None:
            return None
        left, gains = gained
        told = self.measure.rounded[self.measure.TOLD, rows]
        floors = self.floors[rows].astype(float) / float(self.parts)
        found = np.zeros((len(tried), 2))
        for side, own in enumerate((left, ~left)):
            found[:, side] = np.maximum(0.0, own @ told - gains[:, side] - self.near - own @ floors)
        return Sides(found.tolist(), float(found.sum(axis=1).min()), found.size)

    def _sides(self, rows: np.ndarray, depth: int, tried: list, limit: Limit, exact: bool) -> Sides | None:
        """The sides of one or two levels of all tried cuts at once, None if they are found one by one."""
        if depth not in (2, 3) or limit != NO_LIMIT or type(tried) is not list:
            return None
        if depth == 2:
            ahead, kernel = len(tried) * tried_stumps.EACH * len(rows) * len(self.cuts), tried_stumps.COMPILED
        else:
            ahead, kernel = len(tried) * 2 * self._seconds(len(rows) / 2), tried_cuts.COMPILED
        if kernel.loops(ahead) is None:
            kernel.spend(ahead)
            return None
        if self._at_once is None:
            marks = [(column, cut, abs(group)) for column, own in enumerate(self.alike) for cut, group in own.items()]
            shared, floors = np.array(marks, np.int64).reshape(-1, 3).T, (self.floors, 1 / float(self.parts))
            price = float(self.price)
            self._at_once = TriedCuts(self.rank, self.measure, floors, price, self.near, np.ascontiguousarray(shared))
        return self._at_once.bound(rows, tried, depth - 1, not exact)

    def _seconds(self, n_rows: float) -> float:
        """CPU seconds, about, of the trees of two levels on so many rows in numpy."""
        cuts = np.minimum(self.cuts, n_rows)
        return COLUMNS * (float((cuts > 1).sum()) ** 2 + len(cuts)) + PAIR * float(cuts.sum()) ** 2

    def _cut(self, rows: np.ndarray, column: int, cut: int, below: list, depth: int, limits, known) -> "_Cut":
        """What the sides of a tried cut cost at least, of which rounded numbers may be known."""
        left = self.rank[rows, column] <= cut
        parts, free = (rows[left], rows[~left]), limits[0].rows > 1
        if len(below) != (4 if free else 2):
            raise ValueError("a cut that it tries has not two sides")
        own = tuple(map(_Side, (self, self), parts, below[:2], (depth, depth), limits, known))
        if not free:
            return _Cut(own, own)
        return _Cut(
            own, tuple(map(_Side, (self, self), parts, below[2:], (depth, depth), map(_any_rows, limits), known))
        )

    def _stands_for(self, rows: np.ndarray, column: int, cut: int) -> int:
        """The rank of these rows whose cut separates them as `cut` does; raises ValueError if it leaves one side
        without rows."""
        rank = self.rank[rows, column]
        left = rank[rank <= cut]
        if not 0 < len(left) < len(rank):
            raise ValueError("it tries a cut that separates no rows")
        return int(left.max())

    def _column(self, column: int, ranks: np.ndarray, fits: np.ndarray, cuts: dict, need: Fraction | None, others):
        """The least that a cut of a column costs, without its branch node: a tried cut by its sides, those between two
        tried ones by the left side of the lower and the right side of the upper one. Cuts that separate all rows as one
        of another column does have the best bound of all these, in `alike`, by the leaves of the left side. None if all
        cuts are such.

        Parameters
        ----------
        column : int
        ranks : int64 (cuts + 1,), of these rows
        fits : bool (cuts,), the cuts whose sides have enough rows
        cuts : dict, the tried ones
        need : Fraction or None, what the bound should reach if it is counted in whole numbers
        others : (alike, leaves of the left side, leaves), 0 of any number
        """
        (alike, share, leaves), places = others, sorted(cuts)
        ranks, last = ranks[:-1], int(ranks[-1])
        above = np.searchsorted(places, ranks)  # the first tried cut that is not below
        tried = np.append(places, -1)[above] == ranks
        sides, zero = [cuts[place] for place in places], 0.0
        # Of the left sides of the first tried cuts, and of the right sides of the last ones.
        one = [zero, *accumulate((side.near[0].found for side in sides), max)]
        two = [*accumulate((side.near[1].found for side in reversed(sides)), max)][::-1] + [zero]

        def of(low: int, high: int) -> Fraction | float:
            """The left side of tried cut `low` and the right side of tried cut `high`; of one cut its own sides."""
            left, right = one[low + 1], two[high]
            mine = sides[low].own if low == high and sides[low].own is not sides[low].near else ()
            if mine:
                left, right = max(left, mine[0].found), max(right, mine[1].found)
            if need is not None and need - self.slack <= left + right < need:
                left, right = Fraction(left), Fraction(right)
                lefts = *mine[:1], *(side.near[0] for side in reversed(sides[: low + 1]))
                rights = *mine[1:], *(side.near[1] for side in sides[high:])
                for side in lefts:
                    if left + right < need and side.found >= left - self.slack:
                        left = max(left, side.again(need - right))
                for side in rights:
                    if left + right < need and side.found >= right - self.slack:
                        right = max(right, side.again(need - left))
            return left + right

        below = above - ~tried
        shared = self.alike[column]
        for cut, group in shared.items():
            at = int(np.searchsorted(ranks, cut, side="right")) - 1  # the rank that stands for it on these rows
            if 0 <= at and cut < last and fits[at]:
                key = abs(group), share if group > 0 else leaves - share
                alike[key] = max(alike.get(key, zero), of(int(below[at]), int(above[at])))
        own = fits & ~np.isin(ranks, list(shared)) if shared else fits
        pairs = sorted(set(zip(below[own].tolist(), above[own].tolist())))
        return min((of(*pair) for pair in pairs), default=None)

    def _leaf(self, rows: np.ndarray, exact: bool = True) -> Fraction | float:
        if exact:
            return self.measure.low(self.moments[:, rows].sum(axis=1))
        return float(self.measure.costs(*self.measure.rounded[:, rows].sum(axis=1)[:, None])[0]) - self.near

    def best(self, rows: np.ndarray, depth: int, need: Fraction | None = None, limit: Limit = NO_LIMIT) -> Fraction:
        """No more than what the best tree of two levels or less costs, and just that if it is less than `need`."""
        leaf = self._leaf(rows)
        if not depth:
            return leaf
        cheap = self._rounded(rows, depth, limit)
        if need is not None and not need - self.slack <= cheap < need:
            return min(leaf, Fraction(cheap))
        columns, cuts, costs = self._roots(rows, depth, limit)
        found = [leaf]
        for at in np.flatnonzero(costs <= costs.min(initial=np.inf) + self.near).tolist():
            left = self.rank[rows, columns[at]] <= cuts[at]
            for share in limit.shares(depth):
                sides = zip((rows[left], rows[~left]), limit.of_sides(share))
                below = [self._best_within(part, depth - 1, own) for part, own in sides]
                found.append(self.price + sum(below, Fraction(0)))
        return min(found)

    def _best_within(self, rows: np.ndarray, depth: int, limit: Limit) -> Fraction:
        limit, depth = limit.at(depth)
        return self.best(rows, depth, None, limit)

    def _rounded(self, rows: np.ndarray, depth: int, limit: Limit) -> float:
        """No more than the same, of rounded numbers."""
        inside = np.zeros(len(self.rank), bool)
        inside[rows] = True
        key = depth, limit, np.packbits(inside).tobytes()
        if key not in self._known:
            costs = self._roots(rows, depth, limit)[2] if depth else np.zeros(0)
            self._known[key] = min(self._leaf(rows, False), float(costs.min(initial=np.inf)) - self.near)
        return self._known[key]

    def _roots(self, rows: np.ndarray, depth: int, limit: Limit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(column, cut, cost as a float) of each cut of these rows, with the best tree of depth - 1 on either side."""
        measure = self.measure
        ahead = self._seconds(len(rows)) if depth == 2 else 0.0
        if depth == 2 and (compiled := two_levels.COMPILED.loops(ahead)) is not None:
            law, unit = measure.LAW, measure.root_unit
            told = float(measure.rounded[measure.TOLD, rows].sum())
            return compiled(self.rank, self.moments, rows, told, (law, unit), float(self.price), *limit)
        two_levels.COMPILED.spend(ahead)
        if depth == 1 and self.rank.shape[1] * self.widest <= max(SMALL, self.rank.shape[1] * len(rows)):
            return self._stump_costs(rows, limit)
        moments = np.vstack([measure.rounded[:, rows], np.ones(len(rows))])
        roots = [_Root(measure, moments, ranks, limit.rows) for ranks in self.rank[rows].T]
        if depth == 2:
            wide = [root for root in roots if root.n_cuts > 1]
            for number, root in enumerate(wide):
                for other in wide[number:]:
                    self._take_pair(root, other)
            self._take_narrow(roots, [root for root in roots if root.n_cuts == 1])
        columns = np.repeat(np.arange(len(roots)), [int(root.fits.sum()) for root in roots])
        cuts = np.concatenate([root.ranks[:-1][root.fits] for root in roots])
        return columns, cuts, float(self.price) + np.concatenate([root.least(limit)[root.fits] for root in roots])

    def _stump_costs(self, rows: np.ndarray, limit: Limit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`_roots` of one level, of all columns at once."""
        deadline.check()
        size = self.rank.shape[1], self.widest
        at = (self.rank[rows] + np.arange(size[0]) * size[1]).ravel()
        moments = np.vstack([self.measure.rounded[:, rows], np.ones(len(rows))])
        each = np.stack([np.bincount(at, np.repeat(told, size[0]), math.prod(size)) for told in moments])
        each = each.reshape(4, *size)
        below = each.cumsum(axis=2)
        above = below[:, :, -1:] - below
        columns, cuts = np.nonzero((each[3] > 0) & (np.minimum(below[3], above[3]) >= max(1, limit.rows)))
        costs = sum(self.measure.costs(*sums[:3, columns, cuts]) for sums in (below, above))
        return columns, cuts, float(self.price) + costs

    def _take_pair(self, root: "_Root", other: "_Root") -> None:
        """Takes what trees cost whose tests are of two columns, or of one: the sums of the rows up to each cut of both
        are those of the trees with either column at the root."""
        price, costs, moments = float(self.price), root.costs, root.moments
        wide = len(other.ranks)
        before, whole = np.zeros((len(moments), wide)), other.below[: len(moments), None]
        step = max(1, CELLS // wide)
        for first in range(0, root.n_cuts, step):
            deadline.check()
            many = min(step, root.n_cuts - first)
            some = root.order[slice(*np.searchsorted(root.at, (first, first + many), sorter=root.order))]
            cell, shape = (root.at[some] - first) * wide + other.at[some], (many, wide)
            table = np.stack([np.bincount(cell, told, math.prod(shape)) for told in moments[:, some]])
            table = table.reshape(-1, *shape)
            table[:, 0] += before
            before = table.cumsum(axis=1, out=table)[:, -1].copy()
            table.cumsum(axis=2, out=table)
            parts = []  # of the rows up to the cut of the root, and of the others: up to that of the other, and above
            for sums in (table, whole - table):
                up = sums[:, :, :-1]
                parts.append((costs(*up), costs(*(sums[:, :, -1:] - up))))
            for side, (up, above) in zip(root.best, parts):
                part = side[first : first + many]
                np.minimum(part, price + (up + above).min(axis=1), out=part)
            for side, left, right in zip(other.best, *parts) if other is not root else ():
                np.minimum(side, price + (left + right).min(axis=0), out=side)

    def _take_narrow(self, roots: "list[_Root]", narrow: "list[_Root]") -> None:
        """The same of each column and all those of one cut, of which the rows of the rarer side are added alone."""
        if not narrow:
            return
        price, costs, moments = float(self.price), narrow[0].costs, narrow[0].moments
        size, n = len(moments), len(narrow[0].at)
        first = np.array([2 * int(one.at.sum()) > n for one in narrow])  # whether the rarer side is the left one
        held = [np.flatnonzero(one.at == (0 if left else 1)) for one, left in zip(narrow, first)]
        which, begin = np.concatenate(held), np.cumsum([0, *map(len, held)])
        whose = np.repeat(np.arange(len(narrow)), np.diff(begin))
        left = np.stack([one.below[:size, 0] for one in narrow], axis=1)
        for root in roots:
            m = root.n_cuts
            step = max(1, CELLS // (m + 1)) if m else len(narrow)
            for start in range(0, len(narrow) if m else 0, step):
                deadline.check()
                some = narrow[start : start + step]
                entries = slice(begin[start], begin[start + len(some)])
                rows, shape = which[entries], (m + 1, len(some))
                cell = root.at[rows] * len(some) + whose[entries] - start
                part = np.stack([np.bincount(cell, told, math.prod(shape)) for told in moments[:, rows]])
                part = part.reshape(-1, *shape)[:, :m].cumsum(axis=1)
                low, own = root.below[:size, :m, None], left[:, None, start : start + len(some)]
                part = np.where(first[start : start + len(some)], part, low - part)
                beside, second = low - part, own - part
                none = root.below[:size, -1:, None] - low - second
                both, alone, other, rest = (costs(*sums) for sums in (part, beside, second, none))
                for side, cost in zip(root.best, (both + alone, other + rest)):
                    np.minimum(side, price + cost.min(axis=1), out=side)
                if m > 1:
                    for place, cost in enumerate((both + other, alone + rest)):
                        for one, least in zip(some, (price + cost.min(axis=0)).tolist()):
                            one.best[place][0] = min(one.best[place][0], least)


class _Root:
    """The cuts of one column of some rows, as tests of a root, and what the best trees met on their sides cost.

    Parameters
    ----------
    measure : what leaves cost
    moments : float64 (4, rows): what `measure.costs` takes, and 1
    ranks : int64 (rows,), of the column
    least : int, rows that each leaf must have
    """

    def __init__(self, measure, moments: np.ndarray, ranks: np.ndarray, least: int):
        deadline.check()

        def costs(w, s, q, n):
            return np.where(n >= least, measure.costs(w, s, q), np.inf)

        self.ranks, self.at = np.unique(ranks, return_inverse=True)
        self.n_cuts, self.order = len(self.ranks) - 1, np.argsort(self.at, kind="stable")
        self.below = np.stack([np.bincount(self.at, told, len(self.ranks)).cumsum() for told in moments])
        sides = self.below[:, :-1], self.below[:, -1:] - self.below[:, :-1]
        self.fits = np.minimum(sides[0][3], sides[1][3]) >= least  # the cuts whose sides have enough rows
        self.alone = [costs(*sums) for sums in sides]
        self.best = [one.copy() for one in self.alone]
        self.moments, self.costs = moments, costs
        if least <= 1:  # a test that leaves a side without rows costs more than the leaf that it stands on
            self.moments, self.costs = moments[:3], measure.costs

    def least(self, limit: Limit) -> np.ndarray:
        """What the best tree met of each cut costs, without the branch node of the root."""
        if limit.leaves:
            return np.minimum(self.best[0] + self.alone[1], self.alone[0] + self.best[1])
        return self.best[0] + self.best[1]


@dataclass(frozen=True)
class _Cut:
    """What the left and the right side of a tried cut cost at least: `own` within the limit, and `near` of what bounds
    the cuts beside it."""

    own: "tuple[_Side, ...]"
    near: "tuple[_Side, ...]"


def _any_rows(limit: Limit) -> Limit:
    return limit._replace(rows=1)


class _Side:
    """What a side of a tried cut costs at least: rounded at first, and again if that decides."""

    def __init__(self, bound: LeafSumsBound, rows: np.ndarray, below, depth: int, limit: Limit, known: float | None):
        self.bound, self.rows, self.below, self.depth, self.limit = bound, rows, below, depth, limit
        self.found = self._least(Fraction(0), False) if known is None else known
        self.need: Fraction | None = None  # what a bound in whole numbers was asked for

    def _least(self, need: Fraction, exact: bool) -> Fraction | float:
        if self.below is None:
            return 0.0
        return self.bound.least(self.rows, self.depth, self.below, need, self.limit, exact)

    def again(self, need: Fraction) -> Fraction:
        """The same in whole numbers, if it does not reach what it needs to."""
        if self.found < need and (self.need is None or self.need < need):
            self.need = need
            self.found = max(self.found, self._least(need, True))
        return Fraction(self.found)
