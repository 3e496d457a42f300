"""Why a tree predicts what it does for one row: the questions on its path, each with the row's own answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from odtc.data.dataset import NUMERIC, Feature
from odtc.data.task import TASKS
from odtc.trees.rendering import branch_words
from odtc.trees.tree import Branch, Leaf, Tree


@dataclass(frozen=True)
class Step:
    """One question: the cells it asks by column, the answer in words, and the training rows that gave the same one; of
    a policy, what each action costs these by the row, or brings (`costs_name` is then "value"), as `costs` of the
    leaf."""

    cells: tuple[tuple[str, str], ...]
    answer: str
    side: str
    rows: tuple[int, ...]
    costs: Mapping[str, float] = field(default_factory=dict)
    costs_name: str = "cost"


@dataclass(frozen=True)
class Path:
    prediction: str
    steps: tuple[Step, ...]
    leaf: Leaf
    costs: Mapping[str, float] = field(default_factory=dict)
    costs_name: str = "cost"

    def to_json(self) -> dict:
        return {
            "prediction": self.prediction,
            "rows": list(self.leaf.rows),
            "counts": list(self.leaf.counts),
            **_told(self),
            "path": [
                {"cells": dict(step.cells), "answer": step.answer, "side": step.side, "rows": list(step.rows)}
                | _told(step)
                for step in self.steps
            ],
        }


def _told(node: Step | Path) -> dict:
    return {f"mean_{node.costs_name}": dict(node.costs)} if node.costs else {}


def _each(tree: Tree, node: Branch | Leaf) -> tuple[dict[str, float], str]:
    """What each action costs a row of a node, or brings, and which of both, in a word."""
    costs = TASKS.get(tree.task).mean_costs(node.sums, tree.classes)
    return ({name: -cost + 0.0 for name, cost in costs.items()}, "value") if tree.goal else (costs, "cost")


def explain(tree: Tree, row: np.ndarray, number: int = 1) -> Path:
    """The path of a row, float64 (features,), coded like `Dataset.X`; raises DataError, which calls the row by its
    number, if the tree refuses it."""
    row = np.asarray(row, dtype=np.float64)
    tree.apply(row[None, :], number)
    node, steps = tree.root, []
    while isinstance(node, Branch):
        left = bool(node.split.left(row[None, :])[0])
        cells = tuple(
            (tree.features[place].name, show_cell(tree.features[place], row[place])) for place in node.split.features
        )
        answer = branch_words(node.split, tree)[0 if left else 1]
        node = node.left if left else node.right
        steps.append(Step(cells, answer, "left" if left else "right", node.rows, *_each(tree, node)))
    answer = tree.answer(node)
    return Path(answer if isinstance(answer, str) else f"{answer:.10g}", tuple(steps), node, *_each(tree, node))


def show_cell(feature: Feature, value: float) -> str:
    """A cell in words; a level that was not seen in training has no name here."""
    if np.isnan(value):
        return "missing"
    return "a level not seen in training" if value < 0 and feature.kind != NUMERIC else feature.show(value)
