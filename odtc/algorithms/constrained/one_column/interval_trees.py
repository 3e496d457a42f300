"""The best tree under constraints over the thresholds of one column, exactly: its leaves part the ranks into intervals.

The T tests of a column that are nested part the rows into cells 0 … T, by how many of the tests a row answers 1. A tree
of depth D over them parts the cells into at most 2^D intervals with a label each, and any such parting is a tree of
that depth. Two neighbours of one label are one leaf, which costs and uses no more. So all trees are the walks over the
cells in which the leaf at hand goes on by a cell, or another one begins:

    (cost, uses) of a walk at a cell, with its number of leaves and the label of the last one.

A walk is dropped if another with as many leaves and the same last label uses the same and costs no more (with one sum:
uses no more), or if what is least to come, of its cost, of each sum or of both weighed by multipliers, is too much.
The multipliers that bound the cost best (Kelley's cuts) tell where to begin: trees that cost little more than that
bound are looked for first, so that few walks are left.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge, codes_of, fixed_point, ones_of
from odtc.algorithms.constrained.multipliers import Cuts
from odtc.algorithms.constrained.subtree_options import kept

MOST_WALKS = 2_000_000  # to one cell
ROUNDS = 14  # of multipliers
NEAR, WIDER = 0.01, 4  # of the bound: how much more trees may cost at first, and how many times as much after each try

Tree = tuple[np.ndarray, np.ndarray]


def takes(problem: ConstrainedProblem) -> bool:
    """Whether trees over one column of a problem are told by intervals: nothing speaks of single tests, what a leaf
    must hold does not fall if it grows, and no branch node or leaf gives something back."""
    plain = problem.below is None and problem.allowed.all() and problem.accepts is None
    grows = (problem.measures >= 0).all()
    return bool(plain and grows and (problem.branch_uses >= 0).all() and (problem.leaf_uses >= 0).all())


class IntervalTrees:
    """The trees over some nested tests.

    Parameters
    ----------
    problem : ConstrainedProblem
        One that this module `takes`.
    tests : int (tests,)
        From the one with the most ones on, as `nested_order` gives them.
    tick : Callable[[], None]
        Raises when the time is over.

    Attributes
    ----------
    lower : int
        No feasible tree costs less, as far as was looked.
    priced : int
        What the multipliers alone tell of that.
    multipliers : float64 (sets of them, constraints)
        Those by which walks are dropped, in units of 1 / `scale`; the last bound the cost best.
    scale : int

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(self, problem: ConstrainedProblem, tests: np.ndarray, tick: Callable[[], None]):
        self.problem, self.tests, self.tick = problem, tests, tick
        cell, n_cells = codes_of(problem.X, tests), len(tests) + 1
        lines = np.concatenate([problem.cost[None], problem.uses])  # (1 + constraints, rows, labels)
        each = [np.bincount(cell, line[:, k], n_cells) for line in lines for k in range(problem.n_labels)]
        own = np.array(each).reshape(len(lines), problem.n_labels, n_cells).transpose(2, 1, 0)
        self.own = own  # float64 (cells, labels, 1 + constraints)
        held = [np.bincount(cell, measure, n_cells) for measure in problem.measures]
        self.end = _ends(np.array(held).reshape(len(held), n_cells), problem.least)
        before = np.concatenate([np.zeros((1, *own.shape[1:])), own.cumsum(axis=0)])
        leaf = np.concatenate([np.zeros((problem.n_labels, 1)), problem.leaf_uses.T], axis=1)
        reached = before[np.minimum(self.end, n_cells), np.arange(problem.n_labels)]
        self.begun = reached - before[:-1] + leaf  # of a leaf that begins at a cell, up to where it may end first
        self.branch = np.append(problem.branch_cost, problem.branch_uses).astype(float)
        self.most_leaves = min(2**problem.depth, n_cells)
        self.scale, self._largest = fixed_point(problem)
        self.lower, self.priced, self.multipliers = 0, 0, np.zeros((0, problem.n_constraints))

    def bound(self, below: int, first: np.ndarray | None = None) -> int:
        """Raises `lower` by multipliers, until it is `below` or no others promise more, and returns it.

        Parameters
        ----------
        below : int
        first : float64 (constraints,) or None
            Multipliers to begin with, in units of 1 / `scale`.
        """
        bound, scale, largest = self.problem.bound, self.scale, self._largest
        cuts, m = Cuts(largest / scale), np.zeros(len(bound)) if first is None else first / scale
        for _ in range(ROUNDS if len(bound) else 1):
            self.tick()
            m = np.clip(np.rint(m * scale), 0, largest).astype(float)
            value, vector = self._least(np.append(float(scale), m))
            if np.isinf(value):  # no leaf may be
                self.lower = self.priced = below
                break
            reached = min(below, int(max(0.0, np.ceil((value - m @ bound) / scale))))
            if reached >= self.lower:
                self.lower, self.priced, self.multipliers = reached, reached, np.array([*self.multipliers[-1:], m])
            cuts.add(float(vector[0]), vector[1:] - bound)
            most, m = cuts.best()
            if self.lower >= below or np.ceil(most - 1e-6) <= self.lower:
                break
        return self.lower

    def best(self, below: int) -> tuple[Tree, int] | None:
        """The cheapest feasible tree of those that cost less than `below`, and its cost; None if there is none.

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
        """(the least that a tree weighs, float64 (1 + constraints,) what such a tree costs and uses), by the weight of
        cost and each sum; infinite if no leaf may be."""
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
        """The cheapest feasible tree of those that cost less than `below`. Multipliers drop no such tree, whatever they
        are, and good ones most others."""
        problem, R, scale, m = self.problem, self.problem.n_constraints, self.scale, self.multipliers
        # Lines by which walks are weighed: cost, each sum, and cost with sums at each of the multipliers.
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
            some = some[kept(vector[some, 0], vector[some], count[some] * K + label[some])]
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
        """float64 (cells + 2, labels, leaves + 1, lines): the least that a walk at a cell, in a leaf of a label that
        may end there, adds to each line with so many more leaves at most; infinite behind the last cell."""
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
        """(test, label) on a heap of the leaves that end with one of a number."""
        begins, labels = [], []
        while last >= 0:
            begins.append(int(chain[1][last]))
            labels.append(int(chain[2][last]))
            last = int(chain[0][last])
        begins, labels = begins[::-1], labels[::-1]
        test, label = (np.full(2 ** (self.problem.depth + 1), -1, np.int32) for _ in range(2))

        def lay(node: int, first: int, end: int) -> None:
            """The leaves from `first` to before `end` below a node."""
            if end - first == 1:
                label[node] = labels[first]
                return
            middle = (first + end) // 2
            test[node] = self.tests[begins[middle] - 1]
            lay(2 * node, first, middle)
            lay(2 * node + 1, middle, end)

        lay(1, 0, len(begins))
        return test, label


def nested_subsets(problem: ConstrainedProblem) -> dict[int, np.ndarray]:
    """The tests, as `nested_order` gives them, of each subset of columns whose tests are of one column and nested, by
    its number; none of a problem that this module does not take."""
    found = {}
    for number, columns in enumerate(problem.subsets if takes(problem) else ()):
        tests = np.flatnonzero(columns[problem.column])
        if len(np.unique(problem.column[tests])) <= 1 and (order := nested_order(problem.X, tests)) is not None:
            found[number] = order
    return found


def nested_order(X: np.ndarray, tests: np.ndarray) -> np.ndarray | None:
    """int (tests,): some tests without those that part the rows as another does, from the one with the most ones on;
    None if they are not nested."""
    ones = ones_of(X)[tests]
    order = np.argsort(-ones, kind="stable")
    code = np.asarray(codes_of(X, tests))
    # So many rows answer 1 to more than j tests; of all tables with these sums only the nested one has as many
    # ones in its j-th largest column.
    more = len(code) - np.cumsum(np.bincount(code, minlength=len(tests) + 1))[:-1]
    if not np.array_equal(more, ones[order]):
        return None
    different = np.diff(ones[order], prepend=-1) != 0
    return tests[order[different]]


def _ends(held: np.ndarray, least: np.ndarray) -> np.ndarray:
    """int (cells, labels): where a leaf that begins at a cell and predicts a label may end first, behind its last cell;
    cells + 1 if nowhere. The measures of the cells are float64 (conditions, cells), none negative."""
    n_cells, K = held.shape[1], least.shape[1]
    end = np.repeat(np.arange(1, n_cells + 1)[:, None], K, axis=1)
    for mine, line in zip(held, least):
        before = np.append(0.0, mine.cumsum())
        for k in range(K):
            if line[k] > -np.inf:
                # The first end whose sum less that before the leaf is enough.
                end[:, k] = np.maximum(end[:, k], np.searchsorted(before, before[:-1] + line[k], side="left"))
    return np.where(end > n_cells, n_cells + 1, end)
