"""Law 2: the optimum is that of an exhaustive search, and the decoded tree attains it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.solvers.solver import SOLVERS, find_solver, version
from odtc.workflow import pipeline
from tests.arrays import optimum
from tests.exhaustive import cheapest, every_labelling
from tests.laws.problems import ALL_FORMS, form_id, penalty, problems, splits_of, terms

SLOW = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@pytest.mark.parametrize("form", ALL_FORMS, ids=form_id)
@given(data=st.data())
@settings(max_examples=30, **SLOW)
def test_optimum_is_that_of_exhaustive_search(form, data):
    check(data.draw(problems(form)), "highs")


# The others read the same model from a file: a few problems each, in the default and the printed form.
@pytest.mark.parametrize(
    "form", [form for form in ALL_FORMS if form[1] in ({}, {"lambda": 0.25, "literal": True})], ids=form_id
)
@pytest.mark.parametrize("solver", [name for name in SOLVERS.names() if name != "highs"])
@given(data=st.data())
@settings(max_examples=3, **SLOW)
def test_every_solver_finds_it(form, solver, data):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    check(data.draw(problems(form)), solver)


def check(problem, solver):
    best = exhaustive_cost(problem)
    model = replace(problem.module.build(problem), problem=problem)
    solution = pipeline.solve(model, solver, threads=1)
    assert solution.termination == "optimal"
    assert solution.objective == pytest.approx(best, abs=1e-5)
    assert solution.bound <= best + 1e-5
    decoded = pipeline.decode(model, solution)
    assert decoded.verified, decoded.checks
    assert problem.module.objective(problem, decoded.heap) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("form", ALL_FORMS, ids=form_id)
@given(data=st.data())
@settings(max_examples=10, **SLOW)
def test_the_arrays_mean_the_same_to_scipy(form, data):
    problem = data.draw(problems(form))
    assert optimum(problem.module.build(problem))[0] == pytest.approx(exhaustive_cost(problem), abs=1e-6)


def exhaustive_cost(problem) -> float:
    encoded, depth, (per_error, per_branch_node, least) = problem.encoded, problem.topology.depth, terms(problem)
    cost = encoded.cost.tolist()
    if not problem.module.BEYOND:
        return cheapest(
            encoded.X, encoded.y, encoded.weight, depth, per_branch_node, per_error, encoded.copies, least, cost
        )
    data = encoded.dataset
    X, n = splits_of(problem), data.n_rows
    if not getattr(problem.params, "rho", 0.0):
        return cheapest(X, data.y, data.weight, depth, per_branch_node, per_error, np.ones(n, int), least, cost)
    return min(
        (data.weight * encoded.cost[data.y, predicted]).sum() + penalty(problem, predicted)
        for predicted in every_labelling(X, len(data.classes), depth)
    )
