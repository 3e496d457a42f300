"""`odtc frontier`: what a constraint costs, as the best tree for each of its numbers."""

from dataclasses import replace
from typing import Annotated

import typer

from odtc.cli import console
from odtc.cli.options import READING, DataFile, Json, Part, takes
from odtc.workflow.specification import ModelSpec, SolvingSpec


@takes(
    Part(ModelSpec, only=("depth", "encoding", "class_weight", "cost", "constraints")),
    READING,
    Part(SolvingSpec, only=("time_limit",)),
)
def frontier(
    data: DataFile,
    spec,
    vary: Annotated[
        str,
        typer.Option("--vary", metavar="CONSTRAINT", help="A constraint with FIRST:LAST:STEP in place of its number."),
    ],
    as_json: Json = False,
) -> None:
    """Find the best tree for each number of a constraint, each with its proof."""
    from odtc.workflow.constrained.frontier import frontier as points_of
    from odtc.workflow.constrained.frontier import frontier_facts, varied
    from odtc.workflow.posing import pose_run

    texts = varied(vary)
    spec = replace(spec.with_model(model="dpflow"), fitting=True)
    problem = pose_run(spec, data)
    facts = frontier_facts(problem, points_of(problem, texts, spec.solving.time_limit))
    if as_json:
        console.print_json({"data": problem.encoded.name, "depth": spec.model.depth, "points": facts})
        return
    print(f"{'asked':>10}  {'reached':>10}  {'objective':>12}  {'price':>8}  ended")
    for one in facts:
        figures = [one[key] for key in ("asked", "reached", "objective", "price")]
        shown = [f"{value:.6g}" if value is not None else "-" for value in figures]
        print("{:>10}  {:>10}  {:>12}  {:>8}  {}".format(*shown, one["ended"]))
