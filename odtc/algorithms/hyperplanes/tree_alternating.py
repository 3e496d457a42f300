"""Trees of hyperplanes by alternating optimisation, on arrays, for searches by heuristics and encodings.

A tree is (H, g, label): node t of a complete binary tree sends row z left iff H[t]·z <= g[t]. While all other nodes
stay, each row that comes to a node loses l_i if it goes left and r_i if it goes right, so a better hyperplane is one
with less error in a weighted problem of two classes (tree-alternating optimisation, Carreira-Perpiñán & Tavallali
2018). Candidates are linear models of that problem (scikit-learn), and lines through the best one, searched exactly
(odtc.algorithms.hyperplanes.line_search). Nodes are improved in turn until no node gets better; then the tree is
disturbed, or another one drawn, and sometimes replaced by one that is a little worse.

Everything is drawn from the seed, and work is counted, so the same seed gives the same tree unless the time limit
comes first.
"""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from odtc.algorithms.hyperplanes.line_search import LineSearch
from odtc.algorithms.hyperplanes.linear_models import fit_hinge

NEAR = 1e-9  # losses that differ by less are one
PASSES = 12  # over all nodes before a tree counts as settled
FRESH = 20  # every other one of the first trees is drawn independently, all others come from the current one
# How much worse a tree may be on average to be the current one, as a share of the loss of a leaf beyond the floor.
HEAT = 0.03
AWAY = 40  # trees until the best one is the current one again
LINES = 24  # random lines of each kind that are searched in addition to the coordinates
CELLS = 2_000_000  # of rows by random lines that are searched at once
MODELS = 0.15  # how often a linear model is a candidate: it takes the time of twenty rounds of lines
RESTARTS = 1000  # trees that a search settles, if there is time
ROUNDS, IDLE = 30, 3  # of lines at a node: at most, and without gain before stopping


@dataclass
class HyperplaneTree:
    """`H` (2^D, terms) and `g` (2^D,) of the branch nodes, index 0 unused; `label` (2^D,) of the leaves; `loss`
    of the tree; `seen`: (loss of the tree, h, g) of every node of every settled tree."""

    H: np.ndarray
    g: np.ndarray
    label: np.ndarray
    loss: float
    seen: list = field(default_factory=list)


def search_hyperplanes(
    Z: np.ndarray,
    loss: np.ndarray,
    depth: int,
    *,
    restarts: int = RESTARTS,
    seconds: float = 10.0,
    seed: int = 0,
    jobs: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> HyperplaneTree:
    """Return the best tree of `restarts` settled ones, at least one, or of those settled in `seconds`. They are
    distributed over `jobs` processes, each of which disturbs its own best tree and draws its own random numbers. Z
    is float64 (rows, terms) in [0, 1], `loss` float64 (rows, classes): the cost of predicting this class for this
    row. `clock` returns the time."""
    from joblib import Parallel, delayed

    counts = [restarts // jobs + (chain < restarts % jobs) for chain in range(jobs)]
    tasks = [(Z, loss, depth, count, (seconds, clock), [seed, chain]) for chain, count in enumerate(counts) if count]
    found = (
        [_chain(*tasks[0])]
        if len(tasks) == 1
        else Parallel(n_jobs=len(tasks))(delayed(_chain)(*task) for task in tasks)
    )
    best = min(found, key=lambda one: one.loss)
    best.seen = [plane for one in found for plane in one.seen]
    return best


def _floor(loss: np.ndarray) -> float:
    return float(loss.min(axis=1).sum())


def _chain(Z, loss, depth: int, restarts: int, limit: tuple[float, Callable[[], float]], seed) -> HyperplaneTree:
    seconds, clock = limit
    until = clock() + seconds
    rng, floor, seen = np.random.default_rng(seed), _floor(loss), []

    def over() -> bool:
        return clock() > until

    best = current = None
    lines = LineSearch()
    heat = HEAT * float(loss.sum(axis=0).min() - floor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a linear model that has not converged is a candidate as any other
        for number in range(restarts):
            tree = _Tree(Z, loss, depth, rng, over, lines)
            if (number % 2 == 0 and number < min(restarts // 3, FRESH)) or best is None:
                tree.draw(1, greedy=seed[1] == 0 and number == 0)
            else:
                tree.H, tree.g = current.H.copy(), current.g.copy()
                tree.disturb(current.label)
            tree.settle()
            seen += [(tree.loss, tree.H[t].copy(), float(tree.g[t])) for t in range(1, 2**depth)]
            if best is None or tree.loss <= best.loss:
                best = current = tree
            elif tree.loss <= current.loss + heat * rng.exponential():
                current = tree
            if number % AWAY == AWAY - 1:
                current = best
            if best.loss <= floor + NEAR or over():
                break
    return HyperplaneTree(best.H, best.g, best.label, best.loss, seen)


class _Tree:
    """A tree that is being improved, and the sides and leaves of its rows."""

    def __init__(self, Z, loss, depth, rng, over, lines):
        self.Z, self.of, self.depth, self.rng, self.over, self.lines = Z, loss, depth, rng, over, lines
        self.H, self.g = np.zeros((2**depth, Z.shape[1])), np.zeros(2**depth)
        self.cheapest = loss.argmin(axis=1)

    def draw(self, top: int, greedy: bool = False) -> None:
        """Draw the hyperplanes of a node and of all nodes below it, each for the rows that reach it."""
        stack = [(top, self._arriving(top))]
        while stack:
            t, rows = stack.pop()
            self.H[t], self.g[t] = self._drawn(rows, greedy)
            right = self.Z[rows] @ self.H[t] > self.g[t]
            if 2 * t < len(self.g):
                stack += [(2 * t, rows[~right]), (2 * t + 1, rows[right])]

    def disturb(self, label: np.ndarray) -> None:
        """Settle for rows with changed weights, which makes most progress for its time; or draw a node and all below
        it again, or move every hyperplane a little, or change labels at some leaves, for which each node is then
        improved once."""
        if self.rng.random() < 0.5:
            self._settle_noisy()
            return
        kind = self.rng.integers(3)
        if kind == 0:
            self.draw(int(self.rng.integers(1, 2**self.depth)))
        elif kind == 1:
            size = np.abs(self.H).max(axis=1, keepdims=True) * 10.0 ** self.rng.uniform(-2, 0)
            self.H = self.H + size * self.rng.normal(size=self.H.shape) * (self.rng.random(self.H.shape) < 0.3)
        else:
            self._route()
            self.label = label.copy()
            leaves = self.rng.integers(len(label), size=1 + self.rng.integers(2))
            self.label[leaves] = self.rng.integers(self.of.shape[1], size=len(leaves))
            for t in self.rng.permutation(np.arange(1, 2**self.depth)):
                self._improve(int(t), relabel=False)

    def _settle_noisy(self) -> None:
        """Settle with losses that are multiplied at random, row by row, a little or much (noising, Charon & Hudry
        1993)."""
        size = (len(self.Z), 1)
        exact = self.of
        self.of = exact * (
            self.rng.exponential(size=size) if self.rng.integers(2) else self.rng.uniform(0.6, 1.4, size=size)
        )
        self.settle()
        self.of = exact

    def _arriving(self, t: int) -> np.ndarray:
        rows = np.arange(len(self.Z))
        for level in range(t.bit_length() - 2, -1, -1):
            above, goes = t >> level + 1, t >> level & 1
            rows = rows[(self.Z[rows] @ self.H[above] > self.g[above]) == goes]
        return rows

    def _drawn(self, rows, greedy: bool):
        """Return a hyperplane for these rows: between two groups of classes, between two rows, or any."""
        Z, rng, d = self.Z[rows], self.rng, self.Z.shape[1]
        classes = np.unique(self.cheapest[rows])
        if len(rows) < 2 or len(classes) < 2:
            h = rng.normal(size=d)
            return h, float(h @ (Z[rng.integers(len(rows))] if len(rows) else np.full(d, 0.5)))
        kind = 0 if greedy else rng.integers(4)
        if self.over():  # a linear model takes long; two rows of two classes are available at once
            kind = 2
        if kind < 2:
            chosen = rng.permutation(classes)[: 1 + rng.integers(len(classes) - 1)]
            right = np.isin(self.cheapest[rows], chosen)
            weight = np.ptp(self.of[rows], axis=1) + 1e-12
            return _linear(Z, right, weight, float(10.0 ** rng.uniform(-1, 3)), bool(rng.integers(2)), rng)
        if kind == 2:
            a = rng.integers(len(rows))
            others = np.flatnonzero(self.cheapest[rows] != self.cheapest[rows[a]])
            b = rng.choice(others)
            h = Z[b] - Z[a]
            return h, float(h @ (Z[a] + Z[b]) / 2)
        h = rng.normal(size=d)
        return h, float(h @ Z[rng.integers(len(rows))])

    def settle(self) -> None:
        """Improve node after node until a pass over all of them finds nothing."""
        self._route()
        for _ in range(PASSES):
            before = self.loss
            for t in self.rng.permutation(np.arange(1, 2**self.depth)):
                self._improve(int(t))
                if self.over():
                    return
            if self.loss >= before - NEAR:
                return

    def _route(self) -> None:
        self.right = self.Z @ self.H.T > self.g
        self.leaf = reach(np.ones(len(self.Z), int), np.arange(len(self.Z)), self.right, 2**self.depth)
        self._label()

    def _label(self) -> None:
        of_leaf = np.zeros((2**self.depth, self.of.shape[1]))
        np.add.at(of_leaf, self.leaf, self.of)
        self.label = of_leaf.argmin(axis=1)
        self.loss = float(of_leaf.min(axis=1).sum())
        empty = np.bincount(self.leaf, minlength=len(of_leaf)) == 0
        # A leaf without rows may predict another class than its sibling.
        for leaf in np.flatnonzero(empty):
            self.label[leaf] = self.rng.integers(self.of.shape[1])

    def _improve(self, t: int, relabel: bool = True) -> None:
        level = t.bit_length() - 1
        rows = np.flatnonzero(self.leaf + 2**self.depth >> self.depth - level == t)
        if not len(rows):
            return
        at = np.full(len(rows), t)
        left, right = (
            self.of[rows, self.label[reach(2 * at + side, rows, self.right, 2**self.depth)]] for side in (0, 1)
        )
        care = np.abs(left - right) > NEAR
        if not care.any():
            return
        toward, gain = right[care] < left[care], np.abs(left - right)[care]
        h, g, cost = _better(self.Z[rows[care]], toward, gain, self.H[t], self.g[t], self.rng, self.over, self.lines)
        before = float(gain[self.right[rows[care], t] != toward].sum())
        if cost < before - NEAR or (cost <= before + NEAR and self.rng.random() < 0.3):
            self.H[t], self.g[t] = h, g
            self.right[:, t] = self.Z @ h > g
            self.leaf[rows] = reach(np.full(len(rows), t), rows, self.right, 2**self.depth)
            if relabel:
                self._label()


def reach(node: np.ndarray, rows: np.ndarray, right: np.ndarray, leaves: int) -> np.ndarray:
    """Return the leaf, from 0, that each row reaches from a node.

    Parameters
    ----------
    node : int (some rows,), nodes of one level
    rows : int (some rows,)
    right : bool (rows, leaves), whether a row goes right at each branch node
    leaves : int, of the complete tree
    """
    while node.size and node[0] < leaves:
        node = 2 * node + right[rows, node]
    return node - leaves


def _linear(Z, right, weight, C: float, hinge: bool, rng):
    """Return (h, g) of a linear model that sends these rows right, those left."""
    if right.all() or not right.any():
        return np.zeros(Z.shape[1]), -1.0 if right.all() else 1.0
    weight = weight / weight.mean()
    if hinge:
        return fit_hinge(Z, right, weight, C, sparse=False, steps=60, seed=int(rng.integers(2**31 - 1)))
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, max_iter=60, tol=1e-3).fit(Z, right, sample_weight=weight)
    return model.coef_[0].copy(), -float(model.intercept_[0])


def _better(Z, right, weight, h, g, rng, over, lines):
    """Return (h, g, cost): the best hyperplane found for the rows that should go right, and the others left."""
    n, d = Z.shape
    sign = np.where(right, -weight, weight)  # the additional cost of going right
    lines.rows(sign, float(weight[right].sum()))
    scale = max(1.0, np.abs(h).max())
    candidates = [(h / scale, g / scale)]
    if rng.random() < MODELS:
        found = _linear(Z, right, weight, float(10.0 ** rng.uniform(-1, 4)), bool(rng.integers(2)), rng)
        candidates.append(
            (found[0] / max(1e-12, np.abs(found[0]).max()), found[1] / max(1e-12, np.abs(found[0]).max()))
        )
    axis = np.zeros(d)
    axis[_best_axis(Z, sign)] = 1.0
    candidates.append((axis, 0.0))
    best, bound = None, np.full((1, n), -1.0)
    for w, c in candidates:
        delta, cost = lines.best(Z @ w - c, bound)
        if best is None or cost[0] < best[2] - NEAR:
            best = w, c + delta[0], cost[0]
    h, g, cost = best
    idle, some, others = 0, max(1, min(LINES, CELLS // (2 * n))), len(candidates)
    # Along the coordinates, the ways to the candidates, and random lines: of half of the coordinates and the bound,
    # and of two.
    slopes = lines.memory("slopes", d + others + 2 * some, n)
    ways = np.empty((others + 2 * some, d))
    shift = np.empty(others + 2 * some)
    slopes[:d] = Z.T
    for _ in range(ROUNDS):
        if over():
            break
        for k, (w, c) in enumerate(candidates):
            ways[k], shift[k] = w - h, c - g
        ways[others:], shift[others:] = _ways(d, some, rng)
        np.matmul(ways, slopes[:d], out=slopes[d:])
        slopes[d:] -= shift[:, None]
        delta, costs = lines.best(Z @ h - g, slopes)
        k = int(costs.argmin())
        if costs[k] >= cost - NEAR:
            if (idle := idle + 1) == IDLE:
                break
            continue
        if k < d:
            h = h.copy()
            h[k] += delta[k]
        else:
            h, g = h + delta[k] * ways[k - d], g + delta[k] * shift[k - d]
        shifted, exact = lines.best(Z @ h - g, bound)
        g, cost = g + shifted[0], exact[0]
        if cost <= NEAR:
            break
    return h, g, float(weight[(Z @ h > g) != right].sum())


def _ways(d: int, some: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return (changes of h (2 some, d), of g (2 some,)): along about half of the coordinates and the bound; along two,
    without the bound."""
    ways = np.zeros((2 * some, d))
    ways[:some] = rng.normal(size=(some, d)) * (rng.random((some, d)) < 0.5)
    ways[np.arange(some, 2 * some)[:, None], rng.integers(d, size=(some, 2))] = rng.normal(size=(some, 2))
    return ways, np.concatenate([rng.normal(size=some), np.zeros(some)])


def _best_axis(Z, sign) -> int:
    """Return the coordinate whose best threshold, in either direction, gains most."""
    order = np.argsort(Z, axis=0, kind="stable")
    sums = np.cumsum(sign[order], axis=0)
    value = np.take_along_axis(Z, order, axis=0)
    ends = np.vstack([value[1:] > value[:-1], np.ones((1, Z.shape[1]), bool)])
    total = sums[-1:]
    return int(np.where(ends, np.maximum(sums, total - sums), -np.inf).max(axis=0).argmax())


def unit_of(numbers: np.ndarray) -> float:
    """Return the power of two for which the largest of some numbers is between 1 and 2 units: the unit of losses and
    weights in a search, so that numbers that count as equal differ by a part of the cost of a row. Sums of numbers in
    this unit agree with the sums of the numbers themselves to the last bit.

    Parameters
    ----------
    numbers : ndarray of float64
        All 0 or more.

    Returns
    -------
    float
        1 if none is above 0.
    """
    most = float(np.max(numbers, initial=0.0))
    return 2.0 ** (math.frexp(most)[1] - 1) if most > 0 else 1.0
