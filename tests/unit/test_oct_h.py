"""OCT-H: optima against all hyperplanes with a gap of μ, and the price of the features that they weigh."""

from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import odtc
from odtc.base import deadline
from odtc.data.dataset import Dataset, Feature
from odtc.data.splits import Threshold
from odtc.errors import ChoiceError, TreeError
from odtc.heuristics import separating_hyperplanes
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.separating_hyperplanes import (
    cheapest_plane,
    drop_unfit_nodes,
    fewest_terms,
    max_margin_hyperplane,
    widest_gap,
)
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.exhaustive import every_hyperplane
from odtc.trees.heap_tree import CompleteTree, HeapTree
from tests import pipeline
from tests.command_line import odtc as run
from tests.unit.test_svm1_odt import encode, least_errors, small

EXAMPLES = Path(__file__).parents[2] / "examples"


def posed(dataset, depth=2, **params) -> Problem:
    return Problem(encode(dataset), CompleteTree(depth), FORMULATIONS.get("oct_h"), parse_params("oct_h", params))


def weighed(dataset) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [0, 1] and indicators of levels, of each row; and the row of each distinct one."""
    columns = []
    for values, feature in zip(dataset.X.T, dataset.features):
        levels = np.unique(values)
        if feature.kind == "numeric":
            columns += [(values - levels[0]) / (levels[-1] - levels[0])] if len(levels) > 1 else []
        elif len(levels) > 1:
            columns += [(values == level).astype(float) for level in (levels[1:] if len(levels) == 2 else levels)]
    return np.array(columns).T


def widest(Z, right) -> float:
    """The widest gap, by a linear program with one row of signs at a time left out of the code under test."""
    n, d = Z.shape
    rows = [np.concatenate([-z, z, [1, 0]]) if r else np.concatenate([z, -z, [-1, 1]]) for z, r in zip(Z, right)]
    found = linprog(
        [0] * (2 * d + 1) + [-1],
        A_ub=[*rows, [1] * (2 * d) + [0, 0]],
        b_ub=[0] * n + [1],
        bounds=[(0, None)] * (2 * d) + [(None, None), (0, None)],
    )
    return found.x[-1] if found.status == 0 else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_is_that_of_all_hyperplanes(seed):
    dataset = small(seed, n=8 + seed, K=2 + seed % 2)
    X = every_hyperplane(dataset)
    for depth in (1, 2):
        best = least_errors(X, dataset.y, depth)
        model = pipeline.compile_model(posed(dataset, depth))
        solution = pipeline.solve(model, start=pipeline.start(model, "oblique:restarts=8")[1], threads=1, time_limit=8)
        decoded = pipeline.decode(model, solution)
        assert decoded.verified and decoded.heap.errors(model.problem.encoded) <= solution.objective + 1e-6
        assert solution.bound <= best + 1e-6 <= solution.objective + 2e-6
        assert depth == 2 or (solution.termination == "optimal" and solution.objective == pytest.approx(best, abs=1e-6))


@pytest.mark.parametrize("mu", [1e-4, 0.005, 0.05, 0.2])
def test_decoded_errors_are_those_that_the_objective_counts(mu):
    """For gaps across their range, and as many errors as hyperplanes of that gap leave."""
    dataset = small(4, n=7)
    problem = posed(dataset, 1, mu=mu)
    model = pipeline.compile_model(problem)
    solution = pipeline.solve(model, threads=1)
    decoded = pipeline.decode(model, solution)
    assert decoded.verified and decoded.heap.errors(problem.encoded) == pytest.approx(solution.objective, abs=1e-6)
    assert problem.module.misrouted(problem, model.split(solution.x)) == 0
    Z = weighed(dataset)
    ways = [way for column in every_hyperplane(dataset).T for way in (column, ~column) if widest(Z, way) >= mu]
    counts = [sum(np.bincount(dataset.y[side]).max(initial=0) for side in (way, ~way)) for way in ways]
    best = len(dataset.y) - max([np.bincount(dataset.y).max(), *counts])
    assert solution.objective == pytest.approx(best, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("alpha, seed", [(0.1, 5), (0.3, 9)])
def test_features_are_paid_for(alpha, seed):
    """At depth 1 against every way to part the rows, each with the fewest terms of all subsets that do."""
    dataset = small(seed, n=7)
    Z, mu = weighed(dataset), 0.005
    price = alpha * np.bincount(dataset.y).min()
    best = float(np.bincount(dataset.y).min())
    for column in every_hyperplane(dataset).T:
        errors = len(dataset.y) - sum(np.bincount(dataset.y[side]).max() for side in (column, ~column))
        subsets = chain.from_iterable(combinations(range(Z.shape[1]), size) for size in range(1, Z.shape[1] + 1))
        size = next(len(some) for some in subsets if max(widest(Z[:, some], column), widest(Z[:, some], ~column)) >= mu)
        best = min(best, errors + price * size)
    problem = posed(dataset, 1, alpha=alpha)
    model = pipeline.compile_model(problem)
    solution = pipeline.solve(model, threads=1)
    decoded = pipeline.decode(model, solution)
    assert solution.termination == "optimal" and decoded.verified, decoded.checks
    assert (
        solution.objective
        == pytest.approx(best, abs=1e-6)
        == pytest.approx(problem.module.objective(problem, decoded.heap))
    )
    heap, x = pipeline.start(model, "oblique:restarts=4")
    assert model.objective(x) == pytest.approx(problem.module.objective(problem, heap))


@pytest.mark.slow
def test_fewest_terms_that_are_not_proved_in_a_moment_are_an_honest_price(monkeypatch):
    """On data of many features the MIP of a node took minutes; what it has found by then is a bound from above, and a
    start, its cost and the checks of what the solver returns have to agree on it."""
    rng = np.random.default_rng(0)
    X = rng.random((24, 12))
    dataset = Dataset(
        "wide",
        X,
        (rng.random(24) < 0.5).astype(np.int32),
        tuple(Feature(f"f{j}", "numeric") for j in range(12)),
        ("n", "p"),
        np.ones(24),
    )
    monkeypatch.setattr(separating_hyperplanes, "MOMENT", 1e-6)
    problem = posed(dataset, 2, alpha=0.01)
    model = pipeline.compile_model(problem)
    heap, x = pipeline.start(model, "oblique:restarts=8")
    assert heap.n_branch_nodes and model.objective(x) == pytest.approx(problem.module.objective(problem, heap))
    decoded = pipeline.decode(model, pipeline.solve(model, start=x, threads=1, time_limit=3))
    assert decoded.verified, decoded.checks


def test_a_start_is_cut_to_the_margin_without_the_fewest_terms(monkeypatch):
    problem = posed(small(5, n=7), 1, alpha=0.1)
    monkeypatch.setattr(
        "odtc.formulations.oct_h.fewest_terms",
        lambda *_: pytest.fail("a MIP of each node was solved to see that it has the gap"),
    )
    heap = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    assert problem.module.trimmed(problem, heap).n_branch_nodes == heap.n_branch_nodes == 1


def test_the_fewest_terms_and_the_widest_gap():
    Z = np.array([[0, 0, 0.3], [0, 1, 0.9], [1, 0, 0.1], [1, 1, 0.5]])
    rows, left = np.arange(4), np.array([True, True, False, False])
    assert fewest_terms(Z, rows, left, 0.5).tolist() == [0]
    a, b, wide = widest_gap(Z, rows, left, np.array([0]))
    assert wide == pytest.approx(1.0) and np.abs(a).sum() <= 1 and ((Z @ a >= b) == ~left).all()
    assert fewest_terms(Z, rows, np.array([True, False, False, True]), 0.5) is None
    assert widest_gap(Z[:, :2], rows, np.array([True, False, False, True]), np.arange(2))[2] == 0


def test_a_tree_of_a_smaller_gap_is_refused_and_trimmed():
    data = EXAMPLES / "iris" / "iris.csv"
    wide = posed(odtc.read(data), 2, mu=0.2)
    heap = HeapTree.from_tree(odtc.fit(data, "cart", 2).tree, wide.encoded, wide.topology)
    with pytest.raises(TreeError, match="no hyperplane with a gap of mu = 0.2 separates these rows"):
        wide.module.start(wide, heap)
    assert wide.module.trimmed(wide, heap).n_branch_nodes == 1
    with pytest.raises(ChoiceError, match="n_min of at most the 150 rows"):
        pipeline.build(data, "oct_h", 1, params={"n_min": 151})


@pytest.mark.parametrize("words", [("oct_h",), ("svm1_odt",), ("svm1_odt", "-p", "epsilon=0.01")], ids=str)
def test_missing_numbers_are_refused_before_a_search_and_what_is_said_to_do_works(words, tmp_path, monkeypatch):
    lines = ["a,b c,d,y", "1,,1,u", ",2,3,v", "3,1,2,u", "2,5,7,v", "4,2,2,u", "5,5,9,v"]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    searched = []
    monkeypatch.setattr("odtc.heuristics.oblique.search_hyperplanes", lambda *given, **named: searched.append(given))
    said = run(
        "fit", "m.csv", "--model", *words, "--depth", 1, "--start", "oblique", "--missing", "separate", folder=tmp_path
    )
    assert said.code in (1, 2) and "of 'a', 'b c': " in said.err and "--auxiliary 'a,b c'" in said.err and not searched
    monkeypatch.undo()
    for way in (("--missing", "drop"), ("--missing", "separate", "--auxiliary", "a,b c")):
        assert (
            run("fit", "m.csv", "--model", *words, "--depth", 1, "--start", "oblique", *way, folder=tmp_path).code == 0
        )
    for model in (("dpflow", "--encoding", "oblique"), ("oblique_search",)):
        assert run("fit", "m.csv", "--model", *model, "--depth", 1, "--missing", "separate", folder=tmp_path).code == 0


def test_a_start_is_trimmed_also_where_no_time_is_left():
    """The greedy trees of cuts that leave the gap looked at the deadline, and a tree that is none of the model's was
    handed in."""
    x = np.linspace(0, 1, 40)
    problem = posed(
        Dataset("line", x[:, None], (x > 0.5).astype(np.int32), (Feature("x", "numeric"),), ("u", "v"), np.ones(40)),
        1,
        mu=0.05,
    )
    heap = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    with deadline.within(0.0):
        kept = problem.module.trimmed(problem, heap)
    assert heap.n_branch_nodes == 1 and kept.n_branch_nodes == 0
    problem.module.start(problem, kept)


def test_without_time_a_start_keeps_the_cuts_that_leave_the_gap():
    """At a limit of 5 s adult got 5,300 errors where a cut of single terms had 4,886: no cut was looked for."""
    x = np.array([0, 1, 400, 401, 800, 900, 1000]) / 1000
    y = np.array([0, 1, 1, 1, 0, 0, 0], np.int32)
    problem = posed(Dataset("thin", x[:, None], y, (Feature("x", "numeric"),), ("u", "v"), np.ones(7)), 1, mu=0.01)
    place = problem.encoded.find(Threshold(0, 0.0005))[0]
    thin = HeapTree(np.array([-1, place, -1, -1], np.int32), np.array([-1, -1, 0, 0], np.int32))
    with deadline.within(0.0):
        kept = problem.module.trimmed(problem, thin)
    assert kept.n_branch_nodes == 1 and kept.errors(problem.encoded) == 1
    problem.module.start(problem, kept)


@pytest.mark.parametrize("seed", range(3))
def test_programs_of_many_rows_are_solved_by_few_of_them(seed, monkeypatch):
    """The margins of three nodes took six seconds on letter-recognition, whatever the limit."""
    rng = np.random.default_rng(seed)
    Z = rng.random((400, 4))
    rows = np.flatnonzero(rng.random(400) < 0.8)
    left = Z[rows] @ rng.normal(size=4) <= 0.1
    solve = [
        lambda: max_margin_hyperplane(Z, rows, left)[2],
        lambda: max_margin_hyperplane(Z, rows, left, 1.0)[2],
        lambda: widest_gap(Z, rows, left, np.arange(4))[2],
        lambda: cheapest_plane(Z, rows, left, 1e-4, None, 1.0),
        lambda: max_margin_hyperplane(Z, rows, rng.random(len(rows)) < 0.5)[2],
    ]
    whole = [one() for one in solve]
    monkeypatch.setattr("odtc.algorithms.robust_lp.FIRST_ROWS", 8)
    few = [one() for one in solve]
    for ours, theirs in zip(few, whole):
        if isinstance(ours, tuple):
            ours, theirs = (np.abs(h).sum() for h, _ in (ours, theirs))
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)
    assert whole[0] > 0 and whole[-1] == 0


@pytest.mark.parametrize("name, params", [("oct_h", {"mu": 0.01}), ("svm1_odt", {"epsilon": 0.01})])
def test_a_start_without_a_node_of_too_small_a_gap_keeps_the_rest_and_is_no_worse_than_carts(name, params):
    """A leaf stood in place of such a node and all below it: of a search's tree with 24 errors and a root of a
    small gap one leaf was left, which the solver began with, and which was handed in at a time limit."""
    x = np.array([0, 1, 400, 401, 800, 900, 1000]) / 1000
    dataset = Dataset(
        "thin",
        x[:, None],
        np.array([0, 1, 1, 1, 0, 0, 0], np.int32),
        (Feature("x", "numeric"),),
        ("u", "v"),
        np.ones(7),
    )
    problem = Problem(encode(dataset), CompleteTree(2), FORMULATIONS.get(name), parse_params(name, params))
    places = [problem.encoded.find(Threshold(0, at))[0] for at in (0.0005, 0.4005, 0.6)]
    for below in places[1:]:  # right of the root: a small gap, and a wide one
        thin = HeapTree(
            np.array([-1, places[0], -1, below, *[-1] * 4], np.int32), np.array([-1, -1, 0, -1, -1, -1, 1, 0], np.int32)
        )
        kept = problem.module.trimmed(problem, thin)
        assert kept.n_branch_nodes == 1 and kept.errors(problem.encoded) == 1
        problem.module.start(problem, kept)
    only = drop_unfit_nodes(thin, problem.encoded, lambda rows, left: len(rows) < 7 or left.sum() > 1)
    assert (only.n_branch_nodes, only.errors(problem.encoded)) == (1, 1)
    assert drop_unfit_nodes(thin, problem.encoded, lambda rows, left: True) is thin
    assert drop_unfit_nodes(thin, problem.encoded, lambda rows, left: False).n_branch_nodes == 0


@pytest.mark.slow
def test_elsewhere_later(tmp_path):
    data = EXAMPLES / "iris" / "iris.csv"
    built = run(
        "build", data, "--model", "oct_h", "--depth", "1", "-p", "n_min=40", "--json", "-o", "m", folder=tmp_path
    )
    assert built.code == 0, built.err
    assert (
        run("solve", "m.mps", "--threads", "1", "--time-limit", "30", "--json", folder=tmp_path).facts["start"]
        == "accepted"
    )
    facts = run("decode", "m.sol", "--json", folder=tmp_path).facts
    assert facts["verified"] and facts["objective"] == pytest.approx(150 - facts["train_correct"])


@pytest.mark.parametrize("name, key", [("oct_h", "alpha"), ("oct", "alpha"), ("cg", "reward")])
def test_a_price_without_end_is_refused(name, key):
    with pytest.raises(ChoiceError, match=f"{key!r}: expected a number of at least 0 and below inf, got inf"):
        parse_params(name, {key: "inf"})
