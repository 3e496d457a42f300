"""The bound that multipliers prove on all trees under constraints, recomputed in whole numbers.

For multipliers m ≥ 0 in units of 1 / D the weighted cost of a tree is D · cost + Σ_r m_r (uses_r). A tree that costs
at most C - 1 and satisfies all sums has a weighted cost of at most

    Λ = D (C - 1) + Σ_r m_r bound_r.

A case is a root split with a set of columns that the tree may use. A case whose least weighted cost exceeds Λ contains
no such tree; the trees of any other case are listed (listed_cases). Conditions on single leaves, and on which split
may be at which level or below which split, are part of every bound. Conditions on several nodes at once (columns
together, numbers of splits, classes that rise with a column) are left to the lists.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from odtc.base import deadline, phases
from odtc.errors import CertificateError
from odtc.verification.constrained.swept_sides import Chains, SweptSides, exclude

EXACT = 2.0**52  # below it, sums are exact in doubles
SINGLE = 2**24  # whole numbers up to here are exact in float32
MOST_SETS = 20_000  # of columns
MOST_SUMS = 2e9  # of one pass over all roots: some minutes
MOST_PARTS = 16  # problems of some columns that are kept
WIDE = 300  # number of splits from which those of a column are swept as chains
MOST_APART = 80  # splits of a set of columns that is counted by itself: a cube of twice as many numbers is stored
MOST_SMALL = 40  # splits of a set of columns whose triples are counted at once
MOST_AT_ONCE = 1_000_000  # products of numbers of rows that are stored
MOMENT = 5e3  # sums that numpy takes in the time of one call for few of them, about
MOST_HELD = 2e8  # numbers of the pairs below all splits, which are kept from one pass to the next

Path = tuple[int, ...]  # the splits from the root to a node
Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # by the sides of no split, one, two and three
Ones = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # the same for side 1 only


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
        The use of a leaf that predicts a class, in addition to that of its rows.
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
    swept : bool
        Whether chains of nested splits are swept, instead of counting pairs of splits.
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

    def pairs(self, rows: np.ndarray) -> np.ndarray:
        """Return float32 or float64 (kinds, splits, splits): rows of the data on side 1 of both splits."""
        real = np.float32 if self.members.sum() < SINGLE else np.float64
        X, members = self.X[rows].astype(real), self.members[rows].astype(real)
        found = np.empty((members.shape[1], X.shape[1], X.shape[1]), real)
        for kind, number in enumerate(members.T):
            here = np.flatnonzero(number)
            found[kind] = (X[here] * number[here, None]).T @ X[here]
        return found


def _without_all_but_one(columns: frozenset[int], apart: frozenset[int]) -> list[frozenset[int]]:
    """Return the largest subsets of these columns that have at most one of the columns in `apart`."""
    both = columns & apart
    return [columns - both | {one} for one in both] if len(both) > 1 else [columns]


def _padded(columns: list[int], width: int) -> list[int]:
    return columns + columns[:1] * (width - len(columns))


class Counted:
    """The rows below a path of splits, counted by kind.

    Parameters
    ----------
    problem : Problem
    rows : int (rows,)
    path : tuple of int
    others : (Counted, Counted) or None
        The rows of the parent, and those of the sibling: the rows here are the difference.
    """

    def __init__(self, problem: Problem, rows: np.ndarray, path: Path = (), others=None):
        self.problem, self.rows, self.path, self._others = problem, rows, path, others
        self.height = problem.depth - len(path)
        self.count = problem.count(rows)
        self._known: dict[int, tuple[Counted, Counted]] = {}
        self._holds = bool(path) and float(problem.X.shape[1]) ** 3 * problem.members.shape[1] < MOST_HELD

    @cached_property
    def may(self) -> np.ndarray:
        return self.problem.may(self.path)

    @cached_property
    def ones(self) -> np.ndarray:
        """float64 (splits, kinds): rows on side 1."""
        return self.problem.X[self.rows].T.astype(float) @ self.problem.members[self.rows]

    @cached_property
    def pairs(self) -> np.ndarray:
        """Return the result of Problem.pairs for these rows."""
        if self._others is not None:
            return self._others[0].pairs - self._others[1].pairs
        return self.problem.pairs(self.rows)

    def sides(self, split: int) -> tuple["Counted", "Counted"]:
        """Return the rows on the sides 0 and 1 of a split."""
        if split in self._known:
            return self._known[split]
        answer, path = self.problem.X[self.rows, split], (*self.path, split)
        one = Counted(self.problem, self.rows[answer], path)
        both = Counted(self.problem, self.rows[~answer], path, (self, one) if self.height > 2 else None), one
        if self._holds:
            self._known[split] = both
        return both


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
        number = [int(n) for n in problem.members.sum(axis=0)]
        most = [scale * int(cost) for cost in np.abs(problem.cost).max(axis=1)]
        for m, use in zip(multipliers, problem.uses):
            most = [a + m * int(b) for a, b in zip(most, np.abs(use).max(axis=1))]
        node = scale * problem.price + sum(m * use for m, use in zip(multipliers, problem.branch_uses))
        leaf = [sum(m * int(use) for m, use in zip(multipliers, line)) for line in problem.leaf_uses.T]
        budget = sum(m * bound for m, bound in zip(multipliers, problem.bound))
        row = sum(n * one for n, one in zip(number, most))
        if row + (node + max(map(abs, leaf))) * 2**problem.depth + abs(budget) >= EXACT:
            raise ValueError("its multipliers are too large to be added exactly")
        m = np.array(multipliers, float).reshape(-1, 1, 1)
        self.kind = scale * problem.cost.astype(float) + (m * problem.uses).sum(axis=0)  # (kinds, classes)
        self.beside = np.array(leaf, float)  # (classes,): the cost of a leaf in addition to that of its rows
        self.node, self.budget = float(node), int(budget)
        self.starts = np.unique(problem.column, return_index=True)[1]

    @property
    def frees(self) -> bool:
        """Return whether rows weigh no less in a tree than with their best labels, because no node and no leaf has a
        negative weight."""
        return bool(min(self.node, self.beside.min()) >= 0)

    @cached_property
    def swept(self) -> SweptSides:
        """The sides of roots at these multipliers, by sweeps."""
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

    def leaf(self, count: np.ndarray) -> float:
        """Return the best leaf of rows counted by kind."""
        return float(self.leaves(count[None])[0].min())

    def below(self, rows: Counted) -> tuple[np.ndarray, np.ndarray]:
        """Return (single float64 (2, splits), stump float64 (2, splits, splits)): the best leaf on the side 0 or 1 of a
        split, and the two best leaves on that side below another split."""
        deadline.check()
        pairs, count, problem = rows.pairs, rows.count, self.problem
        single = leaves = None
        held = [_quarters(np.tensordot(one, pairs, 1), float(one @ count)) for one in problem.measures.astype(float)]
        for label, weight in enumerate(self.kind.T):
            one, four = _quarters(np.tensordot(weight, pairs, 1), float(weight @ count))
            one += self.beside[label]
            four += self.beside[label]
            for (alone, quarter), least in zip(held, problem.least[:, label]):
                if least > -np.inf:
                    one[alone < least] = np.inf
                    four[quarter < least] = np.inf
            single = one if single is None else np.minimum(single, one)
            leaves = four if leaves is None else np.minimum(leaves, four)
        stump = leaves.sum(axis=1)
        under = problem.below & problem.levels[len(rows.path) + 1]
        for split in rows.path:
            under = under & problem.below[split]
        if not under.all():
            stump[:, ~under] = np.inf
        single[:, ~rows.may], stump[:, ~rows.may] = np.inf, np.inf
        return single, stump

    def three_levels(self, of_label: list[Sums], measured: list[Sums]) -> float:
        """Return the least weighted cost of a subtree of at most three levels of any splits.

        It is computed from the sums, over its rows, of the cost of each label, and of the amounts that count for each
        condition on leaves.
        """
        levels = []
        for k in range(4):  # leaves below no split, one, two and three
            best = None
            for label, sums in enumerate(of_label):
                value = sums[k] + self.beside[label]
                for one, least in zip(measured, self.problem.least[:, label]):
                    if least > -np.inf:
                        value = np.where(one[k] < least, np.inf, value)
                best = value if best is None else np.minimum(best, value)
            levels.append(best)
        found = levels[3]  # (2, splits) for each split, with the side and the number of the last one at the end
        for above in levels[2::-1]:
            both = found[..., 0, :] + found[..., 1, :]
            found = np.minimum(above, self.node + both.min(axis=-1, initial=np.inf))
        return float(found)

    def each(self, rows: Counted) -> np.ndarray:
        """Return float64 (2, splits): the least weighted cost of a subtree on the side 0 or 1 of a split."""
        if rows.height == 1:
            found = np.stack([self.leaves(part).min(axis=1) for part in (rows.count - rows.ones, rows.ones)])
        elif rows.height == 2 and self.problem.swept:
            found = np.full((2, len(rows.may)), np.inf)
            self.swept.least(rows.rows, rows.path, np.unique(self.problem.column)[None], each=found)
        elif rows.height == 2:
            single, stump = self.below(rows)
            found = np.minimum(single, self.node + stump.min(axis=2))
        else:
            found = np.full((2, len(rows.may)), np.inf)
            for split in np.flatnonzero(rows.may).tolist():
                found[:, split] = [self.subtree(side) for side in rows.sides(split)]
        found[:, ~rows.may] = np.inf
        return found

    def subtree(self, rows: Counted) -> float:
        """Return the least weighted cost of a subtree, over any columns."""
        alone = self.leaf(rows.count)
        return min(alone, self.node + float(self.each(rows).sum(axis=0).min())) if rows.height else alone

    def subtrees(self, rows: Counted, sets: np.ndarray) -> np.ndarray:
        """Return float64 (sets,): the least weighted cost of a subtree over each set of columns."""
        found = np.full(len(sets), self.leaf(rows.count))
        if rows.height == 1:
            each = np.minimum.reduceat(self.each(rows).sum(axis=0), self.starts)
            return np.minimum(found, self.node + each[sets].min(axis=1))
        if rows.height == 2:
            single, stump = self.below(rows)
            each = np.minimum(single[:, :, None], self.node + np.minimum.reduceat(stump, self.starts, axis=2))
        for column in range(len(self.starts) if rows.height else 0):
            here, mine = (sets == column).any(axis=1), np.flatnonzero((self.problem.column == column) & rows.may)
            if not (here.any() and len(mine)):
                continue
            if rows.height == 2:
                best = each[:, mine][:, :, sets[here]].min(axis=3).sum(axis=0).min(axis=0)
            else:
                best = np.minimum.reduce(
                    [sum(self.subtrees(side, sets[here]) for side in rows.sides(split)) for split in mine.tolist()]
                )
            found[here] = np.minimum(found[here], self.node + best)
        return found


def surviving(
    problem: Problem, scale: int, passes: list[list[int]], claim: int, settled: np.ndarray | None = None
) -> np.ndarray:
    """Return the cases that the multipliers of no pass exclude, except for those of sets that are settled.

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


_last_answer: dict[bytes, np.ndarray] = {}  # of `surviving`


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
    sets, top = problem.column_sets, Counted(problem, np.arange(len(problem.X)))
    alive = (sets[None, :, :] == problem.column[:, None, None]).any(axis=2) & top.may[:, None]
    alive[:, settled] = False
    tried = [Weighted(problem, scale, multipliers) for multipliers in passes]
    if problem.swept and problem.depth == 1:
        alive[~_of_one_split(problem, claim)] = False
        return alive
    if problem.swept:
        for weighted in tried:
            exclude(weighted.swept, alive, weighted.limit(claim))
        return alive
    if problem.depth > 3:
        _without_hopeless_sets(problem, tried, alive, claim)
    if problem.depth > 3 and 2.0 ** (problem.depth - 1) * float(len(alive)) ** problem.depth > MOST_SUMS:
        apart = problem.splits_apart(()) if problem.depth == 4 else None
        if apart is not None:
            _set_by_set(problem, tried, alive, claim, np.array(apart) <= MOST_APART)
        return alive
    if _sets_are_small(problem):
        _set_by_set(problem, tried, alive, claim)
        return alive
    for root in phases.over(np.flatnonzero(alive.any(axis=1)).tolist(), "bounding roots"):
        deadline.check()
        sides = top.sides(root)
        for weighted in tried:
            here = np.flatnonzero(alive[root])
            if len(here):
                value = weighted.node + sum(weighted.subtrees(side, sets[here]) for side in sides)
                alive[root, here] = value <= weighted.limit(claim)
    return alive


def _without_hopeless_sets(problem: Problem, tried: list[Weighted], alive: np.ndarray, claim: int) -> None:
    """Remove from `alive`, bool (roots, sets), the sets of columns over which no tree of any depth has a small enough
    weight: rows with equal results for all splits of a set are in one leaf, so they weigh at least as much as with
    their best label."""
    free = [one for one in tried if one.frees]
    for number in np.flatnonzero(alive.any(axis=0)).tolist() if free else ():
        deadline.check()
        splits = np.flatnonzero((problem.column[:, None] == problem.column_sets[number]).any(axis=1))
        members = problem.only(splits).members
        if any((members @ one.kind).min(axis=1).sum() > one.limit(claim) for one in free):
            alive[:, number] = False


def _set_by_set(
    problem: Problem, tried: list[Weighted], alive: np.ndarray, claim: int, among: np.ndarray | None = None
) -> None:
    """Remove from `alive`, bool (roots, sets), the cases that some multipliers exclude: for one set of columns with
    few splits after the other, among all or those in `among`, bool (sets,), by trees of four levels over rows
    merged by equal results for these splits."""
    sets = problem.column_sets
    for number in phases.over(range(len(sets) if tried else 0), "bounding sets of columns"):
        splits = np.flatnonzero((problem.column[:, None] == sets[number]).any(axis=1))
        if not alive[splits, number].any() or not (among is None or among[number]):
            continue
        part = problem.only(splits)
        mine = [Weighted(part, weighted.scale, weighted.multipliers) for weighted in tried]
        lines = part.members @ np.concatenate([part.measures.T.astype(float), *(one.kind for one in mine)], axis=1)
        sums, n_labels, n_held = _SumsOfSides(part.X, lines.T), part.cost.shape[1], len(part.measures)
        for root in np.flatnonzero(alive[splits, number]).tolist():
            deadline.check()
            answer = sums.at(root)
            larger = int(2 * answer.sum() > len(answer))
            held: dict[int, list[Sums]] = {}
            for place, weighted in enumerate(mine):
                labels = slice(n_held + place * n_labels, n_held + (place + 1) * n_labels)
                limit = weighted.limit(claim) - weighted.node
                best = lines[:, labels].min(axis=1)
                # A lower bound on the weight of the rows of a side that is not checked.
                least = [best[answer == bool(side)].sum() if weighted.frees else -np.inf for side in (0, 1)]
                for side in (larger, 1 - larger):
                    held[side] = held.get(side) or [sums.of(at, side) for at in range(n_held)]
                    of_label = [sums.of(at, side) for at in range(labels.start, labels.stop)]
                    least[side] = weighted.three_levels(of_label, held[side])
                    if least[0] + least[1] > limit:
                        break
                alive[splits[root], number] = least[0] + least[1] <= limit
                if not alive[splits[root], number]:
                    break


class _SumsOfSides:
    """Sums of some lines on the sides of one root after the other.

    Parameters
    ----------
    X : bool (rows, splits)
    lines : float64 (lines, rows)
    """

    def __init__(self, X: np.ndarray, lines: np.ndarray):
        self.X, self.lines, self.real = X, lines, X.astype(float)
        self._every: dict[int, Ones] = {}
        self._ones: dict[int, Ones] = {}

    def at(self, root: int) -> np.ndarray:
        """Set the root from now on, and return its results for the rows, bool (rows,)."""
        self._answer, self._ones = self.X[:, root], {}
        return self._answer

    def of(self, at: int, side: int) -> Sums:
        """Return the sums of a line over the rows on the side 0 or 1."""
        if at not in self._ones:
            self._ones[at] = _ones_of(self.real[self._answer], self.lines[at, self._answer])
        if side:
            return _eighths(*self._ones[at])
        if at not in self._every:
            self._every[at] = _ones_of(self.real, self.lines[at])
        total, one, two, three = (a - b for a, b in zip(self._every[at], self._ones[at]))
        return _eighths(total, one, two, three)


def _sets_are_small(problem: Problem) -> bool:
    """Return whether checking one set of columns after the other is less work than all at once; for trees of four
    levels whose splits may be anywhere."""
    if problem.depth != 4 or not (problem.levels.all() and problem.below.all()):
        return False
    splits = (problem.column_sets[:, :, None] == problem.column).any(axis=1).sum(axis=1).astype(float)
    apart = (2 * splits * (splits**3 + MOMENT)).sum()
    n_candidate_splits = float(len(problem.column))
    return bool(splits.max() <= MOST_SMALL and apart < (2 * n_candidate_splits) ** 2 * (n_candidate_splits**2 + MOMENT))


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


def _ones_of(X: np.ndarray, number: np.ndarray) -> Ones:
    """Return sums of numbers, float64 (rows,), over all rows, and over the rows on side 1 of a split, of two and of
    three in X, float64 (rows, splits): float64 (), (splits,), (splits, splits) and (splits, splits, splits)."""
    own = X * number[:, None]
    two = own.T @ X
    if own.shape[1] ** 2 * len(X) <= MOST_AT_ONCE:
        three = (X.T[:, None, :] * own.T[None]) @ X
    else:
        three = np.stack([(X * line[:, None]).T @ X for line in own.T])
    return np.asarray(number.sum()), own.sum(axis=0), two, three


def _eighths(total: np.ndarray, one: np.ndarray, two: np.ndarray, three: np.ndarray) -> Sums:
    """Return, from the result of _ones_of, the sums over the rows with given results for no split, one, two and
    three: float64 (), (2, splits), (2, splits, 2, splits) and (2, splits, 2, splits, 2, splits)."""
    splits = len(one)
    single = np.stack([total - one, one])
    both = np.empty((2, splits, 2, splits))
    both[1, :, 1], both[1, :, 0] = two, one[:, None] - two
    both[0, :, 1] = both[1, :, 0].T
    both[0, :, 0] = single[0][:, None] - both[0, :, 1]
    each = np.empty((2, splits, 2, splits, 2, splits))
    each[1, :, 1, :, 1] = three
    each[1, :, 0, :, 1] = two[:, None, :] - three
    each[0, :, 1, :, 1] = two[None, :, :] - three
    each[0, :, 0, :, 1] = both[0, :, 1][:, None, :] - each[0, :, 1, :, 1]
    each[:, :, :, :, 0] = both[..., None] - each[:, :, :, :, 1]
    return total, single, both, each


def _quarters(both: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ((side 0, side 1), [side of the first][side of the second]) from sums over rows on side 1 of
    two splits."""
    own = both.diagonal().astype(float)
    four = np.empty((2, 2, *both.shape))
    four[1, 1], four[1, 0], four[0, 1] = both, own[:, None] - both, own[None, :] - both
    four[0, 0] = total - own[:, None] - own[None, :] + both
    return np.stack([total - own, own]), four
