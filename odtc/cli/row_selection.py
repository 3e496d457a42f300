"""`odtc select`: fewer rows to train on, as a file; and the rounds of `odtc fit --select iterative`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import Categorical, DataFile, Depth, Json, Missing, Numeric, Target, Weights, completing, reading


def select(
    data: DataFile,
    scheme: Annotated[
        str,
        typer.Option(
            "--select",
            metavar="NAME[:KEY=VALUE,…]",
            help="See `odtc list selections`.",
            autocompletion=completing("selections"),
        ),
    ] = "convex_hull",
    depth: Depth = 2,
    target: Target = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    missing: Missing = "drop",
    weights: Weights = None,
    o: Annotated[
        Path | None, typer.Option("-o", metavar="FILE.csv", help="By default DATA_selected.csv in this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the rows that a selection keeps, as CSV; where they weigh something, in a column `weight`."""
    import time

    from odtc import read
    from odtc.base.atomic_write import require_writable, write_text
    from odtc.workflow.row_selection.selection import as_csv, selected

    began = time.monotonic()
    dataset = read(data, **reading(target, categorical, numeric, missing, weights))
    path = o or Path(f"{dataset.name}_selected.csv")
    require_writable(path, data)
    part = selected(dataset, scheme, depth)
    text, weight = as_csv(part)
    write_text(path, text)
    facts = part.selected.facts | {
        "n_selected": part.n_rows,
        "share": part.n_rows / dataset.n_rows,
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
    print(
        f"{path}  {path.stat().st_size:,} bytes"
        + (f"; its weights stand in the column {weight!r}: --weights {weight}" if weight else "")
    )


def again(scheme: str | None) -> bool:
    """Whether `odtc fit` selects round after round; raises ChoiceError for an unknown selection."""
    from odtc.workflow.row_selection.selection import rounds_of

    return scheme is not None and rounds_of(scheme) > 1


def iterated(pose, data: Path, how: dict, scheme: str, depth: int, once, time_limit: float | None):
    """The best of the rounds, as `once(pose(data, seconds), mark)` hands it back: (Fit, stem, files); `how` are the
    keywords of `odtc.read`. Each round has files of its own, so that those of the best are not written over; these
    stand
    under the stem itself in the end."""
    from odtc import read
    from odtc.base import deadline
    from odtc.workflow import artifacts
    from odtc.workflow.row_selection import selection

    rounds, began, dataset = [], time.monotonic(), read(data, **how)
    console.say_dropped(dataset)

    def fitted(part, seconds):
        rounds.append(once(pose(part, seconds), f".select{len(rounds) + 1}", quiet=bool(rounds)))
        return rounds[-1][0]

    best = selection.iterated(dataset, scheme, depth, fitted, console.say, deadline.after(began, time_limit))
    number, (_, marked, written) = next((number, found) for number, found in enumerate(rounds, 1) if found[0] is best)
    stem = marked.removesuffix(f".select{number}")
    others = [path for at, (*_, paths) in enumerate(rounds, 1) if at != number for path in paths]
    return best, stem, [*artifacts.move_run(written, marked, stem), *others]
