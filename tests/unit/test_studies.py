"""The engine of studies: finished fits are neither lost nor repeated, whatever is killed."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from odtc.algorithms.thresholds import apart, workers
from odtc.base import system
from odtc.base.atomic_write import write_text
from odtc.errors import OdtcError, OutputError
from odtc.evaluation import benchmark
from odtc.evaluation.studies import engine
from odtc.evaluation.studies.engine import Store, WorkersLost, finish, key_of, local, run_tasks
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.verification.certificate import check
from tests.threshold_problems import draw

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Square:
    """A task that writes a line each time it is run, and whose process is killed the first time if it is told to."""

    folder: str
    n: int
    kills: bool = False
    seconds: float = 0.0

    @property
    def key(self) -> str:
        return key_of({"n": self.n})

    def run(self) -> dict:
        time.sleep(self.seconds)
        mark = Path(self.folder) / f"killed{self.n}"
        if self.kills and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        with (Path(self.folder) / f"runs{self.n}").open("a") as stream:
            stream.write("x")
        return {"n": self.n, "square": self.n**2}


def runs(folder) -> dict[int, int]:
    return {int(path.name[4:]): path.stat().st_size for path in Path(folder).glob("runs*")}


def test_a_second_run_takes_all_from_the_store(tmp_path):
    store = Store(tmp_path / "tasks")
    store.make()
    tasks = [Square(str(tmp_path), n) for n in range(6)]
    first = run_tasks(tasks[:4], local(1), store)
    told = []
    again = run_tasks(tasks, local(1), store, lambda place, result, before: told.append((place, before)))
    assert again == [{"n": n, "square": n * n} for n in range(6)] and again[:4] == first
    assert runs(tmp_path) == dict.fromkeys(range(6), 1)
    assert sorted(told) == [(n, n < 4) for n in range(6)]
    (store.folder / f"{tasks[2].key}.json").write_text('{"n": 2, "squ')  # as a disk that was full leaves it
    assert run_tasks(tasks, local(1), store) == again and runs(tmp_path)[2] == 2
    store.remove()
    assert not store.folder.exists()


@pytest.mark.parametrize("forge", ["another task's", "another number", "no result", "nested", "a list"])
def test_a_file_that_is_not_the_result_of_its_task_is_none(forge, tmp_path):
    """The scores of two fits that were mixed up stood in the table of a study; a file without scores was a fault."""
    store = Store(tmp_path / "tasks")
    store.make()
    tasks = [Square(str(tmp_path), n) for n in range(3)]
    first = run_tasks(tasks, local(1), store)
    one, other = (store.folder / f"{task.key}.json" for task in tasks[:2])
    if forge == "another task's":
        other.write_bytes(one.read_bytes())
    elif forge == "another number":
        other.write_text(json.dumps(json.loads(other.read_text()) | {"square": 7}))
    else:
        other.write_text({"no result": "{}", "nested": "[" * 100_000, "a list": "[1]"}[forge])
    assert run_tasks(tasks, local(1), store) == first and runs(tmp_path) == {0: 1, 1: 2, 2: 1}


def test_a_killed_process_costs_only_the_tasks_that_were_running(tmp_path):
    store = Store(tmp_path / "tasks")
    store.make()
    tasks = [Square(str(tmp_path), n, kills=n == 5) for n in range(8)]
    results = run_tasks(tasks, local(2), store)
    assert [result["square"] for result in results] == [n * n for n in range(8)]
    # joblib ends the other process, too: its task is run again if it was not kept yet.
    assert sum(runs(tmp_path).values()) <= 8 + 1 and set(runs(tmp_path)) == set(range(8))
    assert (tmp_path / "killed5").exists()


def test_a_task_that_was_kept_before_its_pool_was_lost_is_not_run_again(tmp_path):
    """Workers had finished tasks whose results were not handed on when another one was killed: they ran twice."""
    store = Store(tmp_path / "tasks")
    store.make()
    tasks, told = [Square(str(tmp_path), n) for n in range(4)], []

    def pool(asked, store):
        for task in asked[:3]:
            finish(task, store)
        if len(asked) == 4:
            raise WorkersLost("the machine is gone")
        yield from local(1)(asked, store)

    results = run_tasks(tasks, pool, store, lambda place, result, before: told.append(place))
    assert [result["n"] for result in results] == list(range(4)) and sorted(told) == list(range(4))
    assert {n: count for n, count in runs(tmp_path).items() if n < 3} == dict.fromkeys(range(3), 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_goes_on_if_another_run_of_the_study_ended_and_removed_the_folder(jobs, tmp_path):
    """The first of two equal commands to end removes the files of fits; the other one ended in an error."""
    store, told = Store(tmp_path / "tasks"), []
    store.make()

    def tell(place, result, before):
        if not told:
            store.remove()
        told.append(place)

    results = run_tasks([Square(str(tmp_path), n) for n in range(6)], local(jobs), store, tell)
    assert [result["square"] for result in results] == [n * n for n in range(6)] and sorted(told) == list(range(6))


def test_a_result_is_not_kept_if_the_folder_goes_while_it_is_written(tmp_path, monkeypatch):
    """The other run removes the folder at any moment: a worker that was writing ended the study."""
    store = Store(tmp_path / "tasks")
    store.make()

    def as_the_other_run_ends(*given):
        store.remove()
        write_text(*given)

    monkeypatch.setattr(engine, "write_text", as_the_other_run_ends)
    assert finish(Square(str(tmp_path), 3), store)["square"] == 9
    assert not store.folder.exists()


def test_a_result_is_kept_if_the_folder_goes_and_comes_again_while_it_is_written(tmp_path, monkeypatch):
    """The other run removes the folder, and the process that hears of another result makes it: a worker that was
    writing meanwhile ended the study."""
    store, times = Store(tmp_path / "tasks"), []
    store.make()

    def as_the_other_run_ends(path, *given):
        times.append(path)
        if len(times) == 1:
            store.remove()
            try:
                write_text(path, *given)
            finally:
                store.make()
        write_text(path, *given)

    monkeypatch.setattr(engine, "write_text", as_the_other_run_ends)
    task = Square(str(tmp_path), 3)
    assert finish(task, store)["square"] == 9 and store.get(task.key)["square"] == 9


def test_a_result_that_cannot_be_written_is_told(tmp_path):
    store = Store(tmp_path / "tasks")
    store.make()
    (store.folder / "k.json").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        store.put("k", {"n": 1})


def test_the_option_is_named_whose_place_has_no_room(tmp_path, monkeypatch):
    """`odtc bench models` said to choose another place with -o, which is that of its table."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    store = Store(tmp_path / "tasks", "--results")
    store.make()
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="k.json': No space left on device; choose another place with --results$"):
        store.put("k", {"n": 1})
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot make the folder .*; choose another place with --results$"):
        Store(tmp_path / "file" / "tasks", "--results").make()


def test_a_folder_with_other_files_is_not_removed(tmp_path):
    store = Store(tmp_path / "tasks")
    store.make()
    store.put("k", {"n": 1})
    (store.folder / ".k2.json.part").write_text("half")  # another run writes one
    store.remove()
    assert [path.name for path in store.folder.iterdir()] == [".k2.json.part"]


def test_workers_that_are_lost_each_time_end_the_study(tmp_path):
    def pool(tasks, store):
        raise WorkersLost("nobody is there")
        yield

    with pytest.raises(OdtcError, match="nobody is there, 4 times without a finished task between"):
        run_tasks([Square(str(tmp_path), 1)], pool, Store(tmp_path))


def test_a_task_that_fails_ends_the_study_with_its_words(tmp_path):
    class Failing(Square):
        def run(self):
            raise OdtcError("no such luck")

    with pytest.raises(OdtcError, match="no such luck"):
        run_tasks([Failing(str(tmp_path), 1)], local(1))


@pytest.mark.slow
def test_two_workers_of_a_cluster_one_of_which_is_killed(tmp_path):
    pytest.importorskip("distributed")
    from odtc.evaluation.studies.cluster import dask

    store = Store(tmp_path / "tasks")
    store.make()
    with dask("local", 2) as (pool, dashboard):
        results = run_tasks([Square(str(tmp_path), n, kills=n == 3) for n in range(10)], pool, store)
    assert dashboard == ""  # a cluster of ours has no pages
    assert [result["square"] for result in results] == [n * n for n in range(10)]
    assert set(runs(tmp_path)) == set(range(10)) and (tmp_path / "killed3").exists()


def start(words: list[str]) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def words_of_a_cluster() -> tuple[int, list[str], list[str]]:
    """A free port, and the words that start a scheduler there and a worker of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--dashboard-address", ":0"]
    worker = ["dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
    return port, scheduler, worker


@pytest.mark.slow
def test_a_scheduler_that_is_killed_and_started_again(tmp_path):
    pytest.importorskip("distributed")
    from odtc.evaluation.studies.cluster import dask

    port, scheduler, worker = words_of_a_cluster()
    store = Store(tmp_path / "tasks")
    store.make()
    running = [start(scheduler), start(worker), start(worker)]
    told = []

    def tell(place, result, before):
        told.append(place)
        if len(told) == 3:  # once, from the side, as a machine that fails
            threading.Thread(target=again).start()

    def again():
        running[0].kill()
        running[0].wait()
        for each in running[1:]:
            each.kill()
            each.wait()
        running[:] = [start(scheduler), start(worker), start(worker)]

    try:
        with dask(f"tcp://127.0.0.1:{port}", 2) as (pool, _):
            results = run_tasks([Square(str(tmp_path), n, seconds=0.2) for n in range(16)], pool, store, tell)
    finally:
        for each in running:
            each.kill()
            each.wait()
    assert [result["square"] for result in results] == [n * n for n in range(16)]
    assert set(runs(tmp_path)) == set(range(16))
    assert sum(runs(tmp_path).values()) <= 16 + 2  # at most the two that were running are run again


@pytest.mark.slow
def test_a_proof_goes_on_if_the_scheduler_is_killed_and_started_again(monkeypatch):
    """It ended in an error, and what it had proved was lost. Two processes start twice: some ten seconds."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers.ClusterTeam, "cells", 0)
    monkeypatch.setattr(apart, "MIN_CUTS", 0)
    monkeypatch.setattr(apart, "ALONE", 0)
    port, scheduler, worker = words_of_a_cluster()
    running, said, rounds = [start(scheduler), start(worker)], [], []
    done = workers.ClusterTeam.done

    def killed_at_the_third(team, waiting, check):
        rounds.append(len(waiting))
        if len(rounds) == 3:
            stop()
            running[:] = [start(scheduler), start(worker)]
        return done(team, waiting, check)

    def stop():
        for each in running:
            each.kill()
            each.wait()

    monkeypatch.setattr(workers.ClusterTeam, "done", killed_at_the_third)
    problem = draw(7, depths=(4,), wide=True)
    alone = ThresholdSearch(problem).run()
    try:
        with workers.team(1, f"tcp://127.0.0.1:{port}", said.append):
            search = ThresholdSearch(problem)
            found = search.run()
    finally:
        stop()
    assert len(rounds) > 3 and len(said) == 1 and said[0].endswith("its parts are handed out again"), said
    assert found.bound == alone.bound == problem.module.objective(problem, found.heap)
    assert check(certify_search(search, found.heap), problem.encoded.dataset).optimal


def test_cells_of_a_benchmark_are_neither_lost_nor_run_again_when_a_worker_or_the_parent_is_killed(
    tmp_path, monkeypatch
):
    (tmp_path / "t.csv").write_text("a,y\n" + "0,p\n1,q\n" * 4)
    path = tmp_path / "r.jsonl"
    cells = [
        benchmark.Cell(tmp_path / "t.csv", depth, benchmark.Form(model))
        for depth in (1, 2)
        for model in ("oct", "binoct")
    ]
    ran = []

    def measured(cell, settings):
        ran.append((cell.depth, cell.form.model))
        if len(ran) == 3:
            raise Killed  # the third cell's process, or this one: nothing after it is heard of
        figures = {"termination": "optimal", "objective": 1.0, "bound": 1.0, "cpu_seconds": 0.1, "seconds": 0.1}
        return (
            benchmark.UNMEASURED
            | figures
            | {
                **{"data": "few", "formulation": str(cell.form), "peer": False, "n_rows": 30},
                "depth": cell.depth,
            }
        )

    class Killed(BaseException):
        pass

    monkeypatch.setattr(benchmark, "measure", measured)
    with pytest.raises(Killed):
        benchmark.run(cells, benchmark.Settings(), path)
    whole = path.read_bytes()
    # Killed between the end of the second cell and its line in the file; a line is there in part.
    path.write_bytes(whole[: len(whole) - 20])
    found = benchmark.run(cells, benchmark.Settings(), path, pool=local(1))
    assert ran == [(1, "oct"), (1, "binoct"), (2, "oct"), (2, "oct"), (2, "binoct")]  # only the third one twice
    assert [result["depth"] for result in found] == [1, 1, 2, 2] and benchmark.read_results(path) == found
    lines = [json.loads(line) for line in whole.splitlines()]
    assert [line.pop("seal") != "" for line in lines] == [True, True]
    assert not Path(f"{path}.tasks").exists() and found[:2] == lines
    assert benchmark.run(cells, benchmark.Settings(), path) == found and len(ran) == 5


STUDY = """
import os, time
from pathlib import Path
from odtc.evaluation.studies.engine import local, run_tasks

class Sleeps:
    def __init__(self, key):
        self.key = key

    def run(self):
        Path(f"pid{os.getpid()}").touch()
        time.sleep(600)

run_tasks([Sleeps("a"), Sleeps("b")], local(2), None)
"""


@pytest.mark.skipif(system.WINDOWS, reason="the number of a parent that has ended stays on Windows")
def test_processes_of_a_study_end_with_it(tmp_path):
    """After kill -9 they went on with what they were told, and stayed for minutes."""
    study = subprocess.Popen(
        [sys.executable, "-c", STUDY], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    )
    try:
        until = time.monotonic() + 120
        while len(found := list(tmp_path.glob("pid*"))) < 2:
            assert study.poll() is None and time.monotonic() < until
            time.sleep(0.1)
    finally:
        study.kill()
        study.wait()
    for number in (int(path.name[3:]) for path in found):
        while _is_there(number):
            assert time.monotonic() < until
            time.sleep(0.1)


def _is_there(number: int) -> bool:
    """Whether a process is there and has not ended, if nobody asks how it ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
