"""Differences between operating systems: process groups, their signals, locks that end with their process, links and
CPU seconds of children.

No other module names `resource`, `fcntl` or a signal that Windows lacks (tests/structure). Every function has a branch
for POSIX, which serves Linux and macOS, and one for Windows. The Windows branch has not been run on Windows: its tests
(tests/unit/test_system.py) replace the functions that it calls. Nothing here has been run on macOS: the POSIX branch
uses only functions that both systems have.
"""

import _thread
import contextlib
import errno
import functools
import io
import mmap
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

WINDOWS = sys.platform == "win32"
FOLDER = "odtc-run-"  # first part of the name of the temporary folder of a run
FRESH = 2.0  # seconds after its creation in which a file may not yet be locked by its process
PROGRAMS = {b"\x7fELF", *(bytes.fromhex(sign) for sign in ("feedface feedfacf cefaedfe cffaedfe cafebabe".split()))}
LARGE_PAGE = 1 << 21  # bytes
LEAST_ADDRESS_SPACE = 1 << 30  # bytes; a fit of a small table reserves 400 MB, and compiling kernels takes more
THREADS_OF_LIBRARIES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS")
ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
LOOK = 1.0  # seconds between two checks whether the parent process still runs
SAFE_PATH, OURS = "PYTHONSAFEPATH", "odtc"  # any text sets this variable; by our text we recognise that we set it
LOCK = ".lock"  # the file in the folder of a run that its process keeps locked
# WATCH waits until its input closes, because the process that writes to it has ended. Then it ends the group, and on
# Linux all processes with the mark in their environment, and removes the folder.
# GATE waits for the name of the input file, which is sent when the watcher runs, and then becomes the command in its
# arguments; if this process dies before, it ends. For a command to whose input we write ourselves the name is empty.
GATE = 'IFS= read -r input || exit 1; if [ "$input" ]; then exec "$@" < "$input"; else exec "$@"; fi'
WATCH = (
    'IFS= read -r group && IFS= read -r folder && IFS= read -r mark && [ "$mark" ] || exit; cat > /dev/null; '
    'kill -9 "-$group"; round=0; '
    'while found=$(grep -lsF -e "$mark" /proc/[0-9]*/environ); [ "$found" ] && [ $((round += 1)) -le 9 ]; do '
    'for place in $found; do place=${place#/proc/}; kill -9 "${place%/environ}"; done; done; '
    'rm -rf -- "$folder"'
)


class Process(Protocol):
    """The parts of a `subprocess.Popen` that are used."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...

    def kill(self) -> None: ...


def forget_in_forks(forget: Callable[[], None]) -> None:
    """Call `forget()` in each process that is forked from this one."""
    if not WINDOWS:
        os.register_at_fork(after_in_child=forget)


def shut_out_working_directory() -> None:
    """Prevent every Python that this process or a library starts from importing from the working directory.

    Otherwise `python -m` and `python -c` look there first, so a file called joblib.py would run in each worker.
    """
    if SAFE_PATH not in os.environ:
        os.environ[SAFE_PATH] = OURS
    os.environ.setdefault("NoDefaultCurrentDirectoryInExePath", "1")  # Windows looks there for programs, too


def child_python(module: str, *words: str) -> list[str]:
    """Return the command that runs a module of ours in another Python, which imports nothing from its folder."""
    return [sys.executable, "-P", "-m", module, *words]


def python_environment() -> dict[str, str]:
    """Return the environment in which another Python imports this copy of the package."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}


def program_environment() -> dict[str, str]:
    """Return the environment of an external program: a Python script may import modules from its own folder."""
    return {name: value for name, value in os.environ.items() if (name, value) != (SAFE_PATH, OURS)}


def own_group() -> dict[str, Any]:
    """Return the keywords of `subprocess.Popen` that start a process in a new process group."""
    return {"creationflags": 0x00000200} if WINDOWS else {"start_new_session": True}  # CREATE_NEW_PROCESS_GROUP


def interrupt_group(pid: int) -> None:
    """Send the signal of Ctrl-C to the group of a process that was started with `own_group`."""
    with contextlib.suppress(OSError):
        if WINDOWS:
            os.kill(pid, signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined]  # only Windows has it
        else:
            os.killpg(pid, signal.SIGINT)


def has_ended(process: Process) -> bool:
    """Return whether a process has ended. It is not reaped, so the system does not give its number to another one."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll() is not None
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def end_group(process: Process) -> None:
    """End the group of a process that was started with `own_group`, whatever it does."""
    with contextlib.suppress(OSError):
        if WINDOWS:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def end_marked(mark: str) -> None:
    """End the processes that a program has left running, in any group and session, by a text in their environment.

    Only on Linux; elsewhere they continue, and so do processes that cleared their environment.
    """
    if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
        return
    told, seen = mark.encode(), set()
    while found := [pid for pid in _processes() if pid not in seen and _end_if(pid, told)]:
        seen.update(found)  # processes that they started in the meantime are found in the next round


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _end_if(pid: int, told: bytes) -> bool:
    """End a process if its environment contains these bytes. A pidfd makes sure that the signal reaches the process
    that was checked, and not a newer one with the same number."""
    try:
        held = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if told not in Path(f"/proc/{pid}/environ").read_bytes():
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
        return True
    except OSError:  # it has ended, or is another user's
        return False
    finally:
        os.close(held)


def watcher_command() -> list[str] | None:
    """Return the command of a process that ends a group, and all processes with our mark, if this process dies
    (`WATCH`); None without a shell."""
    shell = _shell()
    return [shell, "-c", WATCH] if shell else None


def gated_command(argv: Sequence[str]) -> list[str] | None:
    """Return a command that waits for a line on its input before it becomes `argv` (`GATE`), so that no process runs
    before its watcher. None if there is no shell, or if the program cannot be started, so that its start reports
    the reason: a shell would run a file that the system refuses as a script."""
    shell = _shell()
    found = shutil.which(argv[0])
    return [shell, "-c", GATE, "sh", *argv] if shell and found and _is_program(found) else None


def _is_program(path: str) -> bool:
    """Return whether a file begins like a program (ELF of Linux, Mach-O of macOS) or a script, or cannot be read."""
    try:
        with open(path, "rb") as stream:
            begin = stream.read(4)
    except OSError:
        return True
    return begin[:2] == b"#!" or begin in PROGRAMS


def _shell() -> str | None:
    return None if WINDOWS else shutil.which("sh", path="/bin:/usr/bin")


def block_interrupt() -> None:
    """Keep Ctrl-C from this thread and from the threads that it starts; on Windows a handler ignores it."""
    if WINDOWS:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def wait_for_interrupt() -> None:
    """Wait for the Ctrl-C that `block_interrupt` holds back; on Windows forever, because no thread can wait for it
    there: the limit, or CTRL_BREAK, ends the process."""
    if WINDOWS:
        threading.Event().wait()
    else:
        signal.sigwait({signal.SIGINT})


def signal_main_thread(number: int) -> None:
    """Send a signal to the main thread of this process; on Windows its handler is called without a signal, so that a
    running system call is not interrupted."""
    if WINDOWS:
        _thread.interrupt_main(signal.Signals(number))
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def children_cpu_seconds() -> float | None:
    """Return the CPU seconds of the child processes that this one has waited for; None on Windows."""
    if WINDOWS:
        return None
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def address_space_left() -> int | None:
    """Return the bytes of memory that a limit of the system (`ulimit -v`) leaves to this process; None without one."""
    if WINDOWS:
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        return max(0, limit - _address_space())
    except (OSError, ValueError):  # no such file: its content is unknown
        return limit


def _address_space() -> int:
    """Return the bytes of address space of this process, as Linux states them."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


@contextmanager
def address_space_limited(more: int | None) -> Iterator[None]:
    """Limit the memory that this process may take inside this context to this many more bytes (None: no limit). Python
    raises MemoryError beyond it. On Windows and macOS memory is not limited."""
    left = address_space_left()
    if more is None or sys.platform != "linux" or (left is not None and left <= more):
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def prepare_address_space() -> str:
    """Fit the libraries into a limited address space (`ulimit -v`), before any is loaded; return why they do not fit.

    Each thread of a library reserves address space, so with a limit each library has one thread, and malloc one arena.
    Libraries end the process without a message if they get too little memory, so a limit below their need is refused.
    """
    if WINDOWS:
        return ""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    if limit < LEAST_ADDRESS_SPACE:
        return (
            f"expected at least {LEAST_ADDRESS_SPACE >> 20} MB of address space, which the libraries reserve, got "
            f"{limit >> 20} MB; allow more (ulimit -v)"
        )
    os.environ.update(dict.fromkeys(THREADS_OF_LIBRARIES, "1"))
    _call_glibc("mallopt", ARENA_MAX, 1)
    return ""


def return_freed_memory() -> None:
    """Return memory that this process has freed, but keeps for its next arrays, to the system (glibc only)."""
    _call_glibc("malloc_trim", 0)


def _call_glibc(name: str, *numbers: int) -> None:
    """Call a function of glibc; do nothing on systems with another C library."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(AttributeError, OSError):
            getattr(ctypes.CDLL(None), name)(*numbers)


def cache_folder() -> Path:
    """Return this user's cache folder, for files that odtc can create again."""
    if WINDOWS:
        folder = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Caches")
    else:
        folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(folder) / "odtc"


def cores() -> int:
    """Return the number of processors that this process may use; on macOS and Windows, the number of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_among_devices(path: Path) -> bool:
    """Return whether a path is in the folder of devices; Linux's files in memory there are files. False on Windows,
    which has no such folder."""
    above = path.absolute().parents
    return Path("/dev") in above and Path("/dev/shm") not in above


def lend(path: Path, name: Path) -> None:
    """Make a file readable under another name: a link, or a copy if the system grants no links (Windows)."""
    try:
        name.symlink_to(path)
    except (OSError, NotImplementedError):
        shutil.copyfile(path, name)


@functools.cache
def end_with_parent() -> None:
    """Make this process end soon after its parent process, however that ends.

    On Windows, where the number of the parent does not change, it continues.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def hold(handle: int) -> bool:
    """Lock an open file until it is closed or the process ends, however it ends; return whether it was free.

    On Windows nothing is locked and the result is False, so that no file is treated as left over.
    """
    if WINDOWS:
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by another, or a file system without locks
        return False
    return True


def past_the_cache(handle: int, direct: bool) -> bool:
    """Make the writes to an open file bypass the system's cache (Linux), or not; return whether they bypass it now."""
    if not hasattr(os, "O_DIRECT"):
        return False
    import fcntl

    try:
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        fcntl.fcntl(handle, fcntl.F_SETFL, flags | os.O_DIRECT if direct else flags & ~os.O_DIRECT)
    except OSError:  # a file system that has no such writes
        return False
    return direct


def memory_in_large_pages(size: int) -> memoryview:
    """Return memory for writes that bypass the cache, aligned to 2 MiB, and in pages of this size if the system has
    them (Linux): the system then looks up fewer pages for each write, and gives the disk a few long pieces."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return memoryview(mmap.mmap(-1, size))
    held = mmap.mmap(-1, size + LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without such pages
        held.madvise(mmap.MADV_HUGEPAGE)
    import ctypes

    skipped = -ctypes.addressof(ctypes.c_char.from_buffer(held)) % LARGE_PAGE
    return memoryview(held)[skipped : skipped + size]


def open_file(path: str | os.PathLike[str], follow: bool = True) -> io.BufferedReader:
    """Open a regular file for reading.

    Use it for a file that another file names, or that was found by its name, because reading a pipe, a socket or a
    device might never end. Raises OSError for these, for a folder, for a link unless `follow`, and if the file cannot
    be opened.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", os.fspath(path))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file (`open_file`)."""
    with open_file(path) as stream:
        return stream.read()


def expect_replaceable(path: Path) -> None:
    """Raise PermissionError if this user may not replace the file at a path, because the folder is not writable, or
    because the file belongs to another user and the folder is shared, such as /tmp."""
    folder = path.parent
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if WINDOWS or not os.path.lexists(path):
        return
    shared = folder.stat()
    if shared.st_mode & stat.S_ISVTX and os.geteuid() not in (0, shared.st_uid, path.lstat().st_uid):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def is_own(handle: int) -> bool:
    """Return whether an open file belongs to the user of this process; always True on Windows."""
    return WINDOWS or os.fstat(handle).st_uid == os.geteuid()


def left_behind(path: Path) -> bool:
    """Return whether the file is this user's and its process has ended, because nobody holds its lock (`hold`)."""
    try:
        if WINDOWS or path.is_symlink():
            return False
        facts = path.stat()
        if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < FRESH:
            return False
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return hold(handle)
    finally:
        os.close(handle)


def abandoned(handle: int, path: Path) -> bool:
    """Return whether no process has locked this open file; on Windows, which has no such locks, whether it is old."""
    return time.time() - path.stat().st_mtime > FRESH if WINDOWS else hold(handle)


def publish(path: Path, name: Path) -> bool:
    """Give a file a new name in one step; return False if another file has this name."""
    try:
        if WINDOWS:
            path.rename(name)
        else:
            os.link(path, name)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if name.exists():
            return False
        os.replace(path, name)
    return True


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """Make a temporary folder for one run, after removing the folders of runs whose process was killed."""
    place = Path(tempfile.gettempdir())
    for old in place.glob(f"{FOLDER}*"):
        if not old.is_symlink() and left_behind(old / LOCK):
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=FOLDER, ignore_cleanup_errors=True) as folder:
        with open(Path(folder) / LOCK, "wb") as held:
            hold(held.fileno())
            yield Path(folder)


class Descriptor:
    """A file descriptor that several threads may silence at once: the first one redirects it, the last restores it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lock, self.readers, self.kept = threading.Lock(), 0, -1

    @contextmanager
    def away(self) -> Iterator[None]:
        with self.lock:
            if self.readers == 0:
                self.kept = _turned_away(self.number)
            self.readers += 1
        try:
            yield
        finally:
            with self.lock:
                self.readers -= 1
                if self.readers == 0 and self.kept >= 0:
                    os.dup2(self.kept, self.number)
                    os.close(self.kept)


# Libraries print to these directly, for example a panicking thread of polars prints its stack to STDERR, in addition
# to raising the exception.
STDOUT, STDERR = Descriptor(1), Descriptor(2)


def _turned_away(number: int) -> int:
    """Redirect this descriptor to the null device, and return a copy of the original; -1 if it is closed.

    Raises OSError if no descriptors are left.
    """
    try:
        kept = os.dup(number)
    except OSError as problem:
        if problem.errno == errno.EBADF:
            return -1
        raise
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
    except OSError:
        os.close(kept)
        raise
    return kept
