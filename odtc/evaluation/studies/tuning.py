"""`odtc tune`: a grid on one data set by cross-validation, the choice of a setting, and the cost of that choice.

The fits are those of odtc.evaluation.cross_validation, as tasks of odtc.evaluation.studies.engine.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from odtc.base.json_schema import NUMBER, TEXT, WHOLE, SchemaError, read_object, validate
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.data.encoding import encode
from odtc.data.task import TASKS
from odtc.errors import DataError
from odtc.evaluation.cross_validation import (
    SCHEMA,
    Fold,
    FoldTask,
    Nested,
    Result,
    Setting,
    best_setting,
    deal_rows,
    expect_rule,
    expect_score,
    fold_tasks,
    outer_folds,
    run,
    run_nested,
    summarise,
)
from odtc.evaluation.majority import Majority
from odtc.evaluation.studies.engine import Pool, Store
from odtc.problem.constraints import constraint
from odtc.workflow.specification import RunSpec

# The parts of STEM.tune.json that a picture of it shows.
TUNED = {
    "data": TEXT,
    "folds": WHOLE,
    "score": TEXT,
    "results": [{"name": TEXT, "n_leaves": (None, NUMBER), "score": (None, NUMBER)}],
}


def read_tuned(path: Path) -> tuple[dict, list[tuple[str, float, float]]]:
    """Return (STEM.tune.json, its settings that have a score as (name, leaves, score)). Raises DataError for another
    file, and for one without such a setting."""
    facts = read_object(path, "STEM.tune.json of `odtc tune`", DataError)
    try:
        validate(facts, TUNED)
    except SchemaError as problem:
        raise DataError(f"expected the STEM.tune.json that `odtc tune` wrote, got {str(path)!r}: {problem}") from None
    told = [(one["name"], one["n_leaves"], one["score"]) for one in facts["results"]]
    points = [point for point in told if None not in point]
    if not points:
        raise DataError(f"expected a setting with a score in {str(path)!r}, got none")
    return facts, points


@value_class
class Tuned:
    """Result of a grid: the results of its settings, the position of the chosen one, and the result of the same choice
    on rows that took no part in it, None if that was not requested."""

    results: list[Result]
    chosen: int
    nested: Nested | None


@value_class
class Tuning:
    """A grid on a data set, and how one setting of it is chosen.

    Attributes
    ----------
    dataset : Dataset
    settings : list of Setting
    spec : RunSpec
        What all fits have in common.
    folds : int
        Parts of the rows, each left out once.
    seeds : tuple of int
        Cross-validation is repeated for each, by folds of its own.
    nested : int or None
        Parts of the rows without each of which the choice is made again, to be scored on it.
    score, rule : str
        How settings are compared, and which of the best is taken, as of odtc.evaluation.cross_validation.
    """

    dataset: Dataset
    settings: list[Setting]
    spec: RunSpec
    folds: int
    seeds: tuple[int, ...]
    nested: int | None
    score: str
    rule: str

    def check(self) -> None:
        """Raise errors before the work, as ChoiceError, that would otherwise occur after it: too many folds, an
        unknown score or rule, an invalid constraint."""
        deal_rows(self.dataset, self.folds, self.seeds[0])
        _ = self.outer
        expect_score(self.score)
        expect_rule(self.rule)
        if tried := dict.fromkeys(text for setting in self.settings for text in setting.constraints):
            encoded = encode(self.dataset, self.spec.model.encoding)
            for text in tried:
                constraint.parse(text, encoded)

    @cached_property
    def outer(self) -> np.ndarray | None:
        """The part of each row without which a choice is made, int64 (rows,)."""
        return None if self.nested is None else outer_folds(self.dataset, self.nested, self.seeds[0])

    @property
    def n_fits(self) -> int:
        """The number of fits of cross-validation, with those of the nested choices."""
        return len(self.settings) * self.n_folds * (1 + (self.nested or 0))

    @property
    def n_folds(self) -> int:
        """The fits of each setting on all rows."""
        return self.folds * len(self.seeds)

    @property
    def tasks(self) -> list[FoldTask]:
        """All fits: those on all rows, then those without each part of `outer`."""
        parts = (self.dataset.taken(self.outer != k) for k in range(self.nested or 0))
        return [
            task
            for rows in (self.dataset, *parts)
            for fold, spec in self._dealt(rows)
            for task in fold_tasks(rows, self.settings, fold, spec)
        ]

    def goes_on(self, store: Store) -> bool:
        """Return whether one of the first fits, with the first seed on all rows, is in a store."""
        fold, spec = next(self._dealt(self.dataset))
        kept = {path.stem for path in store.folder.glob("*.json")}
        return any(task.key in kept for task in fold_tasks(self.dataset, self.settings, fold, spec))

    def run(self, pool: Pool, tell: Callable[[Fold], None], store: Store) -> Tuned:
        """Run all fits of the grid, and choose.

        Parameters
        ----------
        pool : Pool
            Runs the fits.
        tell : callable
            Called with each as it ends.
        store : Store
            Fits that are in it are not run again.

        Returns
        -------
        Tuned

        Raises
        ------
        DataError
            If no setting has a tree in every fold.
        """

        def choose(rows: Dataset) -> tuple[list[Result], int]:
            found: list[list[Fold]] = [[] for _ in self.settings]
            for fold, spec in self._dealt(rows):
                for mine, more in zip(found, run(rows, self.settings, fold, spec, pool, tell, store)):
                    mine += [replace(fit, fold=len(mine) + fit.fold) for fit in more]
            results = summarise(self.settings, found, self.score)
            return results, best_setting(results, self.rule)

        results, chosen = choose(self.dataset)
        nested = None
        if self.outer is not None:
            nested = run_nested(self.dataset, self.outer, choose, self.spec, self.score, store)
        return Tuned(results, chosen, nested)

    def finished(self, fits: list[Fold]) -> list[Result]:
        """Return the results of the settings all of whose folds are among these fits, the first of a run."""
        first = fits[: len(self.settings) * self.n_folds]  # fits of a nested choice come later
        own = [[fit for fit in first if fit.setting == at] for at in range(len(self.settings))]
        whole = [(setting, mine) for setting, mine in zip(self.settings, own) if len(mine) == self.n_folds]
        return summarise([setting for setting, _ in whole], [mine for _, mine in whole], self.score)

    def majority(self) -> Majority | None:
        """Return the scores of the most frequent class, in the same folds; None if the task has no classes."""
        if not TASKS.get(self.dataset.task).CLASSES:
            return None
        return Majority.of(self.dataset, [fold for fold, _ in self._dealt(self.dataset)], self.score)

    def to_json(self, tuned: Tuned, majority: Majority | None) -> dict:
        """The facts of STEM.tune.json."""
        task = TASKS.get(self.dataset.task)
        facts = {
            "schema": SCHEMA,
            "data": self.dataset.name,
            "n_rows": self.dataset.n_rows,
            "folds": self.folds,
            "seed": self.seeds[0],
            "seeds": list(self.seeds),
            "score": self.score if task.CLASSES else task.HEADLINE,
            "rule": self.rule,
            "best": tuned.chosen,
            "results": [result.to_json() for result in tuned.results],
        }
        facts |= {} if tuned.nested is None else {"nested": tuned.nested.to_json()}
        return facts | ({} if majority is None else {"majority": majority.to_json()})

    def _dealt(self, rows: Dataset) -> Iterator[tuple[np.ndarray, RunSpec]]:
        """For each seed the fold of each row, int64 (rows,), and the run of a fit."""
        for seed in self.seeds:
            yield deal_rows(rows, self.folds, seed), self.spec.with_solving(seed=seed)
