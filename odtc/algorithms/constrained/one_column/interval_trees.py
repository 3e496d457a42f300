"""Exact search for the best constrained tree on one column: its leaves divide the ranks of the column into intervals.

The T splits of a column, which are nested, divide the rows into cells 0 … T, by the number of splits for which a row
has outcome 1. A tree of depth D over them divides the cells into at most 2^D intervals with a label each, and every
such division is a tree of that depth. Two neighbouring intervals with the same label can be merged into one leaf, which
costs and uses no more. So every tree is a walk over the cells; at each cell the current leaf continues, or the next one
begins:

    (cost, uses) of a walk at a cell, with its number of leaves and the label of the last one.

A walk is dropped if another one with as many leaves and the same last label uses the same and costs no more (with one
sum: uses no more). It is also dropped if a lower bound on its completion exceeds a limit: on its cost, on a sum, or on
both weighted by multipliers. The multipliers that bound the cost best (Kelley's cuts) determine where to begin: trees
that cost little more than that bound are searched for first, so that few walks remain.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    codes_of,
    fixed_point,
    in_fixed_point,
    ones_of,
)
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.subtree_options import kept

MOST_WALKS = 2_000_000  # maximum number of walks to one cell
ROUNDS = 14  # maximum number of multipliers tried
NEAR, WIDER = 0.01, 4  # margin above the bound of the first try, relative to it, and its growth factor for each retry

Tree = tuple[np.ndarray, np.ndarray]


def takes(problem: ConstrainedProblem) -> bool:
    """Return whether intervals describe the trees over one column of a problem: no constraint is on single splits, the
    measures of a leaf do not fall if it grows, and no branch node or leaf has negative uses."""
    plain = problem.below is None and problem.allowed.all() and problem.accepts is None
    grows = (problem.measures >= 0).all()
    return bool(plain and grows and (problem.branch_uses >= 0).all() and (problem.leaf_uses >= 0).all())


class IntervalTrees:
    """The trees over some nested splits.

    Parameters
    ----------
    problem : ConstrainedProblem
        A problem for which `takes` is true.
    splits : int (splits,)
        In descending order of the number of ones, as returned by `nested_order`.
    tick : Callable[[], None]
        Raises when the time is over.

    Attributes
    ----------
    lower : int
        A lower bound on the cost of feasible trees, by the search so far.
    priced : int
        The part of this bound that follows from multipliers only.
    multipliers : float64 (sets of them, constraints)
        The multipliers by which walks are dropped, in units of 1 / `scale`; the last set bounds the cost best.
    scale : int

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(self, problem: ConstrainedProblem, splits: np.ndarray, tick: Callable[[], None]):
        self.problem, self.splits, self.tick = problem, splits, tick
        cell, n_cells = codes_of(problem.X, splits), len(splits) + 1
        lines = np.concatenate([problem.cost[None], problem.uses])  # (1 + constraints, rows, labels)
        each = [np.bincount(cell, line[:, k], n_cells) for line in lines for k in range(problem.n_labels)]
        own = np.array(each).reshape(len(lines), problem.n_labels, n_cells).transpose(2, 1, 0)
        self.own = own  # float64 (cells, labels, 1 + constraints)
        held = [np.bincount(cell, measure, n_cells) for measure in problem.measures]
        self.end = _ends(np.array(held).reshape(len(held), n_cells), problem.least)
        before = np.concatenate([np.zeros((1, *own.shape[1:])), own.cumsum(axis=0)])
        leaf = np.concatenate([np.zeros((problem.n_labels, 1)), problem.leaf_uses.T], axis=1)
        reached = before[np.minimum(self.end, n_cells), np.arange(problem.n_labels)]
        self.begun = reached - before[:-1] + leaf  # the first possible end of a leaf that begins at a cell
        self.branch = np.append(problem.branch_cost, problem.branch_uses).astype(float)
        self.most_leaves = min(2**problem.depth, n_cells)
        self.scale, self._largest = fixed_point(problem)
        self.lower, self.priced, self.multipliers = 0, 0, np.zeros((0, problem.n_constraints))

    def bound(self, below: int, first: np.ndarray | None = None) -> int:
        """Raise `lower` by multipliers, until it reaches `below` or no others promise more, and return it.

        Parameters
        ----------
        below : int
        first : float64 (constraints,) or None
            Multipliers to begin with, in units of 1 / `scale`.
        """
        bound, scale, largest = self.problem.bound, self.scale, self._largest
        cuts = Cuts(largest / scale, whole=True)
        for multipliers in cuts.rounds(np.zeros(len(bound)) if first is None else first / scale, ROUNDS):
            self.tick()
            m = in_fixed_point(multipliers, scale, largest).astype(float)
            value, vector = self._least(np.append(float(scale), m))
            if np.isinf(value):  # no leaf is allowed
                self.lower = self.priced = below
                break
            reached = min(below, int(max(0.0, np.ceil((value - m @ bound) / scale))))
            if reached >= self.lower:
                self.lower, self.priced, self.multipliers = reached, reached, np.array([*self.multipliers[-1:], m])
            if self.lower >= below:
                break
            cuts.add(float(vector[0]), vector[1:] - bound)
            cuts.reach(self.lower)
        return self.lower

    def best(self, below: int) -> tuple[Tree, int] | None:
        """Return the cheapest feasible tree that costs less than `below`, and its cost; None if there is none.

        Raises
        ------
        TooLarge
            If the walks to one cell are too many.
        """
        if not len(self.multipliers):
            self.bound(below)
        step = max(1, int(NEAR * self.lower))
        while self.lower < below:
            target = min(below, self.lower + step)
            found = self._walked(target)
            self.lower, step = target if found is None else found[1], WIDER * step
            if found is not None:
                return found
        return None

    def _least(self, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (the least weighted cost of a tree, float64 (1 + constraints,) the cost and the uses of such a tree),
        by the weights of the cost and of each sum; infinite if no leaf is allowed."""
        to_come = self._to_come(weight[None])[..., 0]
        n_cells, left = len(self.own), self.most_leaves - 1
        labels, own, begun = np.arange(self.problem.n_labels), self.own @ weight, self.begun @ weight
        branch = float(self.branch @ weight)
        value = begun[0] + to_come[self.end[0], labels, left]
        label = int(value.argmin())
        if np.isinf(value[label]):
            return np.inf, np.zeros(len(weight))
        least, cell, vector = float(value[label]), int(self.end[0, label]), self.begun[0, label]
        while cell < n_cells:
            others = begun[cell] + to_come[self.end[cell], labels, left - 1] + branch if left else own[cell] + np.inf
            others[label] = np.inf
            k = int(others.argmin())
            if others[k] < own[cell, label] + to_come[cell + 1, label, left]:
                vector = vector + self.begun[cell, k] + self.branch
                cell, label, left = int(self.end[cell, k]), k, left - 1
            else:
                vector, cell = vector + self.own[cell, label], cell + 1
        return least, vector

    def _walked(self, below: int) -> tuple[Tree, int] | None:
        """Return the cheapest feasible tree that costs less than `below`, and its cost. Multipliers never drop such a
        tree, and good ones drop most other trees."""
        problem, R, scale, m = self.problem, self.problem.n_constraints, self.scale, self.multipliers
        # Lines by which walks are weighted: cost, each sum, and cost with sums at each of the multipliers.
        factor = np.concatenate([np.eye(1 + R), np.concatenate([np.full((len(m), 1), float(scale)), m], axis=1)])
        most = np.append(below - 1, problem.bound).astype(float)
        limit = np.concatenate([most, scale * (below - 1.0) + m @ problem.bound])
        to_come = self._to_come(factor)
        n_cells, K = len(self.own), problem.n_labels
        # Walks that are at a cell: leaves so far, label of the last, (cost, uses), the number of the last leaf.
        begun: list[list[tuple]] = [[] for _ in range(n_cells + 1)]
        leaves: list[tuple] = []  # of each number: the leaf before, where it begins, its label
        n_leaves = 0
        at = np.zeros(0, int), np.zeros(0, int), np.zeros((0, 1 + R)), np.zeros(0, int)
        for cell in range(n_cells + 1):
            self.tick()
            parts = [at, *begun[cell]]
            begun[cell] = []
            count, label, vector, last = (np.concatenate([part[k] for part in parts]) for k in range(4))
            reached = vector @ factor.T + to_come[cell, label, self.most_leaves - count]
            some = np.flatnonzero((reached <= limit).all(axis=1))
            some = some[kept(vector[some], count[some] * K + label[some])]
            count, label, vector, last = count[some], label[some], vector[some], last[some]
            if len(some) > MOST_WALKS:
                raise TooLarge(f"more than {MOST_WALKS:,} ways lead to one threshold")
            if cell == n_cells:
                break
            for k in range(K):
                end = int(self.end[cell, k])
                if end > n_cells:
                    continue
                added = self.begun[cell, k]
                if cell:
                    from_here = np.flatnonzero((label != k) & (count < self.most_leaves))
                    grown, number, parent = (
                        vector[from_here] + (added + self.branch),
                        count[from_here] + 1,
                        last[from_here],
                    )
                else:
                    grown, number, parent = added[None], np.ones(1, int), np.full(1, -1)
                ahead = grown @ factor.T + to_come[end, k, self.most_leaves - number]
                fits = np.flatnonzero((ahead <= limit).all(axis=1))
                names = n_leaves + np.arange(len(fits))
                n_leaves += len(fits)
                leaves.append((parent[fits], np.full(len(fits), cell), np.full(len(fits), k)))
                begun[end].append((number[fits], np.full(len(fits), k), grown[fits], names))
            at = count, label, vector + self.own[cell, label], last
        if not len(vector):
            return None
        best = int(vector[:, 0].argmin())
        chain = [np.concatenate([part[k] for part in leaves]) for k in range(3)]
        return self._tree(int(last[best]), chain), int(vector[best, 0])

    def _to_come(self, factor: np.ndarray) -> np.ndarray:
        """Return float64 (cells + 2, labels, leaves + 1, lines): the minimum that a walk at a cell, in a leaf of a
        label that may end there, adds to each line with at most this many more leaves; infinite behind the last
        cell."""
        n_cells, K = len(self.own), self.problem.n_labels
        labels = np.arange(K)
        own, another = self.own @ factor.T, (self.begun + self.branch) @ factor.T
        before = np.concatenate([np.zeros((1, *own.shape[1:])), own.cumsum(axis=0)])
        found = np.full((n_cells + 2, K, self.most_leaves + 1, len(factor)), np.inf)
        found[: n_cells + 1, :, 0] = before[-1] - before  # the leaf goes on to the end
        for more in range(1, self.most_leaves + 1):
            self.tick()
            begun = another + found[self.end, labels, more - 1]  # another leaf of each label begins
            here = np.full_like(begun, np.inf)
            for k in range(K):
                for other in range(K):
                    if other != k:
                        np.minimum(here[:, k], begun[:, other], out=here[:, k])
            # The leaf goes on up to a later cell, where the other one begins.
            here += before[:-1]
            np.minimum.accumulate(here[::-1], axis=0, out=here[::-1])
            found[:, :, more] = found[:, :, 0]
            np.minimum(found[:-2, :, 0], here - before[:-1], out=found[:-2, :, more])
        return found

    def _tree(self, last: int, chain: list[np.ndarray]) -> Tree:
        """Return (split, label) on a heap for the leaves up to the one with this number."""
        begins, labels = [], []
        while last >= 0:
            begins.append(int(chain[1][last]))
            labels.append(int(chain[2][last]))
            last = int(chain[0][last])
        begins, labels = begins[::-1], labels[::-1]
        split, label = (np.full(2 ** (self.problem.depth + 1), -1, np.int32) for _ in range(2))

        def lay(node: int, first: int, end: int) -> None:
            """Lay out the leaves from `first` to before `end` below a node."""
            if end - first == 1:
                label[node] = labels[first]
                return
            middle = (first + end) // 2
            split[node] = self.splits[begins[middle] - 1]
            lay(2 * node, first, middle)
            lay(2 * node + 1, middle, end)

        lay(1, 0, len(begins))
        return split, label


def nested_subsets(problem: ConstrainedProblem) -> dict[int, np.ndarray]:
    """Return the splits, as returned by `nested_order`, of each subset of columns whose splits are on one column and
    nested, by its number; none for a problem that this module does not support."""
    found = {}
    for number, columns in enumerate(problem.subsets if takes(problem) else ()):
        splits = np.flatnonzero(columns[problem.column])
        if len(np.unique(problem.column[splits])) <= 1 and (order := nested_order(problem.X, splits)) is not None:
            found[number] = order
    return found


def nested_order(X: np.ndarray, splits: np.ndarray) -> np.ndarray | None:
    """Return int (splits,): some splits in descending order of their number of ones, only one of several that separate
    the rows in the same way; None if they are not nested."""
    ones = ones_of(X)[splits]
    order = np.argsort(-ones, kind="stable")
    code = np.asarray(codes_of(X, splits))
    # The number of rows with outcome 1 for more than j splits. Splits are nested if and only if these numbers equal the
    # sorted numbers of ones of the splits.
    more = len(code) - np.cumsum(np.bincount(code, minlength=len(splits) + 1))[:-1]
    if not np.array_equal(more, ones[order]):
        return None
    different = np.diff(ones[order], prepend=-1) != 0
    return splits[order[different]]


def _ends(held: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return int (cells, labels): the first possible end of a leaf that begins at a cell and predicts a label, as the
    cell behind its last one; cells + 1 if there is none. The measures of the cells are float64 (conditions, cells),
    none negative."""
    n_cells, K = held.shape[1], least.shape[1]
    end = np.repeat(np.arange(1, n_cells + 1)[:, None], K, axis=1)
    for mine, line in zip(held, least):
        before = np.append(0.0, mine.cumsum())
        for k in range(K):
            if line[k] > -np.inf:
                # The first end whose sum, less the sum before the leaf, is enough.
                end[:, k] = np.maximum(end[:, k], np.searchsorted(before, before[:-1] + line[k], side="left"))
    return np.where(end > n_cells, n_cells + 1, end)
