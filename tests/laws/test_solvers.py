"""Law 6: every solver that is found, run for real: optimal, infeasible, unbounded, at its limit, with a
start, with hostile folders, with a broken model; and programs that misbehave, as fakes.

With ODTC_REQUIRE_SOLVERS=1 a missing open solver is a failure; the commercial ones of the package index
(size-limited without a licence) run where they are installed.
"""

import os
import stat
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from odtc import command, pipeline, process
from odtc.errors import SolverError
from odtc.format import write_model
from odtc.portable import ModelFile
from odtc.solver import SOLVERS, Options, find_solver, solve, version
from tests.test_solver import model

EXAMPLES = Path(__file__).parents[2] / "examples"
OPEN = {"highs", "highs-cli", "cbc", "scip", "glpk", "lp_solve", "symphony", "ortools"}
NAMES = SOLVERS.names()


@pytest.fixture(params=NAMES)
def name(request):
    if version(find_solver(request.param)) is None:
        if request.param in OPEN and os.environ.get("ODTC_REQUIRE_SOLVERS"):
            pytest.fail(f"the open solver {request.param} is not on this machine")
        pytest.skip(f"{request.param} is not on this machine")
    return request.param


@pytest.fixture(scope="module")
def monks():
    compiled = pipeline.build(EXAMPLES / "monks" / "monks-1.csv", "flowoct", 2, encoding="onehot")
    return compiled, pipeline.start(compiled)[1]


LIMIT = Options(time_limit=120, threads=1)


def test_optimal(name, monks):
    compiled, _ = monks
    found = solve(compiled, name, LIMIT)
    assert (found.termination, found.message) == ("optimal", "")
    assert found.objective == pytest.approx(27, abs=1e-5) and found.bound == pytest.approx(27, abs=1e-3)
    decoded = pipeline.decode(compiled, found)
    assert decoded.verified, decoded.checks
    assert decoded.heap.errors(compiled.problem.encoded) == 27


def test_a_linear_program_and_an_optimum_of_zeros(name):
    # max x + y, x + 2y <= 4, x <= 3; and min x + y over whole numbers, where nothing forces any.
    program = solve(model([-1, -1], [[1, 2]], -np.inf, 4, upper=3, whole=False), name, LIMIT)
    assert program.termination == "optimal" and program.x == pytest.approx([3, 0.5], abs=1e-5)
    assert program.bound == pytest.approx(-3.5, abs=1e-5)
    nothing = solve(model([1, 1], [[1, -1]], -np.inf, 1), name, LIMIT)
    assert (nothing.termination, nothing.message) == ("optimal", "") and nothing.x == pytest.approx([0, 0], abs=1e-6)


def test_a_start_is_taken(name, monks):
    compiled, point = monks
    found = solve(compiled, name, LIMIT, start=point)
    assert found.termination == "optimal" and found.objective == pytest.approx(27, abs=1e-5)
    if find_solver(name).DIALECT.start:
        assert found.start == "accepted"
    else:
        assert found.start == "none"


def test_within_a_gap_nothing_is_called_optimal_without_its_bound(name):
    # A covering problem, whose relaxation lies well below its optimum.
    choice = np.random.default_rng(1)
    A = np.where(choice.random((20, 40)) < 0.2, choice.integers(1, 6, (20, 40)), 0)
    A[:, 0] = 1
    cover = model(choice.integers(10, 40, 40) + 0.37, A, np.minimum(7, A.sum(axis=1)), np.inf)
    best = solve(cover, name, LIMIT)
    loose = solve(cover, name, Options(time_limit=120, threads=1, gap=0.4))
    assert best.termination == "optimal" and best.bound == pytest.approx(best.objective)
    assert loose.termination in ("optimal", "unknown") and loose.objective >= best.objective - 1e-6
    assert (loose.bound is not None) == (loose.termination == "optimal")
    if loose.bound is not None:
        assert loose.bound <= best.objective + 1e-6 and loose.gap <= 0.4 / 0.6 + 1e-6
    else:
        assert name in ("lp_solve", "symphony"), "its log states a bound"


def test_infeasible(name):
    # One of three whole numbers must be 1, and no half of one may be.
    nothing = model([1, 1, 1], [[1, 1, 1], [2, 2, 2]], [1, -np.inf], [np.inf, 1])
    found = solve(nothing, name, LIMIT)
    assert found.termination in ("infeasible", "infeasible_or_unbounded") and not found.has_solution and not found.message


def test_unbounded(name):
    # Two rows, so that no solver takes a shortcut that says less.
    endless = model([-1, -1], [[1, -1], [-1, 1]], -np.inf, 3, upper=np.inf)
    found = solve(endless, name, LIMIT)
    assert found.termination in ("unbounded", "infeasible_or_unbounded") and not found.has_solution and not found.message


def test_general_columns_and_all_kinds_of_bounds(name):
    # min x + 2y - z - u: x whole in [-5, -2], y whole in [0, 4], z in [-inf, 2.5], u free; y + x >= -3, u + z <= 4, u <= 3
    mixed = model(
        [1, 2, -1, -1], [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], [-3, -np.inf, -np.inf], [np.inf, 4, 3],
        lower=[-5, 0, -np.inf, -np.inf], upper=[-2, 4, 2.5, np.inf],
    )
    kinds = np.array([1, 1, 0, 0], np.uint8)
    mixed = type(mixed)(**{**mixed.__dict__, "integrality": kinds})
    found = solve(mixed, name, LIMIT)
    assert found.termination == "optimal"
    assert found.objective == pytest.approx(-7, abs=1e-5)
    assert found.x[:2] == pytest.approx([-3, 0], abs=1e-5)


def test_a_linear_program(name):
    # min -x - 2y: x + y <= 1.5, both in [0, 1]
    found = solve(model([-1, -2], [[1, 1]], -np.inf, 1.5, whole=False), name, LIMIT)
    assert (found.termination, found.message) == ("optimal", "")
    assert found.objective == pytest.approx(-2.5, abs=1e-6) and found.bound == pytest.approx(-2.5, abs=1e-6)
    assert found.x == pytest.approx([0.5, 1], abs=1e-6)


def test_at_its_time_limit(name):
    hard = pipeline.build(EXAMPLES / "monks" / "monks-2_test.csv", "flowoct", 3, encoding="onehot", params={"literal": True})
    point = pipeline.start(hard)[1]
    began = time.monotonic()
    found = solve(hard, name, Options(time_limit=1, threads=1), start=point)
    assert time.monotonic() - began < 60
    limited = bool(find_solver(name).DIALECT.limit)  # these refuse a model of this size without a licence
    assert found.termination in (("time_limit", "error") if limited else ("time_limit",)), found
    if found.has_solution:
        assert pipeline.decode(hard, found).heap.errors(hard.problem.encoded) <= found.objective + 1e-5, found
    elif found.termination == "error":
        assert found.message


@pytest.mark.parametrize("format", ["mps", "lp", "fixed-mps"])
def test_folders_and_names_of_any_kind(name, format, monks, tmp_path):
    compiled, _ = monks
    folder = tmp_path / "a folder of Zoë's, with (brackets) & 100 %"
    folder.mkdir()
    suffix = {"mps": ".mps", "lp": ".lp", "fixed-mps": ".mps"}[format]
    path = write_model(model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf), folder / f"mö del{suffix}", format)
    small = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
    if format == "fixed-mps":
        small = type(small)(**{**small.__dict__, "columns": model_columns("C")})
    found = solve(small, name, LIMIT, path=path)
    assert found.termination == "optimal" and found.objective == pytest.approx(2)


def test_a_number_wider_than_a_field_of_fixed_mps(name, tmp_path):
    """Twelve characters; GLPK and lp_solve refuse more, and so get such a file in the free form."""
    thirds = model([1 / 3, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
    path = write_model(thirds, tmp_path / "thirds.mps", "fixed-mps")
    found = solve(type(thirds)(**{**thirds.__dict__, "columns": model_columns("C")}), name, LIMIT, path=path)
    assert found.termination == "optimal" and found.objective == pytest.approx(4 / 3)


def model_columns(letter):
    from odtc.model import NamedBlock

    return (NamedBlock(tuple(f"{letter}{i:07d}" for i in range(3))),)


def test_a_broken_model_file_gives_an_error_not_an_answer(name, tmp_path, monkeypatch):
    if name == "highs":
        pytest.skip("the embedded HiGHS reads no files here")
    monkeypatch.setattr(command, "compare", lambda path, model: ModelFile("mps", False, False, ""))  # else it gets a whole one
    path = tmp_path / "broken.mps"
    path.write_text("NAME          BROKEN  FREE\nROWS\n N  obj\n L  r1\nCOLUMNS\n    x  nosuchrow  one\n")
    found = solve(model([1], [[1]], 1, np.inf), name, LIMIT, path=path)
    assert not found.has_solution and found.termination in ("error", "unknown")


def test_an_absent_program_is_named():
    with pytest.raises(SolverError, match="none"):
        solve(model([1], [[1]], 1, np.inf), "cbc", program="/nowhere/cbc")


# --- programs that misbehave -------------------------------------------------------------------

SMALL = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
SOLUTION = "Stopped on time - objective value 3\n      0 x0 1 0\n      1 x1 1 0\n      2 x2 1 0\n"
FAKES = {
    "writes nothing and hangs": ("sleep 600", "time_limit", False),
    "writes its incumbent and hangs": (f"printf '{SOLUTION}' > solution.sol; sleep 600", "time_limit", True),
    "ignores every signal": (f"trap '' INT TERM; printf '{SOLUTION}' > solution.sol; sleep 600", "time_limit", True),
    "crashes": ("echo 'Segmentation fault'; kill -SEGV $$", "error", False),
    "prints nothing": ("exit 0", "error", False),
    "prints rubbish": ("head -c 100000 /dev/urandom; exit 3", "error", False),
    "writes a rubbish file": ("head -c 100000 /dev/urandom > solution.sol", "error", False),
    "writes an empty file": (": > solution.sol", "error", False),
    "writes the relaxation": (
        "printf 'Stopped on time - objective value 1.5\\n 0 x0 0.5 0\\n 1 x1 0.5 0\\n 2 x2 0.5 0\\n' > solution.sol", "time_limit", False),
    "writes another model's solution": ("printf 'Optimal - objective value 1\\n 0 y 1 0\\n' > solution.sol", "error", False),
    "writes a point that is none": ("printf 'Optimal - objective value 1\\n 0 x0 1 0\\n' > solution.sol", "error", False),
    "says infeasible when its time is over": (
        "sleep 0.55; echo 'Welcome to the CBC MILP Solver'; echo 'Pre-processing says infeasible or unbounded'", "time_limit", False),
}


@pytest.mark.parametrize("what", FAKES)
def test_a_program_that_misbehaves(what, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "NUDGE", 0.1)
    monkeypatch.setattr(process, "GRACE", 0.3)
    monkeypatch.setattr(process, "PATIENCE", 0.3)
    script, termination, has_solution = FAKES[what]
    program = tmp_path / "fake cbc"
    program.write_text(f"#!/bin/bash\necho $$ > '{tmp_path}/pid'\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    found = solve(SMALL, "cbc", Options(time_limit=0.5), program=str(program))
    assert (found.termination, found.has_solution) == (termination, has_solution), found.message
    if has_solution:
        assert found.objective == 3
    elif what != "writes nothing and hangs":
        assert found.message
    # Exactly the group that was started is gone.
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):  # the orphans of an ended group are reaped by init, in its own time
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    alive = [p.read_text().split(")")[1].split()[0] for p in Path("/proc").glob("[0-9]*/stat") if p.read_text().split(")")[1].split()[2] == str(pid)]
    assert set(alive) <= {"Z"}, alive


TEMPLATE = '''
name = "my solver"
command = [{python!r}, "{script}", "{{{{ model }}}}", "{{{{ solution }}}}", "{{% if time_limit %}}--limit={{{{ time_limit }}}}{{% endif %}}"]
model = "lp"
solution = "{kind}"
pattern = '^\\s*(?P<name>[a-z]\\w*) := (?P<value>\\S+)$'
bound = 'proved (\\S+)'

[status]
"all done" = "optimal"
"gave up" = "time_limit"
'''
SOLVER = '''
import sys
text = "x0 := 1\\nx1 := 1\\nx2 := 0\\n"
assert "Subject To" in open(sys.argv[1]).read()
assert ("--limit=5" in sys.argv) == (len(sys.argv) > 3)
if {kind!r} == "file":
    open(sys.argv[2], "w").write(text)
else:
    print(text)
print("proved 2.0, all done")
'''


@pytest.mark.parametrize("kind", ["file", "stdout"])
@pytest.mark.parametrize("limit", [None, 5])
def test_a_solver_that_odtc_has_never_heard_of(kind, limit, tmp_path):
    script = tmp_path / "solve.py"
    script.write_text(SOLVER.format(kind=kind))
    described = tmp_path / "my_solver.toml"
    described.write_text(TEMPLATE.format(python=sys.executable, script=script, kind=kind))
    found = solve(SMALL, str(described), Options(time_limit=limit))
    assert (found.termination, found.objective, found.bound, found.solver.split()[0]) == ("optimal", 2, 2, "my")
