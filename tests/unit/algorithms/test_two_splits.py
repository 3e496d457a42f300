"""Trees of at most two different tests: equal to trying every tree, however many tests there are."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.constrained import all_thresholds
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, keeps
from odtc.algorithms.constrained.constrained_search import search
from odtc.algorithms.constrained.engines import engine_of
from odtc.algorithms.constrained.stump_pairs import StumpSearch
from odtc.algorithms.constrained.two_splits import TwoSplitSearch
from tests.unit.algorithms.every_tree import cheapest_feasible


def asks_two(test: np.ndarray, label: np.ndarray) -> bool:
    return len(np.unique(test[test >= 0])) <= 2


def ordered_table(seed: int) -> tuple[ConstrainedProblem, np.ndarray]:
    """(problem, scale): thresholds of a few columns, under a rate, a gap, rows in leaves, budgets or none of them."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(8, 22)), int(rng.choice([2, 2, 3]))
    values = rng.integers(0, 6, (n, 3))
    parts = [(column, values[:, column] > cut) for column in range(3) for cut in np.unique(values[:, column])[:-1]]
    column, X = np.array([c for c, _ in parts]), np.array([answers for _, answers in parts]).T
    y, group = rng.integers(0, K, n), rng.integers(0, 2, n)
    uses = np.zeros((3, n, K), np.int64)
    uses[0, :, 1] = np.where(y == 1, -1, 0)
    uses[1, :, 1] = np.where(group == 0, (group == 1).sum(), -(group == 0).sum())
    uses[2] = -uses[1]
    share = [0.4, 0.8, 1.0][seed % 3]
    bound = [-int(share * (y == 1).sum()), *[int(0.15 * (group == 0).sum() * (group == 1).sum())] * 2]
    kept = [[0], [0, 1, 2], [1, 2], []][seed % 4]
    problem = ConstrainedProblem(
        X=X,
        cost=(np.arange(K) != y[:, None]).astype(np.int64) * rng.integers(1, 3, (n, 1)),
        depth=2,
        uses=uses[kept],
        bound=np.array(bound, np.int64)[kept],
        column=column,
        subsets=np.array([[1, 1, 0], [0, 1, 1]], bool) if seed % 5 == 0 else np.ones((1, 3), bool),
        branch_cost=int(seed % 2),
        measures=np.ones((1, n), np.int64),
        least=np.full((1, K), float(rng.integers(1, 4))),
        below=rng.random((len(column), len(column))) < 0.7 if seed % 7 == 0 else None,
        most_splits=2,
        accepts=asks_two,
    )
    return problem, column


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("few", [1, 15])
def test_the_optimum_is_that_of_trying_every_tree(seed, few):
    problem, scale = ordered_table(seed)
    want, found = cheapest_feasible(problem, lambda asked: len(asked) <= 2), TwoSplitSearch(problem, scale, few).run()
    assert found.cost == want and found.proved and found.infeasible == (want is None)
    assert want is None or keeps(problem, found.split, found.label)


@pytest.mark.parametrize("seed", range(16))
def test_roots_with_two_stumps_are_searched_by_sums_over_ranks(seed, monkeypatch):
    monkeypatch.setattr(all_thresholds, "MANY_SWEPT", 1)  # sweeps are of depth 3 alone
    problem, scale = ordered_table(seed)
    problem = replace(problem, most_splits=None, accepts=None)
    want, found = search(problem), StumpSearch(problem, scale, 2).run()
    assert found.cost == want.cost and found.proved and found.infeasible == want.infeasible


@pytest.mark.parametrize("moments", [0, 2, 9, 40])
def test_a_search_that_is_stopped_has_a_valid_bound(moments):
    problem, scale = ordered_table(1)
    best, ticks = cheapest_feasible(problem, lambda asked: len(asked) <= 2), iter([False] * moments)
    stopped = TwoSplitSearch(problem, scale, 1)
    stopped.watch(lambda: next(ticks, True), lambda bound, cost: None)
    found = stopped.run()
    assert found.bound <= best and (found.cost is None or found.cost >= best)


def test_a_limit_of_tests_chooses_the_search():
    problem, scale = ordered_table(2)
    assert isinstance(engine_of(problem, scale), TwoSplitSearch)
    assert not isinstance(engine_of(replace(problem, most_splits=None), scale), TwoSplitSearch)
