"""Explanation of a prediction for one row: the splits on its path, each with the row's own side, and the fewest
changes that would lead to another prediction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from odtc.base.text import in_notebook, of, one_line, show_figure, tally
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.label_types import Label
from odtc.data.task import TASKS
from odtc.trees.counterfactual import Counterfactuals
from odtc.trees.tree import Branch, Leaf, Tree


@dataclass(frozen=True)
class Step:
    """One split on the path: its cells by column, the condition that the row satisfies in words, and the training rows
    that satisfy it, too. Policy task: `costs` are the mean costs of each action on these rows, or the mean values
    (`costs_name` is then "value"), as `costs` of the leaf. `told` describes these rows."""

    cells: tuple[tuple[str, str], ...]
    answer: str
    side: str
    rows: tuple[int, ...]
    costs: Mapping[str, float] = field(default_factory=dict)
    costs_name: str = "cost"
    told: str = ""


@dataclass(frozen=True)
class Change:
    """A column to change: its cell, and the condition that it would have to satisfy, in words."""

    column: str
    cell: str
    needed: str


@dataclass(frozen=True)
class Counterfactual:
    """The prediction of the row after the fewest changes that change it."""

    prediction: str
    label: Label
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        changes = [f"{one_line(one.needed)} (it is {one_line(one.cell)})" for one in self.changes]
        return f"{one_line(self.prediction)} if {' and '.join(changes)}"

    def to_json(self) -> dict:
        """Return the entry `counterfactual` of `odtc explain --json`."""
        changes = [{"column": one.column, "cell": one.cell, "needed": one.needed} for one in self.changes]
        return {"prediction": self.label, "changes": changes}


@dataclass(frozen=True)
class Path:
    """The path of a row. `prediction` is text, and `label` the same as in the data; `quantity` is what a predicted
    number measures, such as the name of the target, and "" for a class or an action. `counterfactual` is None if no
    other prediction can be reached, or if the tree has hyperplanes."""

    prediction: str
    steps: tuple[Step, ...]
    leaf: Leaf
    costs: Mapping[str, float] = field(default_factory=dict)
    costs_name: str = "cost"
    label: Label = ""
    number: int = 1
    told: str = ""
    counterfactual: Counterfactual | None = None
    quantity: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def lines(self, remark: str = "") -> list[str]:
        """Return the path as lines of text, with a remark after the prediction."""
        predicted = " ".join(map(one_line, filter(None, (self.quantity, self.prediction))))
        lines = [f"row {self.number}: {predicted}{remark}"]
        for step in self.steps:
            cells = ", ".join(f"{one_line(name)} is {one_line(cell)}" for name, cell in step.cells)
            lines.append(f"  {one_line(step.answer)}, since {cells}" + (f"; here {step.told}" if step.told else ""))
        if self.told:
            lines.append(f"  so {predicted}: {self.told}")
        return [*lines, *([f"  would be {self.counterfactual}"] if self.counterfactual is not None else [])]

    def to_json(self) -> dict:
        """Return an entry of `rows` of `odtc explain --json`."""
        return {
            "prediction": self.label,
            **({"quantity": self.quantity} if self.quantity else {}),
            "rows": list(self.leaf.rows),
            "counts": list(self.leaf.counts),
            **_means(self),
            "path": [
                {"cells": dict(step.cells), "answer": step.answer, "side": step.side, "rows": list(step.rows)}
                | _means(step)
                for step in self.steps
            ],
            "counterfactual": None if self.counterfactual is None else self.counterfactual.to_json(),
        }


class Explanations(list[Path]):
    """Paths of rows, which `print` and a notebook show as text."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_notebook(str(self))


def _means(node: Step | Path) -> dict:
    return {f"mean_{node.costs_name}": dict(node.costs)} if node.costs else {}


def _each(tree: Tree, node: Branch | Leaf) -> tuple[dict[str, float], str]:
    """Return the mean cost of each action on the rows of a node, or its mean value, and a word for which of both."""
    costs = TASKS.get(tree.task).mean_costs(node.sums, tree.classes)
    return ({name: -cost + 0.0 for name, cost in costs.items()}, "value") if tree.goal else (costs, "cost")


def _rows_text(tree: Tree, rows: tuple[int, ...], costs: Mapping[str, float], costs_name: str) -> str:
    """Describe the training rows at a node: how many if leaves predict numbers, for a policy with the costs of actions
    on them, otherwise by class."""
    if not sum(rows):
        return ""
    if costs:
        mean = ", ".join(f"{one_line(name)} {show_figure(number)}" for name, number in costs.items())
        return f"{of(sum(rows), 'row')}, mean {costs_name} {mean}"
    return of(sum(rows), "row") if TASKS.get(tree.task).NUMBERS else tally(rows, tree.classes)


def _leaf_text(tree: Tree, leaf: Leaf) -> str:
    if not leaf.rows:
        return ""
    if TASKS.get(tree.task).CLASSES:
        return f"{leaf.rows[leaf.label]} of {of(sum(leaf.rows), 'training row')} in this leaf"
    words = [of(sum(leaf.rows), "training row"), tree.words_of(leaf)]
    words += [] if leaf.line is None else [f"line {leaf.line.words(tree.features)}"]
    return ", ".join(filter(None, words))


def _text(answer: Label) -> str:
    return f"{answer:.10g}" if isinstance(answer, float) else str(answer)


def explain_rows(tree: Tree, X: np.ndarray, numbers: Iterable[int]) -> Explanations:
    """Explain rows.

    Parameters
    ----------
    tree : Tree
    X : float64 (rows, features)
        Coded like `Dataset.X`.
    numbers : iterable of int
        The number of each row, by which texts and errors name it.

    Returns
    -------
    Explanations

    Raises
    ------
    DataError
        If the tree refuses a row.
    """
    other = Counterfactuals(tree)
    return Explanations(_explained(tree, other, np.asarray(row, float), number) for row, number in zip(X, numbers))


def explain(tree: Tree, row: np.ndarray, number: int = 1) -> Path:
    """Explain one row, float64 (features,), as `explain_rows`."""
    return explain_rows(tree, np.asarray(row, float)[None, :], [number])[0]


def _explained(tree: Tree, other: Counterfactuals, row: np.ndarray, number: int) -> Path:
    reached = tree.apply(row[None, :], number)
    node, steps = tree.root, []
    while isinstance(node, Branch):
        left = bool(node.split.left(row[None, :])[0])
        cells = tuple(
            (tree.features[place].name, show_cell(tree.features[place], row[place])) for place in node.split.features
        )
        answer = tree.branch_words(node.split)[0 if left else 1]
        node = node.left if left else node.right
        costs = _each(tree, node)
        told = _rows_text(tree, node.rows, *costs)
        steps.append(Step(cells, answer, "left" if left else "right", node.rows, *costs, told))
    changed = other.of(row)
    if changed is not None:
        names = {feature.name: place for place, feature in enumerate(tree.features)}
        changes = [
            Change(one.column, show_cell(tree.features[names[one.column]], row[names[one.column]]), one.needed)
            for one in changed.changes
        ]
        changed = Counterfactual(_text(tree.answer(changed.leaf)), tree.label(changed.leaf), tuple(changes))
    label = tree.label(node) if node.line is None else float(tree.numbers_at(row[None, :], reached)[0])
    answer = _text(tree.answer(node) if node.line is None else label)
    task = TASKS.get(tree.task)
    quantity = (task.QUANTITY or tree.target) if task.NUMBERS else ""
    told = _leaf_text(tree, node)
    return Path(answer, tuple(steps), node, *_each(tree, node), label, number, told, changed, quantity)


def show_cell(feature: Feature, value: float) -> str:
    """Return a cell in words; a level that was not seen in training has no name here."""
    if np.isnan(value):
        return "missing"
    return "a level not seen in training" if value < 0 and feature.kind != NUMERIC else feature.show(value)
