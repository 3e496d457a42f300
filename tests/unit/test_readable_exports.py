"""Code for people: probabilities as quotients, and a comment that states data, date, claim and digest."""

import contextlib
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
from fractions import Fraction

import pytest

import odtc
from odtc.base.templates.filters import Share, c_number, java_number, js_value, py_value, quotient, r_number, sql_number
from tests.command_line import CHECKOUT
from tests.command_line import odtc as command

CODE = ("sql", "python", "c", "java", "javascript", "r", "pmml", "dot", "latex")


@pytest.fixture
def run(tmp_path):
    """A run of a data file whose name would end comments of many languages."""
    hostile = "a*-- -->\\u000a coding: utf-7 %.csv"
    rows = [f"{x},{'yes' if (x > 11) != (x % 7 == 0) else 'no'}" for x in range(40)]
    (tmp_path / hostile).write_text("x,y\n" + "\n".join(rows) + "\n")
    said = command("fit", hostile, "--depth", 1, "-o", "m", folder=tmp_path)
    assert said.code == 0, said.err
    return tmp_path, hostile


def test_a_share_is_written_as_a_quotient_that_is_the_same_double():
    for part, whole in ((71.0, 108.0), (1.0, 3.0), (0.5, 1.75), (123456789.0, 987654321.0)):
        for write in (py_value, c_number, java_number, js_value, r_number):
            text = write(Share(part, whole))
            if "/" in text:
                left, right = text.split(" / ")
                assert float(left) / float(right) == part / whole and Fraction(left) == Fraction(part)
        assert sql_number(Share(part, whole)) == f"{part} / {whole:g}E0".replace("9.87654e+08", "987654321")
    assert py_value(Share(71, 108)) == c_number(Share(71, 108)) == "71.0 / 108"
    for part, whole in ((0.0, 5.0), (5.0, 5.0), (0.1 + 0.2, 1.0), (1e22, 3e22), (1e-9, 1.0)):
        assert quotient(Share(part, whole)) == "" and eval(py_value(Share(part, whole))) == part / whole
    assert r_number(Share(0.5, 1.5)).startswith("0x"), "R reads decimals to another double"


def test_sql_and_python_have_quotients_and_the_same_answers(run):
    folder, data = run
    tree = odtc.read_tree(folder / "m.tree.json")
    query = command("export", "m.tree.json", "--to", "sql", folder=folder).out
    leaf = tree.leaves()[0]
    assert f"{leaf.counts[0]} / {sum(leaf.counts):g}E0" in query
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE "data" (x REAL)')
    base.executemany('INSERT INTO "data" VALUES (?)', [(x,) for x in range(40)])
    cursor = base.execute(query)
    at = [column[0] for column in cursor.description].index("probability no")
    space: dict = {}
    exec(command("export", "m.tree.json", "--to", "python", folder=folder).out, space)
    for x, row in enumerate(cursor.fetchall()):
        assert row[at] == space["predict_proba"]({"x": x})["no"]


def test_each_language_has_data_date_claim_and_digest_in_a_comment(run, monkeypatch):
    folder, data = run
    digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (data, "m.tree.json")]
    os.utime(folder / "m.run.json", (1_600_000_000, 1_600_000_000))
    for to in CODE:
        text = command("export", "m.tree.json", "--to", to, folder=folder).out
        assert "2020-09-13" in text and all(digest in text for digest in digests), to
        assert re.search(r"Claim: proved optimal(, certified)?: objective \d+, bound \d+, by odtc", text), to
        assert text == command("export", "m.tree.json", "--to", to, folder=folder).out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert "2023-11-14" in command("export", "m.tree.json", "--to", "sql", folder=folder).out
    compile(command("export", "m.tree.json", "--to", "python", folder=folder).out.encode(), "m.py", "exec")
    # A tree that is not of the record, or without one, says nothing of a run.
    (folder / "m.tree.json").write_text((folder / "m.tree.json").read_text() + "\n")
    assert "Claim" not in command("export", "m.tree.json", "--to", "sql", folder=folder).out


@pytest.mark.slow
@pytest.mark.parametrize(
    "to,name,words",
    [
        ("c", "tree.c", ("cc", "-std=c99", "-Wall", "-Werror", "-c", "tree.c")),
        ("java", "DecisionTree.java", ("javac", "DecisionTree.java")),
        ("javascript", "tree.js", ("node", "--check", "tree.js")),
        ("r", "tree.R", ("Rscript", "tree.R")),
        ("dot", "tree.dot", ("dot", "-Tsvg", "tree.dot")),
        ("pmml", "tree.pmml", ("python3", "-c", "import xml.etree.ElementTree as e; e.parse('tree.pmml')")),
    ],
)
def test_a_hostile_file_name_stays_in_the_comment(run, to, name, words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    folder, _ = run
    (folder / name).write_text(command("export", "m.tree.json", "--to", to, folder=folder).out, encoding="utf-8")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_numbers_that_a_database_stores_as_text_are_cast_as_the_page_says(tmp_path):
    """SQLite imports a CSV file as text, and the query of numbers then returned other leaves without an error."""
    lines = ["age,y", *(f"{cell},{'old' if cell > 9.5 else 'young'}" for cell in (1.5, 2, 9, 10, 11, 25, 80))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    query = command("export", "m.tree.json", "--to", "sql", folder=tmp_path).out
    assert "-- Columns of numbers need a numeric type" in query
    cast = re.search(r"CAST\(NULLIF\(.*?AS \"age\"", (CHECKOUT / "docs/how-to/sql.md").read_text())[0]
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute('CREATE TABLE raw ("age" TEXT)')
        base.executemany("INSERT INTO raw VALUES (?)", [("9",), ("10",), ("80",), ("",)])
        base.execute(f'CREATE VIEW "data" AS SELECT {cast} FROM raw')
        assert [row[-1] for row in base.execute(query)] == ["young", "old", "old", None]
