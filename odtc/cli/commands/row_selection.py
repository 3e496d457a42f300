"""`odtc select`: fewer rows to train on, as a file."""

import time
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import DataFile, Json, Part, takes
from odtc.data.reading_spec import TASK_FIELDS
from odtc.workflow.specification import ModelSpec, ReadingSpec, SolvingSpec

SELECTIONS = "See `odtc list selections`."


@takes(
    Part(ModelSpec, only=("select", "depth"), changed={"select": {"default": "convex_hull", "help": SELECTIONS}}),
    Part(ReadingSpec, leave=("aside", "hold_out"), hidden=("task", *TASK_FIELDS)),
    Part(SolvingSpec, only=("time_limit",)),
)
def select(
    data: DataFile,
    spec,
    o: Annotated[
        Path | None, typer.Option("-o", metavar="FILE.csv", help="By default DATA_selected.csv in this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the rows that a selection keeps, as CSV, with their weights, if any, in a column `weight`."""
    from odtc import read
    from odtc.base import deadline
    from odtc.base.atomic_write import require_writable, write_text
    from odtc.data.task import expect_classes
    from odtc.workflow.row_selection.selection import as_csv, rounds_of, select_rows

    expect_classes(spec.reading.task, "odtc select")
    began = time.monotonic()
    dataset = read(data, **spec.reading.keywords)
    path = o or Path(f"{dataset.name}_selected.csv")
    require_writable(path, data)
    rounds = rounds_of(spec.model.select)
    with deadline.within(spec.solving.time_limit), console.counting("clusters") as tell:
        part = select_rows(dataset, spec.model.select, spec.model.depth, tell=tell)
    text, weight = as_csv(part)
    write_text(path, text)
    facts = part.selected.facts | {
        "n_selected": part.n_rows,
        "share": part.n_rows / dataset.n_rows,
        "round": 1,
        "rounds": rounds,
        "weights": weight,
        "n_rows_dropped": dataset.n_dropped,
        "seconds": round(time.monotonic() - began, 3),
        "files": [str(path)],
    }
    if as_json:
        console.print_json(facts)
        return
    print(
        f"{part.n_rows:,} of {dataset.n_rows:,} rows ({100 * facts['share']:.2f} %) in {facts['n_clusters']} "
        f"clusters, {facts['seconds']:.2f} s"
        + (f"; {dataset.n_dropped:,} more have missing cells" if dataset.n_dropped else "")
    )
    if rounds > 1:
        print(
            f"these are the rows of round 1 of at most {rounds}: each further round takes rows by the tree of the one "
            f"before, so only odtc fit --select {spec.model.select} makes them"
        )
    print(
        f"{path}  {path.stat().st_size:,} bytes"
        + (f"; its weights stand in the column {weight!r}: --weights {weight}" if weight else "")
    )
