"""Running a solver: deadlines, ends of all kinds, and a solver that does not keep its limit.

The fake solver is found through an entry point, in this process and in the worker's.
"""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from odtc.errors import ChoiceError, SolverError
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model
from odtc.model.solution import Options
from odtc.solvers import child_process
from odtc.solvers import solve as running
from odtc.solvers.solve import shared_process, solve, solve_until

FAKE = '''
"""A solver that sends one incumbent and then does what the seed says."""
import os, sys, time
from pathlib import Path
import numpy as np
from odtc.solvers.protocols import Dialect
from odtc.solvers.protocols import Incumbent, Log, Outcome
from odtc.model.solution import Progress, Termination
NAME, SUMMARY, DIALECT = "fake", "for tests", Dialect()
def version(): return None if os.environ.get("FAKE_ABSENT") else "1.0"
def read_log(text): return None
def run(job, emit, cancelled):
    Path(os.environ["FAKE_PID"]).write_text(str(os.getpid()))
    emit(Log("hello\\n"))
    if job.options.seed not in (7, 10):
        emit(Incumbent(np.ones(len(job.c))))
        emit(Progress(0.1, 2.0, 1.0, 3))
    if job.options.seed in (1, 7):          # deaf: neither limit nor nudge
        time.sleep(600)
    if job.options.seed == 2:               # listens
        while not cancelled(): time.sleep(0.01)
        return Outcome(None, Termination.INTERRUPTED, None, 1.5, 4)
    if job.options.seed == 3:               # crashes
        os._exit(7) if job.options.time_limit else None
        raise RuntimeError("boom")
    if job.options.seed == 4:               # prints rubbish where its events go
        os.write(1, b"rubbish" * 1000); print("more rubbish")
        raise ValueError("bad")
    if job.options.seed == 6:               # is wrong
        return Outcome(None, Termination.INFEASIBLE)
    if job.options.seed == 8:               # breaks a row, a bound, or has no number
        return Outcome(np.array(eval(os.environ["FAKE_POINT"]), float), Termination.OPTIMAL, 2.0, 1.0)
    if job.options.seed == 9:               # has had no time to look
        time.sleep(job.options.time_limit)
        return Outcome(None, Termination.INFEASIBLE_OR_UNBOUNDED)
    if job.options.seed == 10:              # has no point, and no bound but infinity
        return Outcome(None, Termination.OPTIMAL, None, -1e20)
    if job.options.seed == 11 and job.start is None:
        return Outcome(np.array([1.0, 1.0, 0.0]), Termination.OPTIMAL, 2.0, 2.0, 5)
    return Outcome(np.ones(len(job.c)), Termination.OPTIMAL, 2.0, 2.0, 5)
'''


@pytest.fixture
def fake(tmp_path, monkeypatch):
    (tmp_path / "fake_solver.py").write_text(FAKE)
    about = tmp_path / "fake_solver-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-solver\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[odtc.solvers]\nfake = fake_solver\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("FAKE_PID", str(tmp_path / "pid"))
    monkeypatch.setattr(child_process, "GRACE", 0.5)
    monkeypatch.setattr(child_process, "NUDGE", 0.1)
    yield
    sys.modules.pop("fake_solver", None)


def model(c, A, row_lower, row_upper, lower=0.0, upper=1.0, whole=True) -> Model:
    A = sp.csc_array(np.atleast_2d(np.asarray(A, float)))
    n, m = A.shape[1], A.shape[0]
    full = lambda value, size: np.broadcast_to(np.asarray(value, float), size).copy()  # noqa: E731
    names = lambda letter, size: (NamedBlock(tuple(f"{letter}{i}" for i in range(size))),)  # noqa: E731
    return Model(
        "small",
        full(c, n),
        0.0,
        full(row_lower, m),
        full(row_upper, m),
        full(lower, n),
        full(upper, n),
        np.full(n, whole, np.uint8),
        names("x", n),
        names("r", m),
        matrix=A,
    )


COVER = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)


@pytest.mark.parametrize("limit", [None, 60])
def test_optimal(limit):
    found = solve(COVER, options=Options(time_limit=limit))
    assert (found.termination, found.objective, found.bound, found.gap) == ("optimal", 2, 2, 0)
    assert (COVER.A @ found.x >= 1 - 1e-9).all()


@pytest.mark.parametrize("limit", [None, 60])
def test_infeasible(limit):
    found = solve(model([1], [[1]], 2, np.inf), options=Options(time_limit=limit))
    assert found.termination in ("infeasible", "infeasible_or_unbounded")
    assert not found.has_solution and found.objective is None and found.gap is None


def test_unbounded_has_no_point():
    found = solve(model([-1], [[1]], 0, np.inf, upper=np.inf))
    assert found.termination in ("unbounded", "infeasible_or_unbounded") and not found.has_solution


def test_a_linear_program_has_its_optimum_for_bound():
    found = solve(model([-1, -2], [[1, 1]], -np.inf, 1.5, whole=False))
    assert found.termination == "optimal" and found.objective == found.bound == -2.5


def test_the_log_and_the_progress_are_heard():
    log, progress = [], []
    solve(COVER, log=log.append, progress=progress.append)
    assert "Solving report" in "".join(log)
    assert progress[-1].incumbent == 2 and progress[-1].bound == 2


def test_the_rounds_of_a_loop_share_a_process_until_one_has_to_be_ended(fake, tmp_path):
    seen = []

    def pid(seed: int, limit: float = 60) -> int:
        found = solve(COVER, "fake", Options(time_limit=limit, seed=seed))
        seen.append(found.termination)
        return int((tmp_path / "pid").read_text())

    with shared_process(soft=False):
        first = pid(0)
        assert first == pid(0) == pid(6) != os.getpid()  # an answer of any kind ends a round
        deaf = pid(1, 0.2)
        after = pid(0)
        crashed = pid(3)
        last = pid(0)
    assert deaf == first and crashed == after and len({first, after, last, os.getpid()}) == 4
    assert seen == ["unknown", "unknown", "infeasible", "time_limit", "unknown", "error", "unknown"]
    for child in (first, after, last):
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    assert pid(0) != pid(0)  # outside of a loop each run has its own


def test_the_rounds_of_a_loop_without_a_limit_need_no_process(fake, tmp_path):
    with shared_process(soft=True):
        found = solve(COVER, "fake", Options(time_limit=60))
    assert found.nodes == 5 and int((tmp_path / "pid").read_text()) == os.getpid()


def test_a_solver_that_keeps_no_limit_is_ended_and_its_incumbent_kept(fake, tmp_path):
    began = time.monotonic()
    found = solve(COVER, "fake", Options(time_limit=0.2, seed=1))
    assert found.termination == "time_limit" and found.x.tolist() == [1, 1, 1]
    assert (found.objective, found.bound, found.nodes) == (3, 1, 3)
    assert time.monotonic() - began < 60  # it would sleep for ten minutes
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_solver_that_keeps_no_limit_and_has_no_incumbent(fake):
    found = solve(COVER, "fake", Options(time_limit=0.2, seed=7))
    assert found.termination == "time_limit" and not found.has_solution


def test_a_solver_that_stops_when_told(fake):
    found = solve(COVER, "fake", Options(time_limit=0.2, seed=2))
    assert found.termination == "time_limit" and found.has_solution and (found.bound, found.nodes) == (1.5, 4)


def test_ctrl_c_before_a_solver_can_be_told_hands_back_what_is_known(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_in_thread", interrupted)
    found = solve(COVER)
    assert (found.termination, found.has_solution) == ("interrupted", False)


@pytest.mark.parametrize("limit", [None, 500])
def test_a_solver_that_is_deaf_to_ctrl_c_is_left_after_the_grace(fake, limit, monkeypatch):
    monkeypatch.setattr(running, "LEFT", [])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    # Ctrl-C comes when the incumbent and the bound are here, however long a busy machine took to start the solver.
    found = solve(COVER, "fake", Options(time_limit=limit, seed=1), progress=lambda event: timer.start())
    timer.join()
    assert (found.termination, found.objective, found.bound) == ("interrupted", 3, 1)
    assert len(running.LEFT) == (limit is None)


@pytest.mark.parametrize("limit", [None, 60])
def test_a_solver_that_crashes_loses_nothing(fake, limit):
    found = solve(COVER, "fake", Options(time_limit=limit, seed=3))
    assert found.termination == "error" and found.has_solution and found.message


@pytest.mark.parametrize("limit", [None, 60])
def test_a_solver_that_prints_rubbish(fake, limit):
    found = solve(COVER, "fake", Options(time_limit=limit, seed=4))
    assert found.termination == "error" and "bad" in found.message


def test_the_objective_is_computed_not_believed(fake):
    found = solve(COVER, "fake", Options(seed=5))
    assert found.claimed == 2 and found.objective == 3
    assert "says the objective is 2, its point costs 3" in found.message
    assert (found.termination, found.bound) == ("unknown", None)  # its sums are those of another model


@pytest.mark.parametrize("limit", [None, 60])
def test_a_solver_that_contradicts_its_own_point_is_asked_again_without_the_start(fake, limit):
    """HiGHS 1.16 called a start of 11.58 optimal with objective 0, where 5.9 is optimal."""
    found = solve(COVER, "fake", Options(seed=11, time_limit=limit), start=np.ones(3))
    assert (found.termination, found.objective, found.bound, found.message) == ("optimal", 2, 2, "")
    found = solve(COVER, "fake", Options(seed=5, time_limit=limit), start=np.ones(3))
    assert (found.termination, found.objective) == ("unknown", 3)


@pytest.mark.parametrize(
    "point,where",
    [
        ("[1, 0, 0]", "rows broken by 1 at r1"),
        ("[1, 1, -1]", "bounds broken by 1 at x2"),
        ("[1, 0.9, 0.1]", "integrality broken by 0.1"),
        ("[1, 1, np.nan]", "bounds broken by inf at x2"),
        ("[1, 1, np.inf]", "bounds broken by inf at x2"),
    ],
)
def test_a_point_that_breaks_the_model_is_no_solution(fake, monkeypatch, point, where):
    monkeypatch.setenv("FAKE_POINT", point)
    found = solve(COVER, "fake", Options(seed=8))
    assert (found.termination, found.has_solution, found.objective) == ("error", False, None)
    assert where in found.message and found.message.count("\n") == 0


def test_a_point_within_a_solvers_tolerances_is_one(fake, monkeypatch):
    monkeypatch.setenv("FAKE_POINT", "[1, 1 - 9e-6, 9e-6]")
    found = solve(COVER, "fake", Options(seed=8))
    assert found.termination == "optimal" and found.has_solution


def test_optimal_without_a_point_is_an_error(fake):
    found = solve(COVER, "fake", Options(seed=10))
    assert (found.termination, found.bound) == ("error", None) and "no solution" in found.message


def test_at_the_end_of_its_time_no_solver_proves_that_there_is_no_solution(fake):
    found = solve(COVER, "fake", Options(seed=9, time_limit=0.3))
    assert (found.termination, found.has_solution) == ("time_limit", False) and "proves nothing" in found.message


def test_a_solver_that_is_not_there(fake, monkeypatch):
    monkeypatch.setenv("FAKE_ABSENT", "1")
    with pytest.raises(SolverError, match="not on this machine"):
        solve(COVER, "fake")


def test_an_unknown_solver_is_named_with_the_nearest():
    with pytest.raises(ChoiceError, match="did you mean 'highs'"):
        solve(COVER, "hihgs")


@pytest.mark.parametrize(
    "bad",
    [
        {"time_limit": 0},
        {"time_limit": -1},
        {"time_limit": float("nan")},
        {"threads": 0},
        {"seed": -1},
        {"gap": -0.1},
        {"gap": float("nan")},
    ],
)
def test_options_out_of_range(bad):
    with pytest.raises(ChoiceError, match="expected"):
        Options(**bad)


def test_a_solver_that_calls_a_model_infeasible_whose_solution_it_was_given(fake):
    assert solve(COVER, "fake", Options(seed=6)).termination == "infeasible"
    found = solve(COVER, "fake", Options(seed=6), start=np.ones(3))
    assert found.termination == "error" and "start is a solution" in found.message
    assert solve(COVER, "fake", Options(seed=6), start=np.zeros(3)).termination == "infeasible"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_solver_whose_end_is_wanted_by_another(fake, seed, tmp_path):
    soon = lambda: 0.2 if (tmp_path / "pid").exists() else None  # noqa: E731
    found = solve_until(soon, COVER, "fake", Options(seed=seed))
    assert (found.termination, found.has_solution, found.bound) == ("interrupted", True, {1: 1, 2: 1.5}[seed])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("limit", [None, 60])
def test_a_coefficient_that_highs_refuses_is_named(limit):
    found = solve(model([1, 1, 1], [[1, 2e15, 0], [0, 1, 1]], 0, np.inf), options=Options(time_limit=limit))
    assert found.termination == "error" and found.message.startswith("HiGHS refuses the model's arrays: ")
    assert "takes coefficients below 1e+15, the largest is 2e+15" in found.message
