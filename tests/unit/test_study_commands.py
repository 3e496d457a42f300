"""Messages of the study commands if something that they need is missing."""

import importlib
import sys

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("study", "words", "said"),
    [
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


def test_a_set_of_the_user_takes_part_and_a_study_that_was_stopped_goes_on(tmp_path, monkeypatch, capsys):
    """Its cells of the first split are not run again, and the table is that of a study that was not stopped."""
    from benchmarks import generalisation

    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    rows = [f"{a:.3f},{b:.3f},{'yes' if a + b > 0 else 'no'}" for a, b in X]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    monkeypatch.setenv("ODTC_DATA", str(tmp_path))
    ran = []

    def run(dataset, depth, split, *more):
        if len(ran) == 1 and split == 1:
            ran.append("stopped")
            raise KeyboardInterrupt
        ran.append(split)
        return dict.fromkeys([*generalisation.BESIDE, generalisation.OURS], 0.5 + split / 10) | {"leaves": 2, "cpu": 1}

    def study(out: str) -> str:
        words = ["generalisation", "--sets", "mine", "--depths", "2", "--splits", "2", "-o", str(tmp_path / out)]
        monkeypatch.setattr(sys, "argv", words)
        generalisation.main()
        return capsys.readouterr().out

    monkeypatch.setattr(generalisation, "run", run)
    with pytest.raises(KeyboardInterrupt):
        study("stopped.jsonl")
    table = study("stopped.jsonl")
    assert ran == [0, "stopped", 1] and "| mine@2 | 2 | 55.0" in table
    assert table == study("whole.jsonl") == study("whole.jsonl") and ran == [0, "stopped", 1, 0, 1]


@pytest.mark.parametrize("study", ["selection", "oblique", "generalisation"])
def test_a_table_of_what_is_there_needs_no_data(study, tmp_path, monkeypatch):
    module = importlib.import_module(f"benchmarks.{study}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODTC_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "argv", [study, "--table", "-o", "none.jsonl"])
    module.main()


def test_files_of_the_user_take_the_place_of_the_sets_of_the_papers(tmp_path, monkeypatch, capsys):
    """benchmarks.oblique and benchmarks.fair_outside knew the sets of the papers alone."""
    from benchmarks import fair_outside, oblique

    rng = np.random.default_rng(7)
    X, group = rng.normal(size=(80, 2)), rng.choice(["a", "b"], 80)
    rows = [f"{a:.3f},{b:.3f},{one},{'yes' if a + b > 0 else 'no'}" for (a, b), one in zip(X, group)]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,of,y", *rows, ""]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODTC_DATA", str(tmp_path / "nowhere"))
    for module, words, told in (
        (oblique, ("--file", "mine.csv@2", "--models", "cart"), "| mine.csv@2 | own |"),
        (fair_outside, ("--file", "mine.csv:of:a:yes", "--splits", "1"), "| mine.csv@2 | 0.05 | asked | 1 of 1 |"),
    ):
        name = module.__name__.rpartition(".")[2]
        lines = []
        for _ in range(2):
            monkeypatch.setattr(sys, "argv", [name, *words])
            module.main()
            assert told in capsys.readouterr().out
            lines.append((tmp_path / f"{name}.jsonl").read_text())
        assert lines[0] == lines[1]  # what stands in the file is not run again
        monkeypatch.setattr(sys, "argv", [name, "--file", "other.csv@2"])
        with pytest.raises(SystemExit):
            module.main()
        assert "got 'other.csv@2'" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["fair_outside", "--file", "mine.csv:of:c:yes"])
    with pytest.raises(SystemExit):
        fair_outside.main()
    assert "expected a level of column 'of' of mine.csv, got 'c'" in capsys.readouterr().err
