"""Lattice of the states, with their arcs and values: each level is built from the level above it.

The cost of a set of rows under a label, its number of rows and the bound that equal rows get one label are sums over
its rows, so one product per level computes them. It also computes a hash of the set (four limbs of 27 random bits,
exact in float64), which identifies equal sets before they are built. (For the construction, see Nijssen & Fromont 2007
on the lattice of itemsets.)
"""

from dataclasses import replace

import numpy as np

from odtc.algorithms.dp.itemset_sums import table_fits
from odtc.algorithms.dp.side_costs import SideCosts
from odtc.algorithms.dp.state_graph import LIMBS, Graph, Level, Rows
from odtc.base import deadline
from odtc.base.deadline import BLOCK_CELLS
from odtc.base.memory import require_memory
from odtc.base.wording import option, param

ARC_BYTES = 200  # bytes of an arc while its level is built, and of its variable in the model
UNESTIMATED_BYTES = 2**28  # bytes up to which no estimate is needed
FEW_STATES = 50  # up to this many states, numpy computes the best trees of two levels, without loading a kernel
SAMPLED_STATES = 32  # states from which the arcs of a level are estimated


def _instead() -> str:
    """Return advice for a graph that is too large, in words."""
    return (
        f"use fewer splits (for instance {option('encoding', 'auto:bins=8')}), a smaller {option('depth')}, "
        f"{param('tail', 2)}, or {option('model', 'flowoct')}, which grows with the rows"
    )


def generate(rows: Rows, n_levels: int, price: float = 0.0, fold: bool = True, ends: bool = False) -> Graph:
    """Return the first levels of the program for all trees over these splits; levels without a state are left out.

    Below the last level, both sides of every arc stop; with `ends` one more level has their states, without arcs. A
    state with its unavoidable cost is not expanded (`fold`), which is exact as long as only cost counts.
    """
    total = rows.loss.sum(axis=0)
    states = dict(
        cover=np.packbits(np.ones((1, len(rows.X)), bool), axis=1),
        path=np.zeros((1, 0), np.int32),
        stop=np.atleast_1d(rows.leaf_costs(total)),
        label=np.atleast_1d(rows.leaf_labels(total)).astype(np.int32),
        floor=rows.floor.sum(keepdims=True),
    )
    levels = []
    for j in range(n_levels):
        arcs, below = _arcs(rows, states, price, fold, last=j == n_levels - 1 and not ends)
        levels.append(Level(n_states=len(states["stop"]), **states, **arcs))
        if below is None or not len(below["stop"]):
            break
        states = below
    if ends and len(levels) == n_levels and len(below["stop"]):
        none = np.zeros(0, np.int32)
        nowhere = dict(state=none, split=none, below=np.zeros((0, 2), np.int32), cost=np.zeros(0))
        levels.append(Level(n_states=len(below["stop"]), **below, **nowhere))
    return Graph(rows, tuple(levels), price)


def build_graph(rows: Rows, depth: int, price: float = 0.0, fold: bool = True, tail: int = 0) -> Graph:
    """Return the Graph of all trees of this depth. Its last `tail` levels above the leaves are folded: `depth` minus
    `tail` levels remain, and the last arcs cost the best subtrees of height `tail`. Subtrees are folded only if a leaf
    may have any number of rows, because the tables of pairs do not count rows."""
    if tail == 0:
        return generate(rows, depth, price, fold)
    if tail == 1:
        return _with_stumps(generate(rows, depth - 1, price, fold), depth)
    return build_valued_graph(rows, depth, price, fold).folded(depth - tail)


def build_valued_graph(rows: Rows, depth: int, price: float = 0.0, fold: bool = True) -> Graph:
    """Return the Graph of all trees of this depth down to the states with two levels left, whose `values` are
    known; these may have no arcs. If leaves must have more than one row, down to the leaves."""
    if rows.least > 1:
        return generate(rows, depth, price, fold)
    if depth < 3:
        return _with_stumps(generate(rows, max(1, depth - 1), price, fold), depth)
    graph = generate(rows, depth - 2, price, fold, ends=True)
    if len(graph.levels) < depth - 1:
        return graph
    return replace(graph, levels=(*graph.levels[:-1], replace(graph.levels[-1], stop=_two_level_costs(graph))))


def _two_level_costs(graph: Graph) -> np.ndarray:
    """Return float64 (states,): the cost of the best tree of two levels at each state of the last level."""
    rows, (above, last) = graph.rows, graph.levels[-2:]
    stop, costs = last.stop.copy(), SideCosts(rows, graph.price) if last.n_states > FEW_STATES else None
    if costs is None or not costs.fits:
        _expect_stumps(rows, last, np.arange(last.n_states))
        for s in range(last.n_states):
            stop[s] = min(stop[s], graph.price + stump_costs(rows, last.members(s, len(rows.X)), graph.price).min())
        return stop
    is_known = np.zeros(last.n_states + 1, bool)
    is_known[-1] = True  # the place of -1, no state
    for s in np.unique(above.state).tolist():
        deadline.check()
        arcs = slice(*above.first[s : s + 2])
        below = above.below[arcs]
        if is_known[below].all():  # most states are below several others
            continue
        sides = costs.of(above.members(s, len(rows.X)))[:, above.split[arcs]]
        for side in (0, 1):
            on = below[:, side] >= 0
            stop[below[on, side]] = sides[side, on]
        is_known[below] = True
    return stop


def _with_stumps(graph: Graph, depth: int) -> Graph:
    """Return the same arcs; where two levels are left, they have the cost of the best tree of one level on either
    side."""
    if depth < 2 or len(graph.levels) < depth - 1:  # no state at this level is worth a split
        return graph
    rows, last = graph.rows, graph.levels[-1]
    cost = last.cost.copy()
    _expect_stumps(rows, last, np.unique(last.state))
    for s in np.unique(last.state).tolist():
        arcs = slice(*last.first[s : s + 2])
        cost[arcs] = graph.price + stump_costs(rows, last.members(s, len(rows.X)), graph.price)[last.split[arcs]]
    return replace(graph, levels=(*graph.levels[:-1], replace(last, cost=cost)))


def _expect_stumps(rows: Rows, level: Level, states: np.ndarray) -> None:
    """Raise TimeLimitReached if the best pairs of splits at some states would take longer than there is time."""
    F, K = rows.X.shape[1], rows.loss.shape[1]
    deadline.expect_end(
        float(np.unpackbits(level.cover[states]).sum()) * F**2 * (K if K > 2 else 1),
        f"the best pairs of {F:,} splits at {len(states):,} states of the dynamic program",
        _instead(),
    )


def _arcs(rows: Rows, now: dict, price: float, fold: bool, last: bool):
    """Return the arcs of a level, and the states that they lead to; at the `last` level both sides stop."""
    K = rows.loss.shape[1]
    opened = np.flatnonzero(now["stop"] > now["floor"] + rows.near) if fold else np.arange(len(now["stop"]))
    _expect_arcs(rows, now, opened)
    found = {key: [] for key in ("state", "split", "stops", "labels", "floors", "hashes")}
    for part, s, f, side in _sides(rows, now, opened):
        found["state"].append(part[s])
        found["split"].append(f)
        found["stops"].append(rows.leaf_costs(side[..., :K]))
        found["labels"].append(rows.leaf_labels(side[..., :K]))
        found["floors"].append(side[..., K + 1])
        found["hashes"].append(_hash(side[..., K + 3 : K + 3 + LIMBS]))
    empty = {"stops": (0, 2), "labels": (0, 2), "floors": (0, 2), "hashes": (0, 2)}
    joined = {
        key: np.concatenate(parts) if parts else np.zeros(empty.get(key, 0), np.uint64 if key == "hashes" else float)
        for key, parts in found.items()
    }
    state, split = joined["state"].astype(np.int32), joined["split"].astype(np.int32)
    stops, floors = joined["stops"], joined["floors"]
    goes_on = (
        np.zeros(stops.shape, bool) if last else stops > floors + rows.near if fold else np.ones(stops.shape, bool)
    )
    below = np.full(stops.shape, -1, np.int32)
    cost = price + np.where(goes_on, 0.0, stops).sum(axis=1)
    arcs = dict(state=state, split=split, below=below, cost=cost)
    if last:
        return arcs, None
    arc, side = np.nonzero(goes_on)
    _, at, below[arc, side] = np.unique(joined["hashes"][arc, side], return_index=True, return_inverse=True)
    require_memory(len(at) * (now["cover"].shape[1] + 64), f"{len(at):,} states of the dynamic program")
    parent, f, bit = state[arc[at]], split[arc[at]], side[at]
    columns = np.packbits(np.stack([~rows.X.T, rows.X.T]), axis=2)
    cover = now["cover"][parent] & columns[bit, f]
    path = np.concatenate([now["path"][parent], (2 * f + bit)[:, None]], axis=1).astype(np.int32)
    states = dict(
        cover=cover,
        path=path,
        stop=stops[arc[at], side[at]],
        label=joined["labels"][arc[at], side[at]].astype(np.int32),
        floor=floors[arc[at], side[at]],
    )
    return arcs, states


def child_sets(rows: Rows, level: Level):
    """Yield the results of `_sides` for all states of a level."""
    return _sides(rows, {"path": level.path, "cover": level.cover}, np.arange(level.n_states))


def state_sums(rows: Rows, level: Level) -> np.ndarray:
    """Return float64 (states, columns): the sums of Rows.sums over the rows of each state."""
    size = level.path.shape[1]
    if table_fits(rows.X.shape[1], size, 8 * rows.sums.shape[1]):
        return rows.signed.table(size)[rows.signed.number(level.path)]
    out, step = np.empty((level.n_states, rows.sums.shape[1])), max(1, BLOCK_CELLS // len(rows.X))
    for begin in range(0, level.n_states, step):
        out[begin : begin + step] = (
            np.unpackbits(level.cover[begin : begin + step], axis=1, count=len(rows.X)).astype(float) @ rows.sums
        )
    return out


def _expect_arcs(rows: Rows, now: dict, opened: np.ndarray) -> None:
    """Raise ModelError if the arcs of a level would not fit, as estimated from the arcs of some of its states."""
    (n, F), level = rows.X.shape, now["path"].shape[1]
    what = f"level {level} of the dynamic program, {len(opened):,} states over {F:,} splits"
    if not table_fits(F, level + 1, 8 * rows.sums.shape[1]):
        deadline.expect_end(float(len(opened)) * n * F * rows.sums.shape[1], what, _instead())
    if len(opened) * F * ARC_BYTES < UNESTIMATED_BYTES:
        return
    some = opened[np.unique(np.linspace(0, len(opened) - 1, SAMPLED_STATES).astype(int))]
    member = np.unpackbits(now["cover"][some], axis=1, count=n).T
    ones, held = deadline.product(member, rows.X, np.float32), member.sum(axis=0)[:, None]
    arcs = ((ones >= rows.least) & (held - ones >= rows.least)).sum() / len(some) * len(opened)
    require_memory(arcs * ARC_BYTES, f"{what} with about {arcs:,.0f} arcs (rows and columns of the model),", _instead())


def _sides(rows: Rows, now: dict, opened: np.ndarray):
    """Yield (states, s, f, sums) for groups of the states: the arcs as positions s in `states` and splits f, and the
    sums (arcs, sides, columns) of Rows.sums on both sides; only arcs with enough rows on both sides."""
    (n, F), K, size = rows.X.shape, rows.loss.shape[1], now["path"].shape[1] + 1
    width = rows.sums.shape[1]
    if table_fits(F, size, 8 * width):
        table = rows.signed.table(size)
        step = max(1, BLOCK_CELLS // (F * width))
        for begin in range(0, len(opened), step):
            deadline.check()
            part = opened[begin : begin + step]
            path = now["path"][part]
            free = np.ones((len(part), F), bool)
            free[np.arange(len(part))[:, None], path >> 1] = False
            s, f = np.nonzero(free)
            side = np.stack(
                [table[rows.signed.number(np.column_stack([path[s], 2 * f + bit]))] for bit in (0, 1)], axis=1
            )
            parted = (side[..., K + 2] > rows.least - 0.5).all(axis=1)
            yield part, s[parted], f[parted], side[parted]
        return
    X = rows.X.astype(float)
    step = max(1, BLOCK_CELLS // max(n, F * width))
    for begin in range(0, len(opened), step):
        deadline.check()
        part = opened[begin : begin + step]
        member = np.unpackbits(now["cover"][part], axis=1, count=n).astype(float)
        ones = np.stack([(member * column) @ X for column in rows.sums.T], axis=2)
        sides = np.stack([(member @ rows.sums)[:, None, :] - ones, ones], axis=2)  # (states, splits, sides, sums)
        s, f = np.nonzero((sides[..., K + 2] > rows.least - 0.5).all(axis=2))
        yield part, s, f, sides[s, f]


def _hash(limbs: np.ndarray) -> np.ndarray:
    """Return uint64: sums of random limbs (…, LIMBS) mixed into one number; equal sets have equal ones."""
    odd = np.random.default_rng(1990).integers(0, 1 << 63, LIMBS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = (limbs.astype(np.uint64) * odd).sum(axis=-1, dtype=np.uint64)
    return mixed ^ (mixed >> np.uint64(29))


def stump_costs(rows: Rows, members: np.ndarray, price: float) -> np.ndarray:
    """Return float64 (splits,): the cost of the best split, or none, on either side of each split f, of some rows.

    The losses of the rows on the four sides of all pairs of splits come from one product Xᵀ diag(loss_k) X
    per class, some splits f at a time. Of two classes only the difference d of their losses matters, as min(a, b) =
    (a + b - |a - b|) / 2, and its extremes over the second split.
    """
    X, loss = rows.X[members], rows.loss[members]
    F, K = X.shape[1], loss.shape[1]
    total, out = loss.sum(axis=0), np.empty(F)
    two = K == 2
    columns = loss[:, :1] - loss[:, 1:] if two else loss
    ones = deadline.product(X, columns, float)  # (splits, columns)
    for begin in range(0, F, step := max(1, BLOCK_CELLS // (F * K))):
        f = slice(begin, begin + step)
        both = np.stack([deadline.product(X[:, f] * column[:, None], X, float) for column in columns.T], axis=2)
        if two:
            own, rest = ones[f, 0], total[0] - total[1] - ones[f, 0]
            saved = _saved(both[..., 0], own, price) + _saved(ones[:, 0] - both[..., 0], rest, price)
            out[f] = (total.sum() - saved) / 2
            continue
        first, second = ones[f, None], ones[None]
        on11, on10, on01, on00 = map(
            rows.leaf_costs, (both, first - both, second - both, total - first - second + both)
        )
        one = np.minimum(rows.leaf_costs(ones[f]), price + (on11 + on10).min(axis=1))
        zero = np.minimum(rows.leaf_costs(total - ones[f]), price + (on01 + on00).min(axis=1))
        out[f] = one + zero
    return out


def _saved(table: np.ndarray, own: np.ndarray, price: float) -> np.ndarray:
    """Return float64 (splits,): the saving of the best split, or none, compared with the sum of both losses, on one
    side of each first split, for two classes. `table` (splits, splits) is d over the rows with a 1 at a second split,
    and `own` is d over all rows there.

        |x| + |own - x| = max(|own|, |2 x - own|), so only the extremes of x are needed
    """
    best = np.maximum(2 * table.max(axis=1) - own, own - 2 * table.min(axis=1))
    return np.maximum(np.abs(own), best - 2 * price)
