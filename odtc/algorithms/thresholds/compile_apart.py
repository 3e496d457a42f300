"""Kernels, compiled by a process apart while the search goes on in numpy: `python -m` this module does it.

numba needs some twelve CPU seconds for them, once on a machine. A search with a short limit would never wait for that;
a second processor, if there is one, has them on disk before the limit, or for the next command. One process compiles
at a time. Its input ends with the process that has started it: it then goes on at a low priority, ALONE seconds at
most, as else commands that end sooner would begin the same function again and again; and it never takes more than MOST
CPU seconds.
"""

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odtc.base import compiled_loops, system

MOMENTS, MEDIANS = "moments", "medians"  # the names of the kernels of odtc.algorithms.moments
SUBTREES = "subtrees"  # of the kernel of odtc.algorithms.constrained.sweeps.threshold_kernel
FEW_TESTS = "few_tests"  # of that of odtc.algorithms.constrained.few_tests
BINS = "bins"  # of the kernel of odtc.algorithms.bins.bin_bound
WIDE = " of int64"  # behind the name of kernels over ranks or tests: for sums that int32 does not hold
LOCK = "compiling.lock"  # beside what is compiled; held by the process that compiles
ENDED = 5.0  # seconds that the process has to end in
ALONE = 120.0  # seconds that it goes on once the process that has started it has ended
NICE = 10  # its priority then, as `nice` counts it
MOST = 60  # CPU seconds of it
PAYS = 2.0  # CPU seconds in numpy, after which it begins

_process: subprocess.Popen | None = None


def begin(name: str) -> None:
    """Starts a process that compiles the kernels around this one, if this machine has a processor to spare and this
    process has started none; that process ends at once if another one compiles."""
    global _process
    if _process is not None or system.cores() < 2 or system.WINDOWS:
        return
    command = [sys.executable, "-m", __name__, name, str(ALONE)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        _process = subprocess.Popen(command, **streams, **system.own_group())
    except OSError:  # no more processes are granted: the search does without
        return
    atexit.register(leave)


def once_it_pays(name: str, load: Callable[[], Any]) -> Callable[[float], bool]:
    """What has the kernels of a name, those that `load` gives, compiled by a process apart if so many CPU seconds in
    numpy pay for it, and tells whether that goes on (odtc.base.compiled_loops.Repaid)."""

    def apart(spent: float) -> bool:
        if spent > PAYS and compiled_loops.place(load()) is not None:
            begin(name)
        return goes_on()

    return apart


def goes_on() -> bool:
    """Whether the process that `begin` has started compiles still."""
    return _process is not None and _process.poll() is None


def leave() -> None:
    """Lets that process go on alone, if it compiles still."""
    if _process is not None:
        _process.stdin.close()
        _process.poll()


def end() -> None:
    """Ends that process."""
    if _process is not None:
        _process.stdin.close()
        if _process.poll() is None:
            system.end_group(_process)
        _process.wait(ENDED)


def _end_after_parent(seconds: float) -> None:
    """Ends this process some time after its input has ended, and lowers its priority until then."""
    sys.stdin.buffer.read()
    if seconds > 0:
        os.chdir("/")  # so that no folder is held
        system.lower_priority(NICE)
        time.sleep(seconds)
    os._exit(1)


def _compile(name: str) -> None:
    """Calls the kernels on little data, which compiles them for the types that searches have."""
    import numpy as np

    # They use this module.
    from odtc.algorithms.bins import bin_bound
    from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
    from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
    from odtc.algorithms.constrained.few_tests import subset_trees
    from odtc.algorithms.constrained.sweeps import threshold_kernel
    from odtc.algorithms.moments import laws, medians
    from odtc.algorithms.moments import search as moments
    from odtc.algorithms.thresholds.rank_search import RankSearch
    from odtc.algorithms.thresholds.ranks import rank_rows

    os.environ[compiled_loops.VARIABLE] = "always"
    random = np.random.default_rng(0)
    if name == MOMENTS:
        rank, numbers = random.integers(0, 40, (200, 3)), random.random(200)
        moments.MomentSearch(rank, np.stack([numbers**0, numbers, numbers**2, numbers**0]), laws.SQUARE).solve(2)
        return
    if name == MEDIANS:
        rank, numbers = random.integers(0, 40, (200, 3)), np.sort(random.random(200))
        medians.MedianSearch(rank, np.stack([numbers, numbers**0, numbers**0])).solve(1)
        return
    if name == SUBTREES:
        codes, rows, one = random.integers(0, 9, (2, 20)).astype(np.int32), np.arange(20), np.arange(1)
        numbers, written = np.ones(20), (np.empty(1), np.empty((1, 2), np.int64))
        both = one.repeat(2)
        threshold_kernel.best_subtrees(
            codes, rows, numbers, rows, numbers[:2], numbers[:2], both, np.arange(2), one, one[None], *written
        )
        return
    if name == FEW_TESTS:
        answers = random.integers(0, 2, (40, 4)).astype(bool)
        subset_trees.compiled()
        ConstrainedSearch(ConstrainedProblem(answers, random.integers(0, 2, (40, 2)), subset_trees.DEPTHS[-1])).run()
        return
    if name == BINS:
        ranked = rank_rows(random.integers(0, 40, (200, 3)), np.eye(2)[random.integers(0, 2, 200)])
        bin_bound.BinBound(ranked, 3, lambda: None).raise_in(lambda: 0.1, 200)
        return
    rank = random.integers(0, 40 if name.startswith("depth_two") else 2, (200, 8))
    weight = random.integers(2**29, 2**30, 200) if name.endswith(WIDE) else np.ones(200)
    search = RankSearch(rank_rows(rank, np.eye(2)[random.integers(0, 2, 200)] * weight[:, None]))
    search.dive(4)
    search.solve(3)


def _place(name: str) -> Path:
    """The folder in which the kernels stay."""
    from odtc.algorithms.bins import bin_bound  # they use this module
    from odtc.algorithms.constrained.few_tests import subset_trees
    from odtc.algorithms.constrained.sweeps import threshold_kernel
    from odtc.algorithms.moments import kernels, medians
    from odtc.algorithms.thresholds import compiled

    loops = {
        MOMENTS: kernels.compiled,
        MEDIANS: medians.compiled,
        SUBTREES: threshold_kernel.compiled,
        FEW_TESTS: subset_trees.compiled,
        BINS: bin_bound.compiled,
    }
    folder = compiled_loops.place(loops[name]()) if name in loops else compiled.place(name.removesuffix(WIDE))
    assert folder is not None
    return folder


def main() -> None:
    """Compiles the kernels around the one that is named, unless another process does."""
    with open(_place(sys.argv[1]) / LOCK, "wb") as held:
        if system.hold(held.fileno()):
            system.limit_cpu(MOST)
            threading.Thread(target=_end_after_parent, args=(float(sys.argv[2]),), daemon=True).start()
            _compile(sys.argv[1])
            os._exit(0)  # an interpreter that ends in order waits for the lock of the input, which that thread holds


if __name__ == "__main__":
    main()
