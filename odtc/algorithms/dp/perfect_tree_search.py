"""Search for a tree with the unavoidable cost before the dynamic program is built: it needs no proof.

A beam search: at a node with h levels left, the WIDTH best splits are tried, by the best trees of depth 2 that they
begin there, and a side that does not reach its unavoidable cost ends the try. If the best tree of depth 2 leaves a
large loss, no try is made.
"""

import numpy as np

from odtc.algorithms.dp.shallow_trees import ShallowTreeSearch, graft_subtree
from odtc.algorithms.dp.state_graph import Rows

WIDTH, WIDER = 2, 4  # splits tried per node; in trees of depth DEEP and more
DEEP = 5
MOST = 60  # nodes looked at
LEFT = 0.25  # of what the rows of a node could cost at most, left by its best tree of depth 2: too much to try


def find_perfect_tree(rows: Rows, depth: int) -> np.ndarray | None:
    """The splits of such a tree in heap order from 1, int32 (2^h,) for some h <= depth, -1 if it predicts;
    None if none was found."""
    beam = _Beam(rows)
    for h in range(1, depth + 1):
        if h == 2 and depth == 2:
            break  # as long as the program itself takes
        splits = beam.search(np.arange(len(rows.X)), h, WIDER if h >= DEEP else WIDTH)
        if splits is not None and _loss(rows, splits) <= float(rows.floor.sum()) + rows.near:
            return splits
    return None


class _Beam:
    def __init__(self, rows: Rows):
        gain = rows.loss.max(axis=1, keepdims=True) - rows.loss
        self.best, self.near, self.known = ShallowTreeSearch(rows.X, gain), rows.near, {}

    def search(self, members: np.ndarray, height: int, width: int) -> np.ndarray | None:
        best, splits = self.best, np.full(2**height, -1, np.int32)
        most = float(best.most[members].sum())
        if float(best.gain[members].sum(axis=0).max()) >= most - self.near:
            return splits
        if not height:
            return None
        worth, below = self._pairs(members) if height > 1 else (best.stumps(members), None)
        if worth is None:
            return None
        first = int(worth.argmax())
        if worth[first] >= most - self.near:
            splits[1] = first
            if height > 1:
                splits[[2, 3]] = below[first]
            return splits
        if height < 3 or most - worth[first] > LEFT * most:
            return None
        for f in np.argpartition(-worth, min(width, len(worth) - 1))[:width].tolist():
            ones = best.X[members, f]
            sides = [part for part in (members[~ones], members[ones]) if len(part)]
            if len(sides) < 2:
                continue
            # The side that one label leaves more of is the one to fail on.
            gap = [float(best.most[part].sum() - best.gain[part].sum(axis=0).max()) for part in sides]
            order = (0, 1) if gap[0] >= gap[1] else (1, 0)
            found = {}
            for side in order:
                found[side] = self.search(sides[side], height - 1, width)
                if found[side] is None:
                    break
            else:
                splits[1] = f
                graft_subtree(splits, 2, found[0])
                graft_subtree(splits, 3, found[1])
                return splits
        return None

    def _pairs(self, members):
        key = members.tobytes()
        if key not in self.known:
            self.known[key] = self.best.pairs(members) if len(self.known) < MOST else (None, None)
        return self.known[key]


def _loss(rows: Rows, splits: np.ndarray) -> float:
    """Return the cost of a tree whose leaves have their best labels."""

    def loss(node, members):
        if node >= len(splits) or splits[node] < 0:
            return float(rows.loss[members].sum(axis=0).min())
        ones = rows.X[members, splits[node]]
        return loss(2 * node, members[~ones]) + loss(2 * node + 1, members[ones])

    return loss(1, np.arange(len(rows.X)))
