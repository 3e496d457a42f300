"""One function that runs a specification: read, build the problem, start, compile, solve, decode, verify, write.

The command line, `odtc.fit`, the estimator and `odtc tune` call it; a sink receives the files, a reporter the
progress.
"""

import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from odtc.algorithms.thresholds import workers
from odtc.base import deadline, interrupts, threads
from odtc.base.threads import in_one_thread
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError, OutputError
from odtc.model.solution import STOPPED, Solution, Termination
from odtc.problem.parameters import has_parameter
from odtc.problem.problem import Problem
from odtc.trees.tree import Tree
from odtc.verification.verify import FAILED
from odtc.workflow.decoding import by_own_splits, finish, learn, no_solution, unfinished
from odtc.workflow.first_trees import is_tree_file, start_name
from odtc.workflow.messages import COMPILER, no_start_text, posed_notes, test_is_training_text, unused_rows_text
from odtc.workflow.plan import LEARNER, LOOP, SEARCH, Decision, Plan
from odtc.workflow.posing import held_out_rows, pose_run, test_rows
from odtc.workflow.reporting import ChosenSolver, Hearing, Reporter, listening
from odtc.workflow.results.fit import Fit, Unsolved
from odtc.workflow.searching import Start, expect_feasible, raised, searched, without_point
from odtc.workflow.sinks import Sink
from odtc.workflow.specification import RunSpec

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.workflow.compiling import Prepared


COUNT_SECONDS = 0.5  # seconds in which near-optimal trees are counted after an interruption


@in_one_thread()
def run(
    spec: RunSpec,
    data: Dataset | Encoded | str | Path,
    test: str | Path | None = None,
    sink: Sink | None = None,
    reporter: Reporter | None = None,
    met: Sequence[Tree] = (),
) -> Fit:
    """Run a specification.

    The time limit includes all steps: the time for reading and building the problem is not available to the compiler
    and the solver. If it comes before a solver has a point, the best tree known is the result, and a message reports
    this.

    Parameters
    ----------
    spec : RunSpec
    data : Dataset, path or Encoded
        A path is read as `spec.reading` describes; encoded rows are taken as by `pose_run`, except with rounds or
        parts of a selection, which encode rows of their own.
    test : path or None
        A file of labelled rows to test the tree on.
    sink : Sink or None
        Receives the files; none are written without one.
    reporter : Reporter or None
        Receives the progress.
    met : sequence of Tree
        Trees that earlier runs found: the search of a formulation begins with the best of them that satisfies
        the constraints, if that costs less than `spec.model.start`.

    Returns
    -------
    Fit
        The caller must look at `Fit.verified`: whether its checks passed.

    Raises
    ------
    NoSolutionError
        If the run ends without a tree; its `outcome` has the known facts.
    DataError, ChoiceError, SolverError, ...
        All errors of its parts.
    """
    sink, reporter = sink or Sink(), reporter or Reporter()
    _expect_cuts(spec)
    solver, solving = _named_solver(spec, reporter), spec.solving
    with threads.at_most(solving.threads), workers.team(solving.workers, solving.cluster, reporter.say):
        if _has_rounds(spec):
            from odtc.workflow.row_selection.runs_in_rounds import run_in_rounds  # few runs select rows

            once = partial(_run_once, solver)
            done = run_in_rounds(spec, _one_model_each(spec), data, once, test, sink, reporter)
        else:
            done = _run_once(solver, spec, data, test, sink, reporter, met)
    with interrupts.held(), _handing_in(done):
        sink.write_tree(done, spec)
    return done


def plan_of(spec: RunSpec, data: Dataset | Encoded | str | Path, sink: Sink | None = None) -> Plan:
    """Return the plan of a run: the data is read, selected and encoded, but nothing is searched or solved.

    Parameters and errors as in `run`. For several models, the plan of the first is returned, with the others in
    `Plan.others`; a selection in rounds shows its first round.
    """
    sink, select = sink or Sink(), spec.model.select
    _expect_cuts(spec)
    plans, more = [], ()
    if _has_rounds(spec):
        from odtc.workflow.row_selection.selection import rounds_of

        rounds = "each round selects by the last tree; these are the rows of the first one"
        more = (Decision("rounds", f"at most {rounds_of(select)}", f"{rounds}, and the best tree is kept"),)
    for once in _one_model_each(spec):
        once = once.with_model(select=select)
        problem = pose_run(once, data, prepared=False)
        sink.posed(problem, once)
        plans.append(replace(Plan.of(problem, once, sink.wants_model), more=more))
    return replace(plans[0], others=tuple(plans[1:]))


def _expect_cuts(spec: RunSpec) -> None:
    """Raise ChoiceError for an unknown cut family, before the data is read."""
    if spec.model.cuts is not None:
        from odtc.workflow.compiling import choose_cuts

        choose_cuts(spec.model.cuts)


def _named_solver(spec: RunSpec, reporter: Reporter) -> ChosenSolver | None:
    """Return the solver that a specification names, before the data is read; raises ChoiceError for an unknown one."""
    if not spec.solving.names_solver:
        return None
    from odtc.workflow.solving import choose_solver  # a search needs no module of solvers

    solver = choose_solver(spec.solving)
    for note in solver.notes:
        reporter.say(note)
    return solver


def _has_rounds(spec: RunSpec) -> bool:
    """Return whether the selection has rounds or parts; raises ChoiceError for several models without them."""
    several = False
    if (select := spec.model.select) is not None:
        from odtc.workflow.row_selection.selection import parts_of, rounds_of

        several = rounds_of(select) > 1 or bool(parts_of(select))
    if "," in str(spec.model.model) and not several:
        raise ChoiceError(
            f"expected one model, or several with a selection in rounds ({option('select', 'coarse_to_fine')}), whose "
            f"trees all rows judge, got {spec.model.model}; `odtc tune` chooses among models by cross-validation"
        )
    return several


@contextmanager
def _handing_in(done: Fit):
    """Whoever catches that files cannot be written has the result all the same."""
    try:
        yield
    except OutputError as problem:
        problem.result = done
        raise


def _one_model_each(spec: RunSpec) -> list[RunSpec]:
    """Return the specification of a round, once for each of the models between commas, with the parameters that it
    has."""
    names = [name.strip() for name in spec.model.model.split(",")]
    if len(names) == 1:
        return [spec.with_model(select=None)]
    has = {name: [key for key in spec.model.params if name != "auto" and has_parameter(name, key)] for name in names}
    for key in spec.model.params:
        if not any(key in keys for keys in has.values()):
            raise ChoiceError(
                f"-p: expected a parameter of {', '.join(names)}, got {key!r}, which none of them has; see "
                "`odtc info MODEL`"
            )
    return [
        spec.with_model(model=name, select=None, params={key: spec.model.params[key] for key in keys})
        for name, keys in has.items()
    ]


@value_class
class _OpenRun:
    """A run whose problem is built and whose tree is still open: the inputs of its search or solver.

    Attributes
    ----------
    spec : RunSpec
    problem : Problem
    labelled : Dataset or None
        Labelled rows to test on.
    sink : Sink
    reporter : Reporter
    began : float
        When the run began, as time.monotonic().
    """

    spec: RunSpec
    problem: Problem
    labelled: Dataset | None
    sink: Sink
    reporter: Reporter
    began: float

    @property
    def left(self) -> float | None:
        """The seconds that are left of the time limit; None without a limit."""
        return deadline.limit_left(self.began, self.spec.solving.time_limit)


def _run_once(
    solver: ChosenSolver | None,
    spec: RunSpec,
    data: Dataset | Encoded | str | Path,
    test: str | Path | None,
    sink: Sink,
    reporter: Reporter,
    met: Sequence[Tree] = (),
) -> Fit:
    """Perform one run by its plan, without the file of its tree; `solver` is the one that is named."""
    began = time.monotonic()
    with reporter.reading():
        problem = pose_run(spec, data)
    with deadline.within(deadline.limit_left(began, spec.solving.time_limit)):
        notes = posed_notes(problem, spec, read_here=not isinstance(data, (Dataset, Encoded)))
    rows = problem.encoded.dataset
    for note in [*notes, test_is_training_text(rows, test), unused_rows_text(rows, test)]:
        if note:
            reporter.say(note)
    labelled = test_rows(problem, test) if test is not None else held_out_rows(problem)
    sink.posed(problem, spec)
    opened, plan = _OpenRun(spec, problem, labelled, sink, reporter, began), Plan.of(problem, spec, sink.wants_model)
    if plan.engine == LEARNER:
        return _learned(opened)
    if plan.engine == SEARCH:
        return _searched(opened, met)
    return _solved(opened, solver, plan.engine == LOOP)


def _learned(opened: _OpenRun) -> Fit:
    """Return the tree of a formulation without a model."""
    done = learn(opened.problem, opened.labelled, opened.left, opened.spec.simplify)
    opened.sink.no_model()
    return done


def _searched(opened: _OpenRun, met: Sequence[Tree]) -> Fit:
    """Return the tree of the formulation's own search."""
    left, spec = opened.left, opened.spec
    with opened.reporter.solving(ChosenSolver(COMPILER)) as hearing:
        share = None if left is None else opened.sink.search_part * left
        start, heard = Start(spec.model.start, tuple(met)), hearing.progress
        done = searched(opened.problem, opened.labelled, share, start, heard, spec.simplify, opened.reporter.say)
    opened.sink.no_model()
    _finish(opened, done, opened.left)
    return done


def _solved(opened: _OpenRun, solver: ChosenSolver | None, in_loop: bool) -> Fit:
    """Return the tree of a solver; the best tree known if the time limit comes before there is a model."""
    from odtc.workflow import compiling, solving  # a search needs none of the modules of models

    spec, sink = opened.spec, opened.sink
    solver = solver or solving.choose_solver(spec.solving)
    with listening(opened.reporter.solving(solver), sink.logs(solver)) as hearing:
        rounds = solving.relaxations(opened.left, hearing.progress, hearing.log, sink.keeper)
        limit, say = spec.solving.time_limit, opened.reporter.say
        ready = compiling.prepare(opened.problem, spec.model.cuts, spec.model.start, rounds, limit, say, opened.began)
        expect_feasible(ready)
        if ready.model is not None:
            last, solution = _solution_of(opened, ready, solver, hearing, in_loop)
    if ready.model is None:
        sink.no_model()
        done = unfinished(ready, opened.labelled, simplify=spec.simplify)
        _finish(opened, done, 0)
        return done
    solution = by_own_splits(last, raised(ready, solution), ready.best_known)
    done = _of_solution(opened, ready, last, solution)
    _finish(opened, done, ready.left)
    return done


def _solution_of(
    opened: _OpenRun, ready: "Prepared", solver: ChosenSolver, hearing: Hearing, in_loop: bool
) -> "tuple[Model, Solution]":
    """Return the last model of a solver, the only one without a loop, and how it ended."""
    from odtc.workflow.solving import solve_or_loop

    problem, start = opened.problem, opened.spec.model.start
    if ready.begun is None and start not in (None, "none") and not is_tree_file(start):
        opened.reporter.say(no_start_text(problem, start_name(problem, start)))
    path = opened.sink.built(ready.model)
    solving = replace(opened.spec.solving, time_limit=ready.left)
    try:
        return solve_or_loop(
            ready.model, solving, ready.point, path=path, hearing=hearing, keep=opened.sink.keeper, loop=in_loop
        )
    except KeyboardInterrupt:  # before the solver could be stopped, or after it
        if ready.best_known is None:
            raise
        return ready.model, Solution(None, Termination.INTERRUPTED, solver=solver.label)


def _of_solution(opened: _OpenRun, ready: "Prepared", last: "Model", solution: Solution) -> Fit:
    """Write the solution of the last model, and return the result: its tree, or the start if the solver has none."""
    sink, labelled, simplify = opened.sink, opened.labelled, opened.spec.simplify
    try:
        with interrupts.held():
            sink.solved(ready.model, last, solution, opened.spec)
    except OutputError as problem:
        if solution.has_solution:
            problem.result = finish(last, solution, labelled, simplify=simplify)
        raise
    if solution.has_solution:
        return finish(last, solution, labelled, simplify=simplify)
    if solution.termination in STOPPED:
        return unfinished(ready, labelled, solution, simplify)
    if solution.is_unsupported and solution.termination in FAILED:
        sink.no_model()
        return without_point(ready, last, solution, labelled, simplify)
    start = ready.best_known if solution.termination in FAILED else None  # as good as before
    words = "" if start is None else sink.unsolved(ready.problem, start)
    raise no_solution(Unsolved(last.problem, last, solution), words)


def _finish(opened: _OpenRun, done: Fit, left: float | None) -> None:
    """Write the last files of a run, in the seconds that are left; after Ctrl-C or SIGTERM in a moment."""
    with deadline.within(left), _handing_in(done):
        if done.was_interrupted:
            deadline.end_soon(COUNT_SECONDS)
        text = opened.sink.finished(done.problem, left, done.decoded.heap)
    if text:
        opened.reporter.say(text)
