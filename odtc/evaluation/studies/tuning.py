"""`odtc tune`: a study of one table, the choice of a setting, and the cost of that choice."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from odtc.base.atomic_write import write_text
from odtc.base.json_schema import NUMBER, TEXT, WHOLE, SchemaError, read_object, validate
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.data.task import TASKS
from odtc.errors import DataError
from odtc.evaluation.cross_validation import SCHEMA, Nested, Result, best_setting, deal_rows
from odtc.evaluation.studies.engine import Store
from odtc.evaluation.studies.study import FitTask, Study
from odtc.workflow.results.fit import Fit
from odtc.workflow.run import run
from odtc.workflow.sinks import FileSink

# The parts of STEM.tune.json that a picture of it shows.
TUNED = {
    "data": TEXT,
    "folds": WHOLE,
    "score": TEXT,
    "results": [{"name": TEXT, "n_leaves": (None, NUMBER), "score": (None, NUMBER)}],
}


SURE_ERRORS = 2.0  # standard errors, from the means of the folds
DENOMINATOR = 10**7  # rows: two shares of at most so many rows differ by 1e-14, more than a double rounds


# The most frequent class, fold by fold: the baseline that a useful tree must exceed.


@value_class
class Majority:
    """Scores of the most frequent class of the other folds.

    Attributes
    ----------
    label : str
        The most frequent class of all rows.
    score : str
        "accuracy", "balanced_accuracy" or "robust_accuracy", as in a Fold.
    scores : tuple of float
        The score of each fold, in the order in which they are dealt out.
    n_folds : int
        Folds each time that they are dealt out.
    """

    label: str
    score: str
    scores: tuple[float, ...]
    n_folds: int

    @classmethod
    def of(cls, dataset: Dataset, dealt: Sequence[np.ndarray], score: str) -> "Majority":
        """Return the scores on a data set; `dealt` are the folds of the rows, int64 (rows,), once for each time that
        they are dealt out."""
        scores = []
        for fold in dealt:
            for k in range(int(fold.max()) + 1):
                label, truth = _most_frequent(dataset, fold != k), dataset.y[fold == k]
                of_class = [float(label == each) for each in np.unique(truth)]
                by_rows = score != "balanced_accuracy"  # moved rows are answered alike
                scores.append(float((truth == label).mean()) if by_rows else float(np.mean(of_class)))
        most = _most_frequent(dataset, np.ones(dataset.n_rows, bool))
        return cls(dataset.classes[most], score, tuple(scores), int(dealt[0].max()) + 1)

    @property
    def mean(self) -> float:
        """The mean score over all folds."""
        return float(np.mean(self.scores))

    def lead(self, result: Result) -> tuple[float, float] | None:
        """Return (mean, standard error) of the lead of a setting over it in the same folds; None if a fold has no
        tree. The error is corrected because folds share training rows (Nadeau & Bengio 2003)."""
        scores = [getattr(fit, self.score) for fit in sorted(result.folds, key=lambda fit: fit.fold)]
        if None in scores:
            return None
        ahead = [_share(own) - _share(usual) for own, usual in zip(scores, self.scores, strict=True)]
        error = float(stdev(ahead)) * (1 / len(ahead) + 1 / (self.n_folds - 1)) ** 0.5
        return float(mean(ahead)), error

    def is_surely_beaten(self, result: Result) -> bool:
        """Return whether a setting is ahead of it by more than SURE_ERRORS standard errors, or this is not known."""
        lead = self.lead(result)
        return lead is None or lead[0] > SURE_ERRORS * lead[1]

    def to_json(self) -> dict:
        """Return it as an object of JSON."""
        return {"class": self.label, "score": self.mean, "scores": list(self.scores)}


def _share(score: float) -> Fraction:
    """Return the share of rows that a score states, exactly, so that differences that cancel out leave 0."""
    return Fraction(score).limit_denominator(DENOMINATOR)


def _most_frequent(dataset: Dataset, rows: np.ndarray) -> int:
    """Return the class of most of the weight of some rows, bool (rows,)."""
    return int(np.bincount(dataset.y[rows], dataset.weight[rows], len(dataset.classes)).argmax())


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
class Tuning:
    """A study of one table in memory.

    Attributes
    ----------
    dataset : Dataset
    study : Study
    score, rule : str
        How settings are compared, and which of the best is taken, as in odtc.evaluation.cross_validation.
    """

    dataset: Dataset
    study: Study
    score: str
    rule: str

    def choose(self, results: Sequence[dict], fit: Callable[[list[FitTask]], list[dict]]) -> "Tuned":
        """Return the chosen setting.

        Parameters
        ----------
        results : sequence of dict
            Results of `tasks` and `inner_tasks` of the study.
        fit : function
            Returns the results of further tasks (`Study.nested_choices`).

        Returns
        -------
        Tuned

        Raises
        ------
        DataError
            If no setting has a tree in every fold.
        """
        n = len(self.study.tasks)
        (settings,) = self.study.results(dict(enumerate(results[:n])), self.score)
        chosen, nested = best_setting(settings, self.rule), None
        if self.study.nested:
            ((nested,),) = self.study.nested_choices(results[n:], self.score, self.rule, fit)
            if isinstance(nested, Exception):
                raise nested
        return Tuned(settings, chosen, nested)

    def majority(self) -> Majority | None:
        """Return the scores of the most frequent class, in the same folds; None if the task has no classes."""
        if not TASKS.get(self.dataset.task).CLASSES:
            return None
        dealt = [deal_rows(self.dataset, self.study.folds, seed) for seed in self.study.seeds]
        return Majority.of(self.dataset, dealt, self.score)

    def fit(self, tuned: "Tuned", stem: str) -> tuple[Fit, FileSink]:
        """Fit the chosen setting on all rows; return the fit, and the sink of its files."""
        sink, setting = FileSink(lambda problem: stem, log=False), self.study.settings[tuned.chosen]
        return run(setting.of(self.study.spec), self.dataset, sink=sink), sink

    def to_json(self, tuned: "Tuned", majority: Majority | None) -> dict:
        """Return the facts of STEM.tune.json."""
        task = TASKS.get(self.dataset.task)
        facts = {
            "schema": SCHEMA,
            "data": self.dataset.name,
            "n_rows": self.dataset.n_rows,
            "folds": self.study.folds,
            "seed": self.study.seeds[0],
            "seeds": list(self.study.seeds),
            "score": self.score if task.CLASSES else task.HEADLINE,
            "rule": self.rule,
            "best": tuned.chosen,
            "results": [result.to_json() for result in tuned.results],
        }
        facts |= {} if tuned.nested is None else {"nested": tuned.nested.to_json()}
        return facts | ({} if majority is None else {"majority": majority.to_json()})


def write_tuned(facts: dict, stem: str, store: Store, sink: FileSink) -> dict:
    """Write STEM.tune.json, remove the stored fits, and return the names of all files."""
    write_text(f"{stem}.tune.json", json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    store.remove()  # no sooner: if the file could not be written, the next run goes on with it
    written = [*(path for path in sink.files if path != sink.tree), f"{stem}.tune.json", *filter(None, [sink.tree])]
    return {"tree": sink.tree, "files": [*map(str, written)]}


@value_class
class Tuned:
    """Result of a grid: the results of its settings, the position of the chosen one, and the result of the same choice
    on rows that took no part in it, None if that was not requested."""

    results: list[Result]
    chosen: int
    nested: Nested | None
