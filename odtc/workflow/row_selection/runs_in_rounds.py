"""Runs of a selection that selects again by the last tree, or proves a bound by parts: the best of their trees."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from odtc.base import deadline
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.task import expect_classes
from odtc.errors import NoSolutionError, TimeLimitReached
from odtc.workflow.messages import dropped_text
from odtc.workflow.posing import read_in_time
from odtc.workflow.reporting import Reporter
from odtc.workflow.results.facts import RoundFacts
from odtc.workflow.results.fit import Fit
from odtc.workflow.row_selection.rest_bound import bound_by_parts
from odtc.workflow.row_selection.selection import parts_of, select_in_rounds
from odtc.workflow.sinks import Sink
from odtc.workflow.specification import ModelSpec, RunSpec

# (specification, rows, rows to test on, sink, reporter) → the Fit of one run
RunOnce = Callable[[RunSpec, Dataset, str | Path | None, Sink, Reporter], Fit]


def run_in_rounds(
    spec: RunSpec,
    each: Sequence[RunSpec],
    data: Dataset | str | Path,
    run_once: RunOnce,
    test: str | Path | None,
    sink: Sink,
    reporter: Reporter,
) -> Fit:
    """Return the best Fit of the rounds of a selection.

    Parameters
    ----------
    spec : RunSpec
        With the selection.
    each : sequence of RunSpec
        The specification of a round, once for each model. Each model has rounds of its own, in an equal part of the
        time; half of the time is for the bound by parts, if the selection has one.
    data : Dataset or path
    run_once : callable
        Performs one run.
    test : path or None
    sink : Sink
        Makes the sink of each round.
    reporter : Reporter

    Returns
    -------
    Fit
        With the bound of all rows and the figures of each round.

    Raises
    ------
    NoSolutionError, TimeLimitReached
        If no round has a tree.
    """
    began, wanted = time.monotonic(), spec.model
    dataset = data if isinstance(data, Dataset) else read_in_time(spec, data)
    expect_classes(dataset.task, option("select"))
    if dataset is not data and (words := dropped_text(dataset)):
        reporter.say(words)
    runs = _Runs(run_once, test, sink, reporter)
    limit, parts = deadline.limit_left(began, spec.solving.time_limit), parts_of(wanted.select)
    limit_of_rounds = limit / 2 if limit is not None and parts else limit
    candidates = _best_of_each(wanted, each, dataset, runs, partial(deadline.limit_left, began, limit_of_rounds))
    best = min(candidates, key=lambda done: (len(done.all_rows.breaks), done.all_rows.loss))
    runs.choose(best)
    bounds = [done.all_rows.bound for done in runs.fits]
    if parts and not runs.is_interrupted():
        prove = partial(runs.bound, _proving(each, runs.fits))
        left = deadline.limit_left(began, spec.solving.time_limit)
        bounds.append(bound_by_parts(dataset, parts, prove, reporter.say, left, runs.is_interrupted))
    facts = tuple(_round_facts(n, done, done is best, len(each) > 1) for n, done in enumerate(runs.fits, 1))
    return replace(best, bound_of_all=max((bound for bound in bounds if bound is not None), default=None), rounds=facts)


def _best_of_each(
    wanted: ModelSpec, each: Sequence[RunSpec], dataset: Dataset, runs: "_Runs", left: Callable[[], float | None]
) -> list[Fit]:
    """Return the best Fit of the rounds of each model that has one; `left()` are the seconds left for all rounds."""
    found: list[Fit] = []
    for place, once in enumerate(each):
        seconds = left()
        seconds = None if seconds is None else max(deadline.MOMENT, seconds / (len(each) - place))
        say = partial(runs.say, f"{once.model.model}: " if len(each) > 1 else "")
        fit = partial(runs.fit, once)
        try:
            found.append(select_in_rounds(dataset, wanted.select, wanted.depth, fit, say, seconds, runs.is_interrupted))
        except (NoSolutionError, TimeLimitReached) as problem:
            if place + 1 == len(each) and not found:
                raise
            say(str(problem))
        if runs.is_interrupted():
            break
    return found


class _Runs:
    """The runs of all rounds and parts, with the sink of each round.

    Attributes
    ----------
    fits : list of Fit
        One for each round that has a tree.
    """

    def __init__(self, run_once: RunOnce, test: str | Path | None, sink: Sink, reporter: Reporter):
        self._run_once, self._test, self._sink, self._reporter = run_once, test, sink, reporter
        self.fits: list[Fit] = []
        self._sinks: list[Sink] = []
        self._interrupted = False

    def is_interrupted(self) -> bool:
        """Return whether Ctrl-C or SIGTERM ended a run."""
        return self._interrupted

    def say(self, name: str, text: str) -> None:
        """Report a text on the model of this name."""
        self._reporter.say(name + text)

    def fit(self, once: RunSpec, part: Dataset, seconds: float | None) -> Fit:
        """Return the Fit of one round."""
        own = self._sink.for_round(len(self.fits) + 1)
        try:
            done = self._run_once(once.with_solving(time_limit=seconds), part, self._test, own, self._reporter)
        except NoSolutionError:
            self._sink.files = own.files
            raise
        self.fits.append(done)
        self._sinks.append(own)
        self._interrupted |= done.was_interrupted
        return done

    def bound(self, once: RunSpec, part: Dataset, seconds: float | None) -> float | None:
        """Return the bound that a run proves for a part of the rows; None for none."""
        done = self._run_once(once.with_solving(time_limit=seconds), part, None, Sink(), Reporter())
        self._interrupted |= done.was_interrupted
        return done.all_rows.bound

    def choose(self, best: Fit) -> None:
        """Report to the sink which of the rounds is the result."""
        at = next(at for at, done in enumerate(self.fits) if done is best)
        self._sink.chosen(self._sinks[at], self._sinks[:at] + self._sinks[at + 1 :])


def _proving(each: Sequence[RunSpec], fits: Sequence[Fit]) -> RunSpec:
    """Return the specification of the first model that has proved a bound; of the first model if none has."""
    proving = {done.problem.formulation for done in fits if done.all_rows.bound is not None}
    return next((once for once in each if once.model.model in proving), each[0])


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
