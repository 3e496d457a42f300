"""Constraints on tables of many thresholds: rows are stored by ranks, never with one column for each split."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.constrained import all_thresholds, engines
from odtc.algorithms.constrained.all_thresholds import CoarseSearch
from odtc.algorithms.constrained.constrained_problem import codes_of, ones_of
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.first_trees import first_tree
from odtc.base import deadline
from odtc.data import encoding
from odtc.data.dataset import Dataset, Feature
from odtc.data.ranked_answers import RankedAnswers
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.floors.priced import BoundByBins, BoundBySearch, of_few_digits, priced_bound
from odtc.formulations.dpflow.floors.priced_trees import priced_tree
from odtc.formulations.dpflow.floors.raised_prices import BoundByRaisedPrices
from odtc.problem.constraints import search_terms
from odtc.problem.constraints.constraint import broken
from odtc.workflow.searching import searched
from tests import pipeline


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_ranks_count_their_ones_as_the_table_does(seed, rows, scales):
    """ones, codes and taken of random nested tests are those of the dense table."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, scales)
    rank = np.stack([rng.integers(0, most + 1, rows) for most in size], axis=1).astype(np.uint32)
    cut = [(scale, place) for scale, most in enumerate(size.tolist()) for place in range(most)]
    order = rng.permutation(len(cut))
    X = RankedAnswers(rank, *(np.array(cut, np.int64)[order].T.copy()))
    dense = X.rank[:, X.scale] > X.place
    some = rng.random(rows) < 0.5
    assert np.array_equal(ones_of(X), dense.sum(axis=0))
    assert np.array_equal(ones_of(X, some), dense[some].sum(axis=0))
    tests = np.flatnonzero(rng.random(len(cut)) < 0.5)
    assert np.array_equal(codes_of(X, tests), dense[:, tests].sum(axis=1))
    taken = X.taken(np.flatnonzero(some))
    assert np.array_equal(taken[np.arange(len(taken))], dense[some])


def table(rows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    data = pd.DataFrame({name: rng.integers(0, 40, rows) for name in "abc"})
    data["group"] = rng.choice(["u", "v"], rows)
    data["y"] = np.where((data.a > 18) ^ (rng.random(rows) < 0.25), "yes", "no")
    return data


def numbers_of(columns: str) -> Dataset:
    """Return some columns of the table as numbers, and y."""
    data = table()
    features = tuple(Feature(name, "numeric") for name in columns)
    y = (data.y == "yes").to_numpy(np.int32)
    return Dataset("rows", data[list(columns)].to_numpy(float), y, features, ("no", "yes"), np.ones(len(data)))


SETS = [
    (1, ["recall[yes] >= 0.9"]),
    (2, ["recall[yes] >= 0.9", "statistical_parity[group=group,positive=yes] <= 0.1"]),
    (2, ["leaf_precision >= 0.7", "leaf_rows >= 5"]),
    (2, ["splits <= 2", "recall[no] >= 0.9"]),
    (3, ["features <= 1", "recall[yes] >= 0.9"]),
]


@pytest.mark.parametrize("depth, constraints", SETS)
def test_the_best_tree_by_ranks_is_that_of_the_dense_table(depth, constraints, monkeypatch):
    """The same optimum, without the table of all answers."""
    asked = {"target": "y", "auxiliary": ["group"], "depth": depth, "constraints": constraints}
    dense = odtc.fit(table(), **asked).facts
    monkeypatch.setattr(encoding, "MIN_RANKED_CELLS", 0)
    few = (
        (engines, "FEW_TESTS"),
        (engines, "MOST_TESTS"),
        (all_thresholds, "MANY_SPLITS"),
        (search_terms, "MOST_SUBSETS"),
    )
    for module, name in few:
        monkeypatch.setattr(module, name, 20)

    def no_table(self):
        raise AssertionError("the table of all answers was made")

    monkeypatch.setattr(RankedAnswers, "dense", property(no_table))
    ranked = odtc.fit(table(), **asked).facts
    assert ranked["termination"] == dense["termination"] == "optimal"
    assert ranked["objective"] == ranked["bound"] == dense["objective"]


@pytest.mark.parametrize("depth", [1, 2, 3])
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_no_tree_is_below_a_bound_with_prices(depth, seed):
    is_below_every_tree(depth, seed)


@pytest.mark.parametrize("seed", range(2))
def test_no_tree_of_depth_four_is_below_a_bound_with_prices(seed):
    is_below_every_tree(4, seed)


def is_below_every_tree(depth: int, seed: int) -> None:
    """Random multipliers of random sums, weights and costs of branch nodes, against the proved optimum; from
    depth 3 on also over bins of each column, and at multipliers of few digits in one run and in many short ones."""
    rng = np.random.default_rng(seed)
    rows, K = int(rng.integers(8, 30 if depth < 4 else 16)), int(rng.integers(2, 4))
    data = Dataset(
        "drawn",
        rng.integers(0, 5 if depth < 4 else 4, (rows, 2)).astype(float),
        np.append(np.arange(K), rng.integers(0, K, rows - K)).astype(np.int32),
        (Feature("a", "numeric"), Feature("b", "numeric")),
        tuple("uvw"[:K]),
        rng.integers(1, 4, rows) * rng.choice([1.0, 0.5]),
    )
    texts = [
        f"recall[u] >= {rng.random():.2f}",
        f"precision[v] >= {rng.random():.2f}",
        f"leaves <= {rng.integers(1, 5)}",
    ]
    texts += [f"branch_nodes <= {rng.integers(0, 4)}", f"class_leaves[u] <= {rng.integers(0, 3)}"]
    chosen = rng.choice(texts, 2, replace=False).tolist()
    params = {"lambda": str(rng.choice([0, 0.25]))}
    problem = pipeline.pose(data, "dpflow", depth, constraints=chosen, fitting=True, params=params)
    posed = constrained.Posed(problem).problem
    multipliers = rng.exponential(1, posed.arrays.n_constraints) * rng.choice([0, 0.1, 1, 10])
    heap, floor = priced_bound(posed, multipliers)
    floors = [floor]
    if posed.arrays.depth > 2:
        with deadline.within(60):
            floors.append(BoundByBins(posed, multipliers).run(floors.append, np.inf))
    at_once, in_parts = (BoundBySearch(posed, of_few_digits(multipliers)) for _ in range(2))
    floors.append(at_once.run(floors.append, np.inf))
    for seconds in (0.0, 0.001, 0.01, 60):
        with deadline.within(seconds):
            in_parts.run(floors.append, np.inf)
    assert in_parts.floor == at_once.floor
    asked = BoundBySearch(posed, of_few_digits(multipliers))
    assert asked.run(floors.append, at_once.floor / 2) >= at_once.floor / 2
    met = priced_tree(posed, multipliers, 1)
    exact = problem.module.search(problem, None, lambda *told: None)
    assert exact.proved
    for tree in (heap, met):
        assert tree is None or not broken(problem, tree)
    assert met is None or problem.module.objective(problem, met) >= exact.bound - 1e-9
    if not exact.infeasible:
        assert max(floors) <= exact.bound + 1e-9
        assert heap is None or problem.module.objective(problem, heap) >= exact.bound - 1e-9
    assert not exact.infeasible or (heap is None and met is None)


def test_a_rare_class_has_a_tree_although_no_leaf_would_predict_it():
    """Recall of a class that is the rarer one everywhere: the tests that matter once it has a price are kept."""
    a = np.repeat([0.0, 1.0, 2.0], 30)
    y = np.concatenate([np.arange(30) < 3, np.arange(30) < 14, np.arange(30) < 5]).astype(np.int32)
    rows = Dataset("rare", a[:, None], y, (Feature("a", "numeric"),), ("no", "yes"), np.ones(90))
    problem = pipeline.pose(rows, "dpflow", 2, constraints=("recall[yes] >= 0.6",), fitting=True)
    posed = constrained.Posed(problem).problem
    for found in (priced_tree(posed, np.zeros(1), 1), priced_bound(posed, np.array([0.5]))[0]):
        assert problem.module.objective(problem, found) == 16 + 8  # yes for a = 1: 16 wrong there, 8 missed


def test_a_bound_with_prices_is_near_the_optimum():
    """Without prices the bound is that of the free optimum; with those of a search over few tests it is higher."""
    rows = numbers_of("abc")
    data = pipeline.pose(rows, "dpflow", 2, constraints=("recall[yes] >= 0.95",), fitting=True)
    posed = constrained.Posed(data).problem
    found = first_tree(posed.arrays, CoarseSearch(posed.arrays, posed.scale).splits, lambda: False, True)
    free, priced = (priced_bound(posed, given * found.multipliers)[1] for given in (0, 1))
    assert free < priced <= data.module.search(data, None, lambda *told: None).bound


def test_bins_at_the_prices_of_few_tests_bound_more_than_no_prices():
    """What a limit leaves over many thresholds was the bound of the free optimum, far below under a recall."""
    rows = numbers_of("abc")
    problem = pipeline.pose(rows, "dpflow", 3, constraints=("recall[yes] >= 0.98",), fitting=True)
    posed = constrained.Posed(problem).problem
    found = first_tree(posed.arrays, CoarseSearch(posed.arrays, posed.scale).splits, lambda: False, True)
    told = []
    with deadline.within(60):
        free, priced = (BoundByBins(posed, by * found.multipliers).run(told.append, np.inf) for by in (0, 1))
    optimum = problem.module.search(problem, None, lambda *told: None).bound
    assert 0 < free < priced <= optimum
    assert max(told) == priced


def test_multipliers_of_few_digits_differ_little_and_give_small_whole_costs():
    given_ = np.array([0.0, 1.4285714, 0.00317, 53.7])
    few = of_few_digits(given_)
    assert (np.abs(few - given_) <= given_ / 16).all()
    np.testing.assert_array_equal(few[:2], [0.0, 1.375])  # 11/8 is nearer than 12/8


def test_a_limit_at_depth_four_leaves_a_bound_at_prices():
    """The search without the constraints showed no more than the free optimum there."""
    rows = numbers_of("ab")
    problem = pipeline.pose(rows, "dpflow", 4, constraints=("recall[yes] >= 0.98",), fitting=True)
    free = pipeline.pose(rows, "dpflow", 4, constraints=(), fitting=True)
    posed = problem.derived(constrained.Posed).problem
    found = first_tree(posed.arrays, CoarseSearch(posed.arrays, posed.scale).splits, lambda: False, True)
    told = []
    with deadline.within(60):
        heap, floor = constrained.floor_of(problem, found.multipliers, told.append)
    with_none = free.module.search(free, None, lambda *told: None)
    optimum = problem.module.objective(free, with_none.heap)
    assert with_none.bound == optimum < floor <= problem.module.objective(problem, heap)
    assert max(told) == floor and not broken(problem, heap)
    assert problem.derived(constrained.Posed).at_prices.floor == floor


def test_a_limit_at_depth_four_leaves_a_bound_of_each_subset_of_columns(monkeypatch):
    """Trees over one column cost more than those over all, which a bound over all columns at once does not show."""
    monkeypatch.setattr(engines, "FEW_TESTS", 20)  # so many thresholds that only some are searched for trees
    rows = numbers_of("abc")
    free, limited = (
        pipeline.pose(rows, "dpflow", 4, constraints=(*texts, "recall[yes] >= 0.9"), fitting=True)
        for texts in ((), ("features <= 1",))
    )
    best = free.module.search(free, None, lambda *told: None).heap
    told = []
    with deadline.within(60):
        heap, floor = constrained.floor_of(limited, np.array([0.5]), told.append)
    assert free.module.objective(free, best) < floor <= limited.module.objective(limited, heap)
    assert told == sorted(told) and told[-1] == floor and not broken(limited, heap)
    each = []
    for column in "abc":
        alone = pipeline.pose(table()[[column, "y"]], "dpflow", 4, constraints=("recall[yes] >= 0.9",), fitting=True)
        exact = alone.module.search(alone, None, lambda *told: None)
        assert exact.proved
        each.append(exact.bound)
    assert floor <= min(each)


@pytest.mark.parametrize("seed", range(9))
def test_raised_prices_bound_what_no_tree_is_below_and_end_at_the_best_multipliers(seed):
    """Over few tests: no bound above the optimum, none lower than one at other multipliers, trees that keep it all."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(2), rng.integers(0, 2, 48)).astype(np.int32)
    columns = tuple(Feature(name, "numeric") for name in "abc")
    data = Dataset("few", rng.integers(0, 3, (50, 3)).astype(float), y, columns, ("no", "yes"), np.ones(50))
    texts = [f"recall[yes] >= {rng.uniform(0.6, 0.95):.2f}", f"precision[yes] >= {rng.uniform(0.5, 0.7):.2f}"]
    chosen = texts[: 1 + seed % 2] + ["leaves <= 6"] * (seed in (4, 5)) + ["features <= 2"] * (seed > 5)
    problem = pipeline.pose(data, "dpflow", 4, constraints=chosen, fitting=True)
    posed, exact = constrained.Posed(problem).problem, problem.module.search(problem, None, lambda *told: None)
    assert exact.proved
    told = []
    rising = BoundByRaisedPrices(
        posed, rng.exponential(1, posed.arrays.n_constraints), exact.heap if seed % 3 else None
    )
    with deadline.within(0.01):
        begun = rising.run(told.append, np.inf)
    with deadline.within(60):
        floor = rising.run(told.append, np.inf)
    assert told == sorted(told) and begun <= floor == rising.floor
    if exact.infeasible:
        assert rising.tree is None
        return
    assert floor <= exact.bound
    for _ in range(3):  # the best multipliers are rounded to a few digits
        other = BoundBySearch(posed, rng.exponential(0.5, posed.arrays.n_constraints))
        assert other.run(told.append, np.inf) <= floor + 2
    if rising.tree is not None:
        assert not broken(problem, rising.tree)
        assert problem.module.objective(problem, rising.tree) >= exact.bound


@pytest.mark.parametrize("seed", range(12))
def test_searches_of_each_subset_of_columns_end_in_the_proof_of_depth_three(seed, monkeypatch):
    """Over all thresholds: as good a tree as the exact search has, or the proof that there is none."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(2), rng.integers(0, 2, 58)).astype(np.int32)
    columns = tuple(Feature(name, "numeric") for name in "abcd")
    X = rng.integers(0, (2, 4, 7, 9), (60, 4)).astype(float)
    data = Dataset("few", X, y, columns, ("no", "yes"), rng.integers(1, 3, 60).astype(float))
    texts = [f"recall[yes] >= {rng.uniform(0.5, 1.0):.2f}", f"precision[yes] >= {rng.uniform(0.5, 0.8):.2f}"]
    asked = [*texts[: 1 + seed % 2], f"features <= {2 + seed % 2}", f"leaf_rows >= {rng.integers(1, 9)}"]
    asked += ["branch_nodes <= 5"] * (seed % 4 == 1) + ["recall[no] >= 0.99", "recall[yes] >= 0.99"] * (seed == 11)
    posing = {"constraints": tuple(asked), "fitting": True}
    given = pipeline.pose(data, "dpflow", 3, **posing)
    arrays = given.derived(constrained.Posed).problem.arrays
    exact = ConstrainedSearch(arrays).run()
    assert exact.proved and exact.infeasible == (seed == 11)
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 5)
    monkeypatch.setattr(
        all_thresholds, "LONG_SPLITS", 17
    )  # so many thresholds that a sweep over all columns takes long
    monkeypatch.setattr(engines, "FEW_TESTS", 10)
    monkeypatch.setattr(constrained, "needs_floor", lambda problem: True)
    problem = pipeline.pose(data, "dpflow", 3, **posing)
    assert constrained.by_subsets(problem)
    heap, floor = constrained.floor_of(problem, None)
    unit = problem.derived(constrained.Posed).problem.unit
    if exact.infeasible:
        assert heap is None and floor > unit * arrays.most_cost
    else:
        assert floor == unit * exact.cost == constrained.paid_by(problem, heap) and not broken(problem, heap)
    found = problem.module.search(problem, None, lambda *told: None)
    assert found.proved and found.infeasible == exact.infeasible
    assert exact.infeasible or found.bound == constrained.paid_by(problem, found.heap) == unit * exact.cost


def test_a_proof_by_searches_of_each_subset_of_columns_has_a_certificate(monkeypatch):
    monkeypatch.setattr(all_thresholds, "LONG_SPLITS", 300)
    monkeypatch.setattr(constrained, "needs_floor", lambda problem: True)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = ((X[:, 0] > 0.2) ^ (X[:, 1] > 0.6) ^ (rng.random(120) < 0.2)).astype(np.int32)
    columns = tuple(Feature(name, "numeric") for name in "abc")
    data = Dataset("many", X, y, columns, ("no", "yes"), np.ones(120))
    asked = ("recall[yes] >= 0.9", "features <= 2", "leaf_rows >= 5")
    problem = pipeline.pose(data, "dpflow", 3, constraints=asked, fitting=True)
    assert constrained.by_subsets(problem)
    done = searched(problem)
    assert problem.derived(constrained.Posed).search.settled_elsewhere is not None
    assert done.solution.termination == "optimal" and done.certified is True


def test_a_limit_leaves_a_bound_and_words_of_what_would_end_it(monkeypatch):
    """Over tests in bins as well: a bound no lower than that of the search without the constraints, and fewer bins than
    there are."""
    monkeypatch.setattr(constrained, "MOST_TIMED", 0.0)
    monkeypatch.setattr(ConstrainedSearch, "run", lambda self, exactly=True: self.found)
    asked = {"target": "y", "auxiliary": ["group"], "depth": 3, "encoding": "auto:bins=8"}
    free = odtc.fit(table(), **asked).facts["objective"]
    found = odtc.fit(table(), **asked, constraints=["recall[yes] >= 0.99"], time_limit=20)
    assert free <= found.facts["bound"] and found.facts["termination"] != "optimal"
    assert "auto:bins=4" in found.decoded.solution.message


def test_a_certificate_is_of_no_more_answers_than_it_can_hold(monkeypatch):
    from odtc.verification.constrained import constrained_certificate

    monkeypatch.setattr(constrained_certificate, "MOST_CELLS", 500)
    found = odtc.fit(table(), target="y", auxiliary=["group"], depth=1, constraints=["recall[yes] >= 0.5"])
    assert (
        found.facts["termination"] == "optimal" and "splits of 90 rows are too many" in found.decoded.solution.message
    )
