"""The compiler from Python, as a data scientist calls it first: data frames, fitted estimators, and what is refused
in a sentence."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import odtc
from odtc.base.wording import on_command_line
from odtc.data.cells.data_files import WIDE
from odtc.errors import ChoiceError, DataError, TreeError
from tests.command_line import MONKS
from tests.command_line import odtc as command

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
    with pytest.raises(ChoiceError, match=r'odtc.decode\("FILE.sol"\)'):
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


def odd_table(n=60) -> pd.DataFrame:
    """An identifier, three empty cells, five of -999, and labels that a level of `city` nearly tells."""
    age = [None if at < 3 else -999 if at < 8 else 18 + at % 40 for at in range(n)]
    city = ["bonn" if at % 2 else "ulm" for at in range(n)]
    y = ["yes" if at % 2 and at != 9 else "no" for at in range(n)]
    return pd.DataFrame({"id": range(100, 100 + n), "age": age, "city": city, "y": y})


@pytest.mark.parametrize("of", ["file", "frame", "data set", "arrays"])
def test_a_fit_tells_what_looks_odd_as_the_command_line_does(of, tmp_path):
    frame = odd_table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = {
        "file": (tmp_path / "t.csv",),
        "frame": (frame, "y"),
        "data set": (odtc.read(frame),),
        "arrays": (frame[["id", "age", "city"]], frame["y"]),
    }[of]
    fitted = odtc.fit(*given, depth=1)
    dropped, identifier, mark = fitted.notes
    assert dropped == 'dropped 3 rows of 60: 3 with missing cells (missing="separate" keeps them)'
    assert identifier.startswith("note: column 'id' counts the rows") and identifier.endswith("out with `ignore`")
    assert mark.endswith('name it with missing_mark=["age=-999"]')
    assert str(fitted).endswith("\n".join(fitted.notes)) and repr(fitted).endswith("; 3 notes>")
    heard = command("fit", tmp_path / "t.csv", "--depth", 1, "-o", "t", folder=tmp_path).err.splitlines()
    with on_command_line():
        assert tuple(heard[:3]) == odtc.fit(*given, depth=1).notes
    if of in ("file", "frame"):
        asked = odtc.fit(*given, depth=1, ignore=["id"], missing="separate", missing_mark="age=-999")
        assert not asked.notes and " note" not in repr(asked) and not str(asked).endswith("\n")


def test_a_table_is_inspected_in_python():
    found = odtc.inspect(odd_table(), "y")
    assert [note.kind for note in found.notes] == ["identifier", "missing mark"]
    assert "60 rows, 3 of them with missing cells" in str(found) and "leave it out with `ignore`" in str(found)
    assert repr(found) == "<Inspection of data: 60 rows, 2 notes>" and "<pre" in found._repr_html_()
    array = odtc.inspect(odd_table()[["age"]].to_numpy(), odd_table()["y"], encoding="auto:bins=2")
    assert [(column.name, column.splits) for column in array.columns] == [("x0", 1), ("y", None)]
    assert not odtc.inspect(odd_table(), ignore=["id"], missing_mark=["-999"]).notes
    with pytest.raises(ChoiceError, match=r"unknown option 'ignored' \(did you mean 'ignore'\?\)"):
        odtc.inspect(odd_table(), ignored=["id"])


def test_errors_name_keywords_not_options(tmp_path):
    frame = odd_table()
    with pytest.raises(ChoiceError, match="^expected `ignore` to name a column of 'data', got 'nr'"):
        odtc.fit(frame, "y", depth=1, ignore=["nr"])
    with pytest.raises(ChoiceError, match="^`time_limit`: expected seconds above 0"):
        odtc.fit(frame, "y", depth=1, time_limit=0)
    with pytest.raises(DataError, match="or name the column in `categorical`$"):
        odtc.read(frame, numeric=["city"])
    with pytest.raises(DataError, match='choose missing="drop" or "separate"$'):
        odtc.build(frame, "y", "flowoct", missing="error")
    with pytest.raises(DataError, match="or name the column in `categorical`$"):
        odtc.inspect(frame, numeric=["city"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = command("inspect", tmp_path / "t.csv", "--numeric", "city")
    assert said.err.endswith("or name the column in --categorical\n")


def test_an_estimator_keeps_its_remarks_and_has_its_own_words():
    frame = odd_table().assign(price=lambda table: 1.5 * (table["y"] == "yes"))
    X, y = frame.drop(columns="y"), frame["y"]
    learner = odtc.OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert [note.split()[1] for note in learner.notes_] == ["'id'", "'age'", "'price'"]
    assert learner.notes_[2].startswith("column 'price' decides the label by itself") and not any(
        "--" in note for note in learner.notes_
    )
    few = pd.Series(["rare" if at < 4 else "often" for at in range(100)])
    arrays = np.arange(100)[:, None] % 7.0, few
    assert ["recall[rare] >= 0.8" in note for note in odtc.OptimalTreeClassifier().fit(*arrays).notes_] == [True]
    assert not odtc.OptimalTreeClassifier(class_weight="balanced").fit(*arrays).notes_
    assert (
        odtc.OptimalTreeRegressor(max_depth=1).fit(X.drop(columns="city"), frame["price"]).notes_[0].split()[1]
        == "'id'"
    )
    with pytest.raises(DataError, match='use encoding="auto"'):
        odtc.OptimalTreeClassifier(max_depth=1, encoding="thresholds").fit(X, y)


@pytest.mark.parametrize(
    "words",
    [
        {"constraints": "recall[yes] >= 0.9", "missing": "separate", "hold_out": 0.2},
        {"task": "regression", "target": "age", "ignore": ["id"]},
        {"class_weight": "balanced", "missing_mark": "age=-999", "select": "balanced:share=0.5"},
    ],
    ids=["classes", "numbers", "selected"],
)
def test_a_printed_fit_is_what_the_command_line_shows(words, tmp_path):
    """It had the tree and the claim alone: no figure of a test, none of a constraint."""
    odd_table().to_csv(tmp_path / "t.csv", index=False)
    with on_command_line():
        shown = str(odtc.fit(tmp_path / "t.csv", depth=1, **words))
    options = {"constraints": "--constraint"}
    asked = [one for key, value in words.items() for one in (options.get(key, "--" + key.replace("_", "-")), value)]
    asked = [one[0] if isinstance(one, list) else one for one in asked]
    said = command("fit", tmp_path / "t.csv", "--depth", 1, *asked, "-o", "t", folder=tmp_path)
    assert said.code == 0, said.err

    def timeless(text):
        return re.sub(r", \d+\.\d\d s,", ",", text)

    remarks = [line for line in said.err.splitlines() if not line.startswith("wrote ")]
    assert timeless(shown).startswith(timeless(said.out).rstrip("\n"))
    assert sorted(shown.splitlines()[-len(remarks) :]) == sorted(remarks)


def test_exporters_and_pages_take_a_fit():
    fitted = odtc.fit(odd_table(), "y", depth=1)
    assert odtc.export(fitted, "sql") == odtc.export(fitted.tree, "sql")
    assert odtc.export_text(fitted) == odtc.export_text(fitted.decoded) == odtc.export_text(fitted.tree)
    assert "costs 1, no tree below 1" in odtc.render_report(fitted)


def test_rows_to_test_on_are_of_any_form(tmp_path):
    """A path alone did; a data frame ended in Python's words."""
    frame = odd_table()
    train, test = frame.iloc[:40], frame.iloc[40:].copy()
    test.loc[test.index[0], "age"] = None
    test.to_csv(tmp_path / "test.csv", index=False)
    words = {"depth": 1, "missing": "separate"}
    of_file = odtc.fit(train, "y", test=tmp_path / "test.csv", **words).test
    assert of_file.n_test_rows == 20 and of_file.test_accuracy == 1
    for given in (test, pl.DataFrame(test.to_dict("list")), (test.drop(columns="y"), test["y"])):
        assert odtc.fit(train, "y", test=given, **words).test == of_file
    with pytest.raises(DataError, match="without missing cells in the rows to test on, got 1"):
        odtc.fit(train.dropna(), "y", depth=1, missing="error", test=test)
    numbers = odtc.fit(train, depth=1, task="regression", target="age", test=test)
    assert numbers.metrics["test"]["n_rows"] == 19


def test_trees_near_the_best_and_sizes_are_of_any_form_and_printed():
    frame = odd_table().dropna()
    near = odtc.near_optimal(frame[["age", "city"]], frame["y"], 1, 1)
    assert near.count == odtc.near_optimal(frame[["age", "city", "y"]], within=1, depth=1).count > 0
    sizes = odtc.estimate(frame, "y", depth=1)
    assert str(sizes) == sizes.to_text() and "flowoct" in str(sizes) and "--" not in str(sizes)
    assert (
        repr(sizes).startswith(f"<SizeTable of {len(sizes.counts)} models: 57 different rows")
        and "<pre" in sizes._repr_html_()
    )


def test_what_a_frame_holds_is_said_as_of_a_frame():
    numbered = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)))
    assert not odtc.fit(numbered, ["a", "b"] * 20, depth=1).notes  # "the header looks like a row of data"
    assert odtc.inspect(pd.DataFrame({"5.1": [1.0, 2], "3.5": [1, 2.5], "y": ["a", "b"]})).notes[0].kind == "header"
    with pytest.raises(DataError, match="^expected rows of data in 'data', got none$"):
        odtc.fit(odd_table().head(0), "y", depth=1)
    with pytest.raises(DataError, match="^expected rows of data in 'data', got none$"):
        odtc.fit(np.zeros((0, 2 * WIDE)), [], depth=1)
    with pytest.raises(ChoiceError, match=r"^expected a depth, a whole number, from 0 to 20, got 2.0"):
        odtc.fit(odd_table(), "y", depth=2.0)


def test_rows_with_labels_beside_them_take_all_words_of_a_table(tmp_path):
    """`missing` alone was taken: to leave a column out, or rows to test on, the labels had to be put into the frame."""
    frame = odd_table()
    X, y = frame.drop(columns="y"), frame["y"]
    words = {"depth": 1, "ignore": "id", "missing": "separate", "missing_mark": ["age=-999"], "hold_out": 0.25}
    beside, within = odtc.fit(X, y, **words), odtc.fit(frame, "y", **words)
    assert beside.tree.to_json() == within.tree.to_json() and beside.test == within.test is not None
    assert beside.notes == within.notes
    sized = X.assign(size=pd.Categorical(["s", "m", "l", "m"] * 15, categories=["s", "m", "l"], ordered=True))
    for dataset in (odtc.fit(sized, y, depth=1).dataset, odtc.fit(sized.assign(y=y), "y", depth=1).dataset):
        assert dataset.features[-1].levels == ("s", "m", "l") and dataset.features[-1].ordered
    aged = X.dropna()
    numbers = odtc.fit(aged[["id", "city"]], aged["age"], depth=1, task="regression", ignore=["id"])
    assert numbers.tree.task == "regression" and numbers.tree.features[0].name == "city"
    sure = odtc.fit(X[["city"]], y, depth=1, constraints="accuracy >= 0.5", confidence=0.9)
    assert sure.assured(0.9)[0].holds and sure.labelled.n_rows == 18
    with pytest.raises(ChoiceError, match="got them with `target`; leave one of the two out"):
        odtc.fit(frame, y, depth=1, target="y")
    with pytest.raises(ChoiceError, match="^expected `ignore` to name a column of 'data', got 'nr'"):
        odtc.fit(X, y, depth=1, ignore=["nr"])


@pytest.mark.parametrize(
    "asked", [odtc.certify, odtc.near_optimal, lambda *of, **by: odtc.frontier(*of, vary="leaves <= 2:3", **by)]
)
def test_rows_and_labels_come_first_everywhere(asked):
    """As of `fit`: (X, y, depth=…), where `certify(X, y)` took the labels for the depth."""
    X, y = np.arange(12.0)[:, None] % 5, np.arange(12) % 2
    assert asked(X, y, depth=1) is not None and asked(data=X, y=y, depth=1) is not None


def test_a_text_next_to_a_path_is_the_target_unless_a_model_has_nearly_this_name(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    fitted = odtc.fit(tmp_path / "rows.csv", "colour", depth=1)
    assert fitted.tree.target == "colour" and set(fitted.tree.classes) == {"red", "blue"}
    assert odtc.near_optimal(tmp_path / "rows.csv", "colour", depth=1).count > 0
    assert odtc.fit(tmp_path / "rows.csv", "cart", depth=1).tree.target == "y"
    with pytest.raises(ChoiceError, match="unknown model 'flowct' .did you mean 'flowoct'"):
        odtc.fit(tmp_path / "rows.csv", "flowct")
    with pytest.raises(ChoiceError, match="target.* to name a column of .*, got 'color' .did you mean 'colour'"):
        odtc.fit(tmp_path / "rows.csv", "color")


def test_a_frontier_says_which_constraint_it_lacks():
    with pytest.raises(ChoiceError, match="expected vary="):
        odtc.frontier(np.arange(12.0)[:, None], np.arange(12) % 2)


def test_a_varied_constraint_may_stand_behind_a_file():
    """`frontier("data.csv", "recall[1] >= …")`: a file holds its labels, so no labels come second."""
    monks = str(MONKS / "monks-1.csv")
    named = odtc.frontier(monks, vary="leaves <= 2:4", depth=2, encoding="onehot")
    assert [point.objective for point in odtc.frontier(monks, "leaves <= 2:4", depth=2, encoding="onehot")] == [
        point.objective for point in named
    ]
    with pytest.raises(ChoiceError, match="expected vary="):
        odtc.frontier([[1], [2]], [0, 1])


@pytest.mark.parametrize("asked", [odtc.fit, odtc.build, odtc.certify, odtc.near_optimal])
def test_a_depth_in_the_place_of_labels_is_told(asked):
    with pytest.raises(ChoiceError, match="expected the labels behind the data, got 2; a depth is named: depth=2"):
        asked([[1], [2]], 2)
