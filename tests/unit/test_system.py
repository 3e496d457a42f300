"""What differs between systems, with both branches: that of Windows with fakes, as no test runs there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from odtc.base import system
from odtc.base.atomic_write import new_file
from tests.command_line import MONKS, command, environment, odtc

posix = pytest.mark.skipif(system.WINDOWS, reason="process groups of POSIX")


def gone(pid: int, seconds: float = 30.0) -> bool:
    """Whether a process ends within these seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


FOREVER = """#!/bin/sh
case "$*" in *model*) echo $$ > {mark};; *) echo Version: 2.10.8; exit 0;; esac
trap '' INT TERM
sleep 1000 &
wait
sleep 1000
"""


@posix
def test_killed_with_a_solver_at_work_nothing_stays(tmp_path):
    """kill -9: the solver, what it started, and the folder of the run are gone."""
    place = tmp_path / "tmp"
    place.mkdir()
    mark = tmp_path / "pid"
    program = tmp_path / "cbc"
    program.write_text(FOREVER.format(mark=mark))
    program.chmod(0o755)
    assert odtc("build", MONKS / "monks-1.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    run = subprocess.Popen(
        command("solve", "m.mps", "--solver", "cbc", "--program", program),
        cwd=tmp_path,
        env=environment(TMPDIR=str(place)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while not (mark.exists() and mark.read_text().strip() and list(place.iterdir())) and time.monotonic() < end:
        time.sleep(0.05)
    solver = int(mark.read_text())
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert gone(solver)
    end = time.monotonic() + 30
    while list(place.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not list(place.iterdir())


@posix
def test_the_folder_of_a_run_that_left_no_watcher_is_swept_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(system.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(system.tempfile, "tempdir", str(tmp_path))
    left, stranger = tmp_path / f"{system.FOLDER}left", tmp_path / "odtc-other"
    for folder in (left, stranger):
        folder.mkdir()
        (folder / system.LOCK).write_bytes(b"")
        os.utime(folder / system.LOCK, (1, 1))
    with system.run_folder() as first:
        os.utime(first / system.LOCK, (1, 1))
        assert not left.exists() and stranger.exists()
        with system.run_folder() as second:  # one that runs is not swept by another
            assert first.exists() and second.exists()
    assert not first.exists() and not second.exists()


@posix
def test_a_part_that_was_left_is_removed_by_the_next_write(tmp_path):
    left = tmp_path / ".m.mps.abc.part"
    left.write_text("half")
    os.utime(left, (1, 1))
    other = tmp_path / ".other.mps.abc.part"
    other.write_text("half")
    with new_file(tmp_path / "m.mps") as stream:
        at_work = next(path for path in tmp_path.glob(".m.mps.*.part") if path != left)
        os.utime(at_work, (1, 1))
        with new_file(tmp_path / "m.mps") as second:  # two at once: neither takes the other's for left behind
            second.write(b"second")
        assert at_work.exists() and not left.exists()
        stream.write(b"first")
    assert (tmp_path / "m.mps").read_bytes() == b"first" and other.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.mps.abc.part", "m.mps"]


class Process:
    """A stand-in for subprocess.Popen."""

    pid, killed = 4711, False

    def kill(self):
        self.killed = True


def test_windows(monkeypatch, tmp_path):
    """The branch for Windows calls what Windows has, and nothing of POSIX."""
    sent = []
    monkeypatch.setattr(system, "WINDOWS", True)
    monkeypatch.setattr(system.signal, "CTRL_BREAK_EVENT", 1, raising=False)
    monkeypatch.setattr(system.os, "kill", lambda pid, sign: sent.append((pid, sign)))
    monkeypatch.setattr(system.os, "killpg", lambda *_: pytest.fail("POSIX only"), raising=False)
    monkeypatch.setattr(system.os, "getuid", lambda: pytest.fail("POSIX only"), raising=False)
    assert system.own_group() == {"creationflags": 0x200}
    system.interrupt_group(4711)
    process = Process()
    system.end_group(process)
    assert sent == [(4711, 1)] and process.killed
    assert system.watcher_command() is None
    assert system.hold(0) is False
    assert system.left_behind(tmp_path / "any") is False
    with new_file(tmp_path / "file") as stream:
        stream.write(b"text")
    assert (tmp_path / "file").read_bytes() == b"text" and len(list(tmp_path.iterdir())) == 1
    with system.run_folder() as folder:
        assert folder.is_dir()
    assert not folder.exists()


@posix
def test_a_lock_ends_with_its_process(tmp_path):
    path = tmp_path / "held"
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[2]); from odtc.base import system\n"
        "f = open(sys.argv[1], 'wb'); print(system.hold(f.fileno()), flush=True); time.sleep(100)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(path), environment()["PYTHONPATH"].split(os.pathsep)[0]],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline().strip() == "True"
        os.utime(path, (1, 1))
        assert not system.left_behind(path)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert system.left_behind(path)
