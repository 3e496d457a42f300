"""A job that solves a model file elsewhere: the command of `odtc.command` as a shell reads it."""

import gzip
import shlex
from pathlib import Path

from odtc.command import Program, command_line, locate, option_text, wanted
from odtc.errors import ChoiceError, ModelError, SolverError
from odtc.format import form_of
from odtc.output import stem_of
from odtc.registry import did_you_mean
from odtc.render import render
from odtc.solution import Options

SCRIPTS = ("sh", "slurm")


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
    text = option_text(module, names, options)
    if text:
        lines.append(f"cat > {shlex.quote(names['options'])} <<'END'\n{text.rstrip()}\nEND")
    line = shlex.join(command_line(module, program, names, options))
    if getattr(module, "STDIN_OPTIONS", False):
        line += f" < {shlex.quote(names['options'])}"
    return [*lines, line + (f" > {shlex.quote(names['solution'])}" if module.SOLUTION == "stdout" else "")]


def _form(path) -> str:
    """The format of a model file that a program is to open by its name; raises ModelError for a name by
    which programs do not know a model file."""
    name = str(path).lower()
    if not name.removesuffix(".gz").endswith((".mps", ".lp")):
        raise ModelError(f"expected a model file that ends in .mps or .lp (or .gz), as solvers do, got {str(path)!r}; rename it")
    with (gzip.open if name.endswith(".gz") else open)(path, "rb") as stream:
        return form_of(stream.read(1 << 20), Path(path).name)
