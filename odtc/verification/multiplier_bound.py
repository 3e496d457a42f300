"""The bound that multipliers prove on all trees under constraints, recomputed in whole numbers.

For multipliers m ≥ 0 in units of 1 / D the weighted cost of a tree is D · cost + Σ_r m_r (uses_r). A tree that costs at
most C - 1 and keeps all sums has a weighted cost of at most

    Λ = D (C - 1) + Σ_r m_r bound_r.

A case is a root test with a set of columns that the tree may test. A case whose least weighted cost exceeds Λ holds no
such tree; of any other case the trees are listed (odtc.verification.listed_cases).
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from odtc.errors import CertificateError

EXACT = 2.0**52
SINGLE = 2**24  # whole numbers up to here are exact in float32
MOST_SETS = 20_000  # of columns
MOST_TESTS = 400


@dataclass(frozen=True)
class Problem:
    """Rows and sums, all of whole numbers. Rows that cost and use the same are of one kind.

    Attributes
    ----------
    X : bool (rows, tests)
    members : float64 (rows, kinds)
        How many rows of the data of each kind a row stands for: of one kind some, of the others 0.
    cost : int64 (kinds, classes)
    uses : int64 (sums, kinds, classes)
    bound, branch_uses : list of int
    price : int
        What a branch node costs.
    column : int (tests,)
        The column of the data of each test, from 0.
    most_columns : int or None
    least_rows : int
    depth : int
    roots : bool (tests,) or None
        The tests that may be at the root; None for all.
    """

    X: np.ndarray
    members: np.ndarray
    cost: np.ndarray
    uses: np.ndarray
    bound: list[int]
    branch_uses: list[int]
    price: int
    column: np.ndarray
    most_columns: int | None
    least_rows: int
    depth: int
    roots: np.ndarray | None = None

    @property
    def column_sets(self) -> np.ndarray:
        """int (sets, k): the columns of each set that a tree may test; one set of all without a limit that matters."""
        m = int(self.column.max()) + 1
        k = self.most_columns
        if k is None or k >= min(m, 2**self.depth - 1):
            return np.arange(m)[None, :]
        if not k or comb(m, k) > MOST_SETS:
            raise CertificateError(f"a certificate looks at up to {MOST_SETS:,} sets of columns, got {k} of {m}")
        return np.array(list(combinations(range(m), k)))

    def count(self, rows: np.ndarray) -> np.ndarray:
        """float64 (kinds,): rows of the data."""
        return self.members[rows].sum(axis=0)

    def pairs(self, rows: np.ndarray, tests: np.ndarray) -> np.ndarray:
        """float32 or float64 (kinds, tests, tests): rows of the data that answer 1 to both tests."""
        real = np.float32 if self.members.sum() < SINGLE else np.float64
        X, members = self.X[np.ix_(rows, tests)].astype(real), self.members[rows].astype(real)
        found = np.empty((members.shape[1], len(tests), len(tests)), real)
        for kind, number in enumerate(members.T):
            here = np.flatnonzero(number)
            found[kind] = (X[here] * number[here, None]).T @ X[here]
        return found


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
        self.problem, self.scale = problem, scale
        if len(multipliers) != len(problem.bound) or any(m < 0 for m in multipliers):
            raise ValueError("its multipliers are not one number of 0 or more for each sum")
        number = [int(n) for n in problem.members.sum(axis=0)]
        most = [scale * int(cost) for cost in np.abs(problem.cost).max(axis=1)]
        for m, use in zip(multipliers, problem.uses):
            most = [a + m * int(b) for a, b in zip(most, np.abs(use).max(axis=1))]
        node = scale * problem.price + sum(m * use for m, use in zip(multipliers, problem.branch_uses))
        budget = sum(m * bound for m, bound in zip(multipliers, problem.bound))
        row = sum(n * one for n, one in zip(number, most))
        if row + node * 2**problem.depth + abs(budget) >= EXACT:
            raise ValueError("its multipliers are too large to be added exactly")
        m = np.array(multipliers, float).reshape(-1, 1, 1)
        self.kind = scale * problem.cost.astype(float) + (m * problem.uses).sum(axis=0)  # (kinds, classes)
        self.node, self.budget = float(node), int(budget)
        self.starts = np.unique(problem.column, return_index=True)[1]

    def limit(self, claim: int) -> float:
        """Λ."""
        return float(self.scale * (claim - 1) + self.budget)

    def leaf(self, count: np.ndarray) -> float:
        """The best leaf of rows counted by kind."""
        return np.inf if count.sum() < self.problem.least_rows else float((count @ self.kind).min())

    def stumps(self, ones: np.ndarray, count: np.ndarray) -> np.ndarray:
        """float64 (tests,): the two best leaves below each test; `ones` (tests, kinds) counts rows that answer 1."""
        found = np.zeros(len(ones))
        for part in (ones, count - ones):
            found += np.where(part.sum(axis=1) < self.problem.least_rows, np.inf, (part @ self.kind).min(axis=1))
        return found

    def below(self, pairs: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(single float64 (2, tests), stump float64 (2, tests, tests)): the best leaf where a test is answered 0 or 1,
        and the two best leaves below it where another is asked there; of `Problem.pairs` and counts by kind."""
        single = leaves = None
        for weight in self.kind.T:
            one, four = _quarters(np.tensordot(weight, pairs, 1), float(weight @ count))
            single = one if single is None else np.minimum(single, one)
            leaves = four if leaves is None else np.minimum(leaves, four)
        if self.problem.least_rows > 0:
            one, four = _quarters(pairs.sum(axis=0, dtype=float), float(count.sum()))
            single[one < self.problem.least_rows] = np.inf
            leaves[four < self.problem.least_rows] = np.inf
        return single, leaves.sum(axis=1)

    def sides(self, counts: "Counted", sets: np.ndarray) -> np.ndarray:
        """float64 (sets,): the least weighted cost of a subtree below the root, for each set of columns."""
        alone, depth = self.leaf(counts.count), self.problem.depth - 1
        if depth == 0:
            return np.full(len(sets), alone)
        if depth == 1:
            each = np.minimum.reduceat(self.stumps(counts.ones, counts.count), self.starts)
            return np.minimum(alone, self.node + each[sets].min(axis=1))
        single, stump = self.below(counts.pairs, counts.count)
        each = np.minimum(single[:, :, None], self.node + np.minimum.reduceat(stump, self.starts, axis=2))
        found = np.full(len(sets), alone)
        for column in range(len(self.starts)):
            here, mine = (sets == column).any(axis=1), np.flatnonzero(self.problem.column == column)
            if here.any():
                best = each[:, mine][:, :, sets[here]].min(axis=3).sum(axis=0).min(axis=0)
                found[here] = np.minimum(found[here], self.node + best)
        return found


class Counted:
    """The rows of one side of a root, counted by kind."""

    def __init__(self, problem: Problem, rows: np.ndarray, whole: np.ndarray | None = None, other=None):
        self.count = problem.count(rows)
        self.pairs = self.ones = None
        if problem.depth == 2:
            self.ones = problem.X[rows].T.astype(float) @ problem.members[rows]
        elif problem.depth == 3:  # of the two sides one is what the other leaves of all rows
            every = np.arange(len(problem.column))
            self.pairs = problem.pairs(rows, every) if other is None else whole - other.pairs


def both_sides(problem: Problem, root: int, whole: np.ndarray | None) -> tuple[Counted, Counted]:
    """The rows that answer 0, and 1; `whole` are the pairs of all rows, if trees are of depth 3."""
    one = Counted(problem, np.flatnonzero(problem.X[:, root]))
    return Counted(problem, np.flatnonzero(~problem.X[:, root]), whole, one), one


def pairs_of_all(problem: Problem) -> np.ndarray | None:
    """The pairs of all rows, if trees are of depth 3."""
    if problem.depth < 3:
        return None
    return problem.pairs(np.arange(len(problem.X)), np.arange(len(problem.column)))


def surviving(problem: Problem, scale: int, passes: list[list[int]], claim: int) -> np.ndarray:
    """bool (roots, sets of columns): the cases that the multipliers of no pass exclude."""
    sets, whole = problem.column_sets, pairs_of_all(problem)
    alive = (sets[None, :, :] == problem.column[:, None, None]).any(axis=2)
    if problem.roots is not None:
        alive &= problem.roots[:, None]
    tried = [Weighted(problem, scale, multipliers) for multipliers in passes]
    for root in np.flatnonzero(alive.any(axis=1)).tolist():
        sides = both_sides(problem, root, whole)
        for weighted in tried:
            here = np.flatnonzero(alive[root])
            if len(here):
                value = weighted.node + sum(weighted.sides(side, sets[here]) for side in sides)
                alive[root, here] = value <= weighted.limit(claim)
    return alive


def _quarters(both: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """((answer 0, answer 1), [answer to the first][to the second]) of sums over rows that answer 1 to two tests."""
    own = both.diagonal().astype(float)
    four = np.empty((2, 2, *both.shape))
    four[1, 1], four[1, 0], four[0, 1] = both, own[:, None] - both, own[None, :] - both
    four[0, 0] = total - own[:, None] - own[None, :] + both
    return np.stack([total - own, own]), four
