"""Studies by cross-validation: a grid of settings × data × folds × seeds, of which each fit is a task of the engine.

`odtc tune` is a study of one table in memory, `odtc sweep` is a study of data files. Both choose a setting for each
table. To estimate the score of the whole procedure, the choice is repeated without each part of the rows (nested
cross-validation).
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from odtc import __version__
from odtc.base.text import of_any_bytes
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.data.encoding import encode
from odtc.data.reading import read_as
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import ChoiceError, DataError, OdtcError
from odtc.evaluation import cross_validation
from odtc.evaluation.studies.engine import Step, key_of, part
from odtc.evaluation.studies.fold_scores import agrees
from odtc.evaluation.studies.price_path import beside_price, price_of, turns
from odtc.problem.constraints.constraint import parse
from odtc.workflow.specification import RunSpec


@value_class
class FileRows:
    """A data file as the rows of a study: `digest` is the SHA-256 of its bytes."""

    path: str
    digest: str

    def read(self, reading: ReadingSpec) -> Dataset:
        """Return the data set. Raises DataError if the file was changed since the study began."""
        return _read(self.path, self.digest, json.dumps(asdict(reading), default=str))

    @property
    def prefix(self) -> str:
        """The prefix of the titles of its fits."""
        return f"{of_any_bytes(Path(self.path).name)}, "


@lru_cache(1)
def _read(path: str, sha256: str, reading: str) -> Dataset:
    """Read a data set; cached, so that a worker reads a file once for consecutive tasks on it."""
    dataset = read_as(path, ReadingSpec(**json.loads(reading)))
    if dataset.source["sha256"] != sha256:
        raise DataError(f"expected the data of the study in {path!r}, but the file was changed since it began")
    return dataset


@value_class
class TableRows:
    """A data set in memory as the rows of a study; it is sent to the worker processes."""

    dataset: Dataset
    digest: str
    prefix = ""

    @classmethod
    def of(cls, dataset: Dataset) -> "TableRows":
        """Return the rows with a digest of all cells and names."""
        found = hashlib.sha256(repr((dataset.features, dataset.classes, dataset.target, dataset.missing)).encode())
        for one in (dataset.X, dataset.y, dataset.weight, dataset.copies, dataset.auxiliary_X, dataset.sums):
            found.update(np.ascontiguousarray(one))
        return cls(dataset, found.hexdigest())

    def read(self, reading: ReadingSpec) -> Dataset:
        return self.dataset


@value_class
class FitTask:
    """The fit of a setting on all folds but one, and its score on this fold.

    `seed` assigns rows to folds. `turn` is the order among the depths and penalties on the same rows
    (odtc.evaluation.studies.price_path). With `outer`, (part, number of parts, seed of the choice), this part of the
    rows is left out of all folds. `title` names the fit in messages.
    """

    rows: FileRows | TableRows
    spec: RunSpec
    seed: int
    fold: int
    folds: int
    turn: int = 0
    outer: tuple[int, int, int] | None = None
    title: str = ""

    @property
    def facts(self) -> dict:
        """Everything on which the result depends."""
        return {
            "odtc": __version__,
            "sha256": self.rows.digest,
            "reading": asdict(self.spec.reading),
            "model": asdict(self.spec.model),
            "solving": asdict(self.spec.solving),
            "seed": self.seed,
            "fold": self.fold,
            "folds": self.folds,
        } | ({} if self.outer is None else {"outer": self.outer})

    @cached_property
    def key(self) -> str:
        return key_of(self.facts)

    @cached_property
    def step(self) -> Step:
        """The step of the path of fits on the same rows at other depths and penalties."""
        path = key_of(self.facts | {"model": beside_price(self.spec.model)})
        return Step(path, str(self.spec.model.depth), self.turn)

    def run(self) -> dict:
        """Return the scores of the fit. A fit that odtc refuses is a result, too: its `error` is the reason."""
        train, test = self._parts
        began, error = time.process_time(), None
        try:
            done = cross_validation.score_fold(train, test, self.spec, 0, self.fold, self.step.path)
        except OdtcError as problem:
            done, error = cross_validation.Fold(0, self.fold, None, None, None, False, None), str(problem)
        if error is None and done.n_leaves is None:
            error = done.error or "no tree within the limits"
        scores = {name: value for name, value in asdict(done).items() if name not in ("setting", "fold")}
        cpu = time.process_time() - began
        return {"n_train": train.n_rows, "n_test": test.n_rows} | scores | {"cpu_seconds": cpu, "error": error}

    def agrees(self, result: dict) -> bool:
        """Return whether a stored result can be the result of this task (odtc.evaluation.studies.fold_scores)."""
        train, test = self._parts
        sizes = (result.get("n_train"), result.get("n_test")) == (train.n_rows, test.n_rows)
        seconds = isinstance(result.get("cpu_seconds"), float)
        return sizes and seconds and agrees(result, train, test, self.spec)

    @property
    def _parts(self) -> tuple[Dataset, Dataset]:
        """Return (training rows, rows to score on)."""
        dataset = self.rows.read(self.spec.reading)
        if self.outer is not None:
            place, parts, seed = self.outer
            dataset = dataset.taken(cross_validation.outer_folds(dataset, parts, seed) != place)
        fold = cross_validation.deal_rows(dataset, self.folds, self.seed)
        return dataset.taken(fold != self.fold), dataset.taken(fold == self.fold)


@value_class
class Study:
    """A grid of settings on tables.

    Attributes
    ----------
    rows : tuple of FileRows or TableRows
    settings : list of Setting
    spec : RunSpec
        The options that all fits share.
    folds : int
        Number of parts of the rows, each of which is left out once.
    choices : tuple of tuple of int
        Seeds. Cross-validation is repeated with other folds for each seed; the seeds of one tuple make one nested
        choice together.
    nested : int or None
        Number of outer parts of the rows: the choice is repeated without each part, and scored on it.
    """

    rows: tuple[FileRows | TableRows, ...]
    settings: list[cross_validation.Setting]
    spec: RunSpec
    folds: int
    choices: tuple[tuple[int, ...], ...] = ((0,),)
    nested: int | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds, in order."""
        return tuple(seed for seeds in self.choices for seed in seeds)

    @property
    def n_folds(self) -> int:
        """The number of fits of each setting on all rows of a table."""
        return self.folds * len(self.seeds)

    def check(self, dataset: Dataset) -> None:
        """Raise ChoiceError for more folds than the rows of a table can fill, and for an invalid constraint."""
        for seeds in self.choices:
            outer = None if self.nested is None else cross_validation.outer_folds(dataset, self.nested, seeds[0])
            parts = [dataset.taken(outer != k) for k in range(self.nested or 0)]
            for seed, rows in product(seeds, [dataset, *parts]):
                cross_validation.deal_rows(rows, self.folds, seed)
        if tried := dict.fromkeys(text for setting in self.settings for text in setting.constraints):
            encoded = encode(dataset, self.spec.model.encoding)
            for text in tried:
                parse(text, encoded)

    def spec_of(self, setting: cross_validation.Setting, seed: int) -> RunSpec:
        """Return the run of a setting."""
        return setting.of(self.spec).with_solving(seed=seed, threads=1)

    @cached_property
    def tasks(self) -> list[FitTask]:
        """All fits on all rows, by table, setting, seed and fold."""
        return [task for rows in self.rows for task in self._tasks(rows, None)]

    @cached_property
    def inner_tasks(self) -> list[FitTask]:
        """The same fits without each part of `nested`, by table, part, setting, seed and fold."""
        return [task for rows in self.rows for k in range(self.nested or 0) for task in self._tasks(rows, k)]

    def _tasks(self, rows: FileRows | TableRows, without: int | None) -> Iterator[FitTask]:
        turn = turns(setting.of(self.spec).model for setting in self.settings)
        for setting, seeds in product(self.settings, self.choices):
            outer = None if without is None else (without, self.nested, seeds[0])
            for seed, fold in product(seeds, range(self.folds)):
                spec = self.spec_of(setting, seed)
                place = turn[spec.model.depth, price_of(spec.model)]
                title = f"{rows.prefix}{setting}, fold {fold + 1}"
                yield FitTask(rows, spec, seed, fold, self.folds, place, outer, title)

    def part(self, which: int, parts: int) -> list[FitTask]:
        """Return the fits of one of some parts (odtc.evaluation.studies.engine.part)."""
        return part(self.tasks + self.inner_tasks, which, parts)

    def results(self, results: Mapping[int, dict], score: str) -> list[list[cross_validation.Result]]:
        """Return for each table the results, over folds and seeds, of the settings whose fits are all in `results`;
        its keys are positions of tasks in `tasks`."""
        each, n = self.n_folds, len(self.settings)
        found = []
        for number in range(len(self.rows)):
            starts = [(at, (number * n + at) * each) for at in range(n)]
            whole = [(at, first) for at, first in starts if all(first + k in results for k in range(each))]
            folds = [[_fold(results[first + k], at, k) for k in range(each)] for at, first in whole]
            found.append(cross_validation.summarise([self.settings[at] for at, _ in whole], folds, score))
        return found

    def nested_choices(
        self, results: Sequence[dict], score: str, rule: str, fit: Callable[[list[FitTask]], list[dict]]
    ) -> list[list[cross_validation.Nested | OdtcError]]:
        """Return the results of choosing a setting on rows that took no part in the choice.

        Parameters
        ----------
        results : sequence of dict
            Results of `inner_tasks`.
        score, rule : str
            As in odtc.evaluation.cross_validation.
        fit : function
            Returns the results of tasks that fit the chosen settings on the rows used for the choice.

        Returns
        -------
        list
            For each table a Nested for each tuple of `choices`, or the error that prevented it; empty without `nested`.
        """
        if not self.nested:
            return []
        shape = len(self.rows), self.nested, len(self.settings), len(self.seeds), self.folds
        places = np.arange(len(results)).reshape(shape)
        told: list[list[cross_validation.Nested | OdtcError]] = [[] for _ in self.rows]
        for (own, rows, of_rows), seeds in product(zip(told, self.rows, places), self.choices):
            mine = [at for at, seed in enumerate(self.seeds) if seed in seeds]
            try:
                found = [
                    cross_validation.summarise(
                        self.settings,
                        [
                            [_fold(results[place], at, k) for k, place in enumerate(one[mine].ravel())]
                            for at, one in enumerate(of_part)
                        ],
                        score,
                    )
                    for of_part in of_rows
                ]
                chosen = [cross_validation.best_setting(one, rule) for one in found]
                specs = [self.spec_of(self.settings[best], seeds[0]) for best in chosen]
                # The seed with which outer_folds assigns the rows.
                tasks = [FitTask(rows, spec, seeds[0] + 1, k, self.nested) for k, spec in enumerate(specs)]
                own.append(_nested(found, chosen, fit(tasks), score))
            except OdtcError as problem:
                own.append(problem)
        return told


def _fold(result: dict, setting: int, fold: int) -> cross_validation.Fold:
    """Return the result of a task as a fold of a setting."""
    known = {name: value for name, value in result.items() if name in cross_validation.Fold.__dataclass_fields__}
    return cross_validation.Fold(**({"setting": setting, "fold": fold} | known))


def _nested(
    found: list[list[cross_validation.Result]], chosen: list[int], made: list[dict], score: str
) -> cross_validation.Nested:
    """Return the Nested of the results of all settings by part (`found`) and the fits of the chosen ones (`made`)."""
    for one, best, result in zip(found, chosen, made):
        if result.get(score) is None:
            raise ChoiceError(f"no tree came of {one[best].setting} on the rows of its choice: {result.get('error')}")
    seconds = sum(result.seconds for one in found for result in one) + sum(one.get("seconds") or 0.0 for one in made)
    inner = tuple(one[best].score for one, best in zip(found, chosen))
    return cross_validation.Nested(tuple(result[score] for result in made), inner, tuple(chosen), seconds)
