"""Rows separated at the root relaxation: law 4 for them, what stays after purging, and files that need no solver to
be read."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc import read
from odtc.data.encoding import encode
from odtc.errors import ChoiceError, ManifestError
from odtc.fileformats.solution_files import write_point
from odtc.heuristics.heuristic import grow
from odtc.model.solution import Solution, Termination
from odtc.problem.cuts import cut, separation
from odtc.problem.cuts.cut import CUTS, EVERY_TREE
from odtc.problem.formulation import loop_of
from odtc.testing.optima import exhaustive_cost, relaxed
from odtc.testing.problems import form_id, heaps, problems
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow import files_of_models, solving
from odtc.workflow.rounds import Rounds
from tests import pipeline
from tests.command_line import MONKS, odtc
from tests.laws.test_cuts import OFFERED, assert_kept, compiled, data_problem

SLOW = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
    "derandomize": True,
}
SEPARATING = [name for name in CUTS.names() if getattr(CUTS.get(name), "SEPARATES", False)]


PAIRS = [(name, form) for name in SEPARATING for form, families in OFFERED if name in families]


def taught(problem, word):
    """The model with the rows of `word`, and the rounds that it took."""
    ended = []
    rounds = pipeline.relaxations()
    rounds.tell = ended.append
    return pipeline.compile_model(problem, (word,), rounds), ended


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), PAIRS, ids=lambda part: part if isinstance(part, str) else form_id(part))
@given(data=st.data())
@settings(max_examples=8, **SLOW)
def test_separated_rows_hold_for_every_tree_and_raise_the_bound(name, form, data):
    problem = data.draw(problems(form, most_rows=10))
    plain = compiled(problem)
    assume(not cut.why_unfit(name, problem, plain))  # costs by pair may take a form without the columns
    static = pipeline.compile_model(problem, (name,))
    model, rounds = taught(problem, f"{name}:rounds=1000")
    assert model.columns == plain.columns and model.rows[: len(plain.rows)] == plain.rows
    new = np.arange(plain.n_rows, model.n_rows)
    if CUTS.get(name).VALID == EVERY_TREE:
        assert_kept(model, model.join(problem.module.start(problem, data.draw(heaps(problem)))), new)
        implied = loop_of(problem) is None  # a loop's master does not imply them
        assert set(model.user_cuts) == ({block.name for block in model.rows[len(plain.rows) :]} if implied else set())
    # Rounds raise the bound, purging leaves it, and where no row is broken any more none of the static ones is.
    bounds = [one.bound for one in rounds]
    assert all(after >= before - 1e-6 for before, after in pairwise(bounds))
    assert rounds[-1].added == 0 and [one.rows for one in rounds[1:]] == [one.rows + one.added for one in rounds[:-1]]
    assert relaxed(plain) == pytest.approx(bounds[0], abs=1e-6) and relaxed(model) == pytest.approx(
        bounds[-1], abs=1e-5
    )
    assert relaxed(model) >= relaxed(static) - 1e-5
    solution = pipeline.solve(model, threads=1)
    assert solution.objective == pytest.approx(exhaustive_cost(problem), abs=1e-5)
    assert pipeline.decode(model, solution).verified


@given(data=st.data())
@settings(max_examples=10, **SLOW)
def test_what_is_purged_was_slack_and_what_stays_is_not(data):
    problem = data.draw(problems(("flowoct", {"bottom": "flow"}), depths=(2,), most_rows=10))
    assume(not cut.why_unfit("paper4", problem, compiled(problem)))
    points = []

    def solve(model):
        solution = pipeline.solve(model, threads=1)
        points.append((model, solution.x))
        return solution

    model = separation.separate_rows(compiled(problem), ("paper4:rounds=5",), solve)
    (largest, x), plain = points[-1], compiled(problem)
    assert (largest.A @ x <= largest.row_upper + 1e-6).all()
    room = (model.row_upper - model.A @ x)[plain.n_rows :]
    assert (np.abs(room) <= separation.TOLERANCE).all()
    tight = np.abs(largest.row_upper - largest.A @ x)[plain.n_rows :] <= separation.TOLERANCE
    assert len(room) == tight.sum() and len(points) <= 6


def test_rounds_end_where_the_solver_does():
    problem = data_problem({"bottom": "flow"})
    model = separation.separate_rows(
        compiled(problem), ("paper4:rounds=5",), lambda part: Solution(None, Termination.TIME_LIMIT)
    )
    assert model.n_rows == compiled(problem).n_rows and model.cuts == ("paper4:rounds=5",) and model.separated == ()


def test_a_time_limit_holds_for_all_rounds():
    asked = []

    def solve(model, **words):
        asked.append(words["time_limit"])
        return Solution(None, Termination.TIME_LIMIT)

    rounds = Rounds(solve, 7.0)
    separation.separate_rows(
        compiled(data_problem({"bottom": "flow"})), ("paper4:rounds=5",), rounds.solve, rounds.tell
    )
    assert 0 < asked[0] <= 7.0 and rounds.left <= 7.0


@pytest.mark.parametrize("cuts", ["paper4:rounds=5", "paper4:rounds=5,paper4,commutation"])
def test_the_manifest_holds_the_rows_and_nothing_is_separated_again(cuts, tmp_path, monkeypatch):
    problem = pipeline.pose(MONKS / "monks-1.csv", "flowoct", 1, encoding="onehot", params={"bottom": "flow"})
    model = pipeline.compile_model(problem, cuts)
    assert model.separated and model.cuts == tuple(
        sorted(cuts.split(","), key=["paper4", "commutation", "paper4:rounds=5"].index)
    )
    files_of_models.write_build(model, tmp_path / "m", "mps")
    solution = Solution(
        model.join(problem.module.start(problem, pipeline.start(model, "cart")[0])), Termination.UNKNOWN
    )
    write_point(model, solution.x, tmp_path / "m.sol", "highs")
    monkeypatch.setattr(solving, "solve", None)
    again, back, _ = files_of_models.open_solution(tmp_path / "m.sol")
    assert (again.rows, again.cuts, again.separated, again.user_cuts) == (
        model.rows,
        model.cuts,
        model.separated,
        model.user_cuts,
    )
    np.testing.assert_array_equal(again.A.toarray(), model.A.toarray())
    np.testing.assert_array_equal(again.row_upper, model.row_upper)
    assert pipeline.decode(again, back).verified
    # A manifest without the rows is not one of this model.
    facts = json.loads((tmp_path / "m.odt.json").read_text())
    facts["model"]["rows"] = [
        {key: value for key, value in block.items() if key != "cut"} for block in facts["model"]["rows"]
    ]
    (tmp_path / "m.odt.json").write_text(json.dumps(facts))
    with pytest.raises(ManifestError, match="build the model again"):
        files_of_models.open_solution(tmp_path / "m.sol")


def test_the_commands_separate_show_it_and_write_the_same_bytes(tmp_path):
    words = [
        MONKS / "monks-1.csv",
        "--depth",
        "1",
        "--encoding",
        "onehot",
        "-p",
        "bottom=flow",
        "--cuts",
        "paper4:rounds=3",
    ]
    built = odtc("build", *words, "--dialect", "gurobi", "--json", "-o", "m", folder=tmp_path)
    shown = [line for line in built.err.splitlines() if line.startswith("round")]
    assert 2 <= len(shown) <= 4 and built.facts["cuts"] == ["paper4:rounds=3"] and built.facts["n_rows_separated"] > 0
    text = (tmp_path / "m.mps").read_text()
    assert "USERCUTS" in text and "USERCUTS" in built.err
    odtc("build", *words, "--dialect", "gurobi", "-o", "m", folder=tmp_path)
    assert (tmp_path / "m.mps").read_text() == text
    by = ("--model", "flowoct", "--threads", "1", "--keep", "--format", "mps", "--json", "-o", "f")
    fitted = odtc("fit", *words, *by, folder=tmp_path)
    encoded = encode(read(MONKS / "monks-1.csv"), "onehot")
    best = grow("optimal", encoded, CompleteTree(1)).errors(encoded)
    assert fitted.facts["objective"] == best and fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
    assert [line for line in (tmp_path / "f.log").read_text().splitlines() if line.startswith("round")]
    assert [path.name for path in sorted(tmp_path.glob("f.round*.mps"))] == [
        f"f.round{number:02}.mps" for number in range(1, len(shown) + 1)
    ]
    assert odtc("solve", "f.mps", "--threads", "1", "--json", "-o", "g.sol", folder=tmp_path).facts[
        "objective"
    ] == pytest.approx(best)
    assert odtc("verify", "g.sol", "--manifest", "f.odt.json", folder=tmp_path).code == 0


def test_what_cannot_be_separated_is_said():
    problem = data_problem({"bottom": "flow"})
    with pytest.raises(ChoiceError, match="'commutation' gives all its rows at once.*families that separate: paper4"):
        pipeline.compile_model(problem, "commutation:rounds=3")
    for word in ("paper4:rounds=0", "paper4:rounds=few", "paper4:turns=3", "paper4:rounds"):
        with pytest.raises(ChoiceError, match="expected paper4:rounds=N"):
            pipeline.compile_model(problem, word)
    with pytest.raises(ChoiceError, match="bottom=.flow"):
        pipeline.compile_model(data_problem({}), "paper4:rounds=3")
    with pytest.raises(ChoiceError, match="did you mean 'paper4'"):
        pipeline.compile_model(problem, "paper:rounds=3")


def test_rows_of_any_block_can_be_laid_behind_a_model():
    """`append` makes again what `rows_of` took, whatever blocks of columns the rows speak of."""
    model = compiled(replace(data_problem({"lambda": 0.25, "bottom": "flow"})))
    for at, block in enumerate(model.rows):
        A, side = separation.rows_of(model, at, at + 1), slice(block.start, block.stop)
        longer = separation.append(model, "paper4", block.name, A, model.row_lower[side], model.row_upper[side])
        last = separation.rows_of(longer, len(model.rows), len(longer.rows))
        np.testing.assert_array_equal(last.toarray(), A.toarray())
        np.testing.assert_array_equal(longer.row_lower[model.n_rows :], model.row_lower[side])
        assert longer.rows[-1].name != block.name and longer.separated == ((longer.rows[-1].name, "paper4"),)
