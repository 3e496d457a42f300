"""The column generation of Firat et al. as printed: its models term by term, its prices, its bound, its trees."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations import cg
from odtc.formulations.cg import printed_fit
from odtc.formulations.cg.column_pool import ColumnPool
from odtc.formulations.cg.printed_method import PrintedMaster, PrintedMethod
from odtc.formulations.cg.printed_paths import PrintedDuals, PrintedPaths
from odtc.testing.optima import exhaustive_cost
from odtc.testing.problems import problems
from tests import pipeline
from tests.by_hand import terms_of, typed
from tests.command_line import odtc as run
from tests.command_line import refused

MONKS = Path(__file__).parents[2] / "examples" / "monks"
SLOW = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
SIX = {"x1": [0, 0, 1, 1, 2, 2], "x2": [0, 1, 0, 1, 0, 1], "y": list("abbaab")}
PARTS = [
    {},
    {"literal": True},
    {"heuristic": False},
    {"pricing_mip": False},
    {"initial": "random"},
    {"final": "paths"},
    {"splits": "sampled", "q": 1},
    {"splits": "pooled"},
    {"n_min": 2},
    {"pool_size": 1, "pool_leaves": 1, "pool_columns": 1, "pool_tries": 1},
    {"max_rounds": 0},
]


def test_the_pricing_problem_is_the_one_that_was_typed_from_the_paper():
    paths = printed_fit.paths_of(six_rows())
    gamma = np.zeros(paths.n_links)
    gamma[paths.link[5, 0] :][:3] = 0.25, -1, 0
    gamma[paths.link[5, 1] :][:3] = 0, 2, -0.5
    duals = PrintedDuals(np.array([0, 3.0, 0, 0]), np.array([1, 0, 0.5, 0, 0, 0]), gamma)
    assert terms_of(paths.pricing(duals, 5, 0)) == typed("cg_pricing.lp")


def test_the_master_is_the_one_that_was_typed_from_the_paper():
    none = np.zeros(0, np.int32)
    splits = none, np.array([1, 2], np.int32), np.array([0, 1], np.int32), np.array([0, 1], np.int32), *[none] * 4
    ways = (4, (2, 0)), (5, (2, 0)), (6, (2, 1)), (7, (2, 1))
    pool = ColumnPool(splits, tuple((leaf, leaf, way, ()) for leaf, way in ways))
    assert terms_of(PrintedPaths(six_rows(), splits, pool).master()) == typed("cg_master.lp")


def six_rows():
    data = odtc.read(pl.DataFrame(SIX), target="y")
    return pipeline.pose(data, "cg", 2, literal=True, splits="all")


@pytest.mark.parametrize("params", PARTS, ids=str)
@given(data=st.data())
@settings(max_examples=6, **SLOW)
def test_the_method_leaves_a_valid_tree_whose_errors_are_counted_again(params, data):
    problem = data.draw(
        problems(("cg", {"splits": "all", "search": False, "columns": "start"} | params), depths=(1, 2))
    )
    try:
        base = replace(problem.module.build(problem), problem=problem)
    except ChoiceError as refusal:
        assert params.get("n_min") and "n_min" in str(refusal)
        return
    model, solution = cg.fit(base, lambda model, start=None: pipeline.solve(model, start=start))
    decoded = pipeline.decode(model, solution)
    assert decoded.verified, decoded.checks
    assert solution.objective == pytest.approx(loss_of(problem, decoded.heap), abs=1e-6)
    best = exhaustive_cost(problem)
    assert solution.of_all.bound <= best + 1e-6 <= solution.objective + 2e-6
    if solution.of_all.termination == "optimal":
        assert solution.objective == pytest.approx(best, abs=1e-6)


def loss_of(problem, heap):
    """The loss of a tree, row by row."""
    encoded, total = problem.encoded, 0.0
    for row in range(encoded.n_rows):
        node = 1
        while heap.split[node] >= 0:
            node = 2 * node + int(encoded.X[row, heap.split[node]])
        total += encoded.loss[row, heap.label[node]]
    return total


@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_the_relaxation_over_all_paths_is_a_bound_and_prices_are_those_of_its_columns(data):
    """(9) by the matrix of the master, for the paths there are and for those that the heuristic draws."""
    problem = data.draw(problems(("cg", {"splits": "all", "literal": True, "columns": "all"}), depths=(1, 2)))
    paths = printed_fit.paths_of(problem)
    value, x, duals = PrintedMaster(paths).solve(None)
    assert value * paths.unit <= exhaustive_cost(problem) + 1e-6
    model = paths.master(integer=False)
    first = next(block.start for block in model.columns if block.name == "x")
    dual = np.concatenate([duals.alpha, duals.beta, duals.gamma])
    expected = np.array(paths.costs) - (model.A.T @ dual)[first:]
    stated = [paths.reduced(leaf, np.array([way], np.int32), duals)[0] for leaf, way in paths.paths]
    assert np.allclose(expected, stated, atol=1e-7) and min(stated) >= -1e-6
    assert np.isclose(x.sum(), len(paths.leaves))


@given(data=st.data())
@settings(max_examples=10, **SLOW)
def test_new_columns_of_the_heuristic_have_the_negative_reduced_cost_that_is_stated(data):
    problem = data.draw(problems(("cg", {"splits": "all", "search": False, "columns": "start"}), depths=(2,)))
    paths = printed_fit.paths_of(problem)
    method = PrintedMethod(paths, printed_fit._settings(problem.params), 0, lambda: None)
    _, _, duals = method.master.solve(None)
    before = len(paths)
    added = method._draw(duals)
    assert len(paths) == before + added
    model = paths.master(integer=False)
    first = next(block.start for block in model.columns if block.name == "x")
    dual = np.concatenate([duals.alpha, duals.beta, duals.gamma])
    assert ((np.array(paths.costs) - (model.A.T @ dual)[first:])[before:] < 0).all()
    assert all(len(set(way)) == len(way) for _, way in paths.paths) or len(paths.candidates) < 2


@given(data=st.data())
@settings(max_examples=6, **SLOW)
def test_the_pricing_problem_finds_the_least_reduced_cost_of_all_paths(data):
    problem = data.draw(
        problems(("cg", {"splits": "all", "literal": True, "columns": "all"}), depths=(2,), most_rows=6)
    )
    paths, rng = printed_fit.paths_of(problem), np.random.default_rng(data.draw(st.integers(0, 99)))
    whole = lambda n: rng.integers(-2, 3, n).astype(float)  # noqa: E731
    duals = PrintedDuals(whole(len(paths.leaves)), whole(len(paths.X)), whole(paths.n_links))
    leaf = int(rng.choice(paths.leaves))
    least = min(paths.reduced(leaf, np.array([way], np.int32), duals)[0] for one, way in paths.paths if one == leaf)
    found = [
        pipeline.solve(paths.pricing(duals, leaf, label)).objective / paths.unit for label in range(paths.loss.shape[1])
    ]
    assert min(found) == pytest.approx(least, abs=1e-6)


def test_the_same_seed_makes_the_same_run_and_says_who_found_the_tree():
    def once(seed):
        done = odtc.fit(MONKS / "monks-2.csv", "cg", 3, search=False, params={"seed": seed, "max_rounds": 5})
        assert "found by" in done.solution.message
        return done.facts["objective"], done.problem.params.columns

    assert once(3) == once(3)


def test_a_limit_in_the_generation_leaves_the_paths_that_there_are(monkeypatch):
    def late(self, tell=None):
        raise TimeLimitReached("late")

    monkeypatch.setattr(PrintedMethod, "run", late)
    problem = pipeline.pose(MONKS / "monks-1.csv", "cg", 3, search=False)
    assert len(printed_fit.paths_of(problem)) == 8 and problem.derived(cg.Held).seconds > 0


def test_an_interruption_leaves_the_best_tree_of_the_paths(monkeypatch):
    draw = PrintedMethod._draw

    def interrupted(self, duals):
        draw(self, duals)
        raise KeyboardInterrupt

    monkeypatch.setattr(PrintedMethod, "_draw", interrupted)
    problem = pipeline.pose(MONKS / "monks-2.csv", "cg", 3, search=False, fitting=True)
    base = replace(problem.module.build(problem), problem=problem)
    model, solution = cg.fit(base, None)
    assert solution.termination == "interrupted"
    decoded = pipeline.decode(model, solution)
    assert decoded.verified, decoded.checks
    paths = printed_fit.paths_of(model.problem)
    assert len(paths) > 8 and solution.objective == pytest.approx(loss_of(problem, decoded.heap))


def test_too_many_paths_are_refused_before_they_are_made():
    rng = np.random.default_rng(0)
    data = odtc.read(pl.DataFrame({"x": rng.normal(size=300), "y": rng.integers(0, 2, 300)}), target="y")
    with pytest.raises(ChoiceError, match="at most [0-9,]+ paths"):
        odtc.build(data, "cg", 3, literal=True, splits="all", columns="all")


def test_the_search_over_all_splits_is_off():
    problem = pipeline.pose(MONKS / "monks-1.csv", "cg", 2, search=False, fitting=True)
    assert problem.derived(cg.Held).over_all is None
    paths = printed_fit.paths_of(problem)
    assert len(paths) == 4  # those of CART


def test_build_writes_the_printed_master_and_pricing_problem(tmp_path):
    words = ("build", MONKS / "monks-1.csv", "--model", "cg", "-p", "literal=true", "-o", "m", "--json")
    said = run(*words, "--pricing", "leaf=5,class=1", folder=tmp_path)
    assert said.code == 0, said.err
    assert any("pricing" in name for name in json.loads(said.out)["files"])
    assert "leaf=N,class=LABEL" in refused(run(*words, "--pricing", "leaf=5", folder=tmp_path))
    assert "class" in refused(run(*words, "--pricing", "leaf=5,class=7", folder=tmp_path))
    said = run("solve", "m.mps", folder=tmp_path)
    assert said.code == 0, said.err
    assert run("decode", "m.sol", folder=tmp_path).code == 0


def test_decimal_weights_have_a_unit_so_that_the_relaxation_proves_the_tree():
    rows = [("p", "a", 1.0), ("q", "a", 0.1), ("r", "a", 0.1), ("q", "b", 1.0), ("r", "c", 1.0), ("p", "b", 0.3)]
    frame = pl.DataFrame(rows, schema=["f", "y", "w"], orient="row")
    done = odtc.fit(frame, "cg", 1, target="y", weights="w", search=False, splits="all", solver="highs")
    assert done.proof.objective == pytest.approx(1.2)  # r is c, at 0.1, and all others are b, at 1.1
    assert done.solution.bound == done.solution.objective


def test_a_reward_is_refused_and_so_are_leaves_of_too_few_rows():
    with pytest.raises(ChoiceError, match="reward"):
        pipeline.pose(MONKS / "monks-1.csv", "cg", 2, search=False, reward=0.5)
    data = odtc.read(pl.DataFrame({"x": [0, 1, 0, 1], "y": list("abba")}), target="y")
    with pytest.raises(ChoiceError, match="n_min"):
        odtc.fit(data, "cg", 1, search=False, n_min=3)
    assert odtc.fit(data, "cg", 2, search=False).facts["objective"] == 2  # (16) is left out for a single split
