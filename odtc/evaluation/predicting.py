"""The predictions of a tree for a file of any size, written as its rows are read."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from odtc.base.text import count_of
from odtc.base.wording import option
from odtc.data.cells.data_files import BATCH, fitting_layout, frames_of
from odtc.data.dataset import NUMERIC, layout_of
from odtc.data.reading import read_scored_rows
from odtc.data.reading_rows import code_frames
from odtc.data.reading_spec import ON_MISSING
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.evaluation.html_report import open_run
from odtc.trees.tree import Tree
from odtc.workflow.run_facts import majority_of, score_of


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
        Accuracy and confusion matrix (odtc.workflow.run_facts.score_of); None without labels.
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
        """Under the keys of `--json`; nothing under the policy "refuse"."""
        if self.policy == "refuse":
            return {}
        blank = self.n_missing if self.policy == "blank" else 0
        return {"n_rows_missing": self.n_missing, "n_rows_blank": blank, "n_cells_unknown": self.unknown}

    def skipped_text(self) -> str:
        """Report what was skipped, in words; "" for nothing."""
        words = []
        if self.n_missing:
            went = "are left blank" if self.policy == "blank" else "follow the side of most training rows"
            words.append(
                f"{self.n_missing:,} of {count_of(self.n_rows, 'row')} have no value in a numeric column that the tree "
                f"uses, and {went}"
            )
        if self.unknown:
            words.append(f"{count_of(self.unknown, 'cell')} of numeric columns, without a number, counted as missing")
        for name, rows in self.unseen.items():
            if rows:
                words.append(
                    f"{rows:,} of {count_of(self.n_rows, 'row')} have a level in column {name!r} that training did not "
                    "see, which is in no set of levels"
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
    K = len(tree.classes)
    done, table, unlabelled = Predicted(policy, predictions=[] if keep else None), np.zeros((K, K), int), 0
    done.probabilities = [] if keep and probabilities else None
    labels = np.array([leaf.label for leaf in tree.leaves()] + [-1], dtype=np.int64)
    answers = [tree.answer(leaf) for leaf in tree.leaves()]
    shares = [leaf.shares(K) for leaf in tree.leaves()] if probabilities else [()] * len(answers)
    lines = _lines_of(answers, shares)
    if stream is not None:
        stream.write(_line(["prediction", *(f"probability {name}" for name in tree.classes if probabilities)]))
    coded = [at for at in sorted(tree.used) if tree.features[at].kind != NUMERIC]
    used = [tree.features[at].name for at in sorted(tree.used)]
    frames = frames_of(path, size, fitting_layout(path, layout_of(tree.features), used))
    for rows in code_frames(frames, repr(str(path)), tree, score, lenient=policy != "refuse"):
        leaf = tree.apply(rows.X, rows.first, policy)
        predicted = labels[leaf]
        done.n_rows += len(leaf)
        done.unknown += rows.unknown
        for at in coded:
            done.unseen[tree.features[at].name] += int((rows.X[:, at] < 0).sum())
        done.n_missing += _count_missing(tree, rows.X, leaf, policy)
        numbers = tree.numbers_at(rows.X, leaf).tolist() if tree.has_lines else None
        if stream is not None:
            own = lines[leaf].tolist() if numbers is None else map(_number_line, numbers)
            stream.write(b"".join(own))
        if keep:
            done.predictions += [
                None if k < 0 else answers[k] if numbers is None else numbers[row] for row, k in enumerate(leaf)
            ]
        if keep and probabilities:
            done.probabilities += [None if k < 0 else list(shares[k]) for k in leaf]
        if score:
            known = (rows.y >= 0) & (predicted >= 0)
            unlabelled += int((rows.y < 0).sum())
            table += np.bincount(rows.y[known] * K + predicted[known], minlength=K * K).reshape(K, K)
    done.score = score_of(table, unlabelled, tree.classes) | _majority(tree, table) if score else None
    return done


def _lines_of(answers: Sequence[str | float], shares: Sequence[tuple[float, ...]]) -> np.ndarray:
    """Return the line that is written for each leaf, and for a blank, as bytes: each is written for many rows."""
    words = [*(repr(one) if isinstance(one, float) else one for one in answers), ""]
    cells = [[word, *map(str, share)] for word, share in zip(words, [*shares, ("",) * len(shares[0])])]
    return np.array([_line(row) for row in cells], dtype=object)


def _majority(tree: Tree, table: np.ndarray) -> dict:
    """Return the most frequent class of the training rows, and the share of the rows of a confusion matrix that have
    it.

    The result is empty for a single leaf, and for a tree whose goal is not to be correct on most rows: its leaves
    predict other classes than those of most of their rows, because of costs, weights of classes and constraints.
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
        The tree, or its run, next to the data from which it was learnt: hazards and actions are those of the training
        rows.
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
