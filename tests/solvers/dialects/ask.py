"""What each solver that is found makes of a model file: `python -m tests.solvers.dialects.ask` writes seen.toml anew.

The file is handed to the solver as it is, by odtc's own command lines and drivers, with nothing
between. An answer is one line of text:

    7.5                  the optimum that the solver says, under names of columns that the file has
    7.5 with C0, C1      the same, for columns that the file has not
    infeasible           or unbounded
    refused              no solution, whatever the reason
    crashed              the same, by a signal
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

from odtc.errors import OdtcError, SolutionError
from odtc.fileformats.model_files import read_model
from odtc.fileformats.solution_files import read_point
from odtc.model.solution import Options, Termination
from odtc.solvers.executables import locate
from odtc.solvers.external import plan
from odtc.solvers.log_parser import read_log_text as read_log
from odtc.solvers.solve import solve
from odtc.solvers.solver import SOLVERS, find_solver
from odtc.solvers.solver import version as found_version
from odtc.workflow import files_of_models

HERE = Path(__file__).parent
TRAPS = sorted((HERE / "traps").iterdir())
OPTIONS = Options(time_limit=10, threads=1)
# CBC is there in two builds that read differently: Debian's, and that of the package cbcbox.
CBC_DEV = str(Path(sys.executable).parent / "cbc")
ODTC = "odtc"  # its own readers


def solvers() -> dict[str, str]:
    """{name: version} of all that can be asked here: odtc's own readers, and the solvers that read files."""
    modules = {name: find_solver(name) for name in SOLVERS.names() if name != "highs"}
    # A plug-in of another test may still be registered; it runs without a program.
    files = {name: module for name, module in modules.items() if hasattr(module, "PROGRAMS")}
    found = {name: version for name, module in files.items() if (version := found_version(module))}
    if Path(CBC_DEV).exists() and "cbc" in found:
        found["cbc-dev"] = found_version(find_solver("cbc"), CBC_DEV)
        if locate(find_solver("cbc")).argv[0] == CBC_DEV:
            del found["cbc"]
    return {ODTC: "of this checkout", **found}


def module_of(name: str):
    return find_solver({"cbc-dev": "cbc", ODTC: "highs"}.get(name, name))


def answers(name: str, paths) -> dict[str, str]:
    """{file name: answer} of one solver; "" for a form that it is not said to read."""
    if name == ODTC:
        return {path.name: _own(path) for path in paths}
    module = module_of(name)
    program = locate(module, CBC_DEV if name == "cbc-dev" else None)
    reads = [path for path in paths if ".lp" not in path.suffixes or "lp" in module.DIALECT.reads]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        jobs = [(path, _laid_out(module, program, path, folder / str(at))) for at, path in enumerate(reads)]
        if "odtc.solvers.drivers" in program.argv:
            _batch(program, [job for _, job in jobs])
        else:
            for _, job in jobs:
                _run(job, program)
                if _slept(module, job):
                    _run(job, program)
        said = {path.name: _heard(module, job, path) for path, job in jobs}
    return {path.name: said.get(path.name, "") for path in paths}


def _laid_out(module, program, path, folder):
    folder.mkdir()
    form = "lp" if ".lp" in path.suffixes else "mps"
    # glpsol and lp_solve are told which form it is; a person would say fixed of these alone.
    form = "fixed-mps" if path.name.startswith("fixed") else form
    name = f"model{''.join(path.suffixes)}"
    (folder / name).write_bytes(path.read_bytes())
    # Whole paths, as COPT keeps the folder that it began in.
    names = {
        "model": str(folder / name),
        "form": form,
        "solution": str(folder / "solution.sol"),
        "start": "",
        "options": str(folder / "solver.options"),
    }
    planned = plan(module, program, names, OPTIONS)
    if planned.option_text:
        Path(names["options"]).write_text(planned.option_text)
    return SimpleNamespace(
        folder=folder,
        names=names,
        crashed=False,
        argv=planned.argv,
        stdin=names["options"] if planned.reads_options else os.devnull,
    )


def _run(job, program) -> None:
    with (job.folder / "log").open("wb") as log, open(job.stdin, "rb") as given:
        done = subprocess.run(
            job.argv,
            cwd=job.folder,
            env=os.environ | program.environment,
            stdin=given,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
    job.crashed = done.returncode < 0


def _slept(module, job) -> bool:
    """Whether a run came to its limit: no file here needs a second, but CBC's devel build once in some 3,000 runs does
    nothing until then, which says nothing of the file."""
    return _said(module, job)[0] == Termination.TIME_LIMIT


def _batch(program, jobs) -> None:
    """Jobs of a Python package in as few processes as possible: one more after each crash."""
    words = [[str(job.folder), *job.argv[len(program.argv) :]] for job in jobs]
    while words:
        done = subprocess.run(
            [sys.executable, "-m", "tests.solvers.dialects.batch", program.argv[-1]],
            input=json.dumps(words),
            cwd=HERE.parents[2],
            env=os.environ | program.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        ended = done.stdout.count("\n")  # each job that came to an end is a line
        for job in jobs[len(jobs) - len(words) + ended :][:1]:
            job.crashed = done.returncode < 0
        words = words[ended + 1 :]


def _heard(module, job, path) -> str:
    said, heard, raw = _said(module, job)
    if said in ("infeasible", "unbounded", "infeasible_or_unbounded"):
        return str(said).replace("_", " ")
    if raw is None or raw.values is None or said != "optimal":
        return "crashed" if job.crashed else "refused"
    names = [] if raw.names is None else list(raw.names)
    value = raw.objective if raw.objective is not None else heard.bound  # some files hold no objective
    return _told(value, names, path)


def _said(module, job):
    """(termination, facts of the log, point or None) of a run."""
    log = (job.folder / "log").read_text(errors="replace") if (job.folder / "log").exists() else ""
    solution = Path(job.names["solution"])
    if module.SOLUTION == "stdout":
        solution.write_text(log)
    heard = read_log(module, log)
    try:
        raw = read_point(solution) if solution.exists() else None
    except SolutionError:
        raw = None
    said = heard.termination if heard.termination is not None or raw is None else raw.termination
    return said, heard, raw


def _told(value, names, path) -> str:
    text = command_text(path)
    strange = [name for name in names if name not in text]
    more = f"{', '.join(strange[:2])}{', …' if len(strange) > 2 else ''}"
    return ("optimal" if value is None else f"{value + 0.0:.6g}") + (f" with {more}" if strange else "")


def command_text(path) -> str:
    import bz2
    import gzip
    import lzma

    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
    return unpack(path.read_bytes()).decode("utf-8", "replace")


def _own(path) -> str:
    """What odtc itself reads, solved by HiGHS from the arrays, in the sense of the file."""
    try:
        model = read_model(path)
        solution = files_of_models.in_own_sense(model, solve(model, "highs", Options(threads=1)))
    except OdtcError:
        return "refused"
    if solution.termination == Termination.ERROR and "expected finite numbers" in solution.message:
        return "refused"  # numbers that solvers take for infinite
    if not solution.has_solution:
        return str(solution.termination).replace("_", " ")
    return f"{solution.objective + 0.0:.6g}"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--only", help="solvers, between commas")
    words.add_argument("--show", action="store_true", help="print a table and write nothing")
    asked = words.parse_args()
    found = {name: text for name, text in solvers().items() if not asked.only or name in asked.only.split(",")}
    said = {name: answers(name, TRAPS) for name in found}
    if asked.show:
        for path in TRAPS:
            print(path.name, *(f"{name}: {said[name][path.name]}" for name in found), sep="\n    ")
        return
    lines = [
        "# What each solver made of each file of traps/. Written by `python -m tests.solvers.dialects.ask`.",
        "",
        "[versions]",
    ]
    lines += [f"{name} = {json.dumps(text)}" for name, text in found.items()]
    for path in TRAPS:
        lines += ["", f"[{json.dumps(path.name)}]"]
        lines += [
            f"{name} = {json.dumps(said[name][path.name], ensure_ascii=False)}"
            for name in found
            if said[name][path.name]
        ]
    (HERE / "seen.toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
