"""The stories: what a user types, one command after the other, and what the screen shows.

A story is a file NAME.console: `$ command`, and below it the screen, in which each figure is # and runs of blanks are
one. `ODTC_GOLDEN=write` writes the screens anew; then read the diff. A command runs in a shell, in a folder with the
scripts of this one.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from odtc.solvers.solver import find_solver, version
from tests.command_line import COMPILED, environment

HERE = Path(__file__).parent
FIGURE = re.compile(r"\b[0-9a-f]{64}\b|(?<![A-Za-z_#])-?\d[\d,.]*(?:e[+-]?\d+)?(?<![,.])")
WIDE = 100  # columns of the screen
NEEDS = {"researcher": ("matplotlib",), "scientist": ("pandas",)}  # packages of a story
SOLVERS = {"researcher": ("scip", "cbc")}


def masked(screen: str) -> str:
    """The screen with # for each figure, and one blank for several; lines end without blanks."""
    lines = [re.sub(r"(?<=\S) {2,}", " ", FIGURE.sub("#", line)).rstrip() for line in screen.splitlines()]
    screen = "\n".join(lines).strip("\n").replace("# node,", "# nodes,")
    return screen.replace("CBC devel", "CBC #")  # the version of the package cbcbox, if it is before CBC on PATH


def parts_of(path: Path) -> list[tuple[str, str]]:
    """(command, screen) of a story."""
    found = re.split(r"^\$ ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [(one.partition("\n")[0], one.partition("\n")[2].strip("\n")) for one in found]


@pytest.fixture
def desk(tmp_path):
    """A folder with the scripts, and a function that runs a command there: what the screen shows."""
    for script in HERE.glob("*.py"):
        if not script.name.startswith(("test_", "__")):
            shutil.copy(script, tmp_path)
    tools = tmp_path / ".tools"
    tools.mkdir()
    for name, words in (("odtc", '-m odtc "$@"'), ("python", '"$@"')):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}\n')
        (tools / name).chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    surroundings = environment(PATH=path, COLUMNS=str(WIDE), PYTHONUNBUFFERED="1", SOURCE_DATE_EPOCH="1700000000")

    def run(command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        return COMPILED.sub("", done.stdout)  # only the first runs of a checkout compile kernels

    run.folder = tmp_path
    return run


STORIES = [
    pytest.param(path, marks=[pytest.mark.slow] * (path.stem in SOLVERS), id=path.stem)
    for path in sorted(HERE.glob("*.console"))
]


@pytest.mark.parametrize("path", STORIES)
def test_a_story_goes_as_it_is_told(path, desk):
    for name in NEEDS.get(path.stem, ()):
        pytest.importorskip(name)
    for name in SOLVERS.get(path.stem, ()):
        if version(find_solver(name)) is None and not os.environ.get("ODTC_REQUIRE_SOLVERS"):
            pytest.skip(f"{name} is not on this machine")
    shown = [(command, masked(desk(command))) for command, _ in parts_of(path)]
    if os.environ.get("ODTC_GOLDEN") == "write":
        text = "\n".join(f"$ {command}\n{screen}\n" if screen else f"$ {command}\n" for command, screen in shown)
        path.write_text(text, encoding="utf-8")
    for (command, expected), (_, screen) in zip(parts_of(path), shown, strict=True):
        assert screen == expected, command
        assert "Traceback" not in screen
    if path.stem == "analyst":
        expect_analyst(desk.folder)


def expect_analyst(folder: Path) -> None:
    """What the files of the analyst's story are good for: the query predicts what `odtc predict` does."""
    base = sqlite3.connect(":memory:")
    rows = [line.split(",") for line in (folder / "later.csv").read_text().split()]
    base.execute(f'CREATE TABLE "data" ({", ".join(f"{name} REAL" for name in rows[0])})')
    base.executemany(f'INSERT INTO "data" VALUES ({", ".join("?" * len(rows[0]))})', rows[1:])
    cursor = base.execute((folder / "loans.sql").read_text(encoding="utf-8"))
    at = [column[0] for column in cursor.description].index("prediction")
    predicted = (folder / "predicted.csv").read_text().split()[1:]
    assert [str(row[at]) for row in cursor] == [line.rpartition(",")[2] for line in predicted]
    page = (folder / "loans.html").read_text(encoding="utf-8")
    verdict = page.partition('role="status">')[2].partition("<")[0]
    assert re.fullmatch(
        r"(Proved|By the record of the run, proved) best of the trees that satisfy the constraints on 375 training "
        r"rows\. "
        r"On 125 unseen rows, recall of bad customers is [\d.]+ %, at least 70 % as requested\.",
        verdict,
    ), verdict
