"""Nondominated vectors (cost, uses) of the subtrees on some rows.

If a tree must satisfy Σ_i c_i ≤ upper in addition to a low cost, and its cost and each of these sums add up over its
leaves and branch nodes, a subtree is represented by one vector: (cost, use_1, …, use_r). For height 0 there is one
vector per label,

    P_0(S) = {vector of label k on S},      P_h(S) = nondominated(P_0(S) ∪ ⋃_f P_{h-1}(S & ~f) + P_{h-1}(S & f) +
    branch)

A vector is dominated by another one that is ≤ in every coordinate with an upper bound, including the cost, and equal in
every coordinate with bounds on both sides. No optimum is lost if dominated subtrees are dropped: replace the dominated
subtree in any tree that satisfies all bounds. The total changes by the difference of the two vectors, so no sum with
only an upper bound grows, the other sums stay the same, and the tree costs no more. (A sum with bounds on both sides is
the pair of constraints a ≤ u, -a ≤ -l, and ≤ in both is equality, so one rule is enough.)
"""

import numpy as np

from odtc.algorithms.dp.state_expansion import child_sets, state_sums
from odtc.algorithms.dp.state_graph import Level, Rows
from odtc.base import deadline
from odtc.base.memory import require_memory
from odtc.base.value_class import value_class

MOST_SHIFTS = 200  # maximum number of predecessors to compare in a sorted group; dominated vectors may stay
CANDIDATES = 2_000_000  # vectors that are stored at once, before dominated ones are dropped


@value_class
class Budgets:
    """lower ≤ branch · (branch nodes) + Σ_i answers[i, class predicted] ≤ upper, for r sums over rows i."""

    branch: np.ndarray  # float64 (r,), 0 or more; 0 if there is a lower bound
    answers: np.ndarray  # float64 (rows, classes, r)
    lower: np.ndarray  # float64 (r,), -inf without a lower bound
    upper: np.ndarray  # float64 (r,), inf without an upper bound
    slack: np.ndarray  # float64 (r,): rounding may violate a bound by this much

    @property
    def both(self) -> np.ndarray:
        """Return bool (1 + r,): the coordinates of a vector with bounds on both sides; the first is the cost."""
        return np.append(False, np.isfinite(self.lower))

    @property
    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (D (m, r), most (m,)): all bounds as D · use ≤ most, one line for each."""
        eye, high, low = np.eye(len(self.branch)), np.isfinite(self.upper), np.isfinite(self.lower)
        return np.concatenate([eye[high], -eye[low]]), np.concatenate([self.upper[high], -self.lower[low]])

    def kept(self, vectors: np.ndarray) -> np.ndarray:
        """Return bool (…): whether these totals (…, 1 + r) satisfy all bounds."""
        use = vectors[..., 1:]
        return ((use <= self.upper + self.slack) & (use >= self.lower - self.slack)).all(axis=-1)


@value_class
class Points:
    """Labels and subtrees at the states of one level, state by state.

    `code` is a subtree of height h in heap order from 0: a split f as f, a label k, and all below it, as -1 - k.
    """

    state: np.ndarray  # int32 (points,), ascending
    vector: np.ndarray  # float64 (points, 1 + r): the cost, with the penalties of branch nodes, and the uses
    code: np.ndarray  # int32 (points, 2^(h + 1) - 1)

    def __len__(self) -> int:
        return len(self.state)

    @property
    def n_bytes(self) -> int:
        return self.state.nbytes + self.vector.nbytes + self.code.nbytes

    def first(self, n_states: int) -> np.ndarray:
        """Return int64 (states + 1,): where the points of each state begin."""
        return np.searchsorted(self.state, np.arange(n_states + 1))

    def picked(self, keep: np.ndarray) -> "Points":
        return Points(self.state[keep], self.vector[keep], self.code[keep])

    def raised(self, height: int) -> "Points":
        """Return the same labels (points of height 0) as points of this height."""
        return Points(self.state, self.vector, np.repeat(self.code, 2 ** (height + 1) - 1, axis=1))

    @classmethod
    def joined(cls, parts: list["Points"]) -> "Points":
        whole = cls(
            *(np.concatenate(arrays) for arrays in zip(*((part.state, part.vector, part.code) for part in parts)))
        )
        return whole.picked(np.argsort(whole.state, kind="stable"))


def label_vectors(sums: np.ndarray, n_classes: int, r: int) -> np.ndarray:
    """Return (…, classes, 1 + r): the vector of each label, from sums (…, columns) of Rows.sums over rows."""
    use = sums[..., sums.shape[-1] - n_classes * r :].reshape(*sums.shape[:-1], n_classes, r)
    return np.concatenate([sums[..., :n_classes, None], use], axis=-1)


def drop_dominated(points: Points, both: np.ndarray, unit: np.ndarray) -> Points:
    """Return the points that no other point of the same state dominates or equals."""
    key = np.rint(points.vector / unit).astype(np.int64)
    group, rest = [points.state.astype(np.int64), *key[:, both].T], list(key[:, ~both].T)
    order = np.lexsort((*rest[::-1], *group[::-1]))
    group, rest = [column[order] for column in group], [column[order] for column in rest]
    new = np.ones(len(order), bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in group], axis=0)
    if len(rest) == 1:
        keep = new
    elif len(rest) == 2:
        # The least second coordinate so far in each group: ranks that fall from group to group need no reset.
        rank = np.unique(rest[1], return_inverse=True)[1].reshape(-1).astype(np.int64)
        fallen = rank - np.cumsum(new) * (int(rank.max(initial=0)) + 1)
        keep = new.copy()
        keep[1:] |= fallen[1:] < np.minimum.accumulate(fallen)[:-1]
    else:
        keep = _swept(np.cumsum(new), np.stack(rest, axis=1))
    return points.picked(order[keep])


def _swept(group: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return the rows of `rest`, sorted within their groups, for which no predecessor is ≤ in all columns; only these
    can be nondominated. Near predecessors are compared first: the vector that dominates a removed row is still there,
    or is itself dominated by a vector that is."""
    left = np.arange(len(group))

    def dominated(shifts):
        own, columns, bad = group[left], rest[left], np.zeros(len(left), bool)
        for shift in shifts:
            same = own[shift:] == own[:-shift]
            if not same.any():
                break
            bad[shift:] |= same & (columns[:-shift] <= columns[shift:]).all(axis=1)
        return bad

    while (bad := dominated(range(1, 9))).any():
        left = left[~bad]
    left = left[~dominated(range(9, MOST_SHIFTS))]
    keep = np.zeros(len(group), bool)
    keep[left] = True
    return keep


def label_points(rows: Rows, level: Level, budgets: Budgets, unit: np.ndarray) -> Points:
    """Return P_0 of every state of a level; `unit` as in `drop_dominated`."""
    n, K, r = level.n_states, rows.loss.shape[1], len(budgets.branch)
    vector = label_vectors(state_sums(rows, level), K, r).reshape(n * K, 1 + r)
    state, code = np.repeat(np.arange(n), K).astype(np.int32), -1 - np.tile(np.arange(K), n)[:, None]
    points = drop_dominated(Points(state, vector, code.astype(np.int32)), budgets.both, unit)
    return points.picked(np.lexsort((-points.code[:, 0], points.state)))  # sorted by class within each state


def stump_points(rows: Rows, level: Level, branch: np.ndarray, budgets: Budgets, unit: np.ndarray) -> Points:
    """Return P_1 of every state of a level: each split with any two labels; a branch node costs and uses `branch`."""
    K, r = rows.loss.shape[1], len(budgets.branch)
    first, second = np.repeat(np.arange(K), K), np.tile(np.arange(K), K)
    differ = first != second  # a split with the same label on both sides uses as much as the label plus a branch node
    first, second = first[differ], second[differ]
    found = [label_points(rows, level, budgets, unit).raised(1)]
    for part, s, f, side in child_sets(rows, level):
        side = label_vectors(side, K, r)
        step = max(1, CANDIDATES // max(1, len(first)))
        for begin in range(0, len(s) if K > 1 else 0, step):
            deadline.check()
            at = slice(begin, begin + step)
            vector = (side[at, 0][:, first] + side[at, 1][:, second] + branch).reshape(-1, 1 + r)
            code = (
                np.stack(np.broadcast_arrays(f[at, None], -1 - first, -1 - second), axis=-1)
                .reshape(-1, 3)
                .astype(np.int32)
            )
            state = np.repeat(part[s[at]], len(first)).astype(np.int32)
            found.append(drop_dominated(Points(state, vector, code), budgets.both, unit))
            require_memory(
                2 * sum(part.n_bytes for part in found),
                f"{sum(map(len, found)):,} subtrees of one level with their costs and uses",
            )
    return drop_dominated(Points.joined(found), budgets.both, unit)
