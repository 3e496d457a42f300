"""The files of dpflow, as several solvers read them: one optimum, and a tree that has it (issue 5)."""

from functools import cache

import highspy
import numpy as np
import pytest

import odtc
from odtc.fileformats.model_files import write_model
from odtc.solvers.solver import find_solver, version
from tests import pipeline
from tests.unit.test_dpflow import KNOWN

# Data set, depth, parameters, constraints, and the errors that are known where the constraints cost some (issue 5).
FILES = [
    ("monks-2", 3, {"tail": "0"}, (), None),
    ("hayes-roth", 4, {"tail": "1"}, (), None),
    ("house-votes-84", 3, {"tail": "0"}, (), None),
    ("tic-tac-toe", 3, {"tail": "0"}, (), None),
    ("car-evaluation_papers", 4, {"tail": "1"}, (), None),
    ("kr-vs-kp", 4, {"tail": "2"}, (), None),
    ("balance-scale", 5, {"tail": "2"}, (), None),
    ("kr-vs-kp", 5, {"proof": "true"}, (), None),
    ("balance-scale", 3, {}, ("leaf_rows >= 40",), 625 - 443),
    ("balance-scale", 3, {}, ("splits <= 3",), 625 - 443),
]


@cache
def built(case, folder):
    name, depth, params, constraints, _ = FILES[case]
    return pipeline.build(
        folder / f"{name}.csv", "dpflow", depth, encoding="onehot", params=params, constraints=constraints
    )


@pytest.fixture(
    params=range(len(FILES)),
    ids=lambda case: "-".join(map(str, (*FILES[case][:2], *FILES[case][2].values(), *FILES[case][3]))),
)
def file(request, shared_data):
    """(model, its known optimum)."""
    name, depth, _, _, errors = FILES[request.param]
    return built(request.param, shared_data), KNOWN[name][depth - 2] if errors is None else errors


def agree(model, errors, value, x):
    assert value == pytest.approx(errors, abs=1e-5)
    heap = model.problem.module.decode(model.problem, model.split(np.asarray(x)))
    assert heap.errors(model.problem.encoded) == errors


@pytest.mark.every(2)
@pytest.mark.parametrize("way", ["simplex", "ipm"])
def test_highs(way, file, tmp_path):
    """By the simplex method, and by interior points without a crossover, whose points are no vertices."""
    model, errors = file
    if way == "ipm" and model.integrality.any():
        pytest.skip("a MIP is solved by branch and bound")
    highs = highspy.Highs()
    highs.silent()
    options = {
        "threads": 1,
        "solver": "choose" if model.integrality.any() else way,
        "run_crossover": "off",
        "presolve": "off" if way == "ipm" else "on",
    }  # which would leave the method little to do
    for key, value in options.items():
        highs.setOptionValue(key, value)
    highs.readModel(str(write_model(model, tmp_path / "m.mps", "mps")))
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    agree(model, errors, highs.getInfo().objective_function_value, highs.getSolution().col_value)


@pytest.mark.every(2)
@pytest.mark.parametrize("solver", ["cbc", "scip", "glpk"])
def test_other_solvers(solver, file):
    model, errors = file
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    if solver == "glpk" and model.nnz > 300_000:
        pytest.skip("more than GLPK solves in a minute")
    found = odtc.solve(model, solver, threads=1)
    assert found.termination == "optimal"
    agree(model, errors, found.objective, found.x)
