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
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded
from odtc.data.task import expect_classes
from odtc.errors import ChoiceError, NoSolutionError, OutputError, TimeLimitReached
from odtc.model.solution import Solution, Termination
from odtc.problem.parameters import has_parameter
from odtc.trees.tree import Tree
from odtc.verification.verify import FAILED, UNSUPPORTED
from odtc.workflow.compiling import Prepared, choose_cuts, is_tree_file, prepare, start_name
from odtc.workflow.decoding import by_own_splits, finish, learn, no_solution, unfinished
from odtc.workflow.messages import COMPILER, dropped_text, no_start_text, posed_notes, test_is_training_text
from odtc.workflow.plan import LEARNER, LOOP, SEARCH, Decision, Plan
from odtc.workflow.posing import held_out_rows, pose_run, read_in_time, test_rows
from odtc.workflow.results.facts import RoundFacts
from odtc.workflow.results.fit import Fit, Unsolved
from odtc.workflow.searching import Start, expect_feasible, raised, searched, without_point
from odtc.workflow.sinks import Sink
from odtc.workflow.solving import STOPPED, ChosenSolver, Reporter, choose_solver, listening, relaxations, solve_or_loop
from odtc.workflow.specification import RunSpec

if TYPE_CHECKING:
    from odtc.model.milp import Model


AFTER = 0.5  # seconds in which near-optimal trees are counted after an interruption


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
        A path is read as `spec.reading` says; encoded rows are taken as by `pose_run`, except with rounds or parts of
        a selection, which encode rows of their own.
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
        If there is no tree; its `outcome` has the known facts.
    DataError, ChoiceError, SolverError, ...
        All errors of its parts.
    """
    sink, reporter = sink or Sink(), reporter or Reporter()
    choose_cuts(spec.model.cuts)  # an unknown name is reported before the data is read
    solver = choose_solver(spec.solving) if spec.solving.names_solver else None  # an unknown one, too
    for note in solver.notes if solver is not None else ():
        reporter.say(note)
    whole = _run_rounds if _has_rounds(spec) else partial(_run_once, met=met)
    solving = spec.solving
    with threads.at_most(solving.threads), workers.team(solving.workers, solving.cluster, reporter.say):
        done = whole(spec, data, test, solver, sink, reporter)
    with interrupts.held(), _handing_in(done):
        sink.write_tree(done, spec)
    return done


def plan_of(spec: RunSpec, data: Dataset | Encoded | str | Path, sink: Sink | None = None) -> Plan:
    """Return the plan of a run: the data is read, selected and encoded, but nothing is searched or solved.

    The parameters and errors are those of `run`. The plan of several models is that of the first, with the others in
    `Plan.others`; a selection in rounds shows its first round.
    """
    sink, select = sink or Sink(), spec.model.select
    choose_cuts(spec.model.cuts)
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


def _run_rounds(spec: RunSpec, data, test, solver: ChosenSolver | None, sink: Sink, reporter: Reporter) -> Fit:
    """The best of the rounds of a selection, each of which selects by the tree of the last; of several models each has
    rounds of its own, in an equal part of the time."""
    from odtc.workflow.row_selection.rest_bound import bound_by_parts
    from odtc.workflow.row_selection.selection import parts_of, select_in_rounds

    began, wanted, each = time.monotonic(), spec.model, _one_model_each(spec)
    dataset = data if isinstance(data, Dataset) else read_in_time(spec, data)
    expect_classes(dataset.task, option("select"))
    if dataset is not data and (words := dropped_text(dataset)):
        reporter.say(words)
    fits, sinks, bests, cut = [], [], [], []  # cut: whether Ctrl-C or SIGTERM ended a search

    def fit_part(once: RunSpec, part: Dataset, seconds: float | None) -> Fit:
        own = sink.for_round(len(fits) + 1)
        try:
            fits.append(_run_once(once.with_solving(time_limit=seconds), part, test, solver, own, reporter))
        except NoSolutionError:
            sink.files = own.files
            raise
        sinks.append(own)
        cut.append(fits[-1].was_interrupted)
        return fits[-1]

    limit, parts = deadline.limit_left(began, spec.solving.time_limit), parts_of(wanted.select)
    in_rounds = limit / 2 if limit is not None and parts else limit
    for place, once in enumerate(each):
        left = deadline.limit_left(began, in_rounds)
        seconds = None if left is None else max(deadline.MOMENT, left / (len(each) - place))
        name = f"{once.model.model}: " if len(each) > 1 else ""
        say = lambda words, name=name: reporter.say(name + words)
        try:
            rounds = wanted.select, wanted.depth, partial(fit_part, once), say, seconds, lambda: any(cut)
            bests.append(select_in_rounds(dataset, *rounds))
        except (NoSolutionError, TimeLimitReached) as problem:
            if place + 1 == len(each) and not bests:
                raise
            say(str(problem))
        if any(cut):
            break
    best = min(bests, key=lambda done: (len(done.all_rows.breaks), done.all_rows.loss))
    at = next(at for at, found in enumerate(fits) if found is best)
    sink.chosen(sinks[at], sinks[:at] + sinks[at + 1 :])
    bounds = [done.all_rows.bound for done in fits]
    if parts and not any(cut):
        proving = {done.problem.formulation for done in fits if done.all_rows.bound is not None}
        once = next((one for one in each if one.model.model in proving), each[0])

        def prove(part: Dataset, seconds: float | None) -> float | None:
            done = _run_once(once.with_solving(time_limit=seconds), part, None, solver, Sink(), Reporter())
            cut.append(done.was_interrupted)
            return done.all_rows.bound

        left = deadline.limit_left(began, spec.solving.time_limit)
        bounds.append(bound_by_parts(dataset, parts, prove, reporter.say, left, lambda: any(cut)))
    told = tuple(_round_facts(number, done, done is best, len(each) > 1) for number, done in enumerate(fits, 1))
    return replace(best, bound_of_all=max((bound for bound in bounds if bound is not None), default=None), rounds=told)


def _one_model_each(spec: RunSpec) -> list[RunSpec]:
    """The specification of a round, once for each of the models between commas, with the parameters that it has."""
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


def _round_facts(number: int, done: Fit, kept: bool, of_several: bool) -> RoundFacts:
    found, test, n_selected = done.all_rows, done.test, done.dataset.n_rows
    return RoundFacts(
        number,
        n_selected,
        n_selected / done.dataset.selected.whole.n_rows,
        found.accuracy,
        None if test is None else test.test_accuracy,
        found.loss,
        found.bound,
        kept,
        done.problem.formulation if of_several else None,
    )


def _run_once(
    spec: RunSpec, data, test, solver: ChosenSolver | None, sink: Sink, reporter: Reporter, met: Sequence[Tree] = ()
) -> Fit:
    began, limit = time.monotonic(), spec.solving.time_limit
    with reporter.reading():
        problem = pose_run(spec, data)
    with deadline.within(deadline.limit_left(began, limit)):
        notes = posed_notes(problem, spec, read_here=not isinstance(data, (Dataset, Encoded)))
    for note in [*notes, test_is_training_text(problem.encoded.dataset, test)]:
        if note:
            reporter.say(note)
    labelled = test_rows(problem, test) if test is not None else held_out_rows(problem)
    sink.posed(problem, spec)
    plan = Plan.of(problem, spec, sink.wants_model)
    if plan.engine == LEARNER:
        done = learn(problem, labelled, deadline.limit_left(began, limit), spec.simplify)
        sink.no_model()
        return done
    left = deadline.limit_left(began, limit)
    if plan.engine == SEARCH:
        with reporter.solving(ChosenSolver(COMPILER)) as hearing:
            share = None if left is None else sink.search_part * left
            start, heard = Start(spec.model.start, tuple(met)), hearing.progress
            done = searched(problem, labelled, share, start, heard, spec.simplify, reporter.say)
        sink.no_model()
        _finish(sink, reporter, done, deadline.limit_left(began, limit))
        return done
    solver = solver or choose_solver(spec.solving)
    with listening(reporter.solving(solver), sink.logs(solver)) as hearing:
        rounds = relaxations(left, hearing.progress, hearing.log, sink.keeper)
        ready = prepare(problem, spec.model.cuts, spec.model.start, rounds, limit, reporter.say, began)
        expect_feasible(ready)
        if ready.model is not None:
            if ready.begun is None and spec.model.start not in (None, "none") and not is_tree_file(spec.model.start):
                reporter.say(no_start_text(problem, start_name(problem, spec.model.start)))
            path = sink.built(ready.model)
            solving = replace(spec.solving, time_limit=ready.left)
            try:
                last, solution = solve_or_loop(
                    ready.model,
                    solving,
                    ready.point,
                    path=path,
                    hearing=hearing,
                    keep=sink.keeper,
                    loop=plan.engine == LOOP,
                )
            except KeyboardInterrupt:  # before the solver could be stopped, or after it
                if ready.best_known is None:
                    raise
                last, solution = ready.model, Solution(None, Termination.INTERRUPTED, solver=solver.label)
    if ready.model is None:
        sink.no_model()
        done = unfinished(ready, labelled, simplify=spec.simplify)
        _finish(sink, reporter, done, 0)
        return done
    solution = by_own_splits(last, raised(ready, solution), ready.best_known)
    done = _of_solution(spec, sink, ready, last, solution, labelled)
    _finish(sink, reporter, done, ready.left)
    return done


def _of_solution(
    spec: RunSpec, sink: Sink, ready: Prepared, last: "Model", solution: Solution, labelled: Dataset | None
) -> Fit:
    """Write the solution of the last model, and return the result: its tree, or the start if the solver has none."""
    try:
        with interrupts.held():
            sink.solved(ready.model, last, solution, spec)
    except OutputError as problem:
        if solution.has_solution:
            problem.result = finish(last, solution, labelled, simplify=spec.simplify)
        raise
    if solution.has_solution:
        return finish(last, solution, labelled, simplify=spec.simplify)
    if solution.termination in STOPPED:
        return unfinished(ready, labelled, solution, spec.simplify)
    if UNSUPPORTED in solution.message and solution.termination in FAILED:
        sink.no_model()
        return without_point(ready, last, solution, labelled, spec.simplify)
    start = ready.best_known if solution.termination in FAILED else None  # as good as before
    words = "" if start is None else sink.unsolved(ready.problem, start)
    raise no_solution(Unsolved(last.problem, last, solution), words)


def _finish(sink: Sink, reporter: Reporter, done: Fit, left: float | None) -> None:
    """The last files of a run, in the seconds that are left; after Ctrl-C or SIGTERM in a moment."""
    with deadline.within(left), _handing_in(done):
        if done.was_interrupted:
            deadline.end_soon(AFTER)
        words = sink.finished(done.problem, left, done.decoded.heap)
    if words:
        reporter.say(words)
