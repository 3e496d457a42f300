"""`python -m tests.fuzz [TARGET…] --runs 1000000 --seconds 600`: a long run of each target, with what it found.

Guided by coverage if atheris is installed (`pip install odtc[fuzz]`), else plain random mutations; one process
a target, each forked from this one, as odtc is instrumented for longer than most targets run. Finds are written to
the folder `--finds`, one file each: an uncaught exception, or a difference between two readers. The exit code is 1 if
there are any.

`--slice 30` gives each target 30 s in turn until all have `--runs` executions, counted over all runs with the same
`--finds`: its file executions.csv has a line for each slice, so that a run that was stopped goes on where it was.
"""

import argparse
import contextlib
import csv
import gc
import multiprocessing
import os
import random
import shutil
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

SHORTEST, LONGER = 6000, 2  # of the longest input: bytes at least, for 5,000 digits, and times the longest seed

# What every reader passes and none of its branches depends on: not to be traced.
NO_READERS = [
    f"odtc.base.{name}" for name in ("commit", "deadline", "interrupts", "memory", "plug_ins", "registry", "system")
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", help="names of targets; all if there are none")
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of each target")
    parser.add_argument("--seconds", type=float, default=600, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finds", type=Path, default=Path("fuzz-finds"))
    parser.add_argument("--slice", type=float, help="seconds of each target in turn, again and again")
    parser.add_argument("--plain", action="store_true", help="no atheris")
    parser.add_argument("--corpus", action="store_true", help="write the first seeds anew, and end")
    given = parser.parse_args()
    if given.corpus:
        from tests.fuzz.targets import make_corpus

        make_corpus()
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # tables of three rows
    guide = None if given.plain else _atheris()
    with guide.instrument_imports(include=["odtc"], exclude=NO_READERS) if guide else contextlib.nullcontext():
        from odtc.base.kernels import Kernel
        from tests.fuzz.targets import TARGETS
    Kernel.__call__ = lambda self, *given: self.function(*given)  # numba does not know what atheris puts into the code
    _look_up_once()
    failed = _in_turn(given.targets or list(TARGETS), given, guide)
    sys.exit(f"finds: {', '.join(failed)}" if failed else 0)


def _atheris():
    """The package that guides by coverage, None where it is not installed."""
    try:
        import atheris
    except ImportError:
        return None
    return atheris


def _look_up_once() -> None:
    """Members are looked up by name once: to look for packages that were installed meanwhile, and to import what is
    there, takes a third of the time of a small file."""
    from odtc.base.registry import Registry

    for word in ("get", "names"):
        setattr(Registry, word, _kept(getattr(Registry, word)))


def _kept(method):
    known: dict[tuple, object] = {}

    def once(self, *given):
        try:
            return known[id(self), *given]
        except (KeyError, TypeError):  # or what is no name
            value = method(self, *given)
        with contextlib.suppress(TypeError):
            known[id(self), *given] = value
        return value

    return once


def _in_turn(names: list[str], given, guide) -> list[str]:
    """Runs the targets one after the other, with `--slice` again and again. Returns the names of those with finds."""
    context = multiprocessing.get_context("fork")
    failed: dict[str, None] = {}
    turn = 0
    while names and (turn == 0 or given.slice):
        for name in names:
            done = _done(given.finds, name) if given.slice else []
            run = Run(
                name=name,
                runs=given.runs - sum(done),
                seconds=given.slice or given.seconds,
                seed=given.seed + len(done),
                finds=given.finds.resolve(),
            )
            process = context.Process(target=_one, args=(run, guide))
            process.start()
            process.join()
            if process.exitcode:
                failed[name] = None
                print(f"{name}: ended with {process.exitcode}", flush=True)
        turn += 1
        names = [name for name in names if given.slice and sum(_done(given.finds, name)) < given.runs]
    return list(failed)


def _done(finds: Path, name: str) -> list[int]:
    """The executions of a target in each slice so far."""
    try:
        with (finds / "executions.csv").open(newline="") as stream:
            return [int(row[1]) for row in csv.reader(stream) if row[0] == name]
    except FileNotFoundError:
        return []


@dataclass(frozen=True)
class Run:
    """What one process does: executions of a target, at most so many and for so many seconds."""

    name: str
    runs: int
    seconds: float
    seed: int
    finds: Path


def _one(run: Run, guide) -> None:
    """A run in this process, guided by the package `guide` unless that is None; at the end one line with the number of
    executions."""
    from tests.fuzz import targets

    name = run.name
    count, taken, kinds, began = 0, 0, {}, time.monotonic()
    run.finds.mkdir(parents=True, exist_ok=True)

    def report() -> None:
        with (run.finds / "executions.csv").open("a", newline="") as stream:
            csv.writer(stream).writerow([name, count, round(time.process_time(), 1), taken, len(kinds), run.seed])
        spent = f"{count:,} executions in {time.monotonic() - began:.0f} s, {taken:,} taken"
        print(f"{name}: {spent}, {len(kinds)} kinds of finds", flush=True)
        for kind, text in kinds.items():
            print(f"  {kind}\n    {text}", flush=True)

    def one(data: bytes) -> None:
        nonlocal count, taken
        count += 1
        try:
            taken += targets.attempt(name, data)
        except Exception as problem:
            kind = _kind(problem)
            if kind not in kinds:
                path = run.finds / f"{name}-{run.seed}-{len(kinds)}"
                path.write_bytes(data)
                kinds[kind] = f"{' '.join(str(problem).split())[:300]} ({path})"
        if guide and (count >= run.runs or time.monotonic() - began > run.seconds):
            report()
            shutil.rmtree(targets.folder(), ignore_errors=True)
            os._exit(bool(kinds))

    from tests.fuzz.mutation import mutated

    seeds = targets.seeds(name)
    if guide:
        known = targets.CORPUS / targets.TARGETS[name][0]
        grown = run.finds / f"corpus-{name}"
        grown.mkdir(exist_ok=True)
        words = [
            f"-seed={run.seed}",
            f"-max_len={max(SHORTEST, LONGER * max(map(len, seeds)))}",
            "-timeout=60",
            "-rss_limit_mb=4000",
            "-print_final_stats=0",
            "-mutate_depth=2",
            "-reload=0",  # of a folder that nobody else fills: by the clock, so that no run were like another
        ]

        rnd = random.Random(run.seed)  # one for all: a new one takes as long as a change

        def mutator(data: bytes, max_size: int, seed: int) -> bytes:
            """Half of the changes know words and numbers: by bits alone few are taken."""
            return mutated(data, seeds, rnd)[:max_size] if rnd.random() < 0.5 else guide.Mutate(data, max_size)

        words += ["-verbosity=0", str(grown), str(known)]
        gc.collect()
        gc.freeze()  # what was imported is not looked through again and again
        guide.Setup([sys.argv[0], *words], one, custom_mutator=mutator)
        guide.Fuzz()
        return
    rnd = random.Random(f"{run.seed} {name}")
    while count < run.runs and time.monotonic() - began < run.seconds:
        one(mutated(rnd.choice(seeds), seeds, rnd))
    report()
    sys.exit(bool(kinds))


def _kind(problem: Exception) -> str:
    """The exception and the last line of odtc that it passed: finds of one kind are written once."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}odtc{os.sep}" in frame.filename] or frames
    place = f"{'/'.join(Path(ours[-1].filename).parts[-2:])}:{ours[-1].lineno}"
    words = str(problem).split(":")[0][:40] if isinstance(problem, AssertionError) else ""
    return f"{type(problem).__name__} {words} at {place}"


if __name__ == "__main__":
    main()
