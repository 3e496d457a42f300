"""Tasks: the kind of prediction of a tree, which is a class, an action, a number or a risk.

A task defines the columns of the data that contain its target, the cost of a leaf, and the prediction of a leaf. The
cost of a leaf is a function of sums over its rows, so a state of the dynamic program stores only these sums:

    task             sums over the rows of a leaf               cost of the leaf
    classification   weight of each class                       least loss of one class
    policy           cost of each action                        least of them
    regression       n, Σ w, Σ w y, and around the median       squared error around the leaf's mean
                     of all rows Σ w (y - m), Σ w (y - m)²
    linear           the same, and the sums of each column      squared error around a line in the best column
    median           weight of each number                      least absolute error around one of them
    survival         n, Σ w, hazard H = Σ w Λ, events           D - D log(D/H), of the likelihood of a relative risk
                     D = Σ w δ, time Σ t

Each task is one module of odtc.data.tasks, with the declarations of the protocol below.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Registry
from odtc.base.whole_numbers import nearest_floats
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, sums_over
from odtc.data.reading_spec import TASK_FIELDS, ReadingSpec, one_target
from odtc.errors import ChoiceError, DataError, TreeError

if TYPE_CHECKING:
    from odtc.algorithms.moments.exact_costs import ExactLeaves
    from odtc.algorithms.moments.lines import ExactLines


LEAST = 1e-6  # least cost of one leaf for all rows that solvers distinguish from 0


class Task(Protocol):
    """The definitions of a task."""

    NAME: str
    SUMMARY: str
    FIELDS: tuple = ()  # the fields of ReadingSpec that are options only of this task
    # Whether constraints and costs on classes and correct predictions are meaningful.
    CLASSES: bool = False
    # Whether the cost of a leaf is a function of the sums over its rows, and the leaf predicts a number (`leaf_costs`,
    # `answer`). Otherwise it predicts one of a few labels, and each row has a cost for each label.
    MOMENTS: bool = False
    PIECES: str = ""  # name of the rows of its data sets, if a row of the file becomes several rows
    NUMBERS: bool = False  # whether its leaves predict numbers; also true for tasks with MOMENTS
    ANSWER: str = "a number"  # the prediction of its leaves, in words
    QUANTITY: str = ""  # the quantity that a predicted number measures, in words; "" if it is the target
    LABEL: str = ""  # for a task with MOMENTS: the only class of its leaves
    # The key (in `figures`) and the name of the figure that tables show for a tree, and whether less of it is better;
    # "" for a task with an accuracy.
    HEADLINE: str = ""
    HEADLINE_WORDS: str = ""
    LESS_IS_BETTER: bool = True
    # Whether a leaf predicts a line in one column instead of a number: `exact` has its `line`
    # (odtc.algorithms.moments.lines).
    LINES: bool = False
    SQUARES: bool = (
        False  # whether leaves cost squared errors: the last sums are then of the squares and of the numbers
    )
    VARIANT_OF: str = ""  # the task that becomes this one if the first of its FIELDS is set
    SURVIVES: bool = False  # whether `curve` is (time, survival), to be drawn with the rows that are `watched`
    # The loss of its leaves as a function of sums (odtc.algorithms.moments.laws). For a task without MOMENTS that has
    # many ordered labels: the loss by which CART is grown, because Gini impurity ignores their order.
    LOSS: str = ""

    def target_columns(self, columns: Sequence[str], how: ReadingSpec, place: str) -> tuple[str, ...]:
        """Return the columns of a file that contain its target and are not features: one, unless the task defines
        more. Raises ChoiceError if one is missing, or if options contradict each other."""
        return one_target(columns, how, place)

    def expect(self, cells: Mapping[str, Any], how: ReadingSpec, place: str) -> None:
        """Raise DataError for an unusable target, before the features are inspected."""

    @abstractmethod
    def labelled(self, rows: Dataset, cells: Mapping[str, Any], how: ReadingSpec, place: str) -> Dataset:
        """Return the data set with its target.

        `rows` has only features and weights, `cells` the columns of `target_columns` on the same rows
        (odtc.data.table.column_coding.Column). Raises DataError for a target that cannot be learnt from.
        """
        ...

    def scored_rows(self, rows: Dataset, trained: Dataset) -> Dataset:
        """Return rows of another file, with the parts of their sums that come from the training rows."""
        return rows

    def moments(self, sums: np.ndarray) -> np.ndarray:
        """Return float64 (3, rows): W, S and Q of the LOSS, from sums float64 (rows, sums); for a task with a LOSS."""
        raise NotImplementedError

    def numbers(self, sums: np.ndarray) -> np.ndarray | None:
        """Return float64 (rows,): the numbers of rows with these sums, if they have one each; otherwise None."""
        return None

    def exact(self, dataset: Dataset, row_of: np.ndarray) -> "ExactLeaves | None":
        """Return the exact costs of leaves from the rows of the data; None if they are not known. `row_of` is the
        encoded row of each data row, int64 (rows,)."""
        return None

    def penalty(self, source: Mapping, slopes: np.ndarray) -> float:
        """Return the penalty of the slopes of the lines of leaves, float64 (leaves,), by how the data was read
        (`Dataset.source`); for a task with LINES."""
        return 0.0

    def class_costs(self, classes: Sequence[str]) -> tuple[np.ndarray, Fraction] | None:
        """Return (costs, unit): cell (i, j) of the whole numbers (classes, classes) is the cost of predicting class j
        for class i. None if the task does not define costs."""
        return None

    def leaf_costs(self, sums: np.ndarray) -> np.ndarray:
        """Return float64 (…,): the costs of leaves whose rows have these sums, float64 (…, sums); for a task with
        MOMENTS."""
        raise NotImplementedError

    def part_costs(self, sums: np.ndarray, part: np.ndarray, n_parts: int, own: np.ndarray | None = None) -> np.ndarray:
        """Return float64 (n_parts,): the costs of leaves that each contain the rows of a part; for a task with
        MOMENTS.

        The arguments are the sums of the rows, float64 (rows, sums), and their parts, int64 (rows,). `own` is float64
        (rows,), the cost of each row by itself, if it is known with more digits than the sums have.
        """
        return self.leaf_costs(sums_over(part, sums, n_parts))

    def answer(self, sums: Sequence[float]) -> float:
        """Return the number that a leaf predicts; for a task with MOMENTS."""
        raise NotImplementedError

    def keeping(self, answer: float, sums: np.ndarray) -> tuple[float, ...]:
        """Return the sums of a leaf of another tree that keeps its prediction although it now has rows with these sums,
        float64 (rows, sums); for a task with MOMENTS. Raises TreeError if the task does not support this."""
        raise TreeError(
            f"expected a tree of another task to import, got one of {option('task', self.NAME)}, whose leaves keep no "
            "answers of other trees; fit it again"
        )

    def curve(self, sums: np.ndarray) -> tuple[tuple[float, float], ...]:
        """Return the points of the curve of a leaf from the sums of its rows, float64 (rows, sums); () for a task
        without curves."""
        return ()

    def watched(self, sums: np.ndarray, times: Sequence[float], leaf: np.ndarray, n_leaves: int) -> np.ndarray:
        """Return int64 (n_leaves, times): the number of rows of each leaf that were observed at least until each time.
        `sums` is float64 (rows, sums), `leaf` is int64 (rows,); for a task that SURVIVES."""
        raise NotImplementedError

    def leaf_words(self, sums: Sequence[float], classes: Sequence[str], curve: Sequence = (), goal: str = "") -> str:
        """Return a description of a leaf whose rows have these sums; "" if counts of rows are enough. `goal` is the
        goal of the tree."""
        return ""

    def mean_costs(self, sums: Sequence[float], classes: Sequence[str]) -> dict[str, float]:
        """Return the mean cost of each prediction on rows with these sums; for a task whose rows have a
        cost for each."""
        return {}

    def figures(self, sums: np.ndarray, answers: np.ndarray, classes: Sequence[str]) -> dict:
        """Return figures of predictions on rows with these sums, float64 (rows, sums), under the keys of `--json`; the
        predictions are int (rows,), positions in `classes`, or with NUMBERS numbers, float64 (rows,)."""
        return {}

    def terms(self, source: Mapping) -> dict:
        """Return figures that describe how the target of a data set was read, from its `source`, so that
        `figure_lines` can use them."""
        return {}

    def baseline_figures(self, sums: np.ndarray, trained: np.ndarray, classes: Sequence[str]) -> dict:
        """Return figures that replace some of `figures` on other rows, because they must be chosen on the training
        rows, with their sums `trained`."""
        return {}

    def loss_again(self, sums: np.ndarray, answers: np.ndarray) -> float | None:
        """Return the loss of a tree with these predictions, as `HeapTree.loss` counts it, only from the sums of the
        rows; None if the sums do not determine it. `verify` compares the two."""
        return None

    def rounding(self, sums: np.ndarray, weight: np.ndarray) -> float:
        """Return the largest error of `loss_again`, for a task that rounds the losses of rows to make them weights."""
        return 0.0

    def figure_lines(self, facts: Mapping) -> list[str]:
        """Return the figures in words, one line each."""
        return []

    def headline(self, facts: Mapping) -> tuple[str, float | None]:
        """Return (name, number) of the figure that tables show for a tree. `facts` are the results of `figures` and
        `terms`; the number is None if they do not contain it."""
        return self.HEADLINE_WORDS, facts.get(self.HEADLINE)

    def target_words(self, sums: Sequence[float], classes: Sequence[str], goal: str = "") -> str:
        """Return the target of a row with these sums, as `odtc compare` shows it."""
        return ""

    def scored_words(self, how: ReadingSpec) -> str:
        """Return a description of how figures are counted, if it may differ between trees of one target; else ""."""
        return ""


TASKS = Registry(
    "task",
    "odtc.data.tasks",
    ("classification", "policy", "regression", "linear", "median", "survival"),
    Contract(always=(Task,)),
    "odtc.tasks",
)


def priced(encoded: Encoded) -> Encoded:
    """Return encoded rows with the costs of predictions that their task states."""
    if (found := TASKS.get(encoded.task).class_costs(encoded.classes)) is None:
        return encoded
    return replace(encoded, cost=nearest_floats(*found), whole_cost=found)


def own_costs(encoded: Encoded) -> np.ndarray | None:
    """Return float64 (rows,): the cost of each encoded row by itself, computed from the data rows, because sums of
    merged rows with large numbers lose digits; None if the data are not available. For a task with MOMENTS."""
    task, dataset = TASKS.get(encoded.task), encoded.dataset
    if dataset is None or dataset.n_rows != len(encoded.row_of):
        return None
    make = lambda: task.part_costs(dataset.sums, encoded.row_of, encoded.n_rows)  # noqa: E731
    return encoded.derived("own costs", make)


def exact_costs(encoded: Encoded) -> "ExactLeaves | None":
    """Return the costs of leaves in whole numbers, if the task and its data have them."""
    task, dataset = TASKS.get(encoded.task), encoded.dataset
    if dataset is None or dataset.n_rows != len(encoded.row_of):
        return encoded.lines
    found: ExactLeaves | None = encoded.derived("exact costs", lambda: task.exact(dataset, encoded.row_of))
    return found


def lines_of(encoded: Encoded) -> "ExactLines | None":
    """Return the exact costs of linear leaves; None for a task without them."""
    return exact_costs(encoded) if TASKS.get(encoded.task).LINES else None  # type: ignore[return-value]


def line_of(encoded: Encoded, rows: np.ndarray) -> tuple[int, float, float] | None:
    """Return the line of a leaf of these encoded rows: the position of its feature, its slope and its intercept; None
    if the leaf predicts a number."""
    lines = lines_of(encoded)
    return None if lines is None or not len(rows) else lines.line(rows)


def part_costs(encoded: Encoded, part: np.ndarray, n_parts: int) -> list[Any]:
    """Return the cost of one leaf for each part of the encoded rows; `part` is int64 (rows,). Costs are Fractions if
    the task knows the numbers of the rows, otherwise floats. For a task with MOMENTS."""
    if (exact := exact_costs(encoded)) is not None:
        return exact.parts(part, n_parts)
    found: list[Any] = TASKS.get(encoded.task).part_costs(encoded.sums, part, n_parts, own_costs(encoded)).tolist()
    return found


def leaf_cost(encoded: Encoded) -> float:
    """Return the approximate cost of one leaf for all rows, to which rounding errors are relative."""
    task = TASKS.get(encoded.task)
    return float(task.leaf_costs(encoded.sums.sum(axis=0)) if task.MOMENTS else encoded.loss.sum())


def expect_solvers_tell_apart(encoded: Encoded) -> None:
    """Raise DataError if one leaf for all rows costs so little that solvers cannot distinguish trees."""
    if (cost := leaf_cost(encoded)) < LEAST:
        raise DataError(
            f"expected a model whose one leaf for all rows costs {LEAST:g} or more, got {cost:.4g}: solvers count "
            f"costs that differ by less as equal; leave {option('solver')} and --format out, so that odtc's own search "
            "finds the tree, or multiply the numbers"
        )


def expect_classes(task: str, what: str) -> None:
    """Raise ChoiceError for a task whose leaves do not predict classes; `what` names the option that needs classes."""
    if not TASKS.get(task).CLASSES:
        raise ChoiceError(f"{what} is about classes, which {option('task', task)} has not; leave it out, or classify")


def task_of(how: ReadingSpec):
    """Return the task that a specification names; raises ChoiceError for an option of another task."""
    task = TASKS.get(how.task)
    plain = ReadingSpec()
    for name in TASK_FIELDS:
        if getattr(how, name) != getattr(plain, name) and name not in task.FIELDS:
            able = [other for other in TASKS.names() if name in TASKS.get(other).FIELDS]
            if (base := TASKS.get(able[0]).VARIANT_OF) and (first := TASKS.get(able[0]).FIELDS[0]):
                needs = [option("task", base)] + ([] if name == first else [option(first, able[0])])
                given = [option(name, getattr(how, name)) if name == first else option(name)]
                raise ChoiceError(f"{given[0]} needs {' '.join(needs)}, got it with {option('task', how.task)}")
            raise ChoiceError(
                f"{option(name)} is an option of {option('task', *able)}, got it with {option('task', how.task)}"
            )
    return task
