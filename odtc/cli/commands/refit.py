"""`odtc refit`: from an old tree and new data to a new tree that is close to the old, and a page on the drift."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from odtc.base.text import count_of, percent_text, show_figure
from odtc.cli import console, options
from odtc.cli.help_page import DATA
from odtc.data.reading_spec import LAYOUT
from odtc.workflow.specification import SHORT_CONSTRAINTS

# The start is the old tree, and all rows count: the tree must be one of theirs.
REFIT = replace(
    options.MODEL,
    leave=("start", "select"),
    changed={
        "model": {"default": "auto"},
        "depth": {
            "default": None,
            "help": "Largest number of splits from the root to a leaf (default: as in the old run).",
        },
    },
)

Forget = Annotated[
    str,
    options.value_option(
        "--forget", "OPTION,…|all", "Settings of the old run that are not inherited, for example constraint,time-limit."
    ),
]
Confidence = Annotated[
    float | None,
    options.value_option("--confidence", "P", "As for `odtc fit`.", parser=options.share, rich_help_panel=DATA),
]
Within = Annotated[
    str | None,
    options.value_option(
        "--within",
        "E",
        "Allowed distance from the best objective, such as 3 or 5% (default: 1 % of the weight of the rows, or of "
        "the cost of one leaf).",
    ),
]
OldData = Annotated[
    Path | None,
    options.value_option(
        "--old-data",
        "DATA",
        "Data file of the old tree, for the population stability index of the columns.",
        rich_help_panel=DATA,
    ),
]


@options.takes(REFIT, options.SPLITTING, options.SOLVING)
def refit(
    context: typer.Context,
    tree: options.TreeFile,
    data: options.DataFile,
    spec,
    forget: Forget = "",
    confidence: Confidence = None,
    within: Within = None,
    pool: Annotated[int, options.value_option("--pool", "K", "Largest number of near-optimal trees to compare.")] = 200,
    old_data: OldData = None,
    test: options.TestFile = None,
    o: Annotated[str | None, options.stem_option("DATA_refit")] = None,
    templates: options.Templates = None,
    as_json: options.Json = False,
) -> None:
    """Fit a tree to new data that stays close to an old tree, and report the drift.

    All settings of the old run are inherited from its record, for example constraints, costs and roles of columns. An
    option that you give replaces the inherited one. The inherited settings and the differences are printed. The
    report on the drift is STEM.drift.html.

    \b
      odtc refit OLD.tree.json NEW.csv                        the closest of the near-optimal trees
      odtc refit OLD.tree.json NEW.csv --within 0             only among the best trees
      odtc refit OLD.tree.json NEW.csv --old-data OLD.csv     with the shift of each column
      odtc refit OLD.tree.json NEW.csv --forget time-limit    without the time limit of the old run
    """
    from odtc.base.atomic_write import require_writable
    from odtc.evaluation import refitting
    from odtc.evaluation.drift import drift_facts
    from odtc.trees.tree import read_tree
    from odtc.workflow.constrained.assured_fit import with_rows_to_test
    from odtc.workflow.messages import read_notes
    from odtc.workflow.provenance.settings import data_of_tree

    refitting.expect_nearness(within, pool)
    old = read_tree(tree)
    spec, notes_on = _with_settings_of(
        tree, replace(spec, confidence=confidence), _named(context), options.names(forget)
    )
    if not _named(context) & set(LAYOUT):
        spec = replace(spec, reading=refitting.fitting_reading(data, spec.reading, spec.reading.layout, old))
    notes = notes_on(spec.with_model(start=str(tree)))
    spec = with_rows_to_test(refitting.for_tree(spec, old, tree), test)
    dataset = refitting.read_new(data, spec.reading, old)
    if old_data is None and (old_data := data_of_tree(tree)) is not None:
        console.say(
            f"columns are compared with those of {old_data}, the training data of {tree}; --old-data names another file"
        )
    before = None if old_data is None else refitting.read_before(old_data, spec.reading, old)
    stem = options.stem_named(o, f"{dataset.name}_refit")
    target = f"{stem}.tree.json"
    for path in (target, Path(f"{stem}.drift.html")):
        require_writable(path, tree, data, old_data, test)
    console.say(*notes, *read_notes(dataset))
    done = refitting.refit(spec, old, dataset, within, pool, test, console.ConsoleReporter(spec.solving.time_limit))
    drift = drift_facts(done, before)
    files = _write(done, drift, spec, stem, templates) if done.chosen.verified else []
    _report(done, drift, target, files, as_json)


def _report(done, drift: dict, target: str, files: list[str], as_json: bool) -> None:
    """Print the new tree and the change, and which constraints new rows satisfy if the run has a confidence."""
    from odtc.workflow.results.lines import assured_facts

    facts = done.chosen.to_json() | {"refit": done.to_json(), "drift": drift, "tree": target, "files": files}
    assured = done.chosen.confidence is not None
    if assured:
        facts["assured"] = assured_facts(done.chosen)
    if not as_json:
        _print_change(done, drift)
    console.print_tree_result(done.chosen, facts, as_json)
    if assured and not as_json:
        console.print_assured(done.chosen)


def _write(done, drift: dict, spec, stem: str, templates: Path | None) -> list[str]:
    """Write the tree, the record of the run and the page on the drift at one commit point; return their names."""
    from odtc.base.atomic_write import write_text
    from odtc.base.commit import together
    from odtc.evaluation.drift import render_drift
    from odtc.workflow.artifacts import forget_solution, write_tree
    from odtc.workflow.run_record import write_record, write_settings

    target, page = f"{stem}.tree.json", Path(f"{stem}.drift.html")
    with together(stem):
        write_text(page, render_drift(done, drift, Path(stem).name, templates))
        forget_solution(stem)
        write_record(done.chosen, spec, stem, write_tree(done.chosen.tree, target), repeats=False)
        record = write_settings(stem, spec, target)
    return [str(record), target, str(page)]


def _named(context: typer.Context) -> set[str]:
    """The fields of a specification whose options are on the command line."""
    given = options.given_names(context)
    return given | ({"constraints"} if given & set(SHORT_CONSTRAINTS) else set())


def _with_settings_of(tree: Path, given, named: set[str], forget: tuple[str, ...]):
    """Return the specification with all settings of the run of an old tree that this one does not set, and a function
    that returns the sentences that report this for the final specification."""
    from odtc.workflow.provenance.run_of_tree import RunOfTree
    from odtc.workflow.provenance.settings import inherited, inherited_texts, settings_of

    old = settings_of(tree)
    if old is None:
        found = RunOfTree(tree).of_another or f"no record of the run that made {tree} was found next to it"
        note = f"note: {found}, so its constraints, limits and other settings are unknown; set them as options"
        return given, lambda _: [note]
    return inherited(given, named, old, forget), partial(inherited_texts, old)


def _print_change(done, drift: dict) -> None:
    """Print how far the new tree is from the old one, and the figures of the old one on the new rows."""
    near, far, n = done.distance, done.best_distance, done.dataset.n_file_rows
    if "accuracy" in drift:
        violated = [one for one in drift["constraints"] if not one["satisfied"]]
        figures = ", ".join(f"{one['constraint']} ({show_figure(one['value'])})" for one in violated)
        more = f"; it violates {figures}" if violated else ""
        print(f"old tree  correct on {percent_text(drift['accuracy']['old_now'])} of {n} new rows{more}")
    elif (now := drift["figures"]["old_now"]) is not None:
        per_row = "" if drift["figure"] == "concordance" else "a row of "
        print(f"old tree  {drift['figure']} {now:.6g} {per_row or 'on '}{n} new rows")
    rows = near.rows_words
    predictions = f"predictions differ by {rows} on average, and" if near.numbers else f"{rows} of the predictions and"
    print(
        f"distance  {predictions} {100 * near.splits:.0f} % of the splits differ from those of the old tree (best "
        f"tree: {far.rows_words} and {100 * far.splits:.0f} %)"
    )
    paid = done.best.proof.objective
    print(
        f"compared  {count_of(done.n_trees, 'tree', '')} with an objective of at most {paid + done.within:.10g} (the "
        f"best: {paid:.10g}){'' if done.complete else '; there may be more'}"
    )
    if done.unlisted:
        console.say(f"note: only the best tree and the old one were compared: {done.unlisted}")
    print()
