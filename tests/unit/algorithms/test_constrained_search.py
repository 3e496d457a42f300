"""The constrained search: equal to trying every tree, valid whenever it is stopped."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.constrained import constrained_problem
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge, cost_of, keeps, largest_sets
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, Stopped, search
from odtc.algorithms.constrained.lagrangian_pass import Pass, Weights
from odtc.algorithms.constrained.trace_tree import trace
from tests.unit.algorithms.every_tree import cheapest_feasible, random_problem

SEEDS = range(0, 300, 10)  # a tenth of the proof; ODTC_ALL_CELLS=1 tries them all
ALL = range(300)


def seeds():
    import os

    return ALL if os.environ.get("ODTC_ALL_CELLS") else SEEDS


@pytest.mark.parametrize("seed", seeds())
def test_the_optimum_is_that_of_trying_every_tree(seed):
    """Every sort of constraint, alone and together, weights, costs, many classes; depth 1 to 3."""
    problem, asked = random_problem(seed)
    want, found = cheapest_feasible(problem, asked), search(problem)
    assert found.cost == want and found.proved and found.infeasible == (want is None)
    if want is not None:
        assert found.bound == want == cost_of(problem, found.split, found.label)
        assert keeps(problem, found.split, found.label)


@pytest.mark.parametrize("seed", range(0, 40))
def test_a_search_that_is_stopped_anywhere_has_a_valid_bound(seed):
    problem, asked = random_problem(seed)
    want = cheapest_feasible(problem, asked)
    for moments in (1, 2, 5, 9, 17):
        ticks = iter([False] * moments)
        found = search(problem, lambda ticks=ticks: next(ticks, True))
        assert found.bound <= (problem.most_cost + 1 if want is None else want)
        assert found.cost is None or (want is not None and found.cost >= want)
        assert not found.infeasible or want is None


def test_a_deep_tree_looks_at_the_clock_below_its_root(monkeypatch):
    """The trees with one root of depth 5 over 63 tests took half a minute, during which a limit was not seen."""
    rng = np.random.default_rng(5)
    cost = (np.arange(2) != rng.integers(0, 2, 40)[:, None]).astype(np.int64)
    search = ConstrainedSearch(ConstrainedProblem(rng.random((40, 6)) < 0.5, cost, 5))
    made, tables = [], Pass.tables

    def counted(self, *given):
        made.append(given)
        return tables(self, *given)

    monkeypatch.setattr(Pass, "tables", counted)
    search.begun = True  # no tree of less depth comes first
    search.watch(lambda: len(made) > 0, lambda bound, cost: None)
    assert search.run().bound == 0 and len(made) == 1
    weights = Weights.of(search.counts, search.scale, np.zeros(0, np.int64))
    with pytest.raises(Stopped):
        trace(search.tables, 0, weights, np.arange(6))
    assert len(made) == 1


def test_labellings_that_are_refused_one_by_one_look_at_the_clock():
    """A tree of 32 leaves has thousands that a check of whole trees refuses: a limit of 8 s took 44."""
    rng = np.random.default_rng(5)
    cost, asked = rng.integers(0, 5, (60, 2)), []
    uses = rng.integers(0, 5, (1, 60, 2))
    problem = ConstrainedProblem(rng.random((60, 4)) < 0.5, cost, 2, uses=uses, bound=np.array([200]))
    problem = replace(problem, accepts=lambda test, label: bool(asked.append(1)))
    search = ConstrainedSearch(problem)
    search.watch(lambda: len(asked) > 2, lambda bound, cost: None)
    assert search.run().cost is None and len(asked) == 3


def test_progress_only_gets_better():
    problem, _ = random_problem(11)
    told = []
    search(problem, progress=lambda bound, cost: told.append((bound, cost)))
    assert [bound for bound, _ in told] == sorted(bound for bound, _ in told)
    costs = [cost for _, cost in told if cost is not None]
    assert costs == sorted(costs, reverse=True)


def test_a_deeper_tree_is_found_too():
    """Depth 4 against trying every tree."""
    rng = np.random.default_rng(4)
    X = rng.random((14, 3)) < 0.5
    X[0], X[1] = False, True
    y = rng.integers(0, 2, 14)
    cost = (np.arange(2) != y[:, None]).astype(np.int64)
    uses = np.zeros((1, 14, 2), np.int64)
    uses[0, :, 1] = np.where(y == 1, -1, 0)
    problem = ConstrainedProblem(X=X, cost=cost, depth=4, uses=uses, bound=np.array([-int(0.9 * y.sum())]))
    assert search(problem).cost == cheapest_feasible(problem)


def test_numbers_that_no_fixed_point_holds_are_refused():
    problem, _ = random_problem(0)
    huge = ConstrainedProblem(X=problem.X, cost=problem.cost * 2**50, depth=2)
    with pytest.raises(TooLarge):
        ConstrainedSearch(huge)


def test_a_problem_that_is_made_of_another_has_the_same_conditions():
    """A test that may be asked lower but not higher asks for leaves that hold rows, once."""
    problem, _ = random_problem(1)
    allowed = np.array([[True, True], [False, True], [True, True]])
    first = ConstrainedProblem(X=problem.X[:, :2], cost=problem.cost, depth=3, allowed=allowed)
    again = replace(replace(first, cost=first.cost * 2), branch_cost=1)
    assert len(first.measures) == 1 and len(again.measures) == 1 and len(again.least) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_sets_are_no_parts_of_others(seed, monkeypatch):
    monkeypatch.setattr(constrained_problem, "COMPARED", 40)
    random = np.random.default_rng(seed)
    sets = random.random((random.integers(1, 40), random.integers(1, 7))) < random.random()
    given = {frozenset(np.flatnonzero(one).tolist()) for one in sets}
    found = [frozenset(np.flatnonzero(one).tolist()) for one in largest_sets(sets)]
    assert len(found) == len(set(found))
    assert set(found) == {one for one in given if not any(one < other for other in given)}
