"""`odtc fit`: data to a checked tree, in one go."""

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from odtc.cli import console, near_optimal, row_selection, solve
from odtc.cli.build import constraints_of, say_start, stem_of, write_tree
from odtc.cli.build import pose as pose_options
from odtc.cli.options import (
    Aside,
    Categorical,
    ClassWeight,
    Constraints,
    Cost,
    Cuts,
    DataFile,
    Depth,
    Encoding,
    Gap,
    Json,
    MaxBranchNodes,
    MaxFeatures,
    MinLeafRows,
    Missing,
    ModelName,
    Numeric,
    Params,
    ProgramFile,
    Seed,
    Select,
    SolverName,
    SolverTemplate,
    Start,
    Stem,
    Target,
    Threads,
    TimeLimit,
    Weights,
    completing,
    reading,
)
from odtc.errors import ChoiceError


def fit(
    data: DataFile,
    model: ModelName = "flowoct",
    depth: Depth = 2,
    target: Target = None,
    p: Params = [],
    encoding: Encoding = "auto",
    cuts: Cuts = None,
    start: Start = "cart",
    categorical: Categorical = None,
    numeric: Numeric = None,
    missing: Missing = "drop",
    weights: Weights = None,
    aside: Aside = None,
    class_weight: ClassWeight = None,
    cost: Cost = None,
    constraint: Constraints = [],
    min_leaf_rows: MinLeafRows = None,
    max_branch_nodes: MaxBranchNodes = None,
    max_features: MaxFeatures = None,
    select: Select = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", help="Labelled rows to test the tree on.")
    ] = None,
    solver: SolverName = "highs",
    solver_template: SolverTemplate = None,
    program: ProgramFile = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    seed: Seed = 0,
    gap: Gap = 0.0,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="Write the model file too: mps, lp or fixed-mps.", autocompletion=completing("formats")
        ),
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the model file.")] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the model and the solution of every round, as STEM.round01.mps and .sol."),
    ] = False,
    pool: near_optimal.PoolSize = None,
    within: near_optimal.Within = None,
    o: Stem = None,
    as_json: Json = False,
) -> None:
    """Build, solve, decode and verify: data to a checked tree, in one go."""
    from odtc.base import deadline
    from odtc.fileformats.model_files import FORMATS
    from odtc.model.solution import Options
    from odtc.workflow import artifacts, pipeline
    from odtc.workflow.rounds import Keeper

    options = Options(time_limit, threads, seed, gap)
    solver, label, racers = solve.who_solves(solver, solver_template, program, threads)
    if format:
        FORMATS.get(format)
    how = reading(target, categorical, numeric, missing, weights, aside)
    posed = partial(
        pose_options,
        model=model,
        depth=depth,
        how=how,
        p=p,
        encoding=encoding,
        cuts=cuts,
        class_weight=class_weight,
        cost=cost,
        constraints=constraints_of(constraint, min_leaf_rows, max_branch_nodes, max_features),
        fitting=True,
    )

    def pose(data, limit, select=None):
        """The problem, its time limit, and when that began: what it takes to pose is taken of it."""
        began = time.monotonic()
        return posed(data, select=select, time_limit=limit), limit, began

    def once(given, mark="", quiet=False):
        """The Fit of a problem, its stem with the mark, and the files written; `quiet` where another result is there
        to print."""
        problem, limit, began = given
        labelled = pipeline.test_rows(problem, test) if test else None
        stem = stem_of(problem, o) + mark
        near_optimal.expect_pool(problem, pool, within)
        if hasattr(problem.module, "tree"):
            for option, stands in (("--cuts", cuts not in (None, "none")), ("--format", format), ("--keep", keep)):
                if stands:
                    raise ChoiceError(
                        f"{option}: {problem.formulation!r} learns its tree without a solver, so there is no model; "
                        f"leave the option out"
                    )
            learnt = pipeline.learn(problem, labelled, deadline.after(began, limit))
            artifacts.forget_solution(stem)
            return learnt, stem, []
        if not (format or keep or pool is not None) and pipeline.searches(problem, solver, cuts):
            with console.live("odtc", None, []) as (progress, _):
                done = pipeline.searched(problem, labelled, deadline.after(began, limit), start, progress)
            artifacts.forget_solution(stem)
            return done, stem, []
        loops, rounds = pipeline.loop_of(problem), pipeline.separates(cuts)
        if keep and not (loops or rounds):
            raise ChoiceError(
                f"--keep keeps the rounds of a loop, and {model} is solved once; --format {format or 'mps'} keeps "
                f"its model"
            )
        grows = getattr(problem.module, "GROWS", False)
        if keep and grows:
            raise ChoiceError(
                f"--keep keeps the models of rounds that a solver solves; fit --model {model} keeps its columns in "
                f"STEM.columns.json, "
                "and --format mps its last master"
            )
        if format and loops and not keep and not grows:
            raise ChoiceError(
                f"--format: fit --model {model} solves one model a round; --keep keeps them all, "
                f"and `odtc build --model {model}` writes the one that needs no rounds"
            )
        keeper, written = Keeper(stem, format or "mps", gzip) if keep else None, []
        with (
            console.live(label, stem, written, racers) as (progress, log),
            console.race_logs(stem, racers, written) as logs,
        ):
            left = deadline.after(began, limit)
            ready = pipeline.prepare(problem, cuts, start, pipeline.relaxations(left, progress, log, keeper), left)
            if ready.model is not None:
                say_start(problem, ready.begun, start)
                built = artifacts.write_build(ready.model, stem, None if loops else format, gzip)
                last, solution = pipeline.run(
                    ready.model,
                    solver,
                    start=ready.point,
                    progress=progress,
                    log=log,
                    logs=logs,
                    path=built[0] if format and not loops else None,
                    program=program,
                    keep=keeper,
                    time_limit=ready.left,
                    threads=threads,
                    seed=seed,
                    gap=gap,
                )
        if ready.model is None:
            artifacts.forget_solution(stem)
            if ready.known is None:
                console.refuse_no_solution(
                    pipeline.model_facts(problem), pipeline.out_of_time(ready), written, as_json, quiet
                )
            return (
                pipeline.unfinished(ready, labelled),
                stem,
                written + near_optimal.write_pool(problem, pool, within, 0, stem),
            )
        if last.problem is not ready.model.problem:  # the loop has made columns, which the first manifest has not
            built = artifacts.write_build(last, stem, format, gzip, solution.x if format else None)
        written = built + artifacts.write_beside(last.problem, stem) + written
        written += [
            *(keeper.files if keeper else ()),
            *artifacts.write_solution(last, solution, options, f"{stem}.sol"),
        ]
        if not solution.has_solution:
            console.refuse_no_solution(pipeline.model_facts(problem, last), solution, written, as_json, quiet)
        done = pipeline.finish(last, solution, labelled)
        return done, stem, written + near_optimal.write_pool(problem, pool, within, ready.left, stem)

    if row_selection.again(select):
        _finish_fit(*row_selection.iterated(pose, data, how, select, depth, once, time_limit), as_json)
    else:
        _finish_fit(*once(pose(data, time_limit, select)), as_json)


def _finish_fit(done, stem: str, written: list, as_json: bool) -> None:
    tree_files = write_tree(done.decoded, Path(f"{stem}.tree.json"))
    facts = done.facts | {"tree": tree_files[0] if tree_files else None, "files": [*map(str, written), *tree_files]}
    console.print_tree_result(done.tree, done.decoded, facts, as_json)
