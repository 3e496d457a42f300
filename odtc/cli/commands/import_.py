"""`odtc import`: a tree of scikit-learn, or of another run, converted to one of odtc over the columns of a data
file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.base.text import count_of, percent_text
from odtc.cli import console
from odtc.cli.options import Json, Part, takes, tree_path, value_option
from odtc.data.reading_spec import CLASSIFICATION
from odtc.workflow.specification import ReadingSpec

Foreign = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Tree of odtc (JSON), text of scikit-learn's export_text, or pickle of a DecisionTreeClassifier or "
        "DecisionTreeRegressor.",
    ),
]
Output = Annotated[
    Path | None,
    value_option("-o", "TREE.json", "Output file, or a stem for STEM.tree.json (default: FILE.tree.json)."),
]


@takes(Part(ReadingSpec, leave=("auxiliary", "hold_out")))
def import_(
    file: Foreign,
    data: Annotated[
        Path,
        value_option("--data", "DATA", "Data file whose rows are counted in the leaves; columns are matched by name."),
    ],
    spec,
    trust: Annotated[bool, typer.Option("--trust", help="Allow opening a pickle, which can run any code.")] = False,
    o: Output = None,
    as_json: Json = False,
) -> None:
    """Import a tree of scikit-learn or another program."""
    from odtc.base.atomic_write import require_writable
    from odtc.data.cost_matrix import unit_cost
    from odtc.data.reading import read_as
    from odtc.data.task import TASKS
    from odtc.trees.importing import import_tree, read_foreign, task_of_source
    from odtc.workflow.artifacts import write_imported
    from odtc.workflow.results.facts import TreeFacts

    path = tree_path(o) if o else Path(f"{file.name.removesuffix(file.suffix).removesuffix('.tree')}.tree.json")
    require_writable(path, file, data)
    source = read_foreign(file, trust)
    asked, name = spec.reading.task, task_of_source(source)
    task = TASKS.get(name := name if asked == CLASSIFICATION else asked)
    dataset = read_as(data, replace(spec.reading, task=name))
    tree = import_tree(source, dataset)
    write_imported(tree, path)
    facts = {
        "data": dataset.name,
        "n_rows": dataset.n_rows,
        "n_rows_dropped": dataset.n_dropped,
        **(TreeFacts.of(tree, unit_cost(len(tree.classes))).to_json() if task.CLASSES else {"task": name}),
        **({} if task.CLASSES else task.figures(dataset.sums, tree.answers(dataset.X), tree.classes)),
        **task.terms(dataset.source),
        "tree": str(path),
        "files": [str(path)],
    }
    if as_json:
        console.print_json(facts)
        return
    print(tree.drawing())
    if not task.CLASSES:
        print("\n".join(task.figure_lines(facts)))
        return console.say(f"wrote {path}")
    print(
        f"{facts['train_correct']} of {count_of(dataset.n_rows, 'row', '')} of {dataset.name} correct "
        f"({percent_text(facts['train_accuracy'])})"
    )
    console.say(f"wrote {path}")
