"""Labels keep the type that they have in the data: in records of trees, predictions, and exports of every kind."""

import json
import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.data.label_types import label_of, label_type_of
from odtc.data.reading_rows import read_rows
from odtc.testing.generated_code import how_to_run, run_export
from odtc.testing.property import NotTestedError
from odtc.trees.exporting import export, suffix
from tests.command_line import odtc as command

AGES = np.array([20.0, 25.0, 30.0, 35.0, 50.0, 55.0, 60.0, 65.0])
IS_OLD = AGES > 40
# Labels of young and old rows as a CSV file has them, and as they are in memory.
LABELS = {
    "int": (("1", "2"), (1, 2)),
    "large": (("-3", "4503599627370496"), (-3, 2**52)),
    "float": (("0.5", "2"), (0.5, 2.0)),
    "bool": (("True", "False"), (True, False)),
    "text": (("no", "yes"), ("no", "yes")),
    "code": (("007", "008"), ("007", "008")),
}


def written(folder, name) -> list:
    """Writes d.csv; the labels of its rows."""
    cells, labels = LABELS[name]
    lines = [f"{age},{cells[int(old)]}" for age, old in zip(AGES, IS_OLD)]
    (folder / "d.csv").write_text("age,y\n" + "\n".join(lines) + "\n")
    return [labels[int(old)] for old in IS_OLD]


def same(found, wanted) -> bool:
    """Whether two lists hold the same values of the same types."""
    found = [one.item() if isinstance(one, np.generic) else one for one in found]
    return found == wanted and list(map(type, found)) == list(map(type, wanted))


@pytest.mark.parametrize("name", LABELS)
def test_a_file_gives_labels_of_its_type_to_the_tree_and_to_predict(name, tmp_path):
    wanted = written(tmp_path, name)
    done = odtc.fit(tmp_path / "d.csv", depth=1)
    assert same(list(done.predict(tmp_path / "d.csv")), wanted)
    tree = odtc.Tree.from_json(json.loads(json.dumps(done.tree.to_json())))
    assert tree == done.tree and same(sorted(tree.labels), sorted(set(wanted)))


@pytest.mark.parametrize("solver", [None, "highs"])
def test_the_record_of_a_tree_keeps_the_type_through_files(solver, tmp_path):
    written(tmp_path, "int")
    if solver is None:
        assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    else:
        for words in (("build", "d.csv", "--depth", 1, "-o", "m"), ("solve", "m.mps"), ("decode", "m.sol")):
            assert command(*words, folder=tmp_path).code == 0
    assert odtc.read_tree(tmp_path / "m.tree.json").labels == (1, 2)


def test_labels_in_memory_keep_their_type():
    X = AGES[:, None]
    for labels, wanted in (
        (np.where(IS_OLD, 2, 1), "int"),
        (np.where(IS_OLD, "2", "1"), "text"),
        (IS_OLD, "bool"),
        (np.where(IS_OLD, 2.0, 1.0), "float"),
    ):
        fitted = odtc.OptimalTreeClassifier(max_depth=1).fit(X, labels)
        assert fitted.tree_.label_type == wanted and same(list(fitted.predict(X)), labels.tolist())
        assert odtc.fit(X, labels, depth=1).tree.label_type == wanted
        for frame in (pd.DataFrame({"x": AGES, "y": labels}), pl.DataFrame({"x": AGES, "y": labels})):
            assert odtc.fit(frame, depth=1).tree.label_type == wanted, type(frame)


def test_text_in_a_file_of_typed_columns_stays_text(tmp_path):
    for labels, wanted in ((["1", "2"] * 4, "text"), ([1, 2] * 4, "int"), ([True, False] * 4, "bool")):
        pl.DataFrame({"x": [1.0, 9.0] * 4, "y": labels}).write_parquet(tmp_path / "d.parquet")
        assert odtc.read(tmp_path / "d.parquet").label_type == wanted


def test_names_that_are_not_written_as_numbers_are_text():
    for names, wanted in {
        ("1", "2"): "int", ("1", "x"): "text", ("1.0", "2.0"): "float", ("01", "2"): "text", ("-0", "1"): "text",
        ("1", "0.5"): "float", ("true", "false"): "bool", ("true", "TRUE"): "text", ("true",): "bool", (): "text",
        ("9007199254740993", "1"): "text", ("1e400", "2"): "text", ("nan", "1"): "text", ("1_000", "2"): "text",
    }.items():  # fmt: skip
        assert label_type_of(names) == wanted, names
    assert label_of("True", "bool") is True and label_of("2", "float") == 2.0


def test_a_record_whose_classes_are_not_of_their_type_is_refused(tmp_path):
    written(tmp_path, "text")
    facts = odtc.fit(tmp_path / "d.csv", depth=1).tree.to_json() | {"label_type": "int"}
    with pytest.raises(odtc.errors.TreeError, match="expected classes of the type 'int'"):
        odtc.Tree.from_json(facts)


@pytest.mark.parametrize("name", LABELS)
def test_python_sql_and_onnx_predict_labels_of_their_type(name, tmp_path):
    wanted = written(tmp_path, name)
    tree = odtc.fit(tmp_path / "d.csv", depth=1).tree
    space: dict = {"__name__": "tree"}
    exec(export(tree, "python"), space)
    assert same([space["predict"]({"age": age}) for age in AGES], wanted)
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE data (age REAL)")
        base.executemany("INSERT INTO data VALUES (?)", [(age,) for age in AGES])
        found = [row[-1] for row in base.execute(export(tree, "sql"))]
    assert found == wanted and (isinstance(wanted[0], bool) or list(map(type, found)) == list(map(type, wanted)))
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(export(tree, "onnx"))
    assert same(session.run(["label"], {"age": AGES[:, None]})[0].tolist(), wanted)


@pytest.mark.parametrize("name", sorted(set(LABELS) - {"float"}))  # its metrics take decimals for a regression
def test_the_export_to_scikit_learn_is_an_estimator_of_the_labels(name, tmp_path):
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    from sklearn.metrics import accuracy_score
    from sklearn.utils.validation import check_is_fitted

    wanted = written(tmp_path, name)
    tree = odtc.fit(tmp_path / "d.csv", depth=1).tree
    fitted, X = pickle.loads(export(tree, "sklearn")), pd.DataFrame({"age": AGES})
    check_is_fitted(fitted)
    assert fitted.score(X, wanted) == 1 and accuracy_score(wanted, fitted.predict(X)) == 1
    assert same(list(fitted.predict(X)), wanted) and list(fitted.classes_) == sorted(set(wanted))
    assert list(fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]) == wanted
    assert base.clone(fitted).fit(X, wanted).score(X, wanted) == 1
    assert "32 bits" in fitted.notes_[0]


@pytest.mark.parametrize("name", ["int", "float", "bool"])
@pytest.mark.parametrize("to", ["javascript", "java", "r"])
def test_other_languages_print_labels_as_they_write_them(to, name, tmp_path):
    wanted = written(tmp_path, name)
    tree = odtc.fit(tmp_path / "d.csv", depth=1).tree
    text = export(tree, to)
    quoted = [f'"{cell}"' for cell in LABELS[name][0]]
    assert not any(f"{{ {one}" in text or f"[{one}" in text or f"c({one}" in text for one in quoted)
    try:
        said = run_export(how_to_run(to), text.encode(), suffix(to), tree, AGES[:, None], tmp_path)
    except NotTestedError as missing_program:
        pytest.skip(str(missing_program))
    read = {"bool": lambda word: word.lower() == "true", "int": int, "float": float}[name]
    assert [read(word) for word in said] == wanted


def test_scikit_learn_predicts_rows_otherwise_whose_cells_differ_in_64_bits_only(tmp_path):
    """Cells that 32 bits cannot tell apart: half of the rows get the other label there, and a note counts them."""
    cells = [100_000_000.0 + place for place in range(8)]
    lines = [f"{cell},{int(place > 3)}" for place, cell in enumerate(cells)]
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    said = command("export", "m.tree.json", "-o", "m.pkl", folder=tmp_path)
    fitted = pickle.loads((tmp_path / "m.pkl").read_bytes())
    wrong = sum(int(one != int(place > 3)) for place, one in enumerate(fitted.predict(pd.DataFrame({"x": cells}))))
    assert wrong and f"predicts {wrong} of 8 training rows otherwise" in said.err
    with pytest.warns(UserWarning, match=f"predicts {wrong} of 8 training rows otherwise"):
        export(odtc.fit(tmp_path / "d.csv", depth=1), "sklearn")
    written(tmp_path, "int")
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    assert "otherwise" not in command("export", "m.tree.json", "-o", "m.pkl", folder=tmp_path).err


def test_c_holds_labels_of_their_type(tmp_path):
    for name, line in (("int", "const long long classes[]"), ("bool", "const int classes[]")):
        written(tmp_path, name)
        assert line in export(odtc.fit(tmp_path / "d.csv", depth=1).tree, "c")


def test_pmml_states_the_type_of_the_target(tmp_path):
    for name, kind in (("int", "integer"), ("float", "double"), ("bool", "boolean"), ("text", "string")):
        written(tmp_path, name)
        text = export(odtc.fit(tmp_path / "d.csv", depth=1).tree, "pmml")
        assert f'<DataField name="y" optype="categorical" dataType="{kind}">' in text
        assert (name != "bool") or ('score="true"' in text and 'value="false"' in text)


def test_labels_that_are_text_in_memory_stay_as_they_are_written():
    """A program that gives the texts 1.0 and 1 means two labels; in a file of text both are the number 1."""
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    for y in (["1.0", "1.0", "1", "1"], np.array(["2.0", "2.0", "10.0", "10.0"]), ["01", "01", "1e0", "1e0"]):
        done = odtc.fit(X=X, y=y, depth=1)
        assert done.predict(X).tolist() == list(y)
        table = pl.DataFrame({"x": X[:, 0], "y": list(y)})
        assert odtc.read(table, target="y").classes == done.tree.classes


def test_numbers_in_a_file_find_labels_that_are_text(tmp_path):
    done = odtc.fit(X=np.array([[1.0], [2.0], [3.0]]), y=["1.0", "1.0", "2.50"], depth=1)
    (tmp_path / "rows.csv").write_text("x0,class\n1,1\n3,2.5\n")
    assert read_rows(tmp_path / "rows.csv", done.tree.features, done.tree.classes, "class").y.tolist() == [0, 1]
