"""Solve a model with one solver, and check everything that the solver reports.

    NAME, SUMMARY, DIALECT
    version()                      text, or None if the solver is not on this machine
    read_log(text)                 -> Termination, or None if the log is not this solver's

A solver inside Python (HiGHS) has `run(job, emit, cancelled)`, which passes Progress, Incumbent and Log events to
`emit` and calls `cancelled()` often. Without a time limit it runs in a thread of this process. With a time limit, or in
a race, it runs in a separate process. At the limit this process is interrupted, and it is ended if it still runs after
the grace period; the last incumbent is kept either way. The rounds of a loop share one process (`shared_process`). A
solver that is a program defines the parts that `odtc.solvers.external` lists.
"""

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base import system
from odtc.base.registry import Member
from odtc.errors import ModelError, SolverError
from odtc.fileformats.model_files import expect_finite
from odtc.model.feasibility import ROUNDING, is_close, printed_objective, violations
from odtc.model.milp import Model
from odtc.model.solution import NO_POINT, Options, Progress, Solution, Termination, proof
from odtc.solvers import child_process, external
from odtc.solvers import log_parser as logs
from odtc.solvers.child_process import Child, attend
from odtc.solvers.cut_rows import CutCalls, is_installed
from odtc.solvers.executables import FOUND
from odtc.solvers.protocols import SOLVERS, Cuts, CutSolver, Incumbent, Job, Log, Outcome, PackageSolver
from odtc.solvers.solver import find_solver, installed

# Threads of solvers that did not stop when told. While one of them runs, a regular exit of Python would abort.
LEFT: list[threading.Thread] = []


@dataclass
class _Shared:
    """The idle processes of a loop, by solver; `soft` if the limits of its rounds may be exceeded."""

    soft: bool
    idle: dict[str, Child] = field(default_factory=dict)


_shared: ContextVar[_Shared | None] = ContextVar("odtc solver processes", default=None)


def solve(
    model: Model,
    solver: str = "highs",
    options: Options | None = None,
    start: np.ndarray | None = None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
    path: str | Path | None = None,
    program: str | None = None,
) -> Solution:
    """Solve a model and return everything that is known, also after a time limit or Ctrl-C.

    `start` is a point of shape (columns,), given as a MIP start; `progress` is called with a Progress, `log` with
    pieces of the solver's log. For a solver that is a program, `path` is the model file if it is written already, and
    `program` names another executable. The objective is recomputed from the point, and the point is checked: if it
    violates the model, the solution has no point, and the termination is `error`. The termination is `error`, too, if
    the model has finite numbers that solvers take for infinite. Raises SolverError if the solver cannot be run,
    ChoiceError for an unknown solver.
    """
    return _solve(_Run(model, progress, log, start), solver, options or Options(), path, program)


def solve_until(
    ends_in: Callable[[], float | None],
    model: Model,
    solver: str,
    options: Options,
    start: np.ndarray | None = None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
    path: str | Path | None = None,
) -> Solution:
    """Solve as `solve` does, until the caller ends it: `ends_in()` is called often, and returns None while the solver
    may continue, and then the seconds that it still has. A solver inside Python runs in a separate process here, so
    that it can be ended."""
    return _solve(_Run(model, progress, log, start), solver, options, path, ends_in=ends_in)


@contextlib.contextmanager
def shared_process(soft: bool) -> Iterator[None]:
    """Reuse the process of an embedded solver for all models solved inside this context, because starting a process
    takes longer than solving a small model. With `soft`, a time limit may be exceeded, and no process is needed."""
    shared = _Shared(soft)
    token = _shared.set(shared)
    try:
        yield
    finally:
        _shared.reset(token)
        for child in shared.idle.values():
            child.end()


def takes_cuts(solver: str) -> bool:
    """Return whether `solve_with_cuts` runs this solver: its Python package allows it, and is installed."""
    module = find_solver(solver)
    return module.can(CutSolver) and module.PACKAGE is not None and is_installed(module.PACKAGE)


def solve_with_cuts(
    model: Model,
    solver: str,
    cuts: Cuts,
    options: Options,
    start: np.ndarray | None = None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
) -> Solution:
    """Solve a model in one branch-and-bound tree, with the rows that `cuts` returns as lazy constraints.

    Parameters
    ----------
    model : Model
    solver : str
        One that `takes_cuts`.
    cuts : Cuts
        See odtc.solvers.protocols. It is called in another thread of this process.
    options, start, progress, log : as of `solve`

    Returns
    -------
    Solution
        Its point is checked against the model; that it satisfies the cuts is for the caller to check.
    """
    (module, version), run = installed(solver), _Run(model, progress, log, start)
    raised = external.raised(lambda event: event, model.offset)

    def solved(emit: Callable[[Any], object], cancelled: Callable[[], bool]) -> Any:
        calls = CutCalls(model, cuts, cancelled)
        try:
            return raised(module.run_with_cuts(model, options, start, calls))
        finally:
            if calls.failed is not None:
                raise calls.failed

    _in_thread(solved, run, options.time_limit)
    return run.solution(_named(module, version), time.monotonic() - run.began, options.time_limit)


def _named(module: Member, version: str) -> str:
    return module.NAME if version == FOUND else f"{module.NAME} {version}"


def _solve(
    run: "_Run",
    solver: str,
    options: Options,
    path: str | Path | None = None,
    program: str | None = None,
    ends_in: Callable[[], float | None] | None = None,
) -> Solution:
    try:
        for numbers in (run.model.c, run.model.A.data):
            expect_finite(numbers)
    except ModelError as beyond:
        return Solution(None, Termination.ERROR, None, None, 0.0, solver, message=str(beyond))
    solution = _solve_once(run, solver, options, path, program, ends_in)
    spent, limit = time.monotonic() - run.began, options.time_limit
    if not run.contradicted or run.start is None or run.stopped or (limit is not None and spent >= limit):
        return solution
    # HiGHS 1.16 can lose the offset of the objective if presolve solves a model that has a start, and then reports the
    # start as optimal. So the model is solved again without the start.
    left = None if limit is None else limit - spent
    again = _Run(run.model, run.progress, run.log)
    other = _solve_once(again, solver, replace(options, time_limit=left), path, program, ends_in)
    return other if other.has_solution and not again.contradicted else solution


def _solve_once(
    run: "_Run",
    solver: str,
    options: Options,
    path: str | Path | None,
    program: str | None,
    ends_in: Callable[[], float | None] | None,
) -> Solution:
    module, found = installed(solver, program)
    model, start = run.model, run.start
    try:
        if not module.can(PackageSolver):
            run.stopped = external.run(module, model, options, start, run.take, path, program, ends_in)
        else:
            job = Job(
                model.c,
                model.offset,
                model.A,
                model.row_lower,
                model.row_upper,
                model.col_lower,
                model.col_upper,
                model.integrality,
                options,
                start,
            )
            shared = _shared.get()
            if ends_in is None and (options.time_limit is None or (shared is not None and shared.soft)):
                _in_thread(
                    lambda emit, cancelled: Outcome.checked(module.run(job, emit, cancelled), module.name, len(job.c)),
                    run,
                )
            else:
                _in_process(solver, job, run, ends_in)
    except KeyboardInterrupt:  # before the solver could be told to stop
        run.stopped = Termination.INTERRUPTED
    return run.solution(_named(module, found), time.monotonic() - run.began, options.time_limit)


def said_in_log(path: str | Path, module: Member | None = None) -> logs.LogFacts:
    """Return the facts of a log, read by this solver's adapter, by default by the first one that recognises the log.

    Raises SolverError for a log that cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise SolverError(f"cannot read the log {str(path)!r}: {problem.strerror}") from None
    if module is not None:
        return logs.read_log_text(module, text)
    modules = [SOLVERS.get(name) for name in SOLVERS.names()]
    # The last line of a driver has the same meaning for every package.
    return logs.read_log_text(
        next((module for module in modules if module.read_log(text) is not None), modules[0]), text
    )


class _Run:
    """State of one solve: the last incumbent and bound, and the history."""

    def __init__(
        self,
        model: Model,
        progress: Callable[[Progress], None] | None,
        log: Callable[[str], None] | None,
        start: np.ndarray | None = None,
    ) -> None:
        self.model, self.progress, self.log, self.start = model, progress, log, start
        self.x: np.ndarray | None = None
        self.bound: float | None = None
        self.nodes: int | None = None
        self.history: list[tuple[float, float | None, float | None]] = []
        self.began = time.monotonic()
        self.outcome: Outcome | None = None
        self.stopped: str | None = None  # why we stopped it, if we did
        self.contradicted = False  # whether the final point has another objective than the solver reports

    def take(self, event: Any) -> bool:
        """Record an event; return True if it was the last one."""
        if isinstance(event, Incumbent):
            self.x = event.x
        elif isinstance(event, Log):
            if self.log:
                self.log(event.text)
        elif isinstance(event, Progress):
            if event.bound is not None and not event.rounded:
                self.bound = event.bound
            self.nodes = event.nodes if event.nodes is not None else self.nodes
            state = (event.incumbent, event.bound)
            if not self.history or self.history[-1][1:] != state:
                self.history.append((round(event.seconds, 3), *state))
            if self.progress:
                self.progress(event)
        else:
            self.outcome = event
        return self.outcome is not None

    def solution(self, name: str, seconds: float, limit: float | None) -> Solution:
        stopped = Termination(self.stopped) if self.stopped else None
        words = "it did not react to the request to stop" if stopped else "the solver ended without a message"
        said = self.outcome or Outcome(None, stopped or Termination.ERROR, message=words)
        x, termination, message = said.x if said.x is not None else self.x, said.termination, said.message
        if stopped and termination in (Termination.INTERRUPTED, Termination.UNKNOWN, Termination.ERROR):
            termination = stopped
        if (
            stopped == Termination.INTERRUPTED
            and termination == Termination.TIME_LIMIT
            and (limit is None or seconds < limit)
        ):
            termination = stopped  # some solvers report both with the same word
        if termination in NO_POINT:
            x = None  # earlier incumbents contradict this termination
        if termination in (Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED):
            if stopped or (limit is not None and seconds >= limit):
                # CBC's preprocessing reports this if it had no time to process the model.
                message = f"it says {termination.replace('_', ' ')} at the end of its time, which proves nothing"
                termination = stopped or Termination.TIME_LIMIT
            elif self.start is not None and not violations(self.model, self.start, 1e-9):
                termination, message = Termination.ERROR, "it says infeasible, but its start is a solution of the model"
        if x is not None and (wrong := violations(self.model, x)):
            x, termination, message = None, Termination.ERROR, f"its point is not a solution of the model: {wrong}"
        if x is None and termination == Termination.OPTIMAL:
            termination, message = Termination.ERROR, message or "it reports an optimum, but no solution"
        claimed = said.objective if said.x is not None else None
        objective = printed_objective(self.model, x, claimed) if x is not None else None
        if said.x is not None and None not in (objective, said.objective):
            # A point printed with six digits determines the sum of the absolute terms of its objective to six digits.
            digits = 1e-5 * max(1.0, float(np.abs(self.model.c) @ np.abs(x)))
            if abs(objective - said.objective) > digits:
                self.contradicted = True
                message = message or f"it says the objective is {said.objective:.10g}, its point costs {objective:.10g}"
        bound = said.bound if said.bound is not None else self.bound
        if bound is not None and not abs(bound) < logs.NO_BOUND:
            bound = None
        if self.contradicted:  # the solver's objective is not the model's, so its bound and its proof do not count
            bound = None
            termination = Termination.UNKNOWN if termination == Termination.OPTIMAL else termination
        if objective is not None:  # without a final point, x is an earlier incumbent, which "optimal" does not prove
            termination, bound, doubt = proof(termination, objective, bound, said.x is None)
            message = message or doubt
        # The bound of a proof may differ from its objective only by rounding: both are then the same number.
        if None not in (objective, bound) and is_close(objective, bound, ROUNDING):
            bound = objective
        return Solution(
            x,
            termination,
            objective,
            bound,
            seconds,
            name,
            said.nodes if said.nodes is not None else self.nodes,
            said.objective,
            said.start,
            tuple(self.history),
            message,
            said.cpu_seconds,
        )


def _in_thread(solver: Callable[..., Any], run: _Run, limit: float | None = None) -> None:
    """Solve in this process. Ctrl-C, or the limit in seconds, asks the solver to stop; a second Ctrl-C, or GRACE
    seconds without a reaction, abandon it."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    cancel, deadline = threading.Event(), float("inf")
    ends = float("inf") if limit is None else run.began + limit + child_process.NUDGE

    def work() -> None:
        try:
            events.put(solver(events.put, cancel.is_set))
        except Exception as problem:  # whatever a solver's binding raises is one sentence to the user
            events.put(Outcome.failed(problem))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    LEFT.append(thread)
    while run.outcome is None and time.monotonic() < deadline:
        try:
            with contextlib.suppress(queue.Empty):
                run.take(events.get(timeout=child_process.POLL))
            if time.monotonic() >= ends and not cancel.is_set():
                run.stopped, deadline = Termination.TIME_LIMIT, time.monotonic() + child_process.AT_LIMIT
                cancel.set()
        except KeyboardInterrupt:
            if cancel.is_set():
                break
            run.stopped, deadline = Termination.INTERRUPTED, time.monotonic() + child_process.GRACE
            cancel.set()
    if run.outcome is not None:
        LEFT.remove(thread)


def _in_process(solver: str, job: Job, run: _Run, ends_in: Callable[[], float | None] | None = None) -> None:
    """Solve in a separate process, whose group is ended if it exceeds the limit."""
    shared = _shared.get()
    child = shared.idle.pop(solver, None) if shared is not None else None
    if child is None or system.has_ended(child.process):
        child = Child(system.child_python("odtc.solvers.worker", solver), _unpickled, env=system.python_environment())
    try:
        with contextlib.suppress(BrokenPipeError):  # it has ended already; its messages are in its events
            pickle.dump(job, child.process.stdin, protocol=5)
            child.process.stdin.flush()
        # The worker stops at the end of its input.
        limit = job.options.time_limit
        run.stopped = attend(child, run.take, child.close_input, limit, started=False, ends_in=ends_in)
    finally:
        if shared is not None and run.outcome is not None and run.stopped is None:
            shared.idle[solver] = child
        else:
            child.end()


def _unpickled(stream: Any, put: Callable[[Any], object]) -> None:
    try:
        while True:
            put(pickle.load(stream))
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        pass
