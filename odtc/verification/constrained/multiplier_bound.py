"""Check of the lower bound that multipliers prove for all trees under constraints, in whole numbers.

For multipliers m ≥ 0 in units of 1 / D the weighted cost of a tree is D · cost + Σ_r m_r (uses_r). A tree that costs
at most C - 1 and satisfies all sums has a weighted cost of at most

    Λ = D (C - 1) + Σ_r m_r bound_r.

A case is a root split with a set of columns that the tree may use. A case whose least weighted cost exceeds Λ contains
no such tree; the trees of any other case are listed (listed_cases). Conditions on single leaves, and on which split
may be at which level or below which split, are part of every bound. Conditions on several nodes at once (columns
together, numbers of splits, classes that rise with a column) are left to the lists.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from odtc.base import deadline, phases
from odtc.base.whole_numbers import MAX_DIFFERENCE
from odtc.errors import CertificateError
from odtc.verification.constrained.stated_boxes import Boxes
from odtc.verification.constrained.swept_sides import Chains, SweptSides, exclude

MOST_SETS = 20_000  # maximum number of sets of columns
MOST_SUMS = 2e9  # maximum number of sums in one pass over all roots: some minutes
MOST_PARTS = 16  # maximum number of cached problems over some of the columns
WIDE = 300  # from this number of splits on, trees of depth 1 are checked without multipliers
MOST_APART = 80  # maximum number of splits of a set of columns that is checked separately
MOMENT = 5e3  # overhead of one call of the loops, as an approximate number of sums

Path = tuple[int, ...]  # the splits from the root to a node


@dataclass(frozen=True)
class Problem:
    """Rows and sums, all of whole numbers. Rows with equal costs and uses are of one kind.

    Attributes
    ----------
    X : bool (rows, splits)
    members : float64 (rows, kinds)
        How many rows of the data of each kind a row represents.
    cost : int64 (kinds, classes)
    uses : int64 (sums, kinds, classes)
    bound, branch_uses : list of int
    leaf_uses : int64 (sums, classes)
        The use of a leaf that predicts a class, in addition to the use of its rows.
    measures : int64 (conditions, kinds)
        The amount that one row of a kind counts.
    least : float64 (conditions, classes)
        The rows of a leaf that predicts a class count at least this much; -inf for no condition.
    price : int
        The penalty of a branch node.
    column : int (splits,)
        The column of the data of each split, from 0.
    most_columns : int or None
    apart, together : tuple of frozenset of int
        Columns of which a tree uses at most one; all or none.
    most_splits : int or None
        How many different splits a tree may have.
    levels : bool (depth, splits)
        The splits that may be at each level; the root is at level 0.
    below : bool (splits, splits)
        below[f, g]: g may be somewhere below f.
    follows : int64 (pairs, 3)
        (a row, another row, a class): if the first is predicted this class, so is the second.
    boxes : Boxes or None
        The cells of columns, if classes rise on all inputs.
    swept : bool
        Whether there are so many splits that every tree of depth 1 is checked, without multipliers.
    """

    X: np.ndarray
    members: np.ndarray
    cost: np.ndarray
    uses: np.ndarray
    bound: list[int]
    branch_uses: list[int]
    leaf_uses: np.ndarray
    measures: np.ndarray
    least: np.ndarray
    price: int
    column: np.ndarray
    most_columns: int | None
    apart: tuple[frozenset[int], ...]
    together: tuple[frozenset[int], ...]
    most_splits: int | None
    levels: np.ndarray
    below: np.ndarray
    follows: np.ndarray
    boxes: Boxes | None = None
    swept: bool = False

    @property
    def depth(self) -> int:
        return len(self.levels)

    @cached_property
    def column_sets(self) -> np.ndarray:
        """int (sets, k): the columns of each set that a tree may use, a shorter one with its first column repeated;
        one set of all columns if no constraint matters."""
        m = int(self.column.max()) + 1
        k = self.most_columns
        sets = {frozenset(range(m))}
        if k is not None and k < min(m, 2**self.depth - 1):
            if not k or comb(m, k) > MOST_SETS:
                raise CertificateError(f"a certificate looks at up to {MOST_SETS:,} sets of columns, got {k} of {m}")
            sets = set(map(frozenset, combinations(range(m), k)))
        for apart in self.apart:
            sets = {one for columns in sets for one in _without_all_but_one(columns, apart)}
            if len(sets) > MOST_SETS:
                raise CertificateError(f"a certificate looks at up to {MOST_SETS:,} sets of columns, got more")
        if self.apart:
            sets = {one for one in sets if not any(one < other for other in sets)} if len(sets) <= 1000 else sets
        width = max(map(len, sets))
        return np.array([_padded(sorted(columns), width) for columns in sorted(map(sorted, sets))])

    def splits_apart(self, walked: Collection[int]) -> list[int] | None:
        """Return the number of splits of each set of columns except for the sets with these numbers; None if the sets
        may not be checked separately, because there are conditions on splits, or trees are not deep enough for it."""
        if self.depth < 4 or self.most_columns == 0:
            return None
        sets = np.delete(self.column_sets, list(walked), axis=0)
        if len(sets) and not (self.levels.all() and self.below.all()):
            return None
        own = np.bincount(self.column)[sets]
        own[:, 1:][sets[:, 1:] == sets[:, :1]] = 0  # the first column repeated
        return own.sum(axis=1).tolist()

    @cached_property
    def chains(self) -> Chains:
        """The splits of each column as chains of nested ones."""
        return Chains.of(self.X, self.column)

    def may(self, path: Path) -> np.ndarray:
        """Return bool (splits,): whether a split may be at the end of a path."""
        return np.logical_and.reduce([self.levels[len(path)], *(self.below[split] for split in path)])

    def parting(self, rows: np.ndarray, path: Path) -> np.ndarray:
        """Return bool (splits,): whether a split may be at the end of a path and separates its rows."""
        X = self.X[rows]
        return self.may(path) & X.any(axis=0) & ~X.all(axis=0)

    @cached_property
    def _parts(self) -> dict[bytes, "Problem"]:
        return {}

    def only(self, splits: np.ndarray) -> "Problem":
        """Return the problem with only these splits, int (splits,) in order, without limits on sets of columns. Rows
        with equal results for all of these are merged into one, which then represents rows of several kinds."""
        key = splits.tobytes()
        if key not in self._parts:
            if len(self._parts) >= MOST_PARTS:
                self._parts.clear()
            self._parts[key] = self._only(splits)
        return self._parts[key]

    def _only(self, splits: np.ndarray) -> "Problem":
        X, members = self.X[:, splits], self.members
        if not len(self.follows) and len(X):  # pairs refer to rows by number
            _, some, of = np.unique(np.packbits(X, axis=1), axis=0, return_index=True, return_inverse=True)
            X, members = X[some], np.zeros((len(some), members.shape[1]))
            np.add.at(members, of.reshape(-1), self.members)
        return replace(
            self,
            X=X,
            members=members,
            column=np.unique(self.column[splits], return_inverse=True)[1].reshape(-1),
            most_columns=None,
            apart=(),
            levels=self.levels[:, splits],
            below=self.below[np.ix_(splits, splits)],
        )

    def count(self, rows: np.ndarray) -> np.ndarray:
        """Return float64 (kinds,): rows of the data."""
        return self.members[rows].sum(axis=0)


def _without_all_but_one(columns: frozenset[int], apart: frozenset[int]) -> list[frozenset[int]]:
    """Return the largest subsets of these columns that have at most one of the columns in `apart`."""
    both = columns & apart
    return [columns - both | {one} for one in both] if len(both) > 1 else [columns]


def _padded(columns: list[int], width: int) -> list[int]:
    return columns + columns[:1] * (width - len(columns))


class Counted:
    """The rows, int (rows,), below a path of splits, counted by kind."""

    def __init__(self, problem: Problem, rows: np.ndarray, path: Path = ()):
        self.problem, self.rows, self.path = problem, rows, path
        self.height = problem.depth - len(path)
        self.count = problem.count(rows)

    @cached_property
    def ones(self) -> np.ndarray:
        """float64 (splits, kinds): rows on side 1."""
        return self.problem.X[self.rows].T.astype(float) @ self.problem.members[self.rows]

    def sides(self, split: int) -> tuple["Counted", "Counted"]:
        """Return the rows on the sides 0 and 1 of a split."""
        answer, path = self.problem.X[self.rows, split], (*self.path, split)
        return Counted(self.problem, self.rows[~answer], path), Counted(self.problem, self.rows[answer], path)


def _sum_of(multipliers: Iterable[int], numbers: Iterable[int]) -> int:
    """Return Σ multiplier · number, exactly."""
    return sum(int(m) * int(number) for m, number in zip(multipliers, numbers))


class Weighted:
    """A problem at multipliers.

    Parameters
    ----------
    problem : Problem
    scale : int
        D.
    multipliers : list of int
    """

    def __init__(self, problem: Problem, scale: int, multipliers: list[int]):
        self.problem, self.scale, self.multipliers = problem, scale, multipliers
        if len(multipliers) != len(problem.bound) or any(m < 0 for m in multipliers):
            raise ValueError("its multipliers are not one number of 0 or more for each sum")
        node = scale * problem.price + _sum_of(multipliers, problem.branch_uses)
        leaf = [_sum_of(multipliers, line) for line in problem.leaf_uses.T.tolist()]
        budget = _sum_of(multipliers, problem.bound)
        if min(node, *leaf) < 0:
            raise ValueError("its branch nodes or leaves weigh less than nothing")
        if max(self._largest_sum(), *multipliers, 0) >= MAX_DIFFERENCE:
            raise ValueError("its multipliers are too large to be added exactly")
        m = np.array(multipliers, float).reshape(-1, 1, 1)
        self.kind = scale * problem.cost.astype(float) + (m * problem.uses).sum(axis=0)  # (kinds, classes)
        self.beside = np.array(leaf, float)  # (classes,): the cost of a leaf in addition to that of its rows
        self.node, self.budget = float(node), int(budget)

    def _largest_sum(self) -> int:
        """Return a number that no sum of absolute values over the rows, nodes, leaves and bounds of a tree exceeds."""
        problem, multipliers = self.problem, self.multipliers
        number = [int(n) for n in problem.members.sum(axis=0)]
        reach = [_sum_of(number, np.abs(use).max(axis=1).tolist()) for use in problem.uses]
        rows = self.scale * _sum_of(number, np.abs(problem.cost).max(axis=1).tolist()) + _sum_of(multipliers, reach)
        node = self.scale * problem.price + _sum_of(multipliers, map(abs, problem.branch_uses))
        leaf = max(_sum_of(multipliers, line) for line in np.abs(problem.leaf_uses).T.tolist())
        return rows + (node + leaf) * 2**problem.depth + _sum_of(multipliers, map(abs, problem.bound))

    @cached_property
    def swept(self) -> SweptSides:
        """The least costs of subtrees at these multipliers."""
        return SweptSides(self.problem, self.kind, self.beside, self.node)

    def limit(self, claim: int) -> float:
        """Return Λ."""
        return float(self.scale * (claim - 1) + self.budget)

    def leaves(self, counts: np.ndarray) -> np.ndarray:
        """Return float64 (leaves, classes): the costs of leaves with these counts by kind, (leaves, kinds), with each
        label; infinite if they may not predict it."""
        value = counts @ self.kind + self.beside
        if len(self.problem.measures):
            held = counts @ self.problem.measures.T
            value[(held[:, :, None] < self.problem.least).any(axis=1)] = np.inf
        return value


def surviving(
    problem: Problem, scale: int, passes: list[list[int]], claim: int, settled: np.ndarray | None = None
) -> np.ndarray:
    """Return the cases that the multipliers of no pass exclude, except for cases of settled sets.

    A run writes its certificate and checks it at once, and both need the same result of this function. So the last
    result is kept, with a digest of everything that it depends on.

    Parameters
    ----------
    problem : Problem
    scale : int
    passes : list of list of int
        The multipliers of each pass, in units of 1 / scale.
    claim : int
    settled : bool (sets,) or None

    Returns
    -------
    bool (roots, sets of columns)
    """
    settled = np.zeros(len(problem.column_sets), bool) if settled is None else settled
    key = _digest(problem, scale, passes, claim, settled.tolist())
    alive = _last_answer.get(key)
    if alive is None:
        alive = _surviving(problem, scale, passes, claim, settled)
        _last_answer.clear()
        _last_answer[key] = alive
    return alive.copy()


_last_answer: dict[bytes, np.ndarray] = {}  # the last result of `surviving`


def _digest(problem: Problem, *others) -> bytes:
    """Return a digest of a problem and of other values."""
    text = hashlib.sha256(repr(others).encode())
    for part in fields(problem):
        value = getattr(problem, part.name)
        if isinstance(value, np.ndarray):
            text.update(f"{part.name} {value.dtype} {value.shape}".encode())
            text.update(np.ascontiguousarray(value).data)
        else:
            text.update(f"{part.name} {value!r}".encode())
    return text.digest()


def _surviving(problem: Problem, scale: int, passes: list[list[int]], claim: int, settled: np.ndarray) -> np.ndarray:
    """Return the result of `surviving`, always computed again."""
    sets, depth, n_splits = problem.column_sets, problem.depth, len(problem.column)
    alive = (sets[None, :, :] == problem.column[:, None, None]).any(axis=2) & problem.may(())[:, None]
    alive[:, settled] = False
    tried = [Weighted(problem, scale, multipliers) for multipliers in passes]
    if problem.swept and depth == 1:
        alive[~_of_one_split(problem, claim)] = False
        return alive
    if depth > 3:
        _without_hopeless_sets(problem, tried, alive, claim)
    if depth > 3 and 2.0 ** (depth - 1) * float(n_splits) ** depth > MOST_SUMS:
        apart = problem.splits_apart(()) if depth == 4 else None
        if apart is not None:
            _set_by_set(problem, tried, alive, claim, np.array(apart) <= MOST_APART)
    elif _sets_are_small(problem):
        _set_by_set(problem, tried, alive, claim, np.ones(len(sets), bool))
    else:
        for weighted in phases.over(tried, "bounding all trees at multipliers"):
            exclude(weighted.swept, alive, weighted.limit(claim))
    return alive


def _without_hopeless_sets(problem: Problem, tried: list[Weighted], alive: np.ndarray, claim: int) -> None:
    """Remove from `alive`, bool (roots, sets), the sets of columns over which no tree of any depth has a small enough
    weight: rows with equal results for all splits of a set are in one leaf, so they weigh at least as much as with
    their best label."""
    for number in np.flatnonzero(alive.any(axis=0)).tolist() if tried else ():
        deadline.check()
        splits = np.flatnonzero((problem.column[:, None] == problem.column_sets[number]).any(axis=1))
        members = problem.only(splits).members
        if any((members @ one.kind).min(axis=1).sum() > one.limit(claim) for one in tried):
            alive[:, number] = False


def _set_by_set(problem: Problem, tried: list[Weighted], alive: np.ndarray, claim: int, among: np.ndarray) -> None:
    """Remove from `alive`, bool (roots, sets), the cases of the sets in `among`, bool (sets,), that some multipliers
    exclude: for one set of columns after the other, over rows merged by equal results for its splits."""
    for number in phases.over(np.flatnonzero(among).tolist() if tried else [], "bounding sets of columns"):
        splits = np.flatnonzero((problem.column[:, None] == problem.column_sets[number]).any(axis=1))
        part, own = problem.only(splits), alive[splits, number][:, None]
        for weighted in tried:
            here = Weighted(part, weighted.scale, weighted.multipliers)
            exclude(here.swept, own, here.limit(claim))
        alive[splits, number] = own[:, 0]


def _sets_are_small(problem: Problem) -> bool:
    """Return whether checking one set of columns after the other is less work than all at once, for trees of four
    levels."""
    if problem.depth != 4:
        return False
    splits = (problem.column_sets[:, :, None] == problem.column).any(axis=1).sum(axis=1).astype(float)
    work = [(4 * size**2 * (size**2 + MOMENT)).sum() for size in (splits, np.array([float(len(problem.column))]))]
    return bool(work[0] < work[1])


def _of_one_split(problem: Problem, claim: int) -> np.ndarray:
    """Return bool (splits,): whether two leaves below a split cost less than the claim and satisfy sums and
    conditions."""
    top = Counted(problem, np.arange(len(problem.X)))
    sides, found = (top.count - top.ones, top.ones), np.zeros(problem.X.shape[1], bool)
    held = [side @ problem.measures.T for side in sides]
    for a in range(problem.cost.shape[1]):
        for b in range(problem.cost.shape[1]):
            both = tuple(zip(sides, held, (a, b)))
            cost = problem.price + sum(side @ problem.cost[:, label] for side, _, label in both)
            fits = (cost < claim) & np.all(
                [(has >= problem.least[:, label]).all(axis=1) for _, has, label in both], axis=0
            )
            for r, bound in enumerate(problem.bound):
                used = sum(side @ problem.uses[r, :, label] + problem.leaf_uses[r, label] for side, _, label in both)
                fits &= used + problem.branch_uses[r] <= bound
            found |= fits
    return found
