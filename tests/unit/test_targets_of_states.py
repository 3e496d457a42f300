"""The targets of a certificate over any tests, level by level, against trying every tree; of two and three labels."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification.leaf_sums import every_tree
from odtc.verification.lower_bound import LowerBound


class Drawn:
    """Some rows, four tests of a column each, and what the best trees of some levels cost."""

    def __init__(self, seed: int, labels: int):
        rng = np.random.default_rng(seed)
        X = np.unique(rng.random((40, 5)) < 0.5, axis=0)
        self.X, n = np.ascontiguousarray(X.T), len(X)
        self.loss = rng.integers(0, 5, (n, labels)).astype(float)
        self.price = float(seed % 3)
        self.best = cache(self._best)

    def _best(self, rows: bytes, height: int) -> float:
        inside = np.frombuffer(rows, bool)
        costs = [self.loss[inside].sum(axis=0).min()]
        for column in self.X if height else ():
            one, two = inside & column, inside & ~column
            if one.any() and two.any():
                costs.append(self.price + self.best(one.tobytes(), height - 1) + self.best(two.tobytes(), height - 1))
        return float(min(costs))

    def entries(self, depth: int, level: int) -> list[tuple[int, str, bytes]]:
        """(its best cost, its literals, its rows) of each state of a level that has rows."""
        found = []
        for tests in combinations(range(len(self.X)), level):
            for answers in product((0, 1), repeat=level):
                inside = np.ones(self.X.shape[1], bool)
                for test, answer in zip(tests, answers):
                    inside &= self.X[test] == bool(answer)
                if inside.any():
                    named = "".join(f",{2 * test + answer}" for test, answer in zip(tests, answers))
                    found.append((int(self.best(inside.tobytes(), depth - level)), named, inside.tobytes()))
        return found

    def bound(self, targets: list[str], depth: int) -> float:
        tests = [{"kind": "threshold", "feature": f"f{at}", "threshold": 0.5} for at in range(len(self.X))]
        return LowerBound({"splits": tests, "targets": targets}, self.X, self.loss, self.price, depth).of_root()


@pytest.mark.every(2)
@pytest.mark.parametrize("loops", [False, True, None], ids=["in numpy", "by loops", "if loops cannot"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_each_target_is_the_cost_of_the_best_tree_and_no_more(seed, labels, depth, loops, monkeypatch):
    monkeypatch.setattr(every_tree, "repays", lambda work: loops is not False)
    if loops is None:
        monkeypatch.setattr(every_tree, "least_sides", lambda *given: None)
    drawn, rng = Drawn(seed, labels), np.random.default_rng(seed)
    levels = [drawn.entries(depth, level) for level in range(max(1, depth - 1))]
    texts = [[f"{cost}{named}" for cost, named, _ in states] for states in levels]
    assert drawn.bound([";".join(level) for level in texts], depth) == levels[0][0][0]
    for level, states in enumerate(levels):
        for at in rng.permutation(len(states))[:3]:
            cost, named, rows = states[at]
            shallower = int(drawn.best(rows, depth - level - 1))
            for more in {cost + 1, max(cost + 1, shallower)}:
                forged = [list(one) for one in texts]
                forged[level][at] = f"{more}{named}"
                with pytest.raises(CertificateError):
                    drawn.bound([";".join(one) for one in forged], depth)


@pytest.mark.parametrize("loops", [False, True])
def test_a_state_without_rows_is_none(loops, monkeypatch):
    monkeypatch.setattr(every_tree, "repays", lambda work: loops)
    drawn = Drawn(0, 2)
    drawn.X = np.concatenate([drawn.X, np.ones((1, drawn.X.shape[1]), bool)])
    always = 2 * (len(drawn.X) - 1)
    assert drawn.bound(["0", f"0,{always + 1}"], 3) == drawn.loss.min(axis=1).sum()
    with pytest.raises(ValueError, match="a state holds no rows"):
        drawn.bound(["0", f"0,{always}"], 3)
