"""Constraints and variables that a user adds: decoded, proved only of the edited model, and checked at the point."""

import json
import os
import warnings
from dataclasses import replace
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import milp

import odtc
from odtc.errors import ModelError, NoSolutionError, TreeError
from odtc.fileformats.model_files import read_model, write_model
from odtc.model.own_parts import RESERVED, completed
from odtc.solvers.solver import find_solver, version
from odtc.workflow.results.facts import SolveFacts
from tests.command_line import MONKS, refused
from tests.command_line import odtc as command

SLOW = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
FORMS = ["flowoct", "binoct", "dpflow"]
SOLVERS = ("highs", "scip", "cbc")
NEEDED = bool(os.environ.get("ODTC_REQUIRE_SOLVERS"))  # then one that is not on this machine is a failure
THERE = [name for name in SOLVERS if NEEDED or version(find_solver(name)) is not None]


@pytest.fixture(scope="module", params=FORMS)
def model(request):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (14, 3)).astype(bool)
    return odtc.build(X, rng.integers(0, 2, 14), request.param, 2)


@pytest.fixture(scope="module")
def small():
    return odtc.build(np.eye(4), [0, 1, 0, 1], "flowoct", 1)


@st.composite
def edits(draw):
    """Numbers that rows and columns are made of: (column, coefficient) pairs, sides, and a priced slack or none."""
    pair = st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from([-1.0, 1.0, 2.0]))
    rows = draw(st.lists(st.lists(pair, min_size=1, max_size=4), min_size=1, max_size=3))
    return rows, draw(st.sampled_from([0.0, 1.0])), draw(st.sampled_from([None, 0.0, 0.5, 20.0]))


@pytest.mark.every(2)
@given(edit=edits(), solver=st.sampled_from(THERE))
@settings(max_examples=8, **SLOW)
def test_what_is_proved_is_the_optimum_of_the_edited_model(model, edit, solver):
    rows, side, price = edit
    # A row over flows may leave a point that is half a tree, as any row of a linear program may.
    whole = np.flatnonzero(model.to_scipy()["integrality"])
    names = [model.column_names[at] for at in whole] or model.column_names
    own = model if price is None else model.add_columns(["slack"], cost=price, upper=4)
    slack = {} if price is None else {"slack": 1.0}
    own = own.add_rows([{names[int(at * len(names))]: c for at, c in row} | slack for row in rows], lower=side)
    best = milp(**own.to_scipy())
    solution = odtc.solve(own, solver, time_limit=60)
    if best.x is None:
        assert not solution.has_solution
        return
    decoded = odtc.decode(own, solution)
    facts = SolveFacts.of(decoded.solution)
    if model.name.startswith("dpflow") and not decoded.verified:
        return  # a linear program, which rows of a user may leave without a whole optimum: refused
    assert decoded.verified, decoded.checks
    if facts.edited is None:  # the tree attains the floor of equivalent points: it is optimal for the data
        assert facts.termination == "optimal"
        return
    assert (facts.edited["termination"], facts.termination, facts.bound) == ("optimal", "unknown", None)
    assert facts.edited["bound"] == pytest.approx(best.fun, abs=1e-5)
    assert facts.edited.get("objective", facts.objective) >= best.fun - 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = odtc.start(own)
    assert begun is None or (own.A @ begun[1] >= own.row_lower - 1e-6).all()


def test_a_bound_above_a_tree_that_keeps_the_rows_fails(model):
    names = model.column_names
    own = model.add_rows({names[0]: 1.0}, upper=1)  # every tree keeps it
    solution = odtc.solve(own)
    lie = replace(solution, bound=solution.objective + 2)
    failed = [check.name for check in odtc.decode(own, lie).checks if not check.passed]
    assert failed == ["bound"] or odtc.decode(own, solution).solution.objective == 0


def test_objects_of_solvers_prove_what_they_solved(model):
    whole = milp(**model.to_scipy())
    highs = model.to_highspy()
    highs.run()
    decoded = odtc.decode(model, highs)
    assert decoded.verified and decoded.solution.bound == pytest.approx(whole.fun, abs=1e-6)
    assert decoded.solution.scope == "" and SolveFacts.of(decoded.solution).termination == "optimal"
    highs.changeColBounds(0, 1.0, 1.0)  # edited in the solver's own object
    highs.run()
    edited = odtc.decode(model, highs)
    assert edited.solution.scope or SolveFacts.of(edited.solution).objective == whole.fun
    for point in (whole, whole.x, dict(zip(model.column_names, whole.x))):
        facts = SolveFacts.of(odtc.decode(model, point).solution)
        assert facts.termination == "unknown" or facts.objective == facts.bound


def test_the_object_of_gurobi(model):
    pytest.importorskip("gurobipy")
    own = model.add_columns("slack", cost=20.0).add_rows([{model.column_names[0]: 1.0, "slack": 1.0}], lower=1)
    for of, scope in ((model, ""), (own, "the edited model")):
        theirs = of.to_gurobi()
        theirs.Params.OutputFlag = 0
        theirs.optimize()
        decoded = odtc.decode(model, theirs)
        assert decoded.verified and decoded.solution.scope == scope


def test_files_of_a_model_with_own_parts(tmp_path, monkeypatch):
    """monks-1 with a row of one's own was called proved for the data: now of the edited model, by file and manifest."""
    monkeypatch.chdir(tmp_path)
    model = odtc.build(MONKS / "monks-1.csv", "dpflow", 1, encoding="onehot")
    own = model.add_columns(["late"], cost=0.5, upper=9).add_rows([{"u0_0_03": 1.0, "late": 1.0}], 1, names=["ask_it"])
    odtc.write_build(own, "own")
    manifest = json.loads((tmp_path / "own.odt.json").read_text())
    assert manifest["own"] == {"rows": ["ask_it"], "columns": ["late"]}
    command("solve", "own.mps", folder=tmp_path)
    facts = command("decode", "own.sol", "--json", folder=tmp_path).facts
    assert facts["verified"] and facts["termination"] == "unknown" and facts["bound"] is None
    assert facts["edited"] == {"termination": "optimal", "bound": 34.5, "gap": 0.0, "objective": 34.5}
    assert "(of the edited model 34.5, bound 34.5)" in command("decode", "own.sol", folder=tmp_path).out
    assert not command("verify", "own.sol", folder=tmp_path).code


@pytest.mark.parametrize("edited", [False, True])
def test_own_columns_in_fixed_mps(tmp_path, edited):
    """Its columns are C0000000, …: those of the model were called lacking. A user may also add one to the file."""
    model = odtc.build(np.eye(4), [0, 1, 0, 1], "flowoct", 1)
    own = model.add_columns(["late"], cost=1, upper=3).add_rows([{"b_1_0": 1.0, "late": 1.0}], lower=2)
    odtc.write_build(own, tmp_path / "m", format="fixed-mps")
    if edited:
        text = (tmp_path / "m.mps").read_text()
        assert (last := f"C{model.n_cols:07d}") in text
        (tmp_path / "m.mps").write_text(text.replace(last, "late    "))
    assert command("solve", "m.mps", folder=tmp_path).code == 0
    said = command("decode", "m.sol", "--json", folder=tmp_path)
    assert said.facts["verified"] and said.facts["edited"]["termination"] == "optimal", said.err
    assert said.facts["edited"]["bound"] == pytest.approx(milp(**own.to_scipy()).fun)
    assert not command("verify", "m.sol", folder=tmp_path).code


@pytest.mark.parametrize("name", ["e1", "inf_x", "a b", "st", "", "ä", "1x", "b_1_0", "obj", "NaN", "SOS1", "sin"])
def test_names_that_files_cannot_hold_are_refused(name):
    model = odtc.build(np.eye(4), [0, 1, 0, 1], "flowoct", 1)
    with pytest.raises(ModelError, match="expected names"):
        model.add_columns([model.column_names[0] if name == "b_1_0" else name])
    with pytest.raises(ModelError, match="expected names"):
        model.add_rows([{"b_1_0": 1.0}], 0, names=[model.row_names[0] if name == "b_1_0" else name])


SUSPECTS = (
    "obj nan inf sin sos2 user cuts subject to Rg1 MPS_Rg2 RHS bnd RANGES NAME objsense C0000000 R1 x N G fx".split()
)


@given(word=st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,4}", fullmatch=True) | st.sampled_from([*SUSPECTS, *RESERVED]))
@settings(max_examples=12, deadline=None)
def test_a_name_that_is_taken_is_read_again(small, word):
    try:
        own = small.add_columns([word], cost=1, upper=3, integer=True)
        own = own.add_rows([{word: 2.0, "b_1_0": 1.0}], lower=1, names=[f"{word}_1"])
        own = own.add_rows([{word: 1.0}], upper=2, names=[word])
    except ModelError:
        return
    for form in ("mps", "lp"):
        with TemporaryDirectory() as folder:
            again = read_model(write_model(own, f"{folder}/m.{form}", form))
        assert (again.column_names, again.row_names) == (own.column_names, own.row_names)
        assert not (again.A != own.A).nnz


@pytest.mark.parametrize(
    "rows, more, why",
    [
        ({"b_1_0": "x"}, {}, "coefficients of the column 'b_1_0' in rows of your own as numbers, got 'x'"),
        ("b_1_0 + b_1_1 >= 1", {}, "expected rows of your own as numbers .* got 'b_1_0"),
        (None, {}, "expected rows of your own as numbers"),
        ([{"b_1_0": 1.0}, None], {}, "got None in row 1"),
        ({}, {}, "expected coefficients by names .* got {} in row 0"),
        ([], {}, "one row of your own or more, got none"),
        ([[1.0, 2.0]], {}, "expected rows over the"),
        (
            {"b_1_0": 1.0},
            {"lower": [0, 1]},
            r"lower of rows of your own as one number or 1, got an array of shape \(2,\)",
        ),
        ({"b_1_0": 1.0}, {"lower": "x"}, "lower of rows of your own as numbers, got 'x'"),
        ({"b_1_0": 1.0}, {"lower": 2, "upper": 1}, "got lower 2 and upper 1"),
        ({"b_1_0": 1.0}, {"lower": np.inf}, "expected lower up to upper"),
        ({"b_1_0": 1.0}, {"names": 5}, "expected names of your own as texts, got 5"),
    ],
)
def test_rows_that_are_none_are_refused_in_a_sentence(small, rows, more, why):
    with pytest.raises(ModelError, match=why):
        small.add_rows(rows, **more)


@pytest.mark.parametrize(
    "names, more, why",
    [
        (5, {}, "expected names of your own as texts, got 5"),
        ([], {}, "one column of your own or more"),
        (["a", "b"], {"cost": [1, 2, 3]}, r"costs of columns of your own as one number or 2, got .* shape \(3,\)"),
        (["a"], {"cost": "x"}, "costs of columns of your own as numbers, got 'x'"),
        (["a"], {"cost": np.nan}, "expected finite costs"),
        (["a"], {"integer": 2}, "True or False"),
        (["a"], {"lower": [[0]]}, "as one number or 1"),
    ],
)
def test_columns_that_are_none_are_refused_in_a_sentence(small, names, more, why):
    with pytest.raises(ModelError, match=why):
        small.add_columns(names, **more)


def test_own_rows_that_no_tree_keeps_are_named(small, tmp_path):
    own = small.add_rows([{"b_1_0": 1.0}], lower=2, names=["never"])
    wanted = "edited model is infeasible, so no tree of this model keeps the rows of your own: .* one of 'never'"
    with pytest.raises(NoSolutionError, match=wanted):
        odtc.decode(own, odtc.solve(own))
    odtc.write_build(own, tmp_path / "m")
    said = refused(command("solve", "m.mps", folder=tmp_path), 3)
    assert "'never'" in said and "every model of odtc has a solution" not in said


def test_a_point_is_completed_where_the_rows_allow():
    model = odtc.build(np.eye(4), [0, 1, 0, 1], "flowoct", 1)
    x = odtc.start(model)[1]
    own = model.add_columns(["y1", "y2"], cost=[1, 2]).add_rows([{"y1": 1.0, "y2": 1.0}], lower=3)
    assert completed(own, x)[-2:].tolist() == [3, 0]
    never = own.add_rows([{"y1": 1.0}], upper=-1)
    assert completed(never, x) is None
    never = never.add_rows([{"y1": 1.0, "y2": -1.0}], lower=5, names=["kept"])
    with pytest.warns(
        UserWarning, match="the tree of 'cart': it breaks a row that was added to the model: 'own_row_1'$"
    ):
        assert odtc.start(never) is None
    with pytest.raises((TreeError, ModelError)):
        model.add_rows([{"nothing": 1.0}])


def test_arrays_and_frames_with_their_labels():
    from sklearn.datasets import load_iris

    flowers = load_iris(as_frame=True)
    of_frame = odtc.fit(flowers.data, flowers.target, depth=2)
    of_array = odtc.fit(flowers.data.to_numpy(), flowers.target_names[flowers.target], depth=2)
    assert of_frame.proof.objective == of_array.proof.objective == 6
    assert of_array.tree.classes == ("setosa", "versicolor", "virginica") and of_frame.tree.target == "target"
    by_name = odtc.build(X=flowers.data, y=flowers.target.to_frame("kind"))
    assert (
        by_name.problem.encoded.target == "kind"
        and by_name.c.tolist() == odtc.build(flowers.data, flowers.target).c.tolist()
    )
    for words in ({}, {"data": flowers.data, "X": flowers.data}):
        with pytest.raises(odtc.OdtcError, match="expected (the )?data"):
            odtc.fit(**words, y=flowers.target)
    with pytest.warns(UserWarning, match="3 of 150 rows have no label: they are left out"):
        odtc.build(flowers.data, [None, float("nan"), np.nan, *flowers.target[3:]])
    with pytest.raises(odtc.OdtcError, match="a label for each of 150 rows"):
        odtc.build(flowers.data, [1, 2])
    with pytest.raises(odtc.OdtcError, match="leave one of the two out"):
        odtc.build(MONKS / "monks-1.csv", [1, 2])


def test_a_model_says_what_it_is():
    model = odtc.build(np.eye(4), [0, 1, 0, 1], "flowoct", 1)
    text, page = repr(model), model._repr_html_()
    assert f"{model.n_cols} columns" in text and "b[node, split]" in text and "<table>" in page
    mine = [name for name in model.column_names if name.startswith("b_")]
    assert model["b"].size == len(mine) and model["b"].names() == mine
    own = model.add_columns(["y1", "y22"]).add_rows([{"y1": 1.0}], upper=1)
    assert own["own"].names() == ["y1", "y22"] and own.row_names[-1:] == ["own_row_0"]
    with pytest.raises(ModelError, match="expected a family"):
        model["nothing"]


def test_members_of_a_family_are_found_by_the_words_of_the_data():
    frame = pd.DataFrame({"size": [1, 2, 3, 1], "colour": ["red", "blue", "white", "white"], "red": list("ynnn")})
    model = odtc.build(frame, ["no", "yes", "yes", "no"], "flowoct", 2, encoding="onehot", params={"literal": "true"})
    assert model["b"]["red = y"] == model["b"]["colour = red"] and "red = y" not in model.splits
    at = model.splits.index("colour = red")
    names = [f"b_{node}_{at}" for node in (1, 2, 3)]
    assert model["b"]["colour = red"] == model["b"]["colour ≠ red"] == names
    assert model["b"][1, "colour = red"] == names[:1] and set(names) <= set(model["b"]["colour"])
    assert (
        model["w"][slice(None), "yes"] == model["w"]["yes"] == [name for name in model["w"].names() if name[-1] == "1"]
    )
    with pytest.raises(ModelError, match="did you mean 'colour'"):
        model["b"]["color"]
    with pytest.raises(ModelError, match=r"1 to 3 \(node\)"):
        model["b"][9, "colour"]
    own = model.add_rows([dict.fromkeys(model["b"]["colour"], 1.0)], upper=0)
    assert "colour" not in str(odtc.decode(own, odtc.solve(own)).tree)


def test_a_bound_of_an_edited_model_that_is_off_by_rounding_is_a_proof(small):
    """HiGHS returned 18.99999999999997 of an optimum of 19, and the tree was only the "best found"."""
    own = small.add_rows([{"b_1_0": 1.0}], lower=1)
    solution = odtc.solve(own)
    for bound, proved in ((solution.objective - 3e-14, True), (solution.objective - 0.5, True), (-1.0, False)):
        decoded = odtc.decode(own, replace(solution, bound=bound))
        assert (decoded.solution.bound == decoded.solution.objective) == proved and decoded.solution.scope
    costly = small.add_columns(["late"], cost=0.25, upper=9).add_rows([{"b_1_0": 1.0, "late": 1.0}], lower=1)
    found = odtc.decode(costly, replace(odtc.solve(costly), bound=0.5))
    assert found.solution.bound == 0.5  # costs of one's own are not those of trees


def test_splits_of_a_model_are_true_of_the_rows_with_answer_one():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 1.0], "colour": ["red", "blue", "white", "red"]})
    model = odtc.build(frame, ["no", "yes", "yes", "no"], "flowoct", 1)
    values = {f"{name} = {level}": frame[name] == level for name in frame for level in frame[name].unique()}
    values |= {f"size > {cut}": frame["size"] > cut for cut in (1.5, 2.5)}
    for text, answers in zip(model.splits, model.problem.encoded.X[model.problem.encoded.row_of].T):
        assert values[text].tolist() == answers.tolist()


def test_a_row_over_flows_that_leaves_half_a_tree_is_told_in_words():
    """Half of a flow goes to a leaf, so that the point costs more than the tree of its splits: the bound of the edited
    model was "claimed", and why this tree costs less was not said."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, bool)
    model = odtc.build(X, [0, 1, 1, 0, 0, 1, 1, 1], "flowoct", 1)
    own = model.add_rows([{"p_1_0_1_0": 1.0}], lower=0.5)
    failed = [check for check in odtc.decode(own, odtc.solve(own, "highs")).checks if not check.passed]
    assert [check.name for check in failed] == ["bound"]
    assert "the point is not a whole tree, as rows over continuous columns may leave it" in failed[0].text
    whole = model.add_rows([{"b_1_0": 1.0}], lower=1.0)
    assert odtc.decode(whole, odtc.solve(whole, "highs")).verified


def test_a_row_of_ones_own_without_a_side_is_refused(small):
    """It would forbid nothing, and whoever adds it means something."""
    row = {"b_1_0": 1.0}
    for sides in ({}, {"lower": -np.inf}, {"lower": [0.0, -np.inf], "upper": [np.inf, np.inf]}):
        rows = [row] * (2 if sides.get("lower") == [0.0, -np.inf] else 1)
        with pytest.raises(ModelError, match="expected a lower or an upper side of every row"):
            small.add_rows(rows, **sides)
