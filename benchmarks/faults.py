"""Faults of the machine under every command: python -m benchmarks.faults [COMMAND …] [--faults WORDS,…]

Each command runs in a folder that holds the files of earlier runs under the same stems, in a process with one fault: a
disk that is full (a mounted tmpfs) or read-only, files that may not be read or written, little memory, few handles,
/dev/full, a pipe or a link as a file. A command "passes" if it ends with 0, 1, 2 or 3, tells one sentence if it fails,
prints no traceback, and leaves each older file as it was or, of a command that ended with 0, whole; and nothing that it
does not leave without the fault. Root is needed, for mounts and for rights. What does not pass is printed.
"""

import argparse
import contextlib
import encodings
import importlib
import os
import pkgutil
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import MONKS

PATIENCE = 60  # seconds for a command that takes two
MODEL = ("--model", "flowoct", "--encoding", "onehot", "--solver", "highs")
FIRST = (  # what earlier runs left
    ("fit", "d.csv", *MODEL, "--depth", 1, "--format", "mps", "-o", "m"),
    ("fit", "d.csv", "--pool", 3, "-o", "n"),
    ("certify", "d.csv", "-o", "c.json"),
    ("tune", "d.csv", "--depths", "1,2", "--folds", 2, "-o", "t"),
    ("sweep", "d.csv", "--depths", "1", "--folds", 2, "-o", "s"),
    ("select", "d.csv", "-o", "some.csv"),
    ("predict", "n.tree.json", "d.csv", "-o", "p.csv"),
    ("export", "n.tree.json", "--to", "python", "-o", "e.py"),
    ("report", "n", "-o", "n.html"),
)
COMMANDS = {
    "build": ("build", "d.csv", "--depth", 1, "-o", "m"),
    "solve": ("solve", "m.mps"),
    "decode": ("decode", "m.sol"),
    "fit": ("fit", "d.csv", "--depth", 1, "-o", "n"),
    "fit --model": ("fit", "d.csv", *MODEL, "--depth", 1, "--class-weight", "0=2,1=1", "--format", "mps", "-o", "m"),
    "fit --pool": ("fit", "d.csv", "--depth", 1, "--pool", 2, "-o", "n"),
    "fit --within": ("fit", "d.csv", "--depth", 1, "--within", "10%", "-o", "n"),
    "tune": ("tune", "d.csv", "--depths", "1", "--folds", 2, "-o", "t"),
    "sweep": ("sweep", "d.csv", "--depths", "2", "--folds", 2, "-o", "s"),
    "bench": (
        "bench",
        "models",
        "--data",
        "d.csv",
        "--formulations",
        "flowoct",
        "--depths",
        "1",
        "--results",
        "b.jsonl",
    ),
    "frontier": ("frontier", "d.csv", "--depth", 1, "--vary", "branch_nodes <= 0:1:1", "-o", "f.html"),
    "select": ("select", "d.csv", "--depth", 1, "-o", "some.csv"),
    "predict": ("predict", "n.tree.json", "d.csv", "-o", "p.csv"),
    "verify": ("verify", "m.sol"),
    "verify tree": ("verify", "n.tree.json"),
    "show": ("show", "n.tree.json"),
    "export": ("export", "n.tree.json", "--to", "python", "-o", "e.py"),
    "report": ("report", "n", "-o", "n.html"),
    "inspect": ("inspect", "d.csv"),
    "explain": ("explain", "n.tree.json", "d.csv"),
    "compare": ("compare", "n.tree.json", "m.tree.json", "--data", "d.csv"),
    "certify": ("certify", "d.csv", "--depth", 1, "-o", "c.json"),
    "refit": ("refit", "n.tree.json", "d.csv", "-o", "r"),
    "import": ("import", "n.tree.json", "--data", "d.csv", "-o", "i.tree.json"),
    "plot": ("plot", "size", "n", "m", "-o", "p.svg"),
    "compare -o": ("compare", "n.tree.json", "m.tree.json", "--data", "d.csv", "-o", "c.svg"),
}
DATA = {name for name, words in COMMANDS.items() if "d.csv" in words}


@dataclass(frozen=True)
class Ended:
    """How a command ended; `code` is negative for a signal, and for one that did not end."""

    code: int
    out: str
    err: str


def run(words, folder: Path, before: Callable[[], None] = lambda: None, stdout=None) -> Ended:
    """A command in a fork of this process, which has imported all that it needs."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            try:
                _child(words, folder, before, stdout or out.fileno(), err.fileno())
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        code = _waited(child)
        out.seek(0), err.seek(0)
        return Ended(code, out.read().decode(errors="replace"), err.read().decode(errors="replace"))


def _child(words, folder: Path, before: Callable[[], None], out: int, err: int) -> None:
    from odtc.cli.app import main

    os.setsid()
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1), os.dup2(err, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")  # those of the parent remember its files
    sys.argv = ["odtc", *map(str, words)]
    before()
    try:
        main()
    except SystemExit as end:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code or 0)


def _waited(child: int) -> int:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -99


def contents(folder: Path) -> dict[str, bytes]:
    """The plain files of a folder and below, by their relative paths."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "filler"
    }


# A fault is a context around a folder: it yields (what the child does first, the words, a descriptor as stdout).
Prepared = tuple[Callable[[], None], tuple, int | None]


@contextlib.contextmanager
def full(folder: Path, words, left: int) -> Iterator[Prepared]:
    """`left` KB are free on the disk."""
    stat = os.statvfs(folder)
    with (folder / "filler").open("wb") as stream:
        stream.write(b"\0" * max(0, stat.f_bavail * stat.f_frsize - left * 1024))
    yield (lambda: None), words, None
    (folder / "filler").unlink()


@contextlib.contextmanager
def read_only(folder: Path, words) -> Iterator[Prepared]:
    """The file system takes no changes."""
    subprocess.run(["mount", "-o", "remount,ro", folder.parent], check=True)
    try:
        yield (lambda: None), words, None
    finally:
        subprocess.run(["mount", "-o", "remount,rw", folder.parent], check=True)


def _without_rights() -> None:
    """Root's right to read and write whatever there is goes, as does its right to get it back."""
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


@contextlib.contextmanager
def forbidden(folder: Path, words, which: str) -> Iterator[Prepared]:
    """Another user, who may not write to the folder, nor to its files, or not read them."""
    paths = list(folder.rglob("*"))
    for path in paths:
        path.chmod((0o644 if which == "folder" else 0o000) if path.is_file() else 0o755)
    yield _without_rights, words, None
    for path in paths:
        path.chmod(0o644 if path.is_file() else 0o755)


@contextlib.contextmanager
def limited(folder: Path, words, kind: int, limit: int, above: bool = False) -> Iterator[Prepared]:
    """A limit of the system; with `above`, that much more than the process holds."""

    def first() -> None:
        held = 0
        if above:
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(kind, (held + limit, held + limit))

    yield first, words, None


@contextlib.contextmanager
def dev_full(folder: Path, words) -> Iterator[Prepared]:
    """Nothing can be printed."""
    out = os.open("/dev/full", os.O_WRONLY)
    yield (lambda: None), words, out
    os.close(out)


@contextlib.contextmanager
def broken_pipe(folder: Path, words) -> Iterator[Prepared]:
    """Nobody reads what is printed."""
    theirs, ours = os.pipe()
    os.close(theirs)
    yield (lambda: None), words, ours
    os.close(ours)


@contextlib.contextmanager
def data_from_pipe(folder: Path, words) -> Iterator[Prepared]:
    """The data come from a FIFO, once."""
    data = (folder / "d.csv").read_bytes()
    os.mkfifo(folder / "pipe.csv")

    def write() -> None:
        with contextlib.suppress(OSError), (folder / "pipe.csv").open("wb") as stream:
            stream.write(data)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield (lambda: None), tuple("pipe.csv" if word == "d.csv" else word for word in words), None
    with contextlib.suppress(OSError):
        os.close(os.open(folder / "pipe.csv", os.O_RDONLY | os.O_NONBLOCK))  # ends a writer that nobody heard
    thread.join(1)
    (folder / "pipe.csv").unlink()


@contextlib.contextmanager
def linked(folder: Path, words, how: str) -> Iterator[Prepared]:
    """Each file that is there is a link: to a file elsewhere, to nothing, or to itself."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    for path in list(folder.iterdir()):
        if path.is_file() and path.name != "d.csv":
            target = elsewhere / path.name
            if how == "file":
                path.rename(target)
            else:
                path.unlink()
            path.symlink_to(path.name if how == "itself" else target)
    yield (lambda: None), words, None
    shutil.rmtree(elsewhere)


def faults() -> dict[str, Callable]:
    """The faults by name."""
    found: dict[str, Callable] = {"none": lambda folder, words: limited(folder, words, resource.RLIMIT_CORE, 0)}
    for left in (0, 4, 12, 40):
        found[f"full disk, {left} KB left"] = lambda folder, words, left=left: full(folder, words, left)
    found |= {"read-only": read_only, "stdout full": dev_full, "broken pipe": broken_pipe, "data pipe": data_from_pipe}
    for which in ("folder", "files"):
        found[f"forbidden {which}"] = lambda folder, words, which=which: forbidden(folder, words, which)
    for handles in (5, 8, 12, 20):
        found[f"{handles} handles"] = lambda folder, words, handles=handles: limited(
            folder, words, resource.RLIMIT_NOFILE, handles
        )
    for size in (4, 30, 66, 100, 200):
        found[f"{size} MB"] = lambda folder, words, size=size: limited(
            folder, words, resource.RLIMIT_AS, size << 20, above=True
        )
    for how in ("file", "nothing", "itself"):
        found[f"links to {how}"] = lambda folder, words, how=how: linked(folder, words, how)
    return found


def judged(ended: Ended, before: dict, after: dict, usual: set[str], fault: str) -> list[str]:
    """What is wrong; nothing if it passes."""
    wrong = []
    if ended.code not in (0, 1, 2, 3):
        wrong.append(f"ended with {ended.code}")
    for word in ("Traceback", "a fault in odtc", "Exception ignored"):
        if word in ended.err:
            wrong.append(f"says {word!r}")
    told = ended.err.count("odtc: error: ")
    if fault == "broken pipe":  # which nothing is said of
        told = int(ended.code != 0)
    if (ended.code != 0) != (told == 1):
        wrong.append(f"{told} sentences")
    if more := set(after) - set(before) - usual:
        wrong.append(f"left {', '.join(sorted(more))}")
    if ended.code:
        changed = [name for name in before if after.get(name) != before[name] and not name.endswith(".log")]
        if changed and "links" not in fault and fault not in ("stdout full", "broken pipe"):  # of work that was done
            lost = [name for name in changed if name not in after]
            wrong.append(f"changed {', '.join(changed)}" + (f"; of these lost {', '.join(lost)}" if lost else ""))
    return wrong


def prepared(folder: Path) -> None:
    """The files of earlier runs."""
    folder.mkdir()
    shutil.copy(MONKS / "monks-1.csv", folder / "d.csv")
    for words in FIRST:
        ended = run(words, folder)
        assert ended.code == 0, (words, ended.err)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", help="all if there are none")
    parser.add_argument("--faults", help="only those whose names hold one of these words, between commas")
    parser.add_argument("--all", action="store_true", help="print how each ended")
    given = parser.parse_args()
    _import_all()
    wanted = (given.faults or "").split(",")
    failed = tried = 0
    with tempfile.TemporaryDirectory(prefix="odtc-faults-") as name:
        disk = Path(name) / "disk"
        disk.mkdir()
        Path(name).chmod(0o755)
        prepared(Path(name) / "base")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
        try:
            for command in given.commands or COMMANDS:
                usual: set[str] = set()
                for fault, around in faults().items():
                    if fault != "none" and not any(word in fault for word in wanted):
                        continue
                    if fault == "data pipe" and command not in DATA:
                        continue
                    folder = disk / "run"
                    shutil.copytree(Path(name) / "base", folder)
                    before = contents(folder)
                    with around(folder, COMMANDS[command]) as (first, words, stdout):
                        ended = run(words, folder, first, stdout)
                    after = contents(folder)
                    shutil.rmtree(folder)
                    if fault == "none":
                        usual = set(after)
                    wrong, tried = judged(ended, before, after, usual, fault), tried + 1
                    failed += bool(wrong)
                    if wrong or given.all:
                        said = " ".join(ended.err.split())[:300]
                        print(f"{command} | {fault} | {ended.code} | {'; '.join(wrong)} | {said}", flush=True)
        finally:
            subprocess.run(["umount", disk], check=True)
    print(f"{tried} runs, {failed} do not pass")


def _import_all() -> None:
    """All modules of odtc, and what they import when they are used, so that forks need no file of Python's."""
    import odtc

    for module in pkgutil.walk_packages(odtc.__path__, "odtc."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem"):
            importlib.import_module(f"encodings.{module.name}")
    for name in ("highspy", "scipy.optimize", "scipy.sparse.csgraph", "scipy.sparse.linalg", "jinja2", "typer", "rich"):
        importlib.import_module(name)


if __name__ == "__main__":
    main()
