"""Sentences about a run, such as which rows were left out of the data, and why it has no start or no tree."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from odtc.base.text import count_of, some
from odtc.base.wording import command, option
from odtc.data.cells.text_records import skipped_text
from odtc.data.dataset import Dataset
from odtc.data.encoding import ENCODINGS
from odtc.data.notes import notes_on
from odtc.data.reading import is_same_table
from odtc.data.reading_columns import taken_text
from odtc.model.solution import Solution, Termination
from odtc.problem.formulation import searches
from odtc.problem.problem import Problem
from odtc.workflow.specification import RunSpec

COMPILER = "odtc"  # stated as the solver of a run in which no solver ran
REMARKS_SHOWN = 5  # number of remarks on the data that are shown in full before a fit
START_INSTEAD = "the solver had no solution yet: the tree is the start"
INTERRUPTED_FIRST = "interrupted before the solver ran: the tree is the start"
SEARCH_PROVED = (
    "the compiler's own search proved the tree before a model, which may be too large, was built, so no solver ran"
)
OWN_TREE = "the tree is not the solver's, but a better one of the compiler's own search or of CART"
LOWERED = "the bound is from {}, lowered by the tolerance of solvers"
CONTRADICTED = "the bound of {} does not count, because a known tree costs less"
SEARCH_PROVES = "odtc's own search over all trees of these splits proves the tree"
SEARCH_AGREES = f"the solution file does not name its model, so it proves nothing; {SEARCH_PROVES}"
SEARCH_INSTEAD = (
    "the time limit or Ctrl-C came before the model was built: tree and bound are from the compiler's search"
)
NO_SOLVER_RAN = "the time limit came before the solver ran: the tree is the start"


def dropped_text(dataset: Dataset) -> str:
    """Report how many rows of the data file were left out of the data set, and why; "" if no row was left out."""
    if not dataset.n_dropped:
        return ""
    rows = "row" if dataset.n_dropped == 1 else "rows"
    skipped = f"; {skipped_text(dataset.n_skipped)}" if dataset.n_skipped else ""
    whole = dataset.n_dropped + dataset.n_file_rows
    return f"dropped {dataset.n_dropped} {rows} of {whole}: {why_dropped(dataset)}{skipped}"


def read_notes(dataset: Dataset) -> list[str]:
    """Return remarks on rows that were read: the number left out, and suspicious columns.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    list of str
    """
    dropped = dropped_text(dataset)
    return [*([dropped] if dropped else []), *data_notes(dataset)]


def test_is_training_text(dataset: Dataset | None, test: Any) -> str:
    """Report that the test rows are the training rows; "" if they differ."""
    source = {} if dataset is None else dataset.source
    if not isinstance(test, str | Path) or not source.get("sha256") or not is_same_table(test, source, source):
        return ""
    return (
        f"the rows of {option('test', str(test))} are the training rows, so the figures on them say nothing about new "
        f"rows; name other rows (a sheet as FILE.xlsx#SHEET), or set some aside with {option('hold_out', 0.2)}"
    )


def held_out_text(dataset: Dataset) -> str:
    """Report how many rows of the data file were set aside to test the tree; "" if no row was set aside."""
    if dataset.held_out is None:
        return ""
    out = dataset.held_out.height
    whole = dataset if dataset.selected is None else dataset.selected.whole
    were, them = ("was", "it") if out == 1 else ("were", "them")
    return (
        f"{out} of {count_of(out + whole.n_file_rows + whole.n_dropped, 'row', '')} {were} set aside at random for the "
        f"test; the search does not use {them}"
    )


def unused_rows_text(dataset: Dataset | None, test: Any) -> str:
    """Report rows that were set aside for a test, although other rows are named for it; "" if there are none."""
    if dataset is None or dataset.held_out is None or test is None:
        return ""
    rows = count_of(dataset.held_out.height, "row", "")
    return (
        f"note: {option('hold_out')} sets {rows} aside, but {option('test')} names the rows of the test, so neither "
        "the search nor the test uses these; leave one of the two options out"
    )


def why_dropped(dataset: Dataset) -> str:
    """Report why rows were left out, and which of them --missing separate would keep."""
    incomplete = dataset.n_dropped - dataset.n_unlabelled
    keeps = f"{option('missing', 'separate')} keeps them"
    if dataset.missing_words:
        keeps = f"{taken_text(dataset.missing_words)}; {keeps}, {option('only_missing', '')} reads such texts as values"
    words = [f"{incomplete} with missing cells ({keeps})"] if incomplete else []
    words += (
        [f"{dataset.n_unlabelled} without a label{' or a weight' if dataset.source.get('weights') else ''}"]
        if dataset.n_unlabelled
        else []
    )
    return ", ".join(words)


def posed_notes(problem: Problem, spec: RunSpec, read_here: bool) -> list[str]:
    """Return remarks on a problem before it is solved, such as the formulation that "auto" chose, and parameters that
    do not help. With `read_here`, also remarks on rows of the data file that were left out."""
    notes = []
    if problem.choice is not None and (spec.needs_model or not searches(problem)):  # a search is the normal case
        notes.append(f"{option('model', 'auto')}: {problem.choice.why}")
    notes += problem.module.advice(problem)
    if (rows := problem.encoded.dataset) is not None and not problem.module.BEYOND:
        encoding, options = ENCODINGS.parse(problem.encoded.scheme)
        notes.append(encoding.remark(rows, **options))
    if read_here:
        notes += file_notes(problem, spec)
    return [note for note in notes if note]


def file_notes(problem: Problem, spec: RunSpec) -> list[str]:
    """Return remarks on the rows of the data file, and on rows that were left out of the problem."""
    dataset = problem.encoded.dataset
    whole = dataset if dataset.selected is None else dataset.selected.whole
    notes = [dropped_text(whole), held_out_text(dataset)]
    if whole is not dataset:
        from odtc.workflow.row_selection.selection import undecided_text

        notes.append(f"{option('select', spec.model.select)}: {dataset.n_rows:,} of {count_of(whole.n_rows, 'row')}")
        notes.append("" if spec.fitting else undecided_text(dataset.selected.facts))  # a fit states it with its result
    # With costs or constraints, a tree has another goal than to be correct on most rows.
    asked = problem.constraints or spec.model.cost is not None or spec.model.class_weight is not None
    return [note for note in [*notes, *data_notes(whole, {"imbalance"} if asked else set())] if note]


def data_notes(dataset: Dataset, without: Collection[str] = ()) -> list[str]:
    """Return the remarks on a data set except for the kinds `without`; only the first ones are in full."""
    found = [f"note: {note.text}" for note in notes_on(dataset) if note.kind not in without]
    more = len(found) - REMARKS_SHOWN
    return (
        found if more <= 1 else found[:REMARKS_SHOWN] + [f"note: {more} more remarks: {command('inspect')} shows them"]
    )


def no_start_text(problem: Problem, name) -> str:
    """Report why a heuristic's tree cannot be a start of the problem."""
    constraints = "; ".join(map(str, problem.constraints))
    return f"no start is given: the tree of {name!r} violates a constraint ({constraints})"


def no_solution_text(
    solution: Solution,
    ours: bool = True,
    constraints: Sequence[str] = (),
    selected: bool = False,
    own_rows: Sequence[str] = (),
    from_file: bool = False,
) -> str:
    """Report why there is no tree, and what to do. `ours` is False for a model file that odtc did not build;
    `constraints` are the constraints of the model, and `selected` is whether they apply to selected rows only;
    `own_rows` are the names of rows that the user added; `from_file` is whether the solver read a model file, to which
    the user may have added rows."""
    if solution.termination == Termination.INFEASIBLE and solution.solver == COMPILER and solution.message:
        return f"proved: {solution.message}, allow a greater {option('depth')}, or more splits"
    if solution.termination == Termination.INFEASIBLE and own_rows:
        beside = f" together with {'; '.join(constraints)}" if constraints else ""
        return (
            f"{solution.solver or 'the solver'} found no solution: it says the edited model is infeasible, so no tree "
            f"of this model keeps the rows of your own{beside}: relax or remove one of {some(own_rows)}"
        )
    if solution.termination == Termination.INFEASIBLE and constraints:
        which, eased = ("the constraint", "it") if len(constraints) == 1 else ("all the constraints", "one of them")
        added = ", or remove rows that you added to the model file (docs/reference/files.md)" if from_file else ""
        return (
            f"{solution.solver or 'the solver'} reports that the model is infeasible, so no tree of this depth over "
            f"these splits satisfies {which} {'; '.join(constraints)}{' on the selected rows' if selected else ''}: "
            f"relax {eased}, allow a greater {option('depth')} or more splits{added}"
        )
    if solution.solver == COMPILER and constraints and solution.message:  # of a search (results.facts.unmet_text)
        return solution.message
    if solution.solver == COMPILER and solution.termination != Termination.UNKNOWN:
        return (
            "the time limit came before the model was built, and no start was given; allow more time "
            f"({option('time_limit')}), give a start ({option('start', 'cart')}), or make it smaller: fewer splits "
            f"({option('encoding', 'auto:bins=8')}), a smaller {option('depth')}"
        )
    why = _end_without_tree(solution, ours, from_file)
    return (
        f"{solution.solver or 'the solver'} found no solution: "
        f"{why}{': ' + solution.message if solution.message else ''}"
    )


def _end_without_tree(solution: Solution, ours: bool, from_file: bool) -> str:
    """Report how a solver ended that has no tree, as a clause; parameters as of `no_solution_text`."""
    more = f"the time limit came first; allow more time ({option('time_limit')})"
    start = (
        f"a start file of `odtc build` ({option('start', 'FILE')})"
        if from_file
        else f"a start ({option('start', 'cart')})"
    )
    return {
        Termination.TIME_LIMIT: {
            "none": f"{more}, or give {start} to a solver that takes one (odtc list solvers)",
            "accepted": more,
        }.get(solution.start, f"{more}; it did not take the start that it was given"),
        Termination.INFEASIBLE: "it says the model is infeasible"
        + (
            "; every model of odtc has a solution, unless no tree satisfies the constraints, or rows were added to a "
            "file from which the compiler left columns out (docs/reference/files.md), so check these and the file"
            if ours
            else ""
        ),
        Termination.INTERRUPTED: "it was interrupted before it had one",
        Termination.UNKNOWN: "it ended as unknown" + ("" if solution.message else ", and only its log may state why"),
    }.get(solution.termination, f"it ended as {solution.termination.words}")
