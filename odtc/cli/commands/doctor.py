"""`odtc doctor`: installed packages, and a tiny model through each solver, as one table."""

from typing import Annotated

import typer

from odtc.base.text import one_line
from odtc.cli import console
from odtc.cli.options import Json, completing, value_option
from odtc.errors import OutputError, SolverError


def doctor(
    solver: Annotated[
        str | None,
        value_option("--solver", "NAME[,NAME…]", "Only these solvers.", autocompletion=completing("solvers")),
    ] = None,
    compile_kernels: Annotated[
        bool,
        typer.Option(
            "--compile",
            help="Compile all kernels now (about three minutes), for example in an image, so that no later run waits "
            "for them.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Report what is installed, and test each solver on a small model. Exit 1 if something fails."""
    from odtc.evaluation import diagnostics as facts
    from odtc.solvers.solver import SOLVERS

    names = [name.strip() for name in solver.split(",")] if solver is not None else list(SOLVERS.names())
    for name in names:
        SOLVERS.get(name)
    about, packages, answers = facts.system(), facts.packages(), []
    if not as_json:
        _print_packages(about, packages)
    kernels = _compile(as_json) if compile_kernels else []
    width = max(map(len, names))
    for answer in facts.answers(names):
        answers.append(answer)
        if not as_json:
            _print_answer(answer, width)
    bad = [item.name for item in packages if not item.passed] + [item.solver for item in answers if not item.passed]
    if as_json:
        console.print_json(
            about
            | {
                "packages": [item.to_json() for item in packages],
                "solvers": [item.to_json() for item in answers],
                **({"compiled": kernels} if compile_kernels else {}),
                "works": not bad,
            }
        )
    else:
        found = sum(answer.state != "not found" for answer in answers)
        print(
            f"\n{found - sum(not item.passed for item in answers)} of {found} solvers found here solve the tiny model"
            + (f"; look at {', '.join(bad)}" if bad else "")
        )
    if solver and (absent := [answer.solver for answer in answers if answer.state == "not found"]):
        raise SolverError(
            f"not on this machine: {', '.join(absent)}; install them as the table shows, or leave --solver out"
        )
    if bad:
        raise typer.Exit(1)


def _print_packages(about: dict, packages) -> None:
    """Print the system, and the version of each package."""
    print(f"odtc {about['odtc']}, Python {about['python']}, {about['system']}\n")
    for package in packages:
        there = package.version or ("MISSING" if not package.extra else f"not installed; pip install {package.name}")
        print(f"{package.name:<14}{there}")
    print()


def _print_answer(answer, width: int) -> None:
    """Print the result of a solver on the small model; `width` characters are for its name."""
    state = {"right": "ok", "not found": "-", "wrong": "WRONG", "failed": "FAILED"}[answer.state]
    seconds = f"{answer.seconds:7.2f} s" if answer.seconds is not None else " " * 9
    print(
        f"{answer.solver:<{width}}  {state:<6}  {seconds}  {_first(answer.version):<12}  {one_line(answer.words)}",
        flush=True,
    )


def _compile(as_json: bool) -> list[dict]:
    """Compile all kernels; print a line for each module and problem, and return each as in --json."""
    from odtc.evaluation.kernel_compilation import compile_all

    told = []
    for done in compile_all():
        told.append({"name": done.name, "folder": done.folder and str(done.folder)})
        if done.folder is None:
            raise OutputError(
                f"the kernels of {done.name} were not compiled: a folder that can be written was expected, that of the "
                "package or the user's cache; set NUMBA_CACHE_DIR to one"
            )
        if not as_json:
            print(f"compiled {done.name}", f"{done.seconds:.1f} s", sep="  ", flush=True)
    if not as_json:
        print()
    return told


def _first(version: str | None) -> str:
    return (version or "").split(",")[0].split("(")[0].strip()
