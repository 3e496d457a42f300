"""A model that was changed in memory, and solutions of it: nothing is proved of the data."""

from dataclasses import replace

import numpy as np
import pytest

import odtc
from odtc.errors import SolutionError
from odtc.workflow.results.facts import SolveFacts
from tests.command_line import odtc as command


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (40, 4)).astype(bool)
    return odtc.build(X, (X[:, 0] ^ X[:, 1]) | (rng.random(40) < 0.2), "flowoct", 2)


def barred(model):
    """The places of columns that ask another test than the last one at the root."""
    block = model["b"]
    return [block.start + at for at in range(block.shape[-1] - 1)]


def bounded(model):
    upper = model.col_upper.copy()
    upper[barred(model)] = 0
    return replace(model, col_upper=upper)


def told(decoded):
    facts = SolveFacts.of(decoded.solution)
    return decoded.verified, facts.termination, facts.bound


@pytest.fixture(scope="module")
def optimum(model):
    decoded = odtc.decode(model, odtc.solve(model))
    assert told(decoded)[:2] == (True, "optimal")
    return decoded.solution.objective


def edits(model):
    names = model.column_names
    forbidden = [{names[at]: 1 for at in barred(model)}]
    cheaper = model.c.copy()
    cheaper[np.flatnonzero(cheaper)] /= 2
    return {
        "rows": model.add_rows(forbidden, upper=0),
        "bounds": bounded(model),
        "costs": replace(model, c=cheaper),
        "bounds and rows": bounded(model).add_rows(forbidden, upper=1),
    }


@pytest.mark.parametrize("name", ["rows", "bounds", "costs", "bounds and rows"])
def test_a_solution_of_an_edited_model_is_one_of_no_other(model, optimum, name):
    edited, others = edits(model)[name], edits(model)
    solution = odtc.solve(edited, time_limit=60)
    decoded = odtc.decode(edited, solution)
    assert decoded.solution.scope == "the edited model" and told(decoded)[1:] == ("unknown", None)
    assert "b" in repr(edited) and ("added" in repr(edited) or "changed" in repr(edited))
    for other in (model, *(others[key] for key in others if key != name)):
        with pytest.raises(SolutionError, match="the solution belongs to the model"):
            odtc.decode(other, solution)


def test_a_file_of_changed_arrays_is_an_edited_model(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = model.problem.encoded.dataset
    assert frame is not None
    odtc.write_build(bounded(model), "w")
    assert command("solve", "w.mps", "--time-limit", 60, folder=tmp_path).code in (0, None)
    said = command("decode", "w.sol", folder=tmp_path)
    assert "proved optimal: objective" not in said.out and "for the data" in said.out, said


def test_the_matrix_of_a_model_cannot_be_written_to(model):
    with pytest.raises(ValueError, match="read-only"):
        model.A.data[:] = 0


def test_a_solution_that_names_no_model_proves_nothing(model, optimum):
    solved = odtc.solve(model, time_limit=60)
    worse = bounded(model)
    x = odtc.solve(worse, time_limit=60).x
    cost = model.objective(x)
    assert cost > optimum
    decoded = odtc.decode(model, odtc.Solution(x, "optimal", cost, cost))
    assert told(decoded)[1:] == ("unknown", decoded.solution.bound) and "does not name its model" in (
        decoded.solution.message
    )
    assert told(odtc.decode(model, solved))[:2] == (True, "optimal")


def test_what_gurobi_holds_beside_rows_proves_nothing(model, optimum):
    gurobipy = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    small = odtc.build(model.problem.encoded.X[:12, :3].astype(bool), model.problem.encoded.y[:12], "binoct", 1)

    def squared(theirs, one):
        theirs.addQConstr(one * one <= 0)

    def ordered(theirs, one):
        theirs.addSOS(gurobipy.GRB.SOS_TYPE1, theirs.getVars()[:2])

    def indicated(theirs, one):
        theirs.addGenConstrIndicator(one, True, one <= 0)

    def lazy(theirs, one):
        theirs.Params.LazyConstraints = 1

    for change, word in ((squared, "quadratic"), (ordered, "sets"), (indicated, "general"), (lazy, "callback")):
        theirs = small.to_gurobi()
        theirs.Params.OutputFlag = 0
        change(theirs, theirs.getVars()[small["f"].start])
        theirs.optimize()
        decoded = odtc.decode(small, theirs)
        assert decoded.solution.termination == "unknown" and word in decoded.solution.message, word


def test_what_highs_holds_beside_rows_proves_nothing(model):
    import highspy

    theirs = model.to_highspy()
    theirs.setOptionValue("output_flag", False)
    theirs.changeColIntegrality(barred(model)[0], highspy.HighsVarType.kSemiInteger)
    theirs.run()
    decoded = odtc.decode(model, theirs)
    assert decoded.solution.termination != "optimal"
