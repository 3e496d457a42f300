"""Data in `odtc.fit` and `odtc.build`: labels, the column that contains them, and options of reading."""

import dataclasses
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.errors import ChoiceError, DataError, TreeError
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parameter_key
from odtc.workflow.specification import ModelSpec, ReadingSpec, SolvingSpec
from tests.command_line import odtc as command

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan], "kind": ["x", "x", "y", "y"], "n": [1, 2, 3, 4]})


def test_the_column_of_the_labels_is_named_in_each_way():
    fits = [
        odtc.fit(FRAME, "kind", depth=1),
        odtc.fit(FRAME, target="kind", depth=1),
        odtc.fit(FRAME, reading={"target": "kind"}, depth=1),
    ]
    assert all(one.tree == fits[0].tree and one.tree.target == "kind" for one in fits)
    assert odtc.build(FRAME, "kind", "flowoct", 1).problem.encoded.target == "kind"


def test_keywords_of_reading_stand_beside_those_of_a_fit(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert odtc.fit(FRAME, "kind", depth=1).problem.encoded.n_rows == 3  # the cell that is missing
    for kept in (
        odtc.fit(FRAME, "kind", depth=1, missing="separate"),
        odtc.fit(FRAME[["a", "n"]], FRAME.kind, depth=1, missing="separate"),
        odtc.fit(tmp_path / "t.csv", target="kind", depth=1, missing="separate"),
    ):
        assert kept.problem.encoded.n_rows == 4
    assert odtc.fit(tmp_path / "t.csv", depth=1, task="regression").problem.encoded.task == "regression"


def test_no_keyword_has_two_meanings():
    reading = {field.name for field in dataclasses.fields(ReadingSpec)}
    others = {field.name for cls in (ModelSpec, SolvingSpec) for field in dataclasses.fields(cls)}
    params = {
        parameter_key(field)
        for name in FORMULATIONS.names()
        for field in dataclasses.fields(FORMULATIONS.get(name).Params)
    }
    assert not reading & (others | params)


@pytest.mark.parametrize("given", [{"y": FRAME.kind, "target": "n"}, {"y": "knd"}, {"y": "flowcot"}])
def test_a_wrong_second_argument_is_refused_in_a_sentence(given):
    with pytest.raises(ChoiceError, match="expected labels.*got"):
        odtc.fit(FRAME, **given)


def test_a_result_is_printed_as_its_tree_and_its_claim():
    done = odtc.fit(FRAME, "kind", depth=1)
    assert str(done).startswith(f"{done.tree}\n\n{done.claim}\n") and str(done.tree).splitlines()[0] == "kind: x, y"
    assert done.claim.startswith("proved optimal, certified: objective 0, bound 0")
    assert done.claim in repr(done) and len(repr(done).splitlines()) == 1
    model = odtc.build(FRAME, "kind", "flowoct", 1)
    decoded = odtc.decode(model, odtc.solve(model, time_limit=20))
    assert f"{len(decoded.checks)} of {len(decoded.checks)} checks passed" in str(decoded) and "2 leaves" in repr(
        decoded
    )


def test_a_result_says_how_many_rows_were_left_out():
    assert "dropped 1 row of 4: 1 with missing cells" in str(odtc.fit(FRAME, "kind", depth=1))
    assert "dropped" not in str(odtc.fit(FRAME, "kind", depth=1, missing="separate"))


def test_a_tree_says_its_size_in_a_line():
    tree = odtc.fit(FRAME, "kind", depth=1).tree
    assert repr(tree) == "<Tree of kind: 2 leaves, depth 1>"


def test_notebooks_show_trees_and_results_as_they_are_printed():
    frame = FRAME.replace({"kind": {"x": "<b>x & y</b>"}})
    done = odtc.fit(frame, "kind", depth=1)
    for shown in (done, done.tree, done.decoded):
        page = shown._repr_html_()
        assert page.startswith("<pre") and "&lt;b&gt;x &amp; y&lt;/b&gt;" in page and "<b>" not in page
        assert "├── " in page or "└── " in page


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_result_predicts_other_rows_as_the_command_does(tmp_path, task):
    """Files, frames of both kinds, in any order and without the columns that no test asks; and arrays."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"a": rng.integers(0, 9, 60), "kind": rng.choice(["x", "y", "z"], 60), "idle": 1.5})
    label = np.where((rows.a > 4) ^ (rows.kind == "x"), "yes", "no") if task == "classification" else rows.a * 2.5
    table = rows.assign(told=label)
    table.to_csv(tmp_path / "t.csv", index=False)
    fitted = odtc.fit(tmp_path / "t.csv", depth=2, task=task)
    (tmp_path / "t.tree.json").write_text(json.dumps(fitted.tree.to_json()), encoding="utf-8")
    said = command("predict", "t.tree.json", "t.csv", folder=tmp_path).out.split()[1:]
    of_polars = pl.DataFrame({name: table[name].to_list() for name in ("kind", "idle", "a")})
    for data in (tmp_path / "t.csv", str(tmp_path / "t.csv"), table, table[["kind", "a"]], of_polars):
        found = fitted.predict(data)
        assert [str(one) if task == "classification" else repr(float(one)) for one in found] == said
    with pytest.raises(DataError, match="expected the feature column 'a' in the data frame, got no such"):
        fitted.predict(table[["kind"]])
    with pytest.raises(TreeError, match="got a data frame; Fit.predict"):
        fitted.tree.predict(table)


def test_a_result_predicts_arrays_and_refuses_others():
    X, y = np.arange(12.0).reshape(6, 2), [0, 0, 1, 1, 0, 1]
    fitted = odtc.fit(X, y, depth=2)
    assert fitted.predict(X).tolist() == [int(fitted.tree.classes[k]) for k in fitted.tree.predict(X)]
    assert fitted.predict(X.tolist()).tolist() == fitted.predict(X).tolist()
    for other in (X[:, :1], X[0]):
        with pytest.raises(DataError, match="expected rows of the 2 columns of the tree"):
            fitted.predict(other)


@pytest.mark.parametrize("labels", [[0, 1], [7, -3], [0.5, 2.0], [True, False], ["0", "1"], ["no", "yes"]])
def test_classes_are_answered_as_the_labels_were_given(labels, tmp_path):
    """`(fitted.predict(X) == y).mean()` was 0 for labels that are numbers, as names were answered."""
    X = pd.DataFrame({"a": np.arange(40.0)})
    y = pd.Series([labels[0]] * 17 + [labels[1]] * 23, name="told")
    table = X.assign(told=y)
    of_polars = pl.DataFrame({"a": X["a"].to_list(), "told": y.to_list()})
    fits = [odtc.fit(X, one, depth=1) for one in (y, y.to_numpy(), y.tolist())]
    fits += [odtc.fit(table, "told", depth=1), odtc.fit(table, depth=1), odtc.fit(of_polars, target="told", depth=1)]
    fits += [odtc.fit(X=X, y=y, depth=1)]
    for fitted in fits:
        found = fitted.predict(X)
        assert (found == y).all() and {type(one) for one in found.tolist()} == {type(labels[0])}
    table.to_csv(tmp_path / "t.csv", index=False)
    of_file = int if labels == ["0", "1"] else type(labels[0])  # text that stands for numbers is of their type
    assert {type(one) for one in odtc.fit(tmp_path / "t.csv", depth=1).predict(X).tolist()} == {of_file}


def test_weights_may_stand_beside_the_rows():
    """An array of them was told by numpy: "The truth value of an array with more than one element is ambiguous"."""
    X = pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "weight": [0.0, 1, 0, 1, 0]})
    y, weights = ["no", "yes", "no", "yes", "no"], [1, 5, 1, 0.5, 4]
    named = odtc.fit(X.assign(told=y, w=weights), "told", depth=1, weights="w")
    for given in (weights, np.array(weights), pd.Series(weights)):
        fits = [odtc.fit(X, y, depth=1, weights=given), odtc.fit(X.assign(told=y), "told", depth=1, weights=given)]
        fits += [odtc.fit(X.to_numpy(), y, depth=1, weights=given)]
        for fitted in fits:
            assert fitted.dataset.weight.tolist() == weights and fitted.proof.objective == named.proof.objective
            assert len(fitted.tree.features) == 2
    for wrong in (weights[:3], [weights], ["much"] * 5, 3):
        with pytest.raises(DataError, match="expected weights as the name of a column, or as a number for each of 5 r"):
            odtc.fit(X, y, depth=1, weights=wrong)


def test_weights_of_a_file_are_a_column(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,x\n2,z\n")
    with pytest.raises(DataError, match=r"expected `weights` to name a column of the file, got \[1, 2\]"):
        odtc.fit(tmp_path / "t.csv", depth=1, weights=[1, 2])


def test_a_misspelt_keyword_is_told_by_the_one_that_is_meant():
    """`timelimit=3` was called a parameter that the model has not, and `solve(relax=True)` an argument of a record."""
    X, y = np.arange(12.0).reshape(6, 2), [0, 0, 1, 1, 0, 1]
    for wrong, meant in {"timelimit": "time_limit", "constraint": "constraints", "hold_outs": "hold_out"}.items():
        with pytest.raises(ChoiceError, match=f"^unknown keyword '{wrong}' .did you mean '{meant}'"):
            odtc.fit(X, y, depth=1, **{wrong: 3})
    with pytest.raises(ChoiceError, match="^unknown keyword 'encodings' .did you mean 'encoding'"):
        odtc.build(X, y, "flowoct", depth=1, encodings="auto")
    with pytest.raises(ChoiceError, match="has no parameter 'lamda' .did you mean 'lambda'"):
        odtc.fit(X, y, "flowoct", depth=1, lamda=0.1)
    model = odtc.build(X, y, "flowoct", depth=1)
    with pytest.raises(
        ChoiceError, match="^solve has no keyword 'thread' .did you mean 'threads'.*; known: time_limit, "
    ):
        odtc.solve(model, thread=1)


def test_missing_labels_and_labels_of_two_types_have_no_say():
    X = pd.DataFrame({"a": np.arange(40.0)})
    y = pd.Series([3] * 17 + [4] * 22 + [None], dtype="Int64")
    with pytest.warns(UserWarning, match="1 of 40 rows have no label"):
        fitted = odtc.fit(X, y, depth=1)
    assert fitted.predict(X).tolist() == [3] * 17 + [4] * 23
    mixed = odtc.fit(X, [3] * 17 + ["b"] * 23, depth=1)
    assert set(mixed.predict(X).tolist()) == {"3", "b"}


@pytest.mark.parametrize("mark", [-999, -999.0, "-999", ["-999"], [-999], ("n=-999",)])
def test_a_mark_may_be_a_number(mark):
    table = FRAME.assign(n=[1, -999, 3, 4])
    assert np.isnan(odtc.read(table, "kind", missing="separate", missing_mark=mark).X[1, 1])
