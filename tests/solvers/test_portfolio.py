"""Races: the first proof ends them, every other claim is held against it, and nobody is left running.

The fakes are shell scripts that a TOML file describes, each with one habit; the model's optimum is 2.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.errors import ChoiceError, ContradictionError, SolverError
from odtc.fileformats.model_files import write_model
from odtc.model.solution import Options, Solution, Termination
from odtc.solvers import child_process, portfolio, portfolio_members
from odtc.solvers.solver import find_solver, version
from odtc.testing.exhaustive import cheapest
from odtc.workflow.run_record import read_run
from tests.command_line import command, refused, signalled
from tests.command_line import odtc as run_odtc
from tests.solvers.test_solver import model

SMALL = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
MONKS = Path(__file__).parents[2] / "examples" / "monks" / "monks-1.csv"
DESCRIBED = Path(__file__).parents[2] / "examples" / "my-solver" / "my_solver.toml"
TWO, THREE = "x0 1\nx1 1\nx2 0\n", "x0 1\nx1 1\nx2 1\n"
WAIT = "exec sleep 600"
FAKES = {
    "honest": f"sleep 0.5; printf '{TWO}' > $1; echo bound 2; echo done",
    "sleeps": WAIT,
    "deaf": "trap '' INT TERM; sleep 600",
    "crashes": "echo 'Segmentation fault'; kill -SEGV $$",
    "floods": "while :; do echo 'more and more and more of the same'; done",
    "bound_30": f"echo bound 30; {WAIT}",
    "bound_2": f"echo bound 2; {WAIT}",
    "bound_1": f"echo bound 1; {WAIT}",
    "point_3": f"printf '{THREE}' > $1; echo bound 0; {WAIT}",
    "point_2": f"printf '{TWO}' > $1; echo bound 0; {WAIT}",
    "proves_3": f"sleep 1; printf '{THREE}' > $1; echo bound 3; echo done",
    "denies": "sleep 1; echo none",
    "breaks_rows": "printf 'x0 0\\nx1 0\\nx2 0\\n' > $1; echo bound 0; echo done",
    "crashes_after_30": "echo bound 30; kill -SEGV $$",
}


@pytest.fixture
def fakes(tmp_path, monkeypatch):
    """Makes `a,b` of the names of fakes; their process ids are in NAME.pid."""
    monkeypatch.setattr(child_process, "NUDGE", 0.1)
    monkeypatch.setattr(child_process, "GRACE", 1.0)
    monkeypatch.setattr(child_process, "PATIENCE", 0.3)

    def make(*names: str) -> str:
        for name in names:
            script = tmp_path / f"{name}.sh"
            script.write_text(f"#!/bin/bash\necho $$ > '{tmp_path / name}.pid'\n{FAKES[name]}\n")
            script.chmod(0o755)
            (tmp_path / f"{name}.toml").write_text(
                f"command = ['{script}', '{{{{ solution }}}}']\npattern = '^(?P<name>x\\d) (?P<value>\\S+)$'\n"
                "bound = '^bound (\\S+)$'\n[status]\ndone = 'optimal'\nnone = 'infeasible'\n"
            )
        return ",".join(str(tmp_path / f"{name}.toml") for name in names)

    yield make
    for path in tmp_path.glob("*.pid"):
        assert not _running(int(path.read_text())), path


def _running(group: int) -> list[str]:
    """What still runs of a process group; an orphan that nobody has fetched yet does not run."""
    for _ in range(100):
        about = [text.rsplit(")", 1)[1].split() for text in _texts("/proc", "[0-9]*/stat")]
        alive = [words[0] for words in about if int(words[2]) == group and words[0] != "Z"]
        if not alive:
            break
        time.sleep(0.05)
    return alive


def _texts(folder, pattern):
    for path in Path(folder).glob(pattern):
        try:
            yield path.read_text()
        except OSError:
            pass  # it ended meanwhile


def by_name(solution) -> dict:
    return {racer.name: racer for racer in solution.race}


# --- the first proof -----------------------------------------------------------------------------


def test_the_first_proof_ends_the_others(fakes):
    began = time.monotonic()
    found = portfolio.run(SMALL, fakes("sleeps", "honest", "deaf", "point_3"))
    assert (found.termination, found.objective, found.bound, found.solver.split()[0]) == ("optimal", 2, 2, "honest")
    assert time.monotonic() - began < 60  # the others would sleep for ten minutes
    racers = by_name(found)
    assert list(racers) == ["sleeps", "honest", "deaf", "point_3"]
    assert racers["honest"].gave == ("proof",) and [r.name for r in found.race if r.won] == ["honest"]
    # What a loser had when it was stopped.
    assert (racers["point_3"].termination, racers["point_3"].objective, racers["point_3"].bound) == (
        "interrupted",
        3,
        0,
    )


@pytest.mark.parametrize("trouble", ["crashes", "floods", "crashes_after_30", "breaks_rows"])
def test_one_that_misbehaves_does_not_lose_the_race(fakes, trouble):
    found = portfolio.run(SMALL, fakes(trouble, "honest"))
    assert (found.termination, found.objective) == ("optimal", 2)
    assert by_name(found)[trouble].termination == ("interrupted" if trouble == "floods" else "error")


def test_a_proof_that_there_is_none_wins_too(fakes):
    found = portfolio.run(SMALL, fakes("denies", "sleeps"))
    assert (found.termination, found.has_solution) == ("infeasible", False)
    assert by_name(found)["denies"].gave == ("proof",)


# --- every claim is held against it --------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "both"),
    [
        (("honest", "bound_30"), ("bound_30 says that nothing is below 30", "honest has a solution of 2")),
        (("proves_3", "point_2"), ("proves_3 says that nothing is below 3", "point_2 has a solution of 2")),
        (("denies", "point_3"), ("denies reports that no solution exists", "point_3 has a solution of 3")),
    ],
)
def test_a_false_claim_is_an_error_that_names_both(fakes, names, both):
    with pytest.raises(ContradictionError) as refusal:
        portfolio.run(SMALL, fakes(*names))
    assert all(words in str(refusal.value) for words in both)


def test_a_false_claim_at_the_command_line_leaves_the_logs_only(fakes, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    write_model(SMALL, folder / "m.mps")
    said = run_odtc("solve", "m.mps", "--solver", fakes("honest", "bound_30"), "--threads", 2, folder=folder)
    assert "one of them is wrong" in refused(said) and said.out == ""
    assert {path.name for path in folder.iterdir()} == {"m.mps", "m.log", "m.honest.log", "m.bound_30.log"}
    assert (folder / "m.bound_30.log").read_text() == "bound 30\n"


# --- without a proof -----------------------------------------------------------------------------


def test_at_the_limit_the_best_point_and_the_best_bound_win_together(fakes):
    found = portfolio.run(SMALL, fakes("point_3", "bound_1", "sleeps"), Options(time_limit=1))
    assert (found.termination, found.objective, found.bound) == ("time_limit", 3, 1)
    assert {name: racer.gave for name, racer in by_name(found).items()} == {
        "point_3": ("incumbent",),
        "bound_1": ("bound",),
        "sleeps": (),
    }
    assert "point_3" in found.solver and "bound_1" in found.solver


def test_a_point_of_one_that_meets_the_bound_of_another_is_a_proof(fakes):
    found = portfolio.run(SMALL, fakes("point_2", "bound_2"), Options(time_limit=1))
    assert (found.termination, found.objective, found.bound) == ("optimal", 2, 2)


def test_a_bound_of_one_that_failed_is_no_bound(fakes):
    found = portfolio.run(SMALL, fakes("point_3", "crashes_after_30"), Options(time_limit=1))
    assert (found.termination, found.objective, found.bound) == ("time_limit", 3, 0)


def test_all_fail(fakes):
    found = portfolio.run(SMALL, fakes("crashes", "crashes_after_30"))
    assert (found.termination, found.has_solution) == ("error", False)
    assert "crashes: Segmentation fault" in found.message


def test_ctrl_c_keeps_the_best_incumbent(fakes):
    def progress(said):
        if said.bound == 1:
            time.sleep(0.5)  # so that the other has written its point
            raise KeyboardInterrupt

    found = portfolio.run(SMALL, fakes("point_3", "bound_1"), progress=progress)
    assert (found.termination, found.objective, found.bound) == ("interrupted", 3, 1)


def test_ctrl_c_at_the_command_line(fakes, tmp_path):
    write_model(SMALL, tmp_path / "m.mps")
    both = [tmp_path / "point_3.pid", tmp_path / "sleeps.pid"]
    words = command("solve", "m.mps", "--solver", fakes("point_3", "sleeps"), "--json")
    facts = signalled(words, tmp_path, lambda: all(path.exists() for path in both), rest=0.5).facts
    assert (facts["termination"], facts["objective"], facts["has_solution"]) == ("interrupted", 3, True)
    assert (tmp_path / "m.sol").exists()


# --- who runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threads", "shares"), [(1, (1, 1, 1)), (3, (1, 1, 1)), (5, (2, 2, 1)), (12, (4, 4, 4))])
def test_threads_are_shared_out(fakes, threads, shares):
    field = portfolio_members.line_up(fakes("honest", "sleeps", "deaf"), threads)
    assert tuple(share for *_, share in field.found) == shares
    assert bool(field.notes) == (threads < 3)


def test_one_that_is_missing_is_said_and_left_out(fakes, monkeypatch):
    honest = fakes("honest")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    field = portfolio_members.line_up(f"cuopt,{honest}", 2)
    assert field.names == ("honest",) and field.notes[0].startswith("cuopt is left out: it is not on this machine")
    found = portfolio.run(SMALL, f"cuopt,{honest}")
    assert found.objective == 2 and "not on this machine" in by_name(found)["cuopt"].message


@pytest.mark.parametrize(
    ("solvers", "kind", "words"),
    [
        ("cuopt,", ChoiceError, "names of solvers between commas"),
        ("highs,hihgs", ChoiceError, "did you mean 'highs'"),
        ("highs,cbc,highs", ChoiceError, "'highs' twice"),
        ("cuopt,nothing.toml", SolverError, "none of the solvers cuopt, nothing"),
    ],
)
def test_a_race_that_cannot_be(solvers, kind, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing.toml").write_text("command = ['/nowhere/at/all']")
    with pytest.raises(kind, match=words):
        odtc.solve(SMALL, solver=solvers)


def test_no_program_of_its_own():
    with pytest.raises(ChoiceError, match="`program`: expected none in a race"):
        odtc.solve(SMALL, solver="highs,cbc", program="cbc")


# --- real ones -----------------------------------------------------------------------------------


def _present(*names: str) -> str:
    found = [name for name in names if version(find_solver(name)) is not None]
    if len(found) < 2 and not os.environ.get("ODTC_REQUIRE_SOLVERS"):
        pytest.skip(f"a race needs two of {', '.join(names)}")
    return ",".join(found if len(found) > 1 else names)


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """Every seventh row of monks-1."""
    lines = MONKS.read_text().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("few") / "few.csv"
    path.write_text(lines[0] + "".join(lines[1::7]))
    return path


def _fewest_errors(problem, depth: int) -> float:
    encoded = problem.encoded
    return cheapest(np.asarray(encoded.X, bool), encoded.y, encoded.weight, depth)


@pytest.mark.parametrize(
    "solvers",
    [
        ("highs", "scip", "cbc"),
        ("glpk", "ortools", str(DESCRIBED)),
        ("lp_solve", "highs-cli", "gurobi"),
    ],
)
def test_a_race_of_real_solvers(solvers, few):
    compiled = odtc.build(few, "flowoct", 2, encoding="onehot")
    logs, winner, heard = {}, [], []
    found = odtc.solve(
        compiled,
        solver=_present(*solvers),
        threads=2,
        time_limit=120,
        start=odtc.start(compiled)[1],
        log=winner.append,
        logs=lambda name, text: logs.setdefault(name, []).append(text),
        progress=heard.append,
    )
    decoded = odtc.decode(compiled, found)
    assert found.termination == "optimal"
    assert decoded.verified, [check for check in decoded.checks if not check.passed]
    best = _fewest_errors(compiled.problem, 2)
    assert (round(found.objective, 6), round(found.bound, 6)) == (best, best)
    (won,) = [racer for racer in found.race if racer.won]
    assert won.termination == "optimal" and won.solver == found.solver
    assert "".join(winner) == "".join(logs[won.name]) != ""
    assert found.history and heard


def test_a_race_in_a_loop(few):
    # The printed separation has no relaxation before the first master, which could prove the tree already.
    how = {"solver": _present("highs", "cbc"), "time_limit": 120, "threads": 2, "params": {"literal": True}}
    fitted = odtc.fit(few, "bendersoct", 1, encoding="onehot", **how)
    assert fitted.facts["verified"] and fitted.facts["objective"] == _fewest_errors(fitted.model.problem, 1)
    assert {racer["name"] for racer in fitted.facts["race"]} == {"highs", "cbc"}


def test_the_record_and_what_is_said_of_a_race(few, tmp_path):
    solvers = _present("highs", "glpk")
    done = run_odtc("fit", few, "--encoding", "onehot", "--solver", solvers, "--threads", 1, "-o", "m", folder=tmp_path)
    assert done.code == 0, done.err
    assert done.err.startswith("2 solvers share 1 thread") and "gave the proof" in done.out
    assert done.out.count("\nrace ") == 1
    record = read_run(tmp_path / "m.sol")
    assert [racer.name for racer in record.race] == ["highs", "glpk"]
    won = next(racer for racer in record.race if racer.won)
    assert (tmp_path / "m.log").read_text() == (tmp_path / f"m.{won.name}.log").read_text()
    again = run_odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert again["race"] == json.loads((tmp_path / "m.run.json").read_text())["race"]
    assert {"name", "termination", "objective", "bound", "seconds", "won"} <= set(again["race"][0])


def test_an_unbounded_model_has_no_point():
    endless = model([-1, -1], [[1, -1], [-1, 1]], -np.inf, 3, upper=np.inf)
    found = portfolio.run(endless, _present("highs", "glpk", "cbc"), Options(threads=1))
    assert found.termination in ("unbounded", "infeasible_or_unbounded") and not found.has_solution


def test_a_race_of_a_maximised_model_is_told_in_its_own_sense(fakes, tmp_path):
    (tmp_path / "m.lp").write_text(
        "Maximize\n obj: - x0 - x1 - x2\nSubject To\n a: x0 + x1 >= 1\n b: x1 + x2 >= 1\n c: x0 + x2 >= 1\n"
        "Bounds\n x0 <= 1\n x1 <= 1\n x2 <= 1\nGeneral\n x0 x1 x2\nEnd\n"
    )
    facts = run_odtc("solve", "m.lp", "--solver", fakes("honest", "point_3"), "--json", folder=tmp_path).facts
    assert (facts["objective"], facts["bound"]) == (-2, -2)
    assert [(racer["objective"], racer["bound"]) for racer in facts["race"]] == [(-2, -2), (-3, 0)]
    said = run_odtc("solve", "m.lp", "--solver", fakes("honest", "bound_30"), folder=tmp_path)
    assert "bound_30 says that nothing is above -30, but honest has a solution of -2" in said.err


# --- the law of the verdict ----------------------------------------------------------------------

ENDS = (Termination.OPTIMAL, Termination.TIME_LIMIT, Termination.INTERRUPTED, Termination.UNKNOWN, Termination.ERROR)


@given(
    st.integers(0, 50),
    st.lists(
        st.tuples(st.sampled_from(ENDS), st.integers(0, 9) | st.none(), st.integers(0, 9) | st.none()), min_size=1
    ),
    st.none() | st.integers(1, 9),
)
def test_what_all_say_together(optimum, said, lie):
    """Of solvers that say the truth none is accused, and together they have the best point and the best
    bound; a bound above a point is found out."""
    entrants = []
    for at, (termination, above, below) in enumerate(said):
        if termination == Termination.OPTIMAL:
            above = below = 0
        x = None if above is None else np.zeros(1)
        entrants.append(
            portfolio._Entrant(
                f"s{at}",
                "",
                None,
                Options(),
                seconds=float(at),
                solution=Solution(
                    x,
                    termination,
                    None if above is None else float(optimum + above),
                    None if below is None else float(optimum - below),
                    solver=f"s{at}",
                ),
            )
        )
    points = [e.solution.objective for e in entrants if e.solution.has_solution]
    if lie is not None and points:
        entrants.append(
            portfolio._Entrant(
                "liar",
                "",
                None,
                Options(),
                seconds=99.0,
                solution=Solution(None, Termination.TIME_LIMIT, None, min(points) + lie, solver="liar"),
            )
        )
        with pytest.raises(ContradictionError, match="^liar says that nothing is below"):
            portfolio._refuse_crossed(entrants, False)
        return
    portfolio._refuse_crossed(entrants, False)
    heat = portfolio._Heat(None, None, None, entrants, None)
    found = portfolio._verdict(heat, portfolio_members.Lineup((), {"gone": "why"}, ()), 1.0, [], Options())
    bounds = [
        e.solution.bound
        for e in entrants
        if e.solution.bound is not None and e.solution.termination != Termination.ERROR
    ]
    assert (found.objective, found.bound) == (min(points, default=None), max(bounds, default=None))
    assert (found.termination == Termination.OPTIMAL) == (bool(points and bounds) and min(points) == max(bounds))
    assert [racer.name for racer in found.race] == [e.name for e in entrants] + ["gone"]
    gave = [what for racer in found.race for what in racer.gave]
    assert gave == ["proof"] or sorted(gave) == ["bound"] * bool(bounds) + ["incumbent"] * bool(points)
