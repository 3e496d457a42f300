"""What the tests of the command line share: `odtc` run in this process or as a user starts it."""

import contextlib
import functools
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from typer.main import get_command

from odtc.cli import app
from odtc.cli.app import main

CHECKOUT = Path(__file__).resolve().parents[1]
MONKS = CHECKOUT / "examples" / "monks"
# Which test compiles a kernel first depends on their order; test_kernels.py tests this line.
COMPILED = re.compile(r"^odtc: (?:kernels were compiled in|compiling kernels, once after) .*\n", re.M)


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def facts(self) -> dict:
        """The one JSON object on stdout; anything beside it is an error."""
        return json.loads(self.out)


@functools.cache
def _command_line(only, make=app.command_line):
    """The command line, which typer makes from the annotations of its options: once for all commands of a process."""
    return get_command(make(only))


def _separate(first, *words) -> list[str]:
    """The words of a command, of which the first argument may hold several between blanks."""
    return [*str(first).split(" "), *map(str, words)]


def odtc(*words, folder=".") -> Said:
    """`odtc words…` in `folder`, in this process: what it prints, and how it exits. The environment that it sets for
    processes of its own, such as plug-ins, ends with it."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    sys.argv = ["odtc", *_separate(*words)] if words else ["odtc"]
    try:  # this process goes on, whatever thread is still at work
        with (
            mock.patch.object(app, "_goes_on", lambda: False),
            mock.patch.object(app, "command_line", _command_line),
            mock.patch.dict(os.environ),
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as end:
        return Said(end.code, out.getvalue(), COMPILED.sub("", err.getvalue()))
    finally:
        sys.argv = argv
        for number, handler in handlers.items():
            signal.signal(number, handler)
    raise AssertionError("main() returns only by sys.exit")


def command(*words) -> list[str]:
    return [sys.executable, "-m", "odtc", *map(str, words)]


def environment(**more) -> dict:
    path = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | more


EXTRA = ("pandas", "matplotlib", "onnx", "dask")  # what no page takes for granted: the install line brings none of them


def without(*packages, folder) -> dict:
    """The environment of a process that finds none of these packages: modules in `folder` stand before them."""
    folder.mkdir()
    for name in packages:
        (folder / f"{name}.py").write_text(f'raise ModuleNotFoundError("No module named {name!r}", name={name!r})\n')
    return environment(PYTHONPATH=os.pathsep.join([str(folder), environment()["PYTHONPATH"]]))


def started(*words, folder=".", **options) -> Said:
    """`python -m odtc words…` as a process of its own."""
    options = {"env": environment(), "encoding": "utf-8", "timeout": 120, "stdin": subprocess.DEVNULL} | options
    done = subprocess.run(command(*_separate(*words)), cwd=folder, capture_output=True, **options)
    err = done.stderr if done.stderr is None or isinstance(done.stderr, bytes) else COMPILED.sub("", done.stderr)
    return Said(done.returncode, done.stdout, err)


# What `python -c` runs, with the words of odtc behind it: a shell may have told its children to ignore Ctrl-C.
HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
RUNS = "from odtc.cli.app import program; program()"


def hearing(*words, first: str = "") -> list[str]:
    """`odtc words…` as a process that hears Ctrl-C; `first` is done before it begins."""
    return [sys.executable, "-c", HEARS + first + RUNS, *map(str, words)]


def signalled(words, folder, ready, number=signal.SIGINT, rest=0.0) -> Said:
    """What a process says that gets a signal `rest` seconds after `ready()` holds; it has ended then."""
    process = subprocess.Popen(
        words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 120
        while not ready() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(rest)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    return Said(process.returncode, out, COMPILED.sub("", err))


def refused(said: Said, code: int | None = None) -> str:
    """The sentence of a refusal, after it was found to be the only thing said. Without a code it may be that of a bad
    input (1) or of wrong usage (2), which test_exit_codes.py and mistakes.txt tell apart."""
    assert said.code in ((1, 2) if code is None else (code,)), (said.code, said.err)
    assert said.err.startswith("odtc: error: ") and said.err.count("\n") == 1 and said.err.endswith("\n"), said.err
    assert "Traceback" not in said.err and "a fault in odtc itself" not in said.err, said.err
    return said.err.removeprefix("odtc: error: ").rstrip("\n")


def contents(folder) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}
