"""dpflow under constraints on predictions and on splits together: the optimum of flowoct, on real data."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.reading import read_arrays
from odtc.errors import ChoiceError
from odtc.formulations.dpflow import forms
from odtc.formulations.dpflow.forms import resources
from odtc.problem.constraints.constraint import broken, built, complete, posed
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.optima import assert_point_of, optimum
from odtc.testing.problems import heaps, problems, texts
from odtc.workflow.posing import choose
from tests import pipeline
from tests.by_a_solver import by_a_solver
from tests.command_line import MONKS

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
FORMS = [{}, {"fix": "false"}, {"lambda": 0.25}]


@st.composite
def both(draw, params):
    """A problem with a constraint on answers, and one or two on what is asked."""
    form = ("dpflow", params)
    problem = draw(problems(form, most_rows=8, most_classes=draw(st.integers(2, 3)), auxiliary=True, by_class=True))
    kinds = [
        "answers",
        *draw(
            st.lists(
                st.sampled_from(["features", "splits", "places", "leaf_rows", "branch_nodes"]), min_size=1, max_size=2
            )
        ),
    ]
    try:
        found = posed(problem, [draw(texts(form, problem, kind)) for kind in kinds])
    except ChoiceError:  # what this data has no rows for
        assume(False)
    assume(forms.form(found) is resources and found.derived(resources.Resources).remembers)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("params", FORMS, ids=str)
@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_the_optimum_is_that_of_flowoct(params, data):
    problem = data.draw(both(params))
    value, point = optimum(built(problem))
    flowoct = parse_params("flowoct", {key: value for key, value in params.items() if key == "lambda"})
    other = Problem(problem.encoded, problem.topology, FORMULATIONS.get("flowoct"), flowoct, problem.constraints)
    best, its = optimum(built(other))
    if its is not None:  # in the terms of dpflow: the loss of flowoct's is counted from the rows that are right
        best = problem.module.objective(problem, other.module.decode(other, its))
    assert value == pytest.approx(best, abs=1e-6)
    if point is not None:
        heap = problem.module.decode(problem, point)
        assert not broken(problem, heap) and problem.module.objective(problem, heap) == pytest.approx(value, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("params", FORMS, ids=str)
@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_a_tree_that_keeps_them_is_a_complete_point(params, data):
    problem = data.draw(both(params))
    heap = data.draw(heaps(problem))
    assume(heap is not None and not broken(problem, heap))
    model = built(problem)
    x = complete(problem, model, heap)
    assert_point_of(problem, model, heap, x)
    back = problem.module.decode(problem, model.split(x))
    np.testing.assert_array_equal(back.split, heap.split)
    np.testing.assert_array_equal(back.label, heap.label)


@pytest.mark.parametrize("texts", [("recall[true] >= 1",), ("features <= 1", "recall[true] >= 1")])
def test_a_price_of_many_digits_is_written_in_full_although_one_leaf_costs_less(texts):
    """One leaf misses the recall, so the bounds that it gives for costs hold for no tree of the model."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    data = replace(read_arrays(X, X[:, 0] > 0), weight=np.repeat([1.23456789012, 0.123456789012], [2, 3]))
    problem = pipeline.pose(data, "dpflow", 1, constraints=texts, params={"lambda": 0.5652173913043479})
    value, point = optimum(built(problem))
    heap = problem.module.decode(problem, point)
    assert not broken(problem, heap)
    assert value == pytest.approx(0.5652173913043479, rel=1e-9)  # a split without errors; the leaf "true" costs 1.07


def test_two_columns_and_a_recall_on_real_data():
    """As the best over each two columns by themselves."""
    data, recall = odtc.read(MONKS / "monks-2.csv"), "recall[1] >= 0.6"
    data = odtc.Dataset("part", data.X[:, :4], data.y, data.features[:4], data.classes, data.weight)
    keys = {"encoding": "onehot", "threads": 1}
    fitted = by_a_solver(data, "dpflow", 2, constraints=("features <= 2", recall), **keys)
    best = []
    for place in range(len(data.features)):
        for other in range(place):
            two = [other, place]
            part = odtc.Dataset(
                "part", data.X[:, two], data.y, tuple(data.features[j] for j in two), data.classes, data.weight
            )
            try:
                best.append(by_a_solver(part, "dpflow", 2, constraints=(recall,), **keys).facts["objective"])
            except odtc.OdtcError:  # no tree over these two
                continue
    assert (
        fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["objective"] == min(best)
    )
    said = fitted.model.problem.module.notes(fitted.model.problem)["fixed"]
    assert 0 < said["columns"] < said["of"] and said["bound"] <= fitted.facts["objective"] <= said["incumbent"]
    assert "a flow of labels and splits" in choose(20, 3, ("features", "recall")).why
