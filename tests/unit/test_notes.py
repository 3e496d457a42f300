"""The remarks on a table: each is made of the column that it is about, and of no ordinary one."""

import re
import shlex
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

from odtc import OptimalTreeClassifier, OptimalTreeRegressor, fit
from odtc.base import deadline
from odtc.data.inspection import inspect_data
from odtc.data.notes import notes_on
from odtc.data.reading import from_frame, read
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import DataWarning
from tests.command_line import MONKS, odtc

pytestmark = pytest.mark.usefixtures("told_on_command_line")

N = 40


def table(**columns):
    """An ordinary table of 40 rows, with columns of the test's own."""
    return {
        "size": [0.5 * ((7 * at) % 13) for at in range(N)],
        "shape": ["round", "flat", "long", "flat"] * (N // 4),
        **columns,
        "y": list(np.random.default_rng(0).choice(["a", "b"], N)),
    }


def kinds(**columns):
    dataset = from_frame(pl.DataFrame(table(**columns)), "table")
    return {(note.column, note.kind) for note in notes_on(dataset)}


def test_each_column_is_one_line_of_the_table_whatever_is_in_its_name_and_cells(tmp_path):
    cells = ["two\nlines", "a\ttab", "plain", "plain"] * (N // 4)
    pl.DataFrame(table(**{"na\nme": cells})).write_csv(tmp_path / "d.csv")
    lines = inspect_data(tmp_path / "d.csv").to_text().split("\n")
    assert [line.split("  ")[0] for line in lines[2:7]] == ["column", "size", "shape", r"na\nme", "y"]
    assert r"two\nlines" in lines[5] and lines[7] == ""


def test_an_ordinary_table_has_no_remark():
    assert (
        kinds()
        == set()
        == kinds(year=[1990 + at % 7 for at in range(N)], cell=[f"{at % 3}-{at % 2}" for at in range(N)])
    )


@pytest.mark.parametrize(
    "kind,cells",
    [
        ("identifier", [f"customer {at}" for at in range(N)]),
        ("identifier", list(range(1001, 1001 + N))),
        ("date", [f"2024-{at % 12 + 1:02}-03" for at in range(N)]),
        ("date", [f"{at % 28 + 1}.3.2024" for at in range(N)]),
        ("date", [f"{at % 28 + 1} March 2024" for at in range(N)]),
        ("date", [f"{at % 24}:{at % 60:02}" for at in range(N)]),
        ("date", [f"{at % 12 + 1}:{at % 60:02}:07 PM" for at in range(N)]),
        ("missing mark", [-999 if at % 9 == 0 else 100 * (at % 7) for at in range(N)]),
        ("missing mark", [9999.0 if at % 9 == 0 else 18.5 + at % 7 for at in range(N)]),
        ("missing mark", [-9 if at % 9 == 0 else at % 7 for at in range(N)]),
        ("equal", table()["size"]),
        ("equal", table()["shape"]),
        ("number", [f"${at % 9},000.50" for at in range(N)]),
        ("number", [f"{at % 9} kg" for at in range(N)]),
        ("number", [f"{at % 9} m²" for at in range(N)]),
        ("scale", [["2", "3", "4", "5more"][at % 4] for at in range(N)]),
        ("number", [f"{97.35 * at:,.2f}" for at in range(N)]),  # 973.50 beside 1,070.85
        ("number", [f"{97.35 * at:,.2f}".replace(",", " ") for at in range(N)]),
        ("number", [f"{97.35 * at:,.2f}".replace(",", "'") for at in range(N)]),
        ("number", [f"{at % 9}.5%" for at in range(N)]),
        ("number", ["n/a" if at % 8 == 0 else str(at % 9) for at in range(N)]),
        ("missing mark", [["red", "blue", "unknown"][at % 3] for at in range(N)]),
        ("missing mark", [["red", "blue", "n.a."][at % 3] for at in range(N)]),
        ("missing mark", [["red", "blue", "#DIV/0!"][at % 3] for at in range(N)]),
        ("spelling", [["red", "blue", "Red"][at % 3] for at in range(N)]),
        ("code", [f"{at % 7:05}" for at in range(N)]),
        ("code", ["00123" if at % 5 == 0 else f"{at % 7}" for at in range(N)]),
        ("digits", [f"{at % 2}.1111111111111111111{at % 7}" for at in range(N)]),
        ("digits", [f"1700000000.{at % 2}2345678{at % 9}" for at in range(N)]),
        ("digits", [("0", "2e-400", "1")[at % 3] for at in range(N)]),
        ("levels", [f"street {at % 30}" for at in range(N)]),
        ("constant", [3] * N),
        ("leak", table()["y"]),
        ("leak", [2.5 + at % 8 if label == "a" else -1.5 - at % 8 for at, label in enumerate(table()["y"])]),
    ],
)
def test_a_column_is_remarked_on(kind, cells):
    assert kinds(odd=cells) == {("odd", kind)}


@pytest.mark.parametrize(
    "cells",
    [
        [-999 if at == 5 else at % 7 for at in range(N)],  # once
        [-9 if at % 9 == 0 else at % 7 - 3 for at in range(N)],  # below others that are negative, too
        [99 if at % 9 == 0 else 10 * (at % 7) for at in range(N)],  # near the others
        [9 if at % 9 == 0 else at % 3 for at in range(N)],
        [999 if at % 9 == 0 else at % 2 for at in range(N)],  # of two other numbers nothing is far
        [998 if at % 9 == 0 else at % 7 for at in range(N)],
    ],
)
def test_numbers_that_may_be_meant_are_no_remark(cells):
    assert kinds(odd=cells) == set()


def test_a_remark_on_many_columns_is_one():
    columns = {f"c{k}": [f"{at % 9},{k}" for at in range(N)] for k in range(4)}
    (note,) = notes_on(from_frame(pl.DataFrame(table(**columns)), "table"))
    assert (note.column, note.kind) == ("", "number")
    assert note.text.startswith("4 columns look like numbers") and note.text.endswith(": 'c0', 'c1', 'c2', 'c3'")
    del columns["c3"]
    assert kinds(**columns) == {(name, "number") for name in columns}


def test_dates_whose_order_is_given_are_no_remark_and_others_say_how(tmp_path):
    cells = [f"2024-{at % 12 + 1:02}-03" for at in range(N)]
    frame = pl.DataFrame(table(day=cells))
    (note,) = notes_on(from_frame(frame, "table"))
    assert "--dates day (20240103)" in note.text
    assert notes_on(from_frame(frame, "table", ReadingSpec(ordered=("day",)))) == []
    (other,) = notes_on(from_frame(pl.DataFrame(table(day=[f"{at % 28 + 1}.3.2024" for at in range(N)])), "table"))
    assert "--dates day (20240301)" in other.text


def test_a_column_that_looks_like_numbers_gets_one_note(tmp_path):
    """Its note says how to read it, so sets of its levels are not proposed, too."""
    text = "\n".join(["Kunden-Nr;preis;y", *[f"{7 * at};{at % 40},5;{at % 3 % 2}" for at in range(1000, 1240)]]) + "\n"
    (tmp_path / "t.csv").write_text(text)
    said = odtc("inspect", "t.csv", folder=tmp_path)
    assert "'preis' looks like numbers with a decimal comma" in said.out and "separates one level" not in said.out
    assert "'Kunden-Nr' has 240 different numbers in 240 rows and the name of an identifier" in said.out


def test_inspect_counts_the_sets_of_levels_that_a_search_takes(tmp_path):
    rows = [f"{'abcdef'[at % 6]},{at % 40},{at % 2}" for at in range(240)]
    (tmp_path / "t.csv").write_text("\n".join(["letter,many,y", *rows]) + "\n")
    said = odtc("inspect", "t.csv", "--categorical", "many", folder=tmp_path)
    assert "--encoding auto:levels=6 for a search of depth 2:" in said.out
    assert "note: each split on 'many' separates one level from the others; --encoding subsets" in said.out
    facts = odtc("inspect", "t.csv", "--categorical", "many", "--json", folder=tmp_path).facts
    assert facts["columns"][0]["splits"] == 2**5 - 1 and facts["columns"][1]["splits"] == 40
    fitted = fit(tmp_path / "t.csv", reading={"categorical": ("many",)})
    assert fitted.problem.encoded.n_candidate_splits == facts["n_candidate_splits"]
    single = odtc("inspect", "t.csv", "--encoding", "auto:levels=3", "--json", folder=tmp_path).facts
    assert single["columns"][0]["splits"] == 6 and single["depth"] is None


def test_inspect_says_why_a_column_has_no_test():
    names = [f"p{at:02}" for at in range(N)]
    columns = table(twin=table()["size"], one=[1] * N, name=names)
    found = inspect_data(pl.DataFrame(columns))
    why = {note.kind: note for note in found.notes}
    unasked = {column.name for column in found.columns if column.splits == 0}
    assert {"one", "twin"} <= unasked
    assert why["constant"].column == "one" and why["equal"].column == "twin"
    pairs = pl.DataFrame({"a": [0, 1] * 20, "b": ["u", "v"] * 20, "size": table()["size"], "y": table()["y"]})
    (note,) = [note for note in inspect_data(pairs).notes if note.kind == "no split"]
    assert note.column == "b" and "parts the rows as one of another column does" in note.text


def test_columns_that_are_constant_are_one_remark():
    assert kinds(one=[1] * N, two=["x"] * N) == {("", "constant")}


def test_the_names_of_rows_are_remarked_on_once():
    dataset = from_frame(pl.DataFrame({"": [f"row {at}" for at in range(N)], **table()}), "table")
    assert [(note.column, note.kind) for note in notes_on(dataset)] == [("", "row index")]


def test_many_numbers_as_classes_and_many_rare_classes_are_one_remark_each():
    heights = from_frame(pl.DataFrame(table() | {"y": [15 + at // 3 / 10 for at in range(N)]}), "table")
    assert [note.kind for note in notes_on(heights)] == ["numbers as classes", "rare class"]
    assert "--task regression" in notes_on(heights)[0].text
    towns = from_frame(pl.DataFrame(table() | {"y": [f"town {at // 2}" for at in range(N)]}), "table")
    (note,) = notes_on(towns)
    assert note.kind == "rare class" and note.text.startswith("20 of the 20 classes have fewer than 3 rows of 40")
    grades = from_frame(pl.DataFrame(table() | {"y": [at % 10 for at in range(N)]}), "table")
    assert notes_on(grades) == []


def test_a_header_that_is_a_row_and_a_class_of_two_rows(tmp_path):
    rows = (
        ["5.1,3.5,1.4,0"]
        + [f"{at % 7}.5,{at % 5}.1,{at % 3}.2,{int(at % 4 == 0)}" for at in range(30)]
        + ["1,2,3,2"] * 2
    )
    (tmp_path / "iris.csv").write_text("\n".join(rows) + "\n")
    said = odtc("fit", "iris.csv", folder=tmp_path)
    assert said.code == 0
    assert (
        "the header looks like a row of data (5.1, 3.5, 1.4, 0)" in said.err
        and "class '2' has 2 rows of 32" in said.err
    )


@pytest.mark.parametrize("header", ["5.1,red,yes", "red,5.1,yes", "red,blue,no"])
def test_a_header_of_words_and_numbers_that_stand_in_the_rows_is_a_row(tmp_path, header):
    numeric = [word[0].isdigit() for word in header.split(",")[:2]]
    rows = [
        ",".join(f"{at % 7}.5" if number else ("red", "blue", "green")[at % 3] for number in numeric)
        + (",no" if at % 4 else ",yes")
        for at in range(40)
    ]
    (tmp_path / "bare.csv").write_text("\n".join([header, *rows]) + "\n")
    said = odtc("inspect", "bare.csv", folder=tmp_path)
    assert said.code == 0 and f"the header looks like a row of data ({header.replace(',', ', ')})" in said.out
    (tmp_path / "bare.csv").write_text("\n".join(["red,size,class", *rows]) + "\n")
    assert "the header looks" not in odtc("inspect", "bare.csv", folder=tmp_path).out


def test_a_line_of_totals_makes_categories_of_numbers_and_is_remarked_on(tmp_path):
    rows = [f"{at * 1.5},{('a', 'b')[at % 3 == 0]}" for at in range(N)]
    (tmp_path / "sums.csv").write_text("\n".join(["price,y", *rows, "Total,"]) + "\n")
    (note,) = notes_on(read(tmp_path / "sums.csv"))
    assert (note.column, note.kind) == ("price", "number") and "a line of totals" in note.text
    assert [note.kind for note in notes_on(read(tmp_path / "sums.csv", categorical=["price"]))] == ["identifier"]


def test_inspect_shows_every_column_and_how_many_tests_ask_it(tmp_path):
    (tmp_path / "few.csv").write_text(
        "age,colour,group,y\n"
        + "".join(
            f"{'' if at == 7 else at % 6},{['red', 'blue', 'green'][at % 3]},g,{'yes' if at % 5 else 'no'}\n"
            for at in range(30)
        )
    )
    said = odtc("inspect", "few.csv", "--auxiliary", "group", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    columns = {column["name"]: column for column in said.facts["columns"]}
    assert (said.facts["n_rows"], said.facts["n_rows_incomplete"]) == (30, 1)
    assert (columns["age"]["kind"], columns["age"]["distinct"], columns["age"]["missing"]) == ("numeric", 6, 1)
    assert (columns["age"]["splits"], columns["colour"]["splits"]) == (5, 3)  # between six numbers; one a colour
    (tmp_path / "one.csv").write_text("a,y\n1,n\n2,y\n")
    assert ": 1 different split of all columns" in odtc("inspect", "one.csv", folder=tmp_path).out
    assert columns["group"]["role"] == "auxiliary" and columns["y"]["values"] == "yes (24), no (6)"
    shown = odtc("inspect", "few.csv", folder=tmp_path).out
    assert all(name in shown for name in columns) and "--encoding auto: 8 different splits" not in shown.replace(
        " different", ""
    )


def test_inspect_tells_what_weighs_the_rows(tmp_path):
    (tmp_path / "counts.csv").write_text("x,y,Freq\n1,a,670\n2,a,0\n1,b,3\n2,b,40\n")
    said = odtc("inspect", "counts.csv", "--target", "y", "--json", folder=tmp_path)
    (note,) = said.facts["notes"]
    assert note["kind"] == "counts" and "--weights Freq counts them" in note["text"] and said.facts["weights"] is None
    weighed = "inspect", "counts.csv", "--target", "y", "--weights", "Freq"
    facts = odtc(*weighed, "--json", folder=tmp_path).facts
    assert facts["weights"] == {"column": "Freq", "values": "3 to 670, median 40", "sum": 713}
    assert facts["notes"] == [] and [column["name"] for column in facts["columns"]] == ["x", "y"]
    assert (
        "4 rows, 1 of them with missing cells or weight 0, weighed by 'Freq' (3 to 670, median 40; 713"
        in odtc(*weighed, folder=tmp_path).out
    )


def test_numbers_with_one_decimal_beside_a_mark_are_no_dates(tmp_path):
    rows = [f"{1000 + 7 * at + at % 9 / 10},{'ab'[at % 2]}" for at in range(N)] + ["unknown,a"]
    (tmp_path / "a.csv").write_text("income,y\n" + "\n".join(rows) + "\n")
    said = odtc("inspect", "a.csv", folder=tmp_path)
    assert "would be numeric except for 'unknown'" in said.out and "--missing-mark unknown" in said.out
    assert "dates" not in said.out + said.err


def test_several_marks_of_missing_cells_are_told_as_several(tmp_path):
    odd = [["red", "blue", "n.a.", "-"][at % 4] for at in range(N)]
    (note,) = notes_on(from_frame(pl.DataFrame(table(odd=odd)), "t"))
    assert "holds '-', 'n.a.', which are taken as levels; if they mean missing cells, name them with" in note.text


def test_one_row_is_told_as_one(tmp_path):
    (tmp_path / "five.csv").write_text("a,y\n1,no\n2,no\n3,yes\n4,yes\n5,no\n")
    said = odtc("fit", "five.csv", "--hold-out", 0.2, folder=tmp_path)
    assert "1 of 5 rows was set aside" in said.err and "the search does not use it" in said.err
    assert " % of 1 row correct" in said.out


def test_a_target_of_counts_is_told_as_one():
    columns = {"x": [k % 3 for k in range(30)], "Freq": [7 * k for k in range(30)]}
    told = [note.text for note in inspect_data(pl.DataFrame(columns)).notes if note.kind == "counts"]
    assert len(told) == 1 and "--weights Freq" in told[0] and "--target" in told[0]


@pytest.mark.parametrize("name", ["ID", "id", "patient_id", "Patient ID", "customerId", "row.id"])
def test_a_column_with_the_name_of_an_identifier_is_told(name):
    numbers = [1000 * ((7 * k) % 40) for k in range(N)]
    assert [note.kind for note in notes_on(from_frame(pl.DataFrame(table(**{name: numbers})), "t"))] == ["identifier"]


@pytest.mark.parametrize("name", ["paid", "valid", "bid", "width", "Idaho"])
def test_a_column_of_another_name_is_told_of_no_identifier(name):
    numbers = [1000 * ((7 * k) % 40) for k in range(N)]
    assert notes_on(from_frame(pl.DataFrame(table(**{name: numbers})), "t")) == []


def test_a_rare_class_of_two_is_told_with_what_asks_for_it(tmp_path):
    rows = "".join(f"{k % 7},{k % 5},{'yes' if k in (3, 33, 77) else 'no'}\n" for k in range(100))
    (tmp_path / "rare.csv").write_text("a,b,y\n" + rows)
    (note,) = odtc("inspect", "rare.csv", "--json", folder=tmp_path).facts["notes"]
    assert note["kind"] == "imbalance" and "3 of 100 rows (3 %)" in note["text"]
    words = shlex.split(note["text"])
    asked = "--constraint", words[words.index("--constraint") + 1]
    assert asked[1] == "recall[yes] >= 0.8"
    assert "100 rows (3 %)" in odtc("fit", "rare.csv", folder=tmp_path).err
    for more in (asked, ("--class-weight", "balanced")):
        said = odtc("fit", "rare.csv", *more, folder=tmp_path)
        assert said.code == 0 and "100 rows (3 %)" not in said.err


def test_inspect_shows_a_table_whose_target_is_no_class(tmp_path):
    rows = "".join(f"{at % 3},{'uv'[at % 2]},{at}.5\n" for at in range(30))
    (tmp_path / "numbers.csv").write_text("x,c,y\n" + rows)
    assert odtc("fit", "numbers.csv", folder=tmp_path).code == 1
    said = odtc("inspect", "numbers.csv", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["n_candidate_splits"] == 3
    assert [(one["role"], one["kind"], one["distinct"]) for one in said.facts["columns"]] == [
        ("feature", "numeric", 3),
        ("feature", "categorical", 2),
        ("target", "numbers", 30),
    ]
    (note,) = said.facts["notes"]
    assert (note["column"], note["kind"]) == ("y", "numbers as classes")
    assert "30 different numbers in 30 rows" in note["text"] and "--task regression" in note["text"]
    as_asked = odtc("inspect", "numbers.csv", "--task", "regression", "--json", folder=tmp_path).facts
    assert as_asked == said.facts | {"notes": []}


def test_inspect_shows_a_table_that_cannot_be_encoded(tmp_path):
    (tmp_path / "same.csv").write_text("a,y\n1,p\n1,q\n")
    said = odtc("inspect", "same.csv", folder=tmp_path)
    assert said.code == 0 and "expected" in said.out and "a " in said.out


def test_monks_has_no_remark():
    assert odtc("inspect", MONKS / "monks-1.csv", "--json").facts["notes"] == []


def test_remarks_end_with_the_time_limit():
    """A table of 200,000 rows took six seconds of remarks whatever the limit was."""
    rows = [str(at) for at in range(100)]
    dataset = from_frame(pl.DataFrame({"id": rows, "one": ["a"] * 100, "y": ["p", "q"] * 50}), "drawn")
    whole = notes_on(dataset)
    with deadline.within(0):
        assert whole and notes_on(dataset) == [note for note in whole if note.kind == "header"]


def test_words_among_numbers_are_named():
    cells = [str(at) for at in range(N - 1)] + ["foo"]
    notes = notes_on(from_frame(pl.DataFrame(table(odd=cells)), "table"))
    [note] = [note for note in notes if note.column == "odd"]
    assert note.kind == "number" and "except for 1 of 40 cells ('foo')" in note.text
    assert not [
        note for note in notes_on(from_frame(pl.DataFrame(table(odd=["u", "v"] * (N // 2))), "table")) if note.column
    ]


@pytest.mark.parametrize("end", ["<0.6", "> 9.8", "90+"])
def test_measurements_with_a_limit_are_numbers_and_not_an_order(end):
    """A laboratory writes <0.6 below its limit; the remark proposed an order of all 140 numbers of the column."""
    cells = [str(0.6 + at / 5) for at in range(N - 2)] + [end] * 2
    notes = notes_on(from_frame(pl.DataFrame(table(lactate=cells)), "table"))
    [note] = [note for note in notes if note.column == "lactate"]
    assert note.kind == "number" and f"except for 2 of 40 cells ({end!r})" in note.text


@pytest.mark.parametrize("seed", range(4))
def test_a_column_is_told_by_its_values_and_their_rows(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 30))
    cells = np.where(random.random(n) < 0.2, np.nan, random.integers(0, 9, n) / 4)
    cells[:3] = 0, 1, 7.5
    words = random.choice(["u", "v", "w"], n)
    frame = pl.DataFrame({"number": pl.Series(cells, nan_to_null=True), "word": words, "y": np.arange(n) % 2})
    number, word, _ = inspect_data(frame).columns
    known = cells[~np.isnan(cells)]
    assert (number.distinct, number.missing) == (len(set(known.tolist())), np.isnan(cells).sum())
    assert number.values == f"0 to 7.5, median {np.median(known):.6g}"
    told = re.findall(r"(\w) \((\d+)\)", word.values)
    assert sorted(told) == sorted((level, str(rows)) for level, rows in Counter(words.tolist()).items())
    assert [int(rows) for _, rows in told] == sorted((int(rows) for _, rows in told), reverse=True)


def test_the_estimators_warn_of_dates_durations_and_names_in_a_frame():
    """A frame of pandas gives each moment a level of its own, as text in a file has; nothing but a warning tells."""
    days = pd.to_timedelta(range(N), "D")
    frame = pd.DataFrame(
        {
            "size": np.arange(N) % 7 * 0.5,
            "visit": pd.Timestamp("2020-01-01 09:30") + days,
            "stay": days,
            "name": [f"p{at}" for at in range(N)],
            "shape": ["round", "flat", "long", "flat"] * (N // 4),
        }
    )
    learner, labels = OptimalTreeClassifier(max_depth=1), np.arange(N) % 2
    with pytest.warns(DataWarning) as told:
        learner.fit(frame, labels)
    assert [re.search("'(.*?)'", str(one.message))[1] for one in told] == ["name", "visit", "stay"]
    assert not any("--" in str(one.message) for one in told)
    learner.fit(frame[["size", "shape"]], labels)  # a warning would be an error here
    kept = frame[["name", "shape"]].astype("category")
    learner.fit(kept, labels)  # a frame that declares its categories is believed


@pytest.mark.parametrize(
    "words",
    [
        ("certify", "d.csv", "--depth", 1, "-o", "c.json"),
        ("frontier", "d.csv", "--depth", 1, "--vary", "recall[a] >= 0.1:0.2:0.1"),
        ("sweep", "d.csv", "--model", "cart", "--depths", 1, "--folds", 2),
        ("tune", "d.csv", "--model", "cart", "--depths", 1, "--folds", 2),
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_reads_says_what_it_leaves_out_and_what_is_odd(tmp_path, words):
    columns = table(when=[f"2020-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(N)])
    columns["size"][3:5] = [None, None]
    pl.DataFrame(columns).write_csv(tmp_path / "d.csv")
    said = odtc(*words, folder=tmp_path)
    assert said.code == 0, said.err
    assert "dropped 2 rows of 40" in said.err and "'when' looks like dates" in said.err


def test_codes_that_their_user_calls_numbers_are_no_remark(tmp_path):
    codes = pl.DataFrame(table(zip=[f"{at % 7:05}" for at in range(N)]))
    for how in ({"numeric": ("zip",)}, {"categorical": ("zip",)}):
        assert not [note for note in notes_on(from_frame(codes, "codes", ReadingSpec(**how))) if note.kind == "code"]
    codes.write_csv(tmp_path / "codes.csv")
    (note,) = [note for note in notes_on(read(tmp_path / "codes.csv")) if note.kind == "code"]
    assert "'00000'" in note.text and "--categorical zip" in note.text


def test_codes_of_a_column_that_is_held_as_numbers_are_remarked_on(tmp_path, monkeypatch):
    monkeypatch.setattr("odtc.data.table.column_coding.MOST_WORDS", 5)
    pl.DataFrame(table(zip=[f"{at:05}" for at in range(N)])).write_csv(tmp_path / "codes.csv")
    assert ("zip", "code") in {(note.column, note.kind) for note in notes_on(read(tmp_path / "codes.csv"))}


def test_long_decimals_that_doubles_tell_apart_are_no_remark(tmp_path):
    cells = [f"{at % 7}.{at % 2}00000000000000000" for at in range(N)]
    cells = ["0.10" if at % 4 == 0 else cell for at, cell in enumerate(cells)]
    pl.DataFrame(table(long=cells)).write_csv(tmp_path / "long.csv")
    assert not [note for note in notes_on(read(tmp_path / "long.csv")) if note.kind == "digits"]


def test_decimals_of_a_column_that_is_held_as_numbers_are_remarked_on(tmp_path, monkeypatch):
    monkeypatch.setattr("odtc.data.table.column_coding.MOST_WORDS", 5)
    pl.DataFrame(table(at=[f"0.1111111111111111111{at}" for at in range(N)])).write_csv(tmp_path / "digits.csv")
    (note,) = [note for note in notes_on(read(tmp_path / "digits.csv")) if note.kind == "digits"]
    assert "0.11111111111111111110 and 0.11111111111111111111" in note.text


@pytest.mark.parametrize("least, lost", [(1e-9, True), (1e-3, False)])
def test_weights_that_rounding_loses_are_told(least, lost):
    """A tree was called optimal in silence beside one that errs in a weight of 1e-9 less of 1e8."""
    weights = [1e8 if at % 2 else least for at in range(N)]
    dataset = from_frame(pl.DataFrame(table(w=weights)), "table", ReadingSpec(target="y", weights="w"))
    said = [note.text for note in notes_on(dataset) if note.kind == "lost weights"]
    assert [
        text.startswith("rounding loses 20 of ") and ", the least 1e-09, because the sum" in text for text in said
    ] == [True] * lost
    assert not any("count as equal" in text for text in said)  # a proof compares sums exactly
    X, y = np.arange(N)[:, None], np.arange(N) // 20
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        OptimalTreeClassifier(max_depth=1).fit(X, y, sample_weight=weights)
    assert [str(each.message).startswith("rounding loses 20 of ") for each in heard] == [True] * lost


AGREE = ["Agree", "Disagree", "Neutral", "Strongly agree", "Strongly disagree"]


def test_answers_of_a_scale_are_told_of_their_order():
    columns = table(ease=AGREE * (N // 5))
    (note,) = notes_on(from_frame(pl.DataFrame(columns), "t"))
    told = "--ordered 'ease=Strongly disagree<Disagree<Neutral<Agree<Strongly agree'"
    assert note.kind == "scale" and note.text.endswith(told)
    ordered = ReadingSpec(ordered=(told.removeprefix("--ordered ").strip("'"),))
    assert notes_on(from_frame(pl.DataFrame(columns), "t", ordered)) == []


@pytest.mark.parametrize(
    "levels", [["Agree", "Disagree"], ["small", "medium", "blue"], ["low", "LOW", "medium", "high"]]
)
def test_levels_of_no_scale_are_told_of_none(levels):
    assert "scale" not in {kind for _, kind in kinds(odd=(levels * N)[:N])}


def test_ranges_of_numbers_are_told_of_their_order(tmp_path):
    ages, visits = ["75+", "<25", "25-74", "unknown"], ["0", "1", "2", "3+"]
    rows = "".join(f"{age},{visit},{'ab'[age == '75+']}\n" for age in ages for visit in visits)
    (tmp_path / "visits.csv").write_text("age,visits,y\n" + rows)
    found = inspect_data(tmp_path / "visits.csv")
    told = [note.text.split("--ordered ")[1] for note in found.notes if note.kind == "scale"]
    assert told == ["'age=\"<25\"<25-74<75+<unknown'", "'visits=0<1<2<3+'"]
    assert [note.column for note in found.notes if note.kind != "scale"] == ["age"]  # of the mark
    assert "in an order (and 'unknown', the last unless --missing-mark names it), and" in found.notes[-2].text
    asked = [word for text in told for word in ("--ordered", *shlex.split(text))]
    assert odtc("inspect", "visits.csv", *asked, "--json", folder=tmp_path).facts["n_candidate_splits"] == 6


def test_part_of_a_scale_and_many_columns_of_one():
    sizes = ["large", "small", "medium", "large"] * (N // 4)
    (note,) = notes_on(from_frame(pl.DataFrame(table(odd=sizes)), "t"))
    assert note.text.endswith("--ordered 'odd=small<medium<large'")
    several = {f"q{k}": (AGREE * N)[k : k + N] for k in range(4)}
    (note,) = notes_on(from_frame(pl.DataFrame(table(**several)), "t"))
    assert note.text.startswith("4 columns have the levels Strongly disagree<Disagree<") and note.text.endswith("'q3'")


def test_a_target_that_names_the_rows_is_told_as_one():
    names = [f"called {at} times" for at in range(N)]
    found = notes_on(from_frame(pl.DataFrame({"row": list(range(N)), "y": names}), "t"))
    told = [note for note in found if note.column in ("y", "row") and note.kind != "identifier"]
    assert [note.kind for note in told] == ["rows as classes"] and "--target names the column" in told[0].text


def test_classes_that_differ_in_capitals_only_are_reported(tmp_path):
    (tmp_path / "t.csv").write_text(
        "a,y\n" + "".join(f"{at},{('Yes', 'no', 'yes', 'no')[at % 4]}\n" for at in range(40))
    )
    said = odtc("inspect", "t.csv", folder=tmp_path)
    assert "the target 'y' has classes that differ in capitals only ('Yes' and 'yes')" in said.out


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f", "'", "\u2019"])
def test_thousands_parted_by_blanks_are_reported_with_the_option_that_reads_them(blank, tmp_path):
    lines = [f"{1 + at % 9}{blank}{100 + at},50 €;{'pq'[at % 2]}\n" for at in range(60)]
    (tmp_path / "t.csv").write_text("a;y\n" + "".join(lines), encoding="utf-8")
    assert "read the file with --decimal ," in odtc("inspect", "t.csv", folder=tmp_path).out
    assert "a       numeric" in odtc("inspect", "t.csv", "--decimal", ",", folder=tmp_path).out


@pytest.mark.parametrize("day", ["1899-12-31", "2020-01-01"])
def test_times_of_one_day_are_not_advised_to_be_read_as_that_day(tmp_path, day):
    """Excel writes a time as a time of 1899-12-31; --dates makes one number of all of them."""
    times = [f"{day} {at % 12:02}:05:00" for at in range(N)]
    pl.DataFrame(table(when=times)).write_csv(tmp_path / "t.csv")
    said = odtc("fit", "t.csv", "--depth", 1, folder=tmp_path).err
    assert "column 'when' looks like dates" in said and "turn it into numbers" in said and "--dates" not in said
    days = [f"2020-01-{1 + at % 12:02} 00:05:00" for at in range(N)]
    pl.DataFrame(table(when=days)).write_csv(tmp_path / "t.csv")
    assert "--dates when" in odtc("fit", "t.csv", "--depth", 1, folder=tmp_path).err


def test_columns_without_lines_are_named_where_leaves_are_linear(tmp_path):
    """One missing cell made every leaf a number, without a word: error 436 in place of 10."""
    x = np.arange(12.0)
    X, y = np.column_stack([np.where(x == 3, np.nan, x), x % 2]), 3 * x
    said = "column 'x' has 1 missing cell, so no leaf has a line in it"
    pl.DataFrame({"x": X[:, 0], "b": X[:, 1], "y": y}).fill_nan(None).write_csv(tmp_path / "d.csv")
    words = ("fit", "d.csv", "--task", "regression", "--missing", "separate", "--depth", 1)
    assert said in odtc(*words, "--leaf", "linear", folder=tmp_path).err
    assert "no leaf" not in odtc(*words, folder=tmp_path).err
    frame = pd.DataFrame(X, columns=["x", "b"])
    with pytest.warns(DataWarning, match=said):
        fitted = OptimalTreeRegressor(max_depth=1, leaf="linear").fit(frame, y)
    assert any(said in note for note in fitted.notes_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OptimalTreeRegressor(max_depth=1).fit(frame, y)
        OptimalTreeRegressor(max_depth=1, leaf="linear").fit(frame.fillna(0), y)
