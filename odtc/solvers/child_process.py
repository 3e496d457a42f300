"""Child processes, each in its own process group: start them, read their output, interrupt and end them reliably.

The only module that starts processes.
"""

import contextlib
import os
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from odtc.base import system

NUDGE = 1.0  # seconds after its limit at which a process that still runs is told to stop
AT_LIMIT = 1.0  # seconds that it then has to return its result; two seconds after its limit it is ended
GRACE = 10.0  # seconds to return a result after Ctrl-C, but at most until two seconds after the limit
PATIENCE = 5.0  # seconds for a command that only prints its version
PARTING = 1.0  # seconds for remaining output of a process that has ended, but whose children keep the pipe open
MARK = "ODTC_STARTED"  # environment variable that marks a process and its descendants, so that they can be found
WORDS = 1 << 16  # bytes of the output of such a command that are read
HELD = 256  # events in the queue; if it is full, the program blocks when it prints
# Seconds between two checks of the clock, of requests to stop, and of Ctrl-C. Waiting needs a timeout, because
# libraries restore the handler of SIGINT with SA_RESTART, and then the signal does not wake a waiting thread.
POLL = 0.1


class Child:
    """A child process that runs `argv` in its own process group.

    `listen(stream, put)` reads its output and puts events into `events`, at most HELD at once; None marks the end of
    the output. `input` is the path of the file that the child reads; if None, we write to `process.stdin`. If this
    process is killed, a watcher ends the group and removes the `folder` in which it ran; the command waits for its
    watcher. Processes that the child starts in another group or session are ended, too, if the system reports the
    environment of a process (Linux). Raises OSError if the child cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        listen: Callable[[Any, Callable[[Any], object]], None],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | Path | None = None,
        merge_stderr: bool = False,
        folder: str | Path | None = None,
    ) -> None:
        self._mark = f"{MARK}={secrets.token_hex(16)}"
        env = dict(os.environ if env is None else env) | dict([self._mark.split("=")])
        gated = None if "\n" in f"{input}{folder}" else system.gated_command(argv)
        with contextlib.ExitStack() as opened:
            direct = opened.enter_context(open(input, "rb")) if input is not None and gated is None else None
            self._start(gated or argv, direct or subprocess.PIPE, cwd, env, merge_stderr)
        self.watcher = _watcher(self.process.pid, folder, self._mark)
        if gated is not None:
            with contextlib.suppress(OSError):  # it has ended already
                self.process.stdin.write(os.fsencode(input or "") + b"\n")
                self.process.stdin.flush()
            if input is not None:
                self.close_input()
        self.events: queue.Queue[Any] = queue.Queue(HELD)
        self._ended = threading.Event()
        threading.Thread(target=self._hear, args=(listen,), daemon=True).start()

    def _start(
        self, argv: Sequence[str], stdin: Any, cwd: str | Path | None, env: Mapping[str, str] | None, merge_stderr: bool
    ) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else None,
            cwd=cwd,
            env=env,
            **system.own_group(),
        )

    def _hear(self, listen: Callable[[Any, Callable[[Any], object]], None]) -> None:
        # The reading thread closes the stream: closing it in another thread would block while a child of the
        # program still keeps it open.
        with self.process.stdout as stream:
            try:
                listen(stream, self._put)
            finally:
                self._put(None)

    def _put(self, event: Any) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(queue.Full):
                return self.events.put(event, timeout=POLL)

    def interrupt(self) -> None:
        """Send the whole group the signal of Ctrl-C."""
        system.interrupt_group(self.process.pid)

    def close_input(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def end(self) -> int:
        """End everything that was started, wait for it, and return its exit code."""
        system.end_group(self.process)
        system.end_marked(self._mark)
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.wait()
            with contextlib.suppress(OSError):
                self.watcher.stdin.close()
        self._ended.set()
        self.process.wait()
        if self.process.stdin is not None:
            self.close_input()
        return self.process.returncode


def _watcher(group: int, folder: str | Path | None, mark: str) -> subprocess.Popen[bytes] | None:
    """Start a process that ends a group, and all processes with a mark in their environment, if this process dies;
    None if there is no shell."""
    command = system.watcher_command()
    if command is None or "\n" in str(folder):
        return None
    quiet = subprocess.DEVNULL
    try:
        watcher = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd="/", **system.own_group()
        )
        # Its input stays open until this process ends.
        watcher.stdin.write(f"{group}\n{folder or os.devnull + '/none'}\n{mark}\n".encode("utf-8", "surrogateescape"))
        watcher.stdin.flush()
    except OSError:
        return None
    return watcher


class _End:
    """Deadlines of a child process: when it is told to stop, and why, and until when its output is awaited.

    Parameters
    ----------
    tell : callable
        Tells the child to stop.
    limit : float or None
        Seconds from its start; NUDGE seconds later it is told to stop.
    grace : float
        Seconds that it has after the limit.
    """

    def __init__(self, tell: Callable[[], object], limit: float | None, grace: float):
        self._tell, self._limit, self._grace = tell, limit, grace
        self.why: str | None = None  # "time_limit" or "interrupted"
        self._next = self._last = float("inf")  # the moments of the next step and of the last one (time.monotonic())
        self._parted: float | None = None  # the moment at which the process was first seen to have ended

    def begin(self) -> None:
        """Start the clock of the limit, unless the child was told to stop before."""
        if self._limit is not None and self.why is None:
            self._next = time.monotonic() + self._limit + NUDGE
            self._last = self._next + self._grace

    def stop(self, why: str, seconds: float) -> None:
        """Tell the child to stop within these seconds."""
        self.why, self._next = why, min(time.monotonic() + seconds, self._last)
        self._tell()

    def stop_in(self, seconds: float) -> None:
        """Tell the child to stop within these seconds, if it has not been told; otherwise only shorten the wait."""
        if self.why is None:
            self.stop("interrupted", seconds)
        self._next = min(self._next, time.monotonic() + seconds)

    def wait(self) -> float | None:
        """Tell the child to stop if its limit has passed. Return the seconds until the next step; None if the grace
        period is over, too."""
        left = self._next - time.monotonic()
        if left <= 0 and self.why is None:
            self.stop("time_limit", self._grace)
            left = self._next - time.monotonic()
        return left if left > 0 else None

    def is_silent(self, process: subprocess.Popen[bytes]) -> bool:
        """Return whether the process ended PARTING seconds ago; called while nothing is printed."""
        if not system.has_ended(process):
            return False
        now = time.monotonic()
        self._parted = self._parted or now
        return now - self._parted > PARTING


def attend(
    child: Child,
    take: Callable[[Any], object],
    tell: Callable[[], object],
    limit: float | None,
    started: bool,
    ends_in: Callable[[], float | None] | None = None,
    grace: float = AT_LIMIT,
) -> str | None:
    """Pass every event to `take` until it returns True or the output of the child ends.

    After Ctrl-C this returns in GRACE seconds, or at the end of the limit if that is sooner. If others keep the output
    of an ended process open, PARTING seconds of silence are awaited.

    Parameters
    ----------
    child : Child
    take : callable
        Takes an event; returns True if it was the last one.
    tell : callable
        Called NUDGE seconds after the limit, or after Ctrl-C; `grace` seconds later, or at a second Ctrl-C, this
        returns.
    limit, started : float or None, bool
        Seconds from the start of the process, or from the event "started" if `started` is False.
    ends_in : callable or None
        Returns the seconds that the process may still run, or None while it may continue: at its first number `tell` is
        called, and at the end of these seconds this returns.
    grace : float

    Returns
    -------
    str or None
        "time_limit" or "interrupted" if this stopped the process, otherwise None.
    """
    end = _End(tell, limit, grace)
    if started:
        end.begin()
    while True:
        try:
            if ends_in is not None and (left := ends_in()) is not None:
                end.stop_in(left)
            wait = end.wait()  # also while events keep arriving
            if wait is None:
                return end.why
            try:
                event = child.events.get(timeout=min(wait, POLL))
            except queue.Empty:
                if end.is_silent(child.process):
                    return end.why
                continue
            if event is None:
                return end.why
            if event == "started":
                end.begin()
            elif take(event):
                return end.why
        except KeyboardInterrupt:
            if end.why is not None:
                return "interrupted"
            end.stop("interrupted", GRACE)


def quick_output(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """Return the output of a short command on both streams, at most WORDS bytes.

    If it hangs, return its output during the first PATIENCE seconds; if it cannot be run, an empty text.
    """
    heard = bytearray()

    def listen(stream: Any, put: Callable[[Any], object]) -> None:
        while len(heard) < WORDS and (piece := stream.read1(WORDS - len(heard))):
            heard.extend(piece)

    try:
        # In a new folder, because a program may read settings (gurobi.env) from its folder, and write files there.
        with system.run_folder() as folder, contextlib.suppress(queue.Empty):
            child = Child(argv, listen, folder, env, os.devnull, True)
            try:
                child.events.get(timeout=PATIENCE)
            finally:
                child.end()
    except OSError:
        return ""
    return bytes(heard).decode("utf-8", "replace")
