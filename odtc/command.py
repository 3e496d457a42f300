"""A solver that is a program: where it is, how it is called, and one run of it.

What its module in `solvers/` says, beside NAME, SUMMARY, DIALECT and read_log:

    PROGRAMS         names looked for on PATH and beside this Python
    VERSION          (arguments, pattern) that make it say its version
    PACKAGE          the Python package that brings it, where there is one, and DRIVER: the member of
                     odtc.drivers that runs it (none: `bundled()` gives the program inside)
    COMMAND          its template in templates/command: one argument a line, blank lines left out
    SOLUTION         "file", or "stdout" where it only prints its solution
    BOUND NODES STARTED   patterns of its log: lower bound, nodes, "the MIP start was taken"
    has_point(log)   whether it has a solution at all, where its file does not tell

A run has a folder of its own with plain names in it, so that no solver meets a blank, an accent
or a stale file; the model is linked there, not copied. No exit code is asked: they say nothing.
"""

import gzip
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from odtc.dataset import show_number
from odtc.dialect import Dialect
from odtc.errors import ChoiceError, ModelError, SolutionError, SolverError
from odtc.format import FORMATS, write_model
from odtc.output import stem_of, write_text
from odtc.point import POINTS, RawPoint, read_point, write_point
from odtc.process import Child, attend, python_environment, quick_output
from odtc.registry import did_you_mean
from odtc.render import render, render_line
from odtc.solution import Log, Options, Outcome, Progress, Termination

FRACTIONAL = 1e-4  # further from whole than any solver's rounding: a relaxation that poses as a solution
SCRIPTS = ("sh", "slurm")
# The last line of a driver (odtc.drivers), which asks the package itself.
DRIVEN = re.compile(r"^odtc driver: status=(\w+) bound=(\S+)$", re.M)
DRIVEN_BOUND = re.compile(r"^odtc driver: status=\w+ bound=(\S+)$", re.M)


@dataclass(frozen=True)
class Program:
    """How to start a solver: the first words of its command, what it needs in its environment, and
    the template of the rest."""

    argv: tuple[str, ...]
    template: str
    where: str
    environment: dict = field(default_factory=dict)


def locate(module, program: str | None = None) -> Program | None:
    """The program of a solver, None where it is not on this machine.

    `program` names an executable that is taken instead; raises SolverError where it is none.
    """
    if program is not None:
        path = shutil.which(program)
        if path is None:
            raise SolverError(f"expected an executable with --program, got {program!r}, which is none")
        return Program((path,), module.COMMAND, path)
    # The scripts of a virtual environment are not on PATH where it is not activated.
    search = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
    for name in module.PROGRAMS:
        if path := shutil.which(name, path=search):
            # A described solver may be a Python program that uses this very package.
            return Program((path,), module.COMMAND, path, python_environment() if hasattr(module, "ARGUMENTS") else {})
    package = getattr(module, "PACKAGE", None)
    if package is None or importlib.util.find_spec(package) is None:
        return None
    if driver := getattr(module, "DRIVER", None):
        argv = (sys.executable, "-P", "-m", "odtc.drivers", driver)
        template = getattr(module, "DRIVER_COMMAND", "driver")
        return Program(argv, template, f"package {package}", python_environment())
    return module.bundled()


def wanted(module, program: str | None = None) -> str:
    """What to install, in words."""
    if hasattr(module, "run"):
        return "install its package, or choose one of `odtc list solvers`"
    ways = [f"the program {' or '.join(map(repr, module.PROGRAMS))} on PATH"] if module.PROGRAMS else []
    ways += [f"the Python package {module.PACKAGE!r}"] if getattr(module, "PACKAGE", None) else []
    return f"expected {' or '.join(ways)}; install it, name it with --program, or choose one of `odtc list solvers`"


def version(module, program: str | None = None) -> str | None:
    """What the program says its version is ("found" where it says none), None where it is not here."""
    found = locate(module, program)
    if found is None:
        return None
    if found.where.startswith("package ") and getattr(module, "PACKAGE", None):
        return importlib.metadata.version(module.PACKAGE)
    return _said_version(found.argv, tuple(found.environment.items()), *module.VERSION)


@lru_cache
def _said_version(argv, environment, arguments, pattern) -> str:
    said = quick_output([*argv, *arguments], os.environ | dict(environment))
    match = re.search(pattern, said)
    return match[1] if match else "found"


def command_line(module, program: Program, names: dict, options: Options) -> list[str]:
    """The command as a list of arguments; `names` are the files: model, form, solution, start, options."""
    facts = _facts(names, options)
    if hasattr(module, "ARGUMENTS"):  # of a solver that a template file describes
        words = [render_line(argument, here=module.FOLDER, **facts) for argument in module.ARGUMENTS]
    else:
        words = render(f"command/{program.template}.jinja", **facts).splitlines()
    return [*program.argv, *(word for word in words if word.strip())]


def run(module, model, options: Options, start, take, path=None, program_name=None) -> str | None:
    """Runs the solver on a model; events and the Outcome go to `take`. Returns why we stopped it, if
    we did: "time_limit" or "interrupted".

    `path` is the model's file where there is one already. Raises SolverError where the program
    cannot be started.
    """
    program = locate(module, program_name)
    with tempfile.TemporaryDirectory(prefix="odtc-", ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        names = _lay_out(module, model, options, start, path, folder)
        argv = command_line(module, program, names, options)
        log, began = [], time.monotonic()

        def hear(event) -> None:
            log.append(event.text)
            take(event)
            if (said := _progress(module, event.text, time.monotonic() - began)) is not None:
                take(said)

        stdin = folder / names["options"] if getattr(module, "STDIN_OPTIONS", False) else Path(os.devnull)
        try:
            with stdin.open("rb") as given:
                child = Child(argv, _lines, folder, os.environ | program.environment, given, merge_stderr=True)
        except OSError as problem:
            raise SolverError(f"cannot start {argv[0]!r}: {problem.strerror}") from None
        try:
            stopped = attend(child, hear, child.interrupt, options.time_limit, started=True)
        finally:
            child.end()
        take(_outcome(module, model, "".join(log), folder / names["solution"], start is not None, stopped,
                      options.gap == 0))
    return stopped


def write_script(kind: str, module, path, options: Options, start_path, solution_path, program_name=None) -> str:
    """A job that solves a model file elsewhere, as text: for `sh`, or for the queue of `slurm`.

    Raises ChoiceError for another kind.
    """
    if kind not in SCRIPTS:
        raise ChoiceError(f"unknown kind of script {kind!r}{did_you_mean(kind, SCRIPTS)}; known: {', '.join(SCRIPTS)}")
    log = f"{stem_of(path)}.log"
    lines = shell_lines(module, path, options, start_path, solution_path, program_name, elsewhere=True)
    # What is on stdout is the solution already, or is heard and kept as the log.
    lines[-1] += f" 2> {shlex.quote(log)}" if module.SOLUTION == "stdout" else f" 2>&1 | tee {shlex.quote(log)}"
    minutes = None if options.time_limit is None else int(options.time_limit // 60) + 5
    return render(f"script/{kind}.jinja", name=Path(path).name.split(".")[0], solver=module.NAME, lines=lines,
                  threads=options.threads or 1, minutes=minutes)


def shell_lines(module, path, options: Options, start_path, solution_path, program_name=None,
                elsewhere: bool = False) -> list[str]:
    """The exact command for a model file as a shell reads it, with the lines that its option file
    needs before it; raises SolverError where the program is not here."""
    program = locate(module, program_name)
    if program is None and elsewhere and module.PROGRAMS:
        program = Program((module.PROGRAMS[0],), module.COMMAND, "elsewhere")
    if program is None:
        raise SolverError(f"{module.NAME} is not on this machine: {wanted(module)}")
    names = {
        "model": str(path), "form": _form(path), "solution": str(solution_path),
        "start": str(start_path) if start_path and module.DIALECT.start else "",
        "options": f"{stem_of(path)}.{module.COMMAND}.options",
    }
    lines = [f"rm -f {shlex.quote(names['solution'])}"]
    text = _option_text(module, names, options)
    if text:
        lines.append(f"cat > {shlex.quote(names['options'])} <<'END'\n{text.rstrip()}\nEND")
    line = shlex.join(command_line(module, program, names, options))
    if getattr(module, "STDIN_OPTIONS", False):
        line += f" < {shlex.quote(names['options'])}"
    return [*lines, line + (f" > {shlex.quote(names['solution'])}" if module.SOLUTION == "stdout" else "")]


def from_template(path):
    """A solver made from a TOML file that describes one odtc has never heard of; see
    examples/my-solver. Raises ChoiceError, with the key, for what does not fit."""
    try:
        facts = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise ChoiceError(f"cannot read the solver template {str(path)!r}: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ChoiceError(f"expected TOML in the solver template {str(path)!r}: {problem}") from None
    unknown = set(facts) - set(TEMPLATE_KEYS)
    if unknown:
        key = sorted(unknown)[0]
        raise ChoiceError(f"{path}: unknown key {key!r}{did_you_mean(key, TEMPLATE_KEYS)}; known: {', '.join(TEMPLATE_KEYS)}")
    for key, fits, what in (
        ("command", lambda v: isinstance(v, list) and v and all(isinstance(a, str) for a in v), "a list of arguments, the program first"),
        ("status", lambda v: isinstance(v, dict) and set(v.values()) <= set(Termination), f"words of the log = one of {', '.join(Termination)}"),
        ("solution", lambda v: v in ("file", "stdout"), "'file' or 'stdout'"),
        ("model", lambda v: v in FORMATS.names(), f"one of {', '.join(FORMATS.names())}"),
        ("start", lambda v: v in POINTS.names(), f"one of {', '.join(POINTS.names())}"),
        ("pattern", lambda v: _is_pattern(v, {"name", "value"}), "a regular expression with (?P<name>…) and (?P<value>…)"),
        ("bound", lambda v: _is_pattern(v), "a regular expression whose first group is the bound"),
    ):
        if key in facts and not fits(facts[key]) or key == "command" and key not in facts:
            raise ChoiceError(f"{path}: expected {key} = {what}, got {facts.get(key)!r}")
    words = facts.get("status", {})

    def read_log(text: str) -> Termination | None:
        found = [(text.rfind(phrase), Termination(meant)) for phrase, meant in words.items() if phrase in text]
        return max(found)[1] if found else None

    patterns = {}
    if "bound" in facts:
        patterns["BOUND"] = re.compile(facts["bound"], re.M)
    if "pattern" in facts:
        patterns["PATTERN"] = re.compile(facts["pattern"], re.M)
    here = str(Path(path).resolve().parent)
    program = render_line(facts["command"][0], here=here, python=sys.executable)
    return SimpleNamespace(
        NAME=facts.get("name", Path(path).stem), SUMMARY=f"described by {path}",
        DIALECT=Dialect((facts.get("model", "mps"),), False, facts.get("start")),
        PROGRAMS=(program,), VERSION=((), r"(?!)"), COMMAND=Path(path).stem, SOLUTION=facts.get("solution", "file"),
        ARGUMENTS=facts["command"][1:], FOLDER=here, read_log=read_log, **patterns,
    )


TEMPLATE_KEYS = ("name", "command", "model", "start", "solution", "pattern", "status", "bound")


def _is_pattern(text, groups=()) -> bool:
    try:
        compiled = re.compile(text)
    except (re.error, TypeError):
        return False
    return set(groups) <= set(compiled.groupindex) if groups else compiled.groups >= 1


def _facts(names: dict, options: Options) -> dict:
    return names | {
        "time_limit": "" if options.time_limit is None else show_number(options.time_limit),
        "threads": options.threads or "", "seed": options.seed, "gap": show_number(options.gap),
    }


def _lay_out(module, model, options, start, path, folder: Path) -> dict:
    """The files of a run in its own folder; their names in a dict."""
    dialect = module.DIALECT
    form, packed = (_form(path), str(path).endswith(".gz")) if path is not None else (None, False)
    plain = dialect.cuts or not (model.lazy or model.user_cuts)  # no section that it cannot read
    if form in dialect.reads and (dialect.gzip or not packed) and plain:
        name = f"model{FORMATS.get(form).SUFFIX}" + (".gz" if packed else "")
        (folder / name).symlink_to(Path(path).resolve())
    else:
        form = dialect.reads[0]
        name = f"model{FORMATS.get(form).SUFFIX}"
        write_model(model, folder / name, form, dialect.cuts)
    names = {"model": name, "form": form, "solution": "solution.sol", "start": "", "options": "solver.options"}
    if start is not None and dialect.start:
        names["start"] = f"start{dialect.start_suffix}"
        write_point(model, start, folder / names["start"], dialect.start)
    if text := _option_text(module, names, options):
        write_text(folder / names["options"], text)
    return names


def _option_text(module, names, options) -> str:
    return render(f"options/{module.COMMAND}.jinja", **_facts(names, options)) if getattr(module, "OPTIONS", False) else ""


def _outcome(module, model, log: str, solution: Path, started: bool, stopped, exact: bool) -> Outcome:
    """What a run left behind: its file, or its log, made into a point that can be one."""
    driven = DRIVEN.findall(log)
    said = Termination(driven[-1][0]) if driven else module.read_log(log)
    message = ""
    raw = None
    try:
        if module.SOLUTION == "stdout":
            solution.write_text(log, encoding="utf-8")
        if solution.exists():
            raw = _by_pattern(module, solution) if hasattr(module, "PATTERN") else read_point(solution)
    except SolutionError as problem:
        message = str(problem).replace(str(solution.parent) + os.sep, "")
    termination = said
    x = None
    if raw is not None:
        # The log decides where the file cannot: a ray or a relaxation looks like a solution.
        raw = raw.under(said, module.has_point(log) if hasattr(module, "has_point") else None)
        termination = said if raw.termination in (None, Termination.UNKNOWN) else raw.termination
        try:
            x = raw.on(model.columns)
        except SolutionError as problem:
            message = str(problem)
    if x is not None and model.integrality.any():
        whole = x[model.integrality.astype(bool)]
        if np.abs(whole - np.round(whole)).max() > FRACTIONAL:
            x, message = None, "its point is fractional: the relaxation, not a solution"
    if termination is None:
        termination = Termination.UNKNOWN if x is not None or stopped else Termination.ERROR
    if termination == Termination.ERROR:
        message = message or _last_words(log)
    objective = raw.objective if raw is not None and x is not None else None
    bound = _last_number(DRIVEN_BOUND if driven else getattr(module, "BOUND", None), log)
    # Where a gap was allowed, "optimal" is no proof, and only a bound that the log states is known.
    if termination == Termination.OPTIMAL and x is not None and bound is None and exact:
        bound = model.objective(x)
    started_words = "none"
    if started and module.DIALECT.start:
        pattern = getattr(module, "STARTED", None)
        started_words = "accepted" if pattern is not None and pattern.search(log) else "not confirmed"
    nodes = _last_number(getattr(module, "NODES", None), log)
    return Outcome(x, termination, objective, bound, None if nodes is None else int(nodes), started_words, message)


def _by_pattern(module, solution: Path) -> RawPoint | None:
    text = solution.read_text(encoding="utf-8", errors="replace")
    found = [(match["name"], match["value"]) for match in module.PATTERN.finditer(text)]
    if not found:
        return None
    try:
        values = np.array([float(value) for _, value in found])
    except ValueError as problem:
        raise SolutionError(f"expected numbers where the pattern says (?P<value>…): {problem}") from None
    return RawPoint(module.COMMAND, [name for name, _ in found], values)


def _last_number(pattern, log: str) -> float | None:
    found = pattern.findall(log) if pattern is not None else []
    try:
        value = float(found[-1]) if found else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < 1e20 else None


def _progress(module, text: str, seconds: float) -> Progress | None:
    """What a line of the log says of the bound, where the module knows such lines."""
    bound = _last_number(getattr(module, "BOUND", None), text)
    return Progress(seconds, None, bound, None) if bound is not None else None


def _lines(stream, put) -> None:
    try:
        for line in stream:
            put(Log(line.decode("utf-8", "replace")))
    except (OSError, ValueError):
        pass


def _last_words(log: str) -> str:
    """The last line that complains, else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("odtc driver:")]
    cross = [line for line in lines if re.search(r"error|fail|cannot|unable|licen[cs]e|invalid|not found|Traceback", line, re.I)]
    return (cross or lines or ["it printed nothing"])[-1][:300]


def _form(path) -> str:
    """The format of a model file: "lp", "mps" or "fixed-mps"; raises ModelError for an unknown suffix."""
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(".lp"):
        return "lp"
    if not name.endswith(".mps"):
        raise ModelError(f"expected a model file that ends in .mps or .lp (or .gz), got {str(path)!r}")
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as stream:
        card = re.search(rb"^NAME.*$", stream.read(4096), re.M)
    return "mps" if card is None or b"FREE" in card[0].split() else "fixed-mps"
