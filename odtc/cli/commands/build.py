"""`odtc build`: the model file, its manifest and the start files."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from odtc.base.text import count_of
from odtc.base.wording import option
from odtc.cli import console, options
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.workflow.specification import SolvingSpec

LIMIT = (
    "Wall seconds for building the model (default: no limit). Columns and cuts that were found until then are written; "
    "if there is no model yet, the command fails."
)
LIMITED = options.Part(SolvingSpec, only=("time_limit",), changed={"time_limit": {"help": LIMIT}})


ModelFormat = Annotated[
    str,
    options.value_option(
        "--format",
        "NAME",
        "Format of the model file: mps, lp or fixed-mps.",
        autocompletion=options.completing("formats"),
    ),
]


@options.takes(options.MODEL, options.SPLITTING, LIMITED)
def build(
    data: options.DataFile,
    spec,
    format: ModelFormat = "mps",
    gzip: options.Gzip = False,
    dialect: options.DialectName = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only print the size of the model for each formulation.")
    ] = False,
    explain_plan: options.ExplainPlan = False,
    pricing: options.Pricing = None,
    o: options.Stem = None,
    as_json: options.Json = False,
) -> None:
    """Write the model file, its manifest (STEM.odt.json) and start files."""
    from odtc.fileformats.model_files import FORMATS
    from odtc.workflow import compiling, files_of_models, messages, posing
    from odtc.workflow.results.facts import ModelFacts

    FORMATS.get(format)
    if estimate:
        from odtc.evaluation.size_table import sizes_of

        table = sizes_of(spec, data)
        console.print_json(table.to_json()) if as_json else print(table.to_text())
        return
    if explain_plan:
        from odtc.workflow.run import plan_of

        console.print_plan(plan_of(replace(spec, fitting=False), data), as_json)
        return
    _expect_read(dialect, format)
    if gzip and (words := files_of_models.gzip_words(dialect)):
        console.say(words)
    compiling.choose_cuts(spec.model.cuts)  # an unknown family is reported before the data is read
    spec, began = replace(spec, fitting=False), time.monotonic()
    problem = posing.pose_run(spec, data)
    console.say(*messages.posed_notes(problem, spec, read_here=True))
    stem = options.stem_of(problem, o, FORMATS.get(format).SUFFIX)
    ready = _prepared(problem, spec, began)
    compiled = ready.model
    priced = compiling.pricing(problem, pricing) if pricing else None
    keep = (spec.model.start, data)
    outdated = files_of_models.outdated(compiled, stem, keep)
    written = files_of_models.write_build(compiled, stem, format, gzip, ready.point, dialect, keep)
    written += files_of_models.write_pricing(priced, stem, format, gzip) if priced else []
    console.say_replaced(outdated)
    facts = ModelFacts.of_model(problem, compiled).to_json() | {"files": [str(f) for f in written]}
    console.say(*filter(None, (compiled.left_out, files_of_models.cut_words(compiled, dialect))))
    if as_json:
        console.print_json(facts)
        return
    _print_size(facts, problem.encoded.task)
    for path in written:
        print(f"{path}  {Path(path).stat().st_size:,} bytes")


def _expect_read(dialect: str | None, format: str) -> None:
    """Raise ChoiceError if the named solver does not read the format."""
    from odtc.solvers.solver import find_solver

    if dialect not in (None, "all") and format not in (reads := find_solver(dialect).DIALECT.reads):
        raise ChoiceError(f"{dialect} does not read the format {format!r}; it reads {', '.join(reads)}")


def _print_size(facts: dict, task: str) -> None:
    """Print the sizes of the problem and of its model."""
    from odtc.data.task import TASKS

    pieces = f" {words}" if (words := TASKS.get(task).PIECES) else ""
    print(
        f"{facts['model']} of depth {facts['depth']} for {count_of(facts['n_rows'], 'row', '')} "
        f"({facts['n_rows_merged']}{pieces} after merging) and {count_of(facts['n_features_encoded'], 'split', '')}: "
        f"{count_of(facts['n_cols'], 'variable')}, {count_of(facts['n_model_rows'], 'constraint')}, "
        f"{count_of(facts['nnz'], 'nonzero')}"
    )


def _prepared(problem, spec, began: float):
    """Return the model and its start, built within the time limit, and print notes meanwhile. Raises TimeLimitReached
    if the limit comes before the model is built."""
    from odtc.base import deadline  # it loads numpy, which a help does without
    from odtc.workflow import compiling, first_trees, messages, searching, solving

    limit, start = spec.solving.time_limit, spec.model.start
    given = {"time_limit": limit, "say": console.say, "began": began, "writes": True}
    prepare = partial(compiling.prepare, problem, spec.model.cuts, start, **given)
    if compiling.separates(spec.model.cuts):
        with console.live("HiGHS") as progress:
            ready = prepare(rounds=solving.relaxations(deadline.limit_left(began, limit), progress))
    else:
        ready = prepare()
    searching.expect_feasible(ready)
    if ready.interrupted:
        raise KeyboardInterrupt
    if ready.model is None:
        raise TimeLimitReached(
            f"the time limit of {limit:g} seconds came before the model was made; allow more time "
            f"({option('time_limit')}), or make the model smaller, for example by {option('encoding', 'auto:bins=8')}"
        )
    if ready.begun is None and start != "none" and not first_trees.is_tree_file(start):
        console.say(messages.no_start_text(problem, first_trees.start_name(problem, start)))
    return ready
