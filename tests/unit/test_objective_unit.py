"""The unit of objectives: every tree costs a multiple of it, and only bounds with room for no tree are raised."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import odtc
from odtc.trees.heap_tree import HeapTree
from odtc.verification.objective_unit import objective_unit, rounded_up
from odtc.workflow import pipeline
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
    dataset = replace(dataset, X=dataset.X[rows], y=dataset.y[rows], weight=dataset.weight[rows])
    return pipeline.pose(dataset, model, 1, params=params, encoding="onehot", **more)


def stumps(problem):
    """Every tree of depth 1: each test with each pair of labels, and a leaf alone."""
    for test in range(-1, problem.encoded.n_tests):
        for left in range(2):
            for right in range(2) if test >= 0 else [left]:
                label = [-1, -1, left, right] if test >= 0 else [-1, left, -1, -1]
                yield HeapTree(np.array([-1, test, -1, -1]), np.array(label))


@pytest.mark.parametrize(("model", "params", "more", "unit"), CASES)
def test_every_tree_costs_a_multiple_of_the_unit(model, params, more, unit):
    problem = posed(model, params, more)
    found, off = objective_unit(problem)
    assert found == unit and off < 1e-10
    for heap in stumps(problem):
        cost = problem.module.objective(problem, heap)
        assert cost / float(unit) == pytest.approx(round(cost / float(unit)), abs=1e-9)
        for below in (0.0, 0.3, 0.9):  # a bound under what a tree costs, by less than a unit, proves it
            assert rounded_up(problem, cost - below * float(unit), cost) == pytest.approx(cost, abs=1e-9)
        # One that leaves room for a tree between does not, nor one that is a whole unit below within a solver's word.
        assert rounded_up(problem, cost - 1.5 * float(unit), cost) == pytest.approx(cost - float(unit), abs=1e-9)
        assert rounded_up(problem, cost - float(unit) + 1e-7, cost) == cost - float(unit) + 1e-7


@pytest.mark.parametrize("weights", [lambda n: np.sqrt(np.arange(2.0, 2 + n)), lambda n: np.full(n, 1e-7)])
def test_without_a_unit_a_bound_stays(weights):
    problem = posed("flowoct", {}, {})
    dataset = problem.encoded.dataset
    problem = pipeline.pose(replace(dataset, weight=weights(dataset.n_rows)), "flowoct", 1, encoding="onehot")
    assert rounded_up(problem, 4.2, 5.0) == 4.2
    assert rounded_up(problem, 5.1, 5.0) == 5.0


def test_an_objective_of_other_terms_has_none():
    dataset = odtc.read(MONKS / "monks-2.csv")
    assert objective_unit(pipeline.pose(dataset, "svm1_odt", 1)) is None
