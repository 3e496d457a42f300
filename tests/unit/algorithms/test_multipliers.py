"""The next multipliers: the program over the cuts met so far, begun anew after every cut, is that of a solver."""

import numpy as np
import pytest

from odtc.algorithms.constrained.multipliers import Cuts, _program


@pytest.mark.parametrize("seed", range(40))
def test_the_best_of_the_least_cut_is_that_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    R = int(rng.integers(1, 6))
    largest = rng.uniform(0.5, 60, R)
    cuts = Cuts(largest)
    for _ in range(25):
        slope = rng.integers(-9, 10, R).astype(float) * rng.choice([1, 1, 100])
        if rng.random() < 0.3 and cuts.slope:
            slope = -cuts.slope[-1]  # the two sides of one difference
        cuts.add(float(rng.integers(0, 500)), slope)
        most, multipliers = cuts.best()
        want, _ = _program(np.array(cuts.cost), np.array(cuts.slope), largest)
        assert most == pytest.approx(want, rel=1e-7, abs=1e-6)
        assert (multipliers >= 0).all() and (multipliers <= largest + 1e-9).all()
        value = (np.array(cuts.cost) + np.array(cuts.slope) @ multipliers).min()
        assert value == pytest.approx(most, rel=1e-7, abs=1e-6)
