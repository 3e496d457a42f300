"""Malicious programs as the solver: one outcome without a point, and no endless wait."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from odtc.base import system
from odtc.fileformats.model_files import write_model
from odtc.model.solution import Options
from odtc.solvers import child_process, external
from odtc.solvers.solve import solve
from tests.solvers.test_solver import COVER

pytestmark = pytest.mark.skipif(system.WINDOWS, reason="shell scripts")
TEMPLATE = """
name = "stranger"
command = ["/bin/sh", "{script}", "{{{{ model }}}}", "{{{{ solution }}}}"]
bound = "nothing below (.*)"
status = {{ "done" = "optimal" }}
"""


def run(folder, script: str, limit: float | None = 5.0, path=None):
    (folder / "stranger.sh").write_text(script + "\necho done\n")
    (folder / "stranger.toml").write_text(TEMPLATE.format(script=folder / "stranger.sh"))
    return solve(COVER, str(folder / "stranger.toml"), Options(time_limit=limit), path=path)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "no solution"),
        ("head -c 5000 /dev/urandom > $2", "neither UTF-8 nor UTF-16"),
        ("ln -s $2 $2", "no solution"),
        ("rm $1; cd /; rm -r $OLDPWD", "no solution"),
        ("echo nothing below 1e400", "no solution"),
        ("kill -9 $$", ""),
        ("printf '\\000\\033[31m\\r' ; exit 1", ""),
        ("cat", "no solution"),
    ],
    ids=str,
)
def test_what_is_no_solution_is_told(tmp_path, script, words):
    found = run(tmp_path, script)
    assert (found.termination, found.x, found.bound, found.solver) == ("error", None, None, "stranger"), found
    assert words in found.message and "\n" not in found.message


def test_a_solution_far_too_long_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(external, "SOLUTION_BYTES", 100)
    monkeypatch.setattr(external, "BYTES_A_LINE", 1)
    monkeypatch.setattr(external, "read_point", lambda path: pytest.fail("it was read"))
    found = run(tmp_path, "head -c 200 /dev/zero > $2")
    assert (found.termination, found.x) == ("error", None) and "at most" in found.message, found.message


def test_a_child_of_its_own_that_stays_is_not_waited_for(tmp_path, monkeypatch):
    """It holds the output open, in a session of its own, and no limit was set."""
    monkeypatch.setattr(child_process, "PARTING", 0.1)
    began = time.monotonic()
    found = run(tmp_path, f"setsid sleep 60 & echo $! > {tmp_path}/pid", None)
    assert found.termination == "error" and time.monotonic() - began < 30
    pid = int((tmp_path / "pid").read_text())
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while lives(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not lives(pid)


def lives(pid: int) -> bool:
    """Whether a process is there, and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_bystander_is_not_ended(tmp_path):
    """Another process in a session of its own, and one that was started by another run."""
    others = [
        subprocess.Popen(["sleep", "60"], start_new_session=True, env=os.environ | more)
        for more in ({}, {child_process.MARK: "0" * 32})
    ]
    try:
        run(tmp_path, "true")
        assert [other.poll() for other in others] == [None, None]
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize("script", ["echo >> $1", "cp $1 other; rm $(readlink $1)"])
def test_a_model_file_that_it_changes_is_told(tmp_path, script):
    """It is lent, not copied: what was solved then is not known."""
    path = write_model(COVER, tmp_path / "cover.mps")
    found = run(tmp_path, f"{script}; echo nothing below 2", path=path)
    assert (found.termination, found.x, found.bound) == ("error", None, None)
    assert "cover.mps has changed while stranger ran" in found.message
