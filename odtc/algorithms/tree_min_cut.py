"""Cuts of the graphs of BendersOCT: a binary tree, every node of which may lead to the sink.

Aghaei, Gomez & Vayanos 2020, section 3. All rows at once: `sink[i, t]` is the capacity of row i's arc from node t to
the sink, `cap[i, t]` the capacity of the arc into node t, in heap order; `forks` are the nodes with arcs to two
children. A cut is the set S of nodes on the source's side, bool by heap order.
"""

import numpy as np


def walk_sets(ends: np.ndarray, size: int) -> np.ndarray:
    """Return the walk to each node: the nodes from the root to it, bool (ends, size)."""
    nodes, up = np.arange(size), np.arange(size.bit_length())
    return ((ends[:, None, None] >> up[:, None] == nodes) & (nodes > 0)).any(axis=1)


def walk_values(sink: np.ndarray, cap: np.ndarray, forks: np.ndarray) -> np.ndarray:
    """Return the value of the cut whose S is the walk to each node: (rows, nodes)."""
    value = sink.copy()
    for t in forks:
        # The walk to a child does not take the arc to its sibling, nor does the walk that ends at t.
        value[:, [2 * t, 2 * t + 1]] += value[:, [t]] + cap[:, [2 * t + 1, 2 * t]]
        value[:, t] += cap[:, 2 * t] + cap[:, 2 * t + 1]
    return value


def min_cuts(sink: np.ndarray, cap: np.ndarray, forks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (value, S) of each row's minimum cut with the root in S, by one pass up the tree: below t it costs c(t) =
    sink(t) + Σ_children min(cap(child), c(child)). S is the smallest such set."""
    c = sink.copy()
    for t in forks[::-1]:
        children = slice(2 * t, 2 * t + 2)
        c[:, t] += np.minimum(cap[:, children], c[:, children]).sum(axis=1)
    S = c < cap  # a child joins its parent's side if that is cheaper
    S[:, 0], S[:, 1] = False, True
    for t in forks:
        S[:, 2 * t : 2 * t + 2] &= S[:, t, None]
    return c[:, 1], S


def walks(split: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the node where each row ends in the tree whose node t splits on column `split[t]` (-1: no split). At an
    integer point the walk there is a minimum cut of 0 if the row is not classified correctly (Proposition 1): every
    arc that leaves it has capacity 0."""
    node, rows = np.ones(len(X), int), np.arange(len(X))
    for _ in range(len(split).bit_length()):
        asked = split[node]
        node = np.where(asked >= 0, 2 * node + X[rows, np.maximum(asked, 0)], node)
    return node


def are_walks(S: np.ndarray) -> np.ndarray:
    """Return bool (cuts,): whether each source set is a walk, with one node on each level at most."""
    levels = np.split(S, 2 ** np.arange(1, S.shape[1].bit_length() - 1), axis=1)
    return np.all([level.sum(axis=1) <= 1 for level in levels], axis=0)


class CutPool:
    """Cuts of rows, each once, in the order in which they were added: row `rows[c]` has the source set `S[c]`."""

    def __init__(self, size: int):
        self.rows, self.S, self._known = np.zeros(0, int), np.zeros((0, size), bool), set()

    def add(self, rows: np.ndarray, S: np.ndarray) -> int:
        """Add the cuts that are not in the pool yet, and return how many these are."""
        keys = [(row, one.tobytes()) for row, one in zip(rows.tolist(), S)]
        fresh = np.array([key not in self._known and not self._known.add(key) for key in keys], bool)
        self.rows, self.S = np.append(self.rows, rows[fresh]), np.vstack([self.S, S[fresh]])
        return int(fresh.sum())
