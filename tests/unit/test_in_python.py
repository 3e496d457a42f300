"""The compiler from Python, as a data scientist calls it first: data frames, fitted estimators, and what is refused
in a sentence."""

import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import odtc
from odtc.errors import ChoiceError, DataError, TreeError

ROWS = {
    "size": [1.0, 2.0, None, 4.0, 5.0, 6.0],
    "colour": ["red", "blue", "red", "blue", "red", "blue"],
    "big": [False, False, True, True, True, True],
    "y": ["no", "no", "yes", "yes", "yes", "yes"],
}


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, lambda rows: pd.DataFrame(rows).astype({"colour": "category"})],
    ids=["pandas", "polars", "categories"],
)
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_a_data_frame_is_data_as_its_file_is(tmp_path, make, missing):
    pd.DataFrame(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    of_file, of_frame = odtc.read(tmp_path / "rows.csv", missing=missing), odtc.read(make(ROWS), missing=missing)
    assert (of_frame.features, of_frame.classes, of_frame.n_dropped) == (
        of_file.features,
        of_file.classes,
        of_file.n_dropped,
    )
    assert ((of_frame.X == of_file.X) | (of_frame.X != of_frame.X)).all() and (of_frame.y == of_file.y).all()
    fitted = odtc.fit(make(ROWS), "flowoct", depth=1, reading={"missing": missing})
    assert fitted.facts["train_accuracy"] == 1 and fitted.decoded.verified


def test_a_fitted_estimator_is_a_tree_to_every_exporter():
    frame = pd.DataFrame(ROWS)
    learner = odtc.OptimalTreeClassifier(max_depth=1).fit(frame[["size", "big"]], frame["y"])
    for to in ("python", "sql", "text"):
        assert odtc.export(learner, to) == odtc.export(learner.tree_, to) == odtc.render_tree(learner, to)
    assert odtc.export(learner, "onnx") == odtc.export(learner.tree_, "onnx")


def test_what_is_no_tree_model_or_data_is_refused_in_a_sentence():
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(NotFittedError):
        odtc.export_text(odtc.OptimalTreeClassifier())
    with pytest.raises(TreeError, match="call fit first"):
        odtc.export(odtc.OptimalTreeClassifier(), "python")
    with pytest.raises(TreeError, match="import_tree"):
        odtc.export(DecisionTreeClassifier().fit([[1], [2]], [0, 1]), "python")
    with pytest.raises(TreeError, match="got str; read one"):
        odtc.render_tree("m.tree.json")
    with pytest.raises(DataError, match="got list"):
        odtc.read([[1, 2], [3, 4]])
    with pytest.raises(DataError, match="'a' twice"):
        odtc.read(pd.DataFrame([[1, "u"], [2, "v"]], columns=["a", "a"]))
    with pytest.raises(ChoiceError, match="name of a model as a text, got None"):
        odtc.fit(pd.DataFrame(ROWS), model=None)
    with pytest.raises(ChoiceError, match="`odtc solve FILE`"):
        odtc.solve("m.mps")
    with pytest.raises(ChoiceError, match="`odtc decode FILE`"):
        odtc.decode("m.mps", "m.sol")


def test_auto_behind_a_data_frame_is_the_model_unless_a_column_has_this_name():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": [0.5, 0.5, 2.0, 2.0]})
    fitted = odtc.fit(frame, "auto", depth=1, task="regression", target="y")
    assert fitted.problem.formulation == "dpflow" and fitted.proof.objective == 0
    cars = pd.DataFrame({"auto": ["no", "no", "yes", "yes"], "a": [1.0, 2.0, 3.0, 4.0]})
    assert odtc.fit(cars, "auto", "dpflow", depth=1).tree.target == "auto"


def test_actions_in_one_text_are_told_to_be_a_list():
    """As `--actions a,b` has them; the message showed the two names that it missed."""
    frame = pl.DataFrame({"x": [0, 1], "a": [1, 2], "b": [2, 1]})
    with pytest.raises(ChoiceError, match=r"got a,b as one name; in Python they are a list, \['a', 'b'\]"):
        odtc.fit(frame, task="policy", actions="a,b", depth=1)
