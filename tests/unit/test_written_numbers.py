"""Numbers as people write them (--decimal): read alike by everything that reads the file, or another of its kind."""

import json
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.data import reading
from odtc.data.cells import written_numbers
from odtc.data.inspection import inspect_data
from odtc.data.notes import notes_on
from odtc.data.reading import from_frame, read
from odtc.data.reading_rows import read_rows
from odtc.data.reading_spec import SIGNS, ReadingSpec
from odtc.data.table import column_coding
from odtc.errors import ChoiceError, DataError
from odtc.trees.tree import read_tree
from tests.command_line import odtc as command
from tests.command_line import refused

pytestmark = pytest.mark.usefixtures("told_on_command_line")

GERMAN = {"1.234,50 €": 1234.5, "5 %": 5, "-3,5": -3.5, "−3,5": -3.5, "1\u202f234,5": 1234.5, "1'000": 1000, ",5": 0.5}
ENGLISH = {"$1,234.50": 1234.5, "5%": 5, "-$5": -5, "$-5": -5, "USD 3": 3, "1,234,567": 1234567, "1e3": 1000, ".5": 0.5}


GERMAN |= {"(1.234,50) €": -1234.5, "1.234,50-": -1234.5, "5,- €": 5, "12,–": 12}
ENGLISH |= {"($1,234.50)": -1234.5, "$(5)": -5, "(5%)": -5, "5.00-": -5, "CHF 2'080.-": 2080, "5.—": 5}


@pytest.mark.parametrize(("decimal", "known"), [(",", GERMAN), (".", ENGLISH)])
def test_numbers_of_two_manners_are_plain_ones(decimal, known):
    cells = written_numbers.plain(pl.Series(known.keys()), decimal)
    assert cells.cast(pl.Float64).to_list() == list(known.values())


@pytest.mark.parametrize(
    ("decimal", "cell"),
    [
        (",", "1.5"),
        (",", "1.2345"),
        (".", "1,5"),
        (".", "1.5,0"),
        (".", "€ 5 %"),
        (".", "--5"),
        (".", "-$-5"),
        (",", ""),
    ]
    + [
        (sign, cell)
        for sign in ".,"
        for cell in ("abc", "3 kg", "12/3", "1..5", "1 2", "ABC 5", "inf", "2-", "-(5)", "(5", "5)", "((5))", "٣", "１")
    ],
)
def test_what_is_written_otherwise_is_no_number(decimal, cell):
    assert written_numbers.plain(pl.Series([cell]), decimal).to_list() == [None]


@given(st.decimals(-(10**9), 10**9, places=3), st.sampled_from(["", " €", "%"]), st.booleans())
def test_every_number_is_read_as_it_is_in_both_manners(number, behind, grouped):
    english = f"{number:,}" if grouped else f"{number}"
    german = english.translate(str.maketrans(",.", ".,"))
    for decimal, text in ((".", english), (",", german)):
        assert float(written_numbers.plain(pl.Series([text + behind]), decimal)[0]) == float(number)


def prices(n: int = 60) -> pl.DataFrame:
    """Plain numbers, and a class that they tell."""
    rng = np.random.default_rng(3)
    price, share, stock = rng.integers(100, 10**7, n) / 100, rng.integers(0, 400, n) / 10, rng.integers(1, 5000, n)
    sold = np.where((share > 20) ^ (price > 60_000), "sold", "kept")
    return pl.DataFrame(
        {"price": price, "share": share, "stock": stock, "shape": ["a", "b, c", "5 %"] * (n // 3), "y": sold}
    )


def written(table: pl.DataFrame, decimal: str) -> pl.DataFrame:
    """The same as a person writes it."""
    swap = str.maketrans(",.", ".,") if decimal == "," else {}
    texts = {
        "price": [f"{cell:,.2f}".translate(swap) + " €" for cell in table["price"]],
        "share": [f"{cell}".translate(swap) + " %" for cell in table["share"]],
        "stock": [f"{cell:,}".translate(swap) for cell in table["stock"]],
    }
    return table.with_columns(pl.Series(name, cells) for name, cells in texts.items())


@pytest.fixture(params=[",", "."])
def files(request, tmp_path):
    """(a folder with plain.csv and shop.csv, which is the same as people write it; the decimal sign)."""
    table = prices()
    table.write_csv(tmp_path / "plain.csv")
    written(table, request.param).write_csv(tmp_path / "shop.csv", separator=";")
    return tmp_path, request.param


def test_a_file_is_read_as_the_plain_one(files):
    folder, decimal = files
    plain, shop = read(folder / "plain.csv"), read(folder / "shop.csv", decimal=decimal)
    assert np.array_equal(plain.X, shop.X) and plain.features == shop.features and plain.classes == shop.classes
    assert shop.features[3].levels == ("5 %", "a", "b, c")  # words stay
    assert shop.source["decimal"] == decimal and "decimal" not in plain.source
    held = read(folder / "shop.csv", decimal=decimal, hold_out=0.3)
    assert np.array_equal(held.X, read(folder / "plain.csv", hold_out=0.3).X)
    assert np.array_equal(from_frame(written(prices(), decimal), "t", ReadingSpec(decimal=decimal)).X, plain.X)


def test_a_column_held_as_numbers_alone_is_read_alike(files, monkeypatch):
    folder, decimal = files
    monkeypatch.setattr(column_coding, "MOST_WORDS", 4)
    monkeypatch.setattr(reading, "BATCH", 300)
    assert np.array_equal(read(folder / "plain.csv").X, read(folder / "shop.csv", decimal=decimal).X)


def test_fit_predict_decode_verify_and_export_hold_the_same(files):
    folder, decimal = files
    told = ("--decimal", decimal)
    for name, more in (("plain", ()), ("shop", told)):
        assert (
            command(
                "fit", f"{name}.csv", *more, "--depth", "2", "--test", f"{name}.csv", "-o", name, folder=folder
            ).code
            == 0
        )
    plain, shop = (json.loads((folder / f"{name}.tree.json").read_text("utf-8")) for name in ("plain", "shop"))
    assert plain["root"] == shop["root"]
    assert {feature.get("decimal") for feature in shop["features"]} == {decimal}
    for name in ("plain", "shop"):
        said = command("predict", f"{name}.tree.json", f"{name}.csv", "-o", f"{name}.out.csv", folder=folder)
        assert said.code == 0, said.err
    assert (folder / "plain.out.csv").read_bytes() == (folder / "shop.out.csv").read_bytes()
    assert command("verify", "shop", folder=folder).code == 0
    explained = command("explain", "shop.tree.json", "shop.csv", folder=folder)
    assert explained.code == 0, explained.err
    exported = command("export", "shop.tree.json", "--to", "sql", folder=folder).out
    assert "Numbers are plain here" in exported
    assert "Numbers are plain" not in command("export", "plain.tree.json", "--to", "sql", folder=folder).out


def test_the_manifest_tells_decode_and_the_claim_a_checker(files):
    folder, decimal = files
    for words in (
        (
            "build",
            "shop.csv",
            "--decimal",
            decimal,
            "--model",
            "flowoct",
            "--depth",
            "1",
            "--encoding",
            "auto:bins=3",
            "-o",
            "m",
        ),
        ("solve", "m.mps"),
        ("decode", "m.sol"),
        ("verify", "m.sol"),
        ("certify", "shop.csv", "--decimal", decimal, "--depth", "1", "-o", "c.json"),
        ("verify", "--certificate", "c.json"),
    ):
        said = command(*words, folder=folder)
        assert said.code == 0, said.err
    assert f"numbers have the decimal sign {decimal!r}" in said.out
    facts = json.loads((folder / "c.json").read_text("utf-8"))
    assert facts["of"]["decimal"] == facts["data"]["decimal"] == decimal
    del facts["of"]["decimal"]
    (folder / "d.json").write_text(json.dumps(facts), encoding="utf-8")
    assert "the sign before decimals" in refused(command("verify", "--certificate", "d.json", folder=folder))


def test_a_regression_reads_its_target_and_its_weights_alike(tmp_path):
    table = prices().select("share", "stock", pl.col("price") / 1000)
    table.write_csv(tmp_path / "plain.csv")
    table.with_columns(
        pl.col(name).cast(pl.String).str.replace(".", ",", literal=True) for name in ("share", "price")
    ).write_csv(tmp_path / "shop.csv", separator=";")
    how = {"task": "regression", "weights": "share", "target": "price"}
    plain = odtc.fit(tmp_path / "plain.csv", depth=1, **how)
    shop = odtc.fit(tmp_path / "shop.csv", depth=1, decimal=",", test=tmp_path / "shop.csv", **how)
    assert plain.facts["objective"] == pytest.approx(shop.facts["objective"]) and plain.tree.root == shop.tree.root


def test_another_file_is_read_as_the_tree_was(files):
    folder, decimal = files
    command("fit", "shop.csv", "--decimal", decimal, "--depth", "1", "-o", "shop", folder=folder)
    tree = read_tree(folder / "shop.tree.json")
    rows = read_rows(folder / "shop.csv", tree.features, tree.classes, tree.target)
    assert np.array_equal(rows.X, read(folder / "plain.csv").X)
    prices().write_parquet(folder / "shop.parquet")  # numbers are numbers there
    assert np.array_equal(read_rows(folder / "shop.parquet", tree.features, tree.classes, tree.target).X, rows.X)
    other = "." if decimal == "," else ","
    written(prices(), other).write_csv(folder / "other.csv", separator=";")
    sentence = refused(command("predict", "shop.tree.json", "other.csv", folder=folder))
    assert f"decimal sign of these numbers is {decimal!r} (--decimal)" in sentence
    said = [
        command("predict", "shop.tree.json", *words, folder=folder).out
        for words in (["shop.csv"], ["other.csv", "--decimal", other], ["plain.csv", "--decimal", "."])
    ]
    assert said[0] and said == [said[0]] * 3
    explained = command("explain", "shop.tree.json", "other.csv", "--decimal", other, folder=folder)
    assert explained.code == 0 and explained.out


@pytest.mark.parametrize("cell", ["٣", "１２", "٣ €"])
def test_digits_of_another_script_are_no_numbers(cell, tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(f"a,b,y\n{cell},1,p\n2,2,q\n")
    with pytest.raises(DataError, match=f"expected a finite number in column 'a' of .*, got '{cell}' in row 1"):
        read(path, numeric=["a"])
    assert read(path, decimal=",").features[0].kind == "categorical"


def test_two_currencies_in_a_column_are_refused():
    table = pl.DataFrame({"x": ["$5", "7", "€6"] * 10, "z": range(30), "y": ["a", "b", "b"] * 10})
    with pytest.raises(DataError, match=r"expected one currency .* column 'x' .*'\$' and '€'"):
        from_frame(table, "t", ReadingSpec(decimal="."))
    assert from_frame(table, "t", ReadingSpec(decimal=".", categorical=("x",))).features[0].levels == ("$5", "7", "€6")


def test_two_currencies_are_seen_in_a_column_held_as_numbers(monkeypatch, tmp_path):
    monkeypatch.setattr(column_coding, "MOST_WORDS", 4)
    monkeypatch.setattr(reading, "BATCH", 60)
    table = pl.DataFrame({"x": [f"${at}" for at in range(40)] + ["€41"], "y": ["a"] * 20 + ["b"] * 21})
    table.write_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match="expected one currency"):
        read(tmp_path / "t.csv", decimal=".")


def test_a_sign_that_is_none_is_refused():
    with pytest.raises(ChoiceError, match="--decimal: expected the sign before decimals, a point or a comma, got ';'"):
        ReadingSpec(decimal=";")


def notes(decimal=None, **columns):
    n = len(next(iter(columns.values())))
    table = pl.DataFrame(columns | {"y": ["a", "b"] * (n // 2)})
    return {note.column: note.text for note in notes_on(from_frame(table, "t", ReadingSpec(decimal=decimal)))}


def test_the_remark_on_such_a_column_names_the_option_that_reads_it():
    euros = [f"{at}.{at + 100},5 €" for at in range(1, 41)]
    assert notes(x=euros)["x"].endswith("read the file with --decimal ,")
    assert notes(x=[f"${at},{at + 100}.5" for at in range(1, 41)])["x"].endswith("read the file with --decimal .")
    assert notes(x=[f"{at} %" for at in range(1, 41)])["x"].endswith("read the file with --decimal .")
    assert notes(x=[f"{at},{at + 100}" for at in range(1, 41)])["x"].endswith(
        "with --decimal . (1101) or --decimal , (1.101)"
    )
    assert notes(x=[f"{at} kg" for at in range(1, 41)])["x"].endswith("write plain numbers")
    assert notes(",", x=euros) == {}


@pytest.mark.parametrize("minus", ["({}.50)", "{}.50-", "(${}.50)", "−{}.50", "$-{}.50"])
def test_negative_amounts_of_accountants_are_remarked_on_and_read(tmp_path, minus):
    amounts = [minus.format(at) if at % 2 else f"{at}.50" for at in range(40)]
    rows = [f"{amount},{'loss' if at % 2 else 'gain'}" for at, amount in enumerate(amounts)]
    (tmp_path / "d.csv").write_text("\n".join(["amount,y", *rows]), encoding="utf-8")
    assert "read the file with --decimal ." in command("inspect", "d.csv", folder=tmp_path).out
    fitted = command("fit", "d.csv", "--decimal", ".", "--depth", 1, "-o", "t", "--json", folder=tmp_path).facts
    assert fitted["objective"] == 0 and read(tmp_path / "d.csv", decimal=".").X[1, 0] == -1.5
    assert set(command("predict", "t.tree.json", "d.csv", folder=tmp_path).out.split()[1:]) == {"gain", "loss"}


def test_numbers_with_a_percent_sign_and_without_are_remarked_on(tmp_path):
    for others, mixed in (("{}%", False), ("0", False), ("0.{}", True)):
        cells = [others.format(at) if at % 2 else f"{at}%" for at in range(10, 40)]
        (tmp_path / "d.csv").write_text("\n".join(["p,y", *(f"{cell},{at % 3 > 1}" for at, cell in enumerate(cells))]))
        said = command("inspect", "d.csv", "--decimal", ".", folder=tmp_path)
        assert said.code == 0 and ("with a percent sign and without one" in said.out) == mixed, said


def test_cells_that_are_none_are_named_under_the_option_too():
    assert "would be numeric except for '-'" in notes(",", x=["-", *(f"{at},5 €" for at in range(39))])["x"]


def test_a_word_among_numbers_of_people_is_named_as_a_mark():
    """'write plain numbers' stood there, though two options read the file."""
    kilos = [*(f"{at},5 kg" for at in range(3)), *(f"{at},5" for at in range(30)), "fehlt"]
    said = notes(x=[*(f"{at},5" for at in range(30)), *["fehlt"] * 2])["x"]
    assert said.endswith(
        "read the file with --decimal ,, and with --missing-mark fehlt if 'fehlt' means a missing cell"
    )
    table = pl.DataFrame({"x": [*(f"{at},5" for at in range(30)), *["fehlt"] * 2], "y": ["a", "b"] * 16})
    how = ReadingSpec(decimal=",", missing_mark=("fehlt",), missing="separate")
    assert from_frame(table, "t", how).features[0].kind == "numeric"
    assert "--missing-mark '0,5 kg' --missing-mark '1,5 kg' --missing-mark '2,5 kg' …" in notes(x=kilos)["x"]


def test_numbers_of_programs_beside_those_of_people_are_told():
    """63000.0 is no number with a decimal comma: the column became one of categories without a word."""
    euros, plain = [f"{at},5 €" for at in range(40)], [f"{at}000.0" for at in range(40)]
    assert "another decimal sign than ','" in notes(",", x=euros, z=plain)["z"]
    assert "z" not in notes(",", x=euros, z=[f"{at + 1}000" for at in range(40)])
    table = pl.DataFrame({"z": plain, "y": ["a", "b"] * 20})
    named = from_frame(table, "t", ReadingSpec(decimal=",", categorical=("z",)))
    assert not [note for note in notes_on(named) if "decimal sign than" in note.text]


def test_points_of_thousands_that_were_read_as_decimals_are_remarked_on(tmp_path):
    commas, points = [f"{at},5" for at in range(40)], [f"{at}.{at + 100}" for at in range(1, 40)] + ["924"]
    assert "points part thousands, --decimal , reads 1101" in notes(x=commas, z=points)["z"]
    assert "z" not in notes(x=commas, z=[f"{cell}55" for cell in points])
    assert "--decimal ," in notes(x=list(range(40)), z=points)["z"]  # next to 924, without any decimal


def test_inspect_reads_as_fit_does(files):
    folder, decimal = files
    found = inspect_data(folder / "shop.csv", ReadingSpec(decimal=decimal))
    assert [column.kind for column in found.columns] == ["numeric"] * 3 + ["categorical", "classes"]


def test_weights_of_people_are_told_of_the_option(tmp_path):
    (tmp_path / "t.csv").write_text("a;w;y\n" + "1;0,5;p\n2;1,5;q\n" * 5, encoding="utf-8")
    with pytest.raises(DataError, match="got .0,5. in row 1; read the file with --decimal , or correct it"):
        read(tmp_path / "t.csv", weights="w", target="y")
    assert read(tmp_path / "t.csv", weights="w", target="y", decimal=",").weight.tolist() == [0.5, 1.5] * 5


@pytest.mark.parametrize(
    ("given", "advice"), [(None, "(--task regression and --decimal ,)"), (",", "(--task regression)")]
)
def test_a_target_of_numbers_with_decimal_commas_is_no_set_of_classes(given, advice, tmp_path):
    """40 classes in 40 rows were fitted; the advice leads to a tree of numbers."""
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(f"{at % 7};{at},{at}\n" for at in range(40)))
    with pytest.raises(DataError, match="looks like a regression target; predict the number " + re.escape(advice)):
        read(tmp_path / "t.csv", decimal=given)
    found = inspect_data(tmp_path / "t.csv", ReadingSpec(decimal=given))
    assert [column.kind for column in found.columns] == ["numeric", "numbers"] and advice in found.to_text()
    assert read(tmp_path / "t.csv", decimal=",", task="regression").n_rows == 40


def test_no_sign_is_advised_by_which_a_number_is_still_none(tmp_path):
    """1e400 is beyond doubles with any sign."""
    (tmp_path / "d.csv").write_text("a,y\n1,p\n1e400,q\n")
    with pytest.raises(DataError, match="got .1e400. in row 2; correct it, or name"):
        read(tmp_path / "d.csv")
    assert written_numbers.signs_of(["1e400"]) == () and written_numbers.signs_of(["1e3"]) == SIGNS


def test_a_selection_writes_plain_numbers_and_says_so(files):
    folder, decimal = files
    said = command("select", "shop.csv", "--decimal", decimal, "--select", "balanced", "-o", "part.csv", folder=folder)
    assert said.code == 0 and "read without --decimal" in said.err
    rows = {tuple(row) for row in read(folder / "plain.csv").X.tolist()}
    assert {tuple(row) for row in read(folder / "part.csv").X.tolist()} <= rows
    said = command("select", "plain.csv", "--select", "balanced", "-o", "part.csv", folder=folder)
    assert said.code == 0 and "--decimal" not in said.err


@pytest.mark.parametrize("decimal", SIGNS)
def test_a_cell_of_thousands_of_digits_is_no_number(decimal):
    """The pattern took minutes and gigabytes for one cell of 12 MB, and no signal ended it."""
    cells = pl.Series(["1" * 999, "1" * 2000, f"0{decimal}5"])
    assert written_numbers.plain(cells, decimal).is_null().to_list() == [False, True, False]
