"""Columns that are not read (`--ignore`)."""

import json

import polars as pl
import pytest

import odtc
from odtc.data.inspection import inspect_data
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import ChoiceError, OdtcError
from tests.command_line import odtc as command
from tests.command_line import refused


@pytest.fixture
def odd(tmp_path):
    """A Parquet file with a list, a duration, a column without a cell and one with gaps."""
    frame = pl.DataFrame(
        {
            "num": [1.0, 2.0, 3.0, 4.0] * 3,
            "lst": [[1], [2], [3], None] * 3,
            "dur": pl.Series([1, 2, 3, 4] * 3, dtype=pl.Duration("us")),
            "nul": pl.Series([None] * 12, dtype=pl.Float64),
            "gap": ["a", None, "b", "b"] * 3,
            "y": ["n", "n", "p", "p"] * 3,
        }
    )
    path = tmp_path / "odd.parquet"
    frame.write_parquet(path)
    return path


ODD = ("lst", "dur", "nul", "gap")


def test_ignored_columns_have_no_part_in_anything(odd, tmp_path):
    plain = tmp_path / "plain.csv"
    pl.read_parquet(odd).drop(ODD).write_csv(plain)
    wanted, found = odtc.read(plain), odtc.read(odd, ignore=ODD)
    assert [feature.name for feature in found.features] == ["num"] and not found.auxiliary
    assert (found.X[:, 0] == wanted.X[:, 0]).all() and (found.y == wanted.y).all()
    assert found.n_dropped == 0 and found.classes == wanted.classes
    frame = odtc.read(pl.read_parquet(odd), ignore=list(ODD), hold_out=0.25)
    assert frame.n_rows == 9 and frame.held_out.height == 3


def test_the_command_ignores_records_and_certifies(odd, monkeypatch):
    monkeypatch.chdir(odd.parent)
    words = ["--ignore", ",".join(ODD)]
    with pytest.raises(OdtcError, match="lst"):
        odtc.read(odd)
    said = command("fit", "odd.parquet", "--depth", "1", "--certificate", *words)
    assert said.code == 0, said.err
    (certificate,) = odd.parent.glob("*.certificate.json")
    facts = json.loads(certificate.read_text())
    assert facts["of"]["ignore"] == list(ODD) == facts["data"]["ignore"]
    checked = command("verify", "--certificate", certificate.name)
    assert checked.code == 0 and "ignored columns: lst, dur, nul, gap" in checked.out, checked.out + checked.err
    facts["of"]["ignore"] = ["lst"]
    certificate.write_text(json.dumps(facts))
    assert "the columns that are not read" in command("verify", "--certificate", certificate.name).err
    assert "num" in inspect_data(odd, ReadingSpec(ignore=ODD)).to_text()
    assert command("inspect", "odd.parquet", *words).code == 0


def test_a_model_file_is_decoded_from_data_with_ignored_columns(odd, monkeypatch):
    monkeypatch.chdir(odd.parent)
    assert command("build", "odd.parquet", "--depth", "1", "--ignore", ",".join(ODD)).code == 0
    (manifest,) = odd.parent.glob("*.odt.json")
    assert json.loads(manifest.read_text())["data"]["ignore"] == list(ODD)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"ignore": ["numb"]}, "expected `ignore` to name a column"),
        ({"ignore": ["y"], "target": "y"}, "which `target` names, too"),
        ({"ignore": ["gap"], "auxiliary": ["gap"]}, "which `auxiliary` names, too"),
    ],
)
def test_what_cannot_be_ignored_is_refused(odd, how, said):
    with pytest.raises(ChoiceError, match=said):
        odtc.read(odd, **how)


def test_names_of_columns_may_stand_in_one_option_or_in_several(odd, monkeypatch):
    monkeypatch.chdir(odd.parent)
    apart = [word for name in ODD for word in ("--ignore", name)]
    said = command("inspect", odd, *apart, "--json")
    assert said.code == 0 and [column["name"] for column in said.facts["columns"]] == ["num", "y"] and not said.err
    together = command("inspect", odd, "--ignore", "lst,dur", "--ignore", "nul,gap", "--json")
    assert together.out == said.out


def test_of_an_option_of_one_value_that_comes_twice_the_last_holds_and_a_note_says_so(odd, monkeypatch):
    monkeypatch.chdir(odd.parent)
    said = command("inspect", odd, "--ignore", ",".join(ODD), "--target", "num", "--target", "y", "--json")
    assert said.facts["columns"][-1]["name"] == "y"
    assert said.err == "note: --target comes 2 times; the last one holds\n"


USED = {
    "--target": ("--target", "b"),
    "--weights": ("--weights", "b"),
    "--categorical": ("--categorical", "a,b"),
    "--ordered": ("--ordered", "b=1<2<3"),
    "--time": ("--task", "survival", "--time", "b", "--event", "y"),
    "--event": ("--task", "survival", "--time", "a", "--event", "b=1"),
    "--actions": ("--task", "policy", "--actions", "a,b"),
    "--treatment": ("--task", "policy", "--treatment", "b", "--outcome", "a"),
    "--outcome": ("--task", "policy", "--treatment", "y", "--outcome", "b"),
    "--propensity": ("--task", "policy", "--treatment", "y", "--outcome", "a", "--propensity", "b"),
}


@pytest.mark.parametrize(("role", "words"), USED.items(), ids=USED)
def test_a_column_that_another_option_uses_is_not_ignored_without_a_word(role, words, tmp_path):
    """`--time b --ignore b` was answered by a list of columns without b."""
    (tmp_path / "d.csv").write_text("a,b,c,y\n" + "".join(f"{i % 4},{1 + i % 3},{i},{i % 2}\n" for i in range(12)))
    said = refused(command("fit", "d.csv", *words, "--ignore", "b", folder=tmp_path))
    assert f"expected another column for --ignore, got 'b', which {role} names, too" in said


@pytest.mark.parametrize("task", [("regression",), ("median",), ("regression", "--leaf", "linear")])
def test_rows_that_are_left_out_are_named_if_one_number_remains(task, tmp_path):
    """Regression only said that the number was the same "in all 1 rows"."""
    (tmp_path / "d.csv").write_text("a,y\n1,2.5\n,3\n")
    said = refused(command("fit", "d.csv", "--task", *task, folder=tmp_path))
    assert "1 of 2 rows was left out" in said and "the one other row" in said
    (tmp_path / "e.csv").write_text("a,y\n1,2.5\n2,2.5\n")
    said = refused(command("fit", "e.csv", "--task", *task, folder=tmp_path))
    assert "expected numbers that differ in column 'y'" in said and "in all 2 rows" in said
