"""The checks of a solution: points with violations and objectives below the lower bound fail them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.model.feasibility import check_point, violations
from odtc.model.solution import Solution, Termination
from odtc.testing.problems import ALL_VARIANTS, form_id, heaps, problems
from odtc.verification.verify import objective_floor, raise_bound_to_floor
from odtc.workflow.first_trees import greedy, known_tree
from tests import pipeline
from tests.command_line import MONKS, odtc
from tests.solvers.test_solver import model


@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_tree_costs_less_than_the_floor(form, data):
    problem = data.draw(problems(form, depths=(1, 2)))
    heap = data.draw(heaps(problem))
    assert problem.module.objective(problem, heap) >= objective_floor(problem) - 1e-9


def test_the_largest_violation_is_named():
    cover = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
    assert violations(cover, np.array([1.0, 1, 0])) == ""
    assert violations(cover, np.array([0.5, 0.5, 0.5])) == "integrality broken by 0.5 at x0, more than 0.0001"
    words = violations(cover, np.array([0.0, 0, 1.5]))
    assert "bounds broken by 0.333333 at x2" in words and "rows broken by 1 at r0" in words
    assert [check.passed for check in check_point(cover, np.full(3, np.nan))] == [False] * 3


@pytest.fixture(scope="module")
def monks():
    """monks-1 on too few tests for a perfect tree, and CART's tree as a point."""
    compiled = pipeline.build(MONKS / "monks-1.csv", "flowoct", 2, encoding="onehot")
    return compiled, pipeline.start(compiled)[1]


@pytest.mark.parametrize("termination", ["time_limit", "interrupted", "unknown", "error"])
def test_a_bound_is_never_below_the_floor(monks, termination, monkeypatch):
    monkeypatch.setattr("odtc.workflow.first_trees.MOMENT_WORK", 0)
    compiled, point = monks
    least = objective_floor(compiled.problem)
    found = Solution(point, Termination(termination), compiled.objective(point), -1e6)
    assert (
        raise_bound_to_floor(compiled.problem, found).bound
        == raise_bound_to_floor(compiled.problem, replace(found, bound=None)).bound
        == least
    )
    assert raise_bound_to_floor(compiled.problem, replace(found, bound=least + 1)).bound == least + 1
    assert pipeline.decode(compiled, found).solution.bound == least


def test_the_floor_is_no_bound_of_what_has_no_solution(monks):
    found = Solution(None, Termination.INFEASIBLE)
    assert raise_bound_to_floor(monks[0].problem, found) is found


@pytest.mark.parametrize("termination", ["time_limit", "interrupted", "unknown"])
@pytest.mark.parametrize("lambda_", [0.0, 0.25])
def test_a_tree_at_the_floor_is_optimal_whatever_the_solver_says(termination, lambda_, tmp_path):
    # Two equal rows of different classes, and no other difference that a test could tell: one leaf is best.
    (tmp_path / "d.csv").write_text("a,y\n" + "0,n\n0,n\n0,y\n1,n\n")
    compiled = pipeline.build(tmp_path / "d.csv", "flowoct", 1, lambda_=lambda_)
    _, point = pipeline.start(compiled)
    found = pipeline.decode(
        compiled, Solution(point, Termination(termination), compiled.objective(point), -5.0)
    ).solution
    assert (found.termination, found.objective, found.bound) == ("optimal", 1 - lambda_, 1 - lambda_)


def test_fit_states_no_senseless_bound(tmp_path):
    rows = np.random.default_rng(0).integers(0, 3, (300, 12))
    (tmp_path / "noise.csv").write_text(
        "".join(",".join(map(str, row)) + "\n" for row in [[f"c{at}" for at in range(12)], *rows.tolist()])
    )
    said = odtc("fit", "noise.csv", "--depth", "8", "--time-limit", "0.3", "--json", folder=tmp_path)
    assert said.code in (0, 3), said.err
    assert said.facts["termination"] == "time_limit" and said.facts["bound"] >= 0


@pytest.mark.parametrize(
    "termination,start,words,absent",
    [
        ("time_limit", "none", 'start_from="cart"', "did not take"),
        ("time_limit", "accepted", "more time", "start"),
        ("time_limit", "not confirmed", "did not take the start", "start_from"),
        ("time_limit", "rejected", "did not take the start", "start_from"),
        ("infeasible", "none", "every model of odtc has a solution", "start_from"),
    ],
)
def test_what_is_said_where_there_is_no_solution(termination, start, words, absent):
    text = pipeline.no_solution_text(Solution(None, Termination(termination), solver="CBC 2.10", start=start))
    assert words in text and absent not in text and text.startswith("CBC 2.10 found no solution")


@pytest.mark.parametrize("from_file", [True, False])
@pytest.mark.parametrize("given", [("accuracy >= 1",), ("accuracy >= 1", "leaves <= 2")])
def test_rows_of_a_file_are_mentioned_only_where_there_is_a_file(given, from_file):
    text = pipeline.no_solution_text(Solution(None, Termination.INFEASIBLE), constraints=given, from_file=from_file)
    assert all(one in text for one in given) and ("one of them" in text) == (len(given) > 1)
    assert ("the model file" in text) == from_file


def test_a_file_that_odtc_did_not_write_may_be_infeasible(tmp_path):
    (tmp_path / "foreign.lp").write_text(
        "Minimize\n obj: x\nSubject To\n c: x >= 2\nBounds\n 0 <= x <= 1\nGenerals\n x\nEnd\n"
    )
    said = odtc("solve", "foreign.lp", folder=tmp_path)
    assert said.code == 3 and "infeasible" in said.err and "odtc has" not in said.err


def test_a_tree_that_a_formulation_made_better_is_not_called_cart():
    """`cg` puts the best subtrees below the ends of its paths: "CART" was said of a tree that loses less."""
    problem = pipeline.build(MONKS / "monks-1.csv", "cg", depth=3, encoding="onehot").problem
    cart = known_tree(problem, "cart").loss(problem.encoded)
    ((name, heap),) = greedy(problem)
    assert heap.loss(problem.encoded) < cart and name == "a tree made of CART's"
    same = pipeline.build(MONKS / "monks-1.csv", "flowoct", depth=3, encoding="onehot").problem
    ((name, heap),) = greedy(same)
    assert heap.loss(same.encoded) == cart and name == "CART"
