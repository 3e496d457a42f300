"""`odtc new`: the files that it writes work unchanged, and it overwrites none."""

import subprocess
import sys
import tomllib

import pytest

from odtc.cli.new_member import FIRST, first_of
from tests.command_line import environment, odtc


@pytest.mark.parametrize("kind", FIRST)
def test_a_new_member_is_one_under_its_own_name(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", "")
    facts = odtc("new", kind, "my_own", "--json", folder=tmp_path).facts
    assert facts["files"] == ["my_own.py", "test_my_own.py"]
    assert FIRST[kind] not in (tmp_path / "my_own.py").read_text()
    law = {"formulation": "start", "cut": "needs", "constraint": "refused", "solver": "folders"}.get(kind)
    words = ("--property", law) if law else ()
    said = odtc("check", "my_own", "--examples", 1, *words, "--json", "--plugin", "my_own.py", folder=tmp_path)
    assert said.facts["ok"] and said.facts["type"] == kind, said.out


def test_a_member_is_begun_without_the_package_of_the_laws(tmp_path):
    """After `pip install .`, as the README has it, `odtc new` was refused for want of hypothesis."""
    (tmp_path / "hypothesis.py").write_text("raise ImportError")
    words = [sys.executable, "-m", "odtc", "new", "encoding", "my_tests"]
    paths = environment(PYTHONPATH=str(tmp_path))
    done = subprocess.run(words, cwd=tmp_path, env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (tmp_path / "my_tests.py").is_file(), done.stderr


def test_a_new_task_is_held_by_its_own_test(tmp_path):
    """`odtc new task` was refused, though the kind is documented; no law knows what the leaves of a task cost."""
    said = odtc("new", "task", "my_counts", folder=tmp_path)
    assert said.code == 0 and "try it: python -m pytest test_my_counts.py" in said.out, said.err
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_counts.py"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
    odtc("new", "task", "my_own", "--package", folder=tmp_path)
    about = tomllib.loads((tmp_path / "my_own" / "pyproject.toml").read_text())
    assert about["project"]["entry-points"] == {"odtc.tasks": {"my_own": "my_own"}}
    test = (tmp_path / "my_own" / "test_my_own.py").read_text()
    compile(test, "test", "exec")
    assert "FILE" not in test and "Path" not in test and "monkeypatch" not in test


def test_its_test_runs_beside_those_of_others(tmp_path):
    """Two members in a folder, and another that ODTC_PLUGINS names: no test hides the member of the next."""
    other = tmp_path / "elsewhere" / "other.py"
    other.parent.mkdir()
    other.write_text(first_of("encoding").read_text(encoding="utf-8"))
    odtc("new", "exporter", "my_export", folder=tmp_path)
    odtc("new", "encoding", "my_tests", folder=tmp_path)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    paths = environment(ODTC_PLUGINS=str(other))
    done = subprocess.run(words, cwd=tmp_path, env=paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "6 passed" in done.stdout, done.stdout


def test_a_package_names_its_entry_point(tmp_path):
    odtc("new", "cut", "my_cut", "--package", folder=tmp_path)
    about = tomllib.loads((tmp_path / "my_cut" / "pyproject.toml").read_text())
    assert about["project"]["entry-points"] == {"odtc.cuts": {"my_cut": "my_cut"}}
    assert "TYPE =" not in (tmp_path / "my_cut" / "my_cut.py").read_text()
    test = (tmp_path / "my_cut" / "test_my_cut.py").read_text()
    compile(test, "test", "exec")
    assert "plug_in" not in test and "FILE" not in test and "Path" not in test


@pytest.mark.parametrize(
    "words, why",
    [
        (("cutt", "x"), "did you mean 'cut'"),
        (("cut", "paper4"), "odtc has a cut 'paper4'"),
        (("cut", "My-Cut"), "expected a name of small letters"),
        (("cut", "here"), "is there already"),
        (("formulation", "numpy"), "'numpy' is the name of a Python module here"),
        (("cut", "json"), "'json' is the name of a Python module here"),
        (("cut", "odtc"), "'odtc' is the name of a Python module here"),
        (("cut", "class"), "that Python and pytest have no use for"),
        (("cut", "test_mine"), "that Python and pytest have no use for"),
    ],
)
def test_what_cannot_be_begun_is_said_in_a_sentence(words, why, tmp_path):
    (tmp_path / "test_here.py").write_text("")
    said = odtc("new", *words, folder=tmp_path)
    assert said.code in (1, 2) and why in said.err and not list(tmp_path.glob("[!t]*"))
