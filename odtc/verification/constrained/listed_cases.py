"""All trees of one case that could cost less than a claim, listed at multipliers (multiplier_bound).

All subtrees that could be one side of such a tree are listed, and all pairs are checked. Of subtrees with equal uses
of every sum only the cheapest is kept, which loses no tree. Weighted costs may be negative, so a side is cut off only
by a lower bound on the cost of the other side.

Requirements other than sums are recorded by marks:

- which splits a subtree has, if their number is limited;
- which columns it uses of those that a tree must use together. Then only trees count in which every leaf has a row and
  no two leaves below one node predict the same class, because for any other tree a smaller one does the same;
- for which rows of the pairs that are ordered it predicts a class, or another one;
- the subtree itself (stated_boxes), if classes rise on all inputs. Then only trees count in which every leaf has a row.

Subtrees with different marks are kept separately.
"""

import numpy as np

from odtc.base.deadline import BLOCK_CELLS
from odtc.errors import CertificateError
from odtc.verification.constrained.multiplier_bound import Counted, Problem, Weighted

MOST_PAIRS = 3_000_000_000  # maximum number of pairs of subtrees of both sides in one case
BITS = 50  # number of pairs of rows whose bits are stored in one whole number


def excluded(problem: Problem, scale: int, root: int, columns: np.ndarray, multipliers: list[int], claim: int) -> bool:
    """Return whether no tree of a case satisfies everything and costs less than the claim."""
    splits = np.flatnonzero(np.isin(problem.column, columns))
    lists = Lists(Weighted(problem.only(splits), scale, multipliers), Marks(problem, splits), claim)
    return not lists.hold_one(int(np.searchsorted(splits, root)))


class Marks:
    """The facts about subtrees that lists record in addition to cost and uses, float64.

    Parameters
    ----------
    problem : Problem
    splits : int (splits,)
        The splits that the trees may use.
    """

    def __init__(self, problem: Problem, splits: np.ndarray):
        self.most_splits, column = problem.most_splits, problem.column[splits]
        if self.most_splits is not None and self.most_splits >= 2**problem.depth - 1:
            self.most_splits = None
        n_labels = problem.cost.shape[1]
        self.label = np.eye(n_labels) if problem.together else np.zeros((n_labels, 0))
        # The splits, numbered from 1, in rising order after zeros for the unused ones; then the columns used.
        self.n_asked = self.most_splits or 0
        parts, self.together, end = [np.zeros((len(splits), 0))], [], self.n_asked
        for together in problem.together:
            parts.append((column[:, None] == np.array(sorted(together))).astype(float))
            self.together.append(slice(end, end + len(together)))
            end += len(together)
        self.used, self.places = np.concatenate(parts, axis=1), slice(self.n_asked, end)
        self.boxes = None if problem.boxes is None else problem.boxes.only(splits)
        self.leaf = slice(end, end + self.label.shape[1])
        n_nodes = 0 if self.boxes is None else 2 ** (problem.depth + 1) - 1
        self.tree = slice(self.leaf.stop, self.leaf.stop + n_nodes)
        self.order = self.tree.stop  # here marks of rows begin
        self.low, self.high = _marks_of_rows(problem)
        self.size = self.order + self.low.shape[2] + self.high.shape[2]

    def of_leaves(self, rows: np.ndarray) -> np.ndarray:
        """Return float64 (classes, marks) of a leaf of these rows."""
        said = [bits[:, rows].sum(axis=1) for bits in (self.low, self.high)]
        return np.concatenate([self.of_labels(), *said], axis=1)

    def of_labels(self) -> np.ndarray:
        """Return float64 (classes, marks) of a leaf, without marks of rows."""
        tree = np.zeros((len(self.label), self.tree.stop - self.tree.start))
        tree[:, :1] = -1 - np.arange(len(tree))[:, None]
        return np.concatenate([np.zeros((len(self.label), self.places.stop)), self.label, tree], axis=1)

    def above(self, split: int | np.ndarray, zero: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (marks (trees, marks), bool (trees,) whether they count) for a split, or one for each, above two
        lists of equally many subtrees."""
        order = self.order
        counts = ~(zero[:, self.leaf] * one[:, self.leaf]).any(axis=1)
        both = np.maximum(zero, one)
        both[:, self.places] = np.maximum(both[:, self.places], self.used[split])
        both[:, self.leaf] = 0.0
        both[:, self.tree] = _tree_above(split, zero[:, self.tree], one[:, self.tree])
        if self.most_splits is not None:
            both[:, : self.n_asked], few = self._asked(split, zero[:, : self.n_asked], one[:, : self.n_asked])
            counts &= few
        if order < self.size:  # bits of other rows each
            both[:, order:] = zero[:, order:] + one[:, order:]
            low, high = np.split(both[:, order:].astype(np.int64), 2, axis=1)
            counts &= ~(low & high).any(axis=1)
        return both, counts

    def _asked(self, split: int | np.ndarray, zero: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the splits at a node and below it, each once, and whether their number is allowed."""
        own = np.broadcast_to(np.asarray(split) + 1.0, len(zero))
        every = np.concatenate([zero, one, own[:, None]], axis=1)
        every.sort(axis=1)
        every[:, 1:][every[:, 1:] == every[:, :-1]] = 0.0
        every.sort(axis=1)
        more = every.shape[1] - self.n_asked
        return every[:, more:], (every[:, :more] == 0).all(axis=1)

    def satisfied(self, marks: np.ndarray) -> np.ndarray:
        """Return bool (trees,): whether whole trees with these marks satisfy the requirements that the marks record."""
        fits = np.ones(len(marks), bool)
        for columns in self.together:
            mine = marks[:, columns].sum(axis=1)
            fits &= (mine == 0) | (mine == columns.stop - columns.start)
        if self.boxes is not None:
            fits[fits] = self.boxes.rise(marks[fits, self.tree].astype(np.int64))
        return fits


def _tree_above(split: int | np.ndarray, zero: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return the heaps (trees, nodes) of a split above two subtrees; without nodes there are none."""
    found = np.zeros(zero.shape)
    found[:, :1] = np.reshape(np.asarray(split) + 1.0, (-1, 1))
    first = 1  # first node of a level below the root, which has twice the nodes of that level of a subtree
    while first < zero.shape[1]:
        each = (first + 1) // 2
        own = slice((first - 1) // 2, (first - 1) // 2 + each)
        found[:, first : first + each], found[:, first + each : first + 2 * each] = zero[:, own], one[:, own]
        first = 2 * first + 1
    return found


def _marks_of_rows(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 (classes, rows, words) twice: for a row that is predicted a class, a bit for each pair of which
    it is the first if that is the pair's class, and for each pair of which it is the second if it is not."""
    n_labels, pairs = problem.cost.shape[1], problem.follows
    low, high = (np.zeros((n_labels, len(problem.X), -(-len(pairs) // BITS))) for _ in range(2))
    for number, (first, second, klass) in enumerate(pairs.tolist()):
        word, bit = number // BITS, 2.0 ** (number % BITS)
        low[klass, first, word] += bit
        high[np.arange(n_labels) != klass, second, word] += bit
    return low, high


class Lists:
    """All trees of one case that could cost less than a claim.

    Parameters
    ----------
    weighted : Weighted
        The problem with only the splits of the case.
    marks : Marks
        For the same splits.
    claim : int
    """

    def __init__(self, weighted: Weighted, marks: Marks, claim: int):
        self.weighted, self.problem, self.marks, self.claim = weighted, weighted.problem, marks, claim
        self.n_sums = 1 + len(self.problem.bound)

    def hold_one(self, root: int) -> bool:
        """Return whether a tree with this split at its root satisfies everything and costs less than the claim."""
        problem, weighted = self.problem, self.weighted
        top = Counted(problem, np.arange(len(problem.X)))
        if not problem.may(())[root]:
            return False
        sides = top.sides(root)
        least = [float(weighted.swept.least(side.rows, side.path, weighted.swept.every)[0]) for side in sides]
        limit = weighted.limit(self.claim) - weighted.node
        if not least[0] + least[1] <= limit:
            return False
        lists = [self._trees(sides[t], limit - least[1 - t])[1] for t in (0, 1)]
        most = np.append(self.claim - 1 - problem.price, np.array(problem.bound) - np.array(problem.branch_uses, int))
        return self._some_pair(root, lists[0], lists[1], most.astype(float))

    def _trees(self, rows: Counted, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (weighted cost (trees,), cost, uses and marks (trees, 1 + sums + marks)) of the subtrees up to a
        weighted cost."""
        found = [self._leaf(rows, limit)]
        room = limit - self.weighted.node
        if rows.height == 1 and self.marks.order == self.marks.size:
            return _cheapest(*self._stumps(rows, room, found[0]))
        each = self.weighted.swept.each(rows.rows, rows.path) if rows.height else np.zeros((2, 0))
        for split in np.flatnonzero(each[0] + each[1] <= room).tolist():
            sides = rows.sides(split)
            zero, one = (self._trees(sides[t], room - each[1 - t, split]) for t in (0, 1))
            found.append(self._above(split, zero, one, room))
        weight, vector = (np.concatenate([part[at] for part in found]) for at in (0, 1))
        return _cheapest(weight, vector)

    def _leaf(self, rows: Counted, limit: float) -> tuple[np.ndarray, np.ndarray]:
        count, problem = rows.count, self.problem
        uses = np.tensordot(count, problem.uses, (0, 1)) + problem.leaf_uses
        vector = np.concatenate([(count @ problem.cost)[:, None], uses.T, self.marks.of_leaves(rows.rows)], axis=1)
        weight = self.weighted.leaves(count[None])[0]
        fits = (weight <= limit) & np.isfinite(weight)
        return weight[fits], vector[fits]

    def _stumps(self, rows: Counted, room: float, leaves) -> tuple[np.ndarray, np.ndarray]:
        """Return the leaves, and all stumps whose leaves weigh up to `room`."""
        problem, own = self.problem, np.append(self.problem.price, self.problem.branch_uses).astype(float)
        asked = np.flatnonzero(problem.parting(rows.rows, rows.path))
        counts = rows.count - rows.ones[asked], rows.ones[asked]
        weigh = [self.weighted.leaves(part) for part in counts]
        found, labels = [leaves], self.marks.of_labels()
        for a, zero in enumerate(weigh[0].T):
            for b, one in enumerate(weigh[1].T):
                here = np.flatnonzero(zero + one <= room)
                parts = [(part[here], label) for part, label in zip(counts, (a, b))]
                cost = sum(part @ problem.cost[:, label] for part, label in parts)
                uses = sum(part @ problem.uses[:, :, label].T + problem.leaf_uses[:, label] for part, label in parts)
                marks, some = self.marks.above(asked[here], *(np.tile(labels[of], (len(here), 1)) for of in (a, b)))
                vector = np.concatenate([np.concatenate([cost[:, None], uses], axis=1) + own, marks], axis=1)
                found.append(((zero[here] + one[here] + self.weighted.node)[some], vector[some]))
        weight, vector = (np.concatenate([part[at] for part in found]) for at in (0, 1))
        return weight, vector

    def _above(self, split: int, zero, one, room: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the subtrees of a branch node above two lists."""
        order = np.argsort(one[0], kind="stable")
        ends = np.searchsorted(one[0][order], room - zero[0], side="right")
        if ends.sum() > MOST_PAIRS // (100 * (1 + self.marks.size // 10)):
            raise CertificateError("the lists of subtrees of a case are too long to be checked")
        i = np.repeat(np.arange(len(zero[0])), ends)
        j = order[np.arange(len(i)) - np.repeat(np.cumsum(ends) - ends, ends)]
        own, n = np.append(self.problem.price, self.problem.branch_uses).astype(float), self.n_sums
        marks, counts = self.marks.above(split, zero[1][i, n:], one[1][j, n:])
        vector = np.concatenate([zero[1][i, :n] + one[1][j, :n] + own, marks], axis=1)
        return _cheapest((zero[0][i] + one[0][j] + self.weighted.node)[counts], vector[counts])

    def _some_pair(self, root: int, zero: np.ndarray, one: np.ndarray, most: np.ndarray) -> bool:
        """Return whether an entry of each list can be combined to a tree with no sum above `most` that satisfies the
        requirements of its marks."""
        n = self.n_sums
        if len(zero) and len(one):
            zero = zero[(zero[:, :n] <= most - one[:, :n].min(axis=0)).all(axis=1)]
        if len(zero) and len(one):
            one = one[(one[:, :n] <= most - zero[:, :n].min(axis=0)).all(axis=1)]
        if not (len(zero) and len(one)):
            return False
        if float(len(zero)) * len(one) > MOST_PAIRS:
            raise CertificateError("the lists of subtrees of a case are too long to be checked")
        one = one[np.argsort(one[:, 0], kind="stable")]
        step = max(1, BLOCK_CELLS // (len(one) * (1 + self.marks.size)))
        for first in range(0, len(zero), step):
            here = zero[first : first + step]
            end = int(np.searchsorted(one[:, 0], most[0] - here[:, 0].min(), side="right"))
            fits = here[:, None, 0] + one[None, :end, 0] <= most[0]
            for r in range(1, n):
                fits &= here[:, None, r] + one[None, :end, r] <= most[r]
            if not fits.any():
                continue
            i, j = np.nonzero(fits)
            marks, counts = self.marks.above(root, here[i, n:], one[j, n:])
            if (counts & self.marks.satisfied(marks)).any():
                return True
        return False


def _cheapest(weight: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cheapest of the entries that have equal uses of every sum, and equal marks."""
    if not len(weight):
        return weight, vector
    order = np.lexsort(vector.T)  # by all others, then by cost
    use = vector[order][:, 1:]
    first = np.append(True, (np.diff(use, axis=0) != 0).any(axis=1)) if use.shape[1] else np.arange(len(order)) == 0
    return weight[order[first]], vector[order[first]]
