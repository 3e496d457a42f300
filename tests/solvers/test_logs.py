"""Bounds from the logs of our own runs, and the meaning of "optimal" if a gap was allowed."""

import importlib

import pytest

from odtc.fileformats.model_files import write_model
from odtc.fileformats.solution_files import write_point
from odtc.model.solution import Termination, proof
from odtc.solvers import log_parser as logs
from odtc.solvers.solve import said_in_log
from odtc.solvers.solver import find_solver
from odtc.workflow import first_trees
from tests import pipeline
from tests.command_line import MONKS, odtc

# The lines that matter, as these solvers printed them under --gap 0.3 on one covering problem: (module, log,
# bound, whether it says that it stopped within the gap). Presolve knows the cost to be in hundredths, so bounds differ.
TALKS = {
    "highs": (
        "highs",
        "Running HiGHS 1.15.1\nSolving report\n  Status            Optimal\n  Primal bound      207.07\n"
        "  Dual bound        177.73\n  Gap               14.17% (tolerance: 30%)\n  Nodes             1\n",
        177.73,
        False,
    ),
    "cbc": (
        "cbc",
        "Welcome to the CBC MILP Solver \nCbc0011I Exiting as integer gap of 37.726174 less than 0.3 or 30%\n\n"
        "Result - Optimal solution found (within gap tolerance)\n\nObjective value:                194.70000000\n"
        "Lower bound:                    156.974\nGap:                            0.24\n",
        156.9735,
        True,
    ),
    "scip": (
        "scip",
        "SCIP Status        : solving was interrupted [gap limit reached]\nSolving Nodes      : 1\n"
        "Primal Bound       : +2.07070000000000e+02 (4 solutions)\nDual Bound         : +1.77728125000000e+02\n",
        177.728125,
        True,
    ),
    "glpk": (
        "glpk",
        "GLPSOL--GLPK LP/MIP Solver 5.0\n40 integer variables, all of which are binary\nOPTIMAL LP SOLUTION FOUND\n"
        "+    35: mip =     not found yet >=              -inf        (1; 0)\n"
        "+    69: mip =   2.097000000e+02 >=   1.651004474e+02  21.3% (10; 0)\n"
        "RELATIVE MIP GAP TOLERANCE REACHED; SEARCH TERMINATED\n",
        165.1004474,
        True,
    ),
    "glpk to the end": (
        "glpk",
        "GLPSOL--GLPK LP/MIP Solver 5.0\n40 integer variables, all of which are binary\n"
        "+    69: mip =   2.097000000e+02 >=   1.651004474e+02  21.3% (10; 0)\n"
        "+   201: mip =   1.947000000e+02 >=     tree is empty   0.0% (0; 35)\nINTEGER OPTIMAL SOLUTION FOUND\n",
        None,
        False,
    ),
    "gurobi": (
        "gurobi",
        "Gurobi Optimizer version 13.0.3\nExplored 1 nodes (19 simplex iterations) in 0.02 seconds\n"
        "Optimal solution found (tolerance 3.00e-01)\n"
        "Best objective 2.294400000000e+02, best bound 1.611100000000e+02, gap 29.7812%\n",
        161.11,
        False,
    ),
    "gurobi by its driver": (
        "gurobi",
        "Gurobi Optimizer version 13.0.3\nOptimal solution found (tolerance 3.00e-01)\n"
        "odtc driver: status=optimal bound=161.125\n",
        161.125,
        False,
    ),
    "cplex by its driver": (
        "cplex",
        "Version identifier: 22.2.0.0 | 2026-07-01 | 7cae668b4\nodtc driver: status=optimal bound=156.9738258418398\n",
        156.9738258418398,
        False,
    ),
    "cplex": (
        "cplex",
        "Version identifier: 22.2.0.0 | 2026-07-01 | 7cae668b4\n"
        "MIP - Integer optimal, tolerance (0.3/0.3):  Objective =  1.9570000000e+02\n"
        "Current MIP best bound =  1.5697382584e+02 (gap = 38.7262, 19.79%)\n",
        156.97382584,
        True,
    ),
    "xpress": (
        "xpress",
        "FICO Xpress v9.9.1\nSTOPPING - MIPRELSTOP target reached (MIPRELSTOP=0.3  gap=0.206405).\n"
        " *** Search completed ***\nFinal MIP objective                   : 2.074400000000000e+02\n"
        "Final MIP bound                       : 1.646300000000000e+02\n",
        164.63,
        False,
    ),
    "copt": (
        "copt",
        "Best solution   : 229.440000000\nBest bound      : 161.110000000\nSolve node      : 1\nMIP status      : "
        "solved\n"
        "Solution status : integer optimal (relative gap limit 0.3)\n",
        161.11,
        False,
    ),
    "ortools": ("ortools", "CpSolverResponse summary:\nstatus: OPTIMAL\nobjective: 207\nbest_bound: 177\n", 177, False),
}


@pytest.mark.parametrize("who", TALKS)
def test_a_log_states_its_bound(who, tmp_path):
    name, text, bound, within = TALKS[who]
    said = logs.read_log_text(find_solver(name.replace("highs_", "highs-")), text)
    assert (said.termination, said.bound, said.within_gap) == (
        "optimal",
        pytest.approx(bound) if bound else None,
        within,
    )
    (tmp_path / "x.log").write_text(text)
    assert said_in_log(tmp_path / "x.log") == said


def test_a_log_of_xpress_that_breaks_off_is_not_optimal_for_its_relaxation():
    xpress = importlib.import_module("odtc.solvers.adapters.xpress")
    relaxation = (
        " using 1 thread\nIts  Obj Value\n23  164.623331\nOptimal solution found\nDual solved "
        "problem\nFinal objective  : 1.6e+02\n"
    )
    assert xpress.read_log(f"FICO Xpress v9.9.1\nMinimizing MILP small{relaxation}Starting tree search.\n") is None
    assert xpress.read_log(f"FICO Xpress v9.9.1\nMinimizing LP small{relaxation}") == "optimal"


@pytest.mark.parametrize("text", ["", "nothing of interest\n", "odtc driver: status=fine bound=3\n"])
def test_a_log_of_nobody_says_nothing(text, tmp_path):
    (tmp_path / "x.log").write_text(text)
    assert said_in_log(tmp_path / "x.log") == logs.LogFacts()


@pytest.mark.parametrize(
    "termination,bound,within,proved",
    [
        ("optimal", None, False, ("optimal", 7.0)),
        ("optimal", 5.0, False, ("optimal", 5.0)),
        ("optimal", 5.0, True, ("optimal", 5.0)),
        ("optimal", None, True, ("unknown", None)),
        ("time_limit", None, False, ("time_limit", None)),
        ("time_limit", 5.0, True, ("time_limit", 5.0)),
    ],
)
def test_optimal_is_worth_its_bound(termination, bound, within, proved):
    *found, doubt = proof(Termination(termination), 7.0, bound, within)
    assert tuple(found) == proved and bool(doubt) == (proved[0] == "unknown")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """monks-1 as a model with its manifest, and CART's tree as a solution that is called optimal within a gap."""
    folder = tmp_path_factory.mktemp("gap")
    assert odtc("build", MONKS / "monks-1.csv", "--encoding", "onehot", "-o", "m", folder=folder).code == 0
    model = pipeline.build(MONKS / "monks-1.csv", "flowoct", 2, encoding="onehot")
    _, point = pipeline.start(model)
    write_model(model, folder / "again.mps")
    path = write_point(model, point, folder / "m.sol", "cbc", Termination.OPTIMAL)
    path.write_text(path.read_text().replace("Optimal -", "Optimal (within gap tolerance) -", 1))
    return folder, model.objective(point)


def test_decoding_a_solution_within_a_gap_claims_no_proof(built):
    folder, objective = built
    said = odtc("decode", "m.sol", "--json", folder=folder)
    assert said.code == 0, said.err
    assert (said.facts["termination"], said.facts["objective"]) == ("unknown", objective)
    assert said.facts["gap"] is None or said.facts["gap"] > 0
    assert "--log" in odtc("decode", "m.sol", folder=folder).err


def test_a_log_of_elsewhere_claims_its_bound_and_proves_nothing(built, monkeypatch):
    """Neither the file nor the log says which model was solved; odtc's own search, which has a bound, has no time."""
    monkeypatch.setattr(first_trees, "MOMENT_WORK", 0)
    folder, objective = built
    (folder / "cbc.log").write_text(TALKS["cbc"][1].replace("156.974", "20.500"))
    said = odtc("decode", "m.sol", "--log", "cbc.log", "--json", folder=folder)
    assert (said.facts["termination"], said.facts["objective"], said.facts["bound"]) == ("unknown", objective, 0)
    shown = odtc("decode", "m.sol", "--log", "cbc.log", folder=folder)
    assert "(optimal, bound 20.4995) does not count as a proof" in shown.err and "proved optimal" not in shown.out


def test_the_last_words_of_a_driver_are_told_once():
    assert (
        logs.last_words("odtc driver: x\nerror: GurobiError: no licence\nodtc driver: status=error bound=None\n")
        == "GurobiError: no licence"
    )


@pytest.mark.parametrize(
    ("word", "number"),
    [("1e20", None), ("-1e+20", None), ("inf", None), ("nan", None), ("9.9e19", 9.9e19), ("-3", -3.0), ("x", None)],
)
def test_infinity_is_no_number_of_a_log(word, number):
    assert logs._number(word) == number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one\nerror: bad model\ntwo\n", "bad model"),
        ("cannot open it\nfailed twice\nbye\n", "failed twice"),
        ("one\n\n  two  \n\n", "two"),
        ("odtc driver: error\n", "it printed nothing"),
        ("", "it printed nothing"),
        ("x" * 400, "x" * 300),
    ],
)
def test_the_last_words_are_the_last_complaint_or_the_last_line(text, words):
    assert logs.last_words(text) == words
