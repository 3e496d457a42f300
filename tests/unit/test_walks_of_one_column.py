"""Walks over the nested tests of one column, of the checker under constraints, against trying every tree."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from odtc.verification.constrained import multiplier_bound
from odtc.verification.constrained.multiplier_bound import Problem, Weighted, _sets_are_small, surviving
from odtc.verification.constrained.one_column import _cheapest, cells_of, holds_one, nested_sets
from tests.unit.test_constrained_cases import SCALE, Judge, of_parity


def drawn(seed: int) -> Problem:
    """Nested tests of one column, some the other way round, with sums and conditions that leaves may break."""
    rng = np.random.default_rng(seed)
    n, tests, K, sums, held = int(rng.integers(4, 7)), int(rng.integers(2, 5)), 2 + seed % 2, seed % 3, seed // 2 % 3
    X = rng.random(n)[:, None] > np.sort(rng.random(tests))
    X[:, rng.random(tests) < 0.3] ^= True
    kinds = int(rng.integers(2, 5))
    least = np.where(rng.random((held, K)) < 0.3, -np.inf, rng.integers(0, 4, (held, K)).astype(float))
    return of_parity(
        X,
        rng.integers(0, 2, n),
        4,
        rng,
        members=np.eye(kinds)[rng.integers(0, kinds, n)] * rng.integers(1, 4, (n, 1)),
        cost=rng.integers(0, 6, (kinds, K)),
        uses=rng.integers(-3, 4, (sums, kinds, K)),
        bound=rng.integers(-5, 7, sums).tolist(),
        branch_uses=rng.integers(0, 2, sums).tolist(),
        leaf_uses=rng.integers(0, 2, (sums, K)),
        measures=rng.integers(0, 3, (held, kinds)),
        least=least,
        price=int(rng.integers(0, 3)),
        column=np.zeros(tests, int),
    )


def best_of(problem: Problem) -> float:
    """The least cost of a tree or of a leaf alone that satisfies everything; infinite for none."""
    judge = Judge(problem)
    trees = judge.states(frozenset(range(len(problem.X))), (), frozenset([0])).items()
    kept = [cost for (uses, *_), cost in trees if all(use <= bound for use, bound in zip(uses, problem.bound))]
    return min(kept, default=np.inf)


@pytest.mark.parametrize("seed", range(60))
def test_a_walk_is_left_just_if_a_tree_satisfies_everything_and_costs_less(seed):
    problem, rng = drawn(seed), np.random.default_rng(seed)
    best, (cells,) = best_of(problem), nested_sets(problem).values()
    zeros, some = [0] * len(problem.bound), rng.integers(0, 2 * SCALE, len(problem.bound)).tolist()
    for multipliers in (zeros, some):
        weighted = Weighted(problem, SCALE, multipliers)
        for claim in (1, 3, 30, 10**4) if best == np.inf else {1, int(best), int(best) + 1, int(best) + 9}:
            assert holds_one(weighted, cells, claim) == (best < claim), claim


@pytest.mark.parametrize("sums", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_of_walks_that_use_the_same_the_cheapest_is_kept(seed, sums):
    """Of one sum none that uses more than another and costs as much; of more sums each use has its own."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 30))
    group, vector = rng.integers(0, 2, n), rng.integers(0, 4, (n, 1 + sums)).astype(float)
    kept = _cheapest(group, vector).tolist()
    assert len(set(kept)) == len(kept)

    def serves(one: int, other: int) -> bool:
        more = vector[one, 1:] <= vector[other, 1:] if sums == 1 else vector[one, 1:] == vector[other, 1:]
        return bool(group[one] == group[other] and vector[one, 0] <= vector[other, 0] and more.all())

    assert all(any(serves(one, other) for one in kept) for other in range(n))
    assert not any(serves(one, other) for one in kept for other in kept if one != other)


@pytest.mark.parametrize("seed", range(60))
def test_tests_are_nested_if_rows_have_an_order_of_which_each_cuts_off_an_end(seed):
    rng = np.random.default_rng(seed)
    n, tests = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    X = rng.random(n)[:, None] > rng.random(tests) if seed % 2 else rng.random((n, tests)) < 0.5
    X[:, rng.random(tests) < 0.3] ^= True
    orders = (X[list(order)] for order in permutations(range(n)))
    nested = any((np.abs(np.diff(rows.astype(int), axis=0)).sum(axis=0) <= 1).all() for rows in orders)
    cells = cells_of(X)
    assert (cells is not None) == nested
    if cells is None:
        return
    assert sorted(set(cells.tolist())) == list(range(len(np.unique(X, axis=0))))
    rows = X[np.argsort(cells, kind="stable")]
    assert (np.abs(np.diff(rows.astype(int), axis=0)).sum(axis=0) <= 1).all()
    assert all((X[a] == X[b]).all() == (cells[a] == cells[b]) for a in range(n) for b in range(n))


def test_sets_of_columns_are_counted_by_themselves_if_there_are_many():
    """Of four levels alone."""
    many = {"column": np.repeat(np.arange(10), 2), "most_columns": 1, "X": np.zeros((3, 20), bool)}
    for depth in (3, 4, 5):
        places = {"levels": np.ones((depth, 20), bool), "below": np.ones((20, 20), bool)}
        assert _sets_are_small(plain(**many, **places)) == (depth == 4)


@pytest.mark.parametrize("depth", [4, 5])
def test_of_many_tests_sets_are_bounded_one_by_one_in_trees_of_four_levels_alone(depth, monkeypatch):
    """A tree of five levels may weigh less than the best one of four; its walks are looked at, or it is left."""
    monkeypatch.setattr(multiplier_bound, "MOST_SUMS", 0.0)
    odd = np.arange(17) % 2
    problem = of_parity(
        np.arange(17)[:, None] > np.arange(16),
        odd,
        depth,
        np.random.default_rng(0),
        members=np.eye(2)[odd],
        column=np.zeros(16, int),
    )
    assert problem.splits_apart(()) == [16] and list(nested_sets(problem)) == [0]
    alive = surviving(problem, 1, [[]], 1)  # a tree that costs nothing
    assert alive.any() == (depth == 5)  # of 17 leaves; with four levels there are 16


def test_sets_of_columns_are_told_just_if_a_tree_could_test_more():
    """A tree of depth D has 2^D - 1 nodes."""
    for depth, most, sets in ((1, 1, 1), (2, 2, 3), (2, 3, 1), (2, 4, 1), (1, 2, 1), (2, 1, 3), (3, 2, 3)):
        problem = plain(column=np.array([0, 1, 2, 2]), most_columns=most, levels=np.ones((depth, 4), bool))
        assert len(problem.column_sets) == sets, (depth, most)


LIMITED = {
    "a number of splits": {"most_splits": 3},
    "columns together": {"together": (frozenset([0, 1]),)},
    "rows that follow": {"follows": np.array([[0, 1, 0]])},
    "rows that count less than nothing": {"measures": np.array([[1, -1, 1]]), "least": np.zeros((1, 2))},
    "nodes that give back": {"branch_uses": [-1]},
    "leaves that give back": {"leaf_uses": np.array([[0, -1]])},
    "nodes that pay": {"price": -1},
    "three levels": {"levels": np.ones((3, 4), bool)},
    "nine levels": {"levels": np.ones((9, 4), bool)},
    "no column": {"most_columns": 0},
    "a split that may not be at a level": {"levels": np.arange(16).reshape(4, 4) != 9},
    "a split that may not be below another": {"below": np.arange(16).reshape(4, 4) != 9},
    "a split that is not nested": {"X": np.arange(3)[:, None] == np.array([0, 1, 0, 2])},
    "two columns": {"column": np.array([0, 0, 1, 1])},
}


def plain(**words) -> Problem:
    asked = {"uses": np.zeros((1, 3, 2), int), "bound": [9], "branch_uses": [0], "leaf_uses": np.zeros((1, 2), int)}
    asked |= {"members": np.eye(3), "cost": np.eye(3, 2, dtype=int), "column": np.zeros(4, int)}
    X = np.arange(3)[:, None] < np.array([1, 2, 1, 3])
    return replace(of_parity(X, np.zeros(3, int), 4, np.random.default_rng(0), **asked), **words)


def test_trees_are_walks_where_nothing_is_said_of_nodes_or_of_single_tests():
    deep = plain(levels=np.ones((8, 4), bool))
    kept = plain(), deep, plain(most_columns=1), plain(branch_uses=[1]), plain(leaf_uses=np.ones((1, 2), int))
    kept += (plain(measures=np.ones((1, 3), int), least=np.zeros((1, 2))), plain(price=2))
    for problem in kept:
        found = nested_sets(problem)
        assert list(found) == [0] and sorted(found[0].tolist()) == [0, 1, 2]
    for what, words in LIMITED.items():
        assert nested_sets(plain(**words)) == {}, what
    crossed = np.ones((4, 4), bool)
    crossed[0, 2:] = False  # of two columns that no tree tests both
    for below in (np.ones((4, 4), bool), crossed):
        walked = plain(column=np.array([0, 0, 1, 1]), most_columns=1, below=below)
        assert walked.splits_apart(nested_sets(walked)) == [] and list(nested_sets(walked)) == [0, 1]
        assert walked.splits_apart([0]) == walked.splits_apart([1]) == ([2] if below.all() else None)
        assert walked.splits_apart(()) == ([2, 2] if below.all() else None)
    barred = np.arange(16).reshape(4, 4) != 9
    assert plain(column=np.arange(4), most_columns=1, levels=barred).splits_apart(()) is None
    assert plain(column=np.arange(4), most_columns=1, levels=np.ones((3, 4), bool)).splits_apart(()) is None
    assert plain(column=np.arange(4), most_columns=0).splits_apart(()) is None
    assert plain(column=np.array([0, 0, 0, 1]), most_columns=1).splits_apart(()) == [3, 1]
    assert plain(column=np.array([0, 0, 1, 2]), most_columns=2).splits_apart(()) == [3, 3, 2]
    apart = plain(column=np.array([0, 0, 1, 1]), most_columns=1)
    assert [cells.tolist() for cells in nested_sets(apart).values()] == [[0, 1, 2], [0, 1, 1]]
