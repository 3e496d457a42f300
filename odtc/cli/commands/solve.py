"""`odtc solve`: one solver, or several in parallel, on a model's file."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.base.commit import MODELS
from odtc.base.wording import in_command
from odtc.cli import console
from odtc.cli.options import Json, Part, among, file_or_stem, named_by_stem, takes, value_option
from odtc.errors import ChoiceError, NoSolutionError
from odtc.workflow.specification import SolvingSpec

StartFile = Annotated[
    Path | None,
    value_option("--start", "FILE", "Start file, or none (default: the start file that `build` wrote)."),
]
Relax = Annotated[
    bool,
    typer.Option("--relax", help="Solve only the linear relaxation and print its bound."),
]
Script = Annotated[
    str | None,
    value_option(
        "--script",
        "sh|slurm",
        "Only write a script that solves the model on another machine.",
        autocompletion=among("sh", "slurm"),
    ),
]


OF_A_FILE = Part(
    SolvingSpec,
    leave=("workers", "cluster"),
    changed={
        "solver": {
            "help": "Solver; see `odtc list solvers`. Several run in parallel until the first proof (default: highs)."
        },
        "threads": {"help": "Threads (default: the choice of the solver)."},
    },
)


@takes(OF_A_FILE)
def solve(
    model_file: Annotated[
        Path,
        typer.Argument(
            metavar="STEM.mps|STEM", callback=named_by_stem(*MODELS), help="Model file: MPS or LP (also .gz)."
        ),
    ],
    spec,
    start: StartFile = None,
    relax: Relax = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the command of the solver.")] = False,
    script: Script = None,
    o: Annotated[
        Path | None,
        value_option("-o", "FILE.sol", "Output file, or a stem for STEM.sol (default: the stem of the model)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Solve a model file with any solver and write STEM.sol.

    \b
      odtc solve STEM.mps                     with HiGHS
      odtc solve STEM.mps --solver cbc,scip   two solvers in parallel
      odtc decode STEM.sol                    the tree of the solution

    Objective and bound have the sense of the file: if it maximises, the bound is an upper bound.
    """
    from odtc.base.atomic_write import require_writable, stem_of
    from odtc.solvers import portfolio_members
    from odtc.workflow import files_of_models, solving
    from odtc.workflow.manifest import SUFFIX
    from odtc.workflow.results.facts import SolveFacts

    how = spec.solving
    if relax:
        if script or dry_run or o:
            raise ChoiceError("--relax writes no solution and no job: leave out -o, --script and --dry-run")
        _relax(how, model_file, as_json)
        return
    target = file_or_stem(o, ".sol") if o else Path(f"{stem_of(model_file)}.sol")
    if script or dry_run:
        _plan(script, how, model_file, start, target)
        return
    solver = solving.choose_solver(how)
    console.say(*solver.notes)
    require_writable(target, model_file, start, f"{stem_of(model_file)}{SUFFIX}")
    if target.suffix == ".sol":
        require_writable(target.with_suffix(".run.json"), model_file, start)
    opened = files_of_models.open_model(model_file, start, portfolio_members.solver_names(how.named_solver))
    solution, written = _solve_and_write(opened, how, solver, model_file, target)
    sense = "maximize" if opened.model.maximised else "minimize"
    files = [str(path) for path in written]
    facts = opened.facts | SolveFacts.of(solution).to_json() | {"sense": sense, "files": files}
    if not solution.has_solution:
        console.print_json(facts) if as_json else console.print_race(facts)
        raise _no_solution(solution, facts, opened.own_rows)
    console.say_note(solution)
    if as_json:
        console.print_json(facts)
    else:
        _print_solution(solution, opened, facts, target)


def _no_solution(solution, facts: dict, own_rows) -> NoSolutionError:
    """Return the error for a model file without a solution; `own_rows` are the names of rows that the user added."""
    from odtc.workflow.messages import no_solution_text

    given, selected, of_odtc = facts.get("constraints", ()), "selection" in facts, facts["model"] is not None
    return NoSolutionError(no_solution_text(solution, of_odtc, given, selected, own_rows, from_file=True))


def _solve_and_write(opened, how: SolvingSpec, solver, model_file: Path, target: Path) -> tuple:
    """Return (the solution in the sense of the file, the written files: logs, and the solution as `target`)."""
    from odtc.workflow import files_of_models, reporting, solving
    from odtc.workflow.sinks import open_logs

    written: list[Path] = []
    stem = target.with_suffix("") if target.suffix == ".sol" else None
    logs = open_logs(stem, solver.racers, written)
    with reporting.listening(console.ConsoleReporter(how.time_limit).solving(solver), logs) as hearing:
        show = hearing.progress
        hearing = replace(hearing, progress=lambda said: show(files_of_models.in_own_sense(opened.model, said)))
        solution = solving.solve_model(opened.model, how, opened.start, model_file, hearing)
    written += files_of_models.write_solution(opened.model, solution, how, target)
    return files_of_models.in_own_sense(opened.model, solution), written


def _print_solution(solution, opened, facts: dict, target: Path) -> None:
    """Print the objective, the solvers of a race, and the command that decodes the solution."""
    from odtc.model.solution import bound_text, figure_text  # they load numpy, which a help does without

    sense, bound = " (maximised)" if opened.model.maximised else "", bound_text(solution.objective, solution.bound)
    print(
        f"{solution.termination.words}: objective {figure_text(solution.objective)}{sense}{bound}, "
        f"{solution.seconds:.2f} s, {solution.solver}"
    )
    console.print_race(facts)
    print(f"{target}{_decoding(opened, target)}")


def _decoding(opened, target: Path) -> str:
    """Return the command that decodes a solution, with the manifest if that is in another folder; "" if the model is
    not one of odtc."""
    from odtc.workflow.manifest import SUFFIX

    manifest, words = Path(f"{opened.stem}{SUFFIX}"), ["odtc", "decode", in_command(target)]
    if not manifest.exists() and not opened.model.identity:
        return ""
    if manifest.exists() and manifest.resolve().parent != target.resolve().parent:
        words += ["--manifest", in_command(manifest)]
    return f"  ({shlex.join(words)})"


def _relax(how: SolvingSpec, model_file: Path, as_json: bool) -> None:
    """The bound of the linear relaxation."""
    from odtc.model.solution import figure_text
    from odtc.solvers import portfolio_members
    from odtc.workflow import files_of_models, solving

    solver = solving.choose_solver(how)
    console.say(*solver.notes)
    opened = files_of_models.open_model(model_file, Path("none"), portfolio_members.solver_names(how.named_solver))
    with console.ConsoleReporter(how.time_limit).solving(solver) as hearing:
        found = solving.solve_model(opened.model.relaxed(), how, hearing=hearing)
    found = files_of_models.in_own_sense(opened.model, found)
    console.say_note(found)
    if as_json:
        facts = {"relaxation": found.objective, "termination": str(found.termination), "solver": found.solver}
        console.print_json(facts | {"seconds": found.seconds, "files": []})
    if found.termination != "optimal":
        raise NoSolutionError(f"the linear relaxation was not solved: {found.solver} ended: {found.termination.words}")
    if not as_json:
        print(f"linear relaxation: {figure_text(found.objective)}, {found.seconds:.2f} s, {found.solver}")


def _plan(kind, spec, model_file, start, target) -> None:
    """Print the commands that would be run, or write a job script next to the model, instead of a run."""
    from odtc.base.atomic_write import write_text
    from odtc.solvers import job_script, portfolio_members
    from odtc.solvers.protocols import PackageSolver
    from odtc.solvers.solver import find_solver
    from odtc.workflow import files_of_models

    options, program, names = spec.options, spec.program, portfolio_members.solver_names(spec.named_solver)
    modules = [find_solver(name) for name in names]
    if kind:
        job_script.check_kind(kind)
        if len(names) > 1:
            raise ChoiceError(f"--script: expected one solver, got {spec.named_solver}; write a job for each")
        modules = [find_solver(module.ELSEWHERE or names[0]) for module in modules]
    opened = files_of_models.open_model(model_file, start, names)
    for module in modules:
        if module.can(PackageSolver):
            given = "" if opened.start is None else " from its start"
            limits = {"time limit": options.time_limit, "threads": options.threads}
            stated = [f"{name} {value:g}" for name, value in limits.items() if value is not None]
            stated += [f"seed {options.seed}", f"gap {options.gap:g}"]
            print(
                f"{module.NAME} {module.version()} runs inside odtc, without a command of its own: "
                f"it solves {model_file}{given} and writes {target} ({', '.join(stated)})"
            )
            continue
        planned, notes = job_script.plan_beside(
            module, opened.model, opened.start, model_file, target, options, program, bool(kind)
        )
        console.say(*notes)
        if kind:
            path = Path(f"{opened.stem}.{kind}")
            write_text(path, job_script.write_script(kind, module, planned, model_file, options, opened.model))
            print(path)
        else:
            lines = [f"cd {shlex.quote(str(model_file.resolve().parent))}", *job_script.shell_lines(planned)]
            print("\n".join(lines), file=console.data_stream())
