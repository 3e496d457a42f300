"""From a Model to its Solution: by one solver, by several in parallel, or by the loop of a formulation."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.base.spec_fields import fields_by_name
from odtc.base.text import did_you_mean
from odtc.base.wording import option
from odtc.errors import ChoiceError
from odtc.model.milp import Model
from odtc.model.solution import STOPPED, Progress, Solution
from odtc.problem.formulation import loop_of
from odtc.problem.identity import identified, stamp_of
from odtc.solvers import portfolio, portfolio_members
from odtc.solvers.protocols import PackageSolver
from odtc.solvers.solve import shared_process, solve_with_cuts, takes_cuts
from odtc.solvers.solve import solve as run_solver
from odtc.solvers.solver import find_solver, installed
from odtc.verification.verify import raise_bound_to_floor, supported
from odtc.workflow.messages import START_INSTEAD
from odtc.workflow.reporting import ChosenSolver, Hearing
from odtc.workflow.rounds import Keeper, Rounds
from odtc.workflow.specification import SolvingSpec

PLAIN, NOBODY = SolvingSpec(), Hearing()


def choose_solver(spec: SolvingSpec) -> ChosenSolver:
    """Return the solver that a specification names. Raises ChoiceError for an unknown solver, or a program for a
    solver that is not a program, SolverError for a program that is not there."""
    solver, program = spec.named_solver, spec.program
    if not portfolio_members.is_race(solver):
        module = find_solver(solver)
        if program is not None:
            if module.can(PackageSolver):
                raise ChoiceError(
                    f"{option('program')}: {solver!r} runs inside of odtc and has no executable; name another "
                    f"{option('solver')}, such as highs-cli"
                )
            installed(solver, program)
        return ChosenSolver(module.NAME)
    portfolio_members.refuse_program(program)
    field = portfolio_members.line_up(solver, spec.threads)
    return ChosenSolver(", ".join(field.names), field.names, tuple(field.notes))


def solve(
    model: Model,
    solver: str = "highs",
    *,
    start: np.ndarray | None = None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
    logs: Callable[[str, str], None] | None = None,
    path=None,
    **keywords,
) -> Solution:
    """Solve a model with one solver, or with several at once.

    Parameters
    ----------
    model : Model
    solver : str
        A solver of `odtc list solvers`, the path of a TOML file that describes one, or several of both between commas:
        "highs,scip,my.toml" (odtc.solvers.portfolio).
    start : float64 (columns,) or None
        A MIP start.
    progress : callable or None
        Takes Progress records.
    log : callable or None
        Takes pieces of the solver's log.
    logs : callable or None
        Takes the name of a solver and pieces of its log, if several run.
    path : path or None
        The model's file, for a solver that is a program, if it is written already.
    **keywords
        Other fields of SolvingSpec: time_limit, threads, seed, gap, program.

    Returns
    -------
    Solution
        Its bound is at least the lower bound from equivalent points (odtc.verification.verify.objective_floor), if the
        model's problem is known.

    Raises
    ------
    SolverError, ChoiceError

    Examples
    --------
    >>> import odtc
    >>> model = odtc.build("examples/monks/monks-1.csv", "flowoct", depth=1, encoding="onehot")
    >>> odtc.solve(model, "highs").objective
    34.0
    """
    known = [*fields_by_name(SolvingSpec)]
    for name in (one for one in keywords if one not in known):
        raise ChoiceError(f"solve has no keyword {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
    return solve_model(model, SolvingSpec(solver=solver, **keywords), start, path, Hearing(progress, log, logs))


def solve_model(model: Model, spec: SolvingSpec, start=None, path=None, hearing: Hearing = NOBODY) -> Solution:
    """Call `solve` with the options of a specification."""
    if not isinstance(model, Model):
        raise ChoiceError(
            f"expected a model, as odtc.build makes it, got {type(model).__name__}; `odtc solve FILE` solves a model "
            f"file"
        )
    found = _solve(model, spec, hearing, start, hearing.progress, spec.time_limit, path)
    found = replace(found, model=stamp_of(model), content=model.content)
    ours = model.problem is not None and model.as_built is model
    return supported(model, raise_bound_to_floor(model.problem, found)) if ours else found


def _solve(model: Model, spec: SolvingSpec, hearing: Hearing, start, progress, time_limit, path) -> Solution:

    solver, options = spec.named_solver, replace(spec.options, time_limit=time_limit)
    if portfolio_members.is_race(solver):
        portfolio_members.refuse_program(spec.program)
        return portfolio.run(model, solver, options, start, progress, hearing.log, hearing.logs, path)
    return run_solver(model, solver, options, start, progress, hearing.log, path, spec.program)


def solve_or_loop(
    model: Model,
    spec: SolvingSpec = PLAIN,
    start: np.ndarray | None = None,
    *,
    path=None,
    hearing: Hearing = NOBODY,
    keep: Keeper | None = None,
    loop: bool = True,
) -> tuple[Model, Solution]:
    """Solve a model once, or with `loop` the formulation's loop on it, which returns its last model.

    The time limit is for the whole loop; `keep` is as in odtc.workflow.rounds.Rounds. The start is the solution if a
    solver was stopped before it had a point.
    """
    rounds_of = loop_of(model.problem) if loop else None
    if rounds_of is None:
        return model, _or_start(model, start, solve_model(model, spec, start, path, hearing))

    def solve_round(model, *, start, time_limit, path, progress, cuts=None):
        if cuts is None:
            return _solve(model, spec, hearing, start, progress, time_limit, path)
        options = replace(spec.options, time_limit=time_limit)
        return solve_with_cuts(model, spec.named_solver, cuts, options, start, progress, hearing.log)

    # A round's own model may cost less than any tree, so its bound stays as it is.
    rounds = Rounds(solve_round, spec.time_limit, hearing.progress, hearing.log, keep)
    module, more = model.problem.module, {}
    if module.TIMED:
        more["left"] = rounds.remaining
    if module.LAZY and not portfolio_members.is_race(spec.named_solver) and spec.program is None:
        more["in_tree"] = rounds.in_tree if takes_cuts(spec.named_solver) else None
    with shared_process(soft=spec.time_limit is None):
        last, solution = rounds_of(model, rounds.solve, start, rounds.tell, **more)
    last = identified(replace(last, built=None))  # its rows are the loop's, not a user's
    seconds = max(rounds.seconds, solution.seconds or 0.0)  # the loop may count a search that came before it
    solution = supported(last, raise_bound_to_floor(model.problem, solution))
    return last, replace(solution, seconds=seconds, model=last.identity)


def relaxations(time_limit: float | None = None, progress=None, log=None, keep: Keeper | None = None) -> Rounds:
    """Return rounds of separation by the embedded HiGHS on one thread, so that the same data has the same
    constraints."""
    spec = SolvingSpec(solver="highs", threads=1)

    def solve_relaxation(model, *, start=None, time_limit=None, path=None, progress=None):
        # Its optimum is no claim about trees, so it counts also where a proof by this solver does not.
        return _solve(model, spec, Hearing(progress, log), start, progress, time_limit, path)

    return Rounds(solve_relaxation, time_limit, progress, log, keep)


def _or_start(model: Model, start: np.ndarray | None, found: Solution) -> Solution:
    """Return the solution; or the start, if a solver was stopped before it had a point of its own, such as one for
    linear programs that takes no start."""
    if found.has_solution or start is None or found.termination not in STOPPED:
        return found
    message = f"{START_INSTEAD}{': ' * bool(found.message)}{found.message}"
    return raise_bound_to_floor(
        model.problem, replace(found, x=start, objective=model.objective(start), claimed=None, message=message)
    )
