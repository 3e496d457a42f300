"""Silent programs and programs with endless output: Ctrl-C ends them at once, and memory stays bounded."""

import os
import resource
import stat
import time
from pathlib import Path

import pytest

from odtc.model.solution import Options
from odtc.solvers import child_process, log_buffer
from odtc.solvers.child_process import Child, attend, quick_output
from odtc.solvers.solve import solve
from odtc.workflow.sinks import open_logs
from tests.command_line import MONKS, hearing, signalled
from tests.solvers.test_solver import model

SMALL = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, float("inf"))


def program(folder: Path, script: str) -> Path:
    path = folder / "fake"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_ctrl_c_does_not_wait_for_the_next_line_of_a_silent_program(tmp_path):
    silent = program(
        tmp_path,
        f"[ -s model.mps ] || exit 0\ntouch '{tmp_path}/runs'; trap 'touch {tmp_path}/told; exit' INT; while :; do "
        f"sleep 0.1; done",
    )
    words = hearing("fit", MONKS / "monks-1.csv", "--solver", "cbc", "--program", silent, "-o", "m", "--json")
    said = signalled(words, tmp_path, (tmp_path / "runs").exists, rest=0.5)  # it would be silent for ten minutes
    # It had no point of its own, so that of the start is what there is.
    assert (said.code, said.facts["termination"]) == (130, "interrupted"), said.err
    assert (tmp_path / "told").exists()


def test_a_version_query_that_floods_is_cut_short(tmp_path, monkeypatch):
    monkeypatch.setattr(child_process, "PATIENCE", 1.0)
    flood = program(tmp_path, "yes 'a line that never ends'")
    assert 0 < len(quick_output([str(flood)], None)) <= child_process.WORDS
    endless = program(tmp_path, "echo Version: 7.5; exec cat /dev/zero")
    said = quick_output([str(endless)], None)
    assert said.startswith("Version: 7.5\n") and len(said) <= child_process.WORDS


def test_of_a_long_log_the_beginning_and_the_end_are_kept(monkeypatch):
    monkeypatch.setattr(log_buffer, "TALK", 100)
    for length in (7, 99, 100, 101, 1000):
        lines = [f"{at:09d}\n" for at in range(length)]
        log = log_buffer.Transcript()
        for line in lines:
            log.add(line)
        text = log.text()
        assert text.startswith("".join(lines)[:100]) and text.endswith("".join(lines)[-100:])
        assert len(text) <= 100 + 2 * 100 + 10
    log = log_buffer.Transcript()
    for text in ("a" * 1000, "b" * 250, "the end"):
        log.add(text)
    assert log.text().endswith("b" * 93 + "the end")


def test_a_log_file_has_the_beginning_and_the_end_of_a_flood(tmp_path, monkeypatch):
    """A solver that floods used to leave a log of its full length: 114 MB in 6 s."""
    monkeypatch.setattr(log_buffer, "TALK", 100)
    flood = [f"{at:09d}\n" for at in range(1000)]
    for length in (7, 11, 25, 1000):
        lines, files = flood[:length], []
        with open_logs(str(tmp_path / "m"), ("one",), files) as hearing:
            for line in lines:
                hearing.log(line)
                hearing.logs("one", line)
        for file in files:
            text = file.read_text()
            assert text.startswith("".join(lines)[:100]) and text.endswith("".join(lines)[-100:])
            assert len(text) < 500
            kept = "".join(line for line in text.splitlines(True) if "left out" not in line).replace("\n\n", "\n")
            missing = 10 * length - len(kept)
            assert ("left out" in text) == (missing > 0)
            assert not missing or f"[odtc: {missing:,} characters of this log are left out here]\n" in text


def test_what_nobody_fetches_is_held_back_in_the_pipe(tmp_path):
    child = Child([str(program(tmp_path, "yes"))], lambda stream, put: [put(line) for line in stream])
    try:
        held = -1
        while held != (held := child.events.qsize()):
            time.sleep(0.2)
        assert held <= child_process.HELD
    finally:
        child.end()


FLOODS = {"lines": "yes 'Cbc0010I After 0 nodes, 1 on tree'", "one line": "cat /dev/zero"}


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", FLOODS)
@pytest.mark.parametrize("name", ["cbc", "lp_solve"])
def test_a_flood_does_not_fill_the_memory(kind, name, tmp_path, monkeypatch):
    monkeypatch.setattr(child_process, "NUDGE", 0.1)
    monkeypatch.setattr(child_process, "GRACE", 0.3)
    monkeypatch.setattr(child_process, "PATIENCE", 0.3)
    monkeypatch.setattr(log_buffer, "TALK", 1 << 20)
    monkeypatch.setattr(log_buffer, "SHEET", 1 << 20)
    flood = program(tmp_path, FLOODS[kind])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = solve(SMALL, name, Options(time_limit=2), program=str(flood))
    assert found.termination == "time_limit" and not found.has_solution
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB; the flood is of gigabytes


def test_a_program_named_by_a_relative_path(tmp_path, monkeypatch):
    written = "printf 'Optimal - objective value 2\\n 0 x0 1 0\\n 1 x1 1 0\\n 2 x2 0 0\\n' > solution.sol"
    program(tmp_path, written)
    monkeypatch.chdir(tmp_path)
    for name in ("./fake", f"../{tmp_path.name}/fake"):
        assert solve(SMALL, "cbc", program=name).objective == 2
    monkeypatch.setenv("PATH", os.pathsep.join([".", "/usr/bin", "/bin"]))
    (tmp_path / "fake").rename(tmp_path / "cbc")
    assert solve(SMALL, "cbc").objective == 2


def test_the_limit_holds_from_the_word_started(tmp_path, monkeypatch):
    monkeypatch.setattr(child_process, "NUDGE", 0.1)
    monkeypatch.setattr(child_process, "GRACE", 0.3)
    child = Child([str(program(tmp_path, "sleep 600"))], lambda stream, put: (put("started"), stream.read()))
    told = []
    try:
        assert attend(child, lambda event: False, lambda: told.append(1), 0.2, started=False) == "time_limit"
    finally:
        child.end()
    assert told == [1]
