"""`odtc solve`: one solver, or several side by side, on a model's file; and who solves, for `odtc fit` too."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import Gap, Json, ProgramFile, Seed, SolverName, SolverTemplate, Threads, TimeLimit, among
from odtc.errors import ChoiceError


def solve(
    model_file: Annotated[Path, typer.Argument(metavar="STEM.mps", help="A model file: MPS or LP, also .gz.")],
    solver: SolverName = "highs",
    solver_template: SolverTemplate = None,
    program: ProgramFile = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    seed: Seed = 0,
    gap: Gap = 0.0,
    start: Annotated[
        Path | None,
        typer.Option(
            "--start", metavar="FILE", help="Start file, or none; by default the one that `build` wrote beside."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the exact command, and run nothing.")] = False,
    script: Annotated[
        str | None,
        typer.Option(
            "--script",
            metavar="sh|slurm",
            help="Write a job that solves it elsewhere, and run nothing.",
            autocompletion=among("sh", "slurm"),
        ),
    ] = None,
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE.sol", help="By default STEM.sol.")] = None,
    as_json: Json = False,
) -> None:
    """Solve a model file with any solver; the solution goes to STEM.sol in the form of HiGHS.

    Objective and bound are in the sense of the file: of one that maximises, the bound is an upper one.
    """
    from odtc.base.atomic_write import require_writable
    from odtc.model.solution import Options
    from odtc.solvers import portfolio_members
    from odtc.workflow import artifacts, pipeline, run_facts
    from odtc.workflow.manifest import SUFFIX

    options = Options(time_limit, threads, seed, gap)
    target = o or Path(f"{artifacts.stem_of(model_file)}.sol")
    if script or dry_run:
        _plan(script, _with_template(solver, solver_template), model_file, options, start, target, program)
        return
    solver, label, racers = who_solves(solver, solver_template, program, threads)
    require_writable(target, model_file, start, f"{artifacts.stem_of(model_file)}{SUFFIX}")
    opened = artifacts.open_model(model_file, start, portfolio_members.solver_names(solver))
    written: list[Path] = []
    stem = target.with_suffix("") if target.suffix == ".sol" else None
    with (
        console.live(label, stem, written, racers) as (progress, log),
        console.race_logs(stem, racers, written) as logs,
    ):
        hear = (lambda said: progress(artifacts.in_own_sense(opened.model, said))) if progress else None
        solution = pipeline.solve(
            opened.model,
            solver,
            start=opened.start,
            progress=hear,
            log=log,
            logs=logs,
            path=model_file,
            program=program,
            time_limit=time_limit,
            threads=threads,
            seed=seed,
            gap=gap,
        )
    written += artifacts.write_solution(opened.model, solution, options, target)
    solution = artifacts.in_own_sense(opened.model, solution)
    facts = (
        opened.facts | run_facts.solve_facts(solution) | {"sense": "maximize" if opened.model.maximised else "minimize"}
    )
    if not solution.has_solution:
        console.refuse_no_solution(opened.facts, solution, written, as_json)
    console.say_note(solution)
    facts |= {"files": [str(f) for f in written]}
    if as_json:
        console.print_json(facts)
        return
    sense = " (maximised)" if opened.model.maximised else ""
    print(
        f"{solution.termination}: objective {solution.objective:.10g}{sense}{console.proof(solution)}, "
        f"{solution.seconds:.2f} s, {solution.solver}"
    )
    console.print_race(facts)
    print(f"{target}  (odtc decode {shlex.quote(str(target))})")


def who_solves(solver: str, template, program, threads) -> tuple[str, str, tuple[str, ...]]:
    """The solver, or solvers between commas, with a template's; its name in words; and the names of
    those in a race. Says who is left out of one."""
    from odtc.solvers import portfolio_members
    from odtc.solvers.solver import find_solver, installed

    solver = _with_template(solver, template)
    if not portfolio_members.is_race(solver):
        module = find_solver(solver)
        if program is not None:
            if hasattr(module, "run"):
                raise ChoiceError(
                    f"--program: {solver!r} runs inside of odtc and has no executable; name another --solver, such "
                    f"as highs-cli"
                )
            installed(solver, program)
        return solver, module.NAME, ()
    portfolio_members.refuse_program(program)
    field = portfolio_members.line_up(solver, threads)
    for note in field.notes:
        console.say(note)
    return solver, ", ".join(field.names), field.names


def _with_template(solver: str, template: Path | None) -> str:
    """The solver that a template describes instead of another, or beside those of a race."""
    if template is None:
        return solver
    if template.suffix != ".toml":
        raise ChoiceError(
            f"--solver-template: expected a file that ends in .toml, got {str(template)!r}; see examples/my-solver"
        )
    return f"{solver},{template}" if "," in solver else str(template)


def _plan(kind, solver, model_file, options, start, target, program) -> None:
    """The commands that would be run, or a job script beside the model, instead of a run."""
    from odtc.base.atomic_write import write_text
    from odtc.solvers import job_script, portfolio_members
    from odtc.solvers.solver import find_solver
    from odtc.workflow import artifacts

    names = portfolio_members.solver_names(solver)
    modules = [find_solver(name) for name in names]
    if kind:
        job_script.check_kind(kind)
        if len(names) > 1:
            raise ChoiceError(f"--script: expected one solver, got {solver}; write a job for each")
        modules = [find_solver(getattr(module, "ELSEWHERE", names[0])) for module in modules]
    opened = artifacts.open_model(model_file, start, names)
    for module in modules:
        if hasattr(module, "run"):
            given = "" if opened.start is None else ", from its start"
            print(f"{module.NAME} {module.version()} in a process of odtc: {model_file} -> {target}{given}, {options}")
            continue
        planned, notes = job_script.plan_beside(
            module, opened.model, opened.start, model_file, target, options, program, bool(kind)
        )
        for note in notes:
            console.say(note)
        if kind:
            path = Path(f"{opened.stem}.{kind}")
            write_text(path, job_script.write_script(kind, module, planned, model_file, options))
            print(path)
        else:
            print("\n".join([f"cd {shlex.quote(str(model_file.resolve().parent))}", *job_script.shell_lines(planned)]))
