"""Convex hulls in any dimension: the extreme points of many points, and the others as mixtures of them.

A point p is inside the hull of E if some λ ≥ 0 with Σ_e λ_e = 1 has |Σ_e λ_e e - p| ≤ tolerance in every coordinate,
and outside if some w has w·p - max_e w·e > tolerance · |w|_1. Exactly one of the two is true, because they are a
linear program and its dual, and no point is called inside without its λ or outside without its w. λ comes from Wolfe's
algorithm for the nearest point of a polytope (Wolfe 1976, Mathematical Programming 11), for many points at once; HiGHS
solves a linear program for each point that it leaves open.

The extreme points are found as in Clarkson 1994 ("More output-sensitive geometric algorithms", FOCS): E contains only
extreme points; a point outside the hull of E has a w, and the farthest of all points in direction w is a new extreme
point. So each point is compared only with the extreme points, however many points there are.
"""

import numpy as np

from odtc.base import deadline
from odtc.base.value_class import value_class

TOLERANCE = 1e-9  # of a coordinate, in units of its range over the points
POINTS_AT_ONCE = 512  # points that are tried at once
TABLE_CELLS = 20_000_000  # of a table of products stored at once
QHULL = 4  # dimensions up to which Qhull finds the extreme points quickly
MAX_STEPS = 40  # times the dimension: of Wolfe's algorithm, before a linear program decides
INSIDE, OUTSIDE, OPEN = 1, 2, 0


@value_class
class Hull:
    """The extreme points of some points, and the others as mixtures of them; arrays are read-only.

    `extreme` is bool (points,). Each other point, in the order of its index, is row r of the mixtures: Σ_s weight[r,
    s] points[of[r, s]], float64 and int64 (others, slots), with weight 0 in unused slots and at most dimension + 1
    others; it is off by at most `error` (float64, in units of the range of a coordinate). Of equal points only the
    first may be extreme; the others are mixtures of that point only. `n_open` distinct points were not decided before
    the deadline and count as extreme.
    """

    extreme: np.ndarray
    of: np.ndarray
    weight: np.ndarray
    error: float
    n_open: int = 0

    @property
    def inner(self) -> np.ndarray:
        """int64 (others,): the points that are mixtures."""
        return np.flatnonzero(~self.extreme)


def hull(points: np.ndarray, tolerance: float = TOLERANCE) -> Hull:
    """Return the Hull of points, float64 (points, dimensions), at least one.

    `tolerance` is in units of a coordinate's range; with a large one fewer points are kept, and all others are still
    mixtures of the kept ones, each off by at most the tolerance (papers/000 (6) with ε' > 0).
    """
    scaled, first, kind = _distinct(points)
    n, d = scaled.shape
    kept, of, weight = np.ones(n, bool), np.zeros((n, 2 * d + 2), np.int64), np.zeros((n, 2 * d + 2))
    of[:, 0], weight[:, 0] = np.arange(n), 1.0
    n_open = 0
    for group, columns in _faces(scaled):
        found = _Search(scaled[np.ix_(group, columns)], tolerance)
        found.run()
        width = found.of.shape[1]
        kept[group], n_open = found.extreme | found.open, n_open + int(found.open.sum())
        of[group, :width], weight[group, :width] = group[found.of], found.weight
    extreme = np.zeros(len(points), bool)
    extreme[first[kept]] = True
    inner = np.flatnonzero(~extreme)
    error = float(np.abs(_mixed(scaled, of, weight) - scaled).max(initial=0.0))
    of, weight = first[of[kind[inner]]], weight[kind[inner]]
    for array in (extreme, of, weight):
        array.setflags(write=False)
    return Hull(extreme, of, weight, error, n_open)


def _distinct(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (distinct points scaled to ranges of 1 without constant coordinates, the first index of each, the
    distinct point of each point)."""
    points = np.asarray(points, float)
    low, high = points.min(axis=0), points.max(axis=0)
    varied = high > low
    scaled = (points[:, varied] - low[varied]) / (high - low)[varied]
    if not varied.any():
        scaled = np.zeros((len(points), 1))
    scaled, first, kind = np.unique(scaled, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # in the order in which they first appear
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    return scaled[order], first[order], place[kind.reshape(-1)]


def _faces(points: np.ndarray):
    """Yield (positions, columns): the groups of points that may be mixtures of each other, and the coordinates in
    which these differ. If a coordinate has two values, as an indicator has, a mixture with one of them is a mixture
    of points with this value; so points that agree in all such coordinates are treated separately."""
    two = ((points == 0.0) | (points == 1.0)).all(axis=0)
    number = np.unique(points[:, two], axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(number, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        if len(group) > 2:
            columns = np.flatnonzero(~two)
            columns = columns[np.ptp(points[np.ix_(group, columns)], axis=0) > 0]
            if len(columns):  # distinct points that agree in all coordinates are one
                yield group, columns


class _Search:
    """The extreme points of distinct points (n, d), and mixtures of them for the others."""

    def __init__(self, points: np.ndarray, tolerance: float):
        self.points, self.tolerance = points, tolerance
        self.random = np.random.default_rng(0)
        n, d = points.shape
        self.extreme = np.zeros(n, bool)
        self.open = np.ones(n, bool)
        # Both are wider than Wolfe's algorithm needs: a vertex of the program.
        self.of = np.zeros((n, 2 * d + 2), np.int64)
        self.weight = np.zeros((n, 2 * d + 2))
        self.of[:, 0], self.weight[:, 0] = np.arange(n), 1.0

    def run(self) -> None:
        if deadline.is_over():
            return
        self._seed()
        far = np.abs(self.points - self.points.mean(axis=0)).sum(axis=1)
        queue = np.argsort(-far, kind="stable")
        while len(queue := queue[self.open[queue]]):
            for begin in range(0, len(queue), POINTS_AT_ONCE):
                if deadline.is_over():
                    return
                part = queue[begin : begin + POINTS_AT_ONCE]
                self._try(part[self.open[part]])

    def _seed(self) -> None:
        n, d = self.points.shape
        if 1 < d <= QHULL and n > d + 2 and self.tolerance <= TOLERANCE and self._thickness() > 100 * TOLERANCE:
            from scipy.spatial import ConvexHull, QhullError

            try:
                self._keep(ConvexHull(self.points).vertices)
                return
            except QhullError:
                pass  # flat: the directions below will do
        axes = np.concatenate([np.eye(d), -np.eye(d)])
        # A little noise, so that no two points are equally far.
        self._farthest(
            np.concatenate(
                [axes + 1e-4 * self.random.standard_normal(axes.shape), self.random.standard_normal((8 * d, d))]
            )
        )

    def _thickness(self) -> float:
        """Return the extent of the points in the direction in which they vary least. If points are flat except for
        rounding, Qhull takes the rounding for a shape, and its corners for extreme points."""
        from_mean = self.points - self.points.mean(axis=0)
        return float(np.ptp(from_mean @ np.linalg.eigh(from_mean.T @ from_mean)[1][:, 0]))

    def _keep(self, new: np.ndarray) -> None:
        self.extreme[new] = True
        self.open[new] = False

    def _farthest(self, directions: np.ndarray) -> None:
        """Keep the points that are farthest in these directions, because they are extreme."""
        at = np.flatnonzero(self.open)
        step = max(1, TABLE_CELLS // max(1, len(at)))
        for begin in range(0, len(directions), step):
            self._keep(at[np.unique((self.points[at] @ directions[begin : begin + step].T).argmax(axis=0))])

    def _try(self, part: np.ndarray) -> None:
        """Decide some of these points, or find new extreme points."""
        if not len(part):
            return
        known = np.flatnonzero(self.extreme)
        state, near, lam, w = nearest_points(self.points[known], self.points[part], self.tolerance)
        slots, weight = np.zeros((len(part), self.of.shape[1]), np.int64), np.zeros((len(part), self.of.shape[1]))
        slots[:, : near.shape[1]], weight[:, : near.shape[1]] = near, lam
        inside = state == INSIDE
        for r in np.flatnonzero(state == OPEN).tolist():
            if deadline.is_over():
                break
            inside[r], slots[r], weight[r], w[r] = _by_program(
                self.points[known], self.points[part[r]], self.tolerance, slots.shape[1]
            )
        done = part[inside]
        self.of[done], self.weight[done], self.open[done] = known[slots[inside]], weight[inside], False
        if not inside.all() and not deadline.is_over():
            # At least one of the points that are not known becomes an extreme point, so this ends: the farthest of all
            # in direction w. If several are equally far, a little noise decides, less than the gap between p and the
            # hull.
            w = w[~inside]
            gap = (w * self.points[part[~inside]]).sum(axis=1) - (w @ self.points[known].T).max(axis=1)
            noise = self.random.standard_normal(w.shape)
            w = w + noise * (0.2 * np.maximum(gap, 0.0) / np.abs(noise).sum(axis=1))[:, None]
            self._farthest(w)


def nearest_points(E: np.ndarray, P: np.ndarray, tolerance: float):
    """Compare the hull of E (points, d) with each of P (targets, d), and return (state, slots, weight, w).

    state (targets,): INSIDE, with Σ weight E[slots] as far from the target as the tolerance allows, OUTSIDE, with w
    (targets, d) that separates it from the hull by more than that, or OPEN, if rounding or the deadline allowed
    neither to be shown.
    """
    n, d = P.shape
    k = d + 2
    state = np.zeros(n, np.int8)
    slots, weight, w = np.zeros((n, k), np.int64), np.zeros((n, k)), np.zeros((n, d))
    squares = (E * E).sum(axis=1)
    step = max(1, TABLE_CELLS // len(E))
    for begin in range(0, n, step):
        at = np.arange(begin, min(n, begin + step))
        S, lam, used = np.zeros((len(at), k), np.int64), np.zeros((len(at), k)), np.zeros((len(at), k), bool)
        S[:, 0], lam[:, 0], used[:, 0] = (squares - 2 * P[at] @ E.T).argmin(axis=1), 1.0, True
        for _ in range(MAX_STEPS * d):
            if deadline.is_over():
                return state, slots, weight, w
            V = E[S] - P[at][:, None, :]
            x = (lam[:, :, None] * V).sum(axis=1)  # from the target to the mixture
            score = x @ E.T
            new = score.argmin(axis=1)
            parted = score[np.arange(len(at)), new] - (x * P[at]).sum(axis=1)
            here = np.abs(x).max(axis=1) <= tolerance
            away = ~here & (parted > tolerance * np.abs(x).sum(axis=1))
            full = used.all(axis=1) | ((S == new[:, None]) & used).any(axis=1)
            over = here | away | full
            if over.any():
                done = at[over]
                state[done] = np.where(here, INSIDE, np.where(away, OUTSIDE, OPEN))[over]
                slots[done], weight[done], w[done] = S[over], lam[over], -x[over]
                at, S, lam, used, new = at[~over], S[~over], lam[~over], used[~over], new[~over]
                if not len(at):
                    break
            free = (~used).argmax(axis=1)
            r = np.arange(len(at))
            S[r, free], used[r, free], lam[r, free] = new, True, 0.0
            _settle(E[S] - P[at][:, None, :], lam, used)
        else:
            slots[at], weight[at] = S, lam
    weight[weight < 0] = 0.0
    return state, slots, weight, w


def _settle(V: np.ndarray, lam: np.ndarray, used: np.ndarray) -> None:
    """Compute the mixtures of the used V (targets, slots, d) that are nearest to 0, in place. If the nearest point of
    their affine hull has weights below 0, the mixture moves towards it as far as they allow, without the slot that
    ends it."""
    k = V.shape[1]
    at = np.arange(len(V))
    for _ in range(2 * k):
        v, u = V[at] * used[at][:, :, None], used[at]
        system = np.zeros((len(at), k + 1, k + 1))
        system[:, :k, :k] = v @ v.transpose(0, 2, 1)
        system[:, np.arange(k), np.arange(k)] += np.where(u, 1e-15, 1.0)
        system[:, :k, k] = system[:, k, :k] = u
        right = np.zeros((len(at), k + 1, 1))
        right[:, k] = 1.0
        try:
            alpha = np.linalg.solve(system, right)[:, :k, 0]
        except np.linalg.LinAlgError:
            return
        alpha[~u] = 0.0
        low = u & (alpha <= 1e-13)
        short = low.any(axis=1)
        lam[at[~short]] = alpha[~short]
        at, alpha, low = at[short], alpha[short], low[short]
        if not len(at):
            return
        old = lam[at]
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(low & (old > alpha), old / (old - alpha), np.inf)
        theta = np.minimum(reach.min(axis=1), 1.0)
        mixed = old + theta[:, None] * (alpha - old)
        gone = low & ((reach <= theta[:, None]) | (mixed <= 1e-15))
        gone[
            np.arange(len(at)),
            np.where(gone.any(axis=1), gone.argmax(axis=1), np.where(low, alpha, np.inf).argmin(axis=1)),
        ] = True
        mixed[gone] = 0.0
        used[at] &= ~gone
        total = mixed.sum(axis=1, keepdims=True)
        lam[at] = mixed / np.where(total > 0, total, 1.0)


def _by_program(E: np.ndarray, p: np.ndarray, tolerance: float, k: int):
    """Return (whether p is in the hull, slots, weight, w) by min t: |Σ_e λ_e e - p| ≤ t, Σ_e λ_e = 1, λ ≥ 0."""
    from scipy.optimize import linprog

    m, d = E.shape
    A = np.vstack([np.hstack([E.T, -np.ones((d, 1))]), np.hstack([-E.T, -np.ones((d, 1))])])
    found = linprog(
        np.append(np.zeros(m), 1.0),
        A,
        np.append(p, -p),
        np.append(np.ones(m), 0.0)[None, :],
        [1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:  # it is kept
        return False, np.zeros(k, np.int64), np.zeros(k), np.zeros(d)
    lam, dual = np.maximum(found.x[:m], 0.0), found.ineqlin.marginals
    w = dual[d:] - dual[:d]
    best = np.argsort(-lam, kind="stable")[:k]
    slots, weight = np.zeros(k, np.int64), np.zeros(k)
    slots[: len(best)], weight[: len(best)] = best, lam[best] / max(lam[best].sum(), 1e-300)
    inside = np.abs(weight @ E[slots] - p).max() <= tolerance
    if (w * p).sum() < (E @ w).max():
        w = -w
    return inside, slots, weight, w


def _mixed(points: np.ndarray, of: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return Σ_s weight[:, s] points[of[:, s]]."""
    out = np.zeros((len(of), points.shape[1]))
    for s in range(of.shape[1]):
        out += weight[:, s, None] * points[of[:, s]]
    return out
