"""Files in other layouts than the training file: each is read with options of its own."""

import subprocess
import sys

import pytest

from tests.command_line import environment, odtc, refused

ROWS = [(x, y, "a" if x + y > 6 else "b") for x in range(8) for y in range(8)]


def text(separator, header, comment=""):
    lines = ([comment] if comment else []) + ([separator.join(header)] if header else [])
    return "\n".join([*lines, *(separator.join(map(str, row)) for row in ROWS)]) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    (folder / "plain.csv").write_text(text(",", ("x", "y", "k")))
    (folder / "noted.csv").write_text(text(";", ("x", "y", "k"), "# seen by hand"))
    (folder / "bare.csv").write_text(text(",", ()))
    (folder / "named.csv").write_text(text(",", ("c1", "c2", "c3")))
    (folder / "blanks.txt").write_text(text("  ", ()))
    for stem, words in (("a", ("plain.csv",)), ("n", ("bare.csv", "--no-header"))):
        for depth in (1, 2):
            done = odtc("fit", *words, "--depth", depth, "-o", f"{stem}{depth}", folder=folder)
            assert done.code == 0, done.err
    return folder


def test_rows_to_compare_on_are_read_by_options_of_their_own(files, tmp_path):
    words = ("compare", "a1", "a2", "--data")
    plain = odtc(*words, "plain.csv", "--json", folder=files).facts
    noted = odtc(*words, "noted.csv", "--comment", "#", "--json", folder=files).facts
    assert noted == plain and plain["n_rows"] == len(ROWS)
    assert odtc(*words, "noted.csv", "--json", folder=files).facts == plain
    assert "name that, too" in refused(odtc("compare", "a1", "a2", "--comment", "#", folder=files))
    pytest.importorskip("matplotlib")
    drawn = odtc("plot", "size", "a1", "a2", "--data", "noted.csv", "--comment", "#", "-o", "s.svg", folder=files)
    assert drawn.code == 0, drawn.err


@pytest.mark.parametrize(
    "words", [("predict", "n2.tree.json"), ("explain", "n2.tree.json")], ids=lambda words: words[0]
)
def test_a_header_by_itself_replaces_a_recorded_absence_of_one(words, files):
    shown = odtc(*words, "named.csv", "--header", folder=files)
    assert shown.code == 0, shown.err
    assert shown.out == odtc(*words, "bare.csv", folder=files).out
    assert odtc("compare", "n1", "n2", "--data", "named.csv", "--header", folder=files).code == 0


@pytest.mark.parametrize(
    ("tree", "rows"), [("n2", "named.csv"), ("n2", "semicolons.txt"), ("n2", "bare.csv"), ("s2", "bare.csv")]
)
def test_rows_of_another_form_are_read_as_their_own_header_and_separator_say(tree, rows, files):
    """A header below which the columns have the names of the training file, and another separator."""
    (files / "semicolons.txt").write_text(text(";", ("c1", "c2", "c3")))
    if not (files / "s2.tree.json").is_file():
        words = ("fit", "blanks.txt", "--no-header", "--separator", "space", "--depth", 2, "-o", "s2")
        assert odtc(*words, folder=files).code == 0
    own = {"n2": ("bare.csv", "--no-header"), "s2": ("blanks.txt", "--no-header", "--separator", "space")}[tree]
    done = odtc("fit", *own, "--depth", 2, "--test", rows, "-o", "t", "--json", folder=files)
    assert done.code == 0, done.err
    scored = odtc("predict", f"{tree}.tree.json", rows, "--score", "--json", folder=files)
    assert scored.code == 0 and scored.facts["n_rows"] == len(ROWS), scored.err
    assert scored.facts["accuracy"] == done.facts["test_accuracy"]
    again = odtc("refit", f"{tree}.tree.json", *own, "--old-data", rows, "-o", "r", folder=files)
    assert again.code == 0, again.err


def test_a_blank_is_a_separator_as_its_name_is(files):
    for sign in (" ", "space"):
        done = odtc("inspect", "blanks.txt", "--no-header", "--separator", sign, folder=files)
        assert done.code == 0 and "c3" in done.out, done.err


@pytest.mark.parametrize(
    ("given", "words", "said"),
    [
        ("a,k\n1,u\n", ("--target", "z"), "of the standard input, got 'z'"),
        ('a,k\n1,"u\n', (), "in the standard input, but row 1"),
        ("a,k\n1,u,2\n", (), "of the standard input, as in its header"),
    ],
)
def test_messages_call_the_standard_input_by_its_name(given, words, said, tmp_path):
    command = [sys.executable, "-m", "odtc", "fit", "-", *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=tmp_path, env=environment())
    assert done.returncode in (1, 2) and said in done.stderr and "/odtc-" not in done.stderr, done.stderr
