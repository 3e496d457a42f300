"""A Model to its Solution: by one solver, by several side by side, or by the loop of a formulation."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from odtc.errors import ChoiceError
from odtc.model.milp import Model
from odtc.model.solution import Options, Progress, Solution, Termination
from odtc.problem.problem import Problem
from odtc.solvers import portfolio, portfolio_members
from odtc.solvers.solve import solve as run_solver
from odtc.verification.verify import floored
from odtc.workflow.rounds import Rounds


def solve(
    model: Model,
    solver: str = "highs",
    *,
    start=None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
    logs: Callable[[str, str], None] | None = None,
    path=None,
    program: str | None = None,
    **options,
) -> Solution:
    """Solves a model by any solver of `odtc list solvers`, or one described by a TOML file, or by
    several side by side: "highs,scip,my.toml" (odtc.solvers.portfolio, which also says what `logs` are).

    `options` are those of `Options` (time_limit, threads, seed, gap); `start` is a point of shape
    (columns,); `path` and `program` as in odtc.solvers.solve.solve. The bound is never below what equivalent
    points leave (odtc.verification.verify.floor), where the model's problem is known. Raises SolverError, ChoiceError.
    """
    if not isinstance(model, Model):
        raise ChoiceError(
            f"expected a model, as odtc.build makes it, got {type(model).__name__}; `odtc solve FILE` solves a model "
            f"file"
        )
    found = _solve(
        model, solver, start=start, progress=progress, log=log, logs=logs, path=path, program=program, **options
    )
    return floored(model.problem, found) if model.problem is not None else found


def _solve(
    model: Model, solver: str, *, start=None, progress=None, log=None, logs=None, path=None, program=None, **options
) -> Solution:
    if portfolio_members.is_race(solver):
        portfolio_members.refuse_program(program)
        return portfolio.run(model, solver, Options(**options), start, progress, log, logs, path)
    return run_solver(model, solver, Options(**options), start, progress, log, path, program)


def run(
    model: Model,
    solver: str = "highs",
    *,
    start=None,
    progress=None,
    log=None,
    logs=None,
    path=None,
    program=None,
    time_limit=None,
    keep=None,
    **options,
) -> tuple[Model, Solution]:
    """What `fit` solves: the model once, or the formulation's loop on it, which hands back its last
    model. All words as for `solve`; the time limit holds for the loop as a whole; `keep` is that of
    odtc.workflow.rounds.Rounds."""
    loop = loop_of(model.problem)
    if loop is None:
        return model, _or_start(
            model,
            start,
            solve(
                model,
                solver,
                start=start,
                progress=progress,
                log=log,
                logs=logs,
                path=path,
                program=program,
                time_limit=time_limit,
                **options,
            ),
        )
    # A round's own model may cost less than any tree, so its bound stays as it is.
    rounds = Rounds(
        partial(_solve, solver=solver, program=program, log=log, logs=logs, **options), time_limit, progress, log, keep
    )
    timed = {"left": rounds.remaining} if getattr(model.problem.module, "TIMED", False) else {}
    last, solution = loop(model, rounds.solve, start, rounds.tell, **timed)
    return last, replace(floored(model.problem, solution), seconds=rounds.seconds)


def _or_start(model: Model, start: np.ndarray | None, found: Solution) -> Solution:
    """The solution; the start, where a solver was stopped before it had a point of its own, as one of an LP
    is that takes no start."""
    if (
        found.has_solution
        or start is None
        or found.termination not in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    ):
        return found
    note = "the solver had no point of its own yet: the tree is that of the start"
    return floored(
        model.problem,
        replace(
            found,
            x=start,
            objective=model.objective(start),
            claimed=None,
            message=f"{note}{': ' * bool(found.message)}{found.message}",
        ),
    )


def loop_of(problem: Problem):
    """The `fit` of a formulation that solves round after round, with these parameters; else None."""
    module = problem.module
    return module.fit if hasattr(module, "fit") and module.loops(problem) else None
