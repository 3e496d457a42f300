"""`odtc show`, `odtc export` and `odtc predict`: uses of a tree."""

import codecs
import sys
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console, options
from odtc.data.reading_spec import ON_MISSING
from odtc.errors import ChoiceError, OdtcError

Written = Annotated[Path | None, options.value_option("-o", "FILE", "Output file (default, or -: stdout).")]


def show(
    tree: options.TreeFile,
    to: Annotated[
        str,
        options.value_option(
            "--to", "NAME", "Text exporter (`odtc list exporters`).", autocompletion=options.completing("exporters")
        ),
    ] = "text",
    number: Annotated[int | None, options.value_option("--tree", "N", "Show the N-th tree of a list of trees.")] = None,
    using: options.Using = [],
    without: options.Without = [],
    leaves: options.Leaves = None,
    labels: options.Labels = None,
    templates: options.Templates = None,
) -> None:
    """Print a tree, a list of trees (STEM.pool.json), or the near-optimal set (STEM.near-optimal.json)."""
    from odtc.trees.exporting import EXPORTERS, named
    from odtc.trees.rendering import render_tree
    from odtc.trees.tree import read_tree
    from odtc.workflow.near_optimal import read_pool
    from odtc.workflow.near_optimal_set import read_near_optimal_set
    from odtc.workflow.provenance.run_of_tree import RunOfTree

    near = read_near_optimal_set(tree)
    pool = near or read_pool(tree)
    if near is None and (using or without or leaves is not None):
        raise ChoiceError(
            "--using, --without and --leaves are about a set of trees (STEM.near-optimal.json of `odtc fit "
            f"--within`); {str(tree)!r} is none"
        )
    if pool is None and number is not None:
        raise ChoiceError(f"--tree picks one of a pool (STEM.pool.json of `odtc fit --pool`); {str(tree)!r} is none")
    if near is not None and number is None:
        text = near.text(using, without, leaves)
    else:
        text = _listed(pool, number) if pool is not None else None
    to = named(to, templates)
    if to in EXPORTERS.names():
        raise ChoiceError(f"--to {to} makes no text; use `odtc export`")
    if text is None:
        one = options.labelled(pool.trees[number - 1] if pool is not None else read_tree(tree), labels)
        run = RunOfTree(tree, console.say)
        text = render_tree(one, to, templates, run.lines() if pool is None else ())
        if to == "text" and pool is None and (moves := run.parameter("robust")):
            text += f"\nrobust    correct even if rows are moved within {moves}; `odtc report` counts them\n"
    (sys.stdout if to == "text" else console.data_stream()).write(text)


def export(
    tree: options.TreeFile,
    to: Annotated[
        str | None,
        options.value_option(
            "--to",
            "NAME",
            "Exporter (`odtc list exporters`) or file ending, such as js (default: the ending of -o).",
            autocompletion=options.completing("exporters"),
        ),
    ] = None,
    o: Written = None,
    labels: options.Labels = None,
    templates: options.Templates = None,
) -> None:
    """Write a tree as code, SQL, PMML, ONNX or text."""
    from odtc.base.atomic_write import require_writable, write_bytes, write_text
    from odtc.trees.exporting import export as exported
    from odtc.trees.exporting import named
    from odtc.trees.tree import read_tree
    from odtc.workflow.provenance.run_of_tree import RunOfTree

    o = _file(o)
    to = to or (o.suffix.removeprefix(".") if o is not None else "")
    if not to:
        raise typer.BadParameter(
            "expected the name of an exporter (`odtc list exporters`), or -o FILE with the ending of one, "
            "such as tree.sql",
            param_hint="'--to'",
        )
    to = named(to, templates)
    if o is not None:
        require_writable(o, tree)
    read = options.labelled(read_tree(tree), labels)
    made = exported(read, to, templates, RunOfTree(tree, console.say).lines())
    for text in _export_remarks(tree, read, to, templates):
        console.say(f"note: {text}")
    if o is not None:
        write_text(o, made) if isinstance(made, str) else write_bytes(o, made)
        console.say(f"wrote {o} ({to})")
    elif isinstance(made, str):
        console.data_stream().write(made)
    elif sys.stdout.isatty():
        raise ChoiceError(f"--to {to} makes no text for a terminal; name a file with -o")
    else:
        sys.stdout.buffer.write(made)


def _export_remarks(path: Path, tree, to: str, templates) -> list[str]:
    """Return remarks for a user of an export, by the training rows, if the record next to the tree names their file."""
    from odtc.data.reading_rows import read_rows
    from odtc.trees.exporting import EXPORTERS, remarks
    from odtc.workflow.provenance.settings import data_of_tree

    if to not in EXPORTERS.names():
        return []
    try:
        if (data := data_of_tree(path)) is None:
            return []
        rows = read_rows(data, tree.features, tree.classes, tree.target, used=sorted(tree.used))
        return remarks(tree, to, rows.X, templates)
    except OdtcError:  # such as a broken record, or a cell that is not a number in a row that was left out
        return []


OnMissing = Annotated[
    str,
    options.value_option(
        "--on-missing",
        "|".join(ON_MISSING),
        "How to handle a missing value in a column that the tree uses: refuse stops with an error, blank "
        "leaves the prediction empty, majority follows most training rows.",
        autocompletion=options.among(*ON_MISSING),
    ),
]
Score = Annotated[
    bool,
    typer.Option("--score", help="Print the accuracy and the confusion matrix for a labelled file."),
]
Probabilities = Annotated[
    bool,
    typer.Option("--probabilities", help="Add a column for each class: its share of the training weight in the leaf."),
]


@options.takes(options.LAYOUT_PART)
def predict(
    tree: options.TreeFile,
    data: options.DataFile,
    spec,
    o: Written = None,
    on_missing: OnMissing = ON_MISSING[0],
    score: Score = False,
    probabilities: Probabilities = False,
    as_json: options.Json = False,
) -> None:
    """Predict the rows of a file; columns are matched by name."""
    from odtc.base.atomic_write import require_writable
    from odtc.data.cells.data_files import fitting_layout
    from odtc.data.dataset import layout_of
    from odtc.data.reading import notes_on_lines
    from odtc.data.task import TASKS
    from odtc.evaluation.predicting import predict_file, score_of_task
    from odtc.trees.tree import read_tree
    from odtc.workflow.provenance.run_of_tree import RunOfTree

    o = _file(o)
    if o is not None:
        require_writable(o, tree, data)
    given = read_tree(tree)
    loaded = options.described(given, data, spec.reading)
    layout = fitting_layout(data, layout_of(loaded.features), [loaded.features[at].name for at in sorted(loaded.used)])
    keep = as_json and not score
    figures = score_of_task(tree, data) if score and not TASKS.get(loaded.task).CLASSES else None
    score = score and figures is None
    run = RunOfTree(tree, console.say)
    boxes = _boxes(run, score)

    def write(stream):
        return predict_file(loaded, data, on_missing, stream, score, keep, probabilities=probabilities)

    done = _write_predictions(write, o, not (score or as_json or figures))
    for words in [done.skipped_text(), *(text for *_, text in notes_on_lines(data, layout)[1])]:
        if words:
            console.say(f"note: {words}")
    if score or figures is not None:
        _say_of_training_rows(run, given, data, layout)
    if o is not None and not as_json:
        console.say(f"wrote {o}: {done.n_rows:,} prediction{'' if done.n_rows == 1 else 's'}")
    if figures is not None:
        console.print_json(figures | done.skipped) if as_json else print("\n".join(figures["lines"]))
    elif score:
        from odtc.evaluation.predicting import robust_figures

        moved = {} if boxes is None else {"robust": robust_figures(loaded, data, boxes, on_missing)}
        _print_score(loaded, done.score | moved | done.skipped, as_json)
    elif as_json:
        shares = {"classes": list(loaded.classes), "probabilities": done.probabilities} if probabilities else {}
        said = {"n_rows": done.n_rows, "predictions": done.predictions, "files": [str(o)] if o else []}
        console.print_json(said | shares | done.skipped)


def _write_predictions(write, o: Path | None, shown: bool):
    """Return the result of `write(stream)`, whose table goes to the file `o`; without one, to the standard output if
    `shown`."""
    import shutil
    import tempfile

    from odtc.base.atomic_write import new_file

    if o is not None:
        with new_file(o) as stream:
            return write(stream)
    with tempfile.TemporaryFile() as stream:  # a row that is refused leaves no part of a table behind
        done = write(stream)
        if shown:
            stream.seek(0)
            shutil.copyfileobj(codecs.getreader("utf-8")(stream), console.data_stream())
    return done


def _boxes(run, score: bool):
    """Return the boxes within which --score moves rows, or None; print a note if a robust tree has no row moved."""
    moves, boxes = run.parameter("robust"), None
    if moves and score:
        from odtc.evaluation.predicting import boxes_of_run

        boxes = console.of_run(lambda: boxes_of_run(run.tree))
    if moves and boxes is None:
        why = "its run cannot be read, so no row is moved" if score else "--score moves them, `odtc explain` each"
        console.say(f"note: the tree has to be correct wherever rows are moved within {moves}; {why}")
    return boxes


def _say_of_training_rows(run, read, data: Path, layout) -> None:
    """Print a note if the file that is scored is the one that the tree was trained on."""
    from odtc.data.dataset import layout_of
    from odtc.data.reading import is_same_table

    source = {"sha256": run.training_sha256, "sheet": layout_of(read.features).get("sheet")}
    if source["sha256"] is not None and is_same_table(data, layout, source):
        console.say(
            "note: this is the file that the tree was trained on, so its score is not an estimate for new rows; score "
            "other rows, or fit with --hold-out"
        )


def _print_score(tree, facts: dict, as_json: bool) -> None:
    """Print the score of a tree that predicts classes; the table has their printed names."""
    if as_json:
        console.print_json(facts)
        return
    names = dict(zip(tree.classes, tree.shown.classes))
    majority = {"majority": names.get(facts["majority"])} if "majority" in facts else {}
    console.print_score(facts | {"classes": [names[one] for one in facts["classes"]]} | majority)


def _file(o: Path | None) -> Path | None:
    """The file that -o names; None for the standard output."""
    return None if o == Path("-") else o


def _listed(pool, number: int | None) -> str | None:
    """The list of a pool as text; with a number, None and the tree is to be shown."""
    from odtc.workflow.near_optimal_set import NearOptimalSet, tree_lines

    if number is not None:
        if not 1 <= number <= len(pool.trees):
            listed = "sample" if isinstance(pool, NearOptimalSet) else "pool"
            raise ChoiceError(f"expected --tree from 1 to {len(pool.trees)}, the trees of the {listed}, got {number}")
        return None
    # Splits of different columns are kept apart if a constraint is on columns (odtc.workflow.posing.encode_run).
    alike = (
        "trees whose splits divide the training rows in the same way are listed once, unless a constraint is on columns"
    )
    lines = [pool.words, alike, "", *tree_lines(pool.trees, pool.objectives)]
    lines += ["", "number of trees that split on each feature:"]
    lines += [f"{name}: {count}" for name, count in pool.feature_use().items()]
    return "\n".join(lines) + "\n"
