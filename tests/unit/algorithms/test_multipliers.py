"""The next multipliers: the linear program over the cuts so far, solved again after each cut, equals a solver's."""

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


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_rounds_end_at_the_greatest_bound_over_all_trees(seed, whole):
    """The trees are known here, so the bound that multipliers prove at most is one linear program."""
    rng = np.random.default_rng(seed)
    R, n = int(rng.integers(0, 4)), 30
    cost, slope = rng.integers(0, 400, n).astype(float), rng.integers(-9, 10, (n, R)).astype(float)
    largest = rng.uniform(0.5, 60, R)
    cuts, seen = Cuts(largest, whole=whole), []
    for multipliers in cuts.rounds(np.zeros(R), 500):
        value = cost + slope @ multipliers
        cuts.add(cost[value.argmin()], slope[value.argmin()])
        assert cuts.reach(value.min()) == all(value.min() > one for one in seen)
        seen.append(value.min())
    want = _program(cost, slope, largest)[0] if R else cost.min()
    assert cuts.reached == max(seen) <= want + 1e-6 * max(1.0, abs(want))
    assert not cuts.promises(want)
    assert len(seen) < 500 and (R or len(seen) == 1)


def test_rounds_without_a_tree_end_and_a_smaller_box_is_kept():
    cuts = Cuts(np.array([2.0, 2.0]))
    assert len(list(cuts.rounds(np.zeros(2), 9))) == 1
    for multipliers in cuts.rounds(np.zeros(2), 5):
        cuts.add(1.0 + len(cuts.cost), np.array([1.0, 0.5]))
        assert (multipliers <= cuts.largest).all()
        cuts.within(cuts.largest / 2)
    assert (cuts.largest == 2.0 / 2**5).all()
