"""Pricing: the paths with negative reduced costs at the duals of a master, and the bounds that they prove.

    c_p - α_e - Σ_{r∈R_p} β_r - Σ_{j above e} γ_{e,j,s_j(p)}            (9), as costs

Firat et al. (2020), section 4.2. All paths of odtc.formulations.cg.decision_paths are numbered, so the reduced costs of
all of them are one sum of tables. The paths whose cost is known form the pool of the heuristic. For the other paths a
lower bound is used; paths whose bound is below zero are evaluated, the most promising first. When none is left, the
pricing is exact, for all classes of an end at once.
"""

import numpy as np

from odtc.algorithms.dp.shallow_trees import graft_subtree
from odtc.base.value_class import value_class
from odtc.formulations.cg.decision_paths import Paths

Allowed = dict[int, np.ndarray]  # node -> bool (splits + 1,), none last: the splits that it may use; absent: all


@value_class
class Duals:
    """Dual values of odtc.formulations.cg.restricted_master: alpha (ends,); gamma per end and level, float64 (splits +
    1,), with "none" last; beta for the groups of rows that are covered."""

    alpha: np.ndarray
    gamma: dict[int, list[np.ndarray]]
    beta: np.ndarray
    cover: np.ndarray


@value_class
class PricedEnd:
    """Reduced costs of one end: `full`, float64 (paths,), for its paths, a bound if a cost is not known; and the least
    of the paths that stop above it, with (node, number)."""

    full: np.ndarray
    stopped: float
    stop: tuple[int, int]

    @property
    def least(self) -> float:
        return min(float(self.full.min(initial=np.inf)), self.stopped)


def price(
    paths: Paths, duals: Duals, e: int, allowed: Allowed | None = None, cost: np.ndarray | None = None
) -> PricedEnd:
    """Return the reduced costs of all paths to an end, by `cost` (paths,) or the bounds of `paths`; inf if a path uses
    a split that is not allowed."""
    depth, gamma, alpha = paths.depth, duals.gamma[e], float(duals.alpha[e - paths.ends[0]])
    allowed = allowed or {}
    # The rest of α after the splits down to a level are paid, and the cost of stopping from there on.
    none = [gamma[level][-1] if _may(allowed, e >> depth - level, -1) else -np.inf for level in range(depth)]
    best, stop = np.inf, (1, 0)
    for level in range(depth):
        t = e >> depth - level
        reached = paths.reached[t]
        reduced = np.full(len(reached), -alpha) - _paid(paths, reached.places, gamma, e, allowed) - sum(none[level:])
        if paths.leftmost(t) == e:
            reduced += reached.leaf - _covered(reached.rows, duals)
        if len(reduced) and reduced.min() < best:
            best, stop = float(reduced.min()), (t, int(reduced.argmin()))
    reached = paths.reached[e]
    full = (
        (paths.low[e] if cost is None else cost)
        - alpha
        - _paid(paths, reached.places, gamma, e, allowed)
        - _covered(reached.rows, duals)
    )
    return PricedEnd(full, best, stop)


def _may(allowed: Allowed, node: int, place) -> np.ndarray:
    return allowed[node][place] if node in allowed else True


def _paid(paths: Paths, places: np.ndarray, gamma, e: int, allowed: Allowed) -> np.ndarray:
    """Return Σ_j γ_{e,j,s_j(p)}; -inf if a split is not allowed."""
    total = np.zeros(len(places))
    for level in range(places.shape[1]):
        node = e >> paths.depth - level
        worth = gamma[level] if node not in allowed else np.where(allowed[node], gamma[level], -np.inf)
        total += worth[places[:, level]]
    return total


def _covered(rows: np.ndarray, duals: Duals) -> np.ndarray:
    """Return Σ_{r∈R_p} β_r."""
    if not len(duals.cover):
        return np.zeros(len(rows))
    word, bit = duals.cover // 64, (duals.cover % 64).astype(np.uint64)
    return ((rows[:, word] >> bit) & np.uint64(1)).astype(float) @ duals.beta


def lagrangian(paths: Paths, duals: Duals, priced: dict[int, PricedEnd], allowed: Allowed | None = None) -> float:
    """Return a bound on every tree, for any duals: each end takes its cheapest path, each node its cheapest split.

    Σ_e min_p (c_p - Σ_r β_r - Σ_j γ_ejs) + Σ_r β_r + Σ_j min_a Σ_e γ_eja, as Σ_a ρ_ja = 1
    """
    bound, allowed = float(duals.beta.sum()), allowed or {}
    for e in paths.ends.tolist():
        bound += priced[e].least + float(duals.alpha[e - paths.ends[0]])
    for j in paths.upper.tolist():
        level = j.bit_length() - 1
        total = sum(duals.gamma[e][level] for e in paths.ends.tolist() if e >> paths.depth - level == j)
        bound += float(total[allowed[j]].min(initial=np.inf) if j in allowed else total.min())
    return bound


def subtree_values(
    paths: Paths, cost: dict[int, np.ndarray], allowed: Allowed | None = None, leaf: dict[int, np.ndarray] | None = None
) -> dict[int, np.ndarray]:
    """Return, for each node, the cost of the best subtree for each path to it if its ends cost `cost`: the restricted
    master as a whole, by dynamic programming. With bounds in place of costs, the result is a bound. `leaf` is the
    cost of stopping at a path to a node, by default the cost of one label there."""
    allowed, found = allowed or {}, {e: np.append(cost[e], np.inf) for e in paths.ends.tolist()}
    for t in paths.upper[::-1].tolist():
        both = _both(paths, found, t, allowed)
        stop = _leaf(paths, leaf, t) if _stops(paths, allowed, t) else np.full(len(both), np.inf)
        found[t] = np.append(np.minimum(stop, both.min(axis=1, initial=np.inf)), np.inf)
    return found


def _leaf(paths: Paths, leaf: dict[int, np.ndarray] | None, t: int) -> np.ndarray:
    return paths.reached[t].leaf if leaf is None else leaf[t]


def _both(paths: Paths, found, t: int, allowed: Allowed) -> np.ndarray:
    """Return the total cost of both sides, (paths, splits); inf if a split separates no rows, or is not allowed."""
    child = paths.child[t]
    both = found[2 * t][child[..., 0]] + found[2 * t + 1][child[..., 1]]
    if t in allowed:
        both[:, ~allowed[t][:-1]] = np.inf
    return both


def _stops(paths: Paths, allowed: Allowed, t: int) -> bool:
    """Return whether a path may stop at a node: every node from there down may have no split."""
    below = [t << up | k for up in range(paths.depth - t.bit_length() + 1) for k in range(1 << up)]
    return all(_may(allowed, j, -1) for j in below)


def tree_costs_through(
    paths: Paths, found: dict[int, np.ndarray], allowed: Allowed | None = None
) -> dict[int, np.ndarray]:
    """Return for each end the least cost of a tree that has each of its paths, by the values of `subtree_values`."""
    rest, allowed = {1: np.zeros(1)}, allowed or {}
    for t in paths.upper.tolist():
        child = paths.child[t]
        at, place = np.nonzero(child[..., 0] >= 0)
        number = child[at, place, 0]
        may = _may(allowed, t, place) & np.ones(len(place), bool)
        for side in (0, 1):
            beside = rest[t][at] + found[2 * t + 1 - side][number]
            rest[2 * t + side] = np.full(len(paths.reached[2 * t + side]), np.inf)
            rest[2 * t + side][number] = np.where(may, beside, np.inf)
    return {e: rest[e] + found[e][:-1] for e in paths.ends.tolist()}


def best_splits(
    paths: Paths,
    found: dict[int, np.ndarray],
    allowed: Allowed | None = None,
    leaf: dict[int, np.ndarray] | None = None,
) -> np.ndarray:
    """Return the splits of the tree that `subtree_values` found, int32 in heap order, as columns of paths.X; -1 if it
    predicts."""
    split, stack = np.full(2 ** (paths.topology.depth + 1), -1, np.int32), [(1, 0)]
    while stack:
        t, number = stack.pop()
        if t >> paths.depth:
            graft_subtree(split, t, paths.below[t][number])
            continue
        both = _both(paths, found, t, allowed or {})[number]
        if not len(both) or (_stops(paths, allowed or {}, t) and _leaf(paths, leaf, t)[number] <= both.min()):
            continue
        place = int(both.argmin())
        split[t] = paths.splits[t][place]
        stack += [(2 * t + side, int(paths.child[t][number, place, side])) for side in (0, 1)]
    return split
