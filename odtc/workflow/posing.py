"""Data, a formulation and its parameters as a Problem; and rows of another file that are coded as it is."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from odtc.base import deadline
from odtc.data.cost_matrix import cost_matrix
from odtc.data.dataset import Dataset
from odtc.data.encoding import encode
from odtc.data.reading import read, read_rows
from odtc.errors import DataError
from odtc.formulations.auto import choose
from odtc.problem.constraints import constraint
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.complete_tree import CompleteTree
from odtc.workflow.row_selection.selection import selected


def pose(
    data: Dataset | str | Path,
    model: str = "flowoct",
    depth: int = 2,
    *,
    encoding: str = "auto",
    params: dict | None = None,
    reading: dict | None = None,
    fitting: bool = False,
    class_weight=None,
    cost=None,
    constraints: tuple[str, ...] = (),
    select: str | None = None,
    time_limit: float | None = None,
    **keys,
) -> Problem:
    """Data, a formulation and its parameters as a Problem; the words are those of `build`. The model "auto"
    is chosen by the size of the data (odtc.formulations.auto). Searches for hyperplanes to ask, and for a margin, end
    within a part of the time limit."""
    began, topology, choice = time.monotonic(), CompleteTree(depth), None
    constraints = (constraints,) if isinstance(constraints, str) else constraints
    settings = _settings(model, fitting, params, keys) if model != "auto" else None  # a bad one is said before the work
    dataset = data if isinstance(data, Dataset) else read(data, **(reading or {}))
    if select is not None:
        dataset = selected(dataset, select, depth)
    with deadline.within(deadline.after(began, time_limit)):
        encoded = encode(dataset, encoding)
    if model == "auto":
        with deadline.within(deadline.after(began, time_limit)):
            names = tuple(constraint.parse(text, encoded).name for text in constraints)
            choice = choose(encoded.n_tests, depth, names, encoded, fitting)
        model = choice.formulation
        settings = _settings(model, fitting, params, keys)
    if class_weight is not None or cost is not None:
        # "balanced" is of all rows, also where some of them are selected: the leaves will hold all.
        counted = encoded if dataset.selected is None else dataset.selected.whole
        of_class = np.bincount(counted.y, counted.weight, len(encoded.classes))
        encoded = replace(encoded, cost=cost_matrix(encoded.classes, of_class, class_weight, cost))
    problem = constraint.posed(Problem(encoded, topology, model, settings), constraints)
    with deadline.within(deadline.after(began, time_limit)):
        problem = getattr(problem.module, "prepared", lambda problem: problem)(problem)
    if choice is not None:
        problem.memo["choice"] = choice
    return problem


def _settings(model: str, fitting: bool, params: dict | None, keys: dict):
    defaults = getattr(FORMULATIONS.get(model), "FIT_DEFAULTS", {}) if fitting else {}
    return parse_params(model, defaults | (params or {}) | keys)


def test_rows(problem: Problem, path) -> Dataset:
    """Labelled rows of another file, coded as the training data and under its policy for missing
    cells; raises DataError."""
    encoded = problem.encoded
    rows = read_rows(path, encoded.features, encoded.classes, encoded.target, require_labels=True)
    incomplete = np.isnan(rows.X).any(axis=1)
    if encoded.missing == "separate" or not incomplete.any():
        return rows
    if encoded.missing == "error" or incomplete.all():
        raise DataError(
            f"expected test rows without missing cells in {str(path)!r}, got {incomplete.sum()} with them among "
            f"{rows.n_rows}, the first in row {incomplete.argmax() + 1}; fill them in, or train with --missing separate"
        )
    keep = ~incomplete
    return replace(rows, X=rows.X[keep], y=rows.y[keep], weight=rows.weight[keep], n_dropped=int(incomplete.sum()))
