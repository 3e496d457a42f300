"""The model of the cases that a search under constraints leaves open: it contains each better tree, and the optimum."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import odtc
from odtc.errors import ChoiceError, NoSolutionError
from odtc.formulations.dpflow import constrained, search_before_model
from odtc.formulations.dpflow.constrained import Posed
from odtc.formulations.dpflow.search_before_model import _live
from odtc.problem.constraints.constraint import broken, built, complete, posed
from odtc.testing.optima import assert_point_of, least_of_every_tree, optimum
from odtc.testing.problems import KINDS, problems
from odtc.workflow.manifest import read_manifest, write_manifest
from tests import command_line, pipeline
from tests.command_line import MONKS

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
SUMS = (
    "recall",
    "precision",
    "statistical_parity",
    "equal_opportunity",
    "accuracy",
    "group_accuracy",
    "cost",
    "leaves",
)


@st.composite
def searched(draw):
    """A small problem with one or two sums to keep, after its search, and what the best tree costs."""
    problem = draw(problems(("dpflow", draw(st.sampled_from([{}, {"lambda": 0.25}]))), depths=(2,), auxiliary=True))
    assume(problem.encoded.n_candidate_splits <= 5)
    names = draw(st.lists(st.sampled_from(SUMS), min_size=1, max_size=2))
    try:
        problem = posed(problem, [draw(st.sampled_from(KINDS[name].tries(problem.encoded))) for name in names])
    except ChoiceError:
        assume(False)
    assume(problem.module.searches(problem))
    found = constrained.search(problem)
    assume(found.proved and found.heap is not None)
    return problem, least_of_every_tree(problem)


@given(case=searched())
@settings(max_examples=40, **SLOW)
def test_the_optimum_of_the_model_is_that_of_trying_every_tree(case):
    problem, least = case
    engine = problem.derived(Posed)
    text = _live(problem, engine.search, engine.problem.unit).packed()
    limited = replace(problem, params=replace(problem.params, cases=text))
    _expect(limited, least)


@given(case=searched())
@settings(max_examples=40, **SLOW)
def test_it_holds_every_tree_that_is_better_than_the_known_one(case):
    """Where the known tree is one leaf, the model has the best tree among its cases."""
    problem, least = case
    assume(not broken(problem, _as_one_leaf(problem)[0]))
    _expect_all(problem, least)


def test_subtrees_of_less_depth_are_nodes_of_the_tree_that_is_built():
    """At most two leaves: the search looks at trees of one split, and the model is of trees of two levels."""
    problem = pipeline.pose(MONKS / "monks-1.csv", "dpflow", 2, constraints=("leaves <= 2",), encoding="onehot")
    assert constrained.search(problem).proved and problem.derived(Posed).problem.arrays.depth == 1
    _expect_all(problem, least_of_every_tree(problem))


def _as_one_leaf(problem):
    """(the tree of one leaf that costs least, its splits, its labels)"""
    label = np.full(2 ** (problem.derived(Posed).problem.arrays.depth + 1), -1, np.int32)
    split = label.copy()
    label[1] = problem.encoded.loss.sum(axis=0).argmin()
    return problem.derived(Posed).problem.tree(split, label), split, label


def _expect_all(problem, least):
    posed_ = problem.derived(Posed)
    search = posed_.search
    heap, split, label = _as_one_leaf(problem)
    search.upper, search.best = posed_.problem.cost(heap), (split, label)
    search.all.listed[:] = True
    text = _live(problem, search, posed_.problem.unit).packed()
    _expect(replace(problem, params=replace(problem.params, cases=text)), least)


def _expect(problem, least):
    model = built(problem)
    value, point = optimum(model)
    assert value == pytest.approx(least, abs=1e-6)
    heap = problem.module.decode(problem, point)
    assert not broken(problem, heap)
    assert problem.module.objective(problem, heap) == pytest.approx(least, abs=1e-6)
    assert_point_of(problem, model, heap, complete(problem, model, heap))


CONSTRAINED = {"constraints": ("recall[1] >= 0.8", "features <= 2"), "encoding": "onehot"}


def test_fit_with_a_solver_begins_with_the_search(monkeypatch):
    """The tree and the bound of the search are known before the solver begins."""
    monkeypatch.setattr(search_before_model, "WHOLE_VARIABLES", 0)
    fitted = odtc.fit(MONKS / "monks-1.csv", "dpflow", 2, solver="highs", **CONSTRAINED)
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
    monkeypatch.undo()
    assert fitted.facts["objective"] == odtc.fit(MONKS / "monks-1.csv", "dpflow", 2, **CONSTRAINED).facts["objective"]


def test_its_tree_and_bound_are_the_result_if_no_model_is_made_in_time(monkeypatch):
    monkeypatch.setattr(search_before_model, "WHOLE_VARIABLES", 0)
    monkeypatch.setattr(search_before_model, "_live", lambda *of: None)
    fitted = odtc.fit(MONKS / "monks-1.csv", "dpflow", 2, solver="highs", time_limit=30, **CONSTRAINED)
    assert fitted.facts["termination"] == "optimal" and fitted.facts["objective"] == fitted.facts["bound"]
    assert "so no solver ran" in fitted.decoded.solution.message


def test_what_cannot_be_kept_is_explained_also_with_a_solver(monkeypatch):
    monkeypatch.setattr(search_before_model, "WHOLE_VARIABLES", 0)
    with pytest.raises(NoSolutionError, match="proved: "):
        odtc.fit(
            MONKS / "monks-1.csv", "dpflow", 1, solver="highs", constraints=("recall[1] >= 0.9", "precision[1] >= 0.95")
        )


def test_the_manifest_holds_what_the_search_left(monkeypatch, tmp_path):
    """Decoding needs no search: the subtrees stand in the manifest."""
    monkeypatch.setattr(search_before_model, "WHOLE_VARIABLES", 0)
    model = pipeline.build(MONKS / "monks-1.csv", "dpflow", 2, **CONSTRAINED)
    path = write_manifest(model.problem, model, tmp_path / "m.odt.json")
    monkeypatch.setattr(search_before_model, "limited", None)
    manifest = read_manifest(path)
    left_out = manifest.facts["model"]["fixed"]
    assert 0 <= left_out["cases"] <= left_out["of"] and left_out["bound"] == left_out["incumbent"]
    again = built(manifest.problem)
    assert again.columns == model.columns and (again.A != model.A).nnz == 0
    value, point = optimum(again)
    assert manifest.problem.module.objective(
        manifest.problem, manifest.problem.module.decode(manifest.problem, point)
    ) == pytest.approx(value)


def test_all_columns_are_written_on_request(monkeypatch):
    monkeypatch.setattr(search_before_model, "WHOLE_VARIABLES", 0)
    problem = pipeline.pose(MONKS / "monks-1.csv", "dpflow", 2, params={"fix": "false"}, **CONSTRAINED)
    assert not pipeline.compile_model(problem).problem.params.cases


def test_build_says_what_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(search_before_model, "WHOLE_VARIABLES", 0)
    words = ["build", str(MONKS / "monks-1.csv"), "--model", "dpflow", "--depth", "2", "--encoding", "onehot"]
    said = command_line.odtc(*words, "--constraint", "recall[1] >= 0.8", "-o", str(tmp_path / "m"))
    assert said.code == 0
    assert re.search(r"cases are left out of the model, .* -p fix=false writes", " ".join(said.err.split()))


def test_rows_of_ones_own_are_warned_of_where_trees_were_left_out():
    """A row behind such a model gave 578 as its optimum, where all columns have 570, without a word."""
    given = {"encoding": "onehot", "constraints": ["recall[1] >= 0.8"]}
    reduced = odtc.build(MONKS / "monks-1.csv", "dpflow", depth=2, **given)
    whole = odtc.build(MONKS / "monks-1.csv", "dpflow", depth=2, **given, params={"fix": False})
    assert whole.n_cols > reduced.n_cols and not whole.left_out
    assert reduced.left_out.startswith(f"{whole.n_cols - reduced.n_cols:,} of {whole.n_cols:,} columns are left out")
    name = reduced.column_names[0]
    with pytest.warns(UserWarning, match="a row of your own could: fix=False writes all"):
        own = reduced.add_rows([{name: 1}], upper=1)
    assert "optimal for the edited model, by HiGHS" in str(odtc.decode(own, odtc.solve(own)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole.add_rows([{name: 1}], upper=1)
