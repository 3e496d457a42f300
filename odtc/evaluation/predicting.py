"""The predictions of a tree for a file of any size, written as its rows are read."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from odtc.base.text import count_of, verb
from odtc.base.wording import option
from odtc.data.cells.data_files import BATCH, fitting_layout, frames_of
from odtc.data.dataset import NUMERIC, layout_of
from odtc.data.reading_rows import CodedRows, code_frames, read_scored_rows
from odtc.data.reading_spec import ON_MISSING
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.evaluation.html_report import open_run
from odtc.trees.attack import is_robust, reachable_leaves
from odtc.trees.boxes import Boxes
from odtc.trees.tree import Tree
from odtc.workflow.results.facts import majority_of, score_of


@dataclass
class Predicted:
    """Predictions for the rows of a file.

    Attributes
    ----------
    n_rows : int
    n_missing : int
        Rows that lack a number which the tree uses on their path.
    unknown : int
        Cells that do not contain a number in a column of numbers.
    policy : str
        One of ON_MISSING.
    unseen : dict of str to int
        For each column of levels that the tree uses, the rows whose level was not seen in training.
    predictions : list of (str or None) or None
        The classes, None for a blank; None if they were not requested.
    probabilities : list of (list of float or None) or None
        The same of the shares of the classes.
    score : dict or None
        Accuracy and confusion matrix (odtc.workflow.results.facts.score_of); None without labels.
    """

    policy: str
    n_rows: int = 0
    n_missing: int = 0
    unknown: int = 0
    unseen: Counter = field(default_factory=Counter)
    predictions: list | None = None
    probabilities: list | None = None
    score: dict | None = None

    @property
    def skipped(self) -> dict:
        """Return what was skipped, under the keys of `--json`; nothing under the policy "refuse"."""
        if self.policy == "refuse":
            return {}
        blank = self.n_missing if self.policy == "blank" else 0
        return {"n_rows_missing": self.n_missing, "n_rows_blank": blank, "n_cells_unknown": self.unknown}

    def skipped_text(self) -> str:
        """Report what was skipped, in words; "" for nothing."""
        words = []
        if self.n_missing:
            went = (
                f"{verb(self.n_missing, 'is', 'are')} left blank"
                if self.policy == "blank"
                else f"{verb(self.n_missing, 'follows', 'follow')} the side of most training rows"
            )
            words.append(
                f"{self.n_missing:,} of {count_of(self.n_rows, 'row')} {verb(self.n_missing, 'has', 'have')} no value "
                f"in a numeric column that the tree uses, and {went}"
            )
        if self.unknown:
            words.append(f"{count_of(self.unknown, 'cell')} of numeric columns, without a number, counted as missing")
        for name, rows in self.unseen.items():
            if rows:
                words.append(
                    f"{rows:,} of {count_of(self.n_rows, 'row')} {verb(rows, 'has', 'have')} a level in column "
                    f"{name!r} that training did not see, which is in no set of levels"
                )
        return "; ".join(words)


def predict_file(
    tree: Tree,
    path,
    policy: str = "refuse",
    stream=None,
    score: bool = False,
    keep: bool = False,
    size: int = BATCH,
    probabilities: bool = False,
) -> Predicted:
    """Predict the rows of a file in batches.

    Parameters
    ----------
    tree : Tree
    path : path
        A data file; its format is chosen by suffix.
    policy : str
        How to handle a missing or unreadable number that the tree uses: "refuse" raises, "blank" leaves the prediction
        empty, "majority" follows the side that more training rows took.
    stream : binary stream or None
        Receives a column `prediction` as CSV, and with `probabilities` a column `probability CLASS` of each class.
    score : bool
        Whether the predictions are compared with the labels of the file; blanks are left out. For a task other than
        classification, see `score_of_task`.
    keep : bool
        Whether the predictions are returned.
    size : int
        Bytes of text that are read at once.
    probabilities : bool
        Whether the shares of the classes in the training weight of each row's leaf are returned, too; a blank has none.

    Returns
    -------
    Predicted

    Raises
    ------
    DataError, TreeError
        As odtc.data.reading_rows.code_frames and Tree.apply.
    ChoiceError
        For an unknown policy, and for probabilities of a tree whose task has no classes.
    """
    if probabilities and not TASKS.get(tree.task).CLASSES:
        raise ChoiceError(
            f"--probabilities: expected a tree of classes, got one of {option('task', tree.task)}; leave it out"
        )
    if policy not in ON_MISSING:
        raise ChoiceError(f"--on-missing: expected one of {', '.join(ON_MISSING)}, got {policy!r}")
    batches = _Batches(tree, policy, score, keep, probabilities)
    if stream is not None:
        stream.write(_line(["prediction", *(f"probability {name}" for name in tree.classes if probabilities)]))
    used = [tree.features[at].name for at in sorted(tree.used)]
    frames = frames_of(path, size, fitting_layout(path, layout_of(tree.features), used))
    for rows in code_frames(frames, repr(str(path)), tree, score, lenient=policy != "refuse"):
        lines = batches.take(rows)
        if stream is not None:
            stream.write(b"".join(lines))
    return batches.predicted()


class _Batches:
    """The predictions of a tree for rows that come in batches; parameters as in `predict_file`."""

    def __init__(self, tree: Tree, policy: str, score: bool, keep: bool, probabilities: bool):
        K = len(tree.classes)
        self.tree, self.policy, self.score, self.keep = tree, policy, score, keep
        self.done = Predicted(policy, predictions=[] if keep else None)
        self.done.probabilities = [] if keep and probabilities else None
        self.labels = np.array([leaf.label for leaf in tree.leaves()] + [-1], dtype=np.int64)
        self.answers = [tree.answer(leaf) for leaf in tree.leaves()]
        self.shares = [leaf.shares(K) for leaf in tree.leaves()] if probabilities else [()] * len(self.answers)
        self.lines = _lines_of(self.answers, self.shares)
        self.coded = [at for at in sorted(tree.used) if tree.features[at].kind != NUMERIC]
        self.table, self.unlabelled = np.zeros((K, K), int), 0  # the confusion matrix, and rows without a label

    def take(self, rows: CodedRows) -> Iterable[bytes]:
        """Count the rows of a batch, and return the line that is written for each."""
        tree, done = self.tree, self.done
        leaf = tree.apply(rows.X, rows.first, self.policy)
        done.n_rows += len(leaf)
        done.unknown += rows.unknown
        for at in self.coded:
            done.unseen[tree.features[at].name] += int((rows.X[:, at] < 0).sum())
        done.n_missing += _count_missing(tree, rows.X, leaf, self.policy)
        numbers = tree.numbers_at(rows.X, leaf).tolist() if tree.has_lines else None
        if self.keep:
            self._keep(leaf, numbers)
        if self.score:
            self._compare(rows.y, self.labels[leaf])
        return self.lines[leaf].tolist() if numbers is None else map(_number_line, numbers)

    def _keep(self, leaf: np.ndarray, numbers: list[float] | None) -> None:
        """Append the predictions and probabilities of rows, int (rows,), that reach these leaves, -1 for a blank."""
        self.done.predictions += [
            None if k < 0 else self.answers[k] if numbers is None else numbers[row] for row, k in enumerate(leaf)
        ]
        if self.done.probabilities is not None:
            self.done.probabilities += [None if k < 0 else list(self.shares[k]) for k in leaf]

    def _compare(self, y: np.ndarray, predicted: np.ndarray) -> None:
        """Count the pairs of label and predicted class, int (rows,); either is -1 if it is not known."""
        K, known = len(self.table), (y >= 0) & (predicted >= 0)
        self.unlabelled += int((y < 0).sum())
        self.table += np.bincount(y[known] * K + predicted[known], minlength=K * K).reshape(K, K)

    def predicted(self) -> Predicted:
        """Return the predictions of all batches."""
        if self.score:
            self.done.score = score_of(self.table, self.unlabelled, self.tree.classes) | _majority(
                self.tree, self.table
            )
        return self.done


def _lines_of(answers: Sequence[str | float], shares: Sequence[tuple[float, ...]]) -> np.ndarray:
    """Return the line that is written for each leaf, and for a blank, as bytes: each is written for many rows."""
    words = [*(repr(one) if isinstance(one, float) else one for one in answers), ""]
    cells = [[word, *map(str, share)] for word, share in zip(words, [*shares, ("",) * len(shares[0])])]
    return np.array([_line(row) for row in cells], dtype=object)


def _majority(tree: Tree, table: np.ndarray) -> dict:
    """Return the most frequent class of the training rows, and the share of the rows of a confusion matrix that have
    it.

    The result is empty for a single leaf, and for a tree whose goal is not to be correct on most rows: a leaf of it
    predicts another class than its most frequent one, because of costs, weights of classes or constraints.
    """
    leaves = list(tree.leaves())
    if len(leaves) < 2 or not table.sum() or not all(leaf.counts for leaf in leaves):
        return {}
    if any(leaf.counts[leaf.label] < max(leaf.counts) for leaf in leaves):
        return {}
    most = majority_of(tree)
    return {"majority": tree.classes[most], "majority_accuracy": float(table[most].sum() / table.sum())}


def score_of_task(given, data) -> dict:
    """Return the figures of a tree's task (odtc.data.task) on the rows of a file with its target.

    Parameters
    ----------
    given : path
        The tree, or its run, next to the data that it was trained on: hazards and actions come from the training rows.
    data : path

    Returns
    -------
    dict
        With "task" and "lines", the figures as text.

    Raises
    ------
    ChoiceError
        If the data of the run is not there.
    DataError
        If the file lacks the target.
    """
    run = open_run(given)
    if run.fit is None or run.fit.dataset is None:
        raise ChoiceError(
            f"--score of {option('task', run.tree.task)} needs the record of the run and its data file next to "
            f"{str(given)!r}; fit the tree with {option('test')} FILE, or let `odtc import TREE --data FILE` score its "
            "answers on a file"
        )
    task, rows = TASKS.get(run.tree.task), read_scored_rows(data, run.fit.dataset)
    facts = task.figures(rows.sums, run.tree.answers(rows.X), run.tree.classes)
    facts |= task.terms(run.fit.dataset.source)
    facts |= task.baseline_figures(rows.sums, run.fit.dataset.sums, run.tree.classes)
    return {"task": run.tree.task, **facts, "lines": task.figure_lines(facts)}


def _count_missing(tree: Tree, X: np.ndarray, leaf: np.ndarray, policy: str) -> int:
    if policy == "majority":
        leaf = tree.apply(X, on_missing="blank")
    return int((leaf < 0).sum())


def _number_line(number: float) -> bytes:
    """Return a prediction as a line of CSV, an empty one for NaN."""
    return _line([repr(number) if number == number else ""])


def _line(cells: list[str]) -> bytes:
    """Return cells as a line of CSV; a single empty one is an empty text in quotes, which readers do not skip."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")


def boxes_of_run(tree: str | Path) -> Boxes | None:
    """Return how far rows may be moved, according to the manifest next to a tree.

    Parameters
    ----------
    tree : path
        STEM.tree.json.

    Returns
    -------
    Boxes or None
        None for a tree without a manifest, and if its rows stay where they are.

    Raises
    ------
    OdtcError
        If a file of the run is broken.
    """
    fit = open_run(tree).fit
    return None if fit is None else fit.problem.module.boxes(fit.problem)


def robust_figures(tree: Tree, path, boxes: Boxes, policy: str = "refuse") -> dict:
    """Return the accuracy under an adversary on a file with labels, under the keys of `--json`.

    Parameters
    ----------
    tree : Tree
    path : path
        A data file; its format is chosen by suffix.
    boxes : Boxes
    policy : str
        As in `odtc.evaluation.predicting.predict_file`; rows that it leaves blank do not count.

    Returns
    -------
    dict
        `boxes` in words, `robust_errors`, the rows that are misclassified at some point in their box, and
        `robust_accuracy`, None without rows.

    Raises
    ------
    DataError, TreeError
        As odtc.data.reading_rows.code_frames and Tree.apply.
    """
    layout = fitting_layout(path, layout_of(tree.features), [tree.features[at].name for at in tree.used])
    frames, lost, total = frames_of(path, layout=layout), 0, 0
    for rows in code_frames(frames, repr(str(path)), tree, True, lenient=policy != "refuse"):
        known = (rows.y >= 0) & (tree.apply(rows.X, rows.first, policy) >= 0)
        lost += int((~is_robust(tree, rows.X[known], rows.y[known], boxes)).sum())
        total += int(known.sum())
    return {
        "boxes": boxes.words(),
        "robust_errors": lost,
        "robust_accuracy": 1 - lost / total if total else None,
    }


def answers_within(tree: Tree, row: np.ndarray, boxes: Boxes) -> dict:
    """Return the predictions of the tree wherever a row is moved.

    Parameters
    ----------
    tree : Tree
    row : float64 (features,)
        Coded like `Dataset.X`.
    boxes : Boxes

    Returns
    -------
    dict
        `by`, the words of the boxes, and `predictions`, the classes that the row can be given, in the order of the
        classes of the tree.
    """
    reached = reachable_leaves(tree, row[None], boxes)[0]
    labels = {leaf.label for leaf, met in zip(tree.leaves(), reached) if met}
    return {"by": boxes.words(), "predictions": [tree.classes[label] for label in sorted(labels)]}
