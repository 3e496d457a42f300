"""What the commands of the studies say where something that they need is not there."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("study", "words", "said"),
    [
        ("cg", (), "expected the data sets in"),
        ("cg", ("--sets", "iris,irsi"), "got irsi"),
        ("selection", (), "expected the data sets in"),
        ("oblique", (), "expected the data sets in"),
        ("generalisation", (), "or take --own"),
        ("treeple_tree", ("--beside", "none.jsonl"), "there is no none.jsonl"),
        ("treeple_tree", ("--beside", "some.jsonl", "--python", "/none/python"), "there is no /none/python"),
    ],
)
def test_what_is_missing_is_a_sentence(study, words, said, tmp_path, monkeypatch, capsys):
    module = importlib.import_module(f"benchmarks.{study}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.jsonl").write_text("")
    monkeypatch.setenv("ODTC_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "argv", [study, *words])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("study", ["selection", "oblique", "generalisation", "fair_outside"])
def test_a_set_that_is_not_in_the_folder_is_named_before_the_first_cell(study, tmp_path, monkeypatch, capsys):
    module = importlib.import_module(f"benchmarks.{study}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODTC_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [study])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2 and "for each set, got none for " in capsys.readouterr().err


@pytest.mark.parametrize("study", ["selection", "oblique", "generalisation"])
def test_a_table_of_what_is_there_needs_no_data(study, tmp_path, monkeypatch):
    module = importlib.import_module(f"benchmarks.{study}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODTC_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "argv", [study, "--table", "-o", "none.jsonl"])
    module.main()


def test_cells_without_a_bound_are_named():
    from benchmarks.cg import unbounded

    cell = lambda objective, bound: {"objective": objective, "bound": bound}
    said = unbounded({("a", 4): cell(110, 0), ("b", 4): cell(351, 3), ("c", 2): cell(0, 0), ("d", 2): cell(50, 20)})
    assert said[0].startswith("On 2 cells (a@4, b@4) the gap is the whole objective") and not unbounded({})
