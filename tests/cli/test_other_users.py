"""An ordinary user: folders and files of others, shared folders such as /tmp, no home; nothing is left half done."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from odtc.base import commit, system
from tests.command_line import environment
from tests.command_line import odtc as command

ROWS = "x,y\n" + "".join(f"{x},{'yes' if x > 11 else 'no'}\n" for x in range(40))
NOBODY = 65534
# As nobody, but able to read whatever root can: the interpreter may be in root's home. Nothing more may be written.
AS_NOBODY = (
    *("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"),
    *("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"),
)


@pytest.fixture
def shared(tmp_path):
    """A folder as /tmp is, with a run of its owner."""
    (tmp_path / "d.csv").write_text(ROWS)
    assert command("fit", "d.csv", "--depth", 1, "-o", "run", folder=tmp_path).code == 0
    assert command("report", "run", folder=tmp_path).code == 0
    tmp_path.chmod(0o1777)
    for folder in [*tmp_path.parents][:3]:
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


@pytest.fixture
def nobody(shared):
    """A function that runs a command as an ordinary user without a home."""
    if os.name != "posix" or os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")

    def run(*words, folder=shared):
        words = [*AS_NOBODY, sys.executable, "-P", "-m", "odtc", *map(str, words)]
        return subprocess.run(
            words, cwd=folder, env=environment(HOME="/nonexistent"), capture_output=True, text=True, timeout=120
        )

    if run("--version").returncode:
        pytest.skip("this machine keeps the interpreter from other users")
    return run


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
def test_files_of_others_stay_and_every_refusal_is_a_sentence(nobody, shared):
    before = contents(shared)
    for words in (
        ("fit", "d.csv", "--depth", 1, "-o", "run"),
        ("report", "run"),
        ("certify", "run"),
        ("refit", "run.tree.json", "d.csv", "-o", "run"),
        ("export", "run.tree.json", "--to", "sql", "-o", "run.html"),
        ("predict", "run.tree.json", "d.csv", "-o", "run.run.json"),
    ):
        said = nobody(*words)
        assert said.returncode == 1 and "cannot write" in said.stderr, (words, said.stderr)
        assert "Traceback" not in said.stderr and "Operation not permitted" in said.stderr, words
        assert contents(shared) == before, "nothing is left behind"
    assert nobody("verify", "run").returncode == 0 and nobody("show", "run.tree.json").returncode == 0
    assert nobody("fit", "d.csv", "--depth", 1, "-o", "mine").returncode == 0
    assert nobody("report", "mine").returncode == 0 and nobody("verify", "mine").returncode == 0


@pytest.mark.slow
def test_a_folder_that_is_not_writable_is_refused_before_the_work(nobody, shared):
    shared.chmod(0o755)
    before = contents(shared)
    said = nobody("fit", "d.csv", "--depth", 1)
    assert said.returncode == 1 and "Permission denied; choose another place with -o" in said.stderr
    assert not said.stdout and contents(shared) == before
    assert nobody("inspect", "d.csv").returncode == 0 and nobody("predict", "run.tree.json", "d.csv").returncode == 0


def test_a_replacement_that_fails_at_its_first_file_changes_nothing(shared, monkeypatch):
    """A journal stayed, and kept every command, also those that only read, from the files."""
    before, replace = contents(shared), os.replace

    def refused(source, target):
        if str(target).endswith(("run.tree.json", "run.run.json")):
            raise PermissionError(1, "Operation not permitted")
        replace(source, target)

    monkeypatch.setattr(commit.os, "replace", refused)
    said = command("fit", "d.csv", "--depth", 1, "--min-leaf-rows", 13, "-o", "run", folder=shared)
    monkeypatch.undo()
    assert said.code == 1 and "cannot write the files of 'run': Operation not permitted" in said.err
    assert contents(shared) == before and command("verify", "run", folder=shared).code == 0


def test_who_may_replace_a_file(tmp_path, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("x")
    for mode, user, of_others in ((0o1777, NOBODY, False), (0o1777, os.geteuid(), True), (0o777, NOBODY, True)):
        tmp_path.chmod(mode)
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        system.expect_replaceable(new)
        if of_others:
            system.expect_replaceable(old)
        else:
            with pytest.raises(PermissionError, match="not permitted"):
                system.expect_replaceable(old)
    tmp_path.chmod(0o700)


def test_a_clock_that_jumps_ends_no_search_and_no_limit(shared, monkeypatch):
    """Limits and figures of time do not follow the clock of the day, which NTP or a user may set."""
    import time

    jumps = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: 1e9 * (-1) ** next(jumps))
    said = command("fit", "d.csv", "--depth", 2, "--time-limit", 60, "-o", "jumped", "--json", folder=shared)
    assert said.code == 0 and said.facts["termination"] == "optimal" and 0 <= said.facts["seconds"] < 60
    history = json.loads((shared / "jumped.run.json").read_text())["history"]
    assert [seconds for seconds, *_ in history] == sorted(seconds for seconds, *_ in history)
    for words in (("verify", "jumped"), ("report", "jumped"), ("certify", "jumped")):
        assert command(*words, folder=shared).code == 0, words
