"""Law 6: every solver that is found, run for real: optimal, infeasible, unbounded, at its limit, with a
start, with hostile folders, with a broken model; and programs that misbehave, as fakes.

With ODTC_REQUIRE_SOLVERS=1 a missing open solver is a failure; the commercial ones of the package index
(size-limited without a licence) run where they are installed.
"""

import importlib.util
import os
import re
import stat
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from odtc.errors import SolverError
from odtc.fileformats.model_files import write_model
from odtc.fileformats.portable_subset import ModelFile
from odtc.model.solution import Options
from odtc.solvers import child_process, external
from odtc.solvers.protocols import PackageSolver
from odtc.solvers.solve import solve, solve_until
from odtc.solvers.solver import SOLVERS, find_solver, version
from tests import pipeline
from tests.solvers.test_solver import model

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


@pytest.mark.every(2)
def test_a_linear_program_and_an_optimum_of_zeros(name):
    # max x + y, x + 2y <= 4, x <= 3; and min x + y over whole numbers, where nothing forces any.
    program = solve(model([-1, -1], [[1, 2]], -np.inf, 4, upper=3, whole=False), name, LIMIT)
    assert program.termination == "optimal" and program.x == pytest.approx([3, 0.5], abs=1e-5)
    assert program.bound == pytest.approx(-3.5, abs=1e-5)
    nothing = solve(model([1, 1], [[1, -1]], -np.inf, 1), name, LIMIT)
    assert (nothing.termination, nothing.message) == ("optimal", "") and nothing.x == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.every(2)
def test_a_start_is_taken(name, monks):
    compiled, point = monks
    found = solve(compiled, name, LIMIT, start=point)
    assert found.termination == "optimal" and found.objective == pytest.approx(27, abs=1e-5)
    if find_solver(name).DIALECT.start:
        assert found.start == "accepted"
    else:
        assert found.start == "none"


def test_an_objective_over_continuous_columns(name):
    """Each node costs 0.4, and a row as much as 0.6 times its weight if it is misclassified; class y costs nothing.
    The best tree is a leaf of class z, which misclassifies weight 2. lp_solve 5.5.2.5 takes the costs of integer
    columns for the steps of the objective, as if the rows had none."""
    table = pl.DataFrame({"f": list("pqqqpq"), "w": [1.0, 2, 2, 1, 0, 1], "label": list("yzxzxz")})
    params = {"lambda": 0.4, "literal": True, "merge": False}
    columns = {"target": "label", "weights": "w", "encoding": "onehot", "class_weight": "x=1,y=0,z=1"}
    found = solve(pipeline.build(table, "bendersoct", 2, params=params, **columns), name, LIMIT)
    assert found.termination == "optimal" and found.objective == pytest.approx(0.6 * 2)


@pytest.mark.every(2)
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
    assert (
        found.termination in ("infeasible", "infeasible_or_unbounded") and not found.has_solution and not found.message
    )


def test_unbounded(name):
    # Two rows, so that no solver takes a shortcut that says less.
    endless = model([-1, -1], [[1, -1], [-1, 1]], -np.inf, 3, upper=np.inf)
    found = solve(endless, name, LIMIT)
    assert (
        found.termination in ("unbounded", "infeasible_or_unbounded") and not found.has_solution and not found.message
    )


def test_general_columns_and_all_kinds_of_bounds(name):
    # min x + 2y - z - u: x whole in [-5, -2], y whole in [0, 4], z in [-inf, 2.5], u free; y + x >= -3, u + z <= 4,
    # u <= 3
    mixed = model(
        [1, 2, -1, -1],
        [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]],
        [-3, -np.inf, -np.inf],
        [np.inf, 4, 3],
        lower=[-5, 0, -np.inf, -np.inf],
        upper=[-2, 4, 2.5, np.inf],
    )
    kinds = np.array([1, 1, 0, 0], np.uint8)
    mixed = type(mixed)(**{**mixed.__dict__, "integrality": kinds})
    found = solve(mixed, name, LIMIT)
    assert found.termination == "optimal"
    assert found.objective == pytest.approx(-7, abs=1e-5)
    assert found.x[:2] == pytest.approx([-3, 0], abs=1e-5)


def split(slack: bool):
    """(model, a solution of it): five sums of chosen numbers have to be met at once (market split, Cornuéjols and
    Dawande 1998). No search finds a solution among the 2^40 in seconds, but one is known; with `slack` any choice
    is a solution and costs what it misses, so the bound is 0 all the time."""
    draw = np.random.default_rng(5)
    A = draw.integers(0, 100, (5, 40)).astype(float)
    known = draw.integers(0, 2, 40).astype(float)
    if not slack:
        return model(np.zeros(40), A, A @ known, A @ known), known
    made = model(
        np.r_[np.zeros(40), np.ones(10)],
        np.hstack([A, np.eye(5), -np.eye(5)]),
        A @ known,
        A @ known,
        upper=np.r_[np.ones(40), np.full(10, 1e4)],
    )
    return type(made)(**{**made.__dict__, "integrality": np.r_[np.ones(40), np.zeros(10)].astype(np.uint8)}), np.r_[
        known, np.zeros(10)
    ]


@pytest.mark.every(2)
def test_at_its_time_limit_without_an_incumbent(name):
    found = solve(split(False)[0], name, Options(time_limit=1, threads=1))
    assert (found.termination, found.has_solution, found.objective) == ("time_limit", False, None), found.message


@pytest.mark.every(2)
def test_at_its_time_limit_with_an_incumbent(name):
    hard, _ = split(True)
    found = solve(hard, name, Options(time_limit=1, threads=1))
    assert found.termination == "time_limit", found.message
    assert found.bound is None or found.bound <= 1e-6
    if found.has_solution:  # where the machine let it come so far; those of TALKS below always do
        assert found.objective == pytest.approx(hard.objective(found.x)) and found.objective > 0.5


# By what its log tells of an incumbent. CBC and SCIP hand theirs in too, but tell of it late, as what they print
# waits in a buffer; highs-cli, glpk, lp_solve and symphony die of Ctrl-C with all they have.
TELLS = {
    "highs": r"^ [A-Za-z] +\d+ ",
    "gurobi": r"heuristic solution",
    "cplex": r"^Found incumbent",
    "xpress": r"^[A-Za-z*] +\d*\.\d+ +\d*\.\d+ +[1-9]",
    "copt": r"^H ",
}


@pytest.mark.parametrize("name", TELLS)
def test_interrupted_it_hands_in_its_incumbent(name):
    if version(find_solver(name)) is None:
        pytest.skip(f"{name} is not on this machine")
    hard, _ = split(True)
    seen, began = [], time.monotonic()

    def listen(text):
        if re.search(TELLS[name], text, re.M):
            seen.append(text)

    found = solve_until(
        lambda: 30 if seen or time.monotonic() - began > 60 else None,
        hard,
        name,
        Options(threads=1),
        log=listen,
    )
    assert seen and (found.termination, found.has_solution) == ("interrupted", True), found.message


def test_a_start_is_what_it_goes_on_from(name):
    """Its log says that the start was taken, and its objective says so too: it finds no such solution itself."""
    if not find_solver(name).DIALECT.start:
        pytest.skip(f"{name} takes no start")
    hard, point = split(True)
    found = solve(hard, name, LIMIT, start=point)
    assert (found.termination, found.start) == ("optimal", "accepted") and found.objective == pytest.approx(0, abs=1e-6)


def test_a_start_of_a_model_that_presolve_solves_is_not_called_lost(name):
    if not find_solver(name).DIALECT.start:
        pytest.skip(f"{name} takes no start")
    found = solve(model([1, 2], [[1, 0], [0, 1]], 1, np.inf), name, LIMIT, start=np.ones(2))
    assert found.termination == "optimal" and found.objective == pytest.approx(3)
    assert found.start == "accepted"


@pytest.mark.every(3)
@pytest.mark.parametrize("format", ["mps", "lp", "fixed-mps"])
def test_folders_and_names_of_any_kind(name, format, monks, tmp_path):
    compiled, _ = monks
    folder = tmp_path / "a folder of Zoë's, with (brackets) & 100 %"
    folder.mkdir()
    suffix = {"mps": ".mps", "lp": ".lp", "fixed-mps": ".mps"}[format]
    path = write_model(
        model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf), folder / f"mö del{suffix}", format
    )
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
    from odtc.model.blocks import NamedBlock

    return (NamedBlock(tuple(f"{letter}{i:07d}" for i in range(3))),)


def test_a_broken_model_file_gives_an_error_not_an_answer(name, tmp_path, monkeypatch):
    if name == "highs":
        pytest.skip("the embedded HiGHS reads no files here")
    monkeypatch.setattr(
        external, "compare", lambda path, model: ModelFile("mps", False, False, "")
    )  # else it gets a whole one
    path = tmp_path / "broken.mps"
    path.write_text("NAME          BROKEN  FREE\nROWS\n N  obj\n L  r1\nCOLUMNS\n    x  nosuchrow  one\n")
    found = solve(model([1], [[1]], 1, np.inf), name, LIMIT, path=path)
    assert not found.has_solution and found.termination in ("error", "unknown")


@pytest.mark.parametrize("name", NAMES)
def test_an_absent_program_is_named(name, tmp_path, monkeypatch):
    module = find_solver(name)
    if module.can(PackageSolver):
        monkeypatch.setattr(module.module, "version", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverError, match="not on this machine") as refusal:
        solve(SMALL, name)
    words = [*getattr(module, "PROGRAMS", ()), getattr(module, "PACKAGE", None)]
    assert all(word in str(refusal.value) for word in words if word) and "odtc list solvers" in str(refusal.value)


@pytest.mark.parametrize("name", [name for name in NAMES if getattr(find_solver(name), "PROGRAMS", ())])
def test_a_program_that_is_none_is_named(name):
    with pytest.raises(SolverError, match="/nowhere/solver"):
        solve(SMALL, name, program="/nowhere/solver")


# --- programs at their time limit, as they talk ----------------------------------------------------

SMALL = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)


def box(words: str, rest: str) -> str:
    stars = "*" * 52
    return f"\n==  Welcome to the SYMPHONY MILP Solver \n\n{stars}\n* {words:<48} *\n{stars}\n\n{rest}"


def xml(status: int) -> str:
    columns = "".join(f'<variable name="x{at}" index="{at}" value="1"/>' for at in range(3))
    return (
        f'<?xml version = "1.0"?>\n<CPLEXSolution version="1.2">\n<header objectiveValue="3" '
        f'solutionStatusValue="{status}"/>\n'
        f"<variables>{columns}</variables>\n</CPLEXSolution>\n"
    )


VALUES = "x0 1\nx1 1\nx2 1\n"
ROWS = "i 1 2\ni 2 2\ni 3 2\n"
PLUS = "+" * 51
# Of each program: its log and its solution file with the incumbent (1, 1, 1), and without; None is no file. Those
# without a file print all. The bound is what the log says of it.
TALKS = {
    "highs-cli": (
        (
            "Solving report\n  Status            Time limit reached\n  Dual bound        1.5\n",
            "Model status\nTime limit reached\n\n# Primal solution values\nFeasible\nObjective 3\n# Columns 3\n"
            + VALUES
            + "# Rows 3\nr0 2\nr1 2\nr2 2\n\n# Dual solution values\nNone\n\n# Basis\nHiGHS_basis_file v2\nNone\n",
        ),
        (
            "Solving report\n  Status            Time limit reached\n  Dual bound        1.5\n",
            "Model status\nTime limit reached\n\n# Primal solution values\nNone\n\n# Dual solution values\nNone\n",
        ),
        1.5,
    ),
    "cbc": (
        (
            "Welcome to the CBC MILP Solver \n\nResult - Stopped on time limit\n\nObjective value:   3.0\nLower "
            "bound:   1.500\n",
            "Stopped on time - objective value 3\n 0 x0 1 0\n 1 x1 1 0\n 2 x2 1 0\n",
        ),
        (
            "Welcome to the CBC MILP Solver \n\nResult - Stopped on time limit\n\nNo feasible solution found\nLower "
            "bound:   1.500\n",
            "Stopped on time (no integer solution - continuous used) - objective value 1.5\n 0 x0 0.5 0\n 1 x1 0.5 "
            "0\n 2 x2 0.5 0\n",
        ),
        1.4995,
    ),
    "scip": (
        (
            "SCIP Status        : solving was interrupted [time limit reached]\nDual Bound         : "
            "+1.50000000000000e+00\n",
            "solution status: time limit reached\nobjective value:    3\nx0  1 \t(obj:1)\nx1  1 \t(obj:1)\nx2  1 "
            "\t(obj:1)\n",
        ),
        (
            "SCIP Status        : solving was interrupted [time limit reached]\nDual Bound         : "
            "+1.50000000000000e+00\n",
            "solution status: time limit reached\nno solution available\n",
        ),
        1.5,
    ),
    "glpk": (
        (
            "GLPSOL--GLPK LP/MIP Solver 5.0\n3 integer variables, all of which are binary\nOPTIMAL LP SOLUTION FOUND\n"
            "+     5: mip =   3.000000000e+00 >=   1.500000000e+00  50.0% (1; 0)\nTIME LIMIT EXCEEDED; SEARCH "
            "TERMINATED\n",
            f"s mip 3 3 f 3\n{ROWS}j 1 1\nj 2 1\nj 3 1\ne o f\n",
        ),
        (
            "GLPSOL--GLPK LP/MIP Solver 5.0\n3 integer variables, all of which are binary\nOPTIMAL LP SOLUTION FOUND\n"
            "+     5: mip =     not found yet >=   1.500000000e+00        (1; 0)\nTIME LIMIT EXCEEDED; SEARCH "
            "TERMINATED\n",
            f"s mip 3 3 u 0\n{ROWS}j 1 0\nj 2 0\nj 3 0\ne o f\n",
        ),
        1.5,
    ),
    "lp_solve": (
        (
            "Suboptimal solution\n\nValue of objective function: 3.00000000\n\nActual values of the variables:\n"
            + VALUES
            + "\nActual values of the constraints:\nr0 2\nr1 2\nr2 2\n",
            None,
        ),
        ("Timeout\n", None),
        None,
    ),
    "symphony": (
        (
            box(
                "Time Limit Reached",
                "Current Upper Bound:         3.0000000000\nCurrent Lower Bound:         1.5000000000\n\n"
                f"Solution Cost: 3.0\n{PLUS}\nColumn names and values of nonzeros in the solution\n{PLUS}\n{VALUES}\n",
            ),
            None,
        ),
        (box("Time Limit Reached", "Current Lower Bound:         1.5000000000\n\nNo Solution Found\n\n"), None),
        1.5,
    ),
    "gurobi": (
        (
            "Gurobi Optimizer version 13.0.3\n\nTime limit reached\nBest objective 3.000000000000e+00, best bound "
            "1.500000000000e+00, gap 50.0000%\n",
            "# Solution for model small\n# Objective value = 3\n" + VALUES,
        ),
        (
            "Gurobi Optimizer version 13.0.3\n\nTime limit reached\nBest objective -, best bound 1.500000000000e+00, "
            "gap -\n",
            None,
        ),
        1.5,
    ),
    "cplex": (
        (
            "Version identifier: 22.2.0.0 | 2026-07-01 | 7cae668b4\nMIP - Time limit exceeded, integer feasible:  "
            "Objective =  3.0000000000e+00\n"
            "Current MIP best bound =  1.5000000000e+00 (gap = 1.5, 50.00%)\n",
            xml(107),
        ),
        (
            "Version identifier: 22.2.0.0 | 2026-07-01 | 7cae668b4\nMIP - Time limit exceeded, no integer solution.\n"
            "Current MIP best bound =  1.5000000000e+00 (gap is infinite)\n",
            None,
        ),
        1.5,
    ),
    "xpress": (
        (
            "FICO Xpress v9.9.1\nSTOPPING - MAXTIME limit reached (TIMELIMIT=1.00  time=1.00).\n *** Search "
            "unfinished ***    Time:     1.00\n"
            "Final MIP bound                       : 1.500000000000000e+00\n  Number of solutions found / nodes   :  "
            "       2 /      1905\n",
            "NAME small\n C x0 1\n C x1 1\n C x2 1\nENDATA\n",
        ),
        (
            "FICO Xpress v9.9.1\nSTOPPING - MAXTIME limit reached (TIMELIMIT=1.00  time=1.00).\n *** Search "
            "unfinished ***    Time:     1.00\n"
            "Final MIP bound                       : 1.500000000000000e+00\n  Number of solutions found / nodes   :  "
            "       0 /      1905\n",
            "NAME small\n C x0 0.5\n C x1 0.5\n C x2 0.5\nENDATA\n",
        ),
        1.5,
    ),
    "copt": (
        (
            "Best solution   : 3.000000000\nBest bound      : 1.500000000\nSolve node      : 632\nMIP status      : "
            "stopped (time limit reached)\n"
            "Solution status : feasible\n",
            "# Objective value 3\n" + VALUES,
        ),
        (
            "Best solution   : +inf\nBest bound      : 1.500000000\nSolve node      : 632\nMIP status      : stopped "
            "(time limit reached)\n"
            "Solution status : unknown\nSolution is not available\n",
            None,
        ),
        1.5,
    ),
    "cuopt": (
        ("cuOpt version: 25.10\nStatus: FeasibleFound\n", "# Status: FeasibleFound\n# Objective value: 3\n" + VALUES),
        ("cuOpt version: 25.10\nStatus: TimeLimit\n", "# Status: TimeLimit\n"),
        None,
    ),
}


def test_every_program_is_heard_at_its_time_limit():
    assert set(TALKS) == {name for name in NAMES if getattr(find_solver(name), "PROGRAMS", ())}


@pytest.mark.parametrize("has_solution", [True, False], ids=["with an incumbent", "without"])
@pytest.mark.parametrize("name", TALKS)
def test_a_program_at_its_time_limit(name, has_solution, tmp_path):
    (log, file), bound = TALKS[name][0 if has_solution else 1], TALKS[name][2]
    (tmp_path / "log").write_text(log)
    (tmp_path / "file").write_text(file or "")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{f'cp {tmp_path}/file solution.sol' if file else ''}\ncat {tmp_path}/log\n")
    program.chmod(0o755)
    found = solve(SMALL, name, Options(time_limit=60), program=str(program))
    assert (found.termination, found.has_solution, found.message) == ("time_limit", has_solution, "")
    assert (found.objective, found.bound) == (3 if has_solution else None, bound)


# --- programs that misbehave -------------------------------------------------------------------

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
        "printf 'Stopped on time - objective value 1.5\\n 0 x0 0.5 0\\n 1 x1 0.5 0\\n 2 x2 0.5 0\\n' > solution.sol",
        "time_limit",
        False,
    ),
    "writes another model's solution": (
        "printf 'Optimal - objective value 1\\n 0 y 1 0\\n' > solution.sol",
        "error",
        False,
    ),
    "writes a point that is none": (
        "printf 'Optimal - objective value 1\\n 0 x0 1 0\\n' > solution.sol",
        "error",
        False,
    ),
    "says infeasible when its time is over": (
        "sleep 0.55; echo 'Welcome to the CBC MILP Solver'; echo 'Pre-processing says infeasible or unbounded'",
        "time_limit",
        False,
    ),
}


@pytest.mark.parametrize("what", FAKES)
def test_a_program_that_misbehaves(what, tmp_path, monkeypatch):
    script, termination, has_solution = FAKES[what]
    # A program that ends by itself after its time is not told to stop, however slow the machine is.
    monkeypatch.setattr(child_process, "NUDGE", 60 if what.startswith("says infeasible") else 0.1)
    monkeypatch.setattr(child_process, "GRACE", 0.3)
    monkeypatch.setattr(child_process, "PATIENCE", 0.3)
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
    alive = [
        p.read_text().split(")")[1].split()[0]
        for p in Path("/proc").glob("[0-9]*/stat")
        if p.read_text().split(")")[1].split()[2] == str(pid)
    ]
    assert set(alive) <= {"Z"}, alive


TEMPLATE = """
name = "my solver"
command = [{python!r}, "{script}", "{{{{ model }}}}", "{{{{ solution }}}}", "{{% if time_limit %}}--limit={{{{ time_limit }}}}{{% endif %}}"]
model = "lp"
solution = "{kind}"
pattern = '^\\s*(?P<name>[a-z]\\w*) := (?P<value>\\S+)$'
bound = 'proved (\\S+)'

[status]
"all done" = "optimal"
"gave up" = "time_limit"
"""
SOLVER = """
import sys
text = "x0 := 1\\nx1 := 1\\nx2 := 0\\n"
assert "Subject To" in open(sys.argv[1]).read()
assert ("--limit=5" in sys.argv) == (len(sys.argv) > 3)
if {kind!r} == "file":
    open(sys.argv[2], "w").write(text)
else:
    print(text)
print("proved 2.0, all done")
"""


@pytest.mark.parametrize("kind", ["file", "stdout"])
@pytest.mark.parametrize("limit", [None, 5])
def test_a_solver_that_odtc_has_never_heard_of(kind, limit, tmp_path):
    script = tmp_path / "solve.py"
    script.write_text(SOLVER.format(kind=kind))
    described = tmp_path / "my_solver.toml"
    described.write_text(TEMPLATE.format(python=sys.executable, script=script, kind=kind))
    found = solve(SMALL, str(described), Options(time_limit=limit))
    assert (found.termination, found.objective, found.bound, found.solver.split()[0]) == ("optimal", 2, 2, "my")
