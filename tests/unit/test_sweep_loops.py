"""The checker's sums of two levels, by plain loops and in numpy."""

from itertools import combinations

import numpy as np
import pytest

from odtc.base import compiled_loops
from odtc.verification.constrained import sweep_kernel, sweep_numpy


def drawn_sums(seed: int) -> list:
    """What `two_levels` takes: rows of some chains, two to four labels, conditions on leaves, places of columns."""
    rng = np.random.default_rng(seed)
    chains, columns, labels, conditions = (int(rng.integers(*ends)) for ends in ((1, 6), (1, 5), (2, 5), (0, 3)))
    size = int(rng.integers(2, 10))
    least = rng.integers(0, 5, (conditions, labels)).astype(float)
    if seed % 2:  # what every leaf counts, whatever it predicts
        least[:] = least[:, :1]
    numbers = rng.integers(-9, 10, (40, labels - 1)), rng.integers(0, 3, (40, conditions))
    sets = np.array(list(combinations(range(columns), int(rng.integers(1, columns + 1)))))
    return [
        rng.integers(0, size, (40, chains)).astype(np.int32),
        np.sort(rng.choice(40, int(rng.integers(1, 30)), replace=False)),
        np.concatenate(numbers, axis=1).astype(float),
        rng.integers(-3, 4, labels).astype(float),
        least,
        float(rng.integers(0, 4)),
        np.sort(rng.integers(0, columns, chains)),
        rng.random(chains) < 0.8,
        rng.random((chains, chains)) < 0.8,
        (sets[:, :, None] == np.arange(columns)).any(axis=1),
        sets,
        np.empty(len(sets)),
        np.full((2, chains * size if rng.random() < 0.5 else 0), 7.0),
        np.arange(chains) * size,
    ]


@pytest.mark.parametrize("seed", range(40))
def test_numpy_tells_the_sums_of_the_loops(seed, monkeypatch):
    monkeypatch.setattr(sweep_numpy, "CELLS", [8, 64, 2**16][seed % 3])
    looped, told = drawn_sums(seed), drawn_sums(seed)
    sweep_kernel.two_levels(*looped)
    sweep_numpy.two_levels(*told)
    assert looped[-3].tolist() == told[-3].tolist() and looped[-2].tolist() == told[-2].tolist()


def test_a_check_compiles_nothing_that_it_does_not_repay(monkeypatch):
    monkeypatch.setenv(compiled_loops.VARIABLE, "")
    loops = compiled_loops.Repaid(lambda: pytest.fail("compiled for a moment of work"), 1e9)
    monkeypatch.setattr(compiled_loops, "LOADING", 1e9)
    monkeypatch.setattr(sweep_kernel, "COMPILED", loops)
    words, looped = drawn_sums(3), drawn_sums(3)
    sweep_kernel.least_of_two_levels(*words)
    sweep_kernel.two_levels(*looped)
    assert words[-3].tolist() == looped[-3].tolist()
