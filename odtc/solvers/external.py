"""Run solvers that are programs. Their modules follow odtc.solvers.protocols.ProgramSolver.

Each run has a new folder with plain file names, because some solvers fail on blanks, accents or old files. A model file
in the form that odtc writes is linked there; any other model file is written again (odtc.fileformats.portable_subset).
Exit codes are ignored, because solvers use them inconsistently.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base.atomic_write import write_text
from odtc.base.commit import MODELS
from odtc.base.registry import Member
from odtc.base.system import lend, program_environment, run_folder
from odtc.base.templates import render, render_line
from odtc.base.text import show_number
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.errors import SolutionError, SolverError
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.fileformats.portable_subset import compare, portable
from odtc.fileformats.solution_files import RawPoint, expect_an_end, expect_finite, read_point, write_point
from odtc.model.feasibility import BROKEN, printed_objective
from odtc.model.milp import Model
from odtc.model.solution import Options, Progress, Termination, proof
from odtc.solvers import log_parser as logs
from odtc.solvers.child_process import Child, attend
from odtc.solvers.executables import Program, locate
from odtc.solvers.log_buffer import PIECE_BYTES, Transcript
from odtc.solvers.protocols import Log, Outcome

# Largest size of a solution file in bytes: more than any solver writes for a model of this many columns and rows.
SOLUTION_BYTES, BYTES_A_LINE = 1 << 22, 1 << 12


@value_class
class Plan:
    """Plan of one run of a program in the folder of its files: the command, its environment, the names of its files
    (model, form, solution, start, options; "" for none), the text of its option file ("" for none), whether the option
    file is its standard input, and whether its standard output is the solution."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    names: dict[str, str]
    option_text: str = ""
    reads_options: bool = False
    prints_solution: bool = False


def plan(module: Member, program: Program, names: dict[str, Any], options: Options) -> Plan:
    """Plan a run, for `run` or for a shell script by `odtc.solvers.job_script`."""
    facts = names | {
        "time_limit": "" if options.time_limit is None else show_number(options.time_limit),
        "threads": options.threads or "",
        "seed": options.seed,
        "gap": show_number(options.gap),
    }
    if module.ARGUMENTS is not None:  # a solver that a template file describes
        words = [render_line(argument, here=module.FOLDER, **facts) for argument in module.ARGUMENTS]
    else:
        words = render(f"command/{program.template}.jinja", **facts).splitlines()
    asks = program.template == module.COMMAND and module.OPTIONS  # a driver takes arguments
    return Plan(
        (*program.argv, *(word for word in words if word.strip())),
        program.environment,
        names,
        render(f"options/{module.COMMAND}.jinja", **facts) if asks else "",
        asks and module.STDIN_OPTIONS,
        module.SOLUTION == "stdout",
    )


def run(
    module: Member,
    model: Model,
    options: Options,
    start: np.ndarray | None,
    take: Callable[[Any], object],
    path: str | Path | None = None,
    program_name: str | None = None,
    ends_in: Callable[[], float | None] | None = None,
) -> str | None:
    """Runs the solver on a model; events and the Outcome go to `take`. Returns why we stopped it, if
    we did: "time_limit" or "interrupted".

    `path` is the model's file if there is one already; `ends_in` as in `odtc.solvers.child_process.attend`.
    Raises SolverError if the program cannot be started.
    """
    program = locate(module, program_name)
    with run_folder() as folder:
        if model.offset:  # model files cannot express it
            take = raised(take, model.offset)
        names, model, note = lay_out(module, model, start, path, folder)
        if note:
            take(Log(f"odtc: {note}\n"))
        planned = plan(module, program, names, options)
        if planned.option_text:
            write_text(folder / names["options"], planned.option_text)
        began, seen = time.monotonic(), _state(path)
        given = folder / names["options"] if planned.reads_options else os.devnull
        with Transcript(folder / names["solution"] if planned.prints_solution else None) as said:
            last = Progress(0.0, None, None, None)

            def hear(event: Any) -> None:
                nonlocal last
                said.add(event.text)
                take(event)
                if (progress := _progress(module, event.text, time.monotonic() - began, last)) is not None:
                    last = progress
                    take(progress)

            try:
                child = Child(
                    planned.argv, _lines, folder, program_environment() | planned.environment, given, True, folder
                )
            except OSError as problem:
                raise SolverError(f"cannot start {planned.argv[0]!r}: {problem.strerror}") from None
            try:
                stopped = attend(child, hear, child.interrupt, options.time_limit, started=True, ends_in=ends_in)
            finally:
                child.end()
            log = said.text()
        found = _outcome(module, model, log, folder / names["solution"], names["start"], stopped, options.gap == 0)
        if _state(path) != seen:  # the file changed during the run, so it is unknown which model was solved
            changed = f"{Path(str(path)).name} has changed while {module.NAME} ran: build it again"
            found = Outcome(None, Termination.ERROR, bound=-np.inf, message=changed)  # its bounds do not count either
        take(found)
    return stopped


def _state(path: str | Path | None) -> tuple[int, int] | None:
    """Return a fingerprint that distinguishes states of a file; None if it does not exist."""
    if path is None:
        return None
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def lay_out(
    module: Member,
    model: Model,
    start: np.ndarray | None,
    path: str | Path | None,
    folder: Path,
    stem: str = "",
    write: bool = True,
) -> tuple[dict[str, Any], object, str]:
    """Return (names, model, note): the files of a run in `folder`, the model with its names in these files, and a
    sentence if the model was written again or no start is passed.

    With a `stem`, `folder` is the folder of the model file `path`, which is used there; other files are written next to
    it under names that begin with `stem`. With `write` False, nothing is written.
    """
    dialect, same, linked, note = module.DIALECT, portable(model), False, ""
    if path is not None:
        file = compare(path, model)
        form = file.form
        # A file with sections for cuts that the solver cannot read is written again, too.
        linked = form in dialect.reads and (dialect.gzip or not file.packed) and (dialect.cuts or not file.cuts)
        linked = linked and (not stem or Path(path).name.lower().endswith(MODELS))
        if not linked and stem:
            note = f"{Path(path).name} is written again for {module.NAME}, which cannot read it as it is"
        if file.astray:
            linked = False
            why = f"solvers may misread it ({file.astray})"
            note = f"{Path(path).name} is written again for {module.NAME}, because {why}"
    if linked:
        name = f"model{FORMATS.get(form).SUFFIX}" + (".gz" if file.packed else "")
        if stem:
            name = Path(path).name
        else:
            lend(Path(path).resolve(), folder / name)
        same = FORMATS.get(form).renamed(same)
    else:
        form = dialect.reads[0]
        name = f"{stem}.{module.COMMAND}" if stem else "model"
        name += FORMATS.get(form).SUFFIX
        if write:
            write_model(same, folder / name, form, dialect.cuts)
    names = {"model": name, "form": form, "solution": "solution.sol", "start": "", "options": "solver.options"}
    if start is not None and dialect.start and not (dialect.lp_start or model.integrality.any()):
        note = "; ".join(
            filter(
                None,
                [
                    note,
                    f"no start is given, because the model is an LP, and {module.NAME} takes a start only for a MIP",
                ],
            )
        )
    elif start is not None and dialect.start:
        names["start"] = (f"{stem}.start.{module.COMMAND}" if stem else "start") + dialect.start_suffix
        if write:
            write_point(same, start, folder / names["start"], dialect.start)
    return names, same, note


def raised(take: Callable[[Any], object], offset: float) -> Callable[[Any], object]:
    """Return `take` with the constant of the objective added to every reported objective and bound."""
    more = lambda value: None if value is None else value + offset  # noqa: E731

    def higher(event: Any) -> object:
        if isinstance(event, Progress):
            event = replace(event, incumbent=more(event.incumbent), bound=more(event.bound))
        elif isinstance(event, Outcome):
            event = replace(event, objective=more(event.objective), bound=more(event.bound))
        return take(event)

    return higher


def _outcome(
    module: Member, model: Model, log: str, solution: Path, started: str, stopped: str | None, exact: bool
) -> Outcome:
    """Read the files of a finished run: the solution file, or the log, as a point."""
    said = logs.read_log_text(module, log)
    message = ""
    raw = x = None
    try:
        if solution.exists() and not solution.is_file():  # a pipe or a device has no end
            raise SolutionError(f"expected its solution in a file, got none in {solution.name}, but something else")
        room = SOLUTION_BYTES + BYTES_A_LINE * (model.n_cols + model.n_rows)
        if solution.exists() and (size := solution.stat().st_size) > room:
            raise SolutionError(
                f"expected the solution of {model.n_cols:,} columns and {model.n_rows:,} rows in at most {room:,} "
                f"bytes, got {size:,}"
            )
        if solution.exists():
            raw = point_by_pattern(module, solution) if module.PATTERN is not None else read_point(solution)
    except SolutionError as problem:
        # A solver that was ended while it wrote leaves an incomplete file, which is not an error.
        message = "" if stopped else str(problem).replace(str(solution.parent) + os.sep, "")
    termination = said.termination
    if raw is not None:
        # If the file does not state how the run ended, the log decides: a ray or a relaxation looks like a solution.
        raw = raw.under(said.termination, said.has_point)
        if raw.termination not in (None, Termination.UNKNOWN):
            termination = raw.termination
        try:
            x = raw.on(model.columns)
        except SolutionError as problem:
            message = str(problem)
    if x is not None and model.integrality.any():
        whole = x[model.integrality.astype(bool)]
        if np.abs(whole - np.round(whole)).max() > BROKEN:
            x, message = None, f"its point is fractional; another {option('seed')} or {option('solver')} may help"
    if termination is None:
        termination = Termination.UNKNOWN if x is not None or stopped else Termination.ERROR
    if termination == Termination.ERROR:
        message = message or logs.last_words(log)
    bound = said.bound
    if x is not None:
        loose = said.within_gap or raw.within_gap or (not exact and bool(model.integrality.any()))
        termination, bound, doubt = proof(termination, printed_objective(model, x, raw.objective), bound, loose)
        message = message or doubt
    start = "none"
    if started:
        start = "accepted" if said.started else "not confirmed"
    return Outcome(x, termination, raw.objective if x is not None else None, bound, said.nodes, start, message)


def point_by_pattern(module: Member, solution: Path) -> RawPoint | None:
    """Return the point of a solution file in a form of the solver.

    Parameters
    ----------
    module : Member
        A solver with a PATTERN.
    solution : Path

    Returns
    -------
    RawPoint or None
        None if no line matches the pattern.

    Raises
    ------
    SolutionError
        If a value is not a number, or a name or a value is missing in a match.
    """
    expect_an_end(solution)
    text = solution.read_text(encoding="utf-8", errors="replace")
    found = [(match["name"], match["value"]) for match in module.PATTERN.finditer(text)]
    if not found:
        return None
    if (at := next((at for at, pair in enumerate(found, 1) if None in pair), None)) is not None:
        raise SolutionError(
            f"expected a name and a value wherever the pattern fits, got a match without one, number {at} of "
            f"{len(found):,}; let neither group of the pattern be optional"
        )
    try:
        values = np.array([_number(value) for _, value in found])
    except ValueError as problem:
        raise SolutionError(f"expected numbers where the pattern says (?P<value>…): {problem}") from None
    point = RawPoint(module.COMMAND, [name for name, _ in found], values)
    expect_finite(point, solution.name)
    return point


def _number(text: str) -> float:
    """Return a number in the digits of solvers; only Python reads 1_0 and digits of other alphabets, so these are
    refused."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)


def _progress(module: Member, text: str, seconds: float, last: Progress) -> Progress | None:
    """Return incumbent and bound of a line of the log, if the module knows such lines; missing parts keep their
    values."""
    if (bound := logs.bound(module, text)) is not None:
        return Progress(seconds, last.incumbent, bound, None)
    incumbent, bound = logs.progress_of_line(module, text)
    if incumbent is None and bound is None:
        return None
    return Progress(
        seconds,
        last.incumbent if incumbent is None else incumbent,
        last.bound if bound is None else bound,
        None,
        rounded=True,
    )


def _lines(stream: Any, put: Callable[[Any], object]) -> None:
    try:
        while line := stream.readline(PIECE_BYTES):
            put(Log(line.decode("utf-8", "replace")))
    except (OSError, ValueError):
        pass
