"""One search for many bounds: for each of them the optimum of trying every tree, valid whenever it is stopped."""

import os
from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, cost_of, keeps
from odtc.algorithms.constrained.frontier_search import FrontierSearch
from tests.unit.algorithms.every_tree import cheapest_feasible, random_problem

SEEDS = range(0, 400, 10)  # a tenth of the proof; ODTC_ALL_CELLS=1 tries them all


def seeds():
    return range(400) if os.environ.get("ODTC_ALL_CELLS") else SEEDS


def targets(seed: int):
    """A random problem, and bounds of its sums from loose to tight: all move, or some of them."""
    problem, _ = random_problem(seed)
    problem, rng = replace(problem, accepts=None), np.random.default_rng(seed)
    moving = rng.random(problem.n_constraints) < 0.8
    steps = rng.integers(0, 3, (5, problem.n_constraints)) * moving
    return problem, problem.bound + 2 * moving - np.cumsum(steps, axis=0)


@pytest.mark.parametrize("seed", seeds())
def test_every_optimum_is_that_of_trying_every_tree(seed):
    problem, bounds = targets(seed)
    for bound, found in zip(bounds, FrontierSearch([replace(problem, bound=bound) for bound in bounds]).run()):
        one = replace(problem, bound=bound)
        want = cheapest_feasible(one)
        assert found.cost == want and found.proved and found.infeasible == (want is None)
        if want is not None:
            assert found.bound == want == cost_of(one, found.split, found.label)
            assert keeps(one, found.split, found.label)


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_a_search_that_is_stopped_anywhere_has_valid_bounds(seed):
    problem, bounds = targets(seed)
    want = [cheapest_feasible(replace(problem, bound=bound)) for bound in bounds]
    for moments in (1, 3, 8, 20):
        ticks = iter([False] * moments)
        each = [replace(problem, bound=bound) for bound in bounds]
        found = FrontierSearch(each, lambda ticks=ticks: next(ticks, True)).run()
        for one, least in zip(found, want):
            assert one.bound <= (problem.most_cost + 1 if least is None else least)
            assert one.cost is None or (least is not None and one.cost >= least)
            assert not one.infeasible or least is None


def ratios(seed: int):
    """A random problem, and of each of some rising ratios the sums that keep it, as of a precision: a · A ≤ b · B."""
    problem, _ = random_problem(seed)
    rng = np.random.default_rng(seed)
    shape = (1, *problem.cost.shape)
    A, B = rng.integers(0, 3, shape), rng.integers(0, 4, shape)
    rest = {"branch_uses": None, "leaf_uses": None, "uses": None, "bound": None, "accepts": None}
    kept = {key: value for key, value in vars(problem).items() if key not in rest}
    parts = np.sort(rng.integers(1, 10, 5))
    return ConstrainedProblem(**kept, uses=A, bound=np.zeros(1, int)), np.array([p * A - (10 - p) * B for p in parts])


@pytest.mark.parametrize("seed", range(0, 400 if os.environ.get("ODTC_ALL_CELLS") else 200, 8))
def test_sums_that_differ_from_number_to_number(seed):
    problem, uses = ratios(seed)
    each = [replace(problem, uses=own) for own in uses]
    ticks = iter([False] * (seed % 40))
    stopped = FrontierSearch(each, lambda: next(ticks, True)).run()
    for own, found, early in zip(uses, FrontierSearch(each).run(), stopped):
        one = replace(problem, uses=own)
        want = cheapest_feasible(one)
        assert found.cost == want and found.proved and found.infeasible == (want is None)
        assert early.bound <= (problem.most_cost + 1 if want is None else want)
        assert early.cost is None or (want is not None and early.cost >= want)
        if want is not None:
            assert found.bound == want == cost_of(one, found.split, found.label)
            assert keeps(one, found.split, found.label)


@pytest.mark.parametrize("seed", range(0, 400 if os.environ.get("ODTC_ALL_CELLS") else 160, 8))
def test_sums_of_which_one_is_the_same_for_all(seed):
    problem, uses = ratios(seed)
    same = np.random.default_rng(seed).integers(0, 3, problem.uses.shape)
    bound = np.array([0, same.sum() // (2 * same.shape[2])])
    kept = {key: value for key, value in vars(problem).items() if key not in ("kinds", "uses", "bound")}
    kept |= {"branch_uses": None, "leaf_uses": None}
    each = [ConstrainedProblem(**kept, uses=np.concatenate([own, same]), bound=bound) for own in uses]
    search = FrontierSearch(each)
    assert search.shared or search.sums is not None
    for one, found in zip(each, search.run()):
        want = cheapest_feasible(one)
        assert found.cost == want and found.proved and found.infeasible == (want is None)


def test_a_sum_of_two_targets_is_each_target_or_refused():
    problem, uses = ratios(0)
    search = FrontierSearch([replace(problem, uses=own) for own in uses])
    every, sums = search.joint.problem.uses, search.sums
    listed = every[sums.listed].reshape(len(sums.listed), -1)
    for target, row in enumerate(search.rows):
        found = sums.factors[target] @ listed / sums.times[target][:, None]
        np.testing.assert_array_equal(found, every[row].reshape(len(row), -1))
    other = np.random.default_rng(1).integers(0, 5, uses.shape)  # no two of these give the others
    assert FrontierSearch([replace(problem, uses=own) for own in other]).sums is None
