"""Names for readers (`--labels`): in all that people read, and nowhere else."""

import csv
import html
import json
import re
import sqlite3

import numpy as np
import pytest

import odtc
from odtc.data.codebook import read_codebook
from tests.command_line import odtc as command

ROWS = [(months, account, 2 if (months > 24) != (account == "A11") else 1) for months in range(6, 54, 3)
        for account in ("A11", "A12", "A14")] * 3  # fmt: skip
CODEBOOK = (
    "column,value,text\nmonths,,duration of the loan\nacc,,current account\nacc,A11,overdrawn\n"
    'acc,A12,"some, not much"\nbad,,standing\nbad,2,bad customers\nbad,1,good customers\n'
)
WORDS = ("duration of the loan", "current account", "overdrawn", "bad customers", "good customers")


@pytest.fixture
def folder(tmp_path):
    lines = [f"{months},{account},{bad}" for months, account, bad in ROWS]
    (tmp_path / "loans.csv").write_text("\n".join(["months,acc,bad", *lines]) + "\n")
    (tmp_path / "codes.csv").write_text(CODEBOOK)
    return tmp_path


def fitted(folder, *words, stem="m"):
    constraint = ("--constraint", "recall[2] >= 0.6", "--hold-out", 0.25)
    said = command("fit", "loans.csv", "--depth", 2, *constraint, *words, "-o", stem, folder=folder)
    assert said.code == 0, said.err
    return said


def without_labels(path):
    return {key: one for key, one in json.loads(path.read_text()).items() if key != "labels"}


def test_people_read_names_and_the_tree_its_predictions_and_figures_stay(folder):
    plain, named = fitted(folder, stem="plain"), fitted(folder, "--labels", "codes.csv")
    for word in WORDS:
        assert word in named.out and word not in plain.out
    assert "(2: bad customers)" in named.out and "acc =" not in named.out and "months ≤" not in named.out
    assert without_labels(folder / "m.tree.json") == without_labels(folder / "plain.tree.json")
    assert odtc.read_tree(folder / "m.tree.json") == odtc.read_tree(folder / "plain.tree.json")
    read = odtc.read(folder / "loans.csv")
    assert np.array_equal(read.X, odtc.read(folder / "loans.csv", labels=folder / "codes.csv").X, equal_nan=True)
    told = [command("predict", f"{name}.tree.json", "loans.csv", folder=folder).out for name in ("m", "plain")]
    assert told[0] == told[1] and "bad customers" not in told[0]
    facts = command("predict", "m.tree.json", "loans.csv", "--score", "--json", folder=folder).facts
    assert facts["classes"] == ["1", "2"]
    assert "bad customers" in command("predict", "m.tree.json", "loans.csv", "--score", folder=folder).out
    said = command("explain", "m.tree.json", "loans.csv", folder=folder).out
    assert all(word in said for word in WORDS[:2]) and "customers" in said
    facts = command("explain", "m.tree.json", "loans.csv", "--json", folder=folder).facts["rows"][0]
    assert str(facts["prediction"]) in "12" and set(facts["path"][0]["cells"]) <= {"months", "acc"}
    assert command("verify", "m", folder=folder).code == 0


def test_every_exporter_compares_the_data_and_comments_in_names(folder):
    fitted(folder, "--labels", "codes.csv")
    tree = odtc.read_tree(folder / "m.tree.json")
    for to in ("text", "dot", "svg", "latex", "markdown"):
        text = html.unescape(command("show", "m.tree.json", "--to", to, folder=folder).out)
        assert all(word in text for word in (*WORDS[:2], *WORDS[3:])), to
    for to in ("python", "c", "java", "javascript", "r"):
        text = command("export", "m.tree.json", "--to", to, folder=folder).out
        assert "bad customers" in text and "months" in text and "A11" in text, to
    query = command("export", "m.tree.json", "--to", "sql", folder=folder).out
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE "data" (months REAL, acc TEXT, bad INTEGER)')
    base.executemany('INSERT INTO "data" VALUES (?, ?, ?)', ROWS)
    found = base.execute(query).fetchall()
    names = [column[0] for column in base.execute(query).description]
    assert {"months", "acc", "bad", "prediction", "probability 1", "probability 2"} < set(names)
    expected = np.array(tree.labels)[tree.predict(odtc.read(folder / "loans.csv").X)].tolist()
    assert [row[names.index("prediction")] for row in found] == expected
    assert any("current account" in row[names.index("reason")] for row in found)
    space: dict = {}
    exec(command("export", "m.tree.json", "--to", "python", folder=folder).out, space)
    assert [space["predict"]({"months": m, "acc": a}) for m, a, _ in ROWS] == expected


def test_the_page_and_the_files_of_a_model_have_the_names_too(folder):
    fitted(folder, "--labels", "codes.csv", "--model", "flowoct")
    assert command("report", "m", folder=folder).code == 0
    page = html.unescape((folder / "m.html").read_text("utf-8"))
    assert "recall of bad customers is" in page and "current account (acc)" in page and "--labels codes.csv" not in page
    assert re.search(r'"asks": "(current account|duration of the loan)', page)
    build = ("loans.csv", "--model", "flowoct", "--depth", 1, "--labels", "codes.csv", "-o", "b")
    assert command("build", *build, folder=folder).code == 0
    assert command("solve", "b.mps", folder=folder).code == 0
    said = command("decode", "b.sol", folder=folder)
    assert said.code == 0 and "customers" in said.out and "standing" in said.out
    (folder / "codes.csv").unlink()  # a tree has its names with it
    assert "customers" in command("decode", "b.sol", folder=folder).out


def test_names_can_come_later_and_a_run_again_needs_no_codebook(folder):
    fitted(folder)
    assert "customers" not in command("show", "m.tree.json", folder=folder).out
    for words in (
        ("show", "m.tree.json"),
        ("explain", "m.tree.json", "loans.csv"),
        ("export", "m.tree.json", "--to", "c"),
    ):
        assert "customers" in command(*words, "--labels", "codes.csv", folder=folder).out
    assert command("report", "m", "--labels", "codes.csv", folder=folder).code == 0
    assert "bad customers" in (folder / "m.html").read_text("utf-8")
    fitted(folder, "--labels", "codes.csv", stem="n")
    assert command("report", "n", folder=folder).code == 0
    page = html.unescape((folder / "n.html").read_text("utf-8"))
    assert "--labels codes.csv" in page and "recall of bad customers" in page
    (folder / "codes.csv").unlink()
    assert command("report", "n", folder=folder).code == 0 and command("verify", "n", folder=folder).code == 0
    said = command("refit", "n.tree.json", "loans.csv", "-o", "again", folder=folder)
    assert said.code == 0 and "bad customers" in said.out, said.err


@pytest.mark.parametrize(
    "text,words",
    [
        ("name,text\nmonths,duration\n", ("'labels'|--labels", "columns column, value and text")),
        ("column,value,text\nmonths,,a\nmonths,,b\n", ("keep one of these lines",)),
        ("column,value,text\nnosuch,,a\n", ("'nosuch'", "'months'")),
    ],
)
def test_a_codebook_that_does_not_fit_is_a_sentence(folder, text, words):
    (folder / "codes.csv").write_text(text)
    said = command("fit", "loans.csv", "--depth", 1, "--labels", "codes.csv", "-o", "x", folder=folder)
    assert said.code == 1 and all(re.search(word, said.err) for word in words), said.err
    assert "Traceback" not in said.err and not list(folder.glob("x.*"))


def test_a_codebook_of_more_columns_and_other_forms_is_read(folder):
    """Semicolons, another encoding's mark, capitals in the header, other columns, and values that the data lack."""
    (folder / "codes.csv").write_bytes(
        b"\xef\xbb\xbfColumn;Value;Text\nmonths;;Laufzeit\nage;;Alter\nacc;Z9;nowhere\nbad;2;schlecht\n"
    )
    said = fitted(folder, "--labels", "codes.csv")
    assert "Laufzeit" in said.out and "schlecht" in said.out
    assert "'age', which the data do not have" in said.err and "no value of column 'acc'" in said.err
    fitted(folder, "--labels", "codes.csv", "--ignore", "acc")


def test_equal_texts_are_told_apart_and_hostile_ones_are_text(folder):
    one = "<b>one</b>\"'`\\"
    lines = [("column", "value", "text"), ("months", "", "x"), ("acc", "", "x"), ("bad", "1", one), ("bad", "2", one)]
    lines += [("acc", "A11", "--x\n'; DROP"), ("acc", "A12", "*/ \x1b[2J")]
    with (folder / "codes.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(lines)
    shown = odtc.read(folder / "loans.csv", labels=folder / "codes.csv")
    tree = odtc.fit(shown, depth=2).tree.shown
    assert [feature.name for feature in tree.features] == ["x (months)", "x (acc)"] and len(set(tree.classes)) == 2
    said = fitted(folder, "--labels", "codes.csv")
    assert "\x1b" not in said.out
    assert command("report", "m", folder=folder).code == 0
    assert "<b>one" not in (folder / "m.html").read_text("utf-8")
    space: dict = {}
    exec(command("export", "m.tree.json", "--to", "python", folder=folder).out, space)
    query = command("export", "m.tree.json", "--to", "sql", folder=folder).out
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE "data" (months REAL, acc TEXT, bad INTEGER)')
    base.executemany('INSERT INTO "data" VALUES (?, ?, ?)', ROWS)
    assert len(base.execute(query).fetchall()) == len(ROWS)


def test_a_codebook_reads_numbers_as_the_levels_are_written(tmp_path):
    (tmp_path / "codes.csv").write_text("column,value,text\nacc,1,one\nacc,NA,none known\n")
    assert read_codebook(tmp_path / "codes.csv").values == {"acc": {"1": "one", "NA": "none known"}}


def test_inspect_shows_names_next_to_those_that_options_take(folder):
    said = command("inspect", "loans.csv", "--labels", "codes.csv", folder=folder)
    assert "acc (current account)" in said.out and "A11 = overdrawn (" in said.out
    assert "bad (standing)" in said.out and "2 = bad customers" in said.out
    facts = command("inspect", "loans.csv", "--labels", "codes.csv", "--json", folder=folder).facts
    assert [one["text"] for one in facts["columns"]] == ["duration of the loan", "current account", "standing"]
