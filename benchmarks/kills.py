"""Kills: a command is ended by kill -9 at random moments, and what it leaves is read.

`python -m benchmarks.kills --kills 200`. A child process runs the command on files that an earlier one left; after
each kill the readers are asked whether model, manifest, starts, solution and record are of one model, and the same
command is run to its end: then nothing hidden may be left. The points before every change of the file system are
tests/cli/test_killed.py; `ODTC_KILLS=1` runs the next start at all of them.

`python -m benchmarks.kills --kills 0 --bench 5`: `odtc bench models --jobs 2` is ended, or one of its two workers, at
random moments, and called again: every line that stood in the results file stands there still, and every cell once.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "examples" / "monks" / "monks-1.csv"
BUILD = ("build", DATA, "--depth", 1, "-o", "m", "--dialect", "all")
FIT = ("fit", DATA, "--depth", 1, "--model", "flowoct", "--solver", "highs", "--format", "mps", "-o", "m")
OTHER = ("--class-weight", "0=0.2,1=1")
COMMANDS = {
    "build": (*BUILD, *OTHER),
    "fit": (*FIT, *OTHER),
    "solve": ("solve", "m.mps"),
    "decode": ("decode", "m.sol"),
}


def run(words, folder: Path) -> int:
    """The command in a child of its own; its process."""
    pid = os.fork()
    if pid:
        return pid
    from odtc.cli.app import main

    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    sys.argv = ["odtc", *map(str, words)]
    try:
        main()
    except SystemExit as end:
        os._exit(int(end.code or 0))
    os._exit(99)


def state(folder: Path) -> str:
    """Of which model the files are, "mixed" if they are of two."""
    from odtc.fileformats.model_files import read_model
    from odtc.fileformats.solution_files import read_point
    from odtc.workflow.manifest import read_manifest

    if not (folder / "m.odt.json").exists():
        return "none" if not (folder / "m.mps").exists() else "mixed"
    manifest = read_manifest(folder / "m.odt.json")
    model = read_model(folder / "m.mps")
    named = {manifest.identity, model.identity}
    for path in [*folder.glob("m.start*"), *folder.glob("m.mst"), *folder.glob("m.sol")]:
        named.add(read_point(path).model or manifest.identity)
    return manifest.identity[:8] if len(named) == 1 and model.content == manifest.content else "mixed"


STUDY = ("bench", "models", "--data", "few.csv", "--depths", "1,2", "--formulations")
STUDY += ("flowoct,bendersoct,binoct,oct", "--encoding", "onehot", "--results", "r.jsonl", "--jobs", "2")


def study(folder: Path) -> subprocess.Popen:
    """The study in a session of its own."""
    words = [str(Path(sys.executable).parent / "odtc"), *map(str, STUDY)]
    (folder / "few.csv").write_text("".join(DATA.read_text().splitlines(keepends=True)[:31]))  # no cell meets a limit
    with open(folder / "said", "w") as said:
        return subprocess.Popen(words, cwd=folder, stdout=said, stderr=said, start_new_session=True)


def workers_of(pid: int) -> list[int]:
    """The processes that a study runs its cells in (Linux)."""
    started = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [child for child in started if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes()]


def cells_of(path: Path) -> list[tuple]:
    """What each cell of a study has found, in the order of the file."""
    results = [json.loads(line) for line in path.read_text().splitlines()]
    return [(result["depth"], result["formulation"], result["objective"], result["termination"]) for result in results]


def kill_studies(kills: int, rnd: random.Random) -> None:
    """Kills of a study and of its workers; prints each."""
    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        assert study(Path(name)).wait() == 0
        longest, quiet = time.monotonic() - began, cells_of(Path(name) / "r.jsonl")
        print(f"quiet: {len(quiet)} cells in {longest:.1f} s", flush=True)
    wrong = 0
    for number in range(2 * kills):
        who = ("study", "worker")[number % 2]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            running = study(folder)
            time.sleep(rnd.uniform(0.2, 0.95) * longest)
            workers = workers_of(running.pid) if running.poll() is None else []
            whom = running.pid if who == "study" else rnd.choice(workers or [0])
            if whom and running.poll() is None:
                os.kill(whom, signal.SIGKILL)
            code = running.wait()
            path = folder / "r.jsonl"
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
            again = study(folder).wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)  # workers whose study is gone
            kept = path.read_bytes().startswith(b"".join(line for line in lines if line.endswith(b"\n")))
            other = sorted(set(cells_of(path)) ^ set(quiet), key=str)
            same = kept and again == 0 and not other and len(cells_of(path)) == len(quiet)
            wrong += not same
            print(
                f"{who} killed: exit {code}, {len(lines)} lines; again: exit {again}, "
                f"{'as the quiet one' if same else f'WRONG: {kept=}, {other}'}",
                flush=True,
            )
    print(f"{2 * kills} kills, {wrong} wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bench", type=int, default=0, help="kills of a study, and as many of one of its workers")
    given = parser.parse_args()
    if given.bench:
        kill_studies(given.bench, random.Random(given.seed))
    if not given.kills:
        return
    import odtc.workflow.pipeline  # noqa: F401  what the children need is read once
    from odtc.cli import app  # noqa: F401

    rnd, found, hidden = random.Random(given.seed), Counter(), 0
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        base.mkdir()
        longest = {}
        for words in (BUILD, COMMANDS["solve"], COMMANDS["decode"]):
            assert os.waitpid(run(words, base), 0)[1] == 0
        for number in range(given.kills):
            kind = rnd.choice(list(COMMANDS))
            folder = Path(name) / "run"
            shutil.copytree(base, folder)
            if kind not in longest:
                began = time.monotonic()
                assert os.waitpid(run(COMMANDS[kind], folder), 0)[1] == 0
                longest[kind] = time.monotonic() - began
                shutil.rmtree(folder)
                shutil.copytree(base, folder)
            pid = run(COMMANDS[kind], folder)
            time.sleep(rnd.random() * longest[kind])
            os.kill(pid, signal.SIGKILL)
            code = os.waitpid(pid, 0)[1]
            here = state(folder)
            if any(path.name.startswith(".") for path in folder.iterdir()):
                hidden += 1
                for path in folder.glob(".*"):
                    os.utime(path, (1, 1))
                assert os.waitpid(run(COMMANDS[kind], folder), 0)[1] == 0
            left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
            found[kind, "killed" if code == 9 else "ended before", here] += 1
            if left or here == "mixed":
                print(f"kill {number} of {kind}: {here}, left {left}", flush=True)
            shutil.rmtree(folder)
    for (kind, end, here), count in sorted(found.items()):
        print(f"{kind:7} {end:13} {here:9} {count}")
    print(f"{given.kills} kills, {hidden} left a temporary file or a journal that the next start removed")


if __name__ == "__main__":
    main()
