"""`odtc report` and `odtc explain`: a run as a page for the browser, and the path of one row in words."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.base.text import one_line
from odtc.cli import console, options
from odtc.errors import ChoiceError


def report(
    run: Annotated[
        str,
        typer.Argument(metavar="STEM", help="Stem of a run (`odtc fit -o STEM`), one of its files, or a TREE.json."),
    ],
    test: Annotated[
        Path | None,
        options.value_option("--test", "FILE", "Labelled rows for testing the tree (default: the rows of --hold-out)."),
    ] = None,
    group: Annotated[
        list[str],
        options.value_option(
            "--group",
            "COLUMN",
            "Compare the groups of this column, or COLUMN:LEVEL|LEVEL, COLUMN<=NUMBER; repeatable (default: "
            "auxiliary columns with few values).",
        ),
    ] = [],
    data: options.MovedData = None,
    o: Annotated[Path | None, options.value_option("-o", "FILE.html", "Output file (default: STEM.html).")] = None,
    time_limit: Annotated[
        float | None,
        options.time_limit_option("Seconds for recomputing the bound by a search (default 5; 0: no search)."),
    ] = None,
    labels: options.Labels = None,
    templates: options.Templates = None,
    as_json: options.Json = False,
) -> None:
    """Write a web page about a run: tree, proof, test figures and groups."""
    from odtc.base.atomic_write import require_writable, write_text
    from odtc.base.commit import settle
    from odtc.evaluation.html_report import open_run, render_page
    from odtc.workflow.provenance.named_files import OF_A_STEM
    from odtc.workflow.provenance.searched_again import claimed_facts

    settle(o or run)
    with console.at_work("report", as_json):
        opened = open_run(run, data, time_limit)
        opened = replace(opened, tree=options.labelled(opened.tree, labels))
    path = o or Path(Path(run).parent, f"{opened.name}.html")
    require_writable(
        path,
        test,
        opened.opened.data_path or None,
        run,
        *(Path(run).with_name(opened.name + ending) for ending in OF_A_STEM if not ending.endswith(".html")),
    )
    with console.at_work("report", as_json):
        page = render_page(opened, test, templates, tuple(group))
    write_text(path, page)
    if opened.note:
        console.say(f"note: {opened.note}")
    words = {} if opened.opened.again is None else {"claimed": claimed_facts(opened.facts, opened.derived)}
    facts = opened.facts | words | {"tree": opened.name, "files": [str(path)]}
    console.print_json(facts) if as_json else print(f"{path}  {path.stat().st_size:,} bytes; open it in a browser")


@options.takes(options.LAYOUT_PART)
def explain(
    tree: options.TreeFile,
    data: options.DataFile,
    spec,
    row: Annotated[
        list[int],
        options.value_option("--row", "N", "Number of the row, counted from 1 without the header; repeatable."),
    ] = [1],
    as_json: options.Json = False,
) -> None:
    """Explain a prediction by the path of the row through the tree."""
    from odtc.data.reading_rows import read_rows
    from odtc.data.task import TASKS
    from odtc.trees.explanation import explain_rows
    from odtc.trees.tree import read_tree
    from odtc.workflow.provenance.run_of_tree import RunOfTree

    loaded = options.described(read_tree(tree), data, spec.reading)
    rows = read_rows(data, loaded.features, loaded.classes, loaded.target, used=loaded.used)
    for number in row:
        if not 1 <= number <= rows.n_rows:
            raise ChoiceError(
                f"--row: expected a number from 1 to {rows.n_rows}, the rows of {str(data)!r}, got {number}"
            )
    shown = loaded if as_json else loaded.shown
    paths = explain_rows(shown, rows.X[[number - 1 for number in row]], row)
    run = RunOfTree(tree, console.say)
    kept = _kept(run)
    moved = _moved(run, loaded, rows.X, row)
    if as_json:
        told_kept = {"constraint_values": kept} if kept else {}
        facts = [
            {"row": path.number} | path.to_json() | ({"moved": moved[path.number]} if moved else {}) for path in paths
        ]
        console.print_json({"rows": facts} | told_kept)
        return
    for path in paths:
        true = rows.y[path.number - 1] if TASKS.get(loaded.task).CLASSES else -1  # of other tasks it would be no label
        remark = f" (its label is {one_line(shown.classes[true])})" if true >= 0 else ""
        print(*path.lines(remark), sep="\n")
        if moved:
            answers = list(map(one_line, moved[path.number]["predictions"]))
            print(f"  {' or '.join(answers)} {'if' if answers[1:] else 'wherever'} moved ({moved[path.number]['by']})")
    if kept:
        from odtc.workflow.results.facts import kept_line

        for entry in kept:
            print(kept_line(entry, loaded))


def _moved(run, loaded, X, numbers: list[int]) -> dict[int, dict]:
    """Return for each row the predictions of the tree wherever it is moved; {} for a tree whose rows stay."""
    if run.parameter("robust") is None:
        return {}
    from odtc.evaluation.predicting import answers_within, boxes_of_run

    boxes = console.of_run(lambda: boxes_of_run(run.tree))
    return {} if boxes is None else {number: answers_within(loaded, X[number - 1], boxes) for number in numbers}


def _kept(run) -> list[dict]:
    """Return the constraints of the run and the figures of the tree on its training and test rows, if a record is next
    to the tree. The rows to explain are not test rows: two of them say nothing about a rate."""
    if not run.record.get("fit", {}).get("model", {}).get("constraints"):
        return []
    from odtc.evaluation.html_report import kept_of_run  # many trees have no constraints, and need nothing of it

    return console.of_run(lambda: kept_of_run(run.tree), [])
