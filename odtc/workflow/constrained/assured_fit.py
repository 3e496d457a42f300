"""Fit trees whose constraints new rows must satisfy: search with stricter constraints, and test on held-out rows.

A tree that only just satisfies a constraint on the training rows satisfies it on half of all other tables, and no test
can assure it. So the search requires the number and in addition a part of the width of the test: with s the share of
the tree on its training rows and b the bound that the test would give for s on its rows, FACTORS · (s - b) more. The
largest factor with a tree is used. All this is chosen by training rows only, so the test stays exact
(odtc.workflow.constrained.assurance). The idea of a candidate that expects its test is from Thomas, Castro da Silva,
Barto, Giguere, Brun & Brunskill 2019 ("Preventing undesirable behavior of intelligent machines", Science 366).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, floor
from pathlib import Path

from odtc.base import deadline
from odtc.base.text import count_of
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.task import expect_classes
from odtc.errors import ChoiceError, NoSolutionError
from odtc.model.solution import Termination
from odtc.problem.constraints.groups import rarest
from odtc.problem.constraints.kind import Constraint
from odtc.problem.problem import Problem
from odtc.workflow.constrained import assurance
from odtc.workflow.messages import file_notes
from odtc.workflow.posing import encode_run, held_out_rows, read_in_time, test_rows
from odtc.workflow.reporting import Reporter
from odtc.workflow.results.fit import Fit
from odtc.workflow.run import run
from odtc.workflow.sinks import Sink
from odtc.workflow.specification import RunSpec, specified

RATE = "recall[{}] >= 0.7"
HELD_OUT = 0.3  # share of the rows to test on, if no test rows are named
FACTORS = (1.5, 1.0, 0.5)  # multiples of the width of the bound by which a constraint is tightened, tried in this order
DIGITS = 10_000  # a number is tightened to a whole multiple of 1 / this
FIRST_PART = 0.3  # share of the time for the tree of the requested constraints


def fit_assured(
    spec: RunSpec,
    data: Dataset | str | Path,
    confidence: float,
    test: str | Path | None = None,
    new_sink: Callable[[], Sink] = Sink,
    reporter: Reporter | None = None,
) -> Fit:
    """Find the best tree whose constraints the test is likely to assure; `Fit.assured(confidence)` reports which ones
    it does.

    Parameters
    ----------
    spec : RunSpec
        With constraints. If neither it nor `test` names rows to test on, three of ten are set aside.
    data : Dataset or path
    confidence : float
        Between 0 and 1.
    test : path or None
        Labelled rows that had no part in any choice.
    new_sink : callable
        Makes the sink for the files of one run; a run without a tree is followed by another.
    reporter : Reporter or None

    Raises
    ------
    NoSolutionError
        If no tree satisfies the requested constraints on the training rows.
    ChoiceError
        Without a constraint to assure, or without rows to test on.
    """
    assurance.expect_share(confidence)
    began, reporter = time.monotonic(), reporter or Reporter()
    spec, dataset = _rows_to_assure(spec, data, test, reporter)
    limited = partial(_limited, spec, began)
    # All searches are over the same splits; a selection in rounds encodes its own rows.
    rows = dataset if spec.model.select is not None else encode_run(limited(1.0), dataset)
    first = run(limited(FIRST_PART), rows, sink=_BeforeSearch(test, confidence, reporter))
    if first.proof.termination == Termination.INTERRUPTED:
        raise KeyboardInterrupt
    problem, requested, labelled = first.problem, first.problem.constraints, _rows_of_test(first.problem, test)
    for note in file_notes(problem, spec) if dataset is not data else ():  # the runs below read no file
        reporter.say(note)
    if test is not None and (seen := assurance.seen_before(dataset, labelled)):
        reporter.say(seen)
    width = assurance.widths(problem, first.tree, labelled.n_rows, confidence)
    for factor, texts in _stricter(requested, width):
        stricter = limited(0.5 if factor else 1.0).with_model(constraints=texts)
        try:
            found = run(stricter, rows, test, new_sink(), reporter, (first.tree,))
        except NoSolutionError:
            if not factor:
                raise
            continue
        for text in (_tightened_text(requested, texts, labelled.n_rows), _no_room_text(requested, width, labelled)):
            if text:
                reporter.say(text)
        return replace(found, requested=specified(problem)[1], confidence=confidence)
    raise AssertionError("the requested constraints were tried")


def _rows_to_assure(
    spec: RunSpec, data: Dataset | str | Path, test: str | Path | None, reporter: Reporter
) -> tuple[RunSpec, Dataset]:
    """Return the specification, which sets rows aside if none are named to test on, and the rows of the data; raises
    ChoiceError if no test can assure the constraints on them."""
    if not spec.model.constraints:
        raise ChoiceError(
            f"{option('confidence')} needs a {option('constraints')} on a rate, such as 'accuracy >= 0.7'"
        )
    if isinstance(data, Dataset):
        _expect_assurable(data, test)
        return spec, data
    spec = with_rows_to_test(spec, test)
    with reporter.reading():
        dataset = read_in_time(spec, data)
    _expect_assurable(dataset, test)
    return spec, dataset


def _limited(spec: RunSpec, began: float, share: float) -> RunSpec:
    """Return the specification with a time limit of this share of the time that is left."""
    left = deadline.limit_left(began, spec.solving.time_limit)
    return spec.with_solving(time_limit=None if left is None else max(deadline.MOMENT, share * left))


def _rows_of_test(problem: Problem, test: str | Path | None) -> Dataset:
    """Return the labelled rows of the test, which are set aside if no file has them."""
    labelled = held_out_rows(problem) if test is None else test_rows(problem, test)
    assert labelled is not None  # by _expect_assurable
    return labelled


def with_rows_to_test(spec: RunSpec, test: object = None) -> RunSpec:
    """Return the specification, which sets rows aside if a confidence needs rows to test on and none are named."""
    if spec.confidence is None or test is not None or spec.reading.hold_out:
        return spec
    return replace(spec, reading=replace(spec.reading, hold_out=HELD_OUT))


def _expect_assurable(dataset: Dataset, test: str | Path | None) -> None:
    """Raise ChoiceError unless the task and the rows support a test on unseen rows."""
    expect_classes(dataset.task, option("confidence"))
    if (dataset.weight != 1).any():
        raise ChoiceError(
            "a confidence needs rows that are drawn at random, but these have weights: leave out "
            f"{option('confidence')}, or the weights"
        )
    if test is None and dataset.held_out is None:
        raise assurance.no_rows()


def _stricter(
    requested: tuple[Constraint, ...], width: dict[Constraint, float]
) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yield (factor, constraints), without repetition, from the strictest to the requested ones, whose factor is 0."""
    tried = set()
    for factor in (*FACTORS, 0.0):
        texts = tuple(str(_tightened(given, factor, width[given])) for given in requested)
        if texts not in tried:
            tried.add(texts)
            yield factor, texts


class _BeforeSearch(Sink):
    """Sink that reports, before the first search, the constraints that no test on the available rows can assure."""

    def __init__(self, test: str | Path | None, confidence: float, reporter: Reporter):
        self.test, self.confidence, self.reporter = test, confidence, reporter

    def posed(self, problem: Problem, spec: RunSpec) -> None:
        if not any(map(assurance.speaks_of_new_rows, problem.constraints)):
            raise ChoiceError(
                f"expected a {option('constraints')} on the rate of new rows, such as "
                f"{RATE.format(rarest(problem.encoded))!r}, got {', '.join(map(str, problem.constraints))}, which "
                f"limits the tree itself or its training rows; leave out {option('confidence')}"
            )
        for words in assurance.never_assured(problem, _rows_of_test(problem, self.test), self.confidence):
            self.reporter.say(words)


def _tightened(given: Constraint, factor: float, width: float) -> Constraint:
    """Return the constraint with a number that is stricter by `factor` times the width, or by the largest smaller one
    of FACTORS with which a tree of more than one class can have the number; unchanged if no share leaves room for
    the whole width."""
    if not width or not _has_room(given, width):
        return given
    for less in (one for one in FACTORS if one <= factor):
        if given.op == ">=":
            digits = ceil((float(given.bound) + less * width) * DIGITS - 1e-6)
        else:
            digits = floor((float(given.bound) - less * width) * DIGITS + 1e-6)
        if 0 < digits < DIGITS:
            return replace(given, bound=Fraction(digits, DIGITS))
    return given


def _has_room(given: Constraint, width: float) -> bool:
    """Return whether a share of new rows can be stricter than the number by the whole width of the test."""
    return 0 <= given.bound + (width if given.op == ">=" else -width) <= 1


def _tightened_text(requested: tuple[Constraint, ...], texts: tuple[str, ...], n_rows: int) -> str:
    """Return the stricter constraints of the search, in words; "" if they are the requested ones."""
    stricter = [text for given, text in zip(requested, texts) if str(given) != text]
    if not stricter:
        return ""
    return (
        f"the search required {' and '.join(stricter)}, so that the test on {count_of(n_rows, 'row', '')} can "
        "assure your constraints"
    )


def _no_room_text(requested: tuple[Constraint, ...], width: dict[Constraint, float], labelled: Dataset) -> str:
    """Return the constraints of which the search could not require more, and why; "" if there are none."""
    unsure = [f"{one} within {width[one]:.2g}" for one in requested if width[one] and not _has_room(one, width[one])]
    if not unsure:
        return ""
    return (
        f"a test on {count_of(labelled.n_rows, 'row', '')} can assure at most {', '.join(unsure)}, so the search "
        "cannot be given a stricter constraint: use more rows, or require less"
    )
