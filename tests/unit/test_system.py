"""Differences between operating systems, both branches: Windows is simulated, because no test runs there."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from odtc.base import system
from odtc.base.atomic_write import new_file
from odtc.solvers import child_process
from tests.command_line import MONKS, command, environment, odtc

posix = pytest.mark.skipif(system.WINDOWS, reason="process groups of POSIX")


def facts_of(pid) -> list[str]:
    """State, parent and more of a process; [] if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    return facts_of(pid)[:1] in ([], ["Z"])


def wait_until(happens) -> None:
    """Returns when `happens()` is true; a test that never ends is a failure that says where it hangs."""
    while not happens():
        time.sleep(0.05)


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
    # No limit of ours: on a busy machine all of this takes as long as it takes, and CI ends what never ends.
    while not (mark.exists() and mark.read_text().endswith("\n")):
        assert run.poll() is None
        time.sleep(0.05)
    assert list(place.iterdir())
    solver = int(mark.read_text())
    run.send_signal(signal.SIGKILL)
    run.wait()
    wait_until(lambda: gone(solver))
    wait_until(lambda: not list(place.iterdir()))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the environment of processes, as on Linux")
def test_killed_what_a_solver_has_started_in_a_session_of_its_own_is_gone(tmp_path):
    """kill -9: its group is not theirs, but they have the mark of the run; of another run they have not."""
    place, program, script = tmp_path / "pid", tmp_path / "solver", tmp_path / "run.py"
    program.write_text(f"#!/bin/sh\nsetsid sh -c 'setsid sleep 1000 & echo $! > {place}; wait' &\nwait\nsleep 1000\n")
    program.chmod(0o755)
    script.write_text(
        "import time; from odtc.solvers import child_process\n"
        f"child_process.Child([{str(program)!r}], lambda stream, put: None)\n"
        "print(flush=True)\n"
        "time.sleep(1000)\n"
    )
    other = subprocess.Popen(["sleep", "1000"], env=environment(**{child_process.MARK: "0" * 32}))
    run = subprocess.Popen([sys.executable, script], env=environment(), stdout=subprocess.PIPE)
    wait_until(lambda: place.exists() and place.read_text().endswith("\n"))
    left = int(place.read_text())
    assert not gone(left)
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    wait_until(lambda: gone(left))
    assert other.poll() is None
    other.kill()
    other.wait()


@posix
def test_a_command_does_not_run_before_its_watcher(tmp_path):
    """Killed between the start of a solver and that of its watcher: the solver has waited, and does not begin."""
    program = tmp_path / "solver"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    script = (
        "import os, signal, time; from odtc.solvers import child_process\n"
        "def killed(pid, folder, mark):\n"
        "    print(pid, flush=True)\n"
        "    time.sleep(0.3)  # in which a solver that does not wait would begin\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "child_process._watcher = killed\n"
        f"child_process.Child([{str(program)!r}], lambda stream, put: None)"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    wait_until(lambda: gone(int(done.stdout)))
    assert not (tmp_path / "ran").exists()


@posix
def test_a_gated_command_has_its_input_and_its_exit_code(tmp_path):
    given = tmp_path / "-a name 'with' $blanks"
    given.write_text("first\nsecond\n")
    heard = []
    child = child_process.Child(["cat", "-"], lambda stream, put: heard.append(stream.read()), input=given)
    while child.events.get() is not None:
        pass
    child.process.wait()
    assert child.end() == 0 and heard == [b"first\nsecond\n"]
    with pytest.raises(OSError):
        child_process.Child([str(tmp_path / "none")], lambda stream, put: None)


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


def refuses_links(*_):
    raise OSError(1314, "A required privilege is not held by the client")  # as Windows says it


def test_a_system_that_tells_no_affinity(monkeypatch):
    """macOS and Windows: as many cores as there are."""
    monkeypatch.delattr(system.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(system.os, "cpu_count", lambda: 5)
    assert system.cores() == 5


@posix
def test_cpu_seconds_of_children_are_counted():
    before = system.children_cpu_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert system.children_cpu_seconds() > before


@posix
def test_ctrl_c_is_kept_for_the_thread_that_waits_for_it():
    script = (
        "import os, signal, threading; from odtc.base import system; system.block_interrupt()\n"
        "heard = threading.Thread(target=system.wait_for_interrupt); heard.start()\n"
        "os.kill(os.getpid(), signal.SIGINT); heard.join(); print('heard')"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True)
    assert done.stdout == "heard\n", done.stderr


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
    assert system.watcher_command() is None and system.gated_command(["any"]) is None
    assert system.children_cpu_seconds() is None
    ignored = []
    monkeypatch.setattr(system.signal, "pthread_kill", lambda *_: pytest.fail("POSIX only"), raising=False)
    monkeypatch.setattr(system._thread, "interrupt_main", lambda number: sent.append(number))
    system.signal_main_thread(signal.SIGTERM)
    assert sent.pop() == signal.SIGTERM
    monkeypatch.setattr(system.signal, "pthread_sigmask", lambda *_: pytest.fail("POSIX only"), raising=False)
    monkeypatch.setattr(system.signal, "signal", lambda *given: ignored.append(given))
    system.block_interrupt()
    assert ignored == [(signal.SIGINT, signal.SIG_IGN)]
    waits = threading.Thread(target=system.wait_for_interrupt, daemon=True)
    waits.start()
    assert waits.is_alive()
    (tmp_path / "model").write_text("text")
    monkeypatch.setattr(system.Path, "symlink_to", refuses_links)
    system.lend(tmp_path / "model", tmp_path / "lent")
    assert (tmp_path / "lent").read_text() == "text" and not (tmp_path / "lent").is_symlink()
    (tmp_path / "model").unlink()
    (tmp_path / "lent").unlink()
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
