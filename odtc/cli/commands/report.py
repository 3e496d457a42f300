"""`odtc report` and `odtc explain`: a run as a page for the browser, and the path of one row in words."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import (
    LAYOUT_PART,
    DataFile,
    Json,
    Labels,
    MovedData,
    Templates,
    TreeFile,
    described,
    labelled,
    takes,
)
from odtc.errors import ChoiceError


def report(
    run: Annotated[
        str,
        typer.Argument(
            metavar="STEM", help="The stem of a run (as of `odtc fit -o STEM`), one of its files, or a TREE.json."
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(
            "--test", metavar="FILE", help="Labelled rows to test the tree on; by default those of --hold-out."
        ),
    ] = None,
    group: Annotated[
        list[str],
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Compare the rows of each value of this column, or COLUMN:LEVEL|LEVEL, COLUMN<=NUMBER; may be "
            "repeated. Auxiliary columns that have few values are compared unasked.",
        ),
    ] = [],
    data: MovedData = None,
    o: Annotated[Path | None, typer.Option("-o", metavar="FILE.html", help="By default STEM.html.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="S", min=0.0, help="Seconds for a search that derives the bound again (5; 0: none)."
        ),
    ] = None,
    labels: Labels = None,
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Write a page about a run: the tree to fold and pan, its proof, its metrics; for any browser, without network."""
    from odtc.base.atomic_write import require_writable, write_text
    from odtc.base.commit import settle
    from odtc.evaluation.html_report import ENDINGS, open_run, render_page
    from odtc.workflow.provenance.searched_again import word_of_run

    settle(o or run)
    with console.at_work("report", as_json):
        opened = open_run(run, data, time_limit)
        opened = replace(opened, tree=labelled(opened.tree, labels))
    path = o or Path(Path(run).parent, f"{opened.name}.html")
    require_writable(
        path,
        test,
        opened.data_path or None,
        run,
        *(Path(run).with_name(opened.name + ending) for ending in ENDINGS if ending != ".html"),
    )
    with console.at_work("report", as_json):
        page = render_page(opened, test, templates, tuple(group))
    write_text(path, page)
    words = {} if opened.searched is None else {"word_of_run": word_of_run(opened.facts, opened.derived)}
    facts = opened.facts | words | {"tree": opened.name, "files": [str(path)]}
    console.print_json(facts) if as_json else print(f"{path}  {path.stat().st_size:,} bytes; open it in a browser")


@takes(LAYOUT_PART)
def explain(
    tree: TreeFile,
    data: DataFile,
    spec,
    row: Annotated[
        list[int],
        typer.Option(
            "--row", metavar="N", help="Which row of the data, from 1, the header not among them; may be repeated."
        ),
    ] = [1],
    as_json: Json = False,
) -> None:
    """Explain a prediction: the path of a row through the tree, test by test, and which constraints the tree keeps."""
    from odtc.base.templates.filters import of, one_line, tally
    from odtc.base.text import show_figure
    from odtc.data.reading import read_rows
    from odtc.data.task import TASKS
    from odtc.trees.explanation import explain as path_of
    from odtc.trees.tree import read_tree

    loaded = described(read_tree(tree), data, spec.reading)
    task = TASKS.get(loaded.task)
    rows = read_rows(data, loaded.features, loaded.classes, loaded.target, used=loaded.used)
    for number in row:
        if not 1 <= number <= rows.n_rows:
            raise ChoiceError(
                f"--row: expected a number from 1 to {rows.n_rows}, the rows of {str(data)!r}, got {number}"
            )

    def told(step) -> str:
        """The training rows at a node: of numbers how many, of a policy with what actions cost them, else by class."""
        if step.costs:
            mean = ", ".join(f"{one_line(name)} {show_figure(number)}" for name, number in step.costs.items())
            return f"{of(sum(step.rows), 'row')}, mean {step.costs_name} {mean}"
        return of(sum(step.rows), "row") if task.NUMBERS else tally(step.rows, shown.classes)

    shown = loaded if as_json else loaded.shown
    paths = [(number, path_of(shown, rows.X[number - 1], number)) for number in row]
    kept = _kept(tree)
    moved = _moved(tree, loaded, rows.X, row)
    if as_json:
        told_kept = {"kept": kept} if kept else {}
        facts = [
            {"row": number} | path.to_json() | ({"moved": moved[number]} if moved else {}) for number, path in paths
        ]
        console.print_json({"rows": facts} | told_kept)
        return
    for number, path in paths:
        true = rows.y[number - 1] if task.CLASSES else -1  # of other tasks it would be no label
        print(
            f"row {number}: {one_line(path.prediction)}"
            + (f" (its label is {one_line(shown.classes[true])})" if true >= 0 else "")
        )
        for step in path.steps:
            cells = ", ".join(f"{one_line(name)} is {one_line(cell)}" for name, cell in step.cells)
            print(f"  {one_line(step.answer)}, since {cells}" + (f"; here {told(step)}" if sum(step.rows) else ""))
        leaf = path.leaf
        if leaf.rows and not task.CLASSES:
            words = shown.words_of(leaf)
            print(f"  so {one_line(path.prediction)}: {of(sum(leaf.rows), 'training row')}{', ' * bool(words)}{words}")
        elif leaf.rows:
            print(
                f"  so {one_line(path.prediction)}: {leaf.rows[leaf.label]} of {of(sum(leaf.rows), 'training row')} "
                f"like it"
            )
        if moved:
            answers = list(map(one_line, moved[number]["predictions"]))
            print(f"  {' or '.join(answers)} {'if' if answers[1:] else 'wherever'} moved ({moved[number]['by']})")
    if kept:
        from odtc.workflow.constrained.kept_constraints import kept_line

        for entry in kept:
            print(kept_line(entry, loaded))


def _moved(tree: Path, loaded, X, numbers: list[int]) -> dict[int, dict]:
    """Of each row what the tree answers wherever it is moved to; empty of a tree whose rows stay."""
    from odtc.workflow.run_parameter import run_parameter

    if run_parameter(tree, "robust") is None:
        return {}
    from odtc.evaluation.moved_rows import answers_within, boxes_of_run

    boxes = boxes_of_run(tree)
    return {} if boxes is None else {number: answers_within(loaded, X[number - 1], boxes) for number in numbers}


def _kept(tree: Path) -> list[dict]:
    """The constraints of the run and what the tree reaches on its training and test rows, if a record is beside the
    tree. The rows to explain are not rows of a test: two of them say nothing about a rate."""
    if not Path(str(tree).removesuffix(".tree.json") + ".run.json").is_file():
        return []
    from odtc.evaluation.html_report import kept_of_run  # many trees have no run, and need nothing of it

    return kept_of_run(tree)
