"""Cross-validation: the settings of a grid, the folds of rows, the score of a fit, and the choice among settings.

The folds are the same for all settings, and each class is dealt out evenly. Of settings that score alike the one with
the smaller trees is better.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product

import numpy as np

from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.base.wording import option, param
from odtc.data.dataset import Dataset
from odtc.data.encoding import ENCODINGS
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError, NoSolutionError
from odtc.evaluation.studies.fold_scores import scores_of
from odtc.evaluation.studies.price_path import path_of, price_of
from odtc.problem.formulation import FORMULATIONS, Estimates
from odtc.problem.parameters import has_parameter, parse_params
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow.run import run as run_spec
from odtc.workflow.specification import RunSpec, short_constraint

SCHEMA = "odtc.tune/1"
ROBUST = "robust_accuracy"  # of trees whose rows may be moved within boxes (`-p robust=…`)
SCORES = ("accuracy", "balanced_accuracy", ROBUST)
ROBUST_SECONDS = 60.0  # of each fit of such a tree, if no limit is named: its solver may not end
OF_TASK = "figure"  # of a task other than classification: its headline (odtc.data.task), negated if less is better
RULES = ("best", "1se")
PLAIN = RunSpec()
LEAF_MODEL = "dpflow"  # of depth 0
ROUNDING = 1e-12  # relative difference of two scores that are equal


@value_class
class Setting:
    """One point of the grid; `params` are the formulation's, as text. Depth 0 is a single leaf, which predicts the
    label of least cost. `encoding` None is the encoding of the run; `constraints` are added to its constraints."""

    model: str
    depth: int
    params: tuple[tuple[str, str], ...] = ()
    min_leaf_rows: int | None = None
    encoding: str | None = None
    constraints: tuple[str, ...] = ()

    def of(self, spec: RunSpec) -> RunSpec:
        """Return the run of this setting; `spec` has the fields that all settings share, such as constraints."""
        own = (short_constraint("min_leaf_rows", self.min_leaf_rows),) if self.min_leaf_rows else ()
        return spec.with_model(
            model=self.model,
            depth=self.depth,
            params=dict(self.params),
            encoding=self.encoding or spec.model.encoding,
            constraints=(*spec.model.constraints, *own, *self.constraints),
        )

    def __str__(self) -> str:
        if self.depth == 0:
            return "depth 0, a single leaf"
        words = [self.model, f"depth {self.depth}", *(f"{key}={value}" for key, value in self.params)]
        words += [f"{count_of(self.min_leaf_rows, 'row', '')} a leaf"] if self.min_leaf_rows else []
        return ", ".join([*words, *([self.encoding] if self.encoding else []), *self.constraints])


@value_class
class Fold:
    """Result of one fit on the rows that it did not see; scores are None if the solver found no tree, which `error`
    explains, `figure` also for a classification, `robust_accuracy` also if no rows may be moved."""

    setting: int
    fold: int
    accuracy: float | None
    balanced_accuracy: float | None
    n_leaves: int | None
    proved: bool
    seconds: float | None
    figure: float | None = None
    robust_accuracy: float | None = None
    error: str | None = None
    tree: dict | None = None  # as JSON, without curves


@value_class
class Result:
    """A setting over all folds: means and standard deviations (with n - 1), None if a fold has no tree."""

    setting: Setting
    score: float | None
    deviation: float | None
    n_leaves: float | None
    proved: int
    seconds: float
    folds: tuple[Fold, ...]

    def to_json(self) -> dict:
        """Return the result as in STEM.tune.json, without the trees of the folds."""
        told = asdict(self)
        for fold in told["folds"]:
            del fold["tree"]
        return told | {
            "setting": asdict(self.setting) | {"params": dict(self.setting.params)},
            "name": str(self.setting),
        }


def grid(
    models, depths, params: dict[str, list[str]], leaf_rows=(None,), encodings=("auto",), tries=()
) -> list[Setting]:
    """Return all settings, in order: for each encoding, and without and with each constraint of `tries`, all others.
    Depth 0 is one setting, first. A parameter is varied for the models that have it (`known`). A single encoding is
    left to the run. Raises ChoiceError for an invalid depth or number of rows, for an unknown model or encoding, and
    for a parameter that no model has or a value that one does not take."""
    takers(models, params)
    expect_valid(models, depths, params, leaf_rows, encodings)
    encodings = encodings if len(encodings) > 1 else (None,)
    constraints = ((), *((text,) for text in tries))
    return [Setting(LEAF_MODEL, 0)] * (0 in depths) + [
        Setting(model, depth, chosen, least, encoding, given)
        for encoding, given, model, depth, least in product(
            encodings, constraints, models, filter(None, depths), leaf_rows
        )
        for chosen in points(model, params)
    ]


def expect_valid(models, depths, params: dict[str, list[str]], leaf_rows, encodings) -> None:
    """Raise ChoiceError for an invalid depth or number of rows, for an unknown encoding, and for a value that a
    parameter does not take."""
    for depth in filter(None, depths):
        CompleteTree(depth)
    for encoding in encodings:
        ENCODINGS.parse(encoding)
    for least in leaf_rows:
        if least is not None and least < 1:
            raise ChoiceError(f"expected at least 1 row in a leaf, got {least}")
    for model in models:
        for chosen in points(model, params) if model != "auto" else ():
            parse_params(model, dict(chosen))


def known(model: str, params: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the parameters that a model has, with their values; auto has the parameters of all models that it may
    choose. Raises ChoiceError for an unknown model."""
    names = FORMULATIONS.able(Estimates) if model == "auto" else [model]
    return {key: values for key, values in params.items() if any(has_parameter(name, key) for name in names)}


def points(model: str, params: dict[str, list[str]]) -> list[tuple[tuple[str, str], ...]]:
    """Return all values of the parameters that a model has, with their keys."""
    mine = known(model, params)
    return [tuple(zip(mine, values)) for values in product(*mine.values())]


def takers(models: list[str], params: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the models that have each parameter. Raises ChoiceError for one that none has."""
    found = {key: [model for model in models if key in known(model, params)] for key in params}
    for key, able in found.items():
        if not able:
            parse_params("dpflow" if models[0] == "auto" else models[0], {key: ""})
    return found


def score_of(name: str, score: str, params: dict[str, list[str]]) -> str:
    """Return the score by which the settings of the task `name` are compared: the requested one, or its figure if the
    task is not classification. `params` are the parameters of a grid. Raises ChoiceError for a score of classes that
    the task does not have, and for the accuracy of moved rows, unless all are moved within the same boxes."""
    task = TASKS.get(name)
    if task.CLASSES:
        boxes = params.get("robust", [])
        if score == ROBUST and len(boxes) != 1:
            raise ChoiceError(
                f"--score {ROBUST}: expected one box that all settings are judged by, as "
                f"{param('robust', 'age:2')}, got {len(boxes) or 'none'}"
            )
        return score
    if score != SCORES[0]:
        raise ChoiceError(
            f"--score {score} needs classes; leave it out, because {option('task', name)} is tuned by its "
            f"{task.HEADLINE_WORDS}"
        )
    return OF_TASK


def expect_known(score: str, rule: str) -> None:
    """Raise ChoiceError for an unknown score or rule."""
    for name, known, given in (("--score", SCORES, score), ("--rule", RULES, rule)):
        if given not in known:
            raise ChoiceError(f"{name}: expected one of {', '.join(known)}, got {given!r}")


def limited(spec: RunSpec, params: dict[str, list[str]], say: Callable[[str], object]) -> RunSpec:
    """Return a run whose fits end.

    Parameters
    ----------
    spec : RunSpec
        The settings that all fits have in common.
    params : dict of str to list of str
        Parameters of the grid.
    say : callable
        Called with a remark if there is one.

    Returns
    -------
    RunSpec
        With a limit for each fit, if trees are robust and the run has none.
    """
    if "robust" not in params or spec.solving.time_limit is not None:
        return spec
    say(
        f"note: each fit has {ROBUST_SECONDS:g} s, because a solver proves robust trees and may take very long; "
        f"{option('time_limit')} sets another limit"
    )
    return spec.with_solving(time_limit=ROBUST_SECONDS)


def score_note(params: dict[str, list[str]], score: str, reading: ReadingSpec) -> str | None:
    """Return a remark if robust trees are compared by rows that stay where they are, or policies by estimates that
    share rows with those of the training rows; otherwise None."""
    if TASKS.get(reading.task).terms(asdict(reading)).get("scores") == "direct":
        return (
            f"note: {option('scores', 'direct')} estimates the outcomes of all rows before they are dealt into "
            "folds, so rows that a fit does not see are not independent of it, and the scores are too optimistic; use "
            f"{option('scores', 'doubly-robust')}, or `odtc fit` with {option('test')}"
        )
    if "robust" not in params or score == ROBUST:
        return None
    return f"note: settings are compared on rows that stay where they are; --score {ROBUST} moves them"


def deal_folds(y: np.ndarray, n_folds: int, seed: int = 0, option: str = "--folds") -> np.ndarray:
    """Return the fold of each row, int64 (rows,), so that the counts of every class in the folds differ by at most one
    row.

    Raises ChoiceError that names the `option` for fewer than 2 folds, or more than the rarest of two classes has rows.
    """
    counts = np.sort(np.bincount(y)[np.bincount(y) > 0])
    if n_folds < 2 or len(counts) < 2 or n_folds > counts[-2]:
        most = int(counts[-2]) if len(counts) > 1 else 0
        rows = f"the second largest class has {most} row{'s' if most != 1 else ''}"
        if most < 2:
            raise ChoiceError(
                f"{option}: expected two classes of 2 rows or more, so that folds can hold both ({rows}): nothing can "
                f"be left out of such data; give more rows, or fit one setting with odtc fit"
            )
        raise ChoiceError(
            f"{option}: expected from 2 to {count_of(most, 'fold', '')}, so that each holds two classes "
            f"({rows}), got {n_folds}"
        )
    mixed = np.random.default_rng(seed).permutation(len(y))
    fold = np.empty(len(y), dtype=np.int64)
    fold[mixed[np.argsort(y[mixed], kind="stable")]] = np.arange(len(y)) % n_folds
    return fold


def deal_rows(dataset: Dataset, n_folds: int, seed: int = 0, option: str = "--folds") -> np.ndarray:
    """Return the folds of the rows of a data set, as `deal_folds`: by classes, or for another task by rows of the file
    in random order. All rows that represent one row of the file, and adjacent ones with the same cells, are in one
    fold.

    Raises ChoiceError as `deal_folds`, and for more folds than rows.
    """
    if TASKS.get(dataset.task).CLASSES:
        return deal_folds(dataset.y, n_folds, seed, option)
    before, after = dataset.X[:-1], dataset.X[1:]
    apart = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=1)
    if (dataset.copies == 1).all():
        apart[:] = True
    group = np.concatenate([[0], np.cumsum(apart)])
    groups = int(group[-1]) + 1
    if not 2 <= n_folds <= groups:
        raise ChoiceError(
            f"{option}: expected from 2 to {count_of(groups, 'fold', '')}, as many as different rows, got {n_folds}"
        )
    fold = np.empty(groups, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(groups)] = np.arange(groups) % n_folds
    return fold[group]


@value_class
class Nested:
    """Result of choosing a setting, on rows that took no part in the choice: one outer fold each.

    `scores` are the scores of the setting that was chosen by folds of the other rows and fitted on all of these;
    `inner` is the score in those folds; `chosen` are the positions of the settings.
    """

    scores: tuple[float, ...]
    inner: tuple[float, ...]
    chosen: tuple[int, ...]
    seconds: float

    @property
    def score(self) -> float:
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        return float(np.std(self.scores, ddof=1))

    @property
    def optimism(self) -> float:
        """The amount by which the scores in the folds of the choice were better."""
        return float(np.mean(self.inner)) - self.score

    def to_json(self) -> dict:
        told = {"score": self.score, "deviation": self.deviation, "optimism": self.optimism}
        return {"folds": len(self.scores)} | told | asdict(self)


def outer_folds(dataset: Dataset, n_folds: int, seed: int = 0) -> np.ndarray:
    """Return the outer folds of nested cross-validation, int64 (rows,): of as many folds they are not those by which
    the choice on all rows of this seed is made. Raises as `deal_rows`."""
    return deal_rows(dataset, n_folds, seed + 1, "--nested")


def summarise(settings, folds: list[list[Fold]], score: str = "accuracy") -> list[Result]:
    """Return a Result for each setting."""
    results = []
    for setting, mine in zip(settings, folds):
        values = [getattr(fold, score) for fold in mine]
        whole = None not in values
        leaves = np.mean([fold.n_leaves for fold in mine]) if whole else None
        results.append(
            Result(
                setting,
                float(np.mean(values)) if whole else None,
                float(np.std(values, ddof=1)) if whole else None,
                None if leaves is None else float(leaves),
                sum(fold.proved for fold in mine),
                sum(fold.seconds or 0.0 for fold in mine),
                tuple(mine),
            )
        )
    return results


def best_setting(results: list[Result], rule: str = "best") -> int:
    """Return the position of the best setting: the highest score, or by "1se" the smallest tree whose score is within
    one standard error of it; then the smaller tree, then the first. Raises DataError if no setting has a tree in every
    fold."""
    whole = [place for place, result in enumerate(results) if result.score is not None]
    if not whole:
        why = next((fold.error for result in results for fold in result.folds if fold.error), None)
        told = f": {why}" if why else f"; allow more time ({option('time_limit')}), or a smaller --depths"
        raise DataError(f"no setting has a tree in every fold{told}")
    top = max(whole, key=lambda place: results[place].score)
    # Relative to the scores of the folds, because the error of a task has any unit.
    slack = ROUNDING * (abs(results[top].score) + results[top].deviation)
    if rule == "1se":
        slack += results[top].deviation / np.sqrt(len(results[top].folds))
    near = [place for place in whole if results[place].score >= results[top].score - slack]
    if rule == "1se":
        return min(near, key=lambda place: (results[place].n_leaves, -results[place].score))
    return min(near, key=lambda place: results[place].n_leaves)


def score_fold(train: Dataset, test: Dataset, spec: RunSpec, number: int, k: int, path: str = "") -> Fold:
    """Fit on some rows and score on others. The result has no scores if the solver finds no tree, or the data do not
    fit the setting, so that the results of other fits of the study are not lost. A fit that Ctrl-C ends has no
    result: it raises KeyboardInterrupt. Results proved by fits of the same `path`
    (odtc.evaluation.studies.price_path) are not searched again."""
    known, price = path_of(path) if path else None, price_of(spec.model)
    if known is not None and (scored := known.scores(spec.model.depth, price)) is not None:
        return replace(scored, setting=number, fold=k, seconds=0.0)
    task = TASKS.get(train.task)
    # Parts of sums that were derived from all rows, such as hazards, are recomputed from the training rows.
    train = task.scored_rows(train, train)
    test = task.scored_rows(test, train)
    try:
        done = run_spec(spec, train)
    except (NoSolutionError, ChoiceError, DataError) as problem:
        return Fold(number, k, None, None, None, False, None, error=str(problem))
    if done.was_interrupted:
        raise KeyboardInterrupt
    scored = Fold(
        number,
        k,
        n_leaves=done.tree.n_leaves,
        proved=done.proved,
        seconds=done.proof.seconds,
        tree=done.tree.with_curves([()] * done.tree.n_leaves).to_json(),
        **scores_of(done.tree, train, test, done.problem.module.boxes(done.problem)),
    )
    if known is not None:
        known.note(spec.model.depth, price, done, scored)
    return scored
