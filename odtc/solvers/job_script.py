"""Job scripts that solve a model file elsewhere: the plan of `odtc.solvers.external` as a shell script.

All named files are in the folder of the model file, in which the job runs, without paths. So the folder can be copied
to another machine together with the job.
"""

import hashlib
import re
import shlex
from pathlib import Path

import numpy as np

from odtc.base.atomic_write import stem_of
from odtc.base.registry import Member
from odtc.base.templates import render
from odtc.base.text import did_you_mean
from odtc.errors import ChoiceError, SolverError
from odtc.fileformats.model_files import identity_words
from odtc.model.milp import Model
from odtc.model.solution import Options
from odtc.solvers.executables import Program, locate, what_to_install
from odtc.solvers.external import Plan, lay_out, plan

KINDS = ("sh", "slurm")


def check_kind(kind: str) -> None:
    """Raise ChoiceError for an unknown kind of script."""
    if kind not in KINDS:
        raise ChoiceError(f"unknown kind of script {kind!r}{did_you_mean(kind, KINDS)}; known: {', '.join(KINDS)}")


def plan_beside(
    module: Member,
    model: Model,
    start: np.ndarray | None,
    path: str | Path,
    target: str | Path,
    options: Options,
    program_name: str | None = None,
    write: bool = False,
) -> tuple[Plan, list[str]]:
    """Plan a run of a solver on a model file, in its folder, that writes the solution to `target`; also returns notes.

    With `write`, for a run elsewhere, the required files are written next to the model, in the forms of the solver,
    and the command is the vendor's own program on PATH there, independent of this machine. Raises SolverError if there
    is none.
    """
    if write and program_name is None and module.PROGRAMS and module.ARGUMENTS is None:
        program: Program | None = Program((module.PROGRAMS[0],), module.COMMAND, "elsewhere")
    else:
        program = locate(module, program_name)
    if program is None:
        raise SolverError(f"{module.NAME} is not on this machine: {what_to_install(module)}")
    folder, stem = Path(path).resolve().parent, Path(stem_of(path)).name
    for place in (path, target):
        if not str(place).isprintable():
            raise ChoiceError(
                f"expected names of files on one line, as a shell and a solver's commands read them, got "
                f"{str(place)!r}; rename the file"
            )
    names, _, note = lay_out(module, model, start, path, folder, stem, write)
    notes = [note] if note else []
    if missing := [names[what] for what in ("model", "start") if names[what] and not (folder / names[what]).exists()]:
        notes.append(
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not there yet; --script writes such files"
        )
    solution = Path(target).resolve()
    names["solution"] = str(solution.relative_to(folder) if solution.is_relative_to(folder) else solution)
    names["options"] = f"{stem}.{module.COMMAND}.options"
    names |= {what: _no_option(names[what]) for what in ("model", "start", "solution", "options")}
    return plan(module, program, names, options), notes


def _no_option(name: str) -> str:
    """Return a file name that no program mistakes for an option, or for another word that begins with a special
    character (CBC: ~, $)."""
    return name if not name or name[0].isalnum() or name.startswith(("/", ".", "_")) else f"./{name}"


def shell_lines(planned: Plan) -> list[str]:
    """Return the lines of a plan for a shell; the last line is the command."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in planned.environment.items()]
    solution, options = shlex.quote(planned.names["solution"]), shlex.quote(planned.names["options"])
    lines.append(f"rm -f {solution}")
    if planned.option_text:
        end = "END"
        while end in planned.option_text:
            end += "_"
        lines.append(f"cat > {options} <<'{end}'\n{planned.option_text.rstrip()}\n{end}")
    line = shlex.join(planned.argv) + (f" < {options}" if planned.reads_options else "")
    return [*lines, line + (f" > {solution}" if planned.prints_solution else "")]


def _digest_lines(planned: Plan, path: str | Path) -> list[str]:
    """Return shell lines that set `same` to 1 if the solved file is the current one."""
    name = planned.names["model"]
    digest = hashlib.sha256((Path(path).parent / name).read_bytes()).hexdigest()
    return [
        "digest() { if command -v sha256sum > /dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }",
        f'if [ "$(digest < {shlex.quote(name)})" = {digest} ]; then same=1; else same=0; fi',
    ]


def _mark_lines(planned: Plan, words: str) -> list[str]:
    """Return shell lines that append the comment of `identity_words` to the solution."""
    solution = shlex.quote(planned.names["solution"])
    return [
        f"if [ $same = 1 ] && [ -s {solution} ]; then echo '# {words}' >> {solution}; fi",
        "[ $same = 1 ] || echo 'the model file was changed since this job was written: the solution is not marked' >&2",
    ]


def write_script(
    kind: str, module: Member, planned: Plan, path: str | Path, options: Options, model: Model | None = None
) -> str:
    """Return the job as text, for `sh` or for the queue of `slurm`.

    The solution of a `model` with an identity is marked with it, so that `decode` recognises the model; the job does
    so only if the file that it solves is still the current one.
    """
    stem = Path(stem_of(path)).name
    lines, log = shell_lines(planned), shlex.quote(_no_option(f"{stem}.log"))
    program = shlex.quote(planned.argv[0])
    lines.insert(0, f"command -v {program} > /dev/null || {{ echo {program} is not on PATH here >&2; exit 127; }}")
    # The standard output is either the solution itself, or it is kept as the log.
    lines[-1] += f" 2> {log}" if planned.prints_solution else f" 2>&1 | tee {log}"
    if model is not None and (words := identity_words(model, file=True)):
        lines = [*_digest_lines(planned, path), *lines, *_mark_lines(planned, words)]
    minutes = None if options.time_limit is None else int(options.time_limit // 60) + 5
    return render(
        f"script/{kind}.jinja",
        name=re.sub(r"[^\w.+-]", "_", stem),
        solver=re.sub(r"[^\w.+-]", "_", module.NAME),
        lines=lines,
        threads=options.threads or 1,
        minutes=minutes,
    )
