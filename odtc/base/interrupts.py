"""Handle Ctrl-C and SIGTERM in a command: raise KeyboardInterrupt, but not while work would be left incomplete.

A signal waits until a running import has ended, because a library whose import was interrupted stays incomplete and
fails when it is used again for the result. It also waits for a running call of polars, whose Rust code panics if a call
of Python is interrupted. A result that is found and written is also printed. Python loses exceptions that are raised in
a finalizer or in a callback of the garbage collector, so such a signal is sent again. Before the command has begun, and
after it has ended, a signal ends the process without a traceback.
"""

import _thread
import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from types import FrameType

AGAIN = 0.05  # seconds between two checks whether the protected work has ended
LONGEST = 5.0  # seconds after which the protected work is interrupted all the same
# Seconds of work, and of the clock, after `held`: one block follows another, and a waiting signal comes after
# the last, not between two of them if this process happens to be set aside there.
BETWEEN, PAUSE = 0.05, 0.5
SIGNALS = (signal.SIGINT, signal.SIGTERM)
IMPORT = "importlib._bootstrap>", "_find_and_load"  # end of the file name, and name, of the function that imports
RUST = "polars"  # a library whose code in Rust calls Python, and panics if such a call is interrupted

_holds: list[None] = []  # one for each block of `held` that is open
_written: list[str] = []  # the files that were written and have their final names, in this order
_since: list[float] = []  # when the waiting signal came, if one waits
_reminders: list[int] = []  # the signal that a thread sends again
_released: list[tuple[float, float]] = []  # (clock, CPU time of the main thread) at the end of the last block of `held`
_forgetting: list[None] = []  # whether the signals of this thread are ignored from now on
_left: list[str] = []  # the results that an interruption leaves, as stated by the command
_first: list[int] = []  # the first signal since the command began
_hooks: list[Callable[["sys.UnraisableHookArgs"], object]] = []  # the hook for lost exceptions except for ours


def hear(starting: bool = False) -> None:
    """Make Ctrl-C and SIGTERM raise KeyboardInterrupt from now on, with a delay while an import, a call of polars or a
    block of `held` runs.

    Only the main thread can change this; in another thread nothing happens. Ctrl-C stays ignored if the parent process
    ignores it.

    Parameters
    ----------
    starting : bool
        Whether the command has not begun: the signals then end the process with a sentence.
    """
    handler = _end_the_start if starting else _heard
    for number in SIGNALS:
        if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(number, handler)
    if not starting and sys.unraisablehook is not _lost:
        _hooks[:] = [sys.unraisablehook]
        sys.unraisablehook = _lost


def part(code: int) -> None:
    """End Ctrl-C handling after a command: Ctrl-C and SIGTERM then end the process with its exit code, without a
    message."""

    def leave(number: int, frame: FrameType | None) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)

    _forget_the_waiting()
    if sys.unraisablehook is _lost:
        sys.unraisablehook = _hooks.pop()
    for number in SIGNALS:
        if signal.getsignal(number) in (_heard, _end_the_start):
            with contextlib.suppress(ValueError):
                signal.signal(number, leave)
                atexit.register(signal.signal, number, signal.SIG_IGN)  # Python's exit restores handlers that kill


@contextmanager
def held(last: bool = False) -> Iterator[None]:
    """Delay signals inside this context, for at most LONGEST seconds, for example while files change together.

    Parameters
    ----------
    last : bool
        Whether nothing important follows, for example because the block prints a result that is already written. A
        delayed signal is then forgotten if the block ends without an error.
    """
    _holds.append(None)
    try:
        yield
        if last:
            _forget_the_waiting()
    finally:
        _holds.pop()
        if _since:
            _released[:] = [(time.monotonic(), time.thread_time())]


def _forget_the_waiting() -> None:
    """Ignore a waiting signal, and signals that its thread may still send."""
    if not _reminders:
        return
    _forgetting.append(None)
    _since.clear()
    _released.clear()
    until = time.monotonic() + 1.0  # a limit, because a forked process does not have this thread
    while _reminders and time.monotonic() < until:
        time.sleep(AGAIN / 10)
    time.sleep(AGAIN / 10)  # the last signal arrives in here
    _reminders.clear()
    _forgetting.clear()


def wrote(path: str | PathLike[str]) -> None:
    """Record that a file is complete and has its final name."""
    if os.fspath(path) not in _written:
        _written.append(os.fspath(path))


def begin() -> None:
    """Forget the files and the signals of an earlier command of this process."""
    _written.clear()
    _first.clear()
    _left.clear()


def leaves(sentence: str) -> None:
    """State the results that an interruption leaves, such as finished fits; by default, these are the files that were
    written."""
    _left[:] = [sentence]


def exit_code(otherwise: int) -> int:
    """Return the exit code of a command: 130 after Ctrl-C, 143 after SIGTERM, as shells count, else `otherwise`."""
    return 128 + _first[0] if _first else otherwise


def words() -> str:
    """Return the results that an interruption leaves, as the beginning of a sentence: files that are still there,
    except logs."""
    if _left:
        return f"interrupted; {_left[0]}"
    if results := [path for path in _written if not path.endswith(".log") and os.path.exists(path)]:
        return f"interrupted; these files are complete: {', '.join(results)}"
    return "interrupted before there was a result; no incomplete file was written"


def _heard(number: int, frame: FrameType | None) -> None:
    """Handle a signal: raise KeyboardInterrupt, now or later."""
    if _forgetting:
        return
    _first[:] = _first or [number]
    now = time.monotonic()
    if (_holds or _must_end(frame) or (_since and _just_released(now))) and now - (_since or [now])[0] < LONGEST:
        if not _since and not _wait(number, now):
            raise KeyboardInterrupt
        return
    _forget_the_waiting()
    raise KeyboardInterrupt


def _wait(number: int, now: float) -> bool:
    """Start a thread that sends the signal again; False if no thread can be started."""
    _since.append(now)
    _reminders.append(number)
    try:
        _thread.start_new_thread(_remind, (number,))  # threading.Thread takes a lock that we may hold
    except RuntimeError:
        _reminders.clear()
        _since.clear()
        return False
    return True


def _lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Handle exceptions that nobody can catch: send a signal again, and pass all others to the previous hook."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        _hooks[0](unraisable)
    elif not _since:
        _wait(signal.SIGINT, time.monotonic())


def _remind(number: int) -> None:
    from odtc.base import system  # loaded by now; an import at the top of the module would delay `hear`

    while _since:
        time.sleep(AGAIN)
        if _since:
            system.signal_main_thread(number)
    _reminders.clear()


def _just_released(now: float) -> bool:
    clock, spent = (_released or [(-PAUSE, 0.0)])[0]
    return now - clock < PAUSE and time.thread_time() - spent < BETWEEN


def _must_end(frame: FrameType | None) -> bool:
    """Return whether an import or a call of a library in Rust is running."""
    while frame is not None:
        code, package = frame.f_code, str(frame.f_globals.get("__name__")).partition(".")[0]
        if package == RUST or (code.co_name == IMPORT[1] and code.co_filename.endswith(IMPORT[0])):
            return True
        frame = frame.f_back
    return False


def _end_the_start(number: int, frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"odtc: error: {words()}\n".encode())
    os._exit(128 + number)
