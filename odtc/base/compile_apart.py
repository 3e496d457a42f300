"""Kernels, compiled by a separate process while work continues in numpy: `python -m` runs this module as that process.

numba needs two to twelve CPU seconds for the kernels of a module, once on a machine. Work with a short limit would
never wait for that; a second processor, if there is one, has them on disk before the limit, or for the next command. A
module of kernels has `compile_now`, which calls them on little data, and `COMPILED`, which states their place on disk;
one that has kernels of several names takes the name in `compile_now` and `place`. One process compiles at a time. Its
input ends with the process that has started it. It then continues at a low priority, for at most ALONE seconds,
because otherwise commands that end sooner would begin the same function again and again; and it never takes more than
MOST CPU seconds.
"""

import atexit
import importlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odtc.base import compiled_loops, system

LOCK = "compiling.lock"  # next to the compiled files; held by the process that compiles
ENDED = 5.0  # seconds that the process has to end in
ALONE = 120.0  # seconds that it goes on once the process that has started it has ended
NICE = 10  # its priority then, as `nice` counts it
HELD = 3  # the exit code of the process if another one compiles
WAIT = 0.5  # seconds until it is tried again
MOST = 60  # CPU seconds of it
PAYS = 2.0  # CPU seconds in numpy, after which it begins

_process: subprocess.Popen[bytes] | None = None
_waited_for: set[subprocess.Popen[bytes]] = set()  # processes of `finish`
_begun: list[tuple[str, str]] = []  # modules and names of requested kernels, the last one that process's


def begin(module: str, name: str = "") -> None:
    """Start a process that compiles the kernels of a module, if this machine has a spare processor and this process
    has started none that is still running, nor one for them; that process ends at once if another one compiles
    them."""
    global _process
    if (module, name) in _begun or goes_on() or system.cores() < 2 or system.WINDOWS:
        return
    leave()
    try:
        _process = _start(module, name, subprocess.DEVNULL)
    except OSError:  # no more processes are granted: the search does without
        return
    if not _begun:
        atexit.register(leave)
    _begun.append((module, name))


def finish(module: str, name: str = "") -> Path | None:
    """Has the kernels of a module compiled in a process apart, once no other one compiles, and waits for it.

    Returns
    -------
    Path or None
        The folder in which they stay; None if no folder can be written, or if that process did not get so far.

    Raises
    ------
    ImportError
        If numba is not installed, or not for this numpy.
    """
    _place(module, name)  # raises without numba
    until = time.monotonic() + ALONE
    while True:
        with _start(module, name, subprocess.PIPE) as process:
            _waited_for.add(process)
            try:
                assert process.stdout is not None
                folder = os.fsdecode(process.stdout.read().rstrip(b"\n"))
                code = process.wait()
            finally:
                _waited_for.discard(process)
                if process.poll() is None:
                    system.end_group(process)
        if code != HELD or time.monotonic() > until:
            return Path(folder) if code == 0 else None
        time.sleep(WAIT)


def _start(module: str, name: str, out: int) -> subprocess.Popen[bytes]:
    """Start the process; it writes the folder to `out`."""
    command = system.child_python(__name__, module, name, str(ALONE))
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": out, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=system.python_environment(), **streams, **system.own_group())


def _place(module: str, name: str) -> Path | None:
    kernels = importlib.import_module(module)
    return kernels.place(name) if name else compiled_loops.place(kernels.COMPILED.load())


def once_it_pays(module: str, load: Callable[[], Any]) -> Callable[[float], bool]:
    """Return a function of CPU seconds spent in numpy. It lets a separate process compile the kernels of a module, as
    returned by `load`, if these seconds pay for it, and returns whether that process is running
    (odtc.base.compiled_loops.Repaid)."""

    def apart(spent: float) -> bool:
        if spent > PAYS and compiled_loops.place(load()) is not None:
            begin(module)
        return goes_on() and _begun[-1] == (module, "")

    return apart


def goes_on() -> bool:
    """Return whether the process that `begin` has started is still compiling."""
    return _process is not None and _process.poll() is None


def leave() -> None:
    """Let that process continue by itself, if it is still compiling."""
    if _process is not None and _process.stdin is not None:
        _process.stdin.close()
        _process.poll()


def end() -> None:
    """End that process."""
    if _process is not None and _process.stdin is not None:
        _process.stdin.close()
        if _process.poll() is None:
            system.end_group(_process)
        _process.wait(ENDED)


def end_all() -> None:
    """End the processes that other threads wait for in `finish`, which then return None."""
    for process in list(_waited_for):
        system.end_group(process)


def _end_after_parent(seconds: float) -> None:
    """End this process some time after its input has ended, and lower its priority until then."""
    sys.stdin.buffer.read()
    if seconds > 0:
        os.chdir("/")  # so that no folder is held
        system.lower_priority(NICE)
        time.sleep(seconds)
    os._exit(1)


def main() -> None:
    """Compile the kernels of a module, unless another process does."""
    module, name, alone = sys.argv[1:]
    kernels, names = importlib.import_module(module), [name] if name else []
    folder = _place(module, name)
    assert folder is not None
    with open(folder / LOCK, "wb") as held:
        if system.hold(held.fileno()) or system.WINDOWS:  # which locks nothing
            system.limit_cpu(MOST)
            threading.Thread(target=_end_after_parent, args=(float(alone),), daemon=True).start()
            os.environ[compiled_loops.VARIABLE] = "always"
            kernels.compile_now(*names)
            sys.stdout.buffer.write(os.fsencode(folder) + b"\n")
            sys.stdout.flush()
            os._exit(0)  # an interpreter that ends in order waits for the lock of the input, which that thread holds
    sys.exit(HELD)


if __name__ == "__main__":
    main()
