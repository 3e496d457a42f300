"""Marks of missing cells (`--missing-mark`): such a cell is empty to every part that reads the file."""

import json
import shlex

import numpy as np
import polars as pl
import pytest

import odtc
from odtc.data import reading
from odtc.data.cells.missing_marks import without_marks
from odtc.data.inspection import inspect_data
from odtc.data.notes import notes_on
from odtc.data.reading import from_frame, read
from odtc.data.reading_rows import read_rows
from odtc.data.reading_spec import ReadingSpec
from odtc.data.table import column_coding
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.threshold_search import certify
from odtc.trees.tree import read_tree
from tests import pipeline
from tests.command_line import odtc as command
from tests.command_line import refused
from tests.unit import test_second_checker as second

pytestmark = pytest.mark.usefixtures("told_on_command_line")

MARKS = ("-999", "unknown", "age=99")


def rows(n: int = 80, mark=lambda column, row: None) -> pl.DataFrame:
    """Ages, sums and places, of which some cells are `mark(column, row)`: 99 is an age or none, and a sum."""
    rng = np.random.default_rng(5)
    age, total = rng.integers(20, 60, n), rng.choice([10, 20, 99, 150], n)
    place, y = rng.choice(["north", "south"], n), np.where((age > 40) ^ (total > 50), "yes", "no")
    table = {"age": age.astype(str), "total": total.astype(str), "place": place, "y": y}
    return pl.DataFrame(
        {
            name: [mark(name, row) if (row + at) % 9 == 4 else str(cell) for row, cell in enumerate(cells)]
            for at, (name, cells) in enumerate(table.items())
        },
        schema=dict.fromkeys(table, pl.String),
    )


WRITTEN = {"age": ["99", "-999.0", "unknown", " 99 "], "total": ["-999", "-9.99e2"]}


def marked(column: str, row: int) -> str:
    return WRITTEN.get(column, ["unknown", " unknown"])[row % len(WRITTEN.get(column, "ab"))]


@pytest.fixture
def files(tmp_path):
    """A folder with empty.csv and marks.csv, in which the empty cells of the former are marks."""
    rows(mark=lambda column, row: None).write_csv(tmp_path / "empty.csv")
    rows(mark=marked).write_csv(tmp_path / "marks.csv")
    return tmp_path


def same(one, other) -> bool:
    return (
        np.array_equal(one.X, other.X, equal_nan=True)
        and np.array_equal(one.y, other.y)
        and (one.features, one.classes, one.n_dropped) == (other.features, other.classes, other.n_dropped)
    )


@pytest.mark.parametrize("how", [{"missing": "separate"}, {"missing": "drop"}, {"hold_out": 0.3}, {"decimal": "."}])
def test_a_file_with_marks_is_read_as_one_with_empty_cells(files, how):
    empty, found = read(files / "empty.csv", **how), read(files / "marks.csv", missing_mark=MARKS, **how)
    assert same(empty, found) and empty.n_dropped + np.isnan(empty.X).sum() > 0
    assert [feature.kind for feature in found.features] == ["numeric", "numeric", "categorical"]
    assert (found.X[:, 1] == 99).any()  # which is a mark of age alone
    assert found.source["missing_mark"] == list(MARKS) and "missing_mark" not in empty.source
    assert same(from_frame(rows(mark=marked), "t", ReadingSpec(missing_mark=MARKS, **how)), empty)
    assert ReadingSpec.from_manifest({"target": "y", "missing": "drop"} | found.source).missing_mark == MARKS


def test_frames_are_read_alike(files, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 300)
    monkeypatch.setattr(column_coding, "MOST_WORDS", 4)
    how = {"missing": "separate"}
    assert same(read(files / "empty.csv", **how), read(files / "marks.csv", missing_mark=MARKS, **how))


def test_columns_of_any_type_have_marks():
    date = pl.Series(["2024-01-01", "1900-01-01"]).str.to_date()
    cells = {
        "whole": pl.Series([1, -999, None], dtype=pl.Int16),
        "far": pl.Series([2**63 - 1, -999], dtype=pl.Int64),
        "float": pl.Series([1.5, -999.0, float("nan")]),
        "short": pl.Series([0.1, 99.9], dtype=pl.Float32),
        "category": pl.Series(["a", "unknown"], dtype=pl.Categorical),
        "truth": pl.Series([True, None]),
        "date": date,
        "code": pl.Series(["0999", "999", "-0999"]),
    }
    marks = ["-999", "99.9", "unknown", "1900-01-01", "999", "true"]
    found = {name: without_marks(column.alias(name), marks) for name, column in cells.items()}
    assert [found[name].dtype for name in cells] == [column.dtype for column in cells.values()]
    gone = {name: (column.is_null() & cells[name].is_not_null()).to_list() for name, column in found.items()}
    assert gone == {
        "whole": [False, True, False],
        "far": [False, True],
        "float": [False, True, False],
        "short": [False, True],
        "category": [False, True],
        "truth": [False, False],
        "date": [False, True],
        "code": [False, True, False],
    }


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("agee=99", r"--missing-mark to name a column of 't' before =, got 'agee' \(did you mean 'age'\?\)"),
        ("age=", "expected --missing-mark to hold a text that means a missing cell"),
        (" ", "expected --missing-mark to hold a text that means a missing cell"),
    ],
)
def test_a_mark_that_is_none_is_refused(mark, said):
    with pytest.raises(ChoiceError, match=said):
        from_frame(rows(), "t", ReadingSpec(missing_mark=(mark,)))


def test_a_mark_that_no_cell_is_is_told(files):
    def told(*marks):
        return [note.text for note in notes_on(read(files / "marks.csv", missing_mark=(*MARKS, *marks)))]

    assert not any("no cell" in text for text in told())
    unmet = "no cell of the columns that are read is 'unknwon', which --missing-mark names"
    assert any(unmet in text for text in told("unknwon"))
    assert any("no cell of column 'total' is '98'" in text for text in told("total=98"))


def test_fit_predict_explain_verify_and_export_hold_the_same(files):
    told = [word for mark in MARKS for word in ("--missing-mark", mark)]
    for name, more in (("empty", ()), ("marks", told)):
        words = ("fit", f"{name}.csv", *more, "--missing", "separate", "--depth", 2, "--test", f"{name}.csv")
        said = command(*words, "-o", name, folder=files)
        assert said.code == 0, said.err
    empty, marks = (json.loads((files / f"{name}.tree.json").read_text("utf-8")) for name in ("empty", "marks"))
    assert empty["root"] == marks["root"]
    of_columns = {feature["name"]: feature["missing_marks"] for feature in marks["features"]}
    assert of_columns == {"age": ["-999", "unknown", "99"], "total": ["-999", "unknown"], "place": ["-999", "unknown"]}
    for name in ("empty", "marks"):
        said = command("predict", f"{name}.tree.json", f"{name}.csv", "-o", f"{name}.out.csv", folder=files)
        assert said.code == 0, said.err
        assert command("explain", f"{name}.tree.json", f"{name}.csv", folder=files).code == 0
    assert (files / "empty.out.csv").read_bytes() == (files / "marks.out.csv").read_bytes()
    said = command("verify", "marks", folder=files)
    assert said.code == 0, said.err + said.out
    tree = read_tree(files / "marks.tree.json")
    found = read_rows(files / "marks.csv", tree.features, tree.classes, tree.target)
    assert np.isnan(found.X).any()
    for language in ("sql", "python", "c", "pmml"):
        exported = command("export", "marks.tree.json", "--to", language, folder=files).out
        assert "marks as missing (-999, unknown, 99) is missing here, too" in exported


def test_an_export_to_scikit_learn_says_that_it_knows_no_marks(tmp_path):
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{x},{'pq'[x > 2]}\n" for x in (1, 2, 3, 4, -999) * 3))
    command("fit", "d.csv", "--missing-mark", "-999", "--missing", "separate", "--depth", 1, "-o", "m", folder=tmp_path)
    said = command("export", "m.tree.json", "--to", "sklearn", "-o", "m.pkl", folder=tmp_path)
    assert said.code == 0 and "does not know marks of missing cells ('-999'); replace them by NaN" in said.err


def test_a_mark_ends_no_comment_of_an_export(files):
    table = rows(mark=lambda column, row: '*/"""' if column == "age" else None)
    table.write_csv(files / "bad.csv")
    words = ("fit", "bad.csv", "--missing-mark", '*/"""', "--missing", "separate", "--depth", 2, "-o", "bad")
    assert command(*words, folder=files).code == 0
    exported = command("export", "bad.tree.json", "--to", "python", folder=files).out
    assert "marks as missing is missing here, too" in exported
    compile(exported, "bad.py", "exec")


def test_the_manifest_tells_decode_and_the_claim_both_checkers(files):
    told = [word for mark in MARKS for word in ("--missing-mark", mark)]
    for words in (
        ("build", "marks.csv", *told, "--model", "flowoct", "--depth", 1, "--encoding", "auto:bins=3", "-o", "m"),
        ("solve", "m.mps"),
        ("decode", "m.sol"),
        ("verify", "m.sol"),
        ("certify", "marks.csv", *told, "--depth", 1, "-o", "c.json"),
        ("verify", "--certificate", "c.json"),
    ):
        said = command(*words, folder=files)
        assert said.code == 0, said.err
    assert "also missing: -999, unknown, age=99" in said.out
    facts = json.loads((files / "c.json").read_text("utf-8"))
    assert facts["of"]["missing_mark"] == facts["data"]["missing_mark"] == list(MARKS)
    del facts["of"]["missing_mark"]
    (files / "d.json").write_text(json.dumps(facts), encoding="utf-8")
    assert "the texts that mean a missing cell" in refused(command("verify", "--certificate", "d.json", folder=files))


@second.pytestmark
@pytest.mark.parametrize("how", [{}, {"missing": "separate"}, {"hold_out": 0.25}, {"decimal": "."}])
def test_both_checkers_read_marks(files, how):
    dataset = odtc.read(files / "marks.csv", missing_mark=MARKS, **how)
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 2))))
    fewer = list(MARKS[:2])
    forged = [facts | {part: facts[part] | {"missing_mark": fewer}} for part in ("of", "data")]
    forged.append(facts | {"data": facts["data"] | {"missing_mark": [*MARKS, "none=9"]}})
    forged.append(facts | {"data": {key: value for key, value in facts["data"].items() if key != "missing_mark"}})
    wanted = ["proved"] + ["refused"] * len(forged)
    assert [line.split()[0] for line in second.asked([facts, *forged], files / "marks.csv")] == wanted
    assert [second.ours(one, files / "marks.csv").split()[0] for one in [facts, *forged]] == wanted


def test_a_regression_reads_its_target_and_its_weights_alike(tmp_path):
    table = {"x": [str(at % 7) for at in range(40)], "w": ["1", "2"] * 20, "y": [str(at % 5) for at in range(40)]}
    empty = {name: [cell if at % 11 else "" for at, cell in enumerate(cells)] for name, cells in table.items()}
    for name, mark in (("empty", ""), ("marks", "-1")):
        filled = {one: [cell or mark for cell in cells] for one, cells in empty.items()}
        pl.DataFrame(filled).write_csv(tmp_path / f"{name}.csv")
    how = {"task": "regression", "weights": "w", "target": "y", "depth": 1}
    one = odtc.fit(tmp_path / "empty.csv", test=tmp_path / "empty.csv", **how)
    other = odtc.fit(tmp_path / "marks.csv", test=tmp_path / "marks.csv", missing_mark="-1", **how)
    assert one.tree.root == other.tree.root and one.facts["metrics"] == other.facts["metrics"]


def test_the_advice_of_a_remark_can_be_followed(tmp_path):
    """What `inspect` names as a mark is none once its advice is followed."""
    n = 40
    table = pl.DataFrame(
        {
            "far": ["-999" if at % 9 == 2 else str(at) for at in range(n)],
            "word": ["n.a." if at % 9 == 3 else str(at) for at in range(n)],
            "dash": ["--" if at % 9 == 4 else "ab"[at % 2] for at in range(n)],
            "typo": ["n=3" if at == 6 else str(at) for at in range(n)],
            "y": ["unknown" if at % 9 == 5 else "pq"[at % 2] for at in range(n)],
        }
    )
    table.write_csv(tmp_path / "t.csv")
    said = inspect_data(tmp_path / "t.csv", ReadingSpec(missing="separate"))
    texts = [note.text for note in said.notes if "--missing-mark" in note.text]
    assert len(texts) == 5, texts
    words = [shlex.split(text[text.index("--missing-mark") :])[1] for text in texts]
    told = [word for mark in words for word in ("--missing-mark", mark)]
    said = command("inspect", "t.csv", *told, "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert not [note for note in said.facts["notes"] if "--missing-mark" in note["text"]]
    assert {column["name"]: column["missing"] for column in said.facts["columns"]} == {
        "far": 5,
        "word": 5,
        "dash": 4,
        "typo": 1,
        "y": 4,
    }
