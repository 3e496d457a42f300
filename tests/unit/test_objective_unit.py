"""The unit of objectives: every tree costs a multiple of it, and only bounds with room for no tree are raised."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import odtc
from odtc.model.feasibility import TOLERANCE
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
    dataset = dataset.taken(rows)
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


def close(error: float):
    """Errors of numbers are far below what pytest takes for equal if it is not told."""
    return pytest.approx(error, rel=1e-6, abs=0.0)


def flow(problem, **changed):
    """The problem with weights or costs of its rows replaced."""
    return replace(problem, encoded=replace(problem.encoded, **changed))


def test_a_unit_is_told_with_how_far_the_numbers_are_off():
    problem = posed("flowoct", {}, {})
    n = problem.encoded.n_rows
    tenth = objective_unit(flow(problem, weight=np.full(n, 0.1)))
    assert tenth[0] == Fraction(1, 10) and tenth[1] == close(n * abs(float(Fraction(0.1) - Fraction(1, 10))))
    exact, more = objective_unit(flow(problem, weight=np.full(n, 0.75))), np.full(n, 0.75)
    more[0] = 1.25
    assert exact == (Fraction(3, 4), 0.0) and objective_unit(flow(problem, weight=more)) == (Fraction(1, 4), 0.0)
    assert objective_unit(flow(problem, weight=np.zeros(n))) is None
    # An error is of one class at a time: of a row's losses the one that is furthest off counts, and is not added up.
    cost = np.array([[0.0, 0.1], [0.1, 0.0]])
    by_class = objective_unit(flow(problem, weight=np.ones(n), cost=cost))
    assert by_class[0] == Fraction(1, 10) and by_class[1] == close(tenth[1])


def test_the_price_of_a_node_that_is_no_decimal_counts_once_a_node():
    price = 0.3  # is 0.299999999999999988898 as a double
    problem = posed("flowoct", {"lambda": price}, {})
    of_loss, of_node = (Fraction(one) for one in problem.module.prices(problem))
    unit, off = objective_unit(problem)
    rows = problem.encoded.n_rows
    assert unit == Fraction(1, 10)
    weight = Fraction(float(problem.encoded.weight[0]))
    assert off == close(float(rows * weight * abs(of_loss - Fraction(7, 10)) + abs(of_node - Fraction(3, 10))))


def test_weights_without_end_or_without_pattern_have_no_unit(monkeypatch):
    problem = posed("flowoct", {}, {})
    weight = np.ones(problem.encoded.n_rows)
    weight[0] = np.inf
    with np.errstate(invalid="ignore"):
        assert objective_unit(flow(problem, weight=weight)) is None
    drawn = np.arange(1.0, 1 + len(weight))
    monkeypatch.setattr("odtc.verification.objective_unit.MOST_VALUES", len(weight) + 1)  # and 0, of a right answer
    assert objective_unit(flow(problem, weight=drawn)) == (1, 0.0)
    monkeypatch.setattr("odtc.verification.objective_unit.MOST_VALUES", len(weight))
    assert objective_unit(flow(problem, weight=drawn)) is None


def test_a_unit_that_is_no_wider_than_the_tolerance_raises_nothing(monkeypatch):
    """Slack is TOLERANCE of the bound, of 1 at least; a unit of four times that is the least that is used."""
    problem = posed("flowoct", {}, {})

    def raised(unit, off, bound, objective):
        monkeypatch.setattr("odtc.verification.objective_unit.objective_unit", lambda _: (Fraction(unit), off))
        return rounded_up(problem, bound, objective)

    assert TOLERANCE == 1e-6
    assert raised(1, 0.0, 1000.5, 2000.0) == 1001
    assert raised(1, 0.0, 300_000.5, 400_000.0) == 300_000.5  # the tolerance is 0.3
    assert raised(1, 0.0, 200_000.5, 400_000.0) == 200_001
    assert raised("0.000003", 0.0, 0.2500015, 1.0) == 0.2500015
    assert raised("0.000005", 0.0, 0.2500025, 1.0) == pytest.approx(0.250005, abs=1e-12)
    assert raised(1, 2e-10, 0.5, 2.0) == 0.5 and raised(1, 5e-11, 0.5, 2.0) == pytest.approx(1 - 5e-11, abs=1e-15)
    assert raised(1, 5e-11, 0.5, 2.0) < 1
    assert raised(1, 2e-10, 10.5, 20.0) == pytest.approx(11)  # rounding is of the bound
    assert raised(1, 0.0, -0.5, 3.0) == 0 and raised(1, 0.0, 2.5, 2.75) == 2.75
    assert raised(1, 0.0, 3 + 5e-7, 9.0) == 3 + 5e-7 and raised(1, 0.0, 3 + 5e-6, 9.0) == 4
    # Where they are equal: off may be ROUNDING of the bound, and a unit of four times slack and off is too small.
    assert raised(1, 1e-10, 0.5, 2.0) == pytest.approx(1 - 1e-10, abs=1e-15)
    assert raised(4 * TOLERANCE, 0.0, 0.250002, 1.0) == raised(4 * TOLERANCE, 1e-10, 0.250002, 1.0) == 0.250002
    above = 0.5 + TOLERANCE + 5e-11  # of 0.5, by less than slack and off
    assert raised("0.5", 1e-10, above, 2.0) == above
    assert raised(1, 0.0, 7.0, 5.0) == 5 and raised(1, 0.0, 5.0, 5.0) == 5


def test_a_price_of_answers_has_no_unit():
    dataset = odtc.read(MONKS / "monks-2.csv")
    for rho, known in ((0.0, True), (0.5, False)):
        problem = pipeline.pose(dataset, "fair", 1, encoding="onehot", params={"rho": rho, "group": "a1"})
        assert (objective_unit(problem) is not None) == known
    assert objective_unit(pipeline.pose(dataset, "cart", 1, encoding="onehot")) is None


def test_a_leaf_that_is_no_sum_of_its_rows_has_none(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{i % 2},{i % 3},{i / 2}" for i in range(12)) + "\n")
    dataset = odtc.read(path, target="y", task="regression")
    assert objective_unit(pipeline.pose(dataset, "dpflow", 1, params={"lambda": 0.25})) is None
