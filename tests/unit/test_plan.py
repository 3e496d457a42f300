"""The plan of a run: it describes the run that follows, with a reason for each decision, and runs nothing."""

import re

import pytest

import odtc as package
from odtc.errors import ChoiceError
from odtc.problem.formulation import FORMULATIONS
from odtc.workflow import compiling, searching, solving
from tests.command_line import odtc, refused

# An exclusive or of two columns, with a third that says nothing.
XOR = "colour,size,noise,class\n" + "".join(
    f"{colour},{size},{noise},{'yes' if (colour == 'red') != (size == 2) else 'no'}\n"
    for colour in ("red", "blue")
    for size in (1, 2)
    for noise in range(3)
)


@pytest.fixture(scope="module")
def xor(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "xor.csv"
    path.write_text(XOR)
    return path


@pytest.fixture
def nothing_runs(monkeypatch):
    def fail(*args, **keywords):
        raise AssertionError("a plan runs nothing")

    for module, name in ((searching, "known_tree"), (compiling, "compile_model"), (solving, "solve_model")):
        monkeypatch.setattr(module, name, fail)


def choices(plan) -> dict[str, str]:
    """The choices by what they are about; each decision has a reason in words."""
    assert all(len(one.why.split()) > 1 for one in plan.decisions)
    return {one.of: one.choice for one in plan.decisions}


@pytest.mark.parametrize(
    "keywords, engine, solver, proof",
    [
        ({}, "search", None, "certificate"),
        ({"model": "dpflow"}, "search", None, "certificate"),
        ({"solver": "highs"}, "model", "HiGHS", "by the solver"),
        ({"model": "dpflow", "cuts": "all"}, "model", "HiGHS", "by the solver"),
        ({"model": "dpflow", "cuts": "none"}, "search", None, "certificate"),
        ({"model": "flowoct"}, "model", "HiGHS", "by the solver"),
        ({"params": {"robust": "size:0.2"}}, "model", "HiGHS", "by the solver"),
        ({"model": "cg"}, "loop", "HiGHS", "by the solver"),
        ({"model": "bendersoct"}, "loop", "HiGHS", "by the solver"),
        ({"model": "dpflow", "params": {"tail": "1"}}, "model", "HiGHS", "by the solver"),
        ({"model": "cart"}, "learner", None, "none"),
        ({"constraints": ("leaves <= 3",)}, "search", None, "certificate"),
        ({"constraints": ("leaf_rows >= 2",), "time_limit": 5}, "search", None, "certificate"),
        ({"task": "regression", "target": "size"}, "search", None, "certificate"),
        ({"task": "median", "target": "size"}, "search", None, "certificate"),
        ({"task": "linear", "target": "size"}, "search", None, None),
        ({"select": "balanced"}, "search", None, "certificate"),
        ({"constraints": ("accuracy >= 0.5",), "confidence": 0.9}, "search", None, "certificate"),
    ],
)
def test_a_plan_names_the_engine_the_solver_and_the_proof(xor, nothing_runs, keywords, engine, solver, proof):
    plan = package.plan(xor, **keywords)
    found = choices(plan)
    assert (plan.engine, found.get("solver")) == (engine, solver)
    assert proof is None or found["proof"] == proof
    assert {"rows", "encoding", "model", "engine", "limits", "proof"} <= set(found)
    assert plan.to_json()["decisions"] == [{"of": d.of, "choice": d.choice, "why": d.why} for d in plan.decisions]


SLOW = "cart_tuned", "svm1_odt", "oct_h", "oblique_search"


@pytest.mark.parametrize("model", ["auto", *(name for name in FORMULATIONS.names() if name not in SLOW)])
def test_a_run_does_what_its_plan_says(xor, model):
    keywords = {"depth": 1, "time_limit": 20}
    plan, done = package.plan(xor, model=model, **keywords), package.fit(xor, model=model, **keywords)
    assert plan.problem.formulation == done.problem.formulation
    by_solver = "HiGHS" in (done.solution.solver or "")
    assert by_solver == (plan.engine in ("model", "loop")), (plan.engine, done.solution.solver)
    assert (done.model is not None) == by_solver


def test_the_limits_and_the_rows_are_those_of_the_run(xor, nothing_runs):
    found = choices(package.plan(xor, time_limit=5, threads=2, hold_out=0.25, start_from="none"))
    assert found["limits"] == "5 seconds, 2 threads" and found["rows"] == "9 rows of xor" and found["start"] == "none"
    confident = choices(package.plan(xor, constraints="accuracy >= 0.5", confidence=0.9))
    assert confident["confidence"] == "0.9" and not confident["rows"].startswith("12 ")


def test_several_models_have_a_plan_each(xor, nothing_runs):
    plan = package.plan(xor, model="dpflow,flowoct", select="coarse_to_fine")
    assert [plan.engine, *(other.engine for other in plan.others)] == ["search", "model"]
    assert all(choices(one)["rounds"].startswith("at most ") for one in (plan, *plan.others))
    with pytest.raises(ChoiceError, match="expected one model"):
        package.plan(xor, model="dpflow,flowoct")


@pytest.mark.parametrize(
    "words, engine",
    [
        (("fit",), "search"),
        (("fit", "--format", "mps"), "model"),
        (("fit", "--pool", 3), "search"),
        (("fit", "--solver", "highs,highs-cli"), "model"),
        (("build",), "model"),
        (("frontier", "--vary", "leaves <= 1:3"), "search"),
    ],
)
def test_the_command_line_prints_the_plan_and_writes_nothing(xor, tmp_path, nothing_runs, words, engine):
    command, *options = words
    said = odtc(command, xor, *options, "--explain-plan", folder=tmp_path)
    assert said.code == 0 and re.search(rf"^engine +{engine}: ", said.out, re.M), said
    told = odtc(command, xor, *options, "--explain-plan", "--json", folder=tmp_path)
    assert told.facts["engine"] == engine and not list(tmp_path.iterdir())
    assert all(one["choice"] and one["why"] for one in told.facts["decisions"])


@pytest.mark.parametrize(
    "options",
    [
        ("--certificate", "--model", "dpflow", "--solver", "highs"),
        ("--model", "cart", "--format", "mps"),
        ("--cuts", "no-such"),
        ("--constraint", "leaves"),
        ("--solver", "no-such"),
        ("--keep",),
    ],
)
def test_a_plan_refuses_what_the_run_refuses(xor, tmp_path, options):
    run, plan = (refused(odtc("fit", xor, *options, *more, folder=tmp_path)) for more in ((), ("--explain-plan",)))
    assert plan == run
