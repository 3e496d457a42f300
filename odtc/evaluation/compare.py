"""Comparison of trees: size, accuracy, how often they agree, and where they differ."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.reading_rows import read_rows, read_scored_rows
from odtc.data.reading_spec import ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError
from odtc.evaluation.board import shared_rows
from odtc.evaluation.html_report import Run, open_run, rows_set_aside, training_score
from odtc.trees.tree import Tree
from odtc.workflow.results import facts as figures

# Facts of a run that a comparison repeats as they were recorded.
RECORDED = ("model", "objective", "bound", "gap", "termination", "seconds", "n_cols", "n_model_rows", "nnz", "verified")


@dataclass(frozen=True)
class Entry:
    """One tree: `predicted` are its class names, actions or numbers for the rows compared on, None without rows."""

    name: str
    run: Run
    facts: dict
    predicted: np.ndarray | None = None


@dataclass(frozen=True)
class Comparison:
    """Comparison of trees on the same rows.

    `agreement` is float64 (trees, trees), the share of rows that two trees predict alike; `difference`, of trees that
    answer numbers, the mean of |difference| of two answers; `differing` the rows (counted from 1) that not all predict
    alike, each with its label and the predictions, the largest differences of numbers first. `label` is the name of
    the label of a row, `scored` the way in which the test figures of all trees are counted, `training_scored` the way
    for the training figure of each, "" if there is only one way; `trained_on` how many rows each was trained on, and
    the SHA-256 of their file, 0 and "" if that is not known; `n_rows_missing` the rows of the file that are left out,
    because they lack a number that one of the trees needs.
    """

    entries: tuple[Entry, ...]
    agreement: np.ndarray | None = None
    differing: tuple[tuple[int, str | None, tuple[str, ...]], ...] = ()
    n_rows: int = 0
    difference: np.ndarray | None = None
    label: str = "label"
    scored: str = ""
    training_scored: tuple[str, ...] = ()
    trained_on: tuple[tuple[int, str], ...] = ()
    n_rows_missing: int = 0

    @property
    def other_rows(self) -> bool:
        """Return whether two of the trees were trained on other rows, so that their training figures cannot be
        compared."""
        return any(len(set(filter(None, known))) > 1 for known in zip(*self.trained_on))

    def to_json(self) -> dict:
        facts = {"trees": [{"name": entry.name, **entry.facts} for entry in self.entries]}
        if self.agreement is None:
            return facts
        more: dict = {} if self.difference is None else {"difference": self.difference.tolist()}
        more |= {"scored": self.scored} if self.scored else {}
        return facts | {
            "n_rows": self.n_rows,
            "n_rows_missing": self.n_rows_missing,
            "agreement": self.agreement.tolist(),
            **more,
            "differing": [
                {"row": row, "label": label, "predicted": list(words)} for row, label, words in self.differing
            ],
        }


def compare(given, data=None, described: Callable[[Tree], Tree] = lambda tree: tree) -> Comparison:
    """Compare runs or trees by their stems or files, on the rows of a file `data` if it is named; `described` makes a
    tree read this file.

    Raises ChoiceError for fewer than two, and the errors of `open_run` and the reader.
    """
    if len(given) < 2:
        raise ChoiceError(f"expected two trees or runs to compare, got {len(given)}")
    runs = [replace(run, tree=described(run.tree)) for run in map(open_run, given)]
    tasks = sorted({run.tree.task for run in runs})
    if len(tasks) > 1 and any(not TASKS.get(name).NUMBERS or TASKS.get(name).SURVIVES for name in tasks):
        raise ChoiceError(f"expected trees of one task to compare, got {' and '.join(tasks)}")
    names = _names([str(one) for one in given], runs)
    task = TASKS.get(runs[0].tree.task)
    tables, numbers, n_missing = ([None] * len(runs), None, 0) if data is None else _answered(runs, data)
    judging = None if numbers is None else _judging(runs, data, numbers)
    entries = [_entry(name, run, rows, judging, task.HEADLINE) for name, run, rows in zip(names, runs, tables)]
    training = tuple("" if run.fit is None else _scored(run.fit.dataset) for run in runs)
    rows = tuple(map(_trained_on, runs))
    if numbers is None:
        return Comparison(tuple(entries), training_scored=training, trained_on=rows)
    table = np.stack([entry.predicted for entry in entries], axis=1)
    apart, difference = (table != table[:, :1]).any(axis=1), None
    places = np.flatnonzero(apart)
    if task.NUMBERS:
        difference = np.abs(table[:, :, None] - table[:, None, :]).mean(axis=0)
        places = places[np.argsort(-np.ptp(table[places], axis=1), kind="stable")]
    labels = _labels(tables[0]) if task.CLASSES else _targets(judging, len(table))
    words = [[f"{one:.10g}" if task.NUMBERS else one for one in table[row]] for row in places]
    return Comparison(
        tuple(entries),
        (table[:, :, None] == table[:, None, :]).mean(axis=0),
        tuple((int(numbers[row]) + 1, labels[row], tuple(said)) for row, said in zip(places, words)),
        len(table),
        difference,
        "label" if task.CLASSES else runs[0].tree.target if task.NUMBERS else "costs",
        "" if judging is None else _scored(judging[1]),
        training,
        rows,
        n_missing,
    )


def _trained_on(run: Run) -> tuple[int, str]:
    """Return how many rows a run was trained on, and the SHA-256 of their file; 0 and "" if that is not known."""
    if run.fit is None or run.fit.dataset is None:
        return sum(sum(leaf.rows) for leaf in run.tree.leaves()), ""
    return len(run.fit.dataset.y), run.fit.dataset.source.get("sha256") or ""


def _answered(runs: list[Run], data) -> tuple[list[Dataset], np.ndarray, int]:
    """Return (for each run the rows of a file that all trees answer, the position of each of them in the file, how many
    rows lack a number that a tree needs). Raises DataError if these are all."""
    trees = [run.tree for run in runs]
    tables = [read_rows(data, tree.features, _known_classes(tree, trees), tree.target) for tree in trees]
    kept = np.all([run.tree.apply(rows.X, on_missing="blank") >= 0 for run, rows in zip(runs, tables)], axis=0)
    if len(kept) and not kept.any():
        raise DataError(
            f"expected rows of {str(data)!r} with the numbers that the trees need, got none; fill them in, or fit the "
            f"trees with {option('missing', 'separate')}"
        )
    numbers = np.flatnonzero(kept)
    return [rows.taken(numbers) for rows in tables], numbers, len(kept) - len(numbers)


def _known_classes(tree: Tree, trees: list[Tree]) -> tuple[str, ...]:
    """Return the classes of a tree, then those of the others with its target: rows of a class that it never predicts
    count as errors, so that all trees are tested on the same rows."""
    alike = [tree, *(other for other in trees if other.target == tree.target)]
    return tuple(dict.fromkeys(name for one in alike for name in one.classes))


def _judging(runs: list[Run], data, numbers: np.ndarray) -> tuple[Dataset, Dataset] | None:
    """Return (those of the rows at these positions of a file that have their target, as read for the first run that
    has its data, and these data); None if there is none, or the file lacks the target. The only auxiliary column is the
    place of each row in `numbers`. All trees are judged on these rows, because runs may weigh and estimate
    differently."""
    for run in runs:
        trained = None if run.fit is None or TASKS.get(run.tree.task).CLASSES else run.fit.dataset
        if trained is not None:
            try:
                rows = read_scored_rows(data, trained, numbered=True)
            except DataError:
                continue
            rows = rows.taken(np.isin(rows.auxiliary_X[:, 0], numbers))
            return replace(rows, auxiliary_X=np.searchsorted(numbers, rows.auxiliary_X).astype(float)), trained
    return None


def _scored(trained: Dataset | None) -> str:
    """Return the way in which the figures of a tree are counted, from its data."""
    if trained is None or TASKS.get(trained.task).CLASSES:
        return ""
    how = {"target": trained.target, "missing": trained.missing} | trained.source
    return TASKS.get(trained.task).scored_words(ReadingSpec.from_manifest(how))


def _targets(judging: tuple[Dataset, Dataset] | None, n_rows: int) -> list[str | None]:
    """Return the target of each row of a file in words; None for one without."""
    labels: list[str | None] = [None] * n_rows
    if judging is not None:
        rows, goal = judging[0], TASKS.get(judging[0].task).terms(judging[1].source).get("goal", "")
        for place, sums in zip(rows.auxiliary_X[:, 0].astype(int), rows.sums):
            if sums[0]:  # of a policy one of the votes of a row counts as the row
                labels[place] = TASKS.get(rows.task).target_words(sums, rows.classes, goal) or None
    return labels


def _entry(name: str, run: Run, rows: Dataset | None, judging: tuple[Dataset, Dataset] | None, figure: str) -> Entry:
    """Return the facts of a run, with the figures of its tree on rows if there are some; if its task is not
    classification, with the figure of this name."""
    tree = run.tree
    facts = {
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "features": sorted(tree.features[place].name for place in tree.used),
    }
    task = TASKS.get(tree.task)
    if not task.CLASSES:
        metrics = run.fit.metrics if run.fit is not None else None
        told = None if metrics is None else metrics["training"].get(figure)
        facts |= {"task": tree.task, "figure": figure, "train_figure": told}
    elif all(leaf.rows for leaf in tree.leaves()):
        facts["train_accuracy"] = training_score(tree)["accuracy"]
    facts |= {key: run.facts.get(key) for key in RECORDED}
    if rows is None:
        return Entry(name, run, facts | _set_aside(run, task, figure))
    if not task.CLASSES:
        answers = tree.answers(rows.X)
        facts["test_figure"] = _figure(tree, answers, judging, figure)
        return Entry(name, run, facts, answers if task.NUMBERS else np.array(tree.classes, dtype=object)[answers])
    if (rows.y >= 0).any():
        scored = figures.score(tree, rows)
        facts |= {
            "accuracy": scored["accuracy"],
            "balanced_accuracy": scored["balanced_accuracy"],
            "n_rows": scored["n_rows"],
            "n_training_rows": 0 if run.fit is None else shared_rows(run.fit.dataset, rows),
        }
    return Entry(name, run, facts, np.array(tree.classes, dtype=object)[tree.predict(rows.X)])


def _set_aside(run: Run, task, figure: str) -> dict:
    """Return the figures of a run on the rows that it has set aside itself; {} without such rows."""
    labelled = rows_set_aside(run)
    if labelled is None or run.fit is None:
        return {}
    told = {"n_rows_set_aside": labelled.n_file_rows}
    if task.CLASSES:
        return told | {"accuracy": figures.score(run.tree, labelled)["accuracy"]}
    metrics = replace(run.fit, labelled=labelled).metrics or {}
    return told | {"test_figure": metrics.get("test", {}).get(figure)}


def _figure(tree: Tree, answers: np.ndarray, judging: tuple[Dataset, Dataset] | None, figure: str) -> float | None:
    """Return the figure of this name for the tree's answers on all rows of a file; None if the rows cannot judge it."""
    if judging is None:
        return None
    task, rows = TASKS.get(tree.task), judging[0]
    if tree.target != rows.target or (not task.NUMBERS and set(tree.classes) != set(rows.classes)):
        return None
    answers = answers[rows.auxiliary_X[:, 0].astype(int)]
    if not task.NUMBERS:
        answers = np.array([rows.classes.index(name) for name in tree.classes])[answers]
    return TASKS.get(rows.task).figures(rows.sums, answers, rows.classes).get(figure)


def _labels(rows: Dataset) -> list[str | None]:
    return [rows.classes[k] if k >= 0 else None for k in rows.y]


def _names(given: list[str], runs: list[Run]) -> list[str]:
    """Return the names of the runs, with their folders if two would be the same."""
    plain = [run.name for run in runs]
    return plain if len(set(plain)) == len(plain) else [str(Path(text)) for text in given]
