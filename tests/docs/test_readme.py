"""The commands of README.md and of the examples are run, and what they print is what is written there.

In an expected output `…` stands for any text within a line, or alone for any lines. What a machine decides may differ:
seconds, bytes, nodes and the version of a solver.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import EXTRA, odtc, started, without

ROOT = Path(__file__).resolve().parents[2]
DOCS = [page for page in sorted(ROOT.glob("docs/**/*.md")) if "```console" in page.read_text(encoding="utf-8")]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("examples/*/README.md")), *DOCS]
MACHINE = re.compile(r"\d[\d,.]*(?= s\b| bytes\b| nodes?\b)|(?<=HiGHS )\d[\d.]*")
APART = ("extending.md",)  # a command of it tries more cases than the limit that is set in this process
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_says(page, folder):
    where = folder if page in DOCS else folder / page.parent.relative_to(ROOT)
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        for command, expected in steps(block):
            done = run(command, where, apart=page.name in APART)
            assert done.code == 0, done.err
            assert re.fullmatch(pattern(expected), done.out), f"{command}\n{done.out}"


def test_python_of_the_readme_runs_after_its_install_line(folder):
    blocks = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    first = "\nassert (tree.is_optimal_, tree.objective_, tree.bound_) == (True, 22.0, 22.0)\n"
    block = first.join(blocks)
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=folder,
        env=without(*EXTRA, folder=folder / "absent"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*/make.py")), ids=lambda path: path.parent.name)
def test_examples_make_their_own_data(script, folder):
    copy = folder / script.relative_to(ROOT)
    before = {path.name: path.read_bytes() for path in copy.parent.glob("*.csv")}
    for name in before:
        (copy.parent / name).unlink()
    subprocess.run([sys.executable, copy], check=True)
    assert {path.name: path.read_bytes() for path in copy.parent.glob("*.csv")} == before


def steps(block):
    for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, expected = step.partition("\n")
        yield command, expected


def pattern(expected):
    """A line that is `…` alone stands for any lines, `…` within a line for any text of it, a figure that the machine
    decides for any figure."""

    def literal(text):
        return r"[\d,.]+".join(map(re.escape, MACHINE.split(text)))

    return "".join(
        r"(?:.*\n)*" if line == "…" else ".*".join(map(literal, line.split("…"))) + r"\n"
        for line in expected.splitlines()
    )


def run(command, where, apart):
    """What a command says in this process, or, as a user starts it, in one of its own."""
    words = shlex.split(command)
    assert words[0] == "odtc"
    return (started if apart else odtc)(*words[1:], folder=where)


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}


@pytest.mark.slow
def test_the_picture_of_the_first_screen_is_the_tree_that_it_shows(tmp_path):
    shutil.copytree(ROOT / "docs" / "pictures", tmp_path / "pictures")
    drawn = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/pictures/*.svg")}
    subprocess.run([sys.executable, tmp_path / "pictures" / "make.py", "tree"], env=environment(), check=True)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("pictures/*.svg")} == drawn


def test_what_the_first_commands_of_the_readme_write_into_a_clone_is_ignored_by_git(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    shutil.copytree(ROOT / "examples" / "monks", tmp_path / "examples" / "monks")
    for command in (
        "fit examples/monks/monks-1.csv --model flowoct --depth 1",
        "build examples/monks/monks-1.csv --model flowoct --depth 1 -o monks",
        "certify examples/monks/monks-1.csv --depth 1 -o monks.certificate.json",
    ):
        done = odtc(*command.split(), folder=tmp_path)
        assert done.code == 0, done.err
    listed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert listed.split("\n") == ["?? .gitignore", "?? examples/", ""]
