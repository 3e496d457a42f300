"""`odtc select`: fewer rows to train on, as a file."""

import time
from pathlib import Path
from typing import Annotated

from odtc.base.text import count_of, percent_text
from odtc.base.wording import option
from odtc.cli import console
from odtc.cli.help_page import DATA
from odtc.cli.options import DataFile, Json, Part, completing, takes, value_option
from odtc.data.reading_spec import TASK_FIELDS
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.workflow.specification import ModelSpec, ReadingSpec, SolvingSpec

SELECTIONS = "Rule that selects the rows; see `odtc list selections`."
CHANGED = {
    "select": {"default": "convex_hull", "help": SELECTIONS},
    "model": {"default": "auto", "help": "Selections in rounds: the formulation or learner of each round."},
}


RoundsTest = Annotated[
    Path | None,
    value_option(
        "--test",
        "FILE",
        "Selections in rounds: labelled rows for testing the tree of each round.",
        rich_help_panel=DATA,
    ),
]
SelectedFile = Annotated[Path | None, value_option("-o", "FILE.csv", "Output file (default: DATA_selected.csv).")]
ProgramFormat = Annotated[
    str | None,
    value_option(
        "--format",
        "mps|lp|fixed-mps",
        "Write the program of the paper for each cluster as a model file STEM_1.mps, …, and select nothing.",
        autocompletion=completing("formats"),
    ),
]
Program = Annotated[
    int | None,
    value_option(
        "--program",
        "6|7|9",
        "With --format: LP (7) of Algorithm 1, the 0-1 program (6), or its relaxation (9); by default 7, with "
        "--select balanced 9.",
    ),
]


@takes(
    Part(ModelSpec, only=("select", "depth", "model", "params", "encoding"), changed=CHANGED),
    Part(ReadingSpec, leave=("auxiliary",), hidden=("task", *TASK_FIELDS)),
    Part(SolvingSpec, only=("time_limit",)),
)
def select(
    data: DataFile,
    spec,
    test: RoundsTest = None,
    o: SelectedFile = None,
    format: ProgramFormat = None,
    program: Program = None,
    as_json: Json = False,
) -> None:
    """Select rows that represent the table, and write them as CSV, with a column `weight` if they have weights.

    A selection in rounds (iterative, coarse_to_fine) learns a tree in each round and selects by it; the rows are those
    of the round with the best tree on all rows, and a table shows the accuracy for each share of rows.
    """
    from odtc.base.atomic_write import require_writable, write_text
    from odtc.data.task import expect_classes
    from odtc.workflow.messages import data_notes
    from odtc.workflow.posing import read_in_time
    from odtc.workflow.row_selection.selection import as_csv, parts_of, rounds_of

    expect_classes(spec.reading.task, "odtc select")
    began = time.monotonic()
    if format is None and program is not None:
        raise ChoiceError("--program: expected --format mps (or lp), because only model files have a program")
    several = rounds_of(spec.model.select) > 1 or parts_of(spec.model.select) > 0
    expect_rounds(several, spec, test)
    dataset = read_in_time(spec, data)
    for note in data_notes(dataset):
        console.say(note.replace("--auxiliary", "--ignore"))  # columns set aside are not a part of the file
    if format is not None:
        write_programs(dataset, spec, format, program, str(o or dataset.name), as_json)
        return
    path = o or Path(f"{dataset.name}_selected.csv")
    require_writable(path, data)
    done = _select_in_rounds(dataset, spec, test, began) if several else None
    part = done.dataset if several else _select_once(dataset, spec)
    text, weight = as_csv(part)
    write_text(path, text)
    written = {
        "weights": weight,
        "n_rows_dropped": dataset.n_dropped,
        "seconds": round(time.monotonic() - began, 3),
        "files": [str(path)],
    }
    facts = _facts(part, dataset, done, written)
    if as_json:
        console.print_json(facts)
        return
    if done:
        print_rounds(done)
    _print_selected(facts, dataset.n_rows, path)
    _say_of_layout(spec.reading)


def _facts(part, dataset, done, written: dict) -> dict:
    """Return the figures of a selection, including `written`, the figures of the written files; `done` is its run if it
    learned trees, otherwise None."""
    facts = (
        part.selected.facts
        | {
            "n_selected": part.n_rows,
            "share": part.n_rows / dataset.n_rows,
            "round": next((one.round for one in done.rounds if one.kept), 1) if done else 1,
            "rounds": len(done.rounds) if done else 1,
        }
        | written
    )
    if not done:
        return facts
    return facts | {
        "model": done.problem.formulation,
        "loss": done.all_rows.loss,
        "bound": done.all_rows.bound,
        "selection_rounds": [one.to_json() for one in done.rounds],
    }


def _select_in_rounds(dataset, spec, test: Path | None, began: float):
    """Return the run of a selection that learns a tree in each round, in the time that is left."""
    from odtc.base import deadline
    from odtc.workflow.run import run

    left = deadline.limit_left(began, spec.solving.time_limit)
    return run(spec.with_solving(time_limit=left), dataset, test, reporter=console.ConsoleReporter(left))


def _select_once(dataset, spec):
    """Return the part of the rows that a selection without trees keeps; raises TimeLimitReached if some are
    undecided."""
    from odtc.base import deadline
    from odtc.workflow.row_selection.selection import select_rows

    with deadline.within(spec.solving.time_limit), console.counting("clusters") as tell:
        part = select_rows(dataset, spec.model.select, spec.model.depth, tell=tell)
    if undecided := part.selected.facts.get("n_undecided"):
        raise TimeLimitReached(
            f"the time limit came before {undecided:,} points of the selection were decided; allow more time "
            f"({option('time_limit')})"
        )
    return part


def _print_selected(facts: dict, n_rows: int, path: Path) -> None:
    """Print how many of the `n_rows` rows were selected, and the file that contains them."""
    dropped, weight = facts["n_rows_dropped"], facts["weights"]
    print(
        f"selected {facts['n_selected']:,} of {count_of(n_rows, 'row')} ({percent_text(facts['share'])}) from "
        f"{count_of(facts['n_clusters'], 'cluster', '')} in {facts['seconds']:.2f} s"
        + (f"; {dropped:,} more have missing cells" if dropped else "")
    )
    print(f"{path}  {path.stat().st_size:,} bytes" + (f"; read it with {option('weights', weight)}" if weight else ""))


def _say_of_layout(reading: ReadingSpec) -> None:
    """Print a note for each option of the layout that the selected rows do not need, because they are plain CSV."""
    if reading.decimal is not None:
        console.say("note: its numbers are plain ones, so that it is read without --decimal")
    if reading.missing_mark:
        console.say("note: its missing cells are empty ones, so that it is read without --missing-mark")


def write_programs(dataset, spec, format: str, program: int | None, stem: str, as_json: bool) -> None:
    """Write the programs of a selection, and print a line for each file."""
    from odtc.workflow.row_selection import programs
    from odtc.workflow.row_selection.selection import SELECTIONS

    module, options = SELECTIONS.parse(spec.model.select)
    balanced = module.NAME == "balanced"
    if module.NAME not in ("printed", "convex_hull", "balanced"):
        raise ChoiceError(
            f"--format: expected --select printed, convex_hull or balanced, whose rows are chosen by a program, got "
            f"{spec.model.select!r}"
        )
    number = program or (programs.NINE if balanced else programs.SEVEN)
    if number not in (programs.SIX, programs.SEVEN, programs.NINE):
        raise ChoiceError(f"--program: expected 6, 7 or 9, got {number}")
    eps = 0.0 if number == programs.NINE or module.NAME != "printed" else options.get("eps", 0.0)
    files = []
    for facts in programs.written(dataset, spec.model.depth, number, eps, float(balanced), stem, format):
        files.append(facts)
        if not as_json:
            print(
                f"{facts['file']}  leaf {facts['leaf']}, class {facts['class']}, {len(facts['rows']):,} points, "
                f"{count_of(facts['n_cols'], 'variable')}, {count_of(facts['n_model_rows'], 'constraint')}"
            )
    if as_json:
        console.print_json({"program": number, "eps": eps, "clusters": files})


def expect_rounds(several: bool, spec, test: Path | None) -> None:
    """Raise ChoiceError for options that only a selection that learns trees can use."""
    given = {
        "--test": test,
        "--hold-out": spec.reading.hold_out,
        "-p": spec.model.params,
        "--model": spec.model.model != "auto",
    }
    told = [word for word, value in given.items() if value]
    if told and not several:
        raise ChoiceError(
            f"expected {' and '.join(told)} with a selection in rounds (iterative, coarse_to_fine), because "
            f"only these learn trees, got --select {spec.model.select}; leave the option out"
        )


def print_rounds(done) -> None:
    """Print the accuracy per share of rows, and the possible effect of the rows that were not selected."""
    tested = done.rounds[0].test_accuracy is not None
    print(f"round  rows selected   share  correct of all{'  correct of test rows' if tested else ''}  lost of all")
    for one in done.rounds:
        test = f"  {100 * one.test_accuracy:16.2f} %" if tested else ""
        print(
            f"{one.round:5}  {one.n_selected:13,}  {100 * one.share:4.1f} %  {100 * one.accuracy:10.2f} %{test}  "
            f"{one.loss:11.10g}{f'  {one.model}' if one.model else ''}{'  kept' if one.kept else ''}"
        )
    found = done.all_rows
    if found.bound is not None:
        rest = found.loss - found.bound
        print(
            f"no tree loses less than {found.bound:.10g} of all rows, so "
            + (f"others can save {rest:.10g} at most" if rest > 0 else "this tree is the best of all rows")
        )
    else:
        print("the rows that were not selected have no bound: their tree has none, or does not consider all thresholds")
