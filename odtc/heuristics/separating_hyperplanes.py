"""Parts that models of hyperplanes share: a tree built node by node, and the best hyperplane for given sides.

Such models scale their columns to z in [0, 1] (odtc.data.linear_terms) and decode each node from its own numbers: the
rows at the node go where h·z <= g sends them in double arithmetic, whatever the solver's other variables are. The
split in original units in the tree separates these rows in the same way.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from odtc.algorithms.robust_lp import solve_lp
from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.data.linear_terms import LinearTerms, raw_values, sparsest_hyperplane
from odtc.data.splits import Split
from odtc.trees.heap_tree import Beyond, CompleteTree, HeapTree, blank_arrays, settle

MOMENT = 2.0  # seconds for the fewest terms of one node
TIGHT = 1e-6  # margins below it are none, and what a gap keeps away from a limit, so that rounding does not cross it
NUDGE = 1e-9  # as much of a row that may miss its margin: a price of thousands makes a cost of it


def build_tree(
    encoded: Encoded, topology: CompleteTree, ask: Callable[[int, np.ndarray], Split | bool], kept: bool = False
) -> HeapTree:
    """Return the tree whose node t has the split `ask(t, rows)`, with the cheapest labels.

    `ask` gets the rows at the node, and returns a split or whether all rows go right. With `kept`, a hyperplane is not
    replaced by a single split that separates the rows alike.
    """
    split, _ = blank_arrays(topology)
    splits: list[Split] = []
    X = raw_values(encoded)

    def lay(t, at, rows):
        """Put the subtree of node t of the model at node `at` of the tree."""
        while t < 2**topology.depth:
            asked = ask(t, rows)
            if not isinstance(asked, bool):
                break
            t = 2 * t + asked
        else:
            return
        split[at] = encoded.n_candidate_splits + len(splits)
        splits.append(asked)
        left = asked.left(X[rows])
        lay(2 * t, 2 * at, rows[left])
        lay(2 * t + 1, 2 * at + 1, rows[~left])

    lay(1, 1, np.arange(encoded.n_rows))
    return settle(split, encoded, None, Beyond.of(splits, X, kept))


def split_by_hyperplane(
    weighed: LinearTerms, h: np.ndarray, g: float, rows: np.ndarray, narrow: bool = False, kept: bool = False
) -> Split | bool:
    """Return the split h·z <= g for these rows, for `build_tree`; with `narrow` the sparsest hyperplane that separates
    them alike, with `kept` this one."""
    Z = weighed.Z[rows]
    left = (Z @ h <= g) & ~weighed.missing[rows][:, h != 0].any(axis=1)
    if left.all() or not left.any():
        return not left.any()
    sparse = sparsest_hyperplane(Z, left) if narrow else None
    split = weighed.split(sparse, rows, left) if sparse is not None else None
    split = split or weighed.split(h, rows, left, g if kept else None)
    if split is None and not narrow:  # two rows are nearer than doubles along h can say
        return split_by_hyperplane(weighed, h, g, rows, narrow=True)
    return bool(left.sum() < len(left) / 2) if split is None else split


def max_margin_hyperplane(
    Z: np.ndarray, rows: np.ndarray, left: np.ndarray, most: float | None = None, distinct: np.ndarray | None = None
) -> tuple[np.ndarray, float, float]:
    """Return (h, g, margin): of the hyperplanes that keep within 1 of all of Z, one that is furthest from `rows`.

        max t   s.t.   g - h·z_i >= t  (i left),   h·z_i - g >= t  (i right),   |g - h·z_i| <= 1  (all i)

    A margin below TIGHT is none: then it is 0. With `most` no |h_j| is more than it. `distinct` are the different rows
    of Z, if they are known (`LinearTerms.distinct`).
    """
    d = Z.shape[1]
    if not len(rows) or left.all() or not left.any():
        return np.zeros(d), -1.0 if len(rows) and not left.any() else 1.0, 1.0
    side, others = np.where(left, 1.0, -1.0)[:, None], np.unique(Z, axis=0) if distinct is None else distinct
    here = np.unique(np.hstack([side * Z[rows], -side, np.ones_like(side)]), axis=0)
    within = np.hstack([others, -np.ones((len(others), 1)), np.zeros((len(others), 1))])
    x = solve_lp(
        np.append(np.zeros(d + 1), -1.0),
        np.vstack([here, within, -within]),
        np.concatenate([np.zeros(len(here)), np.ones(2 * len(others))]),
        [(None if most is None else -most, most)] * d + [(None, None), (0, 1)],
    )
    if x is None or x[-1] <= TIGHT:
        return np.zeros(d), 1.0, 0.0
    scale = np.abs(Z @ x[:d] - x[d]).max()
    scale = max(scale, 1.0) if most is not None else scale
    h, g = x[:d] / scale, float(x[d] / scale)
    h = h if most is None else h.clip(-most, most)
    # Rounding may leave a row outside the limit, by more the larger the weights are that nearly cancel.
    less = 1e-15
    while (far := np.abs(g - Z @ h).max()) > 1.0:
        h, g, less = h * ((1 - less) / far), g * ((1 - less) / far), 2 * less
    reach = (g - Z[rows] @ h) * side[:, 0]
    return h, g, max(0.0, float(reach.min()))


def cheapest_plane(
    Z: np.ndarray,
    rows: np.ndarray,
    left: np.ndarray,
    margin: float,
    slack: np.ndarray | None,
    norm: float,
    most: float | None = None,
    off: float = NUDGE,
) -> tuple[np.ndarray, float] | None:
    """Return (h, g) of the cheapest hyperplane that sends `rows` to these sides and stays within 1 of all of Z:

        min Σ_i slack_i m_i + norm Σ_j |h_j|   s.t.   s_i (g - h·z_i) + m_i >= margin,   s_i (g - h·z_i) >= off

    over the rows i with s_i = 1 left and -1 right. Without `slack` (float64 (rows,)) every m_i is 0; `most` is as
    above. With `off` 0, rows may be on the hyperplane, whichever side they go to. None if there is none.
    """
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    d, n = Z.shape[1], len(rows)
    if not len(rows) or left.all() or not left.any():
        return np.zeros(d), -1.0 if n and not left.any() else 1.0
    side = np.where(left, 1.0, -1.0)[:, None]
    plane = np.hstack([side * Z[rows], -side * Z[rows], -side])
    limits = np.hstack([Z, -Z, -np.ones((len(Z), 1))])
    A, b = np.vstack([plane, limits, -limits]), [np.full(n, -margin * (1 + NUDGE)), np.full(2 * len(Z), 1 - NUDGE)]
    cost, m = [np.full(2 * d, norm), [0.0]], 0
    if slack is not None:  # a column m_i a row: of thousands of rows nearly all of it is 0
        extra, m = vstack([-eye_array(n), csr_array((2 * len(Z), n))]), n
        A = vstack([hstack([A, extra]), hstack([plane, csr_array((n, n))])], format="csr")
        b = [*b, np.full(n, -off)]
        cost = [*cost, slack]
    x = solve_lp(np.concatenate(cost), A, np.concatenate(b), [(0, most)] * (2 * d) + [(None, None)] + [(0, None)] * m)
    return None if x is None else (x[:d] - x[d : 2 * d], float(x[2 * d]))


def widest_gap(Z: np.ndarray, rows: np.ndarray, left: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return (a, b, gap): the widest gap of a·z + gap <= b (left), a·z >= b (right) with |a|_1 <= 1, over the terms
    `of`; the gap is 0 if there is none. If all rows go one way, a hyperplane that sends them there."""
    d = Z.shape[1]
    a = np.zeros(d)
    if left.all() or not left.any():
        return a, 1.0 if left.any() else 0.0, 1.0
    here, side, zeros = Z[np.ix_(rows, of)], np.where(left, 1.0, -1.0)[:, None], np.zeros((len(rows), 1))
    plane = np.hstack([side * here, -side * here, -side, np.where(left[:, None], 1.0, zeros)])
    norm = np.append(np.ones(2 * len(of)), [0.0, 0.0])[None, :]
    x = solve_lp(
        np.append(np.zeros(2 * len(of) + 1), -1.0),
        np.vstack([plane, norm]),
        np.append(np.zeros(len(rows)), 1.0),
        [(0, 1)] * (2 * len(of)) + [(-1, 1), (0, 2)],
    )
    if x is None or x[-1] <= TIGHT:
        return a, 0.0, 0.0
    a[of] = x[: len(of)] - x[len(of) : 2 * len(of)]
    a = a / max(1.0, np.abs(a).sum()) * (1 - 1e-15)
    v = Z @ a
    b = float(v[rows][~left].min())
    return a, b, b - float(v[rows][left].max())


def fewest_terms(Z: np.ndarray, rows: np.ndarray, left: np.ndarray, width: float) -> np.ndarray | None:
    """Return the fewest terms (indices) that part these rows by a gap of `width`, by a MIP of one node, or the fewest
    that it finds in MOMENT seconds, less if a deadline is near; None if all do not.

        min Σ_j s_j   s.t.   |a_j| <= s_j,   a·z + width <= b (left),   a·z >= b (right),   |a|_1 <= 1
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    d, side = Z.shape[1], np.where(left, 1.0, -1.0)[:, None]
    plane = np.hstack([side * Z[rows], -side * Z[rows], -side, np.zeros((len(rows), d))])
    weigh = np.hstack([np.eye(d), np.eye(d), np.zeros((d, 1)), -np.eye(d)])
    norm = np.concatenate([np.ones(2 * d), np.zeros(d + 1)])[None, :]
    upper = np.concatenate([np.where(left, -width * (1 + TIGHT), 0.0), np.zeros(d), [1.0]])
    lower = np.concatenate([np.zeros(2 * d), [-1.0], np.zeros(d)])
    found = milp(
        np.concatenate([np.zeros(2 * d + 1), np.ones(d)]),
        constraints=LinearConstraint(np.vstack([plane, weigh, norm]), ub=upper),
        bounds=Bounds(lower, np.ones(3 * d + 1)),
        integrality=np.concatenate([np.zeros(2 * d + 1), np.ones(d)]),
        options={"time_limit": max(0.05, deadline.time_share(MOMENT, 1 / 8))},
    )
    some = None if found.x is None else np.flatnonzero(found.x[2 * d + 1 :] > 0.5)
    if found.status in (0, 2):
        return some
    a, _, wide = widest_gap(Z, rows, left, np.arange(d))
    return min([one for one in (some, np.flatnonzero(a)) if one is not None], key=len) if wide >= width else some


def drop_unfit_nodes(heap: HeapTree, encoded: Encoded, fits: Callable[[np.ndarray, np.ndarray], bool]) -> HeapTree:
    """Return the tree with only those branch nodes whose rows (indices) `fits(rows, left)` accepts.

    Each other node is replaced by the cheapest of its subtrees for all its rows, or by a leaf. Returns the tree itself
    if all nodes fit.
    """
    split, whole = np.full(len(heap.split), -1, np.int32), True

    def best(t, rows):
        """(loss, (split, left, right) or None for a leaf)"""
        nonlocal whole
        leaf = float(encoded.loss[rows].sum(axis=0).min()), None
        if heap.split[t] < 0 or not len(rows):
            return leaf
        right = heap.column(t, encoded)[rows]
        if not fits(rows, ~right):
            whole = False
            return min(leaf, best(2 * t, rows), best(2 * t + 1, rows), key=lambda one: one[0])
        sides = best(2 * t, rows[~right]), best(2 * t + 1, rows[right])
        return sides[0][0] + sides[1][0], (heap.split[t], *(side[1] for side in sides))

    def lay(at, found):
        if found is not None:
            split[at] = found[0]
            lay(2 * at, found[1])
            lay(2 * at + 1, found[2])

    lay(1, best(1, np.arange(encoded.n_rows))[1])
    return heap if whole else settle(split, encoded, None, heap.beyond)


def rows_at_node(heap: HeapTree, t: int, encoded: Encoded) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, left): who comes to branch node t, and who of them goes to child 2t."""
    rows, path = np.arange(encoded.n_rows), [t >> level for level in range(t.bit_length() - 1, -1, -1)]
    for above, below in pairwise(path):
        rows = rows[heap.column(above, encoded)[rows] == below % 2]
    return rows, ~heap.column(t, encoded)[rows]
