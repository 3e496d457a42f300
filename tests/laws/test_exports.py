"""Law 3: every exporter that can be run predicts as `tree.predict` does."""

import csv
import io
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.base.templates import MISSING_WORDS
from odtc.data.cells import column_types
from odtc.data.dataset import Dataset, Feature
from odtc.data.splits import Missing, Subset, Threshold
from odtc.errors import DataError
from odtc.testing.random_trees import cells, rows_for, trees
from odtc.trees.rendering import exporters, render_tree
from odtc.trees.tree import Branch, Leaf, Tree
from tests.exported import sql_names


def python_predict(source: str):
    """The function `predict` of an exported module."""
    names = {"__name__": "exported"}
    exec(compile(source, "exported.py", "exec"), names)
    return names["predict"]


# An exporter whose text can be run in this process has its name here: name -> text -> predict(row).
RUNNABLE = {"python": python_predict}


def expected(tree: Tree, row: np.ndarray) -> str | type:
    """The class that the tree predicts for one row, or ValueError where it refuses it."""
    try:
        return tree.classes[tree.predict(row[None, :])[0]]
    except DataError:
        return ValueError


def exported(predict, row: dict) -> str | type:
    try:
        return predict(row)
    except ValueError as problem:
        assert str(problem).startswith("the row has no value for")
        return ValueError


@pytest.mark.parametrize("name", RUNNABLE)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_runnable_export_predicts_as_the_tree(name, data):
    tree = data.draw(trees())
    predict = RUNNABLE[name](render_tree(tree, name))
    spelling = data.draw(st.integers(0, 20))
    for row in data.draw(rows_for(tree)):
        assert exported(predict, cells(tree, row, spelling)) == expected(tree, row)


@pytest.mark.parametrize("name", exporters())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tree=trees())
def test_every_exporter_takes_every_tree_and_repeats_itself(name, tree):
    if name == "sql":
        assume(sql_names(tree))
    text = render_tree(tree, name)
    assert text == render_tree(tree, name)
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert name == "sql" or not any(
        line.endswith(" ") for line in text.split("\n")
    )  # a literal of SQL holds its newlines as they are


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("threshold", [0.1 + 0.2, 1 / 3, 1e22, 5e-324, -0.0, 2.0, 1e300])
def test_a_tie_goes_left_in_double_arithmetic(name, threshold):
    tree = Tree(Branch(Threshold(0, threshold), Leaf(0), Leaf(1)), (Feature("x", "numeric"),), ("left", "right"))
    predict = RUNNABLE[name](render_tree(tree, name))
    above = float(np.nextafter(threshold, np.inf))
    assert (predict({"x": threshold}), predict({"x": repr(threshold)})) == ("left", "left")
    assert (predict({"x": above}), predict({"x": repr(above)})) == ("right", "right")


COLOUR = Feature("colour", "categorical", ("blue", "red"))


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_unseen_and_missing_cells_go_where_the_tree_sends_them(name, missing):
    def predictor(split):
        tree = Tree(Branch(split, Leaf(0), Leaf(1)), (COLOUR, Feature("size", "numeric")), ("L", "R"), "y", missing)
        return RUNNABLE[name](render_tree(tree, name))

    of_red = predictor(Subset(0, (1.0,)))
    assert [of_red(row) for row in ({"colour": "red"}, {"colour": "pink"}, {"colour": "?"}, {})] == ["L", "R", "R", "R"]
    unknown = predictor(Missing(1))
    absent, known = (None, float("nan"), "", "NA", " null "), (0, "0")
    assert [unknown({"size": cell}) for cell in absent + known] == ["L"] * 5 + ["R"] * 2
    small = predictor(Threshold(1, 3.0))
    if missing == "separate":
        assert small({}) == "R"
    else:
        with pytest.raises(ValueError, match="the row has no value for 'size'"):
            small({})


@pytest.mark.parametrize("name", RUNNABLE)
def test_depth_20_can_be_run(name):
    root = Leaf(0)
    for depth in range(20):
        root = Branch(Threshold(0, float(depth)), root, Leaf(1)) if depth % 2 else Branch(Missing(0), Leaf(0), root)
    tree = Tree(root, (Feature("x", "numeric"),), ("a", "b"), missing="separate")
    predict = RUNNABLE[name](render_tree(tree, name))
    for value in (-1.0, 0.0, 5.0, 19.0, 19.5, float("nan")):
        assert predict({"x": value}) == expected(tree, np.array([value]))


def test_the_python_program_reads_csv_as_the_readers_do(tmp_path):
    from odtc.data import reading_rows

    features = (Feature("age, years", "numeric"), Feature("colour", "categorical", ("a \"b\"", "red")),
                Feature("code", "categorical", ("1", "2")), Feature("ok", "boolean", ("false", "true")))  # fmt: skip
    right = Branch(Subset(2, (1.0,)), Leaf(1), Branch(Subset(3, (1.0,)), Leaf(2), Leaf(0)))
    root = Branch(Threshold(0, 0.3), Branch(Subset(1, (0.0,)), Leaf(2), Leaf(1)), right)
    tree = Tree(root, features, ("no", "yes", "älter"), "class", "separate")
    rows = [["0.3", 'a "b"', "1", "true"], ["0.30000000000000004", "red", "2.0", "FALSE"], ["?", "red", "1", "True"],
            [" 1e-3 ", "pink", "", ""], ["NA", "NA", "NA", "NA"], ["2", "red", " 02 ", "x"]]  # fmt: skip
    text = io.StringIO()
    csv.writer(text).writerows([[" age, years ", "colour", "code", "ok"], *rows])
    (tmp_path / "rows.csv").write_text("\ufeff" + text.getvalue(), encoding="utf-8", newline="")
    (tmp_path / "tree.py").write_text(render_tree(tree, "python"), encoding="utf-8")
    with (tmp_path / "rows.csv").open("rb") as stream:
        run = subprocess.run([sys.executable, tmp_path / "tree.py"], stdin=stream, capture_output=True)
    assert (run.returncode, run.stderr.decode()) == (0, "")
    read = reading_rows.read_rows(tmp_path / "rows.csv", tree.features, tree.classes, tree.target)
    assert isinstance(read, Dataset)
    assert run.stdout.decode("utf-8").splitlines() == [tree.classes[k] for k in tree.predict(read.X)]


def test_the_python_program_names_a_column_that_is_not_there(tmp_path):
    tree = Tree(Branch(Threshold(0, 1.0), Leaf(0), Leaf(1)), (Feature("x", "numeric"),), ("a", "b"))
    (tmp_path / "tree.py").write_text(render_tree(tree, "python"), encoding="utf-8")
    run = subprocess.run([sys.executable, tmp_path / "tree.py"], input="y;z\n1;2\n", capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == "expected a column 'x' in the header, got y;z\n"


def test_the_python_program_names_the_row_that_it_cannot_read(tmp_path):
    """A traceback of Python's was shown, as of decimal commas."""
    tree = Tree(Branch(Threshold(0, 1.0), Leaf(0), Leaf(1)), (Feature("x", "numeric"),), ("a", "b"))
    (tmp_path / "tree.py").write_text(render_tree(tree, "python"), encoding="utf-8")
    for cell, why in (("0,5", "expected a number for 'x', got '0,5'"), ("?", "the row has no value for 'x', which")):
        given = f"y;x\n1;2\n\n1;{cell}\n"
        run = subprocess.run([sys.executable, tmp_path / "tree.py"], input=given, capture_output=True, text=True)
        assert (run.returncode, run.stdout) == (1, "b\n") and run.stderr.startswith(f"row 2: {why}")
        assert "Traceback" not in run.stderr


def test_the_python_program_refuses_text_in_another_encoding_in_one_sentence(tmp_path):
    tree = Tree(Branch(Threshold(0, 1.0), Leaf(0), Leaf(1)), (Feature("x", "numeric"),), ("a", "b"))
    (tmp_path / "tree.py").write_text(render_tree(tree, "python"), encoding="utf-8")
    for text in ("x;Größe\n1;2\n", "x;y\n1;ä\n"):
        run = subprocess.run([sys.executable, tmp_path / "tree.py"], input=text.encode("cp1252"), capture_output=True)
        assert run.returncode == 1
        assert run.stderr == b"expected UTF-8 text on stdin, got other bytes; save the file as UTF-8\n"


def test_exports_and_readers_take_the_same_words_for_missing():
    assert MISSING_WORDS == column_types.MISSING_CELLS
