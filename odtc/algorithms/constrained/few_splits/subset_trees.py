"""The cheapest trees over each subset of columns, if these have few splits (four_levels).

If a constraint limits the columns of a tree, one subset of columns has so few splits that trying all of its trees takes
less time than building the tables of all splits (lagrangian_pass). This needs the compiled loops, and splits that are
allowed at all positions.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.close_gap import GapCloser
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, named
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.few_splits import four_levels
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights, sums
from odtc.algorithms.constrained.trace_tree import Structure
from odtc.algorithms.equal_rows import equal_rows
from odtc.base.deadline import KERNEL_STEPS

DEPTHS = (3, 4)  # supported depths of a tree
TABLE_CELLS = 200_000  # rows times splits; up to this number, tables of all splits are as fast at depth 3
MOST_HELD = 2**28  # maximum number of bytes for the stored patterns of all subsets
MOST_TABLES = 16  # number of subsets whose tables are cached
OF_COLUMN = 5.0  # assumed number of splits of a column, if the columns of the splits are not known
RATE = 3e8  # approximate number of kernel steps per CPU second
SHORT = 0.4  # CPU seconds; the kernel is used if a pass without it takes longer
PLAIN, PAIRS = 2e8, 2e9  # sums of a pass without them, and rows that are counted by pairs of splits, in a CPU second


def steps(problem: ConstrainedProblem) -> float:
    """Return the approximate number of steps of one pass over all subsets of columns, if no tree is excluded early."""
    each = np.bincount(problem.column, minlength=problem.subsets.shape[1]).astype(float)
    splits = problem.subsets @ each
    columns = np.maximum(problem.subsets.sum(axis=1), splits / OF_COLUMN)
    patterns = np.minimum(float(len(problem.X)), np.exp(problem.subsets @ np.log1p(each)))
    return float(((2 * splits) ** (problem.depth - 2) * (columns**2 * patterns / 4 + 4 * splits**2)).sum())


def without(problem: ConstrainedProblem) -> float:
    """Return the approximate CPU seconds of a pass without these loops, including the time to count pairs of splits."""
    n_splits, depth = len(problem.column), problem.depth
    return sums(n_splits, depth) / PLAIN + len(problem.X) * float(n_splits) ** depth / PAIRS


def takes(problem: ConstrainedProblem) -> bool:
    """Return whether the kernel supports a problem and is faster than the tables."""
    if problem.depth not in DEPTHS or problem.below is not None or not problem.allowed.all():
        return False
    slow = problem.depth > DEPTHS[0] or len(problem.X) * len(problem.column) > TABLE_CELLS
    return slow and max(SHORT, steps(problem) / RATE) < without(problem)


class Cells:
    """The rows grouped by their outcomes for some splits of a column. Any two of these splits are nested or disjoint,
    or together have outcome 1 for every row, so there is at most one cell more than splits.

    Parameters
    ----------
    X : bool (rows, splits of the problem)
    splits : int (splits,)

    Attributes
    ----------
    splits : int (splits,)
    cell : int64 (rows,)
    size : int, the number of cells
    turns : int (splits,), flips of each split
    flips : int64 (flips, 2), a cell, and 1 or -1
    """

    def __init__(self, X: np.ndarray, splits: np.ndarray):
        mine = X[:, splits]
        self.cell, first = equal_rows((answers, 2) for answers in mine.T.astype(np.int64))
        self.splits, self.size = splits, len(first)
        changes = np.diff(mine[first].astype(np.int8), axis=1, prepend=np.int8(0))  # (cells, splits)
        self.turns = (changes != 0).sum(axis=0)
        split, where = np.nonzero(changes.T)
        self.flips = np.stack([where, changes[where, split]], axis=1).astype(np.int64)

    @staticmethod
    def of(X: np.ndarray, splits: np.ndarray) -> list["Cells"]:
        """Return the cells of all splits of a column, with each split in the first group that it fits."""
        mine = np.ascontiguousarray(X[:, splits], np.float32)
        both, n = mine.T @ mine, len(mine)
        ones = both.diagonal()
        fits = (both == 0) | (both == np.minimum.outer(ones, ones)) | (np.add.outer(ones, ones) - both == n)
        groups: list[list[int]] = []
        for place in range(len(splits)):
            group = next((one for one in groups if fits[place, one].all()), None)
            if group is None:
                groups.append([place])
            else:
                group.append(place)
        return [Cells(X, splits[group]) for group in groups]


class Patterns:
    """The rows by their outcomes for the splits of one subset of columns.

    Parameters
    ----------
    counts : Counts
    scale : int
        Of the multipliers.
    parts : list of Cells
        Of the columns of the subset.
    """

    def __init__(self, counts: Counts, scale: int, parts: list[Cells]):
        self.counts, self.scale, self.splits = counts, scale, np.concatenate([part.splits for part in parts])
        self.place = {int(split): place for place, split in enumerate(self.splits)}
        code, some = equal_rows((part.cell, part.size) for part in parts)  # the pattern of each row, a row of each
        self.cell = np.array([part.cell[some] for part in parts], np.int64).reshape(len(parts), len(some))
        self.at = np.append(0, np.cumsum([part.size for part in parts])).astype(np.int64)
        self.first = np.append(0, np.cumsum([len(part.splits) for part in parts])).astype(np.int64)
        self.turn = np.append(0, np.cumsum(np.concatenate([part.turns for part in parts]))).astype(np.int64)
        self.flips = np.concatenate([part.flips for part in parts])
        self.answer = np.ascontiguousarray(counts.problem.X[np.ix_(some, self.splits)].T)
        held = [np.bincount(code, one, len(some)) for one in counts.factor.T.astype(float)]
        self.held = np.stack(held, axis=1)  # (patterns, kinds)
        self.size = self.held.nbytes + self.cell.nbytes + self.answer.nbytes + self.flips.nbytes

    def tables(self) -> Pass:
        """Return the tables of only these splits, over one row for each pattern; split g is the one at position g."""
        counts, problem = self.counts, self.counts.problem
        accepts = problem.accepts
        merged = ConstrainedProblem(
            X=np.ascontiguousarray(self.answer.T),
            cost=_whole(self.held @ counts.cost),
            depth=problem.depth,
            uses=_whole(np.einsum("pk,rkl->rpl", self.held, counts.uses)),
            bound=problem.bound,
            branch_cost=problem.branch_cost,
            branch_uses=problem.branch_uses,
            leaf_uses=problem.leaf_uses,
            measures=_whole(counts.measures @ self.held.T),
            least=problem.least,
            column=np.zeros(len(self.splits), int),
            accepts=None if accepts is None else lambda split, label: accepts(named(split, self.splits), label),
        )
        return Pass(Counts(merged), self.scale)

    @property
    def steps(self) -> float:
        """The approximate number of steps to try all trees below one root."""
        patterns, columns, splits = self.cell.shape[1], len(self.cell), len(self.splits)
        inner = columns**2 * patterns / 4 + 4 * splits**2
        return float(2 * (2 * splits) ** (self.counts.problem.depth - 3) * inner)

    def below(
        self, weights: Weights, roots: np.ndarray, levels: int, most: float = np.inf, some: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimum costs of the subtrees below roots, in addition to label 0 everywhere.

        Parameters
        ----------
        weights : Weights
        roots : int (roots,), positions in `splits`
        levels : int, of each subtree
        most : float
            Costs above this need not be exact.
        some : int (patterns,), or None for all

        Returns
        -------
        cost : float64 (roots,), of both subtrees
        split : int64 (roots, 2), the position in `splits` of the first split of each; -1 for a leaf
        """
        held, cell, answer = self.held, self.cell, self.answer
        if some is not None:
            held, cell, answer = held[some], np.ascontiguousarray(cell[:, some]), np.ascontiguousarray(answer[:, some])
        least = np.ascontiguousarray(self.counts.problem.least, float)
        value = self._value(weights, held)
        low = np.minimum(0.0, value[:, : len(weights.leaf) - 1].min(axis=1, initial=0.0))
        leaf, branch = min(0.0, float(weights.leaf.min())), min(0.0, weights.branch)
        rest = np.array([2**height * leaf + (2**height - 1) * branch for height in range(4)])
        places = self.at, self.first, self.turn, self.flips
        cost, split = np.empty(len(roots)), np.empty((len(roots), 2), np.int64)
        nodes = weights.leaf.astype(float), least, float(weights.branch), levels
        given = answer, low, rest, cell, value, *places, *nodes, roots.astype(np.int64), float(most), cost, split
        four_levels.below_roots(*given)
        return cost, split

    def _value(self, weights: Weights, held: np.ndarray) -> np.ndarray:
        """Return float64 (patterns, labels - 1 + conditions)."""
        return np.ascontiguousarray(
            np.concatenate([held @ weights.label[1:].T, held @ self.counts.measures.T], axis=1), float
        )

    def trace(self, weights: Weights, root: int) -> tuple[Structure | None, float]:
        """Return (the cheapest tree with a root, a position in `splits`, its weighted cost), like trace_tree.trace."""
        depth = self.counts.problem.depth
        cost = weights.base + float(self.below(weights, np.array([root]), depth - 1)[0][0])
        if np.isinf(cost):
            return None, np.inf
        split, leaves = np.full(2 ** (depth + 1), -1, np.int32), {}

        def lay(node: int, some: np.ndarray, here: int, levels: int) -> None:
            """Lay out a split at a node, above subtrees of this many levels."""
            if here < 0:
                leaves[node] = self.held[some].sum(axis=0)
                return
            split[node] = self.splits[here]
            sides = [some[self.answer[here, some] == bool(side)] for side in (0, 1)]
            if levels > 1:
                next_splits = self.below(weights, np.array([here]), levels, some=some)[1][0]
            else:
                next_splits = [self._stump(weights, side) if levels else -1 for side in sides]
            for side in (0, 1):
                lay(2 * node + side, sides[side], int(next_splits[side]), levels - 1)

        lay(1, np.arange(len(self.held)), root, depth - 1)
        places = tuple(sorted(leaves))
        return Structure(split, places, np.array([leaves[place] for place in places])), cost

    def _stump(self, weights: Weights, some: np.ndarray) -> int:
        """Return the split of the best subtree of one level on some patterns; -1 for a leaf."""
        value = self._value(weights, self.held[some])
        total, ones = value.sum(axis=0), self.answer[:, some].astype(float) @ value
        both = self._leaves(weights, ones) + self._leaves(weights, total - ones) + weights.branch
        best = int(both.argmin())
        return best if both[best] < self._leaves(weights, total[None])[0] else -1

    def _leaves(self, weights: Weights, sums: np.ndarray) -> np.ndarray:
        """Return float64 (leaves,): the minimum costs of leaves with these sums, (leaves, labels - 1 + conditions)."""
        n_labels = len(weights.leaf)
        cost = np.concatenate([np.zeros((len(sums), 1)), sums[:, : n_labels - 1]], axis=1) + weights.leaf
        for line, least in zip(sums[:, n_labels - 1 :].T, self.counts.problem.least):
            cost[line[:, None] < least] = np.inf
        return cost.min(axis=1)


def _whole(sums: np.ndarray) -> np.ndarray:
    return np.rint(sums).astype(np.int64)


class SubsetTrees:
    """The cheapest trees of a search over every subset of columns.

    Parameters
    ----------
    counts : Counts
        Of a problem for which `takes` is true, with its splits sorted by column.
    scale : int
        Of the multipliers.
    """

    def __init__(self, counts: Counts, scale: int):
        self.counts, self.scale, problem = counts, scale, counts.problem
        self._cells: dict[int, list[Cells]] = {}
        self._known: dict[int, Patterns] = {}
        self._tables: dict[int, Pass] = {}
        self._held = 0
        self.seconds = steps(problem) / RATE  # CPU seconds of a pass, at most

    def values(
        self, weights: Weights, cases: dict[int, np.ndarray], most: float, tell: Callable[[float], None]
    ) -> dict[int, np.ndarray]:
        """Return the least weighted cost of the trees of cases, as CaseTrees (case_trees) does."""
        found = {root: np.full(len(subsets), np.inf) for root, subsets in cases.items()}
        asked: dict[int, list[tuple[int, int]]] = {}
        for root, subsets in cases.items():
            for place, subset in enumerate(subsets.tolist()):
                asked.setdefault(subset, []).append((root, place))
        levels = self.counts.problem.depth - 1
        for subset, roots in asked.items():
            mine = self.patterns(subset)
            at_once = max(1, int(KERNEL_STEPS / mine.steps))
            for begin in range(0, len(roots), at_once):
                tell(-np.inf)
                some = roots[begin : begin + at_once]
                here = np.array([mine.place[root] for root, _ in some])
                cost, _ = mine.below(weights, here, levels, most - weights.base)
                for (root, place), one in zip(some, cost):
                    found[root][place] = weights.base + one
        return found

    def trace(self, weights: Weights, root: int, subset: int) -> tuple[Structure | None, float]:
        """Return (the cheapest tree of a case, its weighted cost)."""
        mine = self.patterns(subset)
        return mine.trace(weights, mine.place[root])

    def closer(
        self, multipliers: np.ndarray, root: int, subset: int, tick: Callable[[], None]
    ) -> tuple[GapCloser, int, np.ndarray]:
        """Return the lists of a case, as CaseTrees does: over one row for each pattern."""
        mine, tables = self.patterns(subset), self.tables(subset)
        weights = Weights.of(tables.counts, self.scale, multipliers)
        return GapCloser(tables, weights, np.arange(len(mine.splits)), tick), mine.place[root], mine.splits

    def patterns(self, subset: int) -> Patterns:
        """Return the patterns of a subset of columns, which are kept as long as there is room."""
        if subset not in self._known:
            columns = np.intersect1d(np.flatnonzero(self.counts.problem.subsets[subset]), self.counts.problem.column)
            made = Patterns(
                self.counts, self.scale, [part for column in columns.tolist() for part in self._column(column)]
            )
            if self._held + made.size > MOST_HELD:
                return made
            self._known[subset], self._held = made, self._held + made.size
        return self._known[subset]

    def tables(self, subset: int) -> Pass:
        """Return the tables of the patterns of a subset, the last few of which are kept."""
        if subset not in self._tables:
            if len(self._tables) >= MOST_TABLES:
                self._tables.clear()
            self._tables[subset] = self.patterns(subset).tables()
        return self._tables[subset]

    def _column(self, column: int) -> list[Cells]:
        if column not in self._cells:
            problem = self.counts.problem
            self._cells[column] = Cells.of(problem.X, np.flatnonzero(problem.column == column))
        return self._cells[column]
