"""Trees of three and four levels over each subset of columns: the tables equal exhaustive search."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from odtc.algorithms.constrained import constrained_search
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, cost_of, keeps, only
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.few_splits import four_levels, subset_trees
from odtc.algorithms.constrained.lagrangian_pass import Weights
from odtc.algorithms.constrained.trace_tree import by_weight, trace

SEEDS = range(12)


@pytest.fixture
def as_plain_python(monkeypatch):
    """The loops as they stand, so that nothing is compiled, whether they are the quicker ones or not."""
    monkeypatch.setattr(constrained_search, "takes", lambda problem: problem.depth in subset_trees.DEPTHS)
    monkeypatch.setattr(four_levels, "below_roots", four_levels.below_roots.function)


def drawn(seed, most_columns=3, most_rows=30) -> ConstrainedProblem:
    """Thresholds and levels of a few columns; two or three labels, sums, prices, and rows that a leaf must have."""
    rng = np.random.default_rng(seed)
    n, answers, column = int(rng.integers(12, most_rows)), [], []
    for c in range(int(rng.integers(2, most_columns + 1))):
        ordered, levels = rng.integers(0, 2), int(rng.integers(2, 5))
        code = rng.integers(0, levels, n)
        for level in range(levels - ordered):
            here = code <= level if ordered else code == level
            if 0 < here.sum() < n:
                answers.append(here)
                column.append(c)
    column = np.unique(column, return_inverse=True)[1].reshape(-1)
    K, R, m = int(rng.integers(2, 4)), int(rng.integers(0, 3)), int(column.max()) + 1
    wrong = np.arange(K) != rng.integers(0, K, n)[:, None]
    some = list(combinations(range(m), min(int(rng.integers(1, 4)), m)))
    more = {}
    if rng.random() < 0.5:
        more = {"measures": np.ones((1, n), np.int64), "least": np.full((1, K), float(rng.integers(1, 4)))}
    if more and rng.random() < 0.6:  # a leaf without rows would count, too
        more |= {"branch_uses": rng.integers(-1, 2, R), "leaf_uses": rng.integers(-1, 2, (R, K))}
    return ConstrainedProblem(
        np.array(answers).T,
        wrong * rng.integers(1, 3, n)[:, None],
        int(rng.integers(3, 5)),
        uses=rng.integers(-2, 3, (R, n, K)),
        bound=rng.integers(-3, 6, R),
        branch_cost=int(rng.integers(0, 2)),
        column=column,
        subsets=np.array([np.isin(np.arange(m), one) for one in some]),
        **more,
    )


def by_tables(problem, **given) -> ConstrainedSearch:
    search = ConstrainedSearch(problem, **given)
    search.subset_trees, search.trees = None, search.by_tables
    return search


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_case_costs_what_the_tables_of_all_tests_say(seed, as_plain_python):
    search, rng = ConstrainedSearch(drawn(seed)), np.random.default_rng(seed)
    weights = Weights.of(search.counts, search.scale, rng.integers(0, 3 * search.scale, search.problem.n_constraints))
    for root, subsets in search.all.by_root(np.arange(len(search.all.root))).items():
        theirs = search.tables.roots(root, weights, search.by_tables.segments(subsets))
        mine = search.subset_trees.values(weights, {root: subsets}, np.inf, lambda least: None)[root]
        np.testing.assert_array_equal(mine, theirs)
        most = float(np.median(theirs[np.isfinite(theirs)], axis=0)) if np.isfinite(theirs).any() else 0.0
        some = search.subset_trees.values(weights, {root: subsets}, most, lambda least: None)[root]
        np.testing.assert_array_equal(some[theirs <= most], theirs[theirs <= most])
        assert (some <= theirs).all() and (some[theirs > most] >= most).all()
        for subset, value in zip(subsets.tolist(), theirs):
            structure, cost = search.subset_trees.trace(weights, root, subset)
            assert cost == value == trace(search.tables, root, weights, search.by_tables.splits(subset))[1]
            if structure is not None:
                tree = by_weight(search.tables, structure, weights)
                paid = search.scale * tree.cost + weights.multipliers @ tree.uses
                assert paid == pytest.approx(cost, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_search_comes_to_what_the_search_by_tables_does(seed, as_plain_python):
    problem = drawn(100 + seed)
    if seed % 3 == 0:  # what no sum tells
        problem = replace(problem, accepts=lambda test, label: len(set(test[test >= 0].tolist())) <= 3)
    mine, theirs = ConstrainedSearch(problem).run(), by_tables(problem).run()
    assert mine.proved and (mine.cost, mine.bound, mine.infeasible) == (theirs.cost, theirs.bound, theirs.infeasible)
    if mine.split is not None:
        assert cost_of(problem, mine.split, mine.label) == mine.cost and keeps(problem, mine.split, mine.label)


def every_tree(problem, rows, tests, depth):
    """The (cost, uses …) of all subtrees."""
    rows_in = np.flatnonzero(rows)
    found = {
        (int(problem.cost[rows_in, k].sum()), *(problem.uses[:, rows_in, k].sum(axis=1) + problem.leaf_uses[:, k]))
        for k in range(problem.n_labels)
        if (problem.measures[:, rows_in].sum(axis=1) >= problem.least[:, k]).all()
    }
    for test in tests if depth else ():
        sides = [every_tree(problem, rows & (problem.X[:, test] == side), tests, depth - 1) for side in (False, True)]
        own = np.append(problem.branch_cost, problem.branch_uses)
        found |= {tuple(np.add(a, b) + own) for a, b in product(*sides)}
    least = {}
    for cost, *uses in found:  # of trees that use the same the cheapest
        least[tuple(uses)] = min(cost, least.get(tuple(uses), cost))
    return {(cost, *uses) for uses, cost in least.items()}


@pytest.mark.parametrize("seed", range(200, 212))
def test_the_search_comes_to_what_trying_every_tree_does(seed, as_plain_python):
    problem = drawn(seed, most_rows=16)
    some = np.random.default_rng(seed).permutation(len(problem.column))[:4]
    problem, costs = only(problem, np.sort(some)), []
    for subset in problem.subsets:
        tests = np.flatnonzero(subset[problem.column])
        trees = every_tree(problem, np.ones(len(problem.X), bool), tests, problem.depth)
        costs += [cost for cost, *uses in trees if (np.array(uses, int) <= problem.bound).all()]
    found = ConstrainedSearch(problem).run()
    assert found.proved and found.cost == min(costs, default=None) and found.infeasible == (not costs)


@pytest.mark.parametrize("seed", range(300, 308))
def test_a_bound_is_none_above_the_optimum_wherever_the_search_is_cut(seed, as_plain_python):
    problem = drawn(seed)
    best = by_tables(problem).run().cost
    for after in (1, 2, 3, 5, 9, 20, 60):
        asked = iter(range(after))
        found = ConstrainedSearch(problem, lambda asked=asked: next(asked, None) is None).run()
        assert best is None or found.bound <= best
        if found.cost is not None:
            assert best is not None and best <= found.cost and keeps(problem, found.split, found.label)


def test_tests_that_are_not_nested_stand_in_groups_that_are():
    rng = np.random.default_rng(3)
    X = rng.random((60, 7)) < 0.4
    X[:, 3] = X[:, 0] & X[:, 1]
    X[:, 5] = ~X[:, 2]
    groups = subset_trees.Cells.of(X, np.arange(7))
    assert sorted(np.concatenate([group.splits for group in groups])) == list(range(7))
    for group in groups:
        assert group.size <= len(group.splits) + 1
        for cell in range(group.size):
            assert len(np.unique(X[group.cell == cell][:, group.splits], axis=0)) == 1


def test_compiled_loops_say_the_same(monkeypatch):
    monkeypatch.setattr(constrained_search, "takes", lambda problem: problem.depth in subset_trees.DEPTHS)
    for seed in SEEDS:
        search, rng = ConstrainedSearch(drawn(seed)), np.random.default_rng(seed)
        multipliers = rng.integers(0, 3 * search.scale, search.problem.n_constraints)
        weights = Weights.of(search.counts, search.scale, multipliers)
        cases = search.all.by_root(np.arange(len(search.all.root)))
        compiled = search.subset_trees.values(weights, cases, np.inf, lambda least: None)
        with monkeypatch.context() as plain:
            plain.setattr(four_levels, "below_roots", four_levels.below_roots.function)
            for root, values in search.subset_trees.values(weights, cases, np.inf, lambda least: None).items():
                np.testing.assert_array_equal(compiled[root], values)
