"""A certificate whose check says "optimal" comes with a proved tree, for each task."""

import numpy as np
import polars as pl
import pytest

import odtc

TASKS = {
    "classification": {"y": "kind"},
    "regression": {"y": "number", "task": "regression"},
    "median": {"y": "number", "task": "median"},
    "survival": {"task": "survival", "time": "number", "event": "event"},
}


def _drawn(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 30))
    return pl.DataFrame(
        {
            "a": rng.integers(0, 5, n),
            "b": rng.integers(0, 4, n),
            "number": np.round(rng.exponential(3, n) + 0.1, 2),
            "event": rng.integers(0, 2, n),
            "kind": rng.choice(["p", "q"], n),
        }
    )


@pytest.mark.parametrize("task", sorted(TASKS))
def test_an_optimal_certificate_has_a_proved_tree(task):
    used = {"a", "b"} | {value for key, value in TASKS[task].items() if key != "task"}
    for seed in range(12):
        certificate = odtc.certify(_drawn(seed).select(sorted(used)), depth=2, **TASKS[task])
        assert certificate.optimal, seed
        assert certificate.fit.proof.termination == "optimal", seed
        assert certificate.fit.proof.bound == certificate.fit.proof.objective, seed
