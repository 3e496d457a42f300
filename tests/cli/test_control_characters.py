"""Control characters of data: visible to a reader, unchanged for a program, and never obeyed by a terminal."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from odtc.base.text import visible
from tests.command_line import command, environment, odtc

ESC, CSI, RLO, BELL = "\x1b", "\x9b", "\u202e", "\x07"
EVIL = {
    "column": f"a{ESC}]0;owned{BELL}{CSI}2J",
    "level": f"b{ESC}[31m{RLO}red",
    "class": f"yes{ESC}[2J{CSI}K",
}
COMMANDS = [
    "inspect t.csv",
    "fit t.csv --depth 1 -o other",
    "fit t.csv --depth 1 --ignore nothing{ESC}[1m -o other",
    "show m.tree.json",
    "show m.tree.json --to sql",
    "export m.tree.json --to python",
    "predict m.tree.json t.csv",
    "predict m.tree.json t.csv --score",
    "predict m.tree.json t.csv --json",
    "explain m.tree.json t.csv",
    "verify m",
    "compare m.tree.json m.tree.json t.csv",
    "tune t.csv --depths 1 --folds 2 -o tuned",
    "predict absent{ESC}]0;x{BELL}.tree.json t.csv",
    "fit absent{CSI}31m.csv",
    "no{ESC}[2Jcommand",
]
FORBIDDEN = {ESC, CSI, RLO, BELL, "\u2066", "\x08", "\x7f"}


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    rows = [[EVIL["level"], i % 7, EVIL["class"]] if i % 3 else ["plain", i % 7, "no"] for i in range(40)]
    text = io.StringIO()
    csv.writer(text).writerows([[EVIL["column"], "size", "y"], *rows])
    (folder / "t.csv").write_text(text.getvalue(), encoding="utf-8")
    assert odtc("fit", "t.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    return folder


def words_of(line: str) -> list[str]:
    return [word.format(ESC=ESC, CSI=CSI, BELL=BELL) for word in line.split()]


@pytest.mark.parametrize("line", COMMANDS)
def test_no_control_character_of_the_data_reaches_a_reader(line, evil):
    """What a pipe gets as data keeps its bytes; all else, and all that a terminal shows, has none."""
    said = odtc(*words_of(line), folder=evil)
    assert not FORBIDDEN & set(said.err), said.err
    data = line.startswith(("export", "predict m.tree.json t.csv", "show m.tree.json --to")) and "--" not in line[40:]
    if not data or "--score" in line or "--json" in line:
        assert not FORBIDDEN & set(said.out), said.out


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")
@pytest.mark.parametrize(
    "line", ["predict m.tree.json t.csv", "show m.tree.json --to sql", "fit t.csv --depth 1 -o other"]
)
def test_a_terminal_gets_no_control_character_of_the_data(line, evil):
    """The cursor may be moved by the live line, so only the sequences of the data are looked for."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*words_of(line)), cwd=evil, env=environment(TERM="xterm"), stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait() == 0, shown
    text = shown.decode("utf-8")
    for sequence in (f"{ESC}]0;owned", f"{CSI}2J", f"{ESC}[31m", RLO, f"{ESC}[2J", f"{CSI}K", BELL):
        assert sequence not in text
    assert "\\x1b" in text


def test_predictions_and_json_are_the_same_text_to_a_program(evil):
    said = odtc("predict", "m.tree.json", "t.csv", folder=evil)
    answers = [row[0] for row in csv.reader(io.StringIO(said.out))][1:]
    assert set(answers) == {EVIL["class"], "no"}
    assert set(odtc("predict", "m.tree.json", "t.csv", "--json", folder=evil).facts["predictions"]) == set(answers)
    tree = json.loads((evil / "m.tree.json").read_text(encoding="utf-8"))
    assert EVIL["class"] in tree["classes"]


def test_visible_keeps_words_and_lines():
    kept = "Größe\tan\n年齢 🌳 می\u200cخواهم e\u0301 a\u00a0b"
    assert visible(kept) == kept
    assert visible(f"{ESC}[1m\r{RLO}\x00\x85") == "\\x1b[1m\\r\\u202e\\x00\\x85"
