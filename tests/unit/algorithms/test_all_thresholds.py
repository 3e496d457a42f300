"""The search over all thresholds: equal to the search that takes them all at once, valid whenever it is stopped."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from odtc.algorithms.constrained import all_thresholds
from odtc.algorithms.constrained.all_thresholds import CoarseSearch, ShallowSearch, ThresholdSearch, takes
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, cost_of, keeps
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, search
from odtc.algorithms.constrained.sweeps import threshold_kernel
from odtc.algorithms.constrained.sweeps.swept_trees import SweptTrees
from odtc.algorithms.constrained.sweeps.threshold_sides import ThresholdSides
from odtc.algorithms.constrained.trace_tree import by_weight
from odtc.errors import TimeLimitReached
from tests.references import subtrees


def random_table(seed: int):
    """(problem, scale): numbers with many thresholds and one-hot levels, under rates, gaps, budgets and leaf rows."""
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(40, 80)), int(rng.integers(2, 5))
    parts, scale, column = [], [], []
    for c in range(columns):
        values = rng.integers(0, rng.choice([2, 6, 40]), n)
        cuts = np.unique(values)[:-1]
        for cut in cuts:
            parts.append(values > cut)
            scale.append(c)
            column.append(c)
    X = np.array(parts).T.reshape(n, len(parts))
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    uses = np.zeros((3, n, 2), np.int64)
    uses[0, :, 1] = np.where(y == 1, -1, 0)
    uses[1, :, 1] = np.where(group == 0, (group == 1).sum(), -(group == 0).sum())
    uses[2] = -uses[1]
    bound = [-int(0.6 * y.sum()), *[int(0.1 * (group == 0).sum() * (group == 1).sum())] * 2]
    kept = [[0], [0, 1, 2], [1, 2], []][seed % 4]
    most = min(columns, int(rng.integers(1, 4)))
    subsets = np.array(
        [[c in chosen for c in range(columns)] for chosen in __import__("itertools").combinations(range(columns), most)]
    )
    return ConstrainedProblem(
        X=X,
        cost=(np.arange(2) != y[:, None]).astype(np.int64) * rng.integers(1, 3, (n, 1)),
        depth=3,
        uses=uses[kept],
        bound=np.array(bound, np.int64)[kept],
        column=np.array(column),
        subsets=subsets,
        branch_cost=int(seed % 3 == 0),
        measures=np.ones((1, n), np.int64),
        least=np.full((1, 2), float(rng.integers(1, 6))),
    ), np.array(scale)


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_the_optimum_is_that_of_all_tests_at_once(seed, monkeypatch):
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 1)
    monkeypatch.setattr(all_thresholds, "MANY_SWEPT", 1 if seed % 2 else all_thresholds.MANY_SWEPT)
    problem, scale = random_table(seed)
    assert takes(problem, scale)
    found, whole = ThresholdSearch(problem, scale, 3).run(), search(problem)
    assert (found.cost, found.infeasible, found.proved) == (whole.cost, whole.infeasible, True)
    assert found.cost is None or keeps(problem, found.split, found.label)


@pytest.mark.parametrize("moments", [0, 3, 30, 60, 100, 200])
def test_a_search_that_is_stopped_has_a_valid_bound(moments, monkeypatch):
    problem, scale = random_table(1)
    best = search(problem).cost
    ticks = iter([False] * moments)
    stopped = ThresholdSearch(problem, scale, 3)
    stopped.watch(lambda: next(ticks, True), lambda bound, cost: None)
    found = stopped.run()
    assert found.bound <= best and (found.cost is None or found.cost >= best)


@pytest.mark.parametrize("steps", [1, 5, 20, 60])
@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_is_stopped_again_and_again_goes_on_to_the_optimum(seed, steps, monkeypatch):
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 1)
    problem, scale = random_table(seed)
    best = search(problem)
    stopped = ThresholdSearch(problem, scale, 3)
    for run in range(1, 60):
        # The first search starts anew if it was stopped, so it needs more time at each run.
        ticks = iter([False] * int(steps * 1.3**run))
        stopped.watch(lambda ticks=ticks: next(ticks, True), lambda bound, cost: None)
        found = stopped.run()
        assert found.infeasible or found.cost is None or found.bound <= best.cost <= found.cost
        if found.proved:
            break
    assert (found.cost, found.infeasible, found.proved) == (best.cost, best.infeasible, True)


def test_a_root_whose_evaluation_was_stopped_is_not_lost(monkeypatch):
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 1)
    problem, scale = random_table(1)
    assert takes(problem, scale)
    stopped, best = ThresholdSearch(problem, scale, 3), search(problem)
    apart, stops = ThresholdSides.apart, iter([True, False] * 10_000)

    def root_or_stop(self, j, zero, one, among):
        if zero == one and next(stops):
            raise TimeLimitReached("it has passed")
        return apart(self, j, zero, one, among)

    monkeypatch.setattr(ThresholdSides, "apart", root_or_stop)
    for _ in range(10_000):
        found = stopped.run()
        assert found.bound <= best.cost
        if found.proved:
            break
    assert (found.cost, found.proved) == (best.cost, True)


@pytest.mark.parametrize("made", [CoarseSearch, ThresholdSearch])
def test_no_bound_is_told_below_one_that_is_known_from_elsewhere(made, monkeypatch):
    """200,000 rows: after a bound of 47,227 the search of some tests told 0."""
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 1)
    problem, scale = random_table(1)
    told, least = [], search(problem).cost
    one = made(problem, scale, 3)
    one.floor = least - 1
    one.watch(lambda: False, lambda bound, cost: told.append(bound))
    one.run()
    assert told and all(least - 1 <= bound <= least for bound in told)


def drawn_side(seed: int) -> tuple:
    """What `subtrees` takes but where it writes: rows of some scales, with counts, prices and subsets of columns."""
    rng = np.random.default_rng(seed)
    scales, n = int(rng.integers(1, 6)), int(rng.integers(0, 30))
    columns = int(rng.integers(1, scales + 1))
    width = int(rng.integers(1, columns + 1))
    column = np.sort(rng.integers(0, columns, scales))
    subsets = np.array(list(combinations(range(columns), width)))
    holds = (subsets[:, :, None] == np.arange(columns)).any(axis=1)
    of, member = np.nonzero(holds.T)
    return (
        rng.integers(0, rng.integers(2, 12), (scales, 40)).astype(np.int32),
        np.sort(rng.choice(40, n, replace=False)),
        rng.integers(-9, 10, 40).astype(float),
        rng.integers(1, 3, 40),
        np.array([float(rng.choice([0, 0, 1, 2, 5])), float(rng.integers(0, 4))]),
        rng.integers(-4, 5, 2).astype(float),
        column,
        np.searchsorted(of, np.arange(columns + 1)),
        member,
        subsets,
    )


def written(function, words: tuple) -> tuple[list, list]:
    """What a function writes for them: costs, and first tests."""
    out, where = np.empty(len(words[-1])), np.empty((len(words[-1]), 2), np.int64)
    function(*words, out, where)
    return out.tolist(), where.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_numpy_finds_the_subtrees_of_the_loops(seed, monkeypatch):
    """With leaf rows, prices, costs of a leaf and empty sides: the same costs, and the same first tests of equals."""
    monkeypatch.setattr(subtrees, "CELLS", [8, 64, 2**17][seed % 3])
    words = drawn_side(seed)
    assert written(subtrees.subtrees, words) == written(threshold_kernel.subtrees.function, words)


@pytest.mark.slow
def test_the_compiled_sweep_answers_as_the_written_one():
    for seed in range(20):
        words = drawn_side(seed)
        assert written(threshold_kernel.subtrees, words) == written(threshold_kernel.subtrees.function, words)


def swept_cases(seed: int) -> tuple[ConstrainedSearch, SweptTrees, dict[int, np.ndarray]]:
    """A search of a random table, its trees by sweeps, and all of its cases."""
    problem, scale = random_table(seed)
    search = ConstrainedSearch(problem)
    return search, SweptTrees(search, scale[search.order]), search.all.by_root(np.arange(len(search.all.root)))


@pytest.mark.parametrize("seed", range(8))
def test_cases_that_are_not_evaluated_have_a_bound(seed):
    """Some cases have their least weighted cost or, from some cost on, a bound that is no less than that; of all cases
    together the cheapest has its cost."""
    search, swept, cases = swept_cases(seed)
    rng = np.random.default_rng(seed)
    weights, _ = search._weights(rng.uniform(0, 2, search.problem.n_constraints))
    each = search.by_tables.values(weights, cases, np.inf, lambda least: None)
    finite = np.concatenate([value[np.isfinite(value)] for value in each.values()])
    some = {root: subsets[rng.random(len(subsets)) < 0.7] for root, subsets in cases.items()}
    some = {root: subsets for root, subsets in some.items() if len(subsets)}
    for asked in (cases, some):
        exact = {root: each[root][np.isin(cases[root], subsets)] for root, subsets in asked.items()}
        least = min(float(value.min()) for value in exact.values())
        for most in (-np.inf, float(np.median(finite)), np.inf):
            told: list[float] = []
            found = swept.values(weights, asked, most, told.append)
            assert found.keys() == asked.keys() and all(bound <= least for bound in told)
            for root, value in found.items():
                assert (value <= exact[root]).all()
                assert (np.minimum(value, most) == np.minimum(exact[root], most)).all()
            if most == -np.inf:  # each case that seems to be the cheapest is
                assert min(float(value.min()) for value in found.values()) == least
                assert all((exact[root][value == least] == least).all() for root, value in found.items())


@pytest.mark.parametrize("seed", range(12))
def test_a_sweep_finds_trees_as_cheap_as_the_counts_of_pairs(seed):
    rng = np.random.default_rng(seed)
    search, swept, cases = swept_cases(seed)
    for _ in range(3):
        weights, _ = search._weights(rng.uniform(-1, 3, search.problem.n_constraints))
        for root in rng.permutation(list(cases))[:6].tolist():
            subset = int(rng.choice(cases[root]))
            theirs, least = search.by_tables.trace(weights, root, subset)
            ours, value = swept.trace(weights, root, subset)
            one = {root: np.array([subset])}
            assert value == least == swept.values(weights, one, np.inf, lambda least: None)[root][0]
            assert (ours is None) == (theirs is None)
            if ours is not None:  # its leaves are those of the rows, and its labels weigh what it says
                tree = by_weight(search.tables, ours, weights)
                uses = weights.multipliers @ tree.uses
                assert cost_of(search.problem, tree.split, tree.label) == tree.cost
                assert search.scale * tree.cost + uses == value
                assert keeps(replace(search.problem, bound=tree.uses), tree.split, tree.label)
                assert search.problem.subsets[subset][search.problem.column[tree.split[tree.split >= 0]]].all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("exactly", [False, True])
def test_some_tests_give_a_tree_that_keeps_everything_and_all_of_them_the_best(seed, exactly):
    problem, scale = random_table(seed)
    problem = replace(problem, depth=2, allowed=None)
    best = search(problem)
    coarse = CoarseSearch(problem, scale, 3, exactly, near=2)
    coarse.floor = best.bound // 2  # a bound that is known from elsewhere
    found = coarse.run()
    assert (found.cost == best.cost and found.proved and found.infeasible == best.infeasible) or not exactly
    assert found.bound <= best.bound and found.bound >= (best.bound if exactly else coarse.floor)
    assert found.split is None or (keeps(problem, found.split, found.label) and found.cost >= best.cost)
    assert not found.infeasible or best.infeasible


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("moments", [5, 40, 400, None])
def test_a_long_search_keeps_its_start_and_has_a_valid_bound(seed, moments, monkeypatch):
    monkeypatch.setattr(all_thresholds, "LONG_SPLITS", 1)
    problem, scale = random_table(seed)
    problem = replace(problem, depth=2, allowed=None)
    less = search(replace(problem, depth=1, allowed=None))
    best = search(problem)
    long = CoarseSearch(problem, scale, 5, False, near=1, inside=8)
    if less.split is not None:
        fill = np.full(4, -1, np.int32)
        assert long.start(np.append(less.split, fill), np.append(less.label, fill))
    ticks = iter([False] * (10**6 if moments is None else moments))
    long.watch(lambda: next(ticks, True), lambda bound, cost: None)
    found = long.run()
    assert found.bound <= best.bound and (not found.infeasible or best.infeasible)
    assert less.cost is None or best.cost <= found.cost <= less.cost
    assert found.split is None or keeps(problem, found.split, found.label)


def test_another_run_near_the_same_tree_has_nothing_left_to_search(monkeypatch):
    problem, scale = random_table(1)
    of_depth_three = search(problem)
    again = ShallowSearch(problem, scale, 3, 8)
    assert again.start(of_depth_three.split, of_depth_three.label)
    first = again.run()
    with monkeypatch.context() as patch:
        patch.setattr(again, "_search", lambda splits, upper: pytest.fail("searched near the same tree again"))
        assert again.run() == first
    stopped = ShallowSearch(problem, scale, 3, 8)
    stopped.start(of_depth_three.split, of_depth_three.label)
    stopped.watch(lambda: True, lambda bound, cost: None)
    stopped.run()
    searched = []
    monkeypatch.setattr(stopped, "_search", lambda splits, upper: searched.append(splits) or stopped._found())
    stopped.watch(lambda: len(searched) > 1, lambda bound, cost: None)
    stopped.run()
    assert searched
