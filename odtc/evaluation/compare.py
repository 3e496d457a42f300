"""Trees side by side: size, what they get right, how often they agree, and where they differ."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from odtc.data.reading import read_judged_rows, read_rows
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError
from odtc.evaluation.html_report import Run, open_run, training_score
from odtc.workflow import run_facts


@dataclass(frozen=True)
class Entry:
    """One tree: `predicted` are its class names for the rows compared on, None without rows."""

    name: str
    run: Run
    facts: dict
    predicted: np.ndarray | None = None


@dataclass(frozen=True)
class Comparison:
    """`agreement` is float64 (trees, trees), the share of rows that two trees predict alike; `differing` the
    rows (counted from 1) that not all predict alike, each with its label and the predictions."""

    entries: tuple[Entry, ...]
    agreement: np.ndarray | None = None
    differing: tuple[tuple[int, str | None, tuple[str, ...]], ...] = ()
    n_rows: int = 0

    def to_json(self) -> dict:
        facts = {"trees": [{"name": entry.name, **entry.facts} for entry in self.entries]}
        if self.agreement is None:
            return facts
        return facts | {
            "n_rows": self.n_rows,
            "agreement": self.agreement.tolist(),
            "differing": [
                {"row": row, "label": label, "predicted": list(words)} for row, label, words in self.differing
            ],
        }


def compare(given, data=None) -> Comparison:
    """Runs or trees by their stems or files, with the rows of a file `data` if it is named.

    Raises ChoiceError for fewer than two, and what `open_run` and the reader do.
    """
    if len(given) < 2:
        raise ChoiceError(f"expected two trees or runs to compare, got {len(given)}")
    runs = [open_run(one) for one in given]
    if len(tasks := sorted({run.tree.task for run in runs})) > 1:
        raise ChoiceError(f"expected trees of one task to compare, got {' and '.join(tasks)}")
    names = _names([str(one) for one in given], runs)
    entries = [_entry(name, run, data) for name, run in zip(names, runs)]
    if data is None:
        return Comparison(tuple(entries))
    table = np.stack([entry.predicted for entry in entries], axis=1)
    agreement = (table[:, :, None] == table[:, None, :]).mean(axis=0)
    labels = _labels(runs[0], data)
    places = np.flatnonzero((table != table[:, :1]).any(axis=1))
    differing = tuple((int(row) + 1, labels[row], tuple(table[row])) for row in places)
    return Comparison(tuple(entries), agreement, differing, len(table))


def _entry(name: str, run: Run, data) -> Entry:
    tree = run.tree
    facts = {
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "features": sorted(tree.features[place].name for place in tree.used),
    }
    task = TASKS.get(tree.task)
    if not task.CLASSES:
        judged = run.fit.judged if run.fit is not None else None
        told = None if judged is None else judged["training"].get(task.HEADLINE)
        facts |= {"task": tree.task, "figure": task.HEADLINE, "train_figure": told}
    elif all(leaf.rows for leaf in tree.leaves()):
        facts["train_accuracy"] = training_score(tree)["accuracy"]
    for key in (
        "model",
        "objective",
        "bound",
        "gap",
        "termination",
        "seconds",
        "n_cols",
        "n_model_rows",
        "nnz",
        "verified",
    ):
        facts[key] = run.facts.get(key)
    if data is None:
        return Entry(name, run, facts)
    rows = read_rows(data, tree.features, tree.classes, tree.target)
    if not task.CLASSES:
        answers = tree.answers(rows.X)
        facts["test_figure"] = _figure(run, data)
        words = [f"{one:.10g}" for one in answers] if task.NUMBERS else np.array(tree.classes, dtype=object)[answers]
        return Entry(name, run, facts, np.array(words, dtype=object))
    if (rows.y >= 0).any():
        scored = run_facts.score(tree, rows)
        facts |= {
            "accuracy": scored["accuracy"],
            "balanced_accuracy": scored["balanced_accuracy"],
            "n_rows": scored["n_rows"],
        }
    return Entry(name, run, facts, np.array(tree.classes, dtype=object)[tree.predict(rows.X)])


def _figure(run: Run, data) -> float | None:
    """The headline of the tree's task on the rows of a file; None if the file lacks its target, or the run its data."""
    if run.fit is None or run.fit.dataset is None:
        return None
    try:
        rows = read_judged_rows(data, run.fit.dataset)
    except DataError:
        return None
    task = TASKS.get(run.tree.task)
    return task.figures(rows.sums, run.tree.answers(rows.X), run.tree.classes).get(task.HEADLINE)


def _labels(run: Run, data) -> list[str | None]:
    rows = read_rows(data, run.tree.features, run.tree.classes, run.tree.target)
    return [run.tree.classes[k] if k >= 0 else None for k in rows.y]


def _names(given: list[str], runs: list[Run]) -> list[str]:
    """The names of the runs, with their folders if two would be the same."""
    plain = [run.name for run in runs]
    return plain if len(set(plain)) == len(plain) else [str(Path(text)) for text in given]
