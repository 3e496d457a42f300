"""The whole story on one screen: read, build, solve, decode, verify, and `fit`, which is all of them."""

import time
from pathlib import Path

from odtc.base import deadline
from odtc.data.dataset import Dataset
from odtc.data.reading import read
from odtc.model.milp import Model
from odtc.model.solution import Options
from odtc.workflow.compiling import (
    Prepared,
    choose_cuts,
    compile_model,
    known_tree,
    prepare,
    pricing,
    relaxations,
    separates,
    start,
)
from odtc.workflow.decoding import decode, finish, learn, out_of_time, settled, unfinished
from odtc.workflow.messages import COMPILER, no_solution_text
from odtc.workflow.posing import pose, test_rows
from odtc.workflow.results import Decoded, Fit, model_facts, settled_objective
from odtc.workflow.row_selection.selection import iterated, rounds_of
from odtc.workflow.searching import searched, searches
from odtc.workflow.solving import loop_of, run, solve

# The steps of a run, each by its name.
__all__ = [
    "COMPILER",
    "Decoded",
    "Fit",
    "Prepared",
    "build",
    "choose_cuts",
    "compile_model",
    "decode",
    "finish",
    "fit",
    "known_tree",
    "learn",
    "loop_of",
    "model_facts",
    "no_solution_text",
    "out_of_time",
    "pose",
    "prepare",
    "pricing",
    "relaxations",
    "run",
    "searched",
    "searches",
    "separates",
    "settled",
    "settled_objective",
    "solve",
    "start",
    "test_rows",
    "unfinished",
]


def build(
    data: Dataset | str | Path,
    model: str = "flowoct",
    depth: int = 2,
    *,
    encoding: str = "auto",
    params: dict | None = None,
    reading: dict | None = None,
    cuts: str | tuple[str, ...] | None = None,
    class_weight=None,
    cost=None,
    constraints: tuple[str, ...] = (),
    select: str | None = None,
    **keys,
) -> Model:
    """Data and a formulation to a Model, whose `A` is a scipy.sparse array.

    `data` is a Dataset or the path of a file, read with `reading` (the keywords of `odtc.read`);
    parameters of the formulation are given as `params` or as keywords (`lambda_=0.1`); `cuts` as in
    `compile_model`, `class_weight` and `cost` as in `odtc.data.cost_matrix.cost_matrix`; `constraints` are texts
    such as "leaf_rows >= 5" (odtc.problem.constraints.constraint); `select` names the rows to train on
    (odtc.workflow.row_selection.selection). Raises DataError, ChoiceError or ModelError.
    """
    return compile_model(
        pose(
            data,
            model,
            depth,
            encoding=encoding,
            params=params,
            reading=reading,
            class_weight=class_weight,
            cost=cost,
            constraints=constraints,
            select=select,
            **keys,
        ),
        cuts,
    )


def fit(
    data: Dataset | str | Path,
    model: str = "flowoct",
    depth: int = 2,
    *,
    encoding: str = "auto",
    params: dict | None = None,
    reading: dict | None = None,
    solver: str = "highs",
    start_from="cart",
    test: str | Path | None = None,
    progress=None,
    log=None,
    time_limit=None,
    threads=None,
    seed=0,
    gap=0.0,
    cuts: str | tuple[str, ...] | None = None,
    class_weight=None,
    cost=None,
    constraints: tuple[str, ...] = (),
    select: str | None = None,
    **keys,
) -> "Fit":
    """Data to a checked tree: build, start, solve, decode, verify; the words are those of `build`. The time
    limit, in seconds, is for the compiler and the solver together. Raises NoSolutionError where the
    solver found none, and whatever its parts raise."""
    options = dict(time_limit=time_limit, threads=threads, seed=seed, gap=gap)
    Options(**options)  # a bad option is said before the work, not after it
    words = dict(
        encoding=encoding, params=params, class_weight=class_weight, cost=cost, constraints=constraints, **keys
    )
    began = time.monotonic()
    if rounds_of(select) > 1:

        def again(part, seconds):
            return fit(
                part,
                model,
                depth,
                solver=solver,
                start_from=start_from,
                test=test,
                progress=progress,
                log=log,
                cuts=cuts,
                **options | {"time_limit": seconds},
                **words,
            )

        whole = data if isinstance(data, Dataset) else read(data, **(reading or {}))
        return iterated(whole, select, depth, again, log or (lambda text: None), deadline.after(began, time_limit))
    problem = pose(data, model, depth, reading=reading, fitting=True, select=select, time_limit=time_limit, **words)
    labelled = test_rows(problem, test) if test is not None else None
    left = deadline.after(began, time_limit)
    if hasattr(problem.module, "tree"):
        return learn(problem, labelled, left)
    if searches(problem, solver, cuts):
        return searched(problem, labelled, left, start_from, progress)
    ready = prepare(problem, cuts, start_from, relaxations(left, progress, log), left)
    if ready.model is None:
        return unfinished(ready, labelled)
    last, solution = run(
        ready.model, solver, start=ready.point, progress=progress, log=log, **options | {"time_limit": ready.left}
    )
    return finish(last, solution, labelled)
