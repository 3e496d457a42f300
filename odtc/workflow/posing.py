"""Build a Problem from data, a formulation and its parameters, and read rows of other files for it."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import NUMBER, schema_of
from odtc.base.wording import option, param
from odtc.data.cost_matrix import cost_matrix, expect_telling_prices, weight_of_classes
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode, sized_scheme
from odtc.data.reading import read_as
from odtc.data.reading_spec import CLASSIFICATION
from odtc.data.task import TASKS, expect_classes, priced
from odtc.errors import ChoiceError, DataError
from odtc.problem.constraints import constraint
from odtc.problem.estimates import Estimate, Sizes
from odtc.problem.formulation import FORMULATIONS, Estimates
from odtc.problem.parameters import able_models, keeps_rows, params_to_json, parse_params
from odtc.problem.problem import Choice, Problem
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow.plan import may_search
from odtc.workflow.specification import LEAF_ONLY, ModelSpec, RunSpec


def pose(data: Dataset | str | Path, model: str = "flowoct", depth: int = 2, *, fitting: bool = False, **keywords):
    """Build the Problem of data, a formulation and the keywords of `odtc.build`, with `time_limit` as in `pose_run`."""
    time_limit = keywords.pop("time_limit", None)
    spec = replace(RunSpec.from_keywords(model, depth, keywords, fitting=False), fitting=fitting)
    return pose_run(spec.with_solving(time_limit=time_limit), data)


def pose_run(
    spec: RunSpec, data: Dataset | Encoded | str | Path, prepared: bool = True, later: Sequence[str] = ()
) -> Problem:
    """Build the Problem of a specification.

    The model "auto" is chosen by the size of the data (odtc.workflow.posing). Searches for hyperplanes and for
    a margin end within a part of the time limit.

    Parameters
    ----------
    spec : RunSpec
    data : Dataset, path or Encoded
        A path is read as `spec.reading` describes; encoded rows come from `encode_run` for this specification, or for
        one that differs only in the numbers of its constraints and in its options for solving.
    prepared : bool
        Whether searches that the formulation needs are made, too.
    later : sequence of str
        Constraints that the problem will have in addition to its own.

    Returns
    -------
    Problem

    Raises
    ------
    DataError, ChoiceError
        For errors in the data or in the specification.
    TimeLimitReached
        If the limit comes before a large file is read.
    """
    if spec.model.depth == 0 and not isinstance(spec.model.depth, bool | float):
        spec = spec.with_model(depth=1, constraints=(*spec.model.constraints, LEAF_ONLY))
    began, wanted, choice = time.monotonic(), spec.model, None
    topology, model = CompleteTree(wanted.depth), wanted.model
    settings = None if model == "auto" else _settings(spec, model)  # reports an invalid setting before the work
    encoded = data if isinstance(data, Encoded) else encode_run(spec, data, later)
    dataset = encoded.dataset
    encoded = priced(encoded)
    if model == "auto":
        choice = _chosen(spec, encoded, began)
        model = choice.formulation
        settings = _settings(spec, model)
    _expect_for_task(dataset.task, model, wanted)
    if wanted.class_weight is not None or wanted.cost is not None:
        with _part_of_limit(spec, began):
            encoded = replace(encoded, cost=_costs(wanted, encoded))
    if dataset.task == CLASSIFICATION:
        expect_telling_prices(encoded.weight, encoded.cost, 0.0)
    problem = constraint.posed(
        Problem(encoded, topology, FORMULATIONS.get(model), settings, choice=choice), wanted.constraints
    )
    if problem.module.prices_answers(problem):
        expect_classes(encoded.task, f"{option('model', problem.formulation)} with these parameters")
    with _part_of_limit(spec, began):
        return problem.module.prepared(problem) if prepared else problem


def _expect_for_task(task: str, model: str, wanted: ModelSpec) -> None:
    """Raise ChoiceError for a formulation, or an option of the model, that does not support the task."""
    if TASKS.get(task).MOMENTS and not FORMULATIONS.get(model).MOMENTS:
        able = [name for name in FORMULATIONS.names() if FORMULATIONS.get(name).MOMENTS]
        raise ChoiceError(
            f"{option('task', task)} has leaves whose cost is not a sum over rows, as {model} needs: use "
            f"{option('model', *able)}"
        )
    for name in ("class_weight", "cost", "select"):
        if getattr(wanted, name) is not None:
            expect_classes(task, option(name))


def _chosen(spec: RunSpec, encoded: Encoded, began: float) -> Choice:
    """Return the formulation that the model "auto" chooses, with the reason."""
    if spec.model.params.get("robust"):
        (model,) = able_models("robust")
        return Choice(model, f"{model} takes {param('robust')}")
    if TASKS.get(encoded.dataset.task).MOMENTS:
        model = next(name for name in FORMULATIONS.names() if FORMULATIONS.get(name).MOMENTS)
        return Choice(model, f"{model} proves trees whose leaves answer numbers")
    with _part_of_limit(spec, began):
        kinds = tuple(constraint.parse(text, encoded).name for text in spec.model.constraints)
        return choose(encoded.n_candidate_splits, spec.model.depth, kinds, encoded, not spec.needs_model)


def _costs(wanted: ModelSpec, encoded: Encoded) -> np.ndarray:
    """Return the costs of misclassifications, float64 (classes, classes), from the given class weights and costs."""
    selected = encoded.dataset.selected
    # "balanced" refers to all rows even if some are selected, because the leaves will contain all rows.
    of_class = weight_of_classes(encoded.dataset if selected is None else selected.whole)
    return cost_matrix(encoded.classes, of_class, wanted.class_weight, wanted.cost)


# The shape of the JSON that `model_to_json` writes.
POSED = schema_of(ModelSpec) | {"class_weight": None, "cost": ([[NUMBER]], None)}


def model_to_json(problem: Problem, model: ModelSpec) -> dict:
    """Return a specification in JSON from which the problem can be built again: its model and parameters by name, its
    costs as numbers.

    Parameters
    ----------
    problem : Problem
    model : ModelSpec
        The specification that built it.

    Returns
    -------
    dict
    """
    priced = model.cost is not None or model.class_weight is not None
    told = replace(
        model,
        model=problem.formulation,
        params=params_to_json(problem.params),
        encoding=problem.encoded.scheme,
        class_weight=None,
        cost=problem.encoded.cost.tolist() if priced and problem.encoded.cost is not None else None,
        start=None if model.start is None else str(model.start),
    )
    return asdict(told)


def encode_run(spec: RunSpec, data: Dataset | str | Path, later: Sequence[str] = ()) -> Encoded:
    """Encode rows with the candidate splits of a specification; parameters and errors as in `pose_run`."""
    began, wanted = time.monotonic(), spec.model
    dataset = data if isinstance(data, Dataset) else read_in_time(spec, data)
    with _part_of_limit(spec, began):
        if wanted.select is not None:
            from odtc.workflow.row_selection.selection import TIME_SHARE, select_rows

            dataset = select_rows(dataset, wanted.select, wanted.depth, share=TIME_SHARE)
        # Splits that separate the rows in the same way may differ after an adversary has moved the cells of one column.
        radius = _radius(dataset, wanted.params.get("robust"))
        by_column = constraint.speak_of_columns((*wanted.constraints, *later)) or bool(radius)
        merge = wanted.model == "auto" or not keeps_rows(_settings(spec, wanted.model))
        scheme = wanted.encoding
        if may_search(spec):  # a model would grow with each split
            scheme = sized_scheme(dataset, scheme, wanted.depth)
        leaf_only = LEAF_ONLY in map(str, wanted.constraints)
        return encode(dataset, scheme, by_column, radius, merge, leaf_only)


def read_in_time(spec: RunSpec, path: str | Path) -> Dataset:
    """Read the data of a file as a specification describes and within its time limit. Raises DataError, ChoiceError and
    TimeLimitReached."""
    with deadline.within(spec.solving.time_limit):
        return read_as(path, spec.reading)


def _radius(dataset: Dataset, boxes: str | None) -> tuple[float, ...]:
    """Return how far an adversary may move the numbers of each column; () without an adversary."""
    if not boxes or dataset.selected is not None:
        return ()
    from odtc.trees.boxes import Boxes

    return tuple(Boxes.parse(boxes, dataset.features, dataset.X).radius.tolist())


def _part_of_limit(spec: RunSpec, began: float):
    return deadline.within(deadline.limit_left(began, spec.solving.time_limit))


def _settings(spec: RunSpec, model: str):
    return parse_params(model, default_params(model, spec.fitting) | spec.model.params)


def default_params(model: str, fitting: bool) -> dict:
    """Return the parameters with other defaults than the formulation's own: for `odtc fit` its FIT_DEFAULTS, for `odtc
    build` none."""
    return FORMULATIONS.get(model).FIT_DEFAULTS if fitting else {}


def _with_auxiliary(problem: Problem, path) -> Dataset | None:
    """Return the labelled rows with the auxiliary columns by which groups are compared; None if the problem or the
    file has no such columns."""
    encoded, auxiliary = problem.encoded, () if problem.encoded.dataset is None else problem.encoded.dataset.auxiliary
    if not auxiliary:
        return None
    from odtc.data.reading_rows import read_rows  # most runs have no rows to test on

    try:
        both = read_rows(path, (*encoded.features, *auxiliary), encoded.classes, encoded.target, require_labels=True)
    except DataError:  # the file may lack them
        return None
    m = len(encoded.features)
    return replace(both, X=both.X[:, :m], features=encoded.features, auxiliary=auxiliary, auxiliary_X=both.X[:, m:])


def held_out_rows(problem: Problem) -> Dataset | None:
    """Return the labelled rows that were set aside when the data was read; None if no rows were set aside."""
    dataset = problem.encoded.dataset
    return None if dataset is None or dataset.held_out is None else test_rows(problem, dataset.held_out)


def test_rows(problem: Problem, path) -> Dataset:
    """Read labelled rows of another file or of a data frame, coded like the training data and with the same policy for
    missing cells; raises DataError."""
    from odtc.data.reading_rows import read_rows, read_scored_rows

    encoded = problem.encoded
    if encoded.task != CLASSIFICATION and encoded.dataset is not None:
        rows = read_scored_rows(path, encoded.dataset)
    elif (rows := _with_auxiliary(problem, path)) is None:
        weights = None if encoded.dataset is None else encoded.dataset.source.get("weights")
        rows = read_rows(path, encoded.features, encoded.classes, encoded.target, True, weights, weights_may_lack=True)
    incomplete = np.isnan(rows.X).any(axis=1)
    place = "the rows to test on" if rows.source["path"] is None else repr(str(path))
    if encoded.missing == "separate" or not incomplete.any():
        return rows
    if encoded.missing == "error" or incomplete.all():
        raise DataError(
            f"expected test rows without missing cells in {place}, got {incomplete.sum()} with them among "
            f"{rows.n_rows}, the first in row {incomplete.argmax() + 1}; fill them in, or train with "
            f"{option('missing', 'separate')}"
        )
    keep = ~incomplete
    return rows.taken(keep, n_dropped=int((incomplete * rows.copies).sum()))


def choose(
    n_candidate_splits: int,
    depth: int,
    constraints: tuple[str, ...] = (),
    encoded: Encoded | None = None,
    fitting: bool = False,
) -> Choice:
    """Return the formulation of `--model auto` for a problem of these sizes (odtc.problem.estimates.Sizes), with the
    reason: its own estimate, and the estimate of the next best formulation, or why another one does not fit.

    Each formulation may state whether it fits, and how much work its proof takes approximately
    (odtc.problem.formulation.Estimates). The fitting one with the least work is chosen; one that cannot estimate its
    work, because only a search can find out, comes last.
    """
    sizes = Sizes(n_candidate_splits, depth, constraints, encoded, fitting)
    estimates: dict[str, Estimate] = {}
    # The search comes first, so that a model that cannot win is not loaded.
    for name in reversed(FORMULATIONS.able(Estimates)):
        estimates = {name: FORMULATIONS.get(name).estimate(sizes)} | estimates
        if estimates[name].fits and not estimates[name].sums:
            break
    best, *others = sorted(estimates, key=lambda name: (not estimates[name].fits, estimates[name].sums))
    why = f"{best} {estimates[best].words}"
    for other in others[:1]:
        said = estimates[other]
        why += f"; {option('model', other)} {said.words} instead" if said.fits else f"; {other} {said.words}"
    return Choice(best, why)
