"""The states of a certificate over splits of columns of their own, level by level, against trying every tree; of two
and three labels."""

from functools import cache

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification.interval_bound import IntervalBound
from odtc.verification.node_cuts import Rows
from odtc.verification.threshold_columns import distinct_columns


class Drawn:
    """Some rows, five splits of a column each, and what the best trees of them cost above the unavoidable cost."""

    def __init__(self, seed: int, labels: int):
        rng = np.random.default_rng(seed)
        X = np.unique(rng.random((40, 5)) < 0.5, axis=0)
        loss = rng.integers(0, 5, (len(X), labels)).astype(float)
        loss -= loss.min(axis=1, keepdims=True)
        kept = loss.any(axis=1)  # on the other rows all labels cost the same
        self.X, self.loss, self.price = np.ascontiguousarray(X[kept].T), loss[kept], float(seed % 3)
        rank = 1 - self.X.T.astype(int)
        self.rows = Rows(distinct_columns(rank), self.loss, np.ones(len(rank), np.int64), self.price, 1)
        self.best = cache(self._best)

    def _best(self, rows: bytes, height: int) -> float:
        inside = np.frombuffer(rows, bool)
        costs = [self.loss[inside].sum(axis=0).min()]
        for _, one, two in self.halves(rows) if height else ():
            costs.append(self.price + self.best(one, height - 1) + self.best(two, height - 1))
        return float(min(costs))

    def halves(self, rows: bytes):
        """(split, the rows on its left, those on its right) of each split that separates some rows."""
        inside = np.frombuffer(rows, bool)
        for at, column in enumerate(self.X):
            one, two = inside & column, inside & ~column
            if one.any() and two.any():
                yield at, one.tobytes(), two.tobytes()

    def levels(self, depth: int, deepest: int) -> list[list[list]]:
        """[its best cost, its rows, its points] of each state, level by level: all sides of all splits, down to trees
        of `deepest` levels."""
        found, rows = [], [np.ones(self.X.shape[1], bool).tobytes()]
        for height in range(depth, min(depth, deepest) - 1, -1):
            below: dict[bytes, int] = {}
            states = [[int(self.best(here, height)), here, ""] for here in rows]
            for state in states if height > deepest else ():
                for at, *sides in self.halves(state[1]):
                    one, two = (below.setdefault(side, len(below) + 1) for side in sides)
                    state[2] += f",{at},0,{one},{two}"
            found.append(states)
            rows = list(below)
        return found

    def bound(self, levels: list[list[list]], depth: int) -> float:
        texts = [";".join(f"{cost}{points}" for cost, _, points in states) for states in levels]
        return IntervalBound(texts, self.rows, depth).of_root()


@pytest.mark.parametrize("deepest", [2, 3])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_each_bound_is_the_cost_of_the_best_tree_and_no_more(seed, labels, depth, deepest):
    drawn, rng = Drawn(seed, labels), np.random.default_rng(seed)
    levels = drawn.levels(depth, deepest)
    assert drawn.bound(levels, depth) == levels[0][0][0]
    for level, states in enumerate(levels):
        for at in rng.permutation(len(states))[:3]:
            cost, rows, points = states[at]
            shallower = int(drawn.best(rows, depth - level - 1)) if depth > level + 1 else 0
            for more in {cost + 1, max(cost + 1, shallower)}:
                forged = [[list(one) for one in states] for states in levels]
                forged[level][at][0] = more
                with pytest.raises(CertificateError, match=rf"^entry {at + 1} of states\[{level}\]: "):
                    drawn.bound(forged, depth)
