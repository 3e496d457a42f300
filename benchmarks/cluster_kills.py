"""Kills on a cluster: while a study or a proof runs on a Dask cluster, a worker or the scheduler is ended by kill -9.

`python -m benchmarks.cluster_kills --what sweep,tune,bench,proof --who worker,scheduler --kills 5`. A scheduler and two
workers of the `dask` programs are started for each kill, as an operator would, with the same addresses again after a
kill of the scheduler. The command runs on them once in quiet and then with a kill at each of some drawn moments; its
table, tree and certificate must be those of the quiet run, and nothing that was finished may run twice.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BIN = Path(sys.executable).parent
START = 1.0  # seconds from a kill of the scheduler until it is started again
LIMIT = 600  # seconds that a command may take
GRID = ("--model", "dpflow", "--depths", "2,3", "-p", "lambda=0,0.01,0.03", "--seeds", "0,1", "--folds", "3")


def made(path: Path, n: int, columns: int) -> None:
    """Normal numbers of two decimals, a product of two of them and a third in the label, 15 % of which are flipped."""
    random_numbers = np.random.default_rng(1)
    X = random_numbers.normal(size=(n, columns)).round(2)
    y = ((X[:, 0] * X[:, 1] + X[:, 2]) > 0.3) ^ (random_numbers.random(n) < 0.15)
    head = ",".join(f"x{j}" for j in range(columns)) + ",y\n"
    path.write_text(head + "".join(",".join(map(str, row)) + f",{int(one)}\n" for row, one in zip(X, y)))


def words_of(what: str, folder: Path) -> list[str]:
    """The command, whose files are those of `folder`."""
    data = str(folder.parent / f"{what}.csv")
    return {
        "sweep": ["sweep", data, *GRID, "-o", "r"],
        "tune": ["tune", data, *GRID, "--nested", "2", "-o", "r"],
        "bench": ["bench", "models", "--data", data, "--depths", "1,2", "--formulations", "flowoct,oct,dpflow,binoct"]
        + ["--encoding", "auto:bins=3", "--results", "r.jsonl"],
        "proof": ["fit", data, "--depth", "4", "--certificate", "-o", "r"],
    }[what]


class Cluster:
    """A scheduler and two workers, processes of this machine."""

    def __init__(self, folder: Path, nanny: bool) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.nanny, self.running = folder, nanny, {}
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.start("scheduler")
        for name in ("worker0", "worker1"):
            self.start(name)

    def start(self, name: str) -> None:
        """Starts one of them."""
        if name == "scheduler":
            words = ["scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--dashboard-address", ":0"]
        else:
            words = ["worker", self.address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
            words += ["--nanny" if self.nanny else "--no-nanny", "--local-directory", str(self.folder / name)]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                [str(BIN / "dask"), *words], stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """Ends one by kill -9, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.running[name].pid, signal.SIGKILL)
        self.running.pop(name).wait()

    def alive(self, name: str) -> bool:
        """Whether it still runs."""
        return name in self.running and self.running[name].poll() is None

    def end(self) -> None:
        """Ends all of them."""
        for name in list(self.running):
            self.kill(name)


@contextlib.contextmanager
def cluster(folder: Path, nanny: bool) -> Iterator[Cluster]:
    """A cluster that ends with the block."""
    found = Cluster(folder, nanny)
    try:
        yield found
    finally:
        found.end()


def attack(one: Cluster, who: str, after: float, over: threading.Event, told: list[str]) -> None:
    """Waits, kills, and starts again what was killed."""
    if over.wait(after):
        return
    names = {"worker": ["worker1"], "workers": ["worker0", "worker1"], "scheduler": ["scheduler"]}[who]
    for name in names:
        one.kill(name)
    told.append(f"{after:.2f}")
    over.wait(START)
    for name in names:
        one.start(name)
    while not over.wait(0.5):  # as a service that keeps its programs running
        for name in ("worker0", "worker1"):
            if not one.alive(name):
                one.start(name)


def result_of(what: str, folder: Path) -> object:
    """What must be the same after each kill."""
    if what == "sweep":
        import polars as pl

        table = pl.read_parquet(folder / "r" / "results.parquet").drop("seconds", "cpu_seconds")
        return table.to_dicts(), (folder / "r" / "best" / "sweep.tree.json").read_text().partition('"nodes"')[2][:2000]
    if what == "bench":
        cells = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
        return sorted((str(c["key"]), c["objective"], c["termination"]) for c in cells)
    if what == "tune":
        facts = json.loads((folder / "r.tune.json").read_text())
        scores = [[fold["accuracy"] for fold in one["folds"]] for one in facts["results"]]
        return scores, facts["nested"]["scores"], facts["best"]
    record = json.loads((folder / "r.run.json").read_text())
    return [record[name] for name in ("objective", "bound", "termination")]


def run(what: str, folder: Path, address: str | None, limit: float) -> tuple[int, str, float]:
    """(exit code, what was said, wall seconds) of the command."""
    words = [str(BIN / "odtc"), *words_of(what, folder)] + (["--cluster", address] if address else [])
    began = time.monotonic()
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as problem:
        return -1, f"still running after {limit} s: {problem.stderr}", time.monotonic() - began
    return done.returncode, done.stderr, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--what", default="sweep,tune,bench,proof")
    parser.add_argument("--who", default="worker,workers,scheduler")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nanny", action="store_true", help="workers as `dask worker` starts them by itself")
    parser.add_argument("--keep", help="a folder in which the logs of what went wrong are kept")
    given = parser.parse_args()
    rnd, wrong = random.Random(given.seed), 0
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        made(base / "proof.csv", 400, 6)
        for what in ("sweep", "tune", "bench"):
            made(base / f"{what}.csv", 150, 6)
        for what in given.what.split(","):
            folder = base / f"{what}-quiet"
            folder.mkdir()
            with cluster(folder, given.nanny) as one:
                time.sleep(3)
                code, said, quiet = run(what, folder, one.address, LIMIT)
            if code:
                sys.exit(f"{what}: the quiet run ended with {code}: {said}")
            expected = result_of(what, folder)
            print(f"{what}: quiet {quiet:.1f} s", flush=True)
            for who in given.who.split(","):
                for at in range(given.kills):
                    after, told, over = rnd.uniform(1.0, quiet * 0.95), [], threading.Event()
                    folder = base / f"{what}-{who}-{at}"
                    folder.mkdir()
                    with cluster(folder, given.nanny) as one:
                        time.sleep(3)
                        killer = threading.Thread(target=attack, args=(one, who, after, over, told))
                        killer.start()
                        try:
                            code, said, seconds = run(what, folder, one.address, LIMIT)
                        finally:
                            over.set()
                            killer.join()
                    same = code == 0 and result_of(what, folder) == expected
                    if same and what == "proof":
                        check = subprocess.run(
                            [str(BIN / "odtc"), "verify", "--certificate", "r.certificate.json"],
                            cwd=folder, capture_output=True, text=True,
                        )  # fmt: skip
                        same, said = check.returncode == 0, check.stderr
                    wrong += not same
                    verdict = "same" if same else f"WRONG ({code}): {said[-600:]}"
                    print(f"{what}, {who} at {after:.1f} s ({told}): {seconds:.1f} s, {verdict}", flush=True)
                    if given.keep and not same:
                        shutil.copytree(folder, Path(given.keep) / folder.name, dirs_exist_ok=True)
                    shutil.rmtree(folder)
    print(f"{wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
