"""A limit that ends the run at any check of the clock: there is a tree, and all claims about it are true."""

import time
from itertools import count

import numpy as np
import polars as pl
import pytest

import odtc
from odtc.base import deadline
from odtc.errors import TimeLimitReached

LIMIT = 2000.0  # seconds, which pass at once at some look
CLASSES = {"target": "y", "auxiliary": ["g"], "ignore": ["c", "d"]}
KINDS = {
    "depth 3": (CLASSES, {"depth": 3}),
    "a price": (CLASSES, {"depth": 3, "lambda_": 0.3}),
    "rows of leaves": (CLASSES, {"depth": 3, "constraints": ["leaf_rows >= 5"]}),
    "recall": (CLASSES, {"depth": 2, "constraints": ["recall[b] >= 0.4"]}),
    "parity": (CLASSES, {"depth": 2, "constraints": ["statistical_parity[group=g,positive=b] <= 0.4"]}),
    "leaves": (CLASSES, {"depth": 3, "encoding": "auto:bins=5", "constraints": ["leaves <= 5"]}),
    "numbers": ({"task": "regression", "target": "c", "ignore": ["d", "g", "y"]}, {"depth": 2}),
    "medians": ({"task": "median", "target": "c", "ignore": ["d", "g", "y"]}, {"depth": 2}),
    "policies": ({"task": "policy", "actions": ["c", "d"], "ignore": ["g", "y"]}, {"depth": 2}),
    "a solver": (CLASSES, {"model": "flowoct", "depth": 2, "encoding": "auto:bins=3"}),
}


class Clock:
    """The clock, which from one of its looks on is past the limit."""

    def __init__(self, monkeypatch):
        self.real, self.looks, self.passes = time.monotonic, count(1), None
        self.ahead, self.seen = 0.0, 0
        monkeypatch.setattr(time, "monotonic", self.look)

    def look(self) -> float:
        self.seen = next(self.looks)
        if self.seen == self.passes:
            self.ahead = 2 * LIMIT
        return self.real() + self.ahead

    def begin(self, passes: int | None) -> None:
        self.looks, self.passes, self.ahead = count(1), passes, 0.0


def rows(kind: str):
    random = np.random.default_rng(len(kind))
    X = random.integers(0, 9, (70, 3))
    y = np.where(X[:, 0] + X[:, 1] * (X[:, 2] > 4) + random.integers(0, 5, 70) > 9, "b", "a")
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    told = {"g": random.choice(["p", "q"], 70), "c": random.integers(0, 6, 70), "d": random.integers(0, 6, 70), "y": y}
    return odtc.read(pl.DataFrame(columns | told), **KINDS[kind][0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_and_what_is_said_of_it(kind, monkeypatch):
    clock, dataset = Clock(monkeypatch), rows(kind)
    clock.begin(None)
    whole = odtc.fit(dataset, time_limit=LIMIT, **KINDS[kind][1])
    best, looks = whole.proof.objective, clock.seen
    assert whole.proof.termination == "optimal"
    rounding = 1e-6 * max(1.0, abs(best))
    ended = 0
    for share in (0.15, 0.4, 0.7, 0.95):
        clock.begin(int(share * looks) + 1)
        try:
            done = odtc.fit(dataset, time_limit=LIMIT, **KINDS[kind][1])
        except TimeLimitReached as reason:
            assert "while the splits of" in str(reason)  # without tests there is no tree
            continue
        finally:
            clock.begin(None)
        ended += 1
        said = done.proof
        assert done.verified and said.objective >= best - rounding
        assert said.bound is None or said.bound <= best + rounding
        assert said.termination in ("optimal", "time_limit", "unknown")
        assert said.termination != "optimal" or said.objective <= best + rounding
        assert done.claim.startswith("proved") == done.proved and (done.proved or said.termination != "optimal")
    assert ended and deadline.seconds_left() is None
