"""Mistakes of a person, each with the sentence that answers it: the table is mistakes.txt, to be read as a whole.

A line `$ odtc …` is a command in the folder of `mistakes_folder`; the line below it holds the exit code and the
sentence, in which … stands for any text. A sentence says what was expected, what came, and what to do.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.mistakes_folder import make
from tests.command_line import contents, odtc, refused

TABLE = re.findall(r"^\$ odtc (.*)\n(\d) (.*)$", (Path(__file__).parent / "mistakes.txt").read_text("utf-8"), re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mistakes")
    make(path)
    return path, contents(path)


def test_the_table_holds_sixty_mistakes_each_once():
    lines = [words for words, _, _ in TABLE]
    assert len(lines) >= 60 and len(set(lines)) == len(lines)


@pytest.mark.parametrize(("words", "code", "sentence"), TABLE, ids=[words for words, _, _ in TABLE])
def test_a_mistake_is_answered_by_its_sentence_and_spoils_nothing(folder, words, code, sentence):
    path, before = folder
    said = refused(odtc(*shlex.split(words), folder=path), int(code))
    assert re.fullmatch(".*".join(map(re.escape, sentence.split("…"))), said), said
    assert contents(path) == before
