"""The pool holds all near-optimal trees, in order, and none twice."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.dp import k_best
from odtc.base import deadline
from odtc.errors import ModelError, OutputError, TimeLimitReached
from odtc.formulations.dpflow import ranked_trees
from odtc.formulations.dpflow.program import Program
from odtc.problem.parameters import parse_params
from odtc.testing.problems import problems
from odtc.workflow.near_optimal import near_optimal, pool_text, read_pool
from tests import pipeline
from tests.command_line import MONKS
from tests.command_line import odtc as command


def every_tree(encoded, rows, depth, price, share):
    """(cost, tests as nested tuples) of all trees whose every subtree costs less than one label would."""
    loss = encoded.loss[rows].sum(axis=0)
    leaf = share * float(loss.min())
    yield leaf, None
    if depth == 0 or leaf <= share * float(groups(encoded, rows)) + 1e-9:
        return
    for f in range(encoded.n_candidate_splits):
        ones = encoded.X[rows, f]
        if ones.all() or not ones.any():
            continue
        zero = list(every_tree(encoded, rows[~ones], depth - 1, price, share))
        one = list(every_tree(encoded, rows[ones], depth - 1, price, share))
        for (a, left), (b, right) in itertools.product(zero, one):
            if a + b + price < leaf - 1e-9:
                yield a + b + price, (f, left, right)


def groups(encoded, rows) -> float:
    """What no tree can avoid on these rows."""
    sums = {}
    for i in rows:
        sums.setdefault(encoded.X[i].tobytes(), []).append(encoded.loss[i])
    return sum(min(map(sum, zip(*losses))) for losses in sums.values())


@pytest.mark.parametrize("form", [{}, {"lambda": 0.25}], ids=str)
@given(data=st.data(), most=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_the_best_trees_in_order(form, data, most):
    problem = data.draw(problems(("dpflow", form), most_rows=9))
    encoded, price = problem.encoded, form.get("lambda", 0)
    truth = sorted(
        cost for cost, _ in every_tree(encoded, np.arange(encoded.n_rows), problem.topology.depth, price, 1 - price)
    )
    pool = near_optimal(problem, most)
    assert pool.objectives == pytest.approx(truth[:most], abs=1e-9)
    assert pool.complete == (len(truth) <= most)
    texts = [str(tree.to_json()["root"]) for tree in pool.trees]
    assert len(set(texts)) == len(texts)
    near = near_optimal(problem, 10_000, within=1.0)
    assert near.complete and len(near.trees) == sum(cost <= truth[0] + 1 + 1e-9 for cost in truth)


def test_command_line(tmp_path):
    said = command(
        "fit",
        MONKS / "monks-1.csv",
        "--model",
        "dpflow",
        "--depth",
        3,
        "--encoding",
        "onehot",
        "--pool",
        20,
        "--within",
        1,
        "-o",
        "m",
        "--json",
        folder=tmp_path,
    )
    assert said.code == 0 and "m.pool.json" in str(said.facts["files"])
    assert said.facts["certified"]
    assert command("certify", "m", folder=tmp_path).code == 0
    pool = read_pool(tmp_path / "m.pool.json")
    assert pool.objectives[0] == said.facts["objective"] and pool.objectives[-1] <= said.facts["objective"] + 1
    assert (
        f"the pool has {pool.words}\n" in said.err
        and "trees with an objective of at most 12 (the best: 11)" in said.err
    )
    shown = command("show", "m.pool.json", folder=tmp_path)
    assert shown.code == 0 and f"{len(pool.trees)} trees" in shown.out and next(iter(pool.feature_use())) in shown.out
    assert (
        command("show", "m.pool.json", "--tree", 1, folder=tmp_path).out
        == command("show", "m.tree.json", folder=tmp_path).out
        or len(pool.trees) > 1
    )
    whole = command("export", "m.pool.json", "--to", "python", folder=tmp_path)
    assert whole.code == 1 and "--tree N" in whole.err
    beyond = command("show", "m.pool.json", "--tree", 999, folder=tmp_path)
    assert beyond.code == 2 and "999" in beyond.err
    refused = command("fit", MONKS / "monks-1.csv", "--model", "flowoct", "--pool", 3, "-o", "n", folder=tmp_path)
    assert refused.code == 2 and "dpflow" in refused.err and not list(tmp_path.glob("n.*"))


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_states_of_any_program_are_the_same_pool(data):
    """Over the states that the compiler left behind, whatever it folds, and over none."""
    forms = [{}, {"tail": "0"}, {"tail": "1"}, {"tail": "2"}, {"proof": True}, {"fold": False, "tail": "0"}]
    plain = data.draw(problems(("dpflow", {}), depths=(1, 2, 3, 4), most_rows=10))
    wanted = near_optimal(plain, 60)
    for form in forms:
        problem = replace(plain, params=parse_params("dpflow", form))
        pipeline.compile_model(problem)
        found = near_optimal(problem, 60)
        assert found.objectives == pytest.approx(wanted.objectives, abs=1e-9)
        assert (found.complete, found.at_least) == (wanted.complete, wanted.at_least)


@pytest.fixture
def many(tmp_path):
    """Noise: trees of depth 3 beyond counting."""
    rng = np.random.default_rng(0)
    lines = [
        "a,b,c,d,y",
        *(
            ",".join(map(str, row))
            for row in np.column_stack([rng.integers(0, 8, (300, 4)), rng.integers(0, 2, 300)]).tolist()
        ),
    ]
    (tmp_path / "many.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("ranking", [ranked_trees.ranking_of, ranked_trees.DpflowRanking])
def test_a_pool_ends_with_the_time_the_memory_or_a_word(ranking, many, monkeypatch):
    monkeypatch.setattr(ranked_trees, "ranking_of", ranking)
    problem = pipeline.pose(many / "many.csv", "dpflow", 3)
    pipeline.compile_model(problem)

    def ended_by(problem_at_the_end):
        """A pool of all trees, ended in one of its checks of the time."""
        calls = iter(range(10**6))

        def check():
            if next(calls) > 200:
                raise problem_at_the_end

        with monkeypatch.context() as patch:
            patch.setattr(deadline, "check", check)
            return near_optimal(problem, 10**9, seconds=3600)

    timed = ended_by(TimeLimitReached())
    assert (
        not timed.complete
        and timed.stopped == "the time limit"
        and timed.trees
        and list(timed.objectives) == sorted(timed.objectives)
    )
    assert timed.at_least >= len(timed.trees) and f"{len(timed.trees)} of at least" in timed.words
    with monkeypatch.context() as patch:
        for module in (k_best, ranked_trees):
            patch.setattr(module, "available", lambda: 3_000_000)
        small = near_optimal(problem, 10**9)
    assert (
        small.stopped == "the memory"
        and 0 < len(small.trees) < 10**5
        and all(a == b for a, b in zip(small.objectives, timed.objectives))
    )
    ten = near_optimal(problem, 10)
    assert (len(ten.trees), ten.stopped, ten.complete) == (10, "--pool 10", False) and ten.at_least > 10
    broken = ended_by(KeyboardInterrupt())
    assert broken.stopped == "an interruption" and all(a == b for a, b in zip(broken.objectives, timed.objectives))


def test_the_pool_is_found_after_the_solve_in_the_time_left(many):
    said = command("fit many.csv --model dpflow --depth 3 --pool 3 -p intervals=false -o m --json", folder=many)
    assert said.code == 0, said.err
    assert (said.facts["termination"], said.facts["verified"]) == ("optimal", True)
    assert said.err.count("\n") == 1 and "3 of at least" in said.err and "--pool 3 ended the list" in said.err
    assert read_pool(many / "m.pool.json").objectives[0] == said.facts["objective"]
    late = command(
        "fit many.csv --model dpflow --depth 3 --pool", 10**9, "--time-limit", 0.001, "-o", "m", "--json", folder=many
    )
    assert late.code == 0 and "the time limit" in late.err


def test_a_pool_without_time_leaves_no_older_one(many):
    problem = pipeline.pose(many / "many.csv", "dpflow", 3)
    pipeline.compile_model(problem)
    assert pool_text(problem, 5, None, 0.0) == (None, "the pool has no trees yet: the time limit came first")
    (many / "m.pool.json").write_text("of an older fit")
    assert command("fit many.csv --depth 1 -o m", folder=many).code == 0 and not (many / "m.pool.json").exists()


def test_a_pool_replaces_an_older_one_together_with_its_tree(many, monkeypatch):
    """On a full disk the pool of the new run was left next to the tree of the old one."""
    words = "fit many.csv --depth 1 --pool 3 -o m"
    assert command(words, folder=many).code == 0
    before = {name: (many / name).read_bytes() for name in ("m.pool.json", "m.tree.json", "m.run.json")}

    def full(*of):
        raise OutputError("no space is left")

    monkeypatch.setattr("odtc.workflow.sinks.write_settings", full)
    assert command(words, "--min-leaf-rows", 30, folder=many).code == 1
    assert {name: (many / name).read_bytes() for name in before} == before


def test_states_that_do_not_fit_leave_the_tree(many, monkeypatch):
    def too_many(problem):
        raise ModelError("they do not fit")

    monkeypatch.setattr(ranked_trees, "ranking_of", ranked_trees.DpflowRanking)
    monkeypatch.setattr(Program, "states", property(too_many))
    said = command("fit many.csv --model dpflow --depth 3 -p intervals=true --pool 3 -o m --json", folder=many)
    assert said.code == 0 and "the size of the dynamic program came first" in said.err
    assert said.facts["verified"] and (many / "m.tree.json").exists() and not (many / "m.pool.json").exists()


def _squares(numbers) -> Fraction:
    mean = Fraction(sum(numbers), len(numbers))
    return sum((number - mean) ** 2 for number in numbers)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_a_list_of_sums_is_in_order_and_states_what_rounding_leaves_out(leaf, seed, tmp_path):
    """Sums of numbers of very different sizes: the list began with a tree that is not the best, and splits that save
    less than rounding were left out of a list that was called complete."""
    draw = np.random.default_rng(seed)
    a, b, y = draw.permutation(9), draw.permutation(9), draw.integers(0, 7, 9)
    y[draw.integers(9)] = 10 ** draw.integers(6, 9)
    lines = [f"{one},{other},{number}" for one, other, number in zip(a, b, y)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    words = ("--task", "regression", "--leaf", leaf, "--pool", 5000, "-o", "m", "--json")
    for depth in (2, 1):
        said = command("fit", "d.csv", "--depth", depth, *words, folder=tmp_path)
        assert said.code == 0, said.err
        pool = json.loads((tmp_path / "m.pool.json").read_text())
        values = [tree["objective"] for tree in pool["trees"]]
        assert values == sorted(values) and values[0] <= said.facts["objective"] + 3 * pool["rounding"]
        assert pool["complete"] and pool["rounding"] > 0 and "which may be rounding, are left out" in said.err
    if leaf == "constant":
        sides = {frozenset(np.flatnonzero(x <= cut).tolist()) for x in (a, b) for cut in range(8)}
        parts = {frozenset((side, frozenset(range(9)) - side)) for side in sides}
        costs = [sum(_squares([int(y[i]) for i in side]) for side in part) for part in parts]
        whole = _squares(y.tolist())
        sure, known = (sum(cost < whole - least for cost in costs) + 1 for least in (Fraction(pool["rounding"]), 0))
        assert sure <= len(values) <= known
