"""What a solver is, and how one is run: with a deadline of our own, and nothing of it believed.

    NAME, SUMMARY
    version()                      text, or None where the solver is not on this machine
    run(job, emit, cancelled)      -> Outcome; for a solver that runs inside Python
    read_log(text)                 -> Termination, or None where the log is not this solver's

`emit` takes Progress, Incumbent and Log events; `cancelled()` is asked often. Without a time
limit the solver runs in a thread of this process. With one it runs in a process of its own,
which is told to stop at the limit and ended when it has not by the end of the grace: the
last incumbent it sent is kept either way.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from odtc.errors import ChoiceError, SolverError
from odtc.registry import Registry
from odtc.solution import Progress, Solution, Termination

SOLVERS = Registry("solver", "odtc.solvers", ("highs",), ("NAME", "SUMMARY", "version", "run", "read_log"))

GRACE = 10.0  # seconds a solver has, after its limit, to hand in its incumbent
NUDGE = 1.0  # seconds after its limit when it is told to stop, if it has not by itself


@dataclass(frozen=True)
class Options:
    """`time_limit` in wall seconds; `gap` holds absolutely and relatively; `threads` None is the
    solver's own choice."""

    time_limit: float | None = None
    threads: int | None = None
    seed: int = 0
    gap: float = 0.0

    def __post_init__(self):
        for key, value, fits, wanted in (
            ("--time-limit", self.time_limit, self.time_limit is None or 0 < self.time_limit < 1e9, "seconds above 0"),
            ("--threads", self.threads, self.threads is None or 1 <= self.threads <= 1024, "a whole number from 1"),
            ("--seed", self.seed, 0 <= self.seed < 2**31, "a whole number from 0 to 2147483647"),
            ("--gap", self.gap, 0 <= self.gap < float("inf"), "a number of at least 0"),
        ):
            if not fits:
                raise ChoiceError(f"{key}: expected {wanted}, got {value!r}")


@dataclass(frozen=True)
class Job:
    """A model as arrays, which can be sent to another process. `A` is a csc_array."""

    c: np.ndarray
    offset: float
    A: object
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integrality: np.ndarray
    options: Options
    start: np.ndarray | None = None


@dataclass(frozen=True)
class Incumbent:
    x: np.ndarray


@dataclass(frozen=True)
class Log:
    text: str


@dataclass(frozen=True)
class Outcome:
    """What the solver says at its end; `objective` and `bound` are its own words."""

    x: np.ndarray | None
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    start: str = "none"
    message: str = ""


def solve(model, solver: str = "highs", options: Options | None = None, start: np.ndarray | None = None,
          progress=None, log=None) -> Solution:
    """Solves a model and hands back what is known, time limit or Ctrl-C notwithstanding.

    `start` is a point of shape (columns,), given as a MIP start; `progress` is called with a
    Progress, `log` with pieces of the solver's log. The objective is recomputed from the point.
    Raises SolverError where the solver cannot be run, ChoiceError for an unknown one.
    """
    options = options or Options()
    module = SOLVERS.get(solver)
    if module.version() is None:
        raise SolverError(f"solver {solver!r} is not on this machine; install it, or choose one of `odtc list solvers`")
    job = Job(model.c, model.offset, model.A, model.row_lower, model.row_upper, model.col_lower,
              model.col_upper, model.integrality, options, start)
    run = _Run(model, progress, log)
    if options.time_limit is None:
        _in_thread(module, job, run)
    else:
        _in_process(solver, job, run)
    return run.solution(f"{module.NAME} {module.version()}", time.monotonic() - run.began)


def termination_in_log(path) -> Termination | None:
    """What a solver's log says of its end, of the first solver that recognises it; None if none does.

    Raises SolverError for a log that cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise SolverError(f"cannot read the log {str(path)!r}: {problem.strerror}") from None
    found = (SOLVERS.get(name).read_log(text) for name in SOLVERS.names())
    return next((termination for termination in found if termination is not None), None)


class _Run:
    """What one solve has said so far: the last incumbent and bound, and its history."""

    def __init__(self, model, progress, log):
        self.model, self.progress, self.log = model, progress, log
        self.x, self.bound, self.nodes, self.history = None, None, None, []
        self.began = time.monotonic()
        self.outcome: Outcome | None = None
        self.stopped: Termination | None = None  # why we stopped it, if we did

    def take(self, event) -> None:
        if isinstance(event, Incumbent):
            self.x = event.x
        elif isinstance(event, Log):
            if self.log:
                self.log(event.text)
        elif isinstance(event, Outcome):
            self.outcome = event
        elif isinstance(event, Progress):
            self.bound = event.bound if event.bound is not None else self.bound
            self.nodes = event.nodes if event.nodes is not None else self.nodes
            state = (event.incumbent, event.bound)
            if not self.history or self.history[-1][1:] != state:
                self.history.append((round(event.seconds, 3), *state))
            if self.progress:
                self.progress(event)

    def solution(self, name: str, seconds: float) -> Solution:
        said = self.outcome or Outcome(None, self.stopped or Termination.ERROR, message="the solver ended without a word")
        x = said.x if said.x is not None else self.x
        bound = said.bound if said.bound is not None else self.bound
        termination = said.termination
        if termination == Termination.INTERRUPTED and self.stopped:
            termination = self.stopped
        objective = self.model.objective(x) if x is not None else None
        # Two doubles for one number: the bound of a proof differs from its objective by rounding.
        if None not in (objective, bound) and abs(objective - bound) <= 1e-9 * max(1.0, abs(objective)):
            bound = objective
        return Solution(
            x, termination, objective, bound, seconds, name, said.nodes if said.nodes is not None else self.nodes,
            said.objective, said.start, tuple(self.history), said.message,
        )


def _in_thread(module, job, run) -> None:
    """In this process. Ctrl-C asks the solver to stop; a second one leaves it to itself."""
    events, cancel = queue.SimpleQueue(), threading.Event()

    def work():
        try:
            events.put(module.run(job, events.put, cancel.is_set))
        except Exception as problem:  # whatever a solver's binding raises is one sentence to the user
            events.put(Outcome(None, Termination.ERROR, message=f"{type(problem).__name__}: {problem}"))

    threading.Thread(target=work, daemon=True).start()
    while run.outcome is None:
        try:
            run.take(events.get())
        except KeyboardInterrupt:
            if cancel.is_set():
                return
            run.stopped = Termination.INTERRUPTED
            cancel.set()


def _in_process(solver, job, run) -> None:
    """In a process of its own, whose group is ended when it does not keep the limit."""
    package = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "odtc.worker", solver], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path}, start_new_session=True,
    )
    events = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(child.stdout, events), daemon=True).start()
    limit, deadline, told = job.options.time_limit, None, False
    try:
        try:
            pickle.dump(job, child.stdin, protocol=5)
            child.stdin.flush()
        except BrokenPipeError:
            pass  # it ended already; what it said is in `events`
        while run.outcome is None:
            now = time.monotonic()
            wait = None if deadline is None else max(0.0, (deadline + (GRACE if told else NUDGE)) - now)
            try:
                event = events.get(timeout=wait)
            except queue.Empty:
                run.stopped = run.stopped or Termination.TIME_LIMIT
                if told:
                    return
                told = _tell(child)
                continue
            except KeyboardInterrupt:
                run.stopped = Termination.INTERRUPTED
                if told:
                    return
                told, deadline = _tell(child), time.monotonic()
                continue
            if event is None:  # the pipe is closed: it has ended
                return
            if event == "started":  # the limit is the solver's, not that of Python's start
                run.began = time.monotonic()
                deadline = run.began + limit
            else:
                run.take(event)
    finally:
        _end(child)


def _tell(child) -> bool:
    try:
        child.stdin.close()  # the worker takes the end of its input for "stop"
    except OSError:
        pass
    return True


def _end(child) -> None:
    """Ends exactly the process group that we started, and waits for it."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        try:
            stream.close()
        except OSError:
            pass


def _listen(stream, events) -> None:
    try:
        while True:
            events.put(pickle.load(stream))
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        events.put(None)
