"""Exact objectives: every tree costs a multiple of the unit, and only bounds with room for no tree prove one."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.base.whole_numbers import as_written, whole_numbers
from odtc.problem.exact_objective import exact_objective, least_difference, settled_bound, settled_solver_bound
from odtc.trees.heap_tree import HeapTree
from tests import pipeline
from tests.command_line import MONKS

CASES = [
    ("flowoct", {}, {}, Fraction(1)),
    ("flowoct", {"lambda": 0.05}, {}, Fraction(1, 20)),
    ("flowoct", {"lambda": 0.9}, {}, Fraction(1, 10)),  # 1 - 0.9 is 0.09999999999999998
    ("binoct", {}, {"class_weight": {"0": 0.2, "1": 0.3}}, Fraction(1, 10)),
    ("cg", {"reward": 0.5}, {}, Fraction(1, 2)),
]


def posed(model, params, more):
    dataset = odtc.read(MONKS / "monks-2.csv")
    rows = np.arange(0, dataset.n_rows, 9)
    dataset = dataset.taken(rows)
    return pipeline.pose(dataset, model, 1, params=params, encoding="onehot", **more)


def stumps(problem):
    """Every tree of depth 1: each test with each pair of labels, and a leaf alone."""
    for test in range(-1, problem.encoded.n_candidate_splits):
        for left in range(2):
            for right in range(2) if test >= 0 else [left]:
                label = [-1, -1, left, right] if test >= 0 else [-1, left, -1, -1]
                yield HeapTree(np.array([-1, test, -1, -1]), np.array(label))


@pytest.mark.parametrize(("model", "params", "more", "unit"), CASES)
def test_every_tree_costs_a_multiple_of_the_unit(model, params, more, unit):
    problem = posed(model, params, more)
    exact = exact_objective(problem)
    assert exact.unit == unit
    for heap in stumps(problem):
        cost = problem.module.objective(problem, heap)
        assert exact.cost(heap) % unit == 0 and float(exact.cost(heap)) == cost
        for below in (0.0, 0.3, 0.9):  # a bound under what a tree costs, by less than a unit, proves it
            assert settled_solver_bound(problem, cost - below * float(unit), cost) == cost
            assert settled_bound(problem, cost - below * float(unit), cost) == cost
        # One that leaves room for another tree does not, nor one that is at its objective within a solver's tolerance.
        others = [exact.cost(other) for other in stumps(problem) if exact.cost(other) < exact.cost(heap)]
        if not others:
            continue
        other = float(max(others))
        for settled in (settled_bound, settled_solver_bound):
            assert settled(problem, other - 0.5 * float(unit), cost) <= other + 1e-9
        assert settled_solver_bound(problem, other + 1e-7, cost) == other + 1e-7


def test_long_penalties_leave_room_between_trees_that_have_few_branch_nodes():
    """0.0606060606060606 times a whole number of errors is near a third of them only for three nodes."""
    problem = posed("oct", {"alpha": 0.0606060606060606}, {})
    exact = exact_objective(problem)
    assert exact.unit < 1e-14
    costs = sorted({exact.cost(heap) for heap in stumps(problem)})
    least = min(high - low for low, high in zip(costs, costs[1:]))
    assert 1e-3 < exact.least_difference <= least
    for low, high in zip(costs, costs[1:]):
        assert settled_solver_bound(problem, float(high) - 1e-7, float(high)) == float(high)
        assert settled_solver_bound(problem, float(low) + 1e-7, float(high)) < float(high)


@pytest.mark.parametrize("weights", [lambda n: np.sqrt(np.arange(2.0, 2 + n)), lambda n: np.full(n, 1e-7)])
def test_a_solver_proves_nothing_of_differences_below_its_tolerance(weights):
    problem = posed("flowoct", {}, {})
    dataset = problem.encoded.dataset
    problem = pipeline.pose(replace(dataset, weight=weights(dataset.n_rows)), "flowoct", 1, encoding="onehot")
    assert 4.19999 < settled_solver_bound(problem, 4.2, 5.0) < 4.2
    assert 4.99999 < settled_solver_bound(problem, 5.1, 5.0) < 5.0


def test_an_objective_of_other_terms_is_not_exact(tmp_path):
    dataset = odtc.read(MONKS / "monks-2.csv")
    for params, known in (({}, True), ({"alpha2": 0.1}, False), ({"margin": "soft"}, False)):
        problem = pipeline.pose(dataset, "svm1_odt", 1, params=params)
        assert (exact_objective(problem) is not None) == known and (least_difference(problem) == 1) == known
    assert exact_objective(pipeline.pose(dataset, "cart", 1, encoding="onehot")) is None
    path = tmp_path / "numbers.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{i % 2},{i % 3},{i / 2}" for i in range(12)) + "\n")
    dataset = odtc.read(path, target="y", task="regression")
    assert exact_objective(pipeline.pose(dataset, "dpflow", 1, params={"lambda": 0.25})) is None


@pytest.mark.parametrize("rho", ["0.5", "1e-9", "1e15", repr(0.1 + 0.2)])
@pytest.mark.parametrize("index", ["impact", "treatment"])
def test_a_penalty_for_discrimination_is_counted_in_rationals(rho, index):
    """Against its definition, group by group in fractions; the differences of trees are multiples of its unit."""
    rng = np.random.default_rng(7)
    n = 9
    table = pd.DataFrame({"a": rng.integers(0, 2, n), "g": rng.choice(list("uvw"), n), "y": rng.choice(list("pq"), n)})
    table["w"] = rng.choice([0.1, 0.2, 0.1 + 0.2, 1e9, 1e-9], n)
    given = {"rho": rho, "group": "g", "index": index}
    problem = odtc.build(table, "fair", 1, target="y", weights="w", params=given).problem
    exact, dataset, seen = exact_objective(problem), problem.encoded.dataset, set()
    group, weight = dataset.X[:, 1].tolist(), [as_written(w) for w in dataset.weight]
    others = dataset.X[:, :1].tolist() if index == "treatment" else [[]] * dataset.n_rows
    for heap in stumps(problem):
        label = heap.label[heap.reach(problem.encoded.X)][problem.encoded.row_of]
        lost = sum(w for w, one, other in zip(weight, label, dataset.y) if one != other)
        paid = lost + as_written(float(rho)) * index_of(group, others, label.tolist(), weight)
        assert exact.cost(heap) == paid and problem.module.objective(problem, heap) == float(paid)
        seen.add(paid)
    ordered = sorted(seen)
    assert len(ordered) > 2
    assert exact.least_difference <= min(b - a for a, b in pairwise(ordered))


def index_of(group, others, label, weight):
    """Return Σ_k Σ_g |P(k | g) - P(k)| among rows alike in `others`, averaged over all rows."""
    total = Fraction(0)
    for alike in {tuple(other) for other in others}:
        here = [i for i, other in enumerate(others) if tuple(other) == alike]
        for g, k in product({group[i] for i in here}, set(label)):
            mine = [i for i in here if group[i] == g]
            shares = [
                Fraction(sum(weight[i] for i in rows if label[i] == k)) / sum(weight[i] for i in rows)
                for rows in (mine, here)
            ]
            total += sum(weight[i] for i in here) * abs(shares[0] - shares[1])
    return total / sum(weight)


def weighted(weight, cost=None):
    problem = posed("flowoct", {}, {})
    dataset = problem.encoded.dataset
    weight = np.resize(np.array(weight, float), dataset.n_rows)
    return pipeline.pose(replace(dataset, weight=weight), "flowoct", 1, encoding="onehot", cost=cost)


@pytest.mark.parametrize(
    ("weight", "unit"),
    [
        ([1.0], "1"),
        ([0.1], "1/10"),
        ([0.75, 1.25], "1/4"),
        ([1 / 3], "1/3"),
        ([0.1, 0.2, 0.1 + 0.2], "1/25000000000000000"),  # 0.30000000000000004
        ([1e15], "1000000000000000"),
        ([1e15, 1e-9], "1/1000000000"),
        ([5e-324], "5e-324"),
    ],
)
def test_weights_are_the_decimals_that_they_were_written_as(weight, unit):
    assert exact_objective(weighted(weight)).unit == Fraction(unit)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1 / 3, Fraction(1, 3)),
        (-2e3 / 7, Fraction(-2000, 7)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (-10000000000.123457, Fraction("-10000000000.123457")),  # within its last place are quotients by 7 digits
        (1.2345678901234568e20, Fraction("1.2345678901234568e20")),
        (1.1e-160, Fraction("1.1e-160")),
    ],
)
def test_numbers_of_many_digits_are_quotients_only_if_no_other_number_is_likely(value, written):
    whole, unit = whole_numbers(np.array([value, 0.0, 1.0]))
    assert [int(one) * unit for one in whole] == [written, 0, 1]


def test_costs_are_multiplied_as_decimals():
    problem = weighted([0.1], cost=[[0, 3], [0.7, 0]])
    exact = exact_objective(problem)
    assert exact.unit == Fraction(1, 100)  # of 0.3 and 0.07
    assert all(exact.cost(heap) % exact.unit == 0 for heap in stumps(problem))


@pytest.mark.parametrize("weight", [[1.0, 1e15, 3e16], [1e15, 1e-9, 0.1 + 0.2], [1.0], [1 / 3, 1 / 7, 1e-12]])
def test_costs_of_a_search_are_never_above_the_exact_ones(weight):
    problem = weighted(weight)
    exact, rows = exact_objective(problem), np.arange(problem.encoded.n_rows)
    costs = exact.costs
    assert costs.loss.max(axis=1).sum() < 2**53 and np.array_equal(costs.loss, np.rint(costs.loss))
    paid = {}
    for heap in stumps(problem):
        counted = int(costs.loss[rows, heap.label[heap.reach(problem.encoded.X)]].sum()) * costs.step
        assert counted <= exact.cost(heap)
        paid[exact.cost(heap)] = counted
    if costs.exact:
        assert paid[min(paid)] == min(paid) == min(paid.values())


def test_the_bound_of_a_solver_does_not_count_where_its_proof_does_not(tmp_path):
    """Trying every tree in fractions finds 1178000007.009; HiGHS had a bound of 1653998353."""
    rows = "-0.08,1000000000,0.318\n364,1000000008,0.297\n0.08,1000000000007,-0.536\n0.006,1000000001,-0.191\n"
    rows += "0.0005,10000000000.375,0.632\n-0.0009,1000000000000.875,1000000000000\n"
    (tmp_path / "m.csv").write_text("x0,w,y\n" + rows)
    how = {"constraints": ("leaf_rows >= 1", "leaves <= 5"), "weights": "w", "target": "y"}
    done = odtc.fit(tmp_path / "m.csv", "binoct", 2, task="median", solver="highs", **how)
    assert done.proof.bound <= 1178000007.009


def test_a_median_of_costs_below_the_unit_of_a_certificate_is_proved_without_one():
    table = pd.DataFrame({"x0": [3, 2, 3], "x1": list("bgb"), "w": [0.7, 0.5, 0.6], "y": [0.7, 0.3, 0.1]})
    given = {"target": "y", "weights": "w", "task": "median", "depth": 1, "constraints": ("leaf_rows >= 1",)}
    done = odtc.fit(table, **given)
    assert done.proved and done.proof.objective == 0.36


@pytest.mark.parametrize("alpha", ["1e-13", "1e-11"])
def test_a_small_penalty_of_margins_is_not_taken_for_rounding(alpha, tmp_path):
    """One error is unavoidable, and the leaf makes two; a tree with missing margins is not proved to have the least."""
    (tmp_path / "rows.csv").write_text("x,y\n0,a\n0,a\n0,b\n0.5,a\n1,b\n")
    how = {"margin": "soft", "epsilon": 0.9, "alpha1": alpha}
    done = odtc.fit(tmp_path / "rows.csv", depth=1, model="svm1_odt", solver="highs", params=how)
    assert not done.proved and done.proof.bound == 1 < done.proof.objective
