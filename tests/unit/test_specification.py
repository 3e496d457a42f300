"""Specifications of runs: derived fields, and the promises of a run that follows one."""

import dataclasses
import inspect
import re

import pytest
from typer.main import get_command

import odtc
from odtc.base.spec_fields import fields_by_name
from odtc.base.wording import flag
from odtc.cli.app import app
from odtc.cli.commands.solve import OF_A_FILE
from odtc.errors import ChoiceError, OdtcError
from odtc.model.solution import Solution, Termination
from odtc.workflow import run
from odtc.workflow.specification import ModelSpec, ReadingSpec, RunSpec, SolvingSpec
from tests.command_line import MONKS
from tests.command_line import odtc as command

PARTS = {"fit": (ModelSpec, ReadingSpec, SolvingSpec), "build": (ModelSpec, ReadingSpec), "solve": (SolvingSpec,)}
CHANGED = {"solve": OF_A_FILE.changed}  # what a command says of its own use of a field
FIELDS = [
    (name, part, field)
    for name, parts in PARTS.items()
    for part in parts
    for field in fields_by_name(part)
    if name != "solve" or field not in ("workers", "cluster")  # which a solver knows nothing of
]


@pytest.mark.parametrize(("name", "part", "field"), FIELDS, ids=str)
def test_every_field_is_an_option_with_its_own_help(name, part, field):
    one = fields_by_name(part)[field]
    (option,) = [found for found in get_command(app).commands[name].params if flag(one.name) in found.opts]
    words = one.metadata | CHANGED.get(name, {}).get(field, {})
    assert option.help == words["help"] and option.metavar == words["metavar"]


@pytest.mark.parametrize("field", ["time_limit", "threads", "seed", "gap", "hold_out", "ridge", "workers"])
def test_a_refusal_names_the_end_of_the_range_that_the_value_is_beyond(field):
    """`--time-limit 1e12` was answered by "expected seconds above 0"."""
    (one,) = {part: fields_by_name(part)[field] for part in PARTS["fit"] if field in fields_by_name(part)}.values()
    fits, ends = one.metadata["fits"], [float(number) for number in re.findall(r"\d+", one.metadata["wanted"])]
    for side in (-1, 1):
        if not fits(side * 1e300):
            assert any((fits(end) or fits(end - side)) and not fits(end + side) for end in ends)


def test_the_estimator_has_the_defaults_of_a_run():
    given = inspect.signature(odtc.OptimalTreeClassifier).parameters
    same = {name: name for name in given} | {"max_depth": "depth"}
    specified = fields_by_name(ModelSpec) | fields_by_name(SolvingSpec)
    compared = {name for name in given if same.get(name) in specified} - {
        "model",
        "params",
    }  # auto; None is no parameter
    assert {"max_depth", "encoding", "start", "cuts", "solver", "time_limit", "threads", "gap"} <= compared
    for name in compared:
        field = specified[same[name]]
        assert given[name].default == field.default, name


def specification_of(monkeypatch, words) -> RunSpec:
    """What `odtc fit words…` hands to the run."""
    heard = []

    def hear(spec, *rest, **more):
        heard.append(spec)
        raise OdtcError("heard")

    monkeypatch.setattr(run, "run", hear)
    said = command(*words)
    assert said.err == "odtc: error: heard\n", said.err
    return heard[0]


@pytest.mark.parametrize(
    "spec",
    [
        RunSpec(),
        RunSpec(ReadingSpec("a, b", ('x"y', "z z", "q,r"), ("--n",), "separate", "w", ("s", "t"))),
        RunSpec(
            model=ModelSpec("oct", 3, {"n_min": "2", "text": "a=b,c"}, "auto:bins=4", ("paper4:rounds=3", "x"), "none")
        ),
        RunSpec(model=ModelSpec(cuts=(), constraints=("leaf_rows >= 5", "recall['a,b'] >= 0.5"), select="balanced")),
        RunSpec(model=ModelSpec(class_weight="a=2,b=1", cost='"x,y:z=0.1"', start="my tree.json")),
        RunSpec(solving=SolvingSpec(1234567.5, 12, 2**31 - 1, 1e-12, "highs,glpk", None, None)),
        RunSpec(solving=SolvingSpec(0.1 + 0.2, solver="cbc", program="/a path/cbc")),
    ],
    ids=range(7),
)
def test_the_command_of_a_specification_gives_it_back(monkeypatch, spec):
    found = specification_of(monkeypatch, spec.command("-data.csv", "stem")[1:])
    assert spec.command("-data.csv", "stem")[2] == "./-data.csv"
    cuts = (
        spec.model.cuts if spec.model.cuts is None else ",".join(spec.model.cuts) or "none"
    )  # as text it says the same
    assert found == spec.with_model(cuts=cuts)


@pytest.mark.parametrize(
    ("field", "value"),
    [("time_limit", 0), ("threads", 0), ("threads", 1025), ("seed", 2**31), ("seed", -1), ("gap", -1.0)],
)
def test_a_value_out_of_range_is_refused_by_its_option(field, value):
    with pytest.raises(ChoiceError, match=f"^`{field}`: expected .*, got "):
        SolvingSpec(**{field: value})


@pytest.mark.parametrize("field", ["time_limit", "threads", "gap", "workers"])
def test_a_text_in_place_of_a_number_is_refused_by_its_option(field):
    with pytest.raises(odtc.OdtcError, match=f"`{field}`: expected .*, got '5'"):
        RunSpec.from_keywords("auto", 2, {field: "5"}, fitting=True)


def test_keywords_that_no_field_has_are_parameters_of_the_formulation():
    spec = RunSpec.from_keywords("cg", 3, {"tail": "0", "seed": 3, "reading": {"target": "y"}}, fitting=False)
    assert spec.model.params == {"tail": "0", "seed": 3} and spec.solving.seed == 0 and spec.reading.target == "y"
    assert RunSpec.from_keywords("cg", 3, {"tail": "0", "seed": 3}).solving.seed == 3
    with pytest.raises(ChoiceError, match="no parameter 'nosuch'"):
        odtc.fit(MONKS / "monks-1.csv", "flowoct", 1, nosuch=1)
    with pytest.raises(ChoiceError, match="no parameter 'start'"):
        odtc.build(MONKS / "monks-1.csv", "flowoct", 1, start="none")


@pytest.mark.parametrize("model", ["flowoct", "bendersoct"])
def test_a_solver_without_a_point_in_time_leaves_the_start_whoever_asks(monkeypatch, model):
    """The command line, Python and the estimator have one meaning of a time limit, with and without rounds."""
    nothing = Solution(None, Termination.TIME_LIMIT, seconds=0.1, solver="slow")
    monkeypatch.setattr("odtc.workflow.solving.run_solver", lambda *words: nothing)
    done = odtc.fit(MONKS / "monks-1.csv", model, 2, encoding="onehot", time_limit=60)
    assert done.verified and done.proof.termination == "time_limit" and done.proof.bound is not None
    assert done.training.loss <= done.cart_training.cart_loss and done.facts["has_solution"]


def test_the_json_of_a_fit_is_its_typed_figures():
    done = odtc.fit(MONKS / "monks-1.csv", "cart", 2, test=MONKS / "monks-1_test.csv")
    facts = done.to_json()
    for part in (done.size, done.proof, done.training, done.cart_training, done.test):
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            assert facts[field.name] == value if field.name in facts else value is None
    assert facts == done.facts and facts["verified"] is done.verified is True


def test_the_estimators_docstring_has_each_parameter_with_the_help_of_its_field():
    """What the command line says of an option, the estimator says of its parameter."""
    doc = odtc.OptimalTreeClassifier.__doc__
    told = doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    for name, given in inspect.signature(odtc.OptimalTreeClassifier).parameters.items():
        about = told.partition(f"\n{name} : " if not told.startswith(name) else f"{name} : ")[2]
        first, _, text = about.partition("\n")
        assert first.endswith(f"default {given.default!r}"), name
        assert text.startswith("    "), f"{name} has no text; see TEXTS in odtc/estimators/parameters.py"
    assert " ".join(told.split()).count(ModelSpec.__dataclass_fields__["cuts"].metadata["help"]) == 1
