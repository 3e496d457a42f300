"""`odtc frontier`: the cost of a constraint, as the best tree for each of its numbers."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from odtc.base import interrupts
from odtc.cli import console
from odtc.cli.options import SPLITTING, DataFile, ExplainPlan, Json, Part, takes, value_option
from odtc.errors import ChoiceError, OutputError
from odtc.workflow.specification import ModelSpec, SolvingSpec


@takes(
    Part(ModelSpec, only=("depth", "encoding", "class_weight", "cost", "constraints"), short=True),
    SPLITTING,
    Part(
        SolvingSpec,
        only=("time_limit",),
        changed={"time_limit": {"help": "Wall seconds for all points together (default: no limit)."}},
    ),
)
def frontier(
    data: DataFile,
    spec,
    vary: Annotated[
        str,
        value_option(
            "--vary", "CONSTRAINT", "Constraint with FIRST:LAST:STEP instead of a number, for example 'leaves <= 2:8'."
        ),
    ],
    o: Annotated[
        Path | None,
        value_option(
            "-o",
            "STEM|FILE",
            "Output: STEM.frontier.json, a web page (.html), or a picture of the curve (.png, .svg, .pdf).",
        ),
    ] = None,
    explain_plan: ExplainPlan = False,
    as_json: Json = False,
) -> None:
    """Find the best tree for each value of a constraint, with proofs."""
    from odtc.base.deadline import limit_left
    from odtc.workflow.constrained.exact_frontier import Frontier
    from odtc.workflow.constrained.frontier import frontier as points_of
    from odtc.workflow.constrained.frontier import plan_of_frontier, varied
    from odtc.workflow.messages import read_notes
    from odtc.workflow.posing import pose_run

    began, texts = time.monotonic(), varied(vary)
    if o is not None:
        o = _expect_writable(o)
    spec = replace(spec.with_model(model="dpflow"), fitting=True)
    with console.live("reading"):
        problem = pose_run(spec, data, later=texts[:1])
    console.say(*read_notes(problem.encoded.dataset))
    if explain_plan:
        console.print_plan(plan_of_frontier(problem, texts, spec), as_json)
        return
    left = limit_left(began, spec.solving.time_limit)
    with console.live("odtc"):
        points = points_of(problem, texts, left, console.say)
    with interrupts.held(last=True):  # the result is written and reported
        _hand_in(Frontier(problem, vary, points, spec.model), o, spec.model, as_json)


def _hand_in(curve, o: Path | None, model: ModelSpec, as_json: bool) -> None:
    """Write a frontier as its file, its page or its picture, if one is requested, and print it."""
    from odtc.workflow.constrained.frontier import SUFFIX

    files, refused = [], None
    try:
        if o is not None and o.name.endswith(SUFFIX):
            files = [str(curve.write(o))]
        elif o is not None:
            files = [_drawn(o, curve.problem.encoded.name, curve.vary, model, curve.facts)]
    except OutputError as full:
        refused = full  # the curve is shown all the same
    if as_json:
        console.print_json(curve.head | {"points": curve.facts} | ({"files": files} if files else {}))
    else:
        print(curve, *files, sep="\n")
    if refused is not None:
        raise refused


def _expect_writable(path: Path) -> Path:
    """Return the file to write; raises errors that would prevent writing it before the search: another ending, or no
    matplotlib."""
    from odtc.base.atomic_write import require_writable
    from odtc.evaluation.plots import FORMATS, expect_format
    from odtc.workflow.constrained.exact_frontier import file_of
    from odtc.workflow.constrained.frontier import SUFFIX

    ending = path.suffix.lstrip(".").lower()
    if ending in ("", "json"):
        path = file_of(path)
    elif ending == "html" or ending in FORMATS:
        expect_format("svg" if ending == "html" else ending)
    else:
        raise ChoiceError(
            f"expected -o STEM, for the points and trees in STEM{SUFFIX}, a page that ends in .html, or a picture that "
            f"ends in .{', .'.join(FORMATS)}, got {path.name!r}"
        )
    require_writable(path)
    return path


def _drawn(path: Path, name: str, vary: str, model: ModelSpec, points: list[dict]) -> str:
    """Write the picture or the page; return its path."""
    from base64 import b64encode

    from odtc.base.atomic_write import write_bytes, write_text
    from odtc.base.templates import render
    from odtc.evaluation import plots

    ending = path.suffix.lstrip(".").lower()
    picture = plots.save(lambda ax: plots.frontier(points, ax, vary), "svg" if ending == "html" else ending)
    if ending != "html":
        write_bytes(path, picture)
        return str(path)
    facts = {"name": name, "vary": vary, "depth": model.depth, "others": list(model.constraints), "points": points}
    write_text(path, render("report/frontier.html.jinja", picture=b64encode(picture).decode(), **facts))
    return str(path)
