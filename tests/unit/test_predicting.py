"""`odtc predict` of files of any size: batches equal the whole file, and no single cell ends the command."""

import gzip
import json
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.cells.data_files import frames_of
from odtc.data.cells.readers import csv as csv_reader
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.reading import read
from odtc.data.splits import Oblique, Subset, Term, Threshold
from odtc.errors import ChoiceError, DataError, TreeError
from odtc.evaluation.predicting import predict_file
from odtc.trees.tree import Branch, Leaf, Tree
from odtc.workflow.artifacts import write_tree
from tests.command_line import odtc as command
from tests.command_line import refused

X_AND_Z = (Feature("x", NUMERIC), Feature("z", NUMERIC), Feature("c", "categorical", ("p", "q")))


def asked(missing="drop", rows=((8, 2), (1, 2))) -> Tree:
    """x <= 1: no; else z <= 5: no, yes. The left side of x holds 10 rows, that of z 1 against 2."""
    low = Branch(Threshold(1, 5.0), Leaf(0, (1, 0), (1, 0)), Leaf(1, (0, 2), (0, 2)))
    return Tree(Branch(Threshold(0, 1.0), Leaf(0, rows[0], rows[0]), low), X_AND_Z, ("no", "yes"), "y", missing)


@pytest.mark.parametrize(
    "text",
    [
        "x,z\n1,2\n3,4\n\n5,6\n",
        "x,z\r\n1,2\r\n3,4\r\n5,6",
        "x,z\r1,2\r3,4\r5,6\r",
        "\n\nx;z\n1;2\n3;4\n5;\n",
        'x,z\n1,2\n3,4\n"5","a ""b""\nc"\n7,"8\r\n9"\r\n10,11\n',
        '"x","z"\n1,2\n3,4\n',
        "x,z\n" + "".join(f"{n},é{n}\n" for n in range(40)),
        "x\n1\n\n2\n",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 7, 64])
@pytest.mark.parametrize("packed", [False, True])
def test_batches_of_text_are_the_whole_table(tmp_path, text, size, packed):
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode("utf-8-sig"))
    assert pl.concat(frames_of(path, size)).equals(csv_reader.read(path))


cells = st.sampled_from(["", "1", "-2.5", "a", "é", " b ", "a,b", 'say "so"', "two\nlines", "?", "\r\n"])


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8), st.integers(1, 40))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_batches_of_quoted_text_are_the_whole_table(tmp_path, rows, size):
    import csv

    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("x", "z"), *rows])
    assert pl.concat(frames_of(path, size)).equals(csv_reader.read(path))


@pytest.mark.parametrize("size", [5, 1 << 20])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"x,z\n1,2\n3,4\n5\n7,8\n", "got 1 in row 3"),
        (b'x,z\n1,2\n"3",4\n5\n', "got 1 in row 3"),
        (b'x,z\n1,2\n3,4\n"5,6\n', "row 3 does not"),
        (b"x,z\n1,2\n3,\xff\n", "byte 0xff in line 3, byte 11 of the file"),
        (b"\n\n", "got an empty file"),
        (b"x,z\n", "got a header only"),
    ],
)
def test_what_is_wrong_is_said_with_its_row_in_the_file(tmp_path, data, words, size):
    path = tmp_path / "rows.csv"
    path.write_bytes(data)
    for read_it in (lambda: list(frames_of(path, size)), lambda: read(path)):
        with pytest.raises(DataError) as told:
            read_it()
        assert words in str(told.value)


def test_parquet_comes_in_batches_whose_rows_are_those_of_the_file(tmp_path):
    frame = pl.DataFrame({"x": [*range(10)], "z": [float(n) for n in range(10)], "c": ["p", "q"] * 5})
    frame.write_parquet(tmp_path / "rows[1].parquet")
    parts = list(frames_of(tmp_path / "rows[1].parquet", 64))
    assert len(parts) == 5 and pl.concat(parts).equals(frame)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match="whole Parquet file"):
        list(frames_of(tmp_path / "broken.parquet"))


GAPS = "z,x,y\n9,0,no\n,5,yes\n9,,yes\n4,2,no\nhigh,3,yes\n9,2,maybe\n"


def test_each_policy_does_what_it_says(tmp_path):
    (tmp_path / "gaps.csv").write_text(GAPS)
    write_tree(asked(), tmp_path / "m.tree.json")
    words = ("predict", "m.tree.json", "gaps.csv")
    assert "'high' in row 5" in refused(command(*words, "-o", "p.csv", folder=tmp_path))
    assert not (tmp_path / "p.csv").exists()
    said = command(*words, "--on-missing", "blank", folder=tmp_path)
    assert said.out == 'prediction\nno\n""\n""\nno\n""\nyes\n'
    blank = "3 of 6 rows have no value in a numeric column that the tree uses, and are left blank"
    assert f"{blank}; 1 cell of numeric columns" in said.err
    # Without x a row goes to the side with 10 rows, without z to that with 2.
    said = command(*words, "--on-missing", "majority", "-o", "p.csv", "--score", "--json", folder=tmp_path)
    assert (tmp_path / "p.csv").read_text() == "prediction\nno\nyes\nno\nno\nyes\nyes\n"
    assert said.facts["confusion"] == [[2, 0], [1, 2]] and said.facts["n_rows_without_known_label"] == 1
    assert (said.facts["n_rows_missing"], said.facts["n_rows_blank"], said.facts["n_cells_unknown"]) == (3, 0, 1)
    said = command(*words, "--on-missing", "blank", "--json", folder=tmp_path)
    assert said.facts["predictions"] == ["no", None, None, "no", None, "yes"]
    assert "expected one of refuse, blank, majority" in refused(command(*words, "--on-missing", "x", folder=tmp_path))


def test_probabilities_are_the_shares_of_classes_in_a_rows_leaf(tmp_path):
    (tmp_path / "gaps.csv").write_text(GAPS)
    write_tree(asked(), tmp_path / "m.tree.json")
    words = ("predict", "m.tree.json", "gaps.csv", "--on-missing", "blank", "--probabilities")
    said = command(*words, folder=tmp_path)
    assert said.out == ("prediction,probability no,probability yes\nno,0.8,0.2\n,,\n,,\nno,1.0,0.0\n,,\nyes,0.0,1.0\n")
    facts = command(*words, "--json", folder=tmp_path).facts
    assert facts["classes"] == ["no", "yes"]
    assert facts["probabilities"] == [[0.8, 0.2], None, None, [1, 0], None, [0, 1]]
    assert "probabilities" not in command(*words[:-1], "--json", folder=tmp_path).facts


@pytest.mark.parametrize("label", [0, 1], ids=["most of its rows", "another"])
def test_a_score_tells_if_the_most_frequent_class_is_right_as_often(tmp_path, label):
    """Of a leaf that answers another class than most of its rows are of, errors have other prices."""
    leaves = (Leaf(label, (8.0, 2.0), (8, 2)), Leaf(1, (1.0, 2.0), (1, 2)))
    tree = Tree(Branch(Threshold(0, 1.5), *leaves), (Feature("a", NUMERIC),), ("n", "p"), "y", "drop")
    write_tree(tree, tmp_path / "t.tree.json")
    (tmp_path / "near.csv").write_text("a,y\n1,n\n1,n\n2,n\n2,p\n1,p\n")
    (tmp_path / "far.csv").write_text("a,y\n1,n\n2,p\n2,p\n2,p\n1,p\n")
    near, far = (
        command("predict", "t.tree.json", name, "--score", folder=tmp_path) for name in ("near.csv", "far.csv")
    )
    warned = "correct on no more of these rows than its most frequent class 'n' is (60.00 %)"
    assert (warned in near.err) == (label == 0) and not far.err
    facts = json.loads(command("predict", "t.tree.json", "near.csv", "--score", "--json", folder=tmp_path).out)
    assert facts.get("majority_accuracy") == (0.6 if label == 0 else None)


def test_a_tree_of_numbers_has_no_probabilities(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,1.5\n2,2.5\n3,9.5\n4,8.5\n")
    command("fit", "a.csv", "--task", "regression", "--depth", "1", "-o", "m", folder=tmp_path)
    said = refused(command("predict", "m.tree.json", "a.csv", "--probabilities", "-o", "p.csv", folder=tmp_path))
    assert said == "--probabilities: expected a tree of classes, got one of --task regression; leave it out"
    assert not (tmp_path / "p.csv").exists()


def test_a_row_that_is_refused_late_leaves_no_part_of_a_table(tmp_path):
    (tmp_path / "gaps.csv").write_text("x,z\n" + "0,1\n" * 50 + "5,\n")
    write_tree(asked(), tmp_path / "m.tree.json")
    said = command("predict", "m.tree.json", "gaps.csv", folder=tmp_path)
    assert said.code == 1 and said.out == "" and "row 51 has no value for 'z'" in said.err
    with pytest.raises(DataError, match="row 51 has no value"):
        predict_file(asked(), tmp_path / "gaps.csv", size=16)


def test_majority_needs_the_rows_of_the_leaves(tmp_path):
    (tmp_path / "gaps.csv").write_text(GAPS)
    silent = Tree(Branch(Threshold(0, 1.0), Leaf(0), Leaf(1)), X_AND_Z, ("no", "yes"), "y")
    with pytest.raises(TreeError, match="how many training rows took each side"):
        predict_file(silent, tmp_path / "gaps.csv", "majority")
    assert predict_file(silent, tmp_path / "gaps.csv", "blank", keep=True).predictions[2] is None
    with pytest.raises(ChoiceError):
        predict_file(silent, tmp_path / "gaps.csv", "guess")


def test_a_hyperplane_lacks_a_number_if_any_of_its_terms_does():
    split = Oblique((Term(0, 1.0), Term(1, 1.0)), 3.0)
    tree = Tree(Branch(split, Leaf(0, (1, 0), (1, 0)), Leaf(1, (0, 2), (0, 2))), X_AND_Z[:2], ("no", "yes"))
    X = np.array([[1.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [9.0, 9.0]])
    assert tree.apply(X, on_missing="blank").tolist() == [0, -1, -1, 1]
    assert tree.apply(X, on_missing="majority").tolist() == [0, 1, 1, 1]


def test_a_tree_that_asks_for_missing_cells_answers_them_itself(tmp_path):
    (tmp_path / "gaps.csv").write_text("x,z\n,9\n")
    tree = asked("separate")  # a missing number goes right: x, then z > 5
    for policy in odtc.data.reading_spec.ON_MISSING:
        assert predict_file(tree, tmp_path / "gaps.csv", policy, keep=True).predictions == ["yes"]


def test_the_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "long.csv"
    peaks = []
    for rows in (20_000, 200_000):
        path.write_text("x,z\n" + "0.5,1\n2.5,9\n" * (rows // 2))
        with open(tmp_path / "p.csv", "wb") as stream:
            tracemalloc.start()
            done = predict_file(asked(), path, stream=stream, size=1 << 14)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert done.n_rows == rows
    assert (tmp_path / "p.csv").read_text() == "prediction\n" + "no\nyes\n" * 100_000
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("size", [4, 4096])
def test_levels_that_were_not_seen_in_training_are_told(tmp_path, size):
    """A new date went right at `day <= 2024-03-19` without a word, even if it is an earlier one."""
    split = Subset(2, (0.0,))
    tree = Tree(Branch(split, Leaf(0, (1, 0), (1, 0)), Leaf(1, (0, 2), (0, 2))), X_AND_Z, ("no", "yes"), "y", "drop")
    (tmp_path / "new.csv").write_text("c,x\np,1\nr,1\nq,1\ns,1\nr,1\n")
    done = predict_file(tree, tmp_path / "new.csv", size=size)
    assert done.unseen == {"c": 3} and "3 of 5 rows have a level in column 'c' that" in done.skipped_text()
    (tmp_path / "new.csv").write_text("c,x\np,1\nq,1\n")
    assert predict_file(tree, tmp_path / "new.csv", size=size).skipped_text() == ""
    write_tree(tree, tmp_path / "t.tree.json")
    (tmp_path / "new.csv").write_text("c,x\np,1\nr,1\n")
    said = command("predict", "t.tree.json", "new.csv", folder=tmp_path)
    assert said.code == 0 and "1 of 2 rows has a level in column 'c' that" in said.err


@pytest.mark.parametrize("labels", [[3, 5], ["a", "b"], [0.25, 1.5]])
def test_in_python_a_missing_number_is_handled_as_the_refusal_proposes(labels):
    """It proposed `odtc predict --on-missing blank`, for which `Fit.predict` had no counterpart."""
    rows = pl.DataFrame({"x": [0.0, 1, 2, 3, 4], "y": [labels[0]] * 2 + [labels[1]] * 3})
    fitted = odtc.fit(rows, depth=1, task="regression" if labels[0] == 0.25 else "classification")
    new = pl.DataFrame({"x": [0.5, None, 3.0]})
    with pytest.raises(DataError, match='row 2 has no value for .* predict with on_missing="blank" or "majority"'):
        fitted.predict(new)
    blank, majority = (fitted.predict(new, on_missing=way).tolist() for way in ("blank", "majority"))
    assert (blank[0], blank[2]) == tuple(labels) and (blank[1] is None or np.isnan(blank[1]))
    assert majority == [labels[0], labels[1], labels[1]]
    assert [type(one) for one in majority] == [type(labels[0])] * 3
    with pytest.raises(ChoiceError, match="on_missing: expected one of refuse, blank, majority, got 'drop'"):
        fitted.predict(new, on_missing="drop")
