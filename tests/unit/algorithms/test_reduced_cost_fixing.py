"""The cheapest pair of points of which each and both keep one bound, against trying every pair."""

import numpy as np

from odtc.algorithms.dp.pareto import Budgets
from odtc.algorithms.dp.reduced_cost_fixing import _windowed


def test_the_cheapest_pair_within_the_bounds():
    """Of 400 drawn problems: bounds below, above and on both sides, and pairs that just reach them."""
    random, reached = np.random.default_rng(0), 0
    for _ in range(400):
        left, right = (
            np.column_stack([random.integers(0, 10, n), random.integers(-4, 7, n)]).astype(float)
            for n in random.integers(1, 10, 2)
        )
        branch = np.array([0.5, float(random.integers(0, 3))])
        lower, upper = sorted(random.choice([-np.inf, *range(-4, 12), np.inf], 2))
        if lower == np.inf or upper == -np.inf:
            continue
        budgets = Budgets(np.ones(1), np.zeros((0, 2, 1)), np.array([lower]), np.array([upper]), np.array([1e-9]))
        use = left[:, 1, None] + right[:, 1] + branch[1]
        cost = np.where((lower <= use) & (use <= upper), left[:, 0, None] + right[:, 0], np.inf)
        if np.isfinite(cost.min()):
            found = _windowed(budgets, branch, left, right)
            assert cost[found] == cost.min()
            reached += use[found] in (lower, upper)
    assert reached > 50
