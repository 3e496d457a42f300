"""The three uses as scripts of examples/, run as a user runs them."""

import csv
import subprocess
import sys

import pytest

import odtc
from tests.command_line import CHECKOUT, EXTRA, environment, without

EXAMPLES = CHECKOUT / "examples"


def run(name, *words, env=None):
    script = EXAMPLES / name / "run.py"
    done = subprocess.run(
        [sys.executable, script, *map(str, words)],
        env=env or environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_formulations_are_compared_for_a_paper(tmp_path):
    said = run("compare-formulations", tmp_path, env=without(*EXTRA, folder=tmp_path / "absent"))
    table = (tmp_path / "table.md").read_text()
    assert all(form in table for form in ("dpflow", "flowoct", "binoct", "oct"))
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 4
    assert "errors of the proved trees" in said and "checks passed" in said


@pytest.mark.slow
def test_a_tree_is_explained_deployed_and_refitted(tmp_path):
    said = run("board-and-production", tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"january.html", "january.sql", "answers.csv", "february.tree.json", "february.drift.html"} <= made
    assert "kept      recall[bad] >= 0.6" in said and "follow the side of most training rows" in said
    with (tmp_path / "answers.csv").open() as stream:
        answers = [row["prediction"] for row in csv.DictReader(stream)]
    assert len(answers) == 20 and set(answers) <= {"bad", "good"}
    assert odtc.read_tree(tmp_path / "february.tree.json").depth <= 2


@pytest.mark.slow
def test_fit_and_predict_in_python(tmp_path):
    said = run("fit-and-predict", env=without(*EXTRA, folder=tmp_path / "absent"))
    assert "proved optimal: True" in said and "checks computed anew: True" in said
    assert "CART" in said and "from ccp_alpha 0.0000 on: " in said


@pytest.mark.slow
def test_members_are_written_installed_and_used(tmp_path, long_run):
    """What each obeys is tried in tests/laws; here pip really installs it, and a command uses it by its name: three of
    the eight kinds, all of them in a long run."""
    script, kinds = EXAMPLES / "eight-jobs" / "run.py", () if long_run else ("formulation", "cut", "exporter")
    done = subprocess.run(
        [sys.executable, script, tmp_path, "0", *kinds], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("installed and used") == (len(kinds) or 8)
