"""Files that were refused or misread once: each is read right, or refused in a sentence that leads to success."""

import gzip
import html
import random
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import odtc
from tests.command_line import odtc as command
from tests.command_line import refused

HERE = Path(__file__).parent / "reports"


def fit(name, *words, folder):
    depth = () if "--depth" in words else ("--depth", 1)
    return command("fit", HERE / name, *words, *depth, "-o", "m", folder=folder)


def test_the_separator_line_of_excel_is_obeyed(tmp_path):
    read = odtc.read(HERE / "sep.csv")
    assert [one.name for one in read.features] == ["a", "b"] and read.target == "y"
    for sign, other in ((";", ","), (",", ";"), ("|", ","), ("\t", ",")):
        text = f"sep={sign}\r\na{other}x{other}{sign}b{sign}y\r\n1{sign}2{sign}p\r\n3{sign}4{sign}q\r\n"
        for path, data in ((tmp_path / "d.csv", text.encode()), (tmp_path / "d.csv.gz", gzip.compress(text.encode()))):
            path.write_bytes(data)
            read = odtc.read(path)
            assert [one.name for one in read.features] == [f"a{other}x{other}", "b"], sign
            np.testing.assert_array_equal(read.X, [[1, 2], [3, 4]])
    (tmp_path / "q.csv").write_text('sep=;\na;y\n"1";p\n2;"q;r"\n')
    assert odtc.read(tmp_path / "q.csv").classes == ("p", "q;r")


def test_weights_of_instances_are_weights_of_rows():
    read = odtc.read(HERE / "weight.arff")
    assert [one.name for one in read.features] == ["a"]
    np.testing.assert_array_equal(read.weight, [5, 2])


def test_an_arff_file_may_weigh_some_of_its_rows(tmp_path):
    (tmp_path / "d.arff").write_text(
        "@relation r\n@attribute 'a b' real\n@attribute c {p,q}\n@data\n1,p\n% no row\n2,q, {0.5}\n"
    )
    read = odtc.read(tmp_path / "d.arff")
    np.testing.assert_array_equal(read.weight, [1, 0.5])
    assert [one.name for one in odtc.read(tmp_path / "d.arff", ignore="instance_weight").features] == ["a b"]


def test_tabs_and_types_without_a_blank_are_read_in_arff(tmp_path):
    read = odtc.read(HERE / "tab.arff")
    assert [(one.name, one.kind) for one in read.features] == [("a", "categorical"), ("b", "numeric")]
    (tmp_path / "d.arff").write_text(
        "@relation r\n@attribute a\treal\n@attribute s string\n@attribute c{p,q}\n@data\n1\t'x y,z'\tp\n2  w   q\n"
    )
    read = odtc.read(tmp_path / "d.arff")
    assert read.features[1].levels == ("w", "x y,z") and read.classes == ("p", "q")


def test_dates_of_arff_are_words_and_can_be_ignored():
    assert [one.name for one in odtc.read(HERE / "date.arff", ignore="d").features] == ["a", "s"]
    assert odtc.read(HERE / "date.arff").features[1].levels == ("2020-01-01", "2020-01-02", "2020-01-03")


def test_a_target_of_one_class_names_the_rows_that_were_left_out(tmp_path):
    said = refused(fit("namibia.csv", folder=tmp_path))
    assert "15 of 30 rows were left out" in said and "'NA' in column 'country'" in said and "--missing separate" in said
    assert "namibia.csv' all have the class 'q'; keep those rows with" in said and "--ignore" in said
    assert fit("namibia.csv", "--missing", "separate", folder=tmp_path).code == 0
    (tmp_path / "one.csv").write_text("a,y\n1,q\n2,q\n3,\n")
    said = refused(fit(tmp_path / "one.csv", folder=tmp_path))  # no row of another class can be kept
    assert "1 of 3 rows was left out because it has missing cells" in said
    assert said.strip().endswith("the class 'q'; name another target")
    said = refused(fit("two.csv", "--hold-out", 0.5, folder=tmp_path))
    assert "in its one row" in said and "1 of 2 rows are set aside by --hold-out 0.5" in said


def test_points_that_may_part_thousands_are_noted(tmp_path):
    said = fit("de_min.csv", folder=tmp_path)
    assert (
        said.code == 0 and "every point is followed by exactly three digits" in said.err and "--decimal ," in said.err
    )
    assert "exactly three digits" not in fit("de_min.csv", "--decimal", ",", folder=tmp_path).err
    assert odtc.read(HERE / "de_min.csv", decimal=",").X.max() >= 1219


@pytest.mark.parametrize(
    "cells", [("0.125", "950"), ("1.219", "5.400"), ("1.25", "950"), ("1.219", "7"), ("1.219", "9500"), ("950", "700")]
)
def test_ordinary_decimals_are_not_taken_for_thousands(cells, tmp_path):
    rows = [f"{cell},{label}" for cell, label in zip(cells * 2, "pqpq")]
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    assert "three digits" not in command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).err


@pytest.mark.parametrize(("last", "noted"), [("2.219", True), ("2.25", False)])
def test_points_that_may_part_thousands_are_sought_in_all_cells(last, noted, tmp_path):
    cells = [*map(str, range(100, 200)), "1.219", last]
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{cell},{cell[0]}\n" for cell in cells))
    said = command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path)
    assert ("three digits" in said.err) == noted


ROWS = [("", "late"), ("1", "early"), ("2", "early"), ("8", "late"), ("9", "late"), ("7", "late")]


@pytest.mark.parametrize("to", ["text", "markdown", "sql", "python", "dot", "latex", "svg", "javascript"])
def test_rows_without_a_cell_are_named_where_they_go(to, tmp_path):
    (tmp_path / "d.csv").write_text("duration,y\n" + "".join(f"{x},{y}\n" for x, y in ROWS))
    done = odtc.fit(tmp_path / "d.csv", depth=1, missing="separate")
    assert "or missing" in odtc.export(done, to)
    known = odtc.fit(tmp_path / "d.csv", depth=1)  # such rows are left out, and nothing is said of them
    assert "or missing" not in odtc.export(known, to)
    (tmp_path / "e.csv").write_text("duration,y\n" + "".join(f"{x},{y}\n" for x, y in ROWS[1:]))
    assert "or missing" not in odtc.export(odtc.fit(tmp_path / "e.csv", depth=1, missing="separate"), to)


TWO = [
    ("1", "", "p"),
    ("9", "5", "q"),
    ("", "", "q"),
    ("9", "1", "p"),
    ("1", "5", "p"),
    ("", "7", "q"),
    ("8", "2", "p"),
]


@pytest.mark.parametrize("to", ["markdown", "sql", "python"])
def test_a_condition_with_or_is_in_brackets_beside_another(to, tmp_path):
    (tmp_path / "d.csv").write_text("age,size,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in TWO))
    text = html.unescape(odtc.export(odtc.fit(tmp_path / "d.csv", depth=2, missing="separate"), to))
    assert "(age > 4.5 or missing) and size ≤ 3.5" in text and "or missing and" not in text


def test_a_report_has_a_condition_with_or_in_brackets(tmp_path):
    (tmp_path / "d.csv").write_text("age,size,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in TWO))
    assert command("fit", "d.csv", "--depth", 2, "--missing", "separate", "-o", "m", folder=tmp_path).code == 0
    assert command("report", "m", folder=tmp_path).code == 0
    page = html.unescape((tmp_path / "m.html").read_text(encoding="utf-8"))
    assert "If (age > 4.5 or missing) and size ≤ 3.5" in page and "or missing and" not in page


def test_an_explanation_and_a_record_say_where_missing_cells_go(tmp_path):
    (tmp_path / "d.csv").write_text("duration,y\n" + "".join(f"{x},{y}\n" for x, y in ROWS))
    words = ("fit", "d.csv", "--depth", 1, "--missing", "separate", "-o", "m")
    assert "or missing" in command(*words, folder=tmp_path).out
    assert "or missing" in command("show", "m.tree.json", folder=tmp_path).out
    assert "or missing, since duration is" in command("explain", "m.tree.json", "d.csv", folder=tmp_path).out


def test_columns_of_one_name_may_be_ignored_together(tmp_path):
    assert [one.name for one in odtc.read(HERE / "dup2.csv", ignore="a").features] == ["b"]
    assert fit("dup2.csv", "--ignore", "a", folder=tmp_path).code == 0
    assert command("predict", "m.tree.json", HERE / "dup2.csv", folder=tmp_path).code == 0
    said = refused(fit("dup2.csv", folder=tmp_path))
    assert "got 'a' for column 1 and for column 3" in said and "--ignore a" in said
    (tmp_path / "d.csv").write_text("b,y\n1,p\n2,q\n")
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    (tmp_path / "n.csv").write_text("b,b\n1,2\n")
    assert "expected one column 'b'" in refused(command("predict", "m.tree.json", "n.csv", folder=tmp_path))


def test_a_first_line_of_numbers_is_taken_for_data_before_names_are_compared(tmp_path):
    (tmp_path / "d.csv").write_text("4,4,2.5,p\n1,2,3,q\n2,3,4,p\n")
    said = refused(command("fit", "d.csv", folder=tmp_path))
    assert "looks like data" in said and "'4'" in said and "names of the 4 columns" in said


def option_of(text: str, name: str) -> str:
    """The value of an option that a message writes out."""
    words = shlex.split(re.search(rf"--{name} (?:'[^']*'|\"[^\"]*\"|[^ ;,]+)", text)[0])
    return words[1]


def test_a_split_on_a_set_of_levels_is_found_by_default(tmp_path):
    said = fit("subset.csv", "--depth", 1, folder=tmp_path)
    assert said.code == 0 and "proved optimal, certified: objective 0, bound 0" in said.out
    assert "city in {A, C, E, G}" in said.out and "sets of levels" not in said.err


def test_a_set_of_levels_that_errs_less_is_named_with_the_option_that_finds_it(tmp_path):
    said = fit("subset.csv", "--depth", 2, "--encoding", "auto:levels=3", folder=tmp_path)
    assert said.code == 0 and "a tree that splits on sets of levels costs 0, and this one 43" in said.err
    again = fit("subset.csv", "--depth", 1, "--encoding", option_of(said.err, "encoding"), folder=tmp_path)
    assert again.code == 0 and "objective 0" in again.out and "sets of levels" not in again.err, again.out


def test_a_set_of_levels_is_named_if_it_helps_only(tmp_path):
    draw = random.Random(1)
    rows = [(draw.choice("abcdef"), draw.randrange(3)) for _ in range(120)]
    (tmp_path / "d.csv").write_text("x,z,y\n" + "".join(f"{x},{z},{int(x in 'ace')}\n" for x, z in rows))
    weighted = "x,z,w,y\n" + "".join(f"{x},{z},{1 + z},{int(x in 'ace') ^ (z == 2 and x == 'b')}\n" for x, z in rows)
    (tmp_path / "w.csv").write_text(weighted)
    (tmp_path / "three.csv").write_text("x,y\n" + "".join(f"{x},{'pqr'['aebfcd'.index(x) // 2]}\n" for x, _ in rows))
    hint = {}
    for name, words in (
        ("d", ("--depth", 1)),
        ("w", ("--depth", 1, "--weights", "w")),
        ("three", ("--depth", 1)),
        ("d", ("--depth", 3)),  # three single levels are the set
        ("d", ("--depth", 1, "--constraint", "leaf_rows >= 2")),
    ):
        said = command("fit", f"{name}.csv", *words, "--encoding", "onehot", "-o", "m", folder=tmp_path)
        assert said.code == 0, said.err
        hint[name, words[1], len(words)] = "sets of levels" in said.err
        if "sets of levels" in said.err:
            value = option_of(said.err, "encoding")
            again = command(
                "fit", f"{name}.csv", *words, "--encoding", value, "-o", "n", "--json", folder=tmp_path
            ).facts
            cost = float(re.search(r"costs ([\d.]+), and this", said.err)[1])
            assert again["objective"] <= cost
    assert hint == {("d", 1, 2): True, ("w", 1, 4): True, ("three", 1, 2): True, ("d", 3, 2): False, ("d", 1, 4): True}


def test_rows_that_are_set_aside_are_named_if_too_few_are_left(tmp_path):
    said = fit("two.csv", "--hold-out", 0.5, folder=tmp_path)
    assert said.code == 1 and "--hold-out 0.5: set fewer aside" in said.err
    assert fit("two.csv", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("tiny-lambda.csv", "--model", "dpflow", "-p", "lambda=1e-7"),
        ("mixed-weights.csv", "--weights", "w", "--target", "y", "--model", "flowoct"),
    ],
)
def test_a_claim_and_its_note_agree(words, tmp_path):
    """The note said that odtc's own search proves the tree, and the claim was "best found" with a bound of 0."""
    said = fit(*words, "--solver", "highs", folder=tmp_path)
    assert said.code == 0 and "own search over all trees of these splits proves the tree" in said.err
    assert "proved optimal: " in said.out and "proof by odtc" in said.out, said.out


@pytest.mark.parametrize("words", [("--only-missing", ""), ("--only-missing", "", "--missing", "separate")])
def test_a_level_that_reads_like_a_missing_cell_is_a_level_in_exports(words, tmp_path):
    """NA of Namibia was missing in exported code, so that each row was predicted as if it had no country."""
    assert fit("namibia.csv", *words, folder=tmp_path).code == 0
    rows = [line.split(",") for line in (HERE / "namibia.csv").read_text().split()[1:]]
    expected = command("predict", "m.tree.json", HERE / "namibia.csv", folder=tmp_path).out.split()[1:]
    assert len(set(expected)) == 2
    space: dict = {}
    exec(command("export", "m.tree.json", "--to", "python", folder=tmp_path).out, space)
    assert [space["predict"]({"country": country, "gdp": gdp}) for country, gdp, _ in rows] == expected
    for to, listed in (("javascript", 'MISSING = [""]'), ("r", 'MISSING <- c("")'), ("java", 'Arrays.asList("")')):
        assert listed in command("export", "m.tree.json", "--to", to, folder=tmp_path).out
    assert command("export", "m.tree.json", "--to", "excel", "-o", "m.csv", folder=tmp_path).code == 0
    assert '""NULL""' not in (tmp_path / "m.csv").read_text("utf-8-sig")
    (tmp_path / "plain.csv").write_text((HERE / "namibia.csv").read_text().replace("NA", "ZA"))
    assert command("fit", "plain.csv", "--depth", 1, "-o", "p", folder=tmp_path).code == 0
    assert '"NULL"' in command("export", "p.tree.json", "--to", "javascript", folder=tmp_path).out
